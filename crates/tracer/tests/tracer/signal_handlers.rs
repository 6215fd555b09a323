//! What signal handlers need: events that take no memory, also where a file is full.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ichnos_tracer::{Recording, RecordingOptions, SizeLimit, TraceEvent, record};

use crate::alone;
use crate::counted_memory::memory_calls;

#[derive(TraceEvent)]
struct Handled<'a> {
    number: u32,
    text: &'a str,
}

/// A file has eight events with it.
const TEXT: &str = match str::from_utf8(&[b'x'; 400]) {
    Ok(text) => text,
    Err(_) => "",
};

fn options(path: PathBuf, limit: SizeLimit) -> RecordingOptions {
    let mut options = RecordingOptions::new(path);
    (options.packet_size, options.file_size, options.limit) = (512, 4096, limit);
    options
}

/// Returns the number of the file that was begun last.
fn last_file(path: &Path) -> u32 {
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let numbers = names.filter_map(|name| name.to_str()?.strip_prefix("stream-00000-")?.parse().ok());
    numbers.max().unwrap()
}

#[test]
fn a_new_file_takes_no_memory() {
    const EVENTS: u32 = 1000;

    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    // The system's functions for paths take memory if they are long.
    let parent = directory.path().join("x".repeat(250)).join("y".repeat(250));
    let (last, time) = (SizeLimit::Last(20_000), Duration::from_nanos(1));
    let check = || {
        for (name, limit, duration, files) in [
            ("all", SizeLimit::Unlimited, None, 120),
            ("first", SizeLimit::First(200_000), None, 40),
            ("last", last, None, 120),
            ("all-short", SizeLimit::Unlimited, Some(time), EVENTS - 1),
            ("last-short", last, Some(time), EVENTS - 1),
            ("first-short", SizeLimit::First(200_000), Some(time), 100),
        ] {
            let path = parent.join(name);
            let mut options = options(path.clone(), limit);
            options.file_duration = duration;
            let recording = Recording::start(options).unwrap();
            let event = |number| record(&Handled { number, text: TEXT });
            event(0);
            let calls = memory_calls(|| (1..EVENTS).for_each(event));
            assert_eq!(calls, 0, "{name}");
            assert!(last_file(&path) >= files, "{name}: {}", last_file(&path));
            let discarded = recording.finish().discarded;
            assert_eq!(discarded > 0, matches!(limit, SizeLimit::First(_)), "{name}: {discarded}");
        }
    };
    let name = "a name that the system cuts off".to_owned();
    std::thread::scope(|scope| {
        std::thread::Builder::new().name(name).spawn_scoped(scope, check).unwrap().join().unwrap();
    });
}

#[test]
fn a_file_that_is_read_takes_no_memory() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let recording = Recording::start(options(path.clone(), SizeLimit::Last(20_000))).unwrap();
    let event = |number| record(&Handled { number, text: TEXT });
    (0..100).for_each(event);
    // None of the earlier files can be used again.
    let oldest = |skipped| path.join(format!("stream-00000-{:06}", last_file(&path) - 3 + skipped));
    let reader = std::fs::File::open(oldest(0)).unwrap();
    std::fs::rename(oldest(1), directory.path().join("other")).unwrap();
    std::os::unix::fs::symlink(directory.path().join("other"), oldest(1)).unwrap();
    std::fs::remove_file(oldest(2)).unwrap();
    assert_eq!(memory_calls(|| (100..200).for_each(event)), 0);
    assert_eq!(recording.finish().discarded, 0);
    drop(reader);
}
