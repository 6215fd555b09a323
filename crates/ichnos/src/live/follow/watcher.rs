//! Thread that looks at growing files.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ichnos_io::{IoError, Kept, ScanProgress};
use ichnos_model::live::Arrivals;
use ichnos_model::locks::IgnorePoison as _;

use super::delivery::Delivery;
#[cfg(target_os = "linux")]
use super::file_watch::{FileWatch, WatchBell};
use super::follow_options::FollowOptions;
use super::input_state::InputState;
use super::look::{Delivered, FoundMessages, LookAt};
use crate::{OpenError, OpenOptions, Session};

/// Share of the time that opening may take.
const SHARE: u32 = 10;

/// Least time between two looks.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of openings in a row while files get other names.
const MOST_TRIES: usize = 4;

/// Maximum number of reported reasons for waiting.
const MOST_REPORTS: usize = 100;

/// Paths that are opened again and again.
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    /// Name of the only path, a copy, for display.
    name: Option<String>,
    options: OpenOptions,
    pub(super) follow: FollowOptions,
    /// State of the files before they were opened.
    state: Option<InputState>,
    /// `true` to open the files even if they have not changed.
    is_again: bool,
    /// Duration of the last opening.
    took: Duration,
    /// Kinds of the reported reasons for waiting, and reported paths.
    reported: HashSet<(Discriminant<OpenError>, String)>,
    /// `true` if the last opening found only traces that cannot be read.
    was_refused: bool,
    #[cfg(target_os = "linux")]
    watch: Option<FileWatch>,
}

impl Inputs {
    pub(super) fn new(paths: Vec<PathBuf>, mut options: OpenOptions, follow: &FollowOptions) -> Self {
        options.read.growing = true;
        // Later events must not be delivered before earlier ones of the same file.
        options.read.unsorted = true;
        options.read.progress = ScanProgress::default();
        options.read.kept = Kept::enabled();
        let (state, reported) = (None, HashSet::new());
        Self {
            paths,
            name: None,
            options,
            follow: follow.clone(),
            state,
            is_again: false,
            took: Duration::ZERO,
            reported,
            was_refused: false,
            #[cfg(target_os = "linux")]
            watch: FileWatch::new(),
        }
    }

    /// Asks the system to notify of changes from now on.
    pub(super) fn watch(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(watch) = &mut self.watch {
            watch.watch(&self.paths);
        }
    }

    /// Waits for a notification of changes, without a system that has them for the whole time. Returns `true` for one.
    pub(super) fn wait(&mut self, time: Duration) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(watch) = &mut self.watch {
            return watch.wait(time, None);
        }
        std::thread::sleep(time);
        false
    }

    /// Sets the name of the only path for display.
    pub(super) fn named(self, name: String) -> Self {
        Self { name: Some(name), ..self }
    }

    fn open(&self) -> Result<Session, OpenError> {
        match (&self.name, self.paths.as_slice()) {
            (Some(name), [copy]) => crate::session::open_copy(name, copy, &self.options),
            _ => crate::open(&self.paths, &self.options),
        }
    }

    /// Opens the paths. Opens them again if files get other names meanwhile: events of one could be taken for those of
    /// another.
    fn open_named(&self) -> Result<Session, OpenError> {
        let mut names = InputState::of_names(&self.paths);
        for _ in 1..MOST_TRIES {
            let opened = self.open();
            let now = InputState::of_names(&self.paths);
            if std::mem::replace(&mut names, now) == now {
                return opened;
            }
        }
        self.open()
    }

    /// Opens the paths, which do not grow any more.
    ///
    /// # Errors
    /// If there is no trace.
    pub(super) fn open_finished(&mut self) -> Result<Session, OpenError> {
        self.options.read.growing = false;
        self.open()
    }

    /// Returns the paths for display.
    pub(super) fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the time until the next look.
    pub(super) fn pause(&self) -> Duration {
        self.follow.interval.max(self.least_pause())
    }

    /// Returns the least time until the next look after a notification.
    pub(super) fn least_pause(&self) -> Duration {
        LEAST_PAUSE.min(self.follow.interval).max(self.took.saturating_mul(SHARE))
    }

    /// Opens the paths if files have changed. Returns `None` if they have not, or if there is no trace yet.
    ///
    /// # Errors
    /// If waiting does not help.
    pub(super) fn open_changed(&mut self) -> Result<Option<Session>, OpenError> {
        let begin = Instant::now();
        let state = InputState::new(&self.paths);
        let is_changed = self.state.replace(state) != Some(state);
        if !(std::mem::take(&mut self.is_again) || is_changed) {
            self.took = begin.elapsed();
            return Ok(None);
        }
        let opened = self.open_named();
        self.took = begin.elapsed();
        match opened {
            Ok(session) => {
                self.was_refused = false;
                session.left_out().iter().for_each(|error| self.report(error, error.to_string()));
                Ok(Some(session))
            }
            Err(error) if can_vanish(&error) => {
                // A file whose start is being written is whole a moment later.
                let is_refused = matches!(error, OpenError::Refused(_));
                if !is_refused || std::mem::replace(&mut self.was_refused, true) {
                    // The text can change with each byte of a file.
                    self.report(&error, String::new());
                } else {
                    self.is_again = true;
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reports a reason for waiting, once for each kind and text.
    fn report(&mut self, error: &OpenError, text: String) {
        if self.reported.len() < MOST_REPORTS && self.reported.insert((discriminant(error), text)) {
            (self.follow.waiting)(error);
        }
    }
}

/// Returns `true` if an error can vanish when files grow or appear.
fn can_vanish(error: &OpenError) -> bool {
    match error {
        OpenError::Io(IoError::NotFound { .. }) | OpenError::NoTrace(_) | OpenError::Refused(_) => true,
        OpenError::Several(errors) => errors.iter().all(can_vanish),
        _ => false,
    }
}

/// State that the feed and its thread share.
#[derive(Debug, Default)]
pub(super) struct FollowControl {
    state: Mutex<ControlState>,
    changed: Condvar,
    /// Ends the wait for notifications.
    #[cfg(target_os = "linux")]
    bell: Option<WatchBell>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ControlState {
    is_stopped: bool,
    is_abandoned: bool,
    /// Time of the last look, in nanoseconds from the Unix epoch.
    looked: Option<i128>,
}

impl FollowControl {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            bell: WatchBell::new(),
            ..Self::default()
        }
    }

    /// Asks for the last look.
    pub(super) fn stop(&self) {
        self.state.lock().ignore_poison().is_stopped = true;
        self.wake();
    }

    /// Ends the thread.
    pub(super) fn abandon(&self) {
        self.state.lock().ignore_poison().is_abandoned = true;
        self.wake();
    }

    fn wake(&self) {
        self.changed.notify_all();
        #[cfg(target_os = "linux")]
        self.bell.iter().for_each(WatchBell::ring);
    }

    /// Returns the time up to which everything in the files was handed over.
    pub(super) fn looked(&self) -> Option<i128> {
        self.state.lock().ignore_poison().looked
    }

    /// Waits until the time is over or the feed is stopped.
    fn wait(&self, time: Duration) -> ControlState {
        let goes_on = |state: &mut ControlState| state.goes_on();
        let state = self.state.lock().ignore_poison();
        *self.changed.wait_timeout_while(state, time, goes_on).ignore_poison().0
    }
}

impl ControlState {
    fn goes_on(&self) -> bool {
        !self.is_stopped && !self.is_abandoned
    }
}

/// Thread that looks at growing files.
pub(super) struct Watcher {
    inputs: Inputs,
    delivered: Delivered,
    deliveries: SyncSender<Result<Delivery, OpenError>>,
    control: Arc<FollowControl>,
    arrivals: Arrivals,
}

impl Watcher {
    pub(super) fn new(
        inputs: Inputs,
        deliveries: SyncSender<Result<Delivery, OpenError>>,
        control: Arc<FollowControl>,
        arrivals: Arrivals,
    ) -> Self {
        Self { inputs, delivered: Delivered::default(), deliveries, control, arrivals }
    }

    /// Waits for the next look: for the pause, or until the system says that a file has changed.
    fn wait(&mut self) -> ControlState {
        let pause = self.inputs.pause();
        #[cfg(target_os = "linux")]
        let least = self.inputs.least_pause();
        #[cfg(target_os = "linux")]
        if let (Some(watch), Some(bell)) = (&mut self.inputs.watch, &self.control.bell) {
            watch.watch(&self.inputs.paths);
            let state = self.control.wait(least);
            if state.goes_on() {
                watch.wait(pause.saturating_sub(least), Some(bell));
            }
            return self.control.wait(Duration::ZERO);
        }
        self.control.wait(pause)
    }

    /// Looks at the files until the feed is stopped.
    pub(super) fn run(mut self) {
        loop {
            let state = self.wait();
            if state.is_abandoned {
                break;
            }
            if state.is_stopped || (self.inputs.follow.has_ended)() {
                self.finish();
                break;
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
            if !self.look_again() {
                break;
            }
            let looked = now.and_then(|now| i128::try_from(now.as_nanos()).ok());
            self.control.state.lock().ignore_poison().looked = looked;
        }
        // The feed finds the end of the channel.
        drop(self.deliveries);
        self.arrivals.notify();
    }

    /// Hands over what is new. Returns `false` at the end.
    fn look_again(&mut self) -> bool {
        if !self.read_gone(false) {
            return false;
        }
        let opened = self.inputs.open_changed().and_then(|session| {
            session.as_ref().map(Session::reader).transpose()?;
            Ok(session)
        });
        let found = match opened {
            Ok(None) => return true,
            Ok(Some(session)) => self.find(session, LookAt::Growing),
            Err(error) => {
                // The feed can be gone.
                let _ = self.deliveries.send(Err(error));
                return false;
            }
        };
        let is_read = !found.has_messages || self.deliveries.send(Ok(found.delivery)).is_ok();
        self.arrivals.notify();
        is_read
    }

    /// Hands over the rest of files that were renamed or removed. Returns `false` at the end.
    fn read_gone(&mut self, is_end: bool) -> bool {
        for gone in self.delivered.held.take_gone(&self.inputs.paths, is_end) {
            let mut options = self.inputs.options.clone();
            options.read.growing = !gone.is_last;
            let name = gone.path.to_string_lossy();
            // It was read before, so an error comes from what is not whole yet.
            let Ok(session) = crate::open_reader(&name, gone.file, &options) else { continue };
            let found = self.delivered.look(session, LookAt::Gone(gone.followed, gone.is_last));
            if found.has_messages {
                if self.deliveries.send(Ok(found.delivery)).is_err() {
                    return false;
                }
                self.arrivals.notify();
            }
        }
        true
    }

    /// Returns what can be delivered of the first session.
    pub(super) fn look(&mut self, session: Session) -> Delivery {
        let delivery = self.find(session, LookAt::Growing).delivery;
        // The next looks only read what is new, as far as the format can.
        self.inputs.took = Duration::ZERO;
        delivery
    }

    fn find(&mut self, session: Session, at: LookAt) -> FoundMessages {
        let begin = Instant::now();
        let found = self.delivered.look(session, at);
        self.inputs.took += begin.elapsed();
        self.inputs.is_again = found.has_more;
        found
    }

    /// Delivers everything that is there.
    fn finish(&mut self) {
        self.inputs.options.read.growing = false;
        if !self.read_gone(true) {
            return;
        }
        if let Ok(session) = self.inputs.open() {
            let delivery = self.find(session, LookAt::Finished).delivery;
            // The feed can be gone.
            let _ = self.deliveries.send(Ok(delivery));
        }
    }
}
