//! Live inputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ichnos::live::lttng::{LttngFeed, LttngLiveOptions, RelayAddress, SeekPosition};
use ichnos::model::OpenedTrace;
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::{OpenError, OpenOptions, Session};

use super::following;
use crate::args::FollowArgs;
use crate::args::live::{AttachAt, LiveArgs};
use crate::exit::Failure;
use crate::progress::{Console, interrupt};

/// Whether a live input ended because of an error.
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

/// Inputs to read together, at least one of them live.
pub(crate) struct LiveInputs<'a> {
    /// Addresses of live inputs.
    pub(crate) addresses: &'a [&'a str],
    pub(crate) files: Vec<PathBuf>,
    /// Options for growing files. `None` for files that do not grow.
    pub(crate) follow: Option<&'a FollowArgs>,
}

/// Opens live inputs. They end at a signal, or after the duration in the arguments. The inner error is about the files,
/// the outer error about the options and the other inputs.
pub(crate) fn open(
    inputs: LiveInputs<'_>,
    args: &LiveArgs,
    options: &OpenOptions,
    console: Console,
) -> Result<Result<Session, OpenError>, Failure> {
    let live = live_options(args, console);
    let LiveInputs { addresses, files, follow } = inputs;
    let traces = addresses.iter().map(|address| open_lttng(address, args, options, &live));
    let mut traces = traces.collect::<Result<Vec<_>, _>>()?;
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
    if let Some(length) = args.length {
        let end = move || {
            std::thread::sleep(length);
            interrupt::expire();
        };
        if let Err(error) = std::thread::Builder::new().name("timer".to_owned()).spawn(end) {
            console.warning(&format!("--for: no thread for the timer: {error}"));
        }
    }
    options
}

/// Reports the state of live inputs.
struct LiveReporter {
    console: Console,
    patience: Duration,
}

impl LiveObserver for LiveReporter {
    fn silent(&self, name: &str) {
        let seconds = self.patience.as_secs_f64();
        self.console.note(&format!("{name}: silent for {seconds} s: other inputs no longer wait for it"));
    }

    fn resumed(&self, name: &str) {
        self.console.note(&format!("{name}: delivers events again"));
    }

    fn failed(&self, name: &str, error: &str) {
        HAS_FAILED.store(true, Ordering::Relaxed);
        self.console.error(&format!("{name}: {error}"));
    }
}
