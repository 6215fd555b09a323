//! Relay daemons that send nonsense: the feed ends with an error or with damage, and soon.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ichnos::live::lttng::{LttngFeed, LttngLiveOptions, RelayAddress};
use ichnos::model::live::{LiveFeed, LiveObserver, LiveOptions, LivePoll};
use ichnos::prelude::*;
use ichnos_testing::{Random, cases};

const METADATA: &str = "/* CTF 1.8 */
typealias integer { size = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 zero; }; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 8; map = clock.c.value; } := time;
stream {
    packet.context := struct { time timestamp_begin; time timestamp_end; };
    event.header := struct { u8 id; time timestamp; };
};
event { name = number; id = 0; fields := struct { u8 value; }; };
";

/// What a scripted relay daemon sends.
#[derive(Clone)]
struct Script {
    metadata: Vec<u8>,
    packets: Vec<Vec<u8>>,
    /// Packet sizes in the index, if they are wrong.
    announced: Option<u64>,
    /// Number of data streams, if it is wrong.
    streams: Option<u32>,
    /// `true` for a further data stream of which nothing is ever heard.
    has_silent: bool,
    /// Seed for wrong bytes in replies.
    seed: Option<u64>,
}

impl Script {
    fn new(metadata: &str, packets: &[&[u8]]) -> Self {
        let packets = packets.iter().map(|packet| packet.to_vec()).collect();
        Self::of(metadata.as_bytes().to_vec(), packets)
    }

    fn of(metadata: Vec<u8>, packets: Vec<Vec<u8>>) -> Self {
        Self { metadata, packets, announced: None, streams: None, has_silent: false, seed: None }
    }

    /// Answers requests of one connection.
    fn serve(mut self, mut socket: TcpStream) -> std::io::Result<()> {
        let mut random = self.seed.map(Random::new);
        let (mut next, mut offset) = (0, 0u64);
        loop {
            let mut header = [0; 16];
            socket.read_exact(&mut header)?;
            let size = u64::from_be_bytes(header[..8].try_into().unwrap());
            let mut payload = vec![0; size as usize];
            socket.read_exact(&mut payload)?;
            let mut reply = Vec::new();
            match header[11] {
                1 => [0, 1, 2, 13, 1].iter().for_each(|n: &u32| reply.extend(n.to_be_bytes())),
                2 => {
                    reply.extend(1u32.to_be_bytes());
                    reply.extend(9u64.to_be_bytes());
                    [100_000u32, 0, 2].iter().for_each(|n| reply.extend(n.to_be_bytes()));
                    text(&mut reply, "h", 64);
                    text(&mut reply, "s", 255);
                }
                3 => {
                    let streams = [(1u64, 1u32, "metadata"), (2, 0, "channel_0"), (3, 0, "channel_1")];
                    let count = if self.has_silent { 3 } else { 2 };
                    [1, self.streams.unwrap_or(count)].iter().for_each(|n| reply.extend(n.to_be_bytes()));
                    for (id, is_metadata, name) in streams.into_iter().take(count as usize) {
                        [id, 5].iter().for_each(|n| reply.extend(n.to_be_bytes()));
                        reply.extend(is_metadata.to_be_bytes());
                        text(&mut reply, "ust", 4096);
                        text(&mut reply, name, 255);
                    }
                }
                4 if payload[..8] == 3u64.to_be_bytes() => {
                    reply.extend([0; 7 * 8]);
                    [2u32, 0].iter().for_each(|n| reply.extend(n.to_be_bytes()));
                }
                4 => {
                    let packet = self.packets.get(next);
                    let bits = self.announced.unwrap_or(packet.map_or(0, |packet| 8 * packet.len() as u64));
                    [offset, bits, bits, 0, 0, 0, 0].iter().for_each(|n| reply.extend(n.to_be_bytes()));
                    [if packet.is_some() { 1u32 } else { 6 }, 0]
                        .iter()
                        .for_each(|n| reply.extend(n.to_be_bytes()));
                }
                5 => {
                    let packet = self.packets.get(next).cloned().unwrap_or_default();
                    next += 1;
                    offset += packet.len() as u64;
                    [1, packet.len() as u32, 0].iter().for_each(|n| reply.extend(n.to_be_bytes()));
                    reply.extend(packet);
                }
                6 => {
                    let metadata = std::mem::take(&mut self.metadata);
                    reply.extend((metadata.len() as u64).to_be_bytes());
                    reply.extend(if metadata.is_empty() { 2u32 } else { 1 }.to_be_bytes());
                    reply.extend(metadata);
                }
                7 => [if next >= self.packets.len() && !self.has_silent { 4u32 } else { 2 }, 0]
                    .iter()
                    .for_each(|n| reply.extend(n.to_be_bytes())),
                _ => reply.extend(1u32.to_be_bytes()),
            }
            if let Some(random) = &mut random
                && header[11] != 1
                && random.is_one_in(8)
            {
                let at = random.index(reply.len());
                reply[at] = random.byte();
                reply.truncate(reply.len() - usize::from(random.is_one_in(4)));
            }
            socket.write_all(&reply)?;
        }
    }
}

fn text(reply: &mut Vec<u8>, text: &str, size: usize) {
    reply.extend(text.bytes().chain(std::iter::repeat(0)).take(size));
}

/// Reads what a scripted relay daemon sends. Returns its messages, and an error. A busy machine answers slowly.
fn read(script: Script) -> (Vec<String>, Option<String>) {
    read_for(Duration::from_secs(20), script)
}

/// Does not wait longer than `timeout` for an answer or metadata.
fn read_for(timeout: Duration, script: Script) -> (Vec<String>, Option<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("net://127.0.0.1:{}/host/h/s", listener.local_addr().unwrap().port());
    let relay = thread::spawn(move || {
        // It fails when the client closes the connection.
        let _ = script.serve(listener.accept().unwrap().0);
    });
    let found = read_from(&address.parse().unwrap(), timeout);
    relay.join().unwrap();
    found
}

fn read_from(address: &RelayAddress, timeout: Duration) -> (Vec<String>, Option<String>) {
    let mut options = LttngLiveOptions::default();
    options.connection.reply_timeout = timeout;
    options.connection.tick = Duration::from_millis(5);
    options.metadata_timeout = timeout;
    let live = LiveOptions::default();
    let arrivals = live.arrivals.clone();
    let mut feed = match LttngFeed::open(address, &options, &Default::default(), &live) {
        Ok(feed) => feed,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let (mut messages, begin) = (Vec::new(), Instant::now());
    loop {
        let arrived = arrivals.count();
        match feed.poll() {
            LivePoll::Message(_) => match feed.current().unwrap() {
                Message::Event(event) => messages.push(event.name().to_owned()),
                Message::Damage(damage) => messages.push(damage.to_string()),
                _ => {}
            },
            LivePoll::Pending(_) => {
                let _ = arrivals.wait(arrived, Duration::from_millis(20));
            }
            LivePoll::Failed(error) => return (messages, Some(error)),
            _ => return (messages, None),
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not end: {messages:?}");
    }
}

/// Time after which what never comes is missing.
const SOON: Duration = Duration::from_millis(300);
const PACKET: &[u8] = &[0, 10, 20, 0, 11, 1, 0, 12, 2];

#[test]
fn a_session_is_read_to_its_end() {
    let (messages, error) = read(Script::new(METADATA, &[PACKET, PACKET]));
    assert_eq!(error, None);
    assert!(messages.iter().filter(|name| *name == "number").count() >= 4, "{messages:?}");
}

#[test]
fn packets_that_are_no_packets() {
    let (messages, error) = read(Script::new(METADATA, &[b"nonsense", PACKET]));
    assert_eq!(error, None);
    assert!(messages.iter().any(|message| message.contains("ust/channel_0: byte ")), "{messages:?}");
    assert!(messages.iter().any(|name| name == "number"), "{messages:?}");
}

#[test]
fn metadata_that_never_becomes_readable() {
    for metadata in ["/* CTF 1.8 */ trace {", "\u{1e}{\"type\":", "nonsense"] {
        let (messages, error) = read_for(SOON, Script::new(metadata, &[PACKET]));
        assert!(messages.is_empty(), "{messages:?}");
        assert!(error.as_ref().unwrap().contains("ust/metadata"), "{error:?}");
    }
}

#[test]
fn lengths_that_are_wrong() {
    let lengths = [
        (0, "the packet is empty"),
        (12, "not a multiple of 8"),
        (u64::MAX - 7, "bytes of a packet"),
        (1 << 40, "bytes of a packet"),
    ];
    for (announced, expected) in lengths {
        let (messages, error) =
            read(Script { announced: Some(announced), ..Script::new(METADATA, &[PACKET]) });
        assert!(messages.is_empty(), "{messages:?}");
        let error = error.unwrap();
        assert!(error.contains(expected), "{error}");
    }
    // Shorter than announced: the rest never comes.
    let (_, error) = read_for(SOON, Script { announced: Some(8 * 1000), ..Script::new(METADATA, &[PACKET]) });
    assert!(error.is_some());
}

/// Nothing is ever heard of one data stream. The events of the other come after some patience.
#[test]
fn a_silent_data_stream_delays_no_other_for_long() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("net://127.0.0.1:{}/host/h/s", listener.local_addr().unwrap().port());
    let script = Script { has_silent: true, ..Script::new(METADATA, &[PACKET, PACKET]) };
    let relay = thread::spawn(move || {
        // It fails when the client closes the connection.
        let _ = script.serve(listener.accept().unwrap().0);
    });
    #[derive(Default)]
    struct Silent(Mutex<Vec<String>>);
    impl LiveObserver for Silent {
        fn silent(&self, name: &str, waited: Duration) {
            assert!(waited >= Duration::from_millis(50));
            self.0.lock().unwrap().push(name.to_owned());
        }
    }
    let silent = Arc::new(Silent::default());
    let mut live = LiveOptions::default();
    live.patience = Duration::from_millis(50);
    live.observer = Arc::clone(&silent) as Arc<dyn LiveObserver>;
    let options = LttngLiveOptions::default();
    let mut feed =
        LttngFeed::open(&address.parse().unwrap(), &options, &Default::default(), &live).ok().unwrap();
    let (mut events, begin) = (0, Instant::now());
    while events < 4 {
        let arrived = live.arrivals.count();
        match feed.poll() {
            LivePoll::Message(_) => events += usize::from(matches!(feed.current(), Some(Message::Event(_)))),
            LivePoll::Pending(_) => drop(live.arrivals.wait(arrived, Duration::from_millis(5))),
            other => panic!("{other:?}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{events}");
    }
    assert_eq!(*silent.0.lock().unwrap(), ["ust/channel_1"]);
    drop(feed);
    relay.join().unwrap();
}

#[test]
fn too_many_streams() {
    for streams in [10_000, u32::MAX] {
        let script = Script { streams: Some(streams), ..Script::new(METADATA, &[PACKET]) };
        let (messages, error) = read(script);
        assert!(messages.is_empty(), "{messages:?}");
        assert!(error.as_ref().unwrap().contains("8192"), "{error:?}");
    }
}

#[test]
fn wrong_bytes_anywhere() {
    cases(60, |random| {
        let mut metadata = METADATA.as_bytes().to_vec();
        if random.is_one_in(3) {
            let at = random.index(metadata.len());
            metadata[at] = random.byte();
        }
        let mut packets = vec![PACKET.to_vec(); 4];
        for packet in &mut packets {
            if random.is_one_in(2) {
                let at = random.index(packet.len());
                packet[at] = random.byte();
            }
        }
        read_for(SOON, Script { seed: Some(random.number()), ..Script::of(metadata, packets) });
    });
}
