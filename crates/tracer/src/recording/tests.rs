//! What other programs see before and after each store: the same as after a kill there.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use super::packet_file::steps::LOOK;
use super::recording_options::{RecordingOptions, SizeLimit};
use super::ring_pool::RingPool;
use super::thread_ring::EventPlace;
use super::trace_directory::TraceDirectory;
use crate::packet::{CONTENT, HEAD, TOTAL};

thread_local! {
    static CHECKED: RefCell<Option<Checked>> = const { RefCell::new(None) };
}

/// What must be in the files of this thread.
struct Checked {
    directory: PathBuf,
    /// Number of events that are there. During an event, it may be there already.
    done: usize,
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
        let mut files: Vec<_> =
            fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("stream-"));
        files.sort();
        let mut numbers = Vec::new();
        let mut sequence = None;
        for file in files {
            packets(&fs::read(&file).unwrap(), &mut sequence, &mut numbers);
        }
        let first = numbers.first().copied().unwrap_or(self.done);
        assert!(first == 0 || self.may_lose_first, "event {first} is the first one");
        let expected: Vec<usize> = (first..first + numbers.len()).collect();
        assert_eq!(numbers, expected);
        let end = first + numbers.len();
        assert!(end == self.done || self.is_recording && end == self.done + 1, "{end} of {}", self.done);
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads a file, as strictly as readers of CTF do, into event numbers.
fn packets(mut file: &[u8], sequence: &mut Option<u64>, numbers: &mut Vec<usize>) {
    let mut time = 0;
    assert!(!file.is_empty());
    while !file.is_empty() {
        assert_eq!(number::<4>(file, 0), 0xC1FC_1FC1);
        let [total, content] = [TOTAL, CONTENT].map(|at| number::<4>(file, at) as usize);
        assert!(content <= total && total <= 8 * file.len() && content % 8 == 0 && total % 64 == 0);
        let (begin, end) = (number::<8>(file, 16), number::<8>(file, 24));
        assert!(time <= begin && begin <= end);
        time = begin;
        // The packet that takes the place of the padding for an instant has no event.
        let this = number::<4>(file, 32);
        assert!(sequence.is_none_or(|before| this == before + 1), "{sequence:?} {this}");
        *sequence = Some(this);
        let mut events = &file[HEAD..content / 8];
        while !events.is_empty() {
            let event = number::<4>(events, 10) as usize;
            let now = begin & !0xffff_ffff | number::<4>(events, 2);
            assert!(time <= now && now <= end);
            time = now;
            let size = size(event);
            assert!(events[14..10 + size].iter().all(|byte| *byte == event as u8));
            events = &events[10 + size..];
            numbers.push(event);
        }
        file = &file[total / 8..];
    }
}

/// Returns the size of the payload of an event.
fn size(event: usize) -> usize {
    4 + event * 37 % 90
}

fn record(limit: SizeLimit, path: &Path) -> u64 {
    let mut options = RecordingOptions::new(path);
    (options.packet_size, options.file_size, options.limit) = (512, 4096, limit);
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
    for event in 0..500 {
        let set = |is_recording, done| {
            CHECKED.with_borrow_mut(|checked| {
                let checked = checked.as_mut().unwrap();
                (checked.is_recording, checked.done) = (is_recording, done);
            });
        };
        set(true, event);
        let place = EventPlace { id: 0, alignment: 1, size: size(event) };
        assert!(ring.record(place, |out| {
            out[..4].copy_from_slice(&(event as u32).to_le_bytes());
            out[4..].fill(event as u8);
        }));
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
    for (name, limit) in [("all", SizeLimit::Unlimited), ("last", SizeLimit::Last(9000))] {
        let checks = record(limit, &directory.path().join(name));
        assert!(checks > 2500, "{checks}");
    }
}
