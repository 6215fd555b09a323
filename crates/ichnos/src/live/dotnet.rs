//! Live input from a running .NET process.
//!
//! A thread receives the stream of a session and puts it into an inbox. [`DotnetFeed`] reads the inbox, and delivers the
//! events sorted by time.
//!
//! The runtime flushes its buffers about every 100 ms. The events of a flush are sorted by thread. Some events promise
//! that nothing earlier follows, at least the first event of each flush. The last events of a flush wait for the next
//! flush, or until the process has sent nothing for [`FLUSH_END`].
//!
//! In eight recordings of .NET 10 and .NET Core 3.1, half of them with 800,000 events from four threads, no promise was
//! broken, and no event came after a later one with 40 ms instead of [`FLUSH_END`]. With 20 ms, up to 16 % did, because a
//! flush takes some time.

mod dotnet_search;
mod inbox;
mod pause;
mod session_receiver;

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ichnos_dotnet_diagnostics::messages::SessionOptions;
use ichnos_dotnet_diagnostics::processes::{self, Process};
use ichnos_dotnet_diagnostics::providers::{Providers, Rundown};
use ichnos_dotnet_diagnostics::{DiagnosticsError, Session, SessionChunk, Timeouts};
use ichnos_model::class::Value;
use ichnos_model::clock::{ClockOffsets, ClockOrigin};
use ichnos_model::live::{Arrivals, LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::{DataStream, Message};

pub use self::dotnet_search::DotnetSearch;
use self::inbox::{Delivery, Inbox};
use self::pause::Pause;
pub use self::pause::{FLUSH_END, QUIET};
use self::session_receiver::SessionReceiver;
use crate::nettrace::{LiveNettrace, LiveState, NettraceOptions};

/// Options for a live .NET process.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DotnetOptions {
    /// Contents of the session.
    pub session: SessionOptions,
    /// Time limits for the runtime.
    pub timeouts: Timeouts,
    /// Options for reading the stream.
    pub reading: NettraceOptions,
    /// Ask the process for its methods first, so that call stacks have names. It takes the time of a short session.
    pub names_methods: bool,
}

/// Error while opening a live .NET process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DotnetError {
    /// There is no session.
    #[error(transparent)]
    Diagnostics(#[from] DiagnosticsError),
    /// The stream cannot be read.
    #[error("the stream of process {pid} cannot be read: {problem}")]
    Stream {
        /// Process id.
        pid: u32,
        /// Reason.
        problem: String,
    },
    /// The system refuses a thread.
    #[error("no thread for receiving events: {0}")]
    Thread(std::io::Error),
}

/// Opened live .NET process.
#[derive(Debug)]
pub struct DotnetInput {
    /// Name of the input: `dotnet:` and the process id.
    pub name: String,
    /// The process.
    pub process: Process,
    /// Data stream of all events.
    pub stream: Arc<DataStream>,
    /// Events.
    pub feed: DotnetFeed,
}

impl DotnetInput {
    /// Returns the trace of the process.
    #[must_use]
    pub fn into_trace(self, options: LiveOptions) -> LiveTrace {
        LiveTrace::new("nettrace", self.name, self.stream, Box::new(self.feed), options)
    }
}

/// Starts a session in a process, named by its id, its executable or its assembly.
///
/// # Errors
/// If there is no such process, or if its runtime refuses the session or sends something else.
pub fn open(target: &str, options: &DotnetOptions, arrivals: &Arrivals) -> Result<DotnetInput, DotnetError> {
    let process = processes::find(target, options.timeouts.reply)?;
    open_process(process, options, arrivals)
}

/// Starts a session in a process. A clone of `arrivals` is notified when events have come.
///
/// # Errors
/// If its runtime refuses the session or sends something else.
pub fn open_process(
    process: Process,
    options: &DotnetOptions,
    arrivals: &Arrivals,
) -> Result<DotnetInput, DotnetError> {
    let timeouts = options.timeouts;
    let (pid, begun) = (process.pid, SteadyClock::now());
    // Without the list, methods that are compiled later still have names.
    let methods = if options.names_methods { list_methods(&process, timeouts).ok() } else { None };
    let session = Session::start(&process.endpoint(), &options.session, timeouts)?;
    let name = format!("dotnet:{pid}");
    let mut live = LiveNettrace::new(&name, &options.reading, environment(&process));
    if let Some(methods) = methods {
        live.learn_names(&methods);
    }
    let inbox = Arc::new(Inbox::default());
    let receiver = SessionReceiver::new(session, Arc::clone(&inbox), arrivals.clone());
    let thread = thread::Builder::new().name(name.clone()).spawn(move || receiver.run());
    let thread = Some(thread.map_err(DotnetError::Thread)?);
    let NettraceOptions { clock_zero, clock_offsets, .. } = &options.reading;
    let offsets = clock_zero.is_none().then(|| clock_offsets.clone());
    let mut feed = DotnetFeed { live, inbox, thread, begun, offsets, promised: None };
    let stream = feed.begin(timeouts.reply).map_err(|problem| DotnetError::Stream { pid, problem })?;
    Ok(DotnetInput { name, process, stream, feed })
}

/// Maximum size of the list of methods, in bytes, and maximum time for receiving it.
const MOST_LISTED: usize = 256 << 20;
const LISTING: Duration = Duration::from_secs(10);

/// Returns a recording that lists the methods of a process: a session that is stopped at once.
fn list_methods(process: &Process, timeouts: Timeouts) -> Result<Vec<u8>, DiagnosticsError> {
    // A session needs a provider. This one emits nothing.
    let mut providers = Providers::new(&[], &["Microsoft-Windows-DotNETRuntime:0:1"]).unwrap_or_default();
    providers.set_rundown(Rundown::Default);
    let options = SessionOptions { providers, stacks: false, ..SessionOptions::default() };
    let mut session = Session::start(&process.endpoint(), &options, timeouts)?;
    session.stop()?;
    let (mut listed, mut buffer, begin) = (Vec::new(), vec![0; 256 << 10], Instant::now());
    while listed.len() < MOST_LISTED && begin.elapsed() < LISTING {
        match session.read_chunk(&mut buffer, Duration::from_millis(50))? {
            SessionChunk::Data(count) => listed.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            SessionChunk::Nothing => {}
            SessionChunk::End => break,
        }
    }
    Ok(listed)
}

/// Returns environment entries, with the names that recorded files use.
fn environment(process: &Process) -> Vec<(String, Value)> {
    let entries = [
        ("command_line", &process.command_line),
        ("architecture", &process.architecture),
        ("runtime", &process.runtime_version),
    ];
    let known = entries.into_iter().filter(|(_, text)| !text.is_empty());
    known.map(|(name, text)| (name.to_owned(), Value::Text(text.clone()))).collect()
}

/// Clock that continues the wall clock of its start, so that it does not jump.
#[derive(Clone, Copy, Debug)]
struct SteadyClock {
    nanoseconds: i128,
    at: Instant,
}

impl SteadyClock {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { nanoseconds: since.as_nanos() as i128, at: Instant::now() }
    }

    /// Returns nanoseconds from the Unix epoch.
    fn nanoseconds(self, at: Instant) -> i128 {
        self.nanoseconds + at.saturating_duration_since(self.at).as_nanos() as i128
    }
}

/// Events of a running .NET process.
#[derive(Debug)]
pub struct DotnetFeed {
    live: LiveNettrace,
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
    begun: SteadyClock,
    /// What is added to wall clock times. `None` if the times of events are not wall clock times.
    offsets: Option<ClockOffsets>,
    /// Time from which on all later events should be.
    promised: Option<i128>,
}

impl DotnetFeed {
    /// Waits for the start of the stream, which the runtime sends at once.
    fn begin(&mut self, patience: Duration) -> Result<Arc<DataStream>, String> {
        let start = Instant::now();
        loop {
            // The first message is the start of the data stream, so this delivers nothing else.
            if let Some(stream) = self.live.stream() {
                return Ok(Arc::clone(stream));
            }
            match self.inbox.wait(Duration::from_millis(50)) {
                Delivery::Bytes(bytes) => self.live.feed(&bytes),
                Delivery::End => self.live.finish(),
                Delivery::Nothing(_) if start.elapsed() >= patience => {
                    return Err("it sent nothing".to_owned());
                }
                Delivery::Nothing(_) => continue,
            }
            self.live.open();
            if let Some(refusal) = self.live.refusal() {
                return Err(refusal.to_string());
            }
        }
    }

    /// Returns the number of events that were delivered after a later event.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.live.late()
    }

    /// Returns why the stream ended early, after its end.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let refusal = self.live.refusal().map(ToString::to_string);
        refusal.or_else(|| self.inbox.problem())
    }

    /// Makes the events of a complete flush ready, or raises the promise. Returns `true` if events are ready.
    fn pass_pause(&mut self, pause: Pause) -> bool {
        if self.live.has_waiting() && pause.is_longer_than(FLUSH_END) {
            self.live.release_waiting();
            return true;
        }
        let Some(until) = pause.until.checked_sub(QUIET).filter(|_| pause.is_longer_than(QUIET)) else {
            return false;
        };
        let clock = self.live.stream().and_then(|stream| stream.clock());
        if let Some(offsets) = &self.offsets
            && let Some(clock) = clock.filter(|clock| clock.origin == ClockOrigin::UnixEpoch)
        {
            // The date in the stream is exact to some milliseconds.
            const SLACK: i128 = 20_000_000;
            let until = self.begun.nanoseconds(until).saturating_add(offsets.for_clock(clock));
            self.promised = self.promised.max(Some(until - SLACK));
        }
        false
    }
}

impl LiveFeed for DotnetFeed {
    fn poll(&mut self) -> LivePoll {
        loop {
            match self.live.advance() {
                LiveState::Message => match self.live.head() {
                    Some(head) => return LivePoll::Message(head),
                    None => continue,
                },
                LiveState::End => return self.problem().map_or(LivePoll::End, LivePoll::Failed),
                LiveState::Waiting => {}
            }
            match self.inbox.take() {
                Delivery::Bytes(bytes) => self.live.feed(&bytes),
                Delivery::End => self.live.finish(),
                Delivery::Nothing(Some(pause)) if self.pass_pause(pause) => {}
                Delivery::Nothing(_) => {
                    self.promised = self.promised.max(self.live.bound());
                    return LivePoll::Pending(self.promised);
                }
            }
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.live.current()
    }

    fn stop(&mut self) {
        self.inbox.stop();
    }
}

impl Drop for DotnetFeed {
    fn drop(&mut self) {
        self.inbox.close();
        if let Some(thread) = self.thread.take() {
            // It stops the session. A panic there changes nothing here.
            let _ = thread.join();
        }
    }
}
