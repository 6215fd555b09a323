//! Two threads, one of which acts between any two stores of the other one, while others end and leave it their ring.
//!
//! The steps happen on one thread, one after the other. So each interleaving that the random numbers choose is the same
//! in each run, and a reader sees the files after each store of either thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ichnos_testing::Random;

use super::super::packet_file::steps::LOOK;
use super::super::recording_options::RecordingOptions;
use super::super::ring_pool::RingPool;
use super::super::thread_ring::{EventPlace, ThreadRing};
use super::super::trace_directory::TraceDirectory;
use super::EVENT;
use super::reader::{self, FoundEvent, read_files};

/// Events of a thread: their number, and whether the next one may be there.
#[derive(Clone, Copy, Default)]
struct ThreadProgress {
    done: u32,
    is_recording: bool,
}

struct Model {
    directory: PathBuf,
    pool: Arc<RingPool>,
    random: Random,
    threads: BTreeMap<u32, ThreadProgress>,
    /// The ring that is in use between the stores of the first thread, and its thread.
    other: Option<(ThreadRing, u32)>,
    checks: u64,
}

thread_local! {
    static MODEL: RefCell<Option<Model>> = const { RefCell::new(None) };
}

fn model<R>(run: impl FnOnce(&mut Model) -> R) -> R {
    MODEL.with_borrow_mut(|model| run(model.as_mut().unwrap()))
}

/// Compares what a reader finds with what the threads have recorded.
fn check() {
    model(|model| {
        model.checks += 1;
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for FoundEvent { thread, number } in read_files(&model.directory) {
            let next = found.entry(thread).or_default();
            assert_eq!(number, *next, "thread {thread}");
            *next += 1;
        }
        for (thread, ThreadProgress { done, is_recording }) in &model.threads {
            let found = found.remove(thread).unwrap_or_default();
            assert!(
                found == *done || *is_recording && found == done + 1,
                "thread {thread}: {found} of {done}"
            );
        }
        assert!(found.is_empty());
    });
}

/// Records an event of a thread.
fn record(ring: &mut ThreadRing, thread: u32) {
    let number = model(|model| {
        let progress = model.threads.entry(thread).or_default();
        progress.is_recording = true;
        progress.done
    });
    let place = EventPlace { id: EVENT, alignment: 1, size: reader::size(number) };
    assert!(ring.record(place, |out| reader::write(number, out)));
    model(|model| model.threads.insert(thread, ThreadProgress { done: number + 1, is_recording: false }));
    check();
}

/// Lets the second thread act between two stores of the first one.
fn act() {
    LOOK.set(Some(Box::new(check)));
    let (other, choice, pool) =
        model(|model| (model.other.take(), model.random.below(10), Arc::clone(&model.pool)));
    let (mut ring, mut thread) = other.unwrap();
    match choice {
        0 => {
            // The thread ends, and another one gets its ring, or a new one.
            let spare = pool.take().unwrap();
            pool.give_back(ring);
            ring = pool.take().unwrap();
            pool.give_back(spare);
            thread += 1;
            ring.assign(thread);
        }
        1 => assert!(!ring.record(EventPlace { id: EVENT, alignment: 1, size: 10_000 }, |_| ())),
        _ => record(&mut ring, thread),
    }
    model(|model| model.other = Some((ring, thread)));
    check();
    LOOK.set(None);
}

#[test]
fn readers_see_whole_events_between_the_stores_of_two_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t");
    let mut options = RecordingOptions::new(&path);
    (options.packet_size, options.file_size) = (512, 4096);
    let pool = Arc::new(RingPool::new(TraceDirectory::create(options, 1).unwrap()));
    let [mut first, mut second] = [(); 2].map(|()| pool.take().unwrap());
    first.assign(1);
    second.assign(1000);
    MODEL.set(Some(Model {
        directory: path,
        pool: Arc::clone(&pool),
        random: Random::new(57),
        threads: BTreeMap::new(),
        other: Some((second, 1000)),
        checks: 0,
    }));
    for _ in 0..60 {
        LOOK.set(Some(Box::new(act)));
        record(&mut first, 1);
    }
    LOOK.set(Some(Box::new(check)));
    first.finish();
    let Model { other, checks, threads, .. } = MODEL.take().unwrap();
    LOOK.set(None);
    other.unwrap().0.finish();
    assert!(checks > 1000 && threads.len() > 10, "{checks} checks, {} threads", threads.len());
}
