//! What other programs see before and after each store: the same as after a kill there.

mod interleaving;
mod reader;

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::reader::read_files;
use super::packet_file::steps::LOOK;
use super::recording_options::{RecordingOptions, SizeLimit};
use super::ring_pool::RingPool;
use super::thread_name::ThreadName;
use super::thread_ring::{EventPlace, ThreadRing};
use super::trace_directory::TraceDirectory;

/// Class of the events. Class 0 names threads.
const EVENT: u16 = 1;

thread_local! {
    static CHECKED: RefCell<Option<Checked>> = const { RefCell::new(None) };
}

/// What must be in the files of this thread.
struct Checked {
    directory: PathBuf,
    /// Number of events that are there. During an event, it may be there already.
    done: u32,
    is_recording: bool,
    may_lose_first: bool,
    checks: u64,
}

fn check() {
    CHECKED.with_borrow_mut(|checked| {
        if let Some(checked) = checked {
            checked.checks += 1;
            checked.check();
        }
    });
}

impl Checked {
    fn check(&self) {
        let numbers: Vec<u32> = read_files(&self.directory).iter().map(|event| event.number).collect();
        let first = numbers.first().copied().unwrap_or(self.done);
        assert!(first == 0 || self.may_lose_first, "event {first} is the first one");
        let end = first + numbers.len() as u32;
        assert_eq!(numbers, (first..end).collect::<Vec<_>>());
        assert!(end == self.done || self.is_recording && end == self.done + 1, "{end} of {}", self.done);
    }
}

fn record(events: u32, limit: SizeLimit, duration: Option<Duration>, path: &Path) -> u64 {
    let mut options = RecordingOptions::new(path);
    (options.packet_size, options.file_size, options.limit) = (512, 4096, limit);
    options.file_duration = duration;
    let pool = RingPool::new(TraceDirectory::create(options, 1).unwrap());
    let mut ring = pool.take().unwrap();
    ring.assign(1);
    let checked = Checked {
        directory: path.to_owned(),
        done: 0,
        is_recording: false,
        may_lose_first: limit.kept().is_some(),
        checks: 0,
    };
    CHECKED.set(Some(checked));
    LOOK.set(Some(Box::new(check)));
    for event in 0..events {
        let set = |is_recording, done| {
            CHECKED.with_borrow_mut(|checked| {
                let checked = checked.as_mut().unwrap();
                (checked.is_recording, checked.done) = (is_recording, done);
            });
        };
        set(true, event);
        let place = EventPlace { id: EVENT, alignment: 1, size: reader::size(event) };
        assert!(ring.record(place, |out| reader::write(event, out)));
        set(false, event + 1);
        check();
    }
    ring.finish();
    check();
    LOOK.set(None);
    CHECKED.take().unwrap().checks
}

#[test]
fn files_are_valid_before_and_after_each_store() {
    let directory = tempfile::tempdir().unwrap();
    let last = SizeLimit::Last(9000);
    for (name, events, limit, duration) in [
        ("all", 500, SizeLimit::Unlimited, None),
        ("last", 500, last, None),
        // Each event has its own file.
        ("short", 40, SizeLimit::Unlimited, Some(Duration::from_nanos(1))),
        ("last-short", 100, last, Some(Duration::from_nanos(1))),
    ] {
        let checks = record(events, limit, duration, &directory.path().join(name));
        assert!(checks > 5 * u64::from(events), "{checks}");
    }
}

fn record_next(ring: &mut ThreadRing, event: &mut u32) {
    let place = EventPlace { id: EVENT, alignment: 1, size: reader::size(*event) };
    assert!(ring.record(place, |out| reader::write(*event, out)));
    *event += 1;
}

/// Returns the files of a trace with their numbers in the file system, in the order of their names.
fn numbered_files(directory: &Path) -> Vec<(PathBuf, u64)> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("stream-"))
        .map(|entry| (entry.path(), entry.metadata().unwrap().ino()))
        .collect();
    files.sort();
    files
}

/// Returns a ring that keeps two files, which are full, and the number of its events.
fn full_ring(path: &Path) -> (ThreadRing, u32) {
    let mut options = RecordingOptions::new(path);
    (options.packet_size, options.file_size, options.limit) = (512, 4096, SizeLimit::Last(9000));
    let pool = RingPool::new(TraceDirectory::create(options, 1).unwrap());
    let mut ring = pool.take().unwrap();
    ring.assign(1);
    let mut event = 0;
    while numbered_files(path).len() < 2 {
        record_next(&mut ring, &mut event);
    }
    (ring, event)
}

#[test]
fn a_file_that_has_another_name_or_was_replaced_is_not_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let (mut ring, mut event) = full_ring(&path);
    let link = directory.path().join("link");
    let changes: [&dyn Fn(&Path); 3] = [
        &|oldest| std::fs::hard_link(oldest, &link).unwrap(),
        &|oldest| {
            std::fs::rename(oldest, &link).unwrap();
            std::os::unix::fs::symlink(&link, oldest).unwrap();
        },
        &|oldest| {
            // A store to what was cut off would end the process.
            std::fs::hard_link(oldest, &link).unwrap();
            File::options().write(true).open(oldest).unwrap().set_len(0).unwrap();
        },
    ];
    for change in changes {
        let (oldest, _) = numbered_files(&path).swap_remove(0);
        change(&oldest);
        let before = std::fs::read(&link).unwrap();
        while oldest.is_symlink() || oldest.exists() {
            record_next(&mut ring, &mut event);
        }
        for _ in 0..500 {
            record_next(&mut ring, &mut event);
        }
        assert!(before == std::fs::read(&link).unwrap(), "another program's file has changed");
        std::fs::remove_file(&link).unwrap();
        let numbers: Vec<u32> = read_files(&path).iter().map(|event| event.number).collect();
        assert_eq!(numbers, (numbers[0]..event).collect::<Vec<_>>());
    }
}

#[test]
fn the_oldest_file_is_used_again_unless_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    let (mut ring, mut event) = full_ring(&path);
    let (oldest, number) = numbered_files(&path).swap_remove(0);
    while oldest.exists() {
        record_next(&mut ring, &mut event);
    }
    let files = numbered_files(&path);
    assert_eq!(files.len(), 2);
    assert_eq!(files.last().unwrap().1, number);
    // Readers search for packets in the padding.
    let last = std::fs::read(&files.last().unwrap().0).unwrap();
    assert!(last[1024..].iter().all(|byte| *byte == 0));

    let (oldest, number) = files.first().unwrap();
    let reader = File::open(oldest).unwrap();
    let mut before = vec![0; 4096];
    reader.read_exact_at(&mut before, 0).unwrap();
    while oldest.exists() {
        record_next(&mut ring, &mut event);
    }
    for _ in 0..1000 {
        record_next(&mut ring, &mut event);
    }
    let mut after = vec![0; 4096];
    reader.read_exact_at(&mut after, 0).unwrap();
    assert!(before == after, "the file that is read has changed");
    assert!(numbered_files(&path).iter().all(|(_, file)| file != number));
}
