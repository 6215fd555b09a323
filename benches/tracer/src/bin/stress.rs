//! Many threads that come and go while others take snapshots, pause, and finish: a program for ThreadSanitizer.
//! `stress DIR ROUNDS` prints the number of events that it has recorded and lost (see `tsan.sh`).

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ichnos_tracer::{
    ClockSource, Recording, RecordingOptions, SizeLimit, SpanContext, TraceEvent, TraceLayer, record,
    trace_event,
};
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(TraceEvent)]
struct Step<'a> {
    thread: u64,
    number: u64,
    text: &'a str,
}

static RECORDED: AtomicU64 = AtomicU64::new(0);

fn work(thread: u64) {
    for number in 0..200 {
        record(&Step { thread, number, text: &"abcdefghijklmnopqrstuvwxyz"[..(number % 27) as usize] });
        RECORDED.fetch_add(1, Ordering::Relaxed);
        if number % 50 == 0 {
            trace_event!("rare", thread: u64 = thread);
            let _span =
                tracing::info_span!("span", thread, other = SpanContext::current().is_some()).entered();
            tracing::info!(number, "in it");
        }
    }
}

fn round(directory: &Path, number: u64) -> std::io::Result<u64> {
    let mut options = RecordingOptions::new(directory.join(format!("trace-{number}")));
    (options.packet_size, options.file_size) = (1024, 16 << 10);
    options.file_duration = (number % 2 == 0).then_some(Duration::from_millis(1));
    options.limit = if number % 3 == 0 { SizeLimit::Last(64 << 10) } else { SizeLimit::Unlimited };
    options.clock = if number % 4 == 0 { ClockSource::Fastest } else { ClockSource::Monotonic };
    let recording = Recording::start(options)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for copy in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let _ = recording.snapshot(directory.join(format!("copy-{number}-{copy}")));
                recording.pause();
                recording.resume();
            }
        });
        std::thread::scope(|scope| {
            for worker in 0..4 {
                scope.spawn(move || {
                    for thread in 0..8 {
                        let _ = std::thread::spawn(move || work(worker * 8 + thread)).join();
                    }
                });
            }
        });
        is_over.store(true, Ordering::Relaxed);
    });
    // One more thread records while the recording ends.
    let last = std::thread::spawn(|| work(1000));
    let discarded = recording.finish().discarded;
    let _ = last.join();
    Ok(discarded)
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, directory, rounds] = arguments.as_slice() else {
        return Err(std::io::Error::other("expected DIR ROUNDS"));
    };
    let layer = TraceLayer::new().with_new_traces().filtered();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))
        .map_err(std::io::Error::other)?;
    let mut discarded = 0;
    for number in 0..rounds.parse().unwrap_or(4) {
        discarded += round(Path::new(directory), number)?;
    }
    println!("{} events, {discarded} discarded", RECORDED.load(Ordering::Relaxed));
    Ok(())
}
