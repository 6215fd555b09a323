//! Prints the nanoseconds of each of many events: `ichnos-tracer-comparison KIND DIR EVENTS THREADS`.
//!
//! | kind | event |
//! |---|---|
//! | `off` | 24 bytes, without a recording |
//! | `monotonic`, `fastest` | 24 bytes, with one of the clocks |
//! | `all` | 24 bytes, and all of them are kept |
//! | `layer` | six fields of `tracing` |
//! | `layer-off` | the same without a recording |
//! | `json` | the same fields as JSON, with `tracing-appender` |
//! | `chrome` | the same fields as JSON for Chrome, with `tracing-chrome` |
//! | `fastrace` | the same fields as properties of a span of `fastrace`, which nobody writes to a file |

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;
use ichnos_tracer::{ClockSource, Recording, RecordingOptions, SizeLimit, TraceEvent, TraceLayer, record};
use tracing::Subscriber;
use tracing_appender::non_blocking::NonBlockingBuilder;
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(TraceEvent)]
#[trace(name = "bench:tick")]
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

/// Times events of `tracing`.
fn lines(subscriber: impl Subscriber + Send + Sync, events: u64) -> Duration {
    tracing::subscriber::with_default(subscriber, || {
        let begin = Instant::now();
        for number in 0..events {
            tracing::info!(number, a = 1, b = 2, load = 0.5, path = "/index.html", "answered");
        }
        begin.elapsed()
    })
}

fn json(directory: &Path, events: u64) -> Duration {
    let appender = tracing_appender::rolling::never(directory, "log.json");
    let (writer, _guard) = NonBlockingBuilder::default().lossy(false).finish(appender);
    let layer = tracing_subscriber::fmt::layer().json().with_writer(writer);
    lines(tracing_subscriber::registry().with(layer), events)
}

fn chrome(directory: &Path, events: u64) -> std::io::Result<Duration> {
    std::fs::create_dir_all(directory)?;
    let file = directory.join("trace.json");
    let (layer, _guard) = tracing_chrome::ChromeLayerBuilder::new().file(file).include_args(true).build();
    Ok(lines(tracing_subscriber::registry().with(layer), events))
}

struct Nobody;

impl Reporter for Nobody {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(spans);
    }
}

/// Times spans of `fastrace`, whose events need a span. A thread keeps up to 10,240 spans for a parent.
fn fastrace(events: u64) -> Duration {
    fastrace::set_reporter(Nobody, Config::default());
    let begin = Instant::now();
    for first in (0..events).step_by(1000) {
        let root = fastrace::Span::root("root", SpanContext::random());
        let _guard = root.set_local_parent();
        for number in first..(first + 1000).min(events) {
            let _span = LocalSpan::enter_with_local_parent("answered").with_properties(|| {
                [
                    ("number", number.to_string()),
                    ("a", 1.to_string()),
                    ("b", 2.to_string()),
                    ("load", 0.5.to_string()),
                    ("path", "/index.html".to_owned()),
                ]
            });
        }
    }
    begin.elapsed()
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, directory, events, threads] = arguments.as_slice() else {
        return Err(std::io::Error::other("expected KIND DIR EVENTS THREADS"));
    };
    let [events, threads] = [events, threads].map(|number| number.parse::<u64>().unwrap_or(1));
    let mut options = RecordingOptions::new(directory);
    options.limit = SizeLimit::Last(8 << 20);
    let layer = tracing_subscriber::registry().with(TraceLayer::new().filtered());
    let time = match kind.as_str() {
        "off" => ticks(events, threads),
        "json" => json(Path::new(directory), events),
        "chrome" => chrome(Path::new(directory), events)?,
        "fastrace" => fastrace(events),
        "layer-off" => lines(layer, events),
        "layer" => {
            options.limit = SizeLimit::Unlimited;
            let _recording = Recording::start(options)?;
            lines(layer, events)
        }
        clock => {
            options.clock = if clock == "fastest" { ClockSource::Fastest } else { ClockSource::Monotonic };
            if clock == "all" {
                options.limit = SizeLimit::Unlimited;
            }
            let _recording = Recording::start(options)?;
            ticks(events, threads)
        }
    };
    println!("{:.1}", time.as_nanos() as f64 / events as f64);
    Ok(())
}
