//! A data stream file that is truncated while its events are read. The loss must be reported, and zeros must not be
//! returned as events.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ichnos_ctf::trace::{CtfOptions, CtfTrace, open};
use ichnos_io::{IoLimits, Tree};
use ichnos_model::cursor::{MessageKind, StreamCursor};
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::{Message, Window};
use tempfile::TempDir;

/// Events with a time and the same number twice, so that valid events can be recognized.
const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
stream {
    packet.context := struct { time timestamp_begin; time timestamp_end; u64 packet_size; };
    event.header := struct { time timestamp; };
};
event { name = tick; fields := struct { u64 number; }; };
"#;

/// Size in bytes of a packet header and context, and of an event.
const HEAD: usize = 24;
const EVENT: usize = 16;

/// Temporary directory with a trace with a single data stream.
struct TraceDirectory(TempDir);

impl TraceDirectory {
    /// Creates packets with these numbers of events.
    fn new(packets: &[u64]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join("metadata"), METADATA).unwrap();
        let mut bytes = Vec::new();
        let mut time = 1;
        for count in packets {
            let size = (HEAD as u64 + count * EVENT as u64) * 8;
            for number in [time, time + count - 1, size] {
                bytes.extend(u64::to_le_bytes(number));
            }
            for number in time..time + count {
                bytes.extend(number.to_le_bytes());
                bytes.extend(number.to_le_bytes());
            }
            time += count;
        }
        fs::write(path.join("stream"), bytes).unwrap();
        Self(directory)
    }

    fn open(&self) -> CtfTrace {
        // Others have the unchanged file in memory.
        ichnos_io::handle_bus_errors().unwrap();
        let tree = Tree::open(self.0.path(), &IoLimits::default()).unwrap();
        open(&[&tree], &CtfOptions::default()).traces.remove(0)
    }

    fn stream(&self) -> PathBuf {
        self.0.path().join("stream")
    }
}

fn shorten(file: &Path, len: usize) {
    File::options().write(true).open(file).unwrap().set_len(len as u64).unwrap();
}

/// A cursor's reports.
#[derive(Default)]
struct CursorReport {
    /// Valid events, and other events.
    good: u64,
    bad: u64,
    damage: Vec<Damage>,
    /// Number of bad events at the first damage.
    bad_before: u64,
    ended: bool,
}

/// Reads up to `most` events.
fn read(cursor: &mut dyn StreamCursor, most: u64, observed: &mut CursorReport) {
    while observed.good + observed.bad < most
        && let Some(head) = cursor.next_head()
    {
        match cursor.current().unwrap() {
            Message::Event(event) => {
                let at = event.scopes.begins()[5].bit / 8;
                let number = event.scopes.bits.data[at as usize..][..8].try_into().unwrap();
                let is_right = u64::from_le_bytes(number) == observed.good + 1;
                *(if is_right { &mut observed.good } else { &mut observed.bad }) += 1;
            }
            Message::Damage(damage) => {
                if observed.damage.is_empty() {
                    observed.bad_before = observed.bad;
                }
                observed.damage.push(damage.clone());
            }
            _ => observed.ended |= head.kind == MessageKind::StreamEnd,
        }
    }
}

fn lost(observed: &CursorReport) -> Vec<&Damage> {
    let lost: Vec<&Damage> =
        observed.damage.iter().filter(|damage| matches!(damage.kind, DamageKind::Lost { .. })).collect();
    assert!(lost.iter().all(|damage| damage.file.ends_with("/stream")), "{lost:?}");
    lost
}

#[test]
fn whole_packets() {
    // 16,024 bytes per packet.
    let trace = TraceDirectory::new(&[1000; 20]);
    let opened = trace.open();
    let mut cursor = opened.streams[0].cursor(Window::default());
    let mut observed = CursorReport::default();
    read(&mut cursor, 3500, &mut observed);
    shorten(&trace.stream(), 100_000);
    read(&mut cursor, u64::MAX, &mut observed);
    // The rest of the seventh packet and everything after it is missing. It is reported once, without zeros.
    assert_eq!(
        (observed.good, observed.bad, observed.ended),
        (6 * 1000 + (100_000 - 6 * 16_024 - 24) / 16, 0, true)
    );
    let [damage] = observed.damage.as_slice() else { panic!("{:?}", observed.damage) };
    assert_eq!(damage.kind, DamageKind::Lost { reported: false });
    assert_eq!((damage.bit, damage.skipped), (100_000 * 8, (20 * 16_024 - 100_000) * 8));
    // A new cursor must return the same.
    let mut again = CursorReport::default();
    read(&mut opened.streams[0].cursor(Window::default()), u64::MAX, &mut again);
    assert_eq!((again.good, again.bad, &again.damage), (observed.good, 0, &observed.damage));
    // Opening the trace now finds a truncated file.
    let mut again = CursorReport::default();
    read(&mut trace.open().streams[0].cursor(Window::default()), u64::MAX, &mut again);
    assert_eq!((again.good, again.bad, again.damage.len()), (observed.good, 0, 1));
    assert!(matches!(again.damage[0].kind, DamageKind::CutOff { .. }));
}

#[test]
fn the_packet_that_is_being_read() {
    // 48 MB.
    let trace = TraceDirectory::new(&[3_000_000]);
    let opened = trace.open();
    let mut cursor = opened.streams[0].cursor(Window::default());
    let mut observed = CursorReport::default();
    read(&mut cursor, 1_000_000, &mut observed);
    shorten(&trace.stream(), 4096);
    read(&mut cursor, u64::MAX, &mut observed);
    // Zeros also have a number and a time, but only a few come before the damage is reported.
    assert_eq!((observed.good, observed.ended), (1_000_000, true));
    assert!(observed.bad <= (1 << 20) / EVENT as u64, "{}", observed.bad);
    let lost = lost(&observed);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!((lost[0].bit, &lost[0].kind), (4096 * 8, &DamageKind::Lost { reported: true }));
    assert!(lost[0].to_string().contains("may be wrong"), "{}", lost[0]);
    assert!(observed.damage.len() <= 3, "{:?}", observed.damage);
}

/// Zeros after the end of a file up to the end of its page must not be reported.
#[test]
fn within_a_page() {
    let trace = TraceDirectory::new(&[1000; 20]);
    let len = 20 * 16_024;
    let opened = trace.open();
    shorten(&trace.stream(), len - EVENT);
    let mut observed = CursorReport::default();
    read(&mut opened.streams[0].cursor(Window::default()), u64::MAX, &mut observed);
    let lost = lost(&observed);
    assert_eq!((observed.good, lost.len()), (20 * 1000 - 1, 1));
    assert_eq!(
        (lost[0].bit, &lost[0].kind),
        ((len - EVENT) as u64 * 8, &DamageKind::Lost { reported: true })
    );
    // Another file in its place is not a loss, and neither is a growing file.
    let opened = trace.open();
    fs::rename(trace.stream(), trace.0.path().join("moved")).unwrap();
    fs::write(trace.stream(), b"").unwrap();
    File::options().append(true).open(trace.0.path().join("moved")).unwrap().set_len(1 << 20).unwrap();
    let mut observed = CursorReport::default();
    read(&mut opened.streams[0].cursor(Window::default()), u64::MAX, &mut observed);
    assert!(!observed.damage.iter().any(|damage| matches!(damage.kind, DamageKind::Lost { .. })));
}
