//! Replies that arrive in any number of pieces.

use super::script::{self, Conversation};
use crate::client::LiveClient;
use crate::error::ProtocolError;
use crate::event::{LiveEvent, SeekPosition};

/// Reads a session, and gives each reply to the client in pieces. Returns the events.
fn read(mut pieces: impl FnMut(usize, &mut Conversation, &[u8])) -> Vec<LiveEvent> {
    let mut talk = Conversation::new(LiveClient::default());
    talk.client.set_outstanding(2);
    talk.client.list_sessions();
    talk.client.attach(7, SeekPosition::Beginning);
    let mut events = Vec::new();
    for (number, (command, reply)) in script::replies().iter().enumerate() {
        assert_eq!(talk.command(), Some(*command), "{number}");
        talk.take();
        pieces(number, &mut talk, reply);
        events.extend(talk.events());
    }
    assert!(!talk.client.is_waiting_for_reply());
    events
}

#[test]
fn a_reply_can_be_split_anywhere() {
    let expected = read(|_, talk, reply| talk.answer(reply));
    assert_eq!(expected.len(), 13, "{expected:#?}");
    for (number, (_, reply)) in script::replies().iter().enumerate() {
        // Strings of streams have thousands of zero bytes.
        let step = if reply.len() > 1000 { 13 } else { 1 };
        for at in (0..reply.len()).step_by(step) {
            let events = read(|this, talk, reply| match this == number {
                false => talk.answer(reply),
                true => {
                    let output = talk.client.output().to_vec();
                    talk.answer(&reply[..at]);
                    assert_eq!(talk.client.check_end(), Err(ProtocolError::Truncated));
                    assert_eq!(talk.client.output(), output);
                    talk.answer(&reply[at..]);
                }
            });
            assert_eq!(events, expected, "reply {number}, byte {at}");
        }
    }
}

#[test]
fn replies_can_arrive_byte_by_byte_and_in_random_pieces() {
    let expected = read(|_, talk, reply| talk.answer(reply));
    let events = read(|_, talk, reply| reply.chunks(1).for_each(|piece| talk.answer(piece)));
    assert_eq!(events, expected);
    let mut seed: u32 = 1;
    for _ in 0..300 {
        let events = read(|_, talk, mut reply| {
            while !reply.is_empty() {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let longest = [3, 30, 9000][(seed >> 8) as usize % 3];
                let (piece, rest) = reply.split_at(reply.len().min((seed >> 12) as usize % longest));
                talk.answer(piece);
                reply = rest;
            }
        });
        assert_eq!(events, expected);
    }
}
