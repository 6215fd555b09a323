//! Live inputs.

#[cfg(all(feature = "dotnet", target_os = "linux"))]
mod dotnet;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use ichnos::io::{Datagrams, ReadOptions};
use ichnos::live::datagrams;
use ichnos::live::lttng::{LttngFeed, LttngLiveOptions, RelayAddress, SeekPosition};
use ichnos::model::OpenedTrace;
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::otlp::receiver::{OtlpReceiver, ReceiverOptions};
use ichnos::{OpenError, OpenOptions, Session};

#[cfg(all(feature = "dotnet", target_os = "linux"))]
use self::dotnet::open as open_dotnet;
use super::following::{self, QuietInputs};
use super::open_failure::UNRELATED_CLOCKS;
use crate::args::listen::ListenAddress;
use crate::args::live::{AttachAt, LiveArgs};
use crate::args::{FollowArgs, Reading};
use crate::exit::Failure;
use crate::progress::{Console, interrupt};

/// `true` if a live input ended because of an error.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Time between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(20);

/// Beginnings of the addresses of live inputs.
const SCHEMES: [&str; 4] = ["net://", "net4://", "net6://", "dotnet:"];

/// Returns the text of the path if it is the address of a live input.
pub(crate) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Returns `true` for the address of a live input on a network.
pub(crate) fn is_network_address(path: &Path) -> bool {
    address(path).is_some_and(|address| address.contains("://"))
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
    /// `true` if call stacks are wanted.
    pub(crate) has_stacks: bool,
}

impl LiveInputs<'_> {
    /// Returns `true` if at least one input is live.
    pub(crate) fn is_any(&self) -> bool {
        self.follow.is_some() || self.addresses().next().is_some() || !self.reading.listen.is_empty()
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.reading.paths.iter().filter_map(|path| address(path))
    }
}

/// Refuses options that apply to no input. `follows`: the files are read while they grow.
pub(super) fn check_options(reading: &Reading, follows: bool) -> Result<(), Failure> {
    let has =
        |scheme: &str| reading.paths.iter().any(|path| address(path).is_some_and(|a| a.starts_with(scheme)));
    let (is_lttng, is_dotnet) = (has("net"), has("dotnet:"));
    let is_any = is_lttng || is_dotnet || !reading.listen.is_empty() || follows;
    let any = "a live input: net://HOST/host/NAME/SESSION, dotnet:PID or --listen, or `cat --follow`";
    let lttng = "a live LTTng session: net://HOST/host/NAME/SESSION";
    let dotnet = "a live .NET process: dotnet:PID";
    let live = &reading.live;
    let options = [
        ("--patience", live.patience.is_some(), is_any, any),
        ("--for", live.length.is_some(), is_any, any),
        ("--attach", live.attach.is_some(), is_lttng, lttng),
        ("--retry", live.retry.is_some(), is_lttng, lttng),
    ];
    let dotnet = live.for_dotnet().map(|(name, is_given)| (name, is_given, is_dotnet, dotnet));
    let useless =
        options.into_iter().chain(dotnet).filter(|(_, is_given, is_useful, _)| *is_given && !is_useful);
    Failure::check(useless.map(|(name, .., needed)| Failure::new(format!("{name} needs {needed}"))))
}

/// Opens live inputs. They end at a signal, or after the duration in the arguments. The inner error is about the files,
/// the outer error about the options and the other inputs.
pub(crate) fn open(
    inputs: LiveInputs<'_>,
    options: &OpenOptions,
    console: Console,
) -> Result<Result<Session, OpenError>, Failure> {
    let args = &inputs.reading.live;
    let live_count = inputs.addresses().count() + inputs.reading.listen.len();
    let live = live_options(args, live_count + inputs.files.len() > 1, console);
    // They receive while the others are opened.
    let receive = |address| receive(address, options, &live, console);
    let mut receivers = Vec::new();
    for address in &inputs.reading.listen {
        match receive(address)? {
            Ok(receiver) => receivers.push(receiver),
            Err(error) => return Ok(Err(error)),
        }
    }
    let mut traces = open_addresses(&inputs, options, &live)?;
    traces.append(&mut receivers);
    let LiveInputs { files, follow, .. } = inputs;
    // Files end with the live inputs.
    let files = if live.is_stopped() { Vec::new() } else { files };
    if let Some(follow) = follow.filter(|_| !files.is_empty()) {
        match following::open(files, follow, live_count > 0, options, live, console)? {
            Ok(growing) => traces.extend(growing),
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

/// Opens inputs at the same time, because each can take long. Leaves out those that are not open when the program should
/// end.
fn open_addresses(
    inputs: &LiveInputs<'_>,
    options: &OpenOptions,
    live: &LiveOptions,
) -> Result<Vec<Box<dyn OpenedTrace>>, Failure> {
    let has_stacks = inputs.has_stacks;
    let (sender, opened) = mpsc::channel();
    let mut left = 0;
    for (place, address) in inputs.addresses().enumerate() {
        let (sender, address) = (sender.clone(), address.to_owned());
        let (args, options, live) = (inputs.reading.live.clone(), options.clone(), live.clone());
        let open = move || {
            let trace = match address.strip_prefix("dotnet:") {
                Some(target) => open_dotnet(target, &args, &options.reading_at(&address), has_stacks, &live),
                None => open_lttng(&address, &args, &options.reading_at(&address), &live),
            };
            // Nobody waits for it if the program ends.
            let _ = sender.send((place, trace));
        };
        let thread = std::thread::Builder::new().name("open".to_owned()).spawn(open);
        thread.map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        left += 1;
    }
    drop(sender);
    let mut traces = BTreeMap::new();
    while left > 0 {
        match opened.recv_timeout(LOOK) {
            Ok((place, trace)) => {
                traces.insert(place, trace?);
                left -= 1;
            }
            Err(RecvTimeoutError::Timeout) if !live.is_stopped() => {}
            Err(_) => break,
        }
    }
    Ok(traces.into_values().collect())
}

/// Listens at an address. The inner error is about the format.
fn receive(
    address: &ListenAddress,
    options: &OpenOptions,
    live: &LiveOptions,
    console: Console,
) -> Result<Result<Box<dyn OpenedTrace>, OpenError>, Failure> {
    let path = match address {
        ListenAddress::Otlp(address) => return receive_otlp(address, options, live, console).map(Ok),
        ListenAddress::Socket(path) => path,
    };
    let datagrams = match Datagrams::at_unix_socket(path, interrupt::flag()) {
        Ok(datagrams) => datagrams,
        Err(error) => return Ok(Err(error.into())),
    };
    // Quiet programs are normal.
    let mut live = live.clone();
    live.observer = Arc::new(QuietInputs(live.observer));
    let trace = datagrams::open(datagrams, options, live);
    if trace.is_ok() {
        console.notice(&format!("listening on unixgram:{}", path.display()));
    }
    Ok(trace.map(|trace| Box::new(trace) as Box<dyn OpenedTrace>))
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
    let read = options.reading_at(address);
    let receiver = OtlpReceiver::bind(&receiver, &read, live.arrivals.clone()).map_err(failure)?;
    console.notice(&format!("listening on http://{}", receiver.address()));
    Ok(Box::new(receiver.into_trace(live.clone())))
}

/// Refuses a .NET process.
#[cfg(not(all(feature = "dotnet", target_os = "linux")))]
fn open_dotnet(
    target: &str,
    _: &LiveArgs,
    _: &ReadOptions,
    _: bool,
    _: &LiveOptions,
) -> Result<Box<dyn OpenedTrace>, Failure> {
    Err(Failure::new(format!("dotnet:{target}: .NET processes are read on Linux only")))
}

/// Opens a live session of LTTng.
fn open_lttng(
    address: &str,
    args: &LiveArgs,
    read: &ReadOptions,
    live: &LiveOptions,
) -> Result<Box<dyn OpenedTrace>, Failure> {
    let failure = |error: String| Failure::new(format!("{address}: {error}"));
    let relay: RelayAddress = address.parse().map_err(|error| failure(format!("{error}")))?;
    let mut lttng = LttngLiveOptions::default();
    lttng.retry = args.retry.unwrap_or_default();
    lttng.connects_later = true;
    lttng.from = match args.attach {
        None | Some(AttachAt::Begin) => SeekPosition::Beginning,
        Some(AttachAt::Now) => SeekPosition::Last,
    };
    let feed = LttngFeed::open(&relay, &lttng, read, live).map_err(|error| failure(error.to_string()))?;
    let trace = feed.into_trace(&relay, live.clone()).ok_or_else(|| failure("too many traces".to_owned()))?;
    Ok(Box::new(trace))
}

/// Returns the options of live inputs, which end at a signal or after the given duration.
fn live_options(args: &LiveArgs, has_others: bool, console: Console) -> LiveOptions {
    interrupt::watch();
    let mut options = LiveOptions::default();
    options.patience = args.patience.unwrap_or(options.patience);
    options.stop = Some(interrupt::flag());
    options.observer = Arc::new(LiveReporter { console, has_others });
    start_timer(args, console);
    options
}

/// Ends live inputs after the duration in the arguments, if it is given.
fn start_timer(args: &LiveArgs, console: Console) {
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
    /// `true` if there are several inputs.
    has_others: bool,
}

impl LiveObserver for LiveReporter {
    fn silent(&self, name: &str, waited: Duration) {
        let seconds = waited.as_secs_f64();
        let effect = if self.has_others { ": other inputs no longer wait for it" } else { "" };
        self.console.notice(&format!("{name}: silent for {seconds} s{effect}"));
    }

    fn retrying(&self, name: &str, error: &str) {
        self.console.notice(&format!("{name}: {error}; trying again"));
    }

    fn resumed(&self, name: &str) {
        self.console.notice(&format!("{name}: no longer silent"));
    }

    fn unrelated(&self, name: &str, error: &str) {
        self.failed(name, error);
        self.console.help(UNRELATED_CLOCKS);
    }

    fn failed(&self, name: &str, error: &str) {
        HAS_FAILED.store(true, Ordering::Relaxed);
        self.console.error(&format!("{name}: {error}"));
    }
}
