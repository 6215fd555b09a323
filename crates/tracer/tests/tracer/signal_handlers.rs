//! Events that are recorded in signal handlers, also while the allocator works.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ichnos_tracer::{Recording, RecordingOptions, SizeLimit, TraceEvent, record};

use crate::counted_memory::memory_calls;
use crate::{alone, own_directory, process, read};

#[derive(TraceEvent)]
struct Handled<'a> {
    number: u32,
    text: &'a str,
}

#[derive(TraceEvent)]
struct Worked {
    number: u32,
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

/// Number of events that handlers have recorded or lost.
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handle(_: libc::c_int) {
    record(&Handled { number: HANDLED.load(Relaxed), text: TEXT });
    HANDLED.fetch_add(1, Relaxed);
}

/// Sends a signal to this thread again and again.
struct Interruptions {
    timer: libc::timer_t,
}

impl Interruptions {
    fn begin() -> Self {
        let interval = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
        let times = libc::itimerspec { it_interval: interval, it_value: interval };
        // SAFETY: the handler only records and counts. Zeros are valid in the structure, and all arguments live as long
        // as the calls.
        unsafe {
            libc::signal(libc::SIGUSR1, handle as *const () as libc::sighandler_t);
            let mut event: libc::sigevent = std::mem::zeroed();
            (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_THREAD_ID, libc::SIGUSR1);
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = std::mem::zeroed();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
            assert_eq!(libc::timer_settime(timer, 0, &times, std::ptr::null_mut()), 0);
            Self { timer }
        }
    }
}

impl Drop for Interruptions {
    fn drop(&mut self) {
        // SAFETY: the timer exists.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// Takes memory and gives it back in sizes for which the allocator has a lock, and records, until the handler has run so
/// often, or for some time. Returns the number of its own events.
fn work(signals: u32) -> u32 {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut number = 0;
    let begin = Instant::now();
    while HANDLED.load(Relaxed) < signals && begin.elapsed() < Duration::from_millis(300) {
        for size in (1..40).map(|part| part * 1111) {
            let mut bytes = Vec::with_capacity(size);
            bytes.push(1);
            bytes.reserve_exact(2 * size);
            kept.push(bytes);
            if kept.len() > 50 {
                kept.swap_remove(size % 50);
            }
        }
        record(&Worked { number });
        number += 1;
    }
    number
}

/// Records in handlers that interrupt this thread.
#[test]
fn the_interrupted_process() {
    let Some(directory) = own_directory() else { return };
    // SAFETY: nothing handles the signal. It ends a process that waits forever.
    unsafe { libc::alarm(30) };
    for (name, limit) in [("all", SizeLimit::Unlimited), ("last", SizeLimit::Last(20_000))] {
        let path = directory.join(name);
        let recording = Recording::start(options(path.clone(), limit)).unwrap();
        record(&Worked { number: 0 });
        record(&Handled { number: 0, text: "" });
        HANDLED.store(0, Relaxed);
        let interruptions = Interruptions::begin();
        let worked = work(800);
        drop(interruptions);
        let handled = HANDLED.load(Relaxed);
        let discarded = recording.finish().discarded;
        let (files, events) = (last_file(&path), read(&path, true));
        if limit == SizeLimit::Unlimited {
            assert_eq!(events.len() as u64 + discarded, u64::from(handled + worked) + 2);
        }
        // Most of them do not interrupt another event.
        assert!(discarded <= u64::from(handled) / 2, "{discarded} of {handled}");
        assert!(handled > 0 && files >= handled / 20, "{handled} in {files} files");
        println!("{name}: {handled} events of handlers, {worked} others, {discarded} lost, {files} files");
    }
}

#[test]
fn handlers_record_while_memory_is_allocated() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let test = "signal_handlers::the_interrupted_process";
    let output = process(test, directory.path()).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("last: "), "{:?}: {text}\n{errors}", output.status);
    println!("{text}");
}
