//! Live inputs.

#[cfg(all(feature = "dotnet", target_os = "linux"))]
mod dotnet;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ichnos::live::lttng::{LttngFeed, LttngLiveOptions, RelayAddress, SeekPosition};
use ichnos::model::OpenedTrace;
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::otlp::receiver::{OtlpReceiver, ReceiverOptions};
use ichnos::{OpenError, OpenOptions, Session};

#[cfg(all(feature = "dotnet", target_os = "linux"))]
use self::dotnet::open as open_dotnet;
use super::following;
use crate::args::listen::ListenAddress;
use crate::args::live::{AttachAt, LiveArgs};
use crate::args::{FollowArgs, Reading};
use crate::exit::Failure;
use crate::progress::{Console, interrupt};

/// `true` if a live input ended because of an error.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Beginnings of the addresses of live inputs.
const SCHEMES: [&str; 4] = ["net://", "net4://", "net6://", "dotnet:"];

/// Returns the text of the path if it is the address of a live input.
pub(crate) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Returns `true` if a live input ended because of an error.
pub(crate) fn has_failed() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Inputs to read together.
pub(crate) struct LiveInputs<'a> {
    /// Addresses of live inputs, and options.
    pub(crate) reading: &'a Reading,
    pub(crate) files: Vec<PathBuf>,
    /// Options for growing files. `None` for files that do not grow.
    pub(crate) follow: Option<&'a FollowArgs>,
}

impl LiveInputs<'_> {
    /// Returns `true` if at least one input is live.
    pub(crate) fn is_any(&self) -> bool {
        self.follow.is_some() || self.addresses().next().is_some() || self.receiver().is_some()
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.reading.paths.iter().filter_map(|path| address(path))
    }

    /// Returns the address for OpenTelemetry requests.
    fn receiver(&self) -> Option<&str> {
        match &self.reading.listen {
            Some(ListenAddress::Otlp(address)) => Some(address),
            _ => None,
        }
    }
}

/// Opens live inputs. They end at a signal, or after the duration in the arguments. The inner error is about the files,
/// the outer error about the options and the other inputs.
pub(crate) fn open(
    inputs: LiveInputs<'_>,
    options: &OpenOptions,
    console: Console,
) -> Result<Result<Session, OpenError>, Failure> {
    let args = &inputs.reading.live;
    let live = live_options(args, console);
    let mut traces = Vec::new();
    for address in inputs.addresses() {
        traces.push(match address.strip_prefix("dotnet:") {
            Some(target) => open_dotnet(target, args, options, &live)?,
            None => open_lttng(address, args, options, &live)?,
        });
    }
    if let Some(address) = inputs.receiver() {
        traces.push(receive_otlp(address, options, &live, console)?);
    }
    let LiveInputs { files, follow, .. } = inputs;
    if let Some(follow) = follow.filter(|_| !files.is_empty()) {
        match following::open(files, follow, options, live, console)? {
            Ok(trace) => traces.extend(trace),
            Err(error) => return Ok(Err(error)),
        }
        return Ok(Ok(Session::of_live(traces, options)));
    }
    let session = Session::of_live(traces, options);
    if files.is_empty() {
        return Ok(Ok(session));
    }
    Ok(ichnos::open(files, options).map(|files| Session::join([files, session], options).0))
}

/// Listens for OpenTelemetry requests.
fn receive_otlp(
    address: &str,
    options: &OpenOptions,
    live: &LiveOptions,
    console: Console,
) -> Result<Box<dyn OpenedTrace>, Failure> {
    let failure = |error: io::Error| Failure::new(format!("--listen {address}: {error}"));
    let receiver = ReceiverOptions::from_address(address).map_err(failure)?;
    let receiver = OtlpReceiver::bind(&receiver, &options.read, live.arrivals.clone()).map_err(failure)?;
    console.note(&format!("listening on http://{}", receiver.address()));
    Ok(Box::new(receiver.into_trace(live.clone())))
}

/// Refuses a .NET process.
#[cfg(not(all(feature = "dotnet", target_os = "linux")))]
fn open_dotnet(
    target: &str,
    _: &LiveArgs,
    _: &OpenOptions,
    _: &LiveOptions,
) -> Result<Box<dyn OpenedTrace>, Failure> {
    Err(Failure::new(format!("dotnet:{target}: .NET processes are read on Linux only")))
}

/// Opens a live session of LTTng.
fn open_lttng(
    address: &str,
    args: &LiveArgs,
    options: &OpenOptions,
    live: &LiveOptions,
) -> Result<Box<dyn OpenedTrace>, Failure> {
    let failure = |error: String| Failure::new(format!("{address}: {error}"));
    let relay: RelayAddress = address.parse().map_err(|error| failure(format!("{error}")))?;
    let mut lttng = LttngLiveOptions::default();
    lttng.retry = args.retry;
    lttng.from = match args.attach {
        AttachAt::Begin => SeekPosition::Beginning,
        AttachAt::Now => SeekPosition::Last,
    };
    let feed = LttngFeed::open(&relay, &lttng, &options.read, &live.arrivals)
        .map_err(|error| failure(error.to_string()))?;
    let trace = feed.into_trace(&relay, live.clone()).ok_or_else(|| failure("too many traces".to_owned()))?;
    Ok(Box::new(trace))
}

/// Returns the options of live inputs, which end at a signal or after the given duration.
fn live_options(args: &LiveArgs, console: Console) -> LiveOptions {
    interrupt::watch();
    let mut options = LiveOptions::default();
    options.patience = args.patience;
    options.stop = Some(interrupt::flag());
    options.observer = Arc::new(LiveReporter { console, patience: args.patience });
    start_timer(args, console);
    options
}

/// Ends live inputs after the duration in the arguments, if it is given.
pub(crate) fn start_timer(args: &LiveArgs, console: Console) {
    let Some(length) = args.length else { return };
    let end = move || {
        std::thread::sleep(length);
        interrupt::expire();
    };
    if let Err(error) = std::thread::Builder::new().name("timer".to_owned()).spawn(end) {
        console.warning(&format!("--for: no thread for the timer: {error}"));
    }
}

/// Reports the state of live inputs.
struct LiveReporter {
    console: Console,
    patience: Duration,
}

impl LiveObserver for LiveReporter {
    fn silent(&self, name: &str) {
        let seconds = self.patience.as_secs_f64();
        self.console.notice(&format!("{name}: silent for {seconds} s: other inputs no longer wait for it"));
    }

    fn resumed(&self, name: &str) {
        self.console.notice(&format!("{name}: delivers events again"));
    }

    fn failed(&self, name: &str, error: &str) {
        HAS_FAILED.store(true, Ordering::Relaxed);
        self.console.error(&format!("{name}: {error}"));
    }
}
