//! Prints the nanoseconds of each of many events: `ichnos-tracer-comparison KIND DIR EVENTS THREADS`.
//!
//! | kind | event |
//! |---|---|
//! | `off` | 24 bytes, without a recording |
//! | `monotonic`, `fastest` | 24 bytes, with one of the clocks |
//! | `layer` | six fields of `tracing` |
//! | `json` | the same fields as JSON, with `tracing-appender` |

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use ichnos_tracer::{ClockSource, Recording, RecordingOptions, SizeLimit, TraceEvent, TraceLayer, record};
use tracing_appender::non_blocking::NonBlockingBuilder;
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(TraceEvent)]
struct Tick {
    number: u64,
    a: u32,
    b: u32,
    load: f64,
}

fn ticks(events: u64, threads: u64) -> Duration {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                (0..events).for_each(|number| record(black_box(&Tick { number, a: 1, b: 2, load: 0.5 })))
            });
        }
    });
    begin.elapsed()
}

fn lines(events: u64) -> Duration {
    let begin = Instant::now();
    for number in 0..events {
        tracing::info!(number, a = 1, b = 2, load = 0.5, path = "/index.html", "answered");
    }
    begin.elapsed()
}

fn json(directory: &Path, events: u64) -> Duration {
    let appender = tracing_appender::rolling::never(directory, "log.json");
    let (writer, _guard) = NonBlockingBuilder::default().lossy(false).finish(appender);
    let layer = tracing_subscriber::fmt::layer().json().with_writer(writer);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || lines(events))
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, directory, events, threads] = arguments.as_slice() else {
        return Err(std::io::Error::other("expected KIND DIR EVENTS THREADS"));
    };
    let [events, threads] = [events, threads].map(|number| number.parse::<u64>().unwrap_or(1));
    let mut options = RecordingOptions::new(directory);
    options.limit = SizeLimit::Last(8 << 20);
    let time = match kind.as_str() {
        "off" => ticks(events, threads),
        "json" => json(Path::new(directory), events),
        "layer" => {
            options.limit = SizeLimit::Unlimited;
            let _recording = Recording::start(options)?;
            let subscriber = tracing_subscriber::registry().with(TraceLayer::new());
            tracing::subscriber::with_default(subscriber, || lines(events))
        }
        clock => {
            options.clock = if clock == "fastest" { ClockSource::Fastest } else { ClockSource::Monotonic };
            let _recording = Recording::start(options)?;
            ticks(events, threads)
        }
    };
    println!("{:.1}", time.as_nanos() as f64 / events as f64);
    Ok(())
}
