//! Receives OpenTelemetry requests and prints their events as they arrive: `receive [ADDRESS:PORT] [SECONDS]`.

use std::error::Error;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ichnos_export::{Pretty, PrettyOptions};
use ichnos_flow::Merge;
use ichnos_io::ReadOptions;
use ichnos_model::cursor::Cursor as _;
use ichnos_model::live::LiveOptions;
use ichnos_model::{Message, OpenedTrace as _, Sink as _, Window};
use ichnos_otlp::receiver::{OtlpReceiver, ReceiverOptions};

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut options = ReceiverOptions::default();
    if let Some(address) = arguments.next() {
        options.address = address.parse()?;
    }
    if let Some(seconds) = arguments.next() {
        let duration = Duration::from_secs(seconds.parse()?);
        std::thread::spawn(move || {
            std::thread::sleep(duration);
            STOP.store(true, Ordering::Relaxed);
        });
    }
    let mut live = LiveOptions::default();
    live.stop = Some(&STOP);
    let receiver = OtlpReceiver::bind(&options, &ReadOptions::default(), live.arrivals.clone())?;
    eprintln!("listening on {}", receiver.address());
    let counts = receiver.counts();
    let trace = receiver.into_trace(live);
    let mut pretty = Pretty::new(std::io::stdout().lock(), PrettyOptions::default());
    let mut merge = Merge::new(trace.cursors(Window::default()));
    while merge.advance() {
        match merge.current() {
            Some(Message::Inactivity(_)) => pretty.flush()?,
            Some(message) => drop(pretty.message(&message)?),
            None => {}
        }
    }
    pretty.finish()?;
    drop(pretty);
    std::io::stdout().flush()?;
    eprintln!(
        "{} requests, {} elements, {} rejected, {} requests refused",
        counts.requests(),
        counts.accepted(),
        counts.rejected(),
        counts.refused()
    );
    Ok(())
}
