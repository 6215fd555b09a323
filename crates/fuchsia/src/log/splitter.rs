//! Messages of a stream that comes in pieces.

use std::vec::Vec;

use super::framing::{Damage, Framer, Framing};
use super::message::Message;

/// Puts the pieces of a stream together and takes messages from it.
///
/// The messages, and what cannot be read, are the same however the stream was cut. What is kept are the
/// bytes of one message and the beginning of the next one, or a few of them after damage: never more than 512 KiB and what was fed last.
///
/// ```
/// use ichnos_fuchsia::log::{Encoder, Framing, Splitter};
///
/// let mut buffer = [0; 64];
/// let mut encoder = Encoder::new(&mut buffer);
/// encoder.begin(1, 0x30)?.finish();
/// encoder.begin(2, 0x30)?.finish();
///
/// let mut splitter = Splitter::new(Framing::Records);
/// let mut count = 0;
/// for piece in encoder.written().chunks(5) {
///     splitter.feed(piece);
///     while let Some(message) = splitter.next_message() {
///         message?;
///         count += 1;
///     }
/// }
/// // Whether the last one is whole is known now.
/// splitter.finish();
/// assert!(splitter.next_message().is_some_and(|message| message.is_ok()));
/// assert!(splitter.next_message().is_none());
/// assert_eq!(count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Splitter {
    framer: Framer,
    bytes: Vec<u8>,
    /// How many of the bytes are done with.
    done: usize,
    /// How many more it takes to find something.
    needed: usize,
    is_last: bool,
}

impl Splitter {
    /// For a stream from its beginning on.
    #[must_use]
    pub const fn new(framing: Framing) -> Self {
        let framer = Framer::new(framing, 0);
        Self { framer, bytes: Vec::new(), done: 0, needed: 0, is_last: false }
    }

    /// Where the next message begins, in bytes from the beginning of the stream.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.framer.offset()
    }

    /// Takes a piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.done > self.bytes.len() / 2 {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        self.bytes.extend_from_slice(piece);
    }

    /// Says that the stream has ended.
    pub const fn finish(&mut self) {
        self.is_last = true;
    }

    /// The next message, or damage; None if there is none in what was fed up to now.
    pub fn next_message(&mut self) -> Option<Result<Message<'_>, Damage>> {
        loop {
            let input = self.bytes.get(self.done..).unwrap_or_default();
            if !self.is_last && input.len() < self.needed {
                return None;
            }
            let step = self.framer.step(input, self.is_last);
            self.done += step.consumed;
            self.needed = step.needed;
            if step.found.is_some() || step.consumed == 0 {
                return step.found;
            }
        }
    }
}
