//! Follows files and directories of any format while they grow.
//!
//! A thread looks at the files from time to time. If they have changed, it opens them again, finds the events that were
//! not delivered yet, and hands them over. Events that are new at the same look are merged by time.
//!
//! A record, packet or report that is not complete yet is held back, and so is damage, until it is seen a second time
//! and an event of the same data stream follows. At the end, everything is delivered. A file that is renamed or removed
//! stays open for some seconds, so that nothing is missed that was written just before.
//!
//! Fuchsia traces are not sorted by time. Their new events are sorted at each look, so an event can come after a later one
//! that an earlier look has found.
//!
//! .NET files are read once from their start, because further bytes can change the order of the events before them. Those in
//! a directory are one feed. Pipes are copied into temporary files.

mod delivery;
#[cfg(target_os = "linux")]
mod file_watch;
mod follow_cursor;
mod follow_error;
mod follow_options;
mod held_files;
mod input_state;
mod known_stream;
mod later_feed;
mod look;
#[cfg(feature = "nettrace")]
mod nettrace_feed;
#[cfg(feature = "nettrace")]
mod nettrace_folder;
mod new_events;
mod spooled_pipe;
mod watcher;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "nettrace")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel, sync_channel};
use std::time::{Duration, Instant};

use ichnos_io::FormatInfo;
#[cfg(feature = "nettrace")]
use ichnos_io::IoError;
use ichnos_model::DataStream;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;

pub use self::follow_error::FollowError;
pub use self::follow_options::FollowOptions;
pub use self::input_state::InputState;

use self::delivery::Delivery;
use self::later_feed::Opening;
#[cfg(feature = "nettrace")]
use self::nettrace_feed::{FileStart, NettraceFeed, is_nettrace, will_be_nettrace};
#[cfg(feature = "nettrace")]
use self::nettrace_folder::NettraceFolder;
use self::spooled_pipe::SpooledPipe;
use self::watcher::{FollowControl, Inputs, Watcher};
use crate::{OpenError, OpenOptions, Session};

/// Longest pause between two looks at the stop flag.
const PAUSE: Duration = Duration::from_millis(50);

/// Feed of growing files.
pub struct FollowFeed {
    name: String,
    format: &'static str,
    /// First data stream.
    stream: Arc<DataStream>,
    deliveries: Receiver<Result<Delivery, OpenError>>,
    current: Option<Delivery>,
    control: Arc<FollowControl>,
    /// `true` if the clock counts from the Unix epoch and the events are sorted by time, so that the files are complete
    /// up to the last look.
    has_dates: bool,
    has_ended: bool,
    pipe: Option<SpooledPipe>,
}

/// Follows paths: files and directories, pipes, and `-`, the standard input. Waits until there is a trace at each of them,
/// unless [`FollowOptions::opens_later`] is set.
///
/// # Errors
/// See [`FollowFeed::open`]. If a pipe cannot be copied.
pub fn open(
    paths: Vec<PathBuf>,
    options: &OpenOptions,
    follow: &FollowOptions,
    live: &LiveOptions,
) -> Result<Vec<LiveTrace>, FollowError> {
    let (pipes, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| is_pipe(path));
    let spool = |path: PathBuf| {
        let failed = |error| FollowError::Pipe { path: path.display().to_string(), error };
        let pipe = SpooledPipe::open(&path, options.temp_dir.as_deref(), live).map_err(failed)?;
        Ok((path, pipe))
    };
    // All are read from now on.
    let pipes: Vec<_> = pipes.into_iter().map(spool).collect::<Result<_, FollowError>>()?;
    let mut openings: Vec<NamedOpening> = Vec::new();
    #[cfg(feature = "nettrace")]
    let files = {
        let wants_nettrace = options.format.as_deref().is_none_or(|format| format == "nettrace");
        let is_nettrace = |path: &PathBuf| wants_nettrace && !path.is_dir() && is_nettrace(path, options);
        let (nettrace, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_nettrace);
        for path in nettrace {
            let (options, live, name) = (options.clone(), live.clone(), vec![path.clone()]);
            let waiting = Arc::clone(&follow.waiting);
            let open = move || {
                let name = path.to_string_lossy();
                if !path.exists() {
                    waiting(&OpenError::from(IoError::NotFound { path: name.clone().into_owned() }));
                }
                NettraceFeed::open(&path, &name, None, &options, &live)
            };
            openings.push((name, Box::new(open)));
        }
        // They are not waited for together with the others.
        let will_be = |path: &PathBuf| will_be_nettrace(path, options);
        let (later, files): (Vec<_>, Vec<_>) = files.into_iter().partition(will_be);
        for path in later {
            openings.extend(open_files(vec![path], options, follow, live)?);
        }
        files
    };
    if !files.is_empty() {
        openings.extend(open_files(files, options, follow, live)?);
    }
    for (path, pipe) in pipes {
        let (options, follow, live, name) =
            (options.clone(), follow.clone(), live.clone(), vec![path.clone()]);
        openings.push((name, Box::new(move || open_pipe(&path, pipe, &options, &follow, &live))));
    }
    if follow.opens_later {
        return openings
            .into_iter()
            .map(|(paths, opening)| open_later(&paths, opening, options, live))
            .collect();
    }
    open_all(openings.into_iter().map(|(_, opening)| opening).collect())
}

/// Returns the openings of files and directories. .NET files in directories are read apart.
fn open_files(
    files: Vec<PathBuf>,
    options: &OpenOptions,
    follow: &FollowOptions,
    live: &LiveOptions,
) -> Result<Vec<NamedOpening>, FollowError> {
    let (options, follow, live, names) = (options.clone(), follow.clone(), live.clone(), files.clone());
    let mut openings: Vec<NamedOpening> = Vec::new();
    #[cfg(feature = "nettrace")]
    let (options, follow) = {
        let (options, follow, folder) = open_folder(&files, options, follow, &live)?;
        openings.extend(folder);
        (options, follow)
    };
    let open = move || FollowFeed::open_or_later(files, &options, &follow, &live);
    openings.push((names, Box::new(open)));
    Ok(openings)
}

/// Returns the opening of the .NET files in directories, and the options for other files.
#[cfg(feature = "nettrace")]
fn open_folder(
    files: &[PathBuf],
    mut options: OpenOptions,
    mut follow: FollowOptions,
    live: &LiveOptions,
) -> Result<(OpenOptions, FollowOptions, Option<NamedOpening>), FollowError> {
    // A missing path can become a directory or a .NET file, and a file without a start can become a .NET file.
    let can_be_nettrace =
        |path: &&PathBuf| !path.is_file() || FileStart::read(path, &options.tree()).is_none();
    let directories: Vec<PathBuf> = files.iter().filter(can_be_nettrace).cloned().collect();
    if directories.is_empty() || options.format.as_deref().is_some_and(|format| format != "nettrace") {
        return Ok((options, follow, None));
    }
    let has_files = Arc::new(AtomicBool::new(nettrace_folder::has_nettrace(&directories, &options)));
    let folder = NettraceFolder::open(&directories, &options, &follow, Arc::clone(&has_files), live)?;
    options.without_read_once = true;
    let (watched, given) = (directories.clone(), options.clone());
    follow.goes_on = Arc::new(move || {
        let found = has_files.load(Ordering::Relaxed) || nettrace_folder::has_nettrace(&watched, &given);
        has_files.store(found, Ordering::Relaxed);
        found
    });
    // A .NET file that appeared a moment ago is no reason to wait.
    let (waiting, is_read) = (Arc::clone(&follow.waiting), Arc::clone(&follow.goes_on));
    follow.waiting = Arc::new(move |error| {
        if !is_read() {
            waiting(error);
        }
    });
    let (live, is_any) = (live.clone(), Arc::clone(&follow.goes_on));
    let open = move || if live.is_stopped() && !is_any() { Err(FollowError::Stopped) } else { Ok(folder) };
    Ok((options, follow, Some((directories, Box::new(open)))))
}

/// Opening of some paths.
type NamedOpening = (Vec<PathBuf>, Opening);

/// Opens paths while other inputs are read.
fn open_later(
    paths: &[PathBuf],
    opening: Opening,
    options: &OpenOptions,
    live: &LiveOptions,
) -> Result<LiveTrace, FollowError> {
    let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let has_offset =
        options.clock_offsets.iter().any(|offset| paths.iter().any(|path| offset.path.starts_with(path)));
    later_feed::open(&name, opening, !options.assume_correlated && !has_offset, live)
}

/// Opens inputs at the same time, because each can take long. Leaves out those without a trace when they are stopped.
fn open_all(openings: Vec<Opening>) -> Result<Vec<LiveTrace>, FollowError> {
    let (sender, opened) = channel();
    let is_none = openings.is_empty();
    for (place, opening) in openings.into_iter().enumerate() {
        let sender = sender.clone();
        // Nobody waits for it after an error of another one.
        let open = move || drop(sender.send((place, opening())));
        std::thread::Builder::new().name("open".to_owned()).spawn(open).map_err(FollowError::Thread)?;
    }
    drop(sender);
    let mut traces = BTreeMap::new();
    for (place, trace) in opened {
        match trace {
            Ok(trace) => drop(traces.insert(place, trace)),
            Err(FollowError::Stopped) => {}
            Err(error) => return Err(error),
        }
    }
    if traces.is_empty() && !is_none {
        return Err(FollowError::Stopped);
    }
    Ok(traces.into_values().collect())
}

/// Follows a pipe.
fn open_pipe(
    path: &Path,
    pipe: SpooledPipe,
    options: &OpenOptions,
    follow: &FollowOptions,
    live: &LiveOptions,
) -> Result<LiveTrace, FollowError> {
    /// Number of bytes that identify a format.
    const BEGINNING: u64 = 8;
    if !pipe.wait_for(BEGINNING, live) {
        return Err(FollowError::Stopped);
    }
    // As without `--follow`.
    let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    let copy = pipe.path().to_owned();
    #[cfg(feature = "nettrace")]
    if is_nettrace(&copy, options) {
        return NettraceFeed::open(&copy, &name, Some(pipe), options, live);
    }
    let mut follow = follow.clone();
    follow.has_ended = Arc::new(pipe.end());
    let inputs = Inputs::new(vec![copy], options.clone(), &follow).named(name);
    let mut feed = FollowFeed::open_inputs(inputs, live)?;
    feed.pipe = Some(pipe);
    Ok(feed.into_trace(live.clone()))
}

/// Returns `true` if a path can be read only once.
fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            return true;
        }
    }
    path.as_os_str() == "-"
}

impl FollowFeed {
    /// Waits until there is a data stream at one of the paths, and follows them from their start.
    ///
    /// # Errors
    /// If a path cannot be read for a reason that can hardly vanish, for example if clocks have unrelated origins.
    pub fn open(
        paths: Vec<PathBuf>,
        options: &OpenOptions,
        follow: &FollowOptions,
        live: &LiveOptions,
    ) -> Result<Self, FollowError> {
        Self::open_inputs(Inputs::new(paths, options.clone(), follow), live)
    }

    /// Opens paths. If there is no trace yet, but other inputs of the same paths are read meanwhile, opens them later.
    fn open_or_later(
        paths: Vec<PathBuf>,
        options: &OpenOptions,
        follow: &FollowOptions,
        live: &LiveOptions,
    ) -> Result<LiveTrace, FollowError> {
        match Self::open(paths.clone(), options, follow, live) {
            Err(FollowError::GoesOn) => {}
            opened => return Ok(opened?.into_trace(live.clone())),
        }
        let (names, options, live) = (paths.clone(), options.clone(), live.clone());
        let follow = FollowOptions { goes_on: Arc::new(|| false), ..follow.clone() };
        let (given, own) = (options.clone(), live.clone());
        let open = move || Ok(Self::open(paths, &options, &follow, &live)?.into_trace(live.clone()));
        open_later(&names, Box::new(open), &given, &own)
    }

    fn open_inputs(mut inputs: Inputs, live: &LiveOptions) -> Result<Self, FollowError> {
        let session = wait_for_trace(&mut inputs, live)?;
        session.reader()?;
        let formats = session.traces().iter().map(|trace| trace.format());
        let is_read_once =
            |info: &&FormatInfo| info.is_read_once && formats.clone().any(|name| name == info.name);
        if let Some(info) = crate::formats().find(is_read_once) {
            return Err(FollowError::ReadOnce(info.name));
        }
        let is_unsorted =
            |info: &FormatInfo| info.has_file_order && formats.clone().any(|name| name == info.name);
        let is_unsorted = crate::formats().any(is_unsorted);
        let name = inputs.name();
        let format = session.traces().first().map_or("", |trace| trace.format());
        let control = Arc::new(FollowControl::new());
        // The thread prepares a delivery while another one is read.
        let (sender, deliveries) = sync_channel(1);
        let mut watcher = Watcher::new(inputs, sender, Arc::clone(&control), live.arrivals.clone());
        let first = watcher.look(session);
        let stream = first.first_stream().ok_or(FollowError::Stopped)?;
        std::thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || watcher.run())
            .map_err(FollowError::Thread)?;
        let clock = stream.clock();
        let has_dates = !is_unsorted && clock.is_some_and(|clock| clock.origin == ClockOrigin::UnixEpoch);
        Ok(Self {
            name,
            format,
            stream,
            deliveries,
            current: Some(first),
            control,
            has_dates,
            has_ended: false,
            pipe: None,
        })
    }

    /// Returns the trace of the feed.
    #[must_use]
    pub fn into_trace(self, live: LiveOptions) -> LiveTrace {
        let (format, name, stream) = (self.format, self.name.clone(), Arc::clone(&self.stream));
        LiveTrace::new(format, name, stream, Box::new(self), live)
    }
}

/// Waits until there is a data stream. When it is stopped, the inputs do not grow any more.
fn wait_for_trace(inputs: &mut Inputs, live: &LiveOptions) -> Result<Session, FollowError> {
    // What changes after a look is then noticed.
    inputs.watch();
    loop {
        if let Some(session) = inputs.open_changed()?
            && has_streams(&session)
        {
            return Ok(session);
        }
        if (inputs.follow.has_ended)() {
            return Ok(inputs.open_finished()?);
        }
        if (inputs.follow.goes_on)() {
            return Err(FollowError::GoesOn);
        }
        inputs.watch();
        let (wait, mut is_changed) = (Instant::now(), false);
        while wait.elapsed() < if is_changed { inputs.least_pause() } else { inputs.pause() } {
            if live.is_stopped() {
                let finished = inputs.open_finished().ok();
                return finished.filter(has_streams).ok_or(FollowError::Stopped);
            }
            // A change before the least pause is over does not end it.
            if is_changed {
                std::thread::sleep(PAUSE.min(inputs.least_pause().saturating_sub(wait.elapsed())));
            } else {
                is_changed = inputs.wait(PAUSE.min(inputs.pause()));
            }
        }
    }
}

/// Returns `true` if a session has a data stream.
fn has_streams(session: &Session) -> bool {
    session.traces().iter().any(|trace| !trace.data_streams().is_empty())
}

impl LiveFeed for FollowFeed {
    fn poll(&mut self) -> LivePoll {
        loop {
            if let Some(delivery) = &mut self.current {
                if let Some(head) = delivery.next_head() {
                    return LivePoll::Message(head);
                }
                self.has_ended |= delivery.is_last;
                self.current = None;
            }
            if self.has_ended {
                let error = self.pipe.as_ref().and_then(SpooledPipe::take_error);
                return error.map_or(LivePoll::End, |error| LivePoll::Failed(error.to_string()));
            }
            // Read first: everything before this time is in the channel.
            let looked = self.control.looked().filter(|_| self.has_dates);
            match self.deliveries.try_recv() {
                Ok(Ok(delivery)) => self.current = Some(delivery),
                Ok(Err(error)) => {
                    self.has_ended = true;
                    return LivePoll::Failed(error.to_string());
                }
                Err(TryRecvError::Empty) => return LivePoll::Pending(looked),
                Err(TryRecvError::Disconnected) => self.has_ended = true,
            }
        }
    }

    fn current(&self) -> Option<Message<'_>> {
        self.current.as_ref()?.current()
    }

    fn stop(&mut self) {
        self.control.stop();
    }

    fn sign_interval(&self) -> Duration {
        // A quiet file is complete up to the last look.
        if self.has_dates { Duration::MAX } else { Duration::ZERO }
    }
}

impl Drop for FollowFeed {
    fn drop(&mut self) {
        self.control.abandon();
    }
}
