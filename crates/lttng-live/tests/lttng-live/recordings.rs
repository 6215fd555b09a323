//! Live sessions of LTTng, compared with what the relay daemon writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ichnos_lttng_live::{
    ConnectionError, ConnectionOptions, LiveEvent, RelayAddress, RelayConnection, SeekPosition,
    SessionEndReason,
};

use crate::lttng::Lttng;

/// Longest time without an event.
const PATIENCE: Duration = Duration::from_secs(30);

/// Result of a session that was read.
#[derive(Default)]
struct Recording {
    /// Bytes of all packets by file name, and of the metadata by trace.
    files: BTreeMap<String, Vec<u8>>,
    packets: usize,
    inactive: usize,
    traces: usize,
    ends: Vec<SessionEndReason>,
    error: Option<ConnectionError>,
}

/// Reads sessions until they end, in a thread.
fn read(address: RelayAddress, seek: SeekPosition) -> JoinHandle<Recording> {
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
        let mut streams = BTreeMap::new();
        while left > 0 {
            match connection.next_event(PATIENCE)?.expect("nothing happens") {
                LiveEvent::StreamBegin(stream) if stream.is_metadata => self.traces += 1,
                LiveEvent::StreamBegin(stream) => {
                    assert_eq!(
                        streams.insert(stream.id, format!("{}/{}", stream.path, stream.channel)),
                        None
                    );
                }
                LiveEvent::Metadata { trace, bytes } => {
                    self.files.entry(format!("metadata {}", trace.trace)).or_default().extend(bytes);
                }
                LiveEvent::Packet(packet) => {
                    assert!(!self.files.is_empty(), "a packet before metadata");
                    self.packets += 1;
                    self.files.entry(streams[&packet.stream].clone()).or_default().extend(packet.bytes);
                }
                LiveEvent::Inactive { .. } => self.inactive += 1,
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

    /// Returns data streams by channel name and processor, and metadata.
    fn sorted(&self) -> (Vec<&Vec<u8>>, Vec<&Vec<u8>>) {
        let (metadata, data): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|(name, _)| name.starts_with("metadata "));
        let bytes = |files: Vec<(&String, _)>| {
            let mut files: Vec<_> = files.into_iter().map(|(_, bytes)| bytes).collect();
            files.sort();
            files
        };
        (bytes(data), bytes(metadata))
    }
}

/// Appends the files of a directory, with all archived chunks in front, to the files with the same path in a chunk.
fn relay_files(directory: &Path, path: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).collect();
    // The current chunk is at the top, next to `archives`, whose names contain the time and number.
    entries.sort_by_key(|entry| (entry.file_name() != "archives", entry.file_name()));
    let is_archives = directory.ends_with("archives");
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        if name == "index" {
            continue;
        }
        let inner = match is_archives || name == "archives" {
            true => path.to_owned(),
            false => format!("{path}/{name}"),
        };
        match entry.file_type().unwrap().is_dir() {
            true => relay_files(&entry.path(), &inner, files),
            false => {
                let bytes = fs::read(entry.path()).unwrap();
                match name == "metadata" {
                    // Each chunk repeats the metadata so far.
                    true => _ = files.insert(inner, bytes),
                    false => files.entry(inner).or_default().extend(bytes),
                }
            }
        }
    }
}

/// Compares a recording with the relay daemon's directory.
fn compare(recording: &Recording, lttng: &Lttng) {
    let mut files = BTreeMap::new();
    relay_files(&lttng.traces(), "", &mut files);
    files.retain(|_, bytes| !bytes.is_empty());
    let (metadata, data): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| name.ends_with("/metadata"));
    let bytes = |files: Vec<(String, Vec<u8>)>| {
        let mut files: Vec<_> = files.into_iter().map(|(_, bytes)| bytes).collect();
        files.sort();
        files
    };
    let (ours, our_metadata) = recording.sorted();
    let sizes = |files: &[&Vec<u8>]| files.iter().map(|bytes| bytes.len()).collect::<Vec<_>>();
    let theirs = bytes(data);
    let theirs: Vec<_> = theirs.iter().collect();
    assert_eq!(sizes(&ours), sizes(&theirs), "data stream sizes");
    assert!(ours == theirs, "data streams differ");
    let theirs = bytes(metadata);
    let theirs: Vec<_> = theirs.iter().collect();
    assert_eq!(sizes(&our_metadata), sizes(&theirs), "metadata sizes");
    assert!(our_metadata == theirs, "metadata differs");
}

/// Creates a live session with the channels `small` and `large`, and starts it.
fn start(lttng: &Lttng, session: &str, buffers: &str) {
    lttng.create(session, 100_000);
    for (channel, size, events) in [("small", "4K", "hello:tick"), ("large", "64K", "hello:greeting")] {
        let options =
            format!("--userspace {buffers} --blocking-timeout=inf --subbuf-size={size} --num-subbuf=8");
        lttng.lttng(&format!("enable-channel {options} {channel}"));
        lttng.lttng(&format!("enable-event --userspace --channel={channel} {events}"));
    }
    lttng.lttng("start");
}

#[test]
fn all_packets_of_a_session() {
    let Some(lttng) = Lttng::start() else { return };
    start(&lttng, "whole", "--buffers-uid");
    let reader = read(lttng.address("whole"), SeekPosition::Beginning);
    lttng.hello(20_000, 2);
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    assert!(recording.error.is_none(), "{:?}", recording.error);
    assert_eq!(recording.ends, [SessionEndReason::Closed]);
    assert_eq!(recording.traces, 1);
    compare(&recording, &lttng);
    eprintln!("{} packets, {} inactivity times", recording.packets, recording.inactive);
}

#[test]
fn a_rotated_session() {
    let Some(lttng) = Lttng::start() else { return };
    start(&lttng, "rotated", "--buffers-uid");
    let reader = read(lttng.address("rotated"), SeekPosition::Beginning);
    for _ in 0..3 {
        lttng.hello(2_000, 2);
        lttng.lttng("rotate");
    }
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    assert!(recording.error.is_none(), "{:?}", recording.error);
    assert_eq!(recording.ends, [SessionEndReason::Closed]);
    compare(&recording, &lttng);
}

#[test]
fn processes_with_their_own_buffers() {
    let Some(lttng) = Lttng::start() else { return };
    start(&lttng, "processes", "--buffers-pid");
    let reader = read(lttng.address("processes"), SeekPosition::Beginning);
    for _ in 0..3 {
        lttng.hello(2_000, 2);
        thread::sleep(Duration::from_millis(300));
    }
    lttng.lttng("stop");
    lttng.lttng("destroy");
    let recording = reader.join().unwrap();
    assert!(recording.error.is_none(), "{:?}", recording.error);
    assert_eq!(recording.ends, [SessionEndReason::Closed]);
    assert_eq!(recording.traces, 3);
    compare(&recording, &lttng);
}

#[test]
fn a_relay_daemon_that_is_killed() {
    let Some(mut lttng) = Lttng::start() else { return };
    start(&lttng, "killed", "--buffers-uid");
    let reader = read(lttng.address("killed"), SeekPosition::Beginning);
    lttng.hello(2_000, 2);
    thread::sleep(Duration::from_millis(1_000));
    lttng.kill_relay();
    let recording = reader.join().unwrap();
    let error = recording.error.unwrap();
    let is_closed = matches!(error, ConnectionError::Closed | ConnectionError::Protocol(_));
    assert!(is_closed, "{error}");
    assert!(recording.packets > 0 && recording.ends.is_empty());
}
