//! LTTng live sessions, compared with what the relay daemon writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichnos_lttng_live::{
    ConnectionError, ConnectionOptions, LiveEvent, RelayAddress, RelayConnection, SeekPosition,
    SessionEndReason,
};
use ichnos_testing::Lttng;

/// Longest time without an event.
const PATIENCE: Duration = Duration::from_secs(30);

/// Data stream and metadata bytes, by path in the session directory.
type Files = BTreeMap<String, Vec<u8>>;

/// Result of a session that was read.
#[derive(Default)]
struct Recording {
    files: Files,
    packets: usize,
    inactive: usize,
    ends: Vec<SessionEndReason>,
    error: Option<ConnectionError>,
}

/// Reads a session until it ends, in a thread.
fn read(address: String, seek: SeekPosition) -> JoinHandle<Recording> {
    let address: RelayAddress = address.parse().unwrap();
    thread::spawn(move || {
        let mut recording = Recording::default();
        recording.error = recording.read(&address, seek).err();
        recording
    })
}

impl Recording {
    fn read(&mut self, address: &RelayAddress, seek: SeekPosition) -> Result<(), ConnectionError> {
        let mut connection = RelayConnection::open(address, &ConnectionOptions::default())?;
        let begin = Instant::now();
        let mut left = 0;
        while left == 0 {
            left = connection.attach(address, seek)?.len();
            assert!(begin.elapsed() < PATIENCE, "the session is not listed");
            thread::sleep(Duration::from_millis(20));
        }
        let (mut streams, mut traces, mut times) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        while left > 0 {
            match connection.next_event(PATIENCE)?.expect("nothing happens") {
                LiveEvent::StreamBegin(stream) => {
                    let path = format!("{}/{}", stream.path, stream.channel);
                    let known = match stream.is_metadata {
                        true => traces.insert(stream.trace, path),
                        false => streams.insert(stream.id, path),
                    };
                    assert_eq!(known, None);
                }
                LiveEvent::Metadata { trace, bytes } => {
                    self.files.entry(traces[&trace].clone()).or_default().extend(bytes);
                }
                LiveEvent::Packet(packet) => {
                    self.packets += 1;
                    let time = times.insert(packet.stream, packet.entry.timestamp_end).unwrap_or_default();
                    assert!(packet.entry.timestamp_begin >= time, "packets are not in order");
                    self.files.entry(streams[&packet.stream].clone()).or_default().extend(packet.bytes);
                }
                LiveEvent::Inactive { stream, time, .. } => {
                    self.inactive += 1;
                    assert!(times.insert(stream, time).unwrap_or_default() <= time, "time goes back");
                }
                LiveEvent::SessionEnd { reason, .. } => {
                    self.ends.push(reason);
                    left -= 1;
                }
                LiveEvent::Attached { .. } | LiveEvent::StreamEnd { .. } => (),
                event => panic!("unexpected {event:?}"),
            }
        }
        Ok(())
    }

    /// Checks that the session was read until it was destroyed.
    #[track_caller]
    fn expect_end(&self) {
        assert!(self.error.is_none(), "{:?}", self.error);
        assert_eq!(self.ends, [SessionEndReason::Closed]);
        eprintln!("{} packets, {} inactivity times", self.packets, self.inactive);
    }

    /// Calls `compare` for each file of the relay daemon: with its path, our bytes, and its bytes.
    fn compare(&self, lttng: &Lttng, compare: impl Fn(&str, &[u8], &[u8])) {
        let files = relay_files(&lttng.traces());
        let paths = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(paths(&self.files), paths(&files));
        for (path, theirs) in files {
            let ours = &self.files[&path];
            eprintln!("{path}: {} bytes, relay daemon: {}", ours.len(), theirs.len());
            compare(&path, ours, &theirs);
        }
    }
}

fn expect_equal(path: &str, ours: &[u8], theirs: &[u8]) {
    assert!(ours == theirs, "{path}: {} bytes, relay daemon: {}", ours.len(), theirs.len());
}

/// Returns the relay daemon's files. A channel with a maximum file size has numbered files, which are appended.
fn relay_files(traces: &Path) -> Files {
    let mut found = Vec::new();
    find_files(traces, &mut found);
    let mut files = BTreeMap::new();
    for path in found {
        let path = path.strip_prefix(traces).unwrap();
        // Host, session and time come first.
        let mut name: Vec<_> = path.iter().skip(2).map(|part| part.to_str().unwrap().to_owned()).collect();
        let parts: Vec<&str> = name.last().unwrap().split('_').collect();
        let mut number = 0;
        if let [channel, processor, file] = parts[..] {
            number = file.parse::<u32>().unwrap();
            *name.last_mut().unwrap() = format!("{channel}_{processor}");
        }
        files.insert((name.join("/"), number), fs::read(traces.join(path)).unwrap());
    }
    let mut joined = Files::new();
    for ((path, _), bytes) in files.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        joined.entry(path).or_default().extend(bytes);
    }
    joined
}

fn find_files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("index") => (),
            true => find_files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn all_packets_of_a_session() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("whole", "--buffers-uid");
    let reader = read(lttng.address("whole"), SeekPosition::Beginning);
    lttng.hello(20_000, 2);
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    recording.expect_end();
    recording.compare(&lttng, expect_equal);
    assert!(recording.packets > 50);
}

/// Attaching late: from the beginning, everything is there. From now on, earlier packets are not.
#[test]
fn both_positions_of_a_session() {
    let Some(lttng) = Lttng::start() else { return };
    for (session, seek) in [("first", SeekPosition::Beginning), ("last", SeekPosition::Last)] {
        lttng.start_session(session, "--buffers-uid");
        lttng.hello(4_000, 2);
        thread::sleep(Duration::from_millis(500));
        let reader = read(lttng.address(session), seek);
        thread::sleep(Duration::from_millis(500));
        lttng.hello(4_000, 2);
        lttng.lttng("stop");
        lttng.lttng("destroy");
        let recording = reader.join().unwrap();
        recording.expect_end();
        recording.compare(&lttng, |path, ours, theirs| match seek {
            SeekPosition::Last if !path.ends_with("metadata") => {
                assert!(theirs.ends_with(ours) && ours.len() < theirs.len(), "{path}");
            }
            _ => expect_equal(path, ours, theirs),
        });
        fs::remove_dir_all(lttng.traces()).unwrap();
        fs::create_dir(lttng.traces()).unwrap();
        lttng.own(&lttng.traces());
    }
}

/// Files that are rotated when they reach a size. Live sessions cannot be rotated otherwise.
#[test]
fn rotated_files() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("files", "--buffers-uid --tracefile-size=131072 --tracefile-count=50");
    let reader = read(lttng.address("files"), SeekPosition::Beginning);
    lttng.hello(20_000, 2);
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    recording.expect_end();
    recording.compare(&lttng, expect_equal);
}

/// Clearing a session removes what was read before.
#[test]
fn a_cleared_session() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("cleared", "--buffers-uid");
    let reader = read(lttng.address("cleared"), SeekPosition::Beginning);
    for _ in 0..2 {
        lttng.hello(2_000, 2);
        thread::sleep(Duration::from_millis(1_000));
        lttng.lttng("clear");
    }
    lttng.hello(1_000, 2);
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    recording.expect_end();
    recording.compare(&lttng, |path, ours, theirs| match path.ends_with("metadata") {
        true => expect_equal(path, ours, theirs),
        false => assert!(ours.ends_with(theirs) && theirs.len() < ours.len(), "{path}"),
    });
}

/// LTTng 2.13's relay daemon drops a stream when its process exits, even if packets were not read. So the last packets
/// can be missing, but nothing else.
#[test]
fn processes_with_their_own_buffers() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.start_session("processes", "--buffers-pid");
    let reader = read(lttng.address("processes"), SeekPosition::Beginning);
    for _ in 0..3 {
        lttng.hello(100_000, 2);
    }
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    recording.expect_end();
    let traces = recording.files.keys().filter(|path| path.ends_with("/metadata")).count();
    assert_eq!(traces, 3);
    recording.compare(&lttng, |path, ours, theirs| {
        assert!(theirs.starts_with(ours) && !ours.is_empty(), "{path}");
    });
}

#[test]
fn a_relay_daemon_that_is_killed() {
    let Some(mut lttng) = Lttng::start() else { return };
    lttng.start_session("killed", "--buffers-uid");
    let reader = read(lttng.address("killed"), SeekPosition::Beginning);
    lttng.hello(2_000, 2);
    thread::sleep(Duration::from_millis(1_000));
    lttng.kill_relay();
    let recording = reader.join().unwrap();
    let error = recording.error.as_ref().unwrap();
    let is_closed = matches!(error, ConnectionError::Closed | ConnectionError::Protocol(_));
    assert!(is_closed, "{error}");
    assert!(recording.ends.is_empty());
    recording.compare(&lttng, |path, ours, theirs| {
        assert!(theirs.starts_with(ours) && !ours.is_empty(), "{path}");
    });
}
