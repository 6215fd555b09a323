//! Lists the sessions of a relay daemon, or writes a live session into a directory as an ordinary CTF trace:
//!
//! ```sh
//! cargo run -p ichnos-lttng-live --example print -- net://localhost
//! cargo run -p ichnos-lttng-live --example print -- net://localhost/host/web-1/auto DIRECTORY [beginning|last]
//! ```
//!
//! With a directory, it ends when the session ends, and prints counts. It waits for a session that does not exist yet.
// An example may end with an error message at any place.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_lttng_live::{
    ConnectionOptions, LiveEvent, LiveStream, RelayAddress, RelayConnection, SeekPosition, TraceKey,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address: RelayAddress = arguments.first().ok_or("expected the address of a relay daemon")?.parse()?;
    let mut connection = RelayConnection::open(&address, &ConnectionOptions::default())?;
    let Some(directory) = arguments.get(1) else {
        println!("LTTng live {}", connection.version());
        for session in connection.sessions()? {
            // `{:?}` escapes the names.
            println!("{session:?}");
        }
        return Ok(());
    };
    let seek = match arguments.get(2).map(String::as_str) {
        Some("last") => SeekPosition::Last,
        _ => SeekPosition::Beginning,
    };
    let sessions = loop {
        let sessions = connection.attach(&address, seek)?;
        if !sessions.is_empty() {
            break sessions;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let mut output = TraceDirectory::new(Path::new(directory));
    let begin = Instant::now();
    let mut left = sessions.len();
    let mut result = Ok(());
    while left > 0 {
        match connection.next_event(Duration::from_secs(60)) {
            Ok(Some(LiveEvent::SessionEnd { session, reason })) => {
                println!("{:.3} session {session}: {reason}", begin.elapsed().as_secs_f64());
                left -= 1;
            }
            Ok(Some(LiveEvent::AttachRefused { session, reason })) => {
                println!("session {session}: {reason}");
                left -= 1;
            }
            Ok(Some(event)) => output.write(event, begin)?,
            Ok(None) => println!("nothing for a minute"),
            Err(error) => {
                result = Err(error.into());
                break;
            }
        }
    }
    println!("{:?} in {:.3} s", output.counts, begin.elapsed().as_secs_f64());
    result
}

/// Directory with a subdirectory per trace.
struct TraceDirectory {
    root: PathBuf,
    streams: BTreeMap<u64, PathBuf>,
    counts: BTreeMap<&'static str, u64>,
}

impl TraceDirectory {
    fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), streams: BTreeMap::new(), counts: BTreeMap::new() }
    }

    fn write(&mut self, event: LiveEvent, begin: Instant) -> Result<(), Box<dyn Error>> {
        let mut count = |name, number| *self.counts.entry(name).or_default() += number;
        match event {
            LiveEvent::StreamBegin(stream) => {
                count("streams", 1);
                println!("{:.3} {stream:?}", begin.elapsed().as_secs_f64());
                if !stream.is_metadata {
                    self.streams.insert(stream.id, self.path(&stream));
                }
            }
            LiveEvent::Metadata { trace, bytes } => {
                count("metadata bytes", bytes.len() as u64);
                append(&self.trace(trace).join("metadata"), &bytes)?;
            }
            LiveEvent::Packet(packet) => {
                count("packets", 1);
                count("packet bytes", packet.bytes.len() as u64);
                let path = self.streams.get(&packet.stream).ok_or("packet of an unknown stream")?;
                append(path, &packet.bytes)?;
            }
            LiveEvent::PacketLost { .. } => count("lost packets", 1),
            LiveEvent::Inactive { .. } => count("inactivity times", 1),
            LiveEvent::StreamEnd { stream, reason } => {
                count("ended streams", 1);
                println!("{:.3} stream {stream}: {reason}", begin.elapsed().as_secs_f64());
            }
            event => println!("{:.3} {event:?}", begin.elapsed().as_secs_f64()),
        }
        Ok(())
    }

    fn trace(&self, key: TraceKey) -> PathBuf {
        self.root.join(format!("{}-{}", key.session, key.trace))
    }

    /// Returns a path in the directory, whatever the relay daemon sends: `../` in a name must not leave it.
    fn path(&self, stream: &LiveStream) -> PathBuf {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let name: String = stream.channel.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
        let path = self.trace(stream.trace).join(&name);
        match name.is_empty() || name == "metadata" || self.streams.values().any(|other| *other == path) {
            true => self.trace(stream.trace).join(format!("{name}-{}", stream.id)),
            false => path,
        }
    }
}

fn append(path: &Path, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(bytes)?)
}
