//! Follows files and directories of any format while they grow.
//!
//! A thread looks at the files from time to time. If they have changed, it opens them again, finds the events that were
//! not delivered yet, and hands them over. Events that are new at the same look are merged by time.
//!
//! A record, packet or report that is not complete yet is held back, and so is damage, until it is seen a second time
//! and an event of the same data stream follows. At the end, everything is delivered. Formats whose files
//! are not sorted by time (Fuchsia traces, .NET) are refused.

mod delivery;
mod follow_cursor;
mod follow_options;
mod input_state;
mod known_stream;
mod look;
mod new_events;
mod watcher;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use ichnos_model::DataStream;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::live::{LiveFeed, LiveOptions, LivePoll, LiveTrace};
use ichnos_model::message::Message;

pub use self::follow_options::FollowOptions;
pub use self::input_state::InputState;

use self::delivery::Delivery;
use self::watcher::{FollowControl, Inputs, Watcher};
use crate::{OpenError, OpenOptions, Session};

/// Error of [`FollowFeed::open`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The paths cannot be read, and waiting does not help.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The [stop flag](LiveOptions::stop) was set before there was a trace.
    #[error("stopped before there was a trace")]
    Stopped,
    /// The format stores events in another order than by time, so that earlier events can appear later.
    #[error("{0} files cannot be followed: their events are not sorted by time")]
    Unsorted(&'static str),
    /// The system refuses a thread.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

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
    /// `true` if the clock counts from the Unix epoch, so that the files are complete up to the last look.
    has_dates: bool,
    has_ended: bool,
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
        let mut inputs = Inputs::new(paths, options.clone(), follow);
        let stopped = || live.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let session = loop {
            if let Some(session) = inputs.open_changed()?
                && has_streams(&session)
            {
                break session;
            }
            let wait = Instant::now();
            while wait.elapsed() < inputs.pause() {
                if stopped() {
                    return Err(FollowError::Stopped);
                }
                std::thread::sleep(PAUSE.min(inputs.pause()));
            }
        };
        session.reader()?;
        let formats = session.traces().iter().map(|trace| trace.format());
        let is_unsorted =
            |name: &&str| crate::formats().any(|info| info.name == *name && info.has_file_order);
        if let Some(format) = formats.into_iter().find(is_unsorted) {
            return Err(FollowError::Unsorted(format));
        }
        let name = inputs.name();
        let format = session.traces().first().map_or("", |trace| trace.format());
        let control = Arc::new(FollowControl::default());
        // The thread prepares a delivery while another one is read.
        let (sender, deliveries) = sync_channel(1);
        let mut watcher = Watcher::new(inputs, sender, Arc::clone(&control), live.arrivals.clone());
        let first = watcher.look(session, false);
        let stream = first.first_stream().ok_or(FollowError::Stopped)?;
        std::thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || watcher.run())
            .map_err(FollowError::Thread)?;
        let has_dates = stream.clock().is_some_and(|clock| clock.origin == ClockOrigin::UnixEpoch);
        Ok(Self {
            name,
            format,
            stream,
            deliveries,
            current: Some(first),
            control,
            has_dates,
            has_ended: false,
        })
    }

    /// Returns the trace of the feed.
    #[must_use]
    pub fn into_trace(self, live: LiveOptions) -> LiveTrace {
        let (format, name, stream) = (self.format, self.name.clone(), Arc::clone(&self.stream));
        LiveTrace::new(format, name, stream, Box::new(self), live)
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
                return LivePoll::End;
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
