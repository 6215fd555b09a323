//! Builds the timeline in the background.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::{Message, Sink, Window};
use ichnos::viewers::{Timeline, timeline_time};
use ichnos::{Pass, PassCounts, PassEnd, Selector, Session};

use crate::cache::{KeptStatus, TimelineCache};
use crate::options::ViewOptions;

/// Interval between two progress updates.
const STEP: Duration = Duration::from_millis(200);

ichnos::model::named_enum! {
    /// State of a [`TimelineBuilder`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) enum BuildState {
        #[default]
        Loading = "loading",
        /// The traces are still being written, and their messages arrive live.
        Live = "live",
        Done = "done",
        Failed = "failed",
    }
}

/// Progress of a [`TimelineBuilder`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// Number that grows with each change.
    pub(crate) generation: u64,
    pub(crate) state: BuildState,
    /// `true` if nothing more is added to this timeline.
    pub(crate) is_complete: bool,
    /// Progress from 0 to 1.
    pub(crate) progress: f64,
    /// First and last time so far.
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) events: u64,
    pub(crate) discarded_events: u64,
    pub(crate) discarded_packets: u64,
    pub(crate) damages: u64,
    /// Number of events that are not on the timeline, because their times are too far from the clock origin.
    pub(crate) not_shown: u64,
    /// Message about a failure to read, or to store the timeline in the cache.
    pub(crate) failure: Option<String>,
}

impl Status {
    /// Returns the totals to store with the timeline.
    fn kept(&self) -> KeptStatus {
        let Self { range, events, discarded_events, discarded_packets, damages, .. } = *self;
        KeptStatus { range, events, discarded_events, discarded_packets, damages }
    }
}

/// Timeline that one thread fills while others query it.
#[derive(Debug)]
pub(crate) struct TimelineBuilder {
    timeline: Mutex<Timeline>,
    /// Number of threads that wait for the lock on the timeline.
    waiting: AtomicUsize,
    status: Mutex<Status>,
    changed: Condvar,
    /// `true` if the timeline is no longer needed.
    is_cancelled: AtomicBool,
    /// Timeline of all events. Changes of this timeline are reported to its pages.
    whole: Option<Arc<Self>>,
}

impl TimelineBuilder {
    /// Starts a timeline, or a timeline of some events of `whole`. `budget` is the size in bytes for [`Timeline::new`].
    pub(crate) fn new(budget: usize, whole: Option<Arc<Self>>) -> Self {
        Self {
            timeline: Mutex::new(Timeline::new(budget).with_flows()),
            waiting: AtomicUsize::new(0),
            status: Mutex::default(),
            changed: Condvar::new(),
            is_cancelled: AtomicBool::new(false),
            whole,
        }
    }

    /// Starts a timeline for the events of an earlier, complete timeline and further events.
    pub(crate) fn for_grown_traces(earlier: &Self, budget: usize) -> Self {
        let timeline = earlier.timeline();
        let numbered = timeline.numbered(budget);
        drop(timeline);
        let status = Status { is_complete: false, ..earlier.status() };
        Self {
            timeline: Mutex::new(numbered.with_flows()),
            status: Mutex::new(status),
            ..Self::new(budget, None)
        }
    }

    /// Starts a timeline for the events of `whole` at other times, with the same track and name numbers. Its changes
    /// are reported to the pages of `whole`.
    pub(crate) fn for_moved_clocks(whole: &Arc<Self>, budget: usize) -> Self {
        let numbered = whole.timeline().numbered(budget);
        Self { timeline: Mutex::new(numbered.with_flows()), ..Self::new(budget, Some(Arc::clone(whole))) }
    }

    /// Waits until the timeline is complete, at most for the given time.
    pub(crate) fn wait_until_complete(&self, time: Duration) {
        let status = self.lock_status();
        let _ = self.changed.wait_timeout_while(status, time, |status| !status.is_complete);
    }

    /// Locks the timeline in its current state. The thread that fills it waits meanwhile.
    pub(crate) fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let timeline = self.timeline.lock().ignore_poison();
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        timeline
    }

    pub(crate) fn status(&self) -> Status {
        self.lock_status().clone()
    }

    fn lock_status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().ignore_poison()
    }

    /// Waits until the status differs from that generation, at most for the given time.
    pub(crate) fn wait(&self, generation: u64, time: Duration) -> Status {
        let status = self.lock_status();
        let waited = self.changed.wait_timeout_while(status, time, |status| status.generation == generation);
        waited.ignore_poison().0.clone()
    }

    /// Stops the thread that fills the timeline.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Waits for the timeline of all events, and copies its tracks and names, so that both have the same numbers.
    pub(crate) fn wait_for_whole(&self, budget: usize) {
        let Some(whole) = &self.whole else { return };
        let mut status = whole.status();
        while !status.is_complete && !self.is_cancelled.load(Ordering::Relaxed) {
            status = whole.wait(status.generation, STEP);
        }
        let part = whole.timeline().part(0, budget);
        *self.timeline() = part.with_flows();
    }

    /// Loads the timeline from the cache, or fills and stores it.
    pub(crate) fn run_cached(&self, session: &Session, options: &ViewOptions) {
        let cache = options.cache.as_ref().filter(|_| !session.is_live() && !options.follow);
        if let Some((kept, timeline)) = cache.and_then(TimelineCache::load) {
            let not_shown = timeline.counts().not_shown;
            *self.timeline() = timeline;
            self.number_streams(session);
            let KeptStatus { range, events, discarded_events, discarded_packets, damages } = kept;
            let mut status = self.lock_status();
            let generation = status.generation + 1;
            let (state, progress, is_complete, failure) = (BuildState::Done, 1.0, true, None);
            *status = Status {
                generation,
                state,
                is_complete,
                progress,
                range,
                events,
                discarded_events,
                discarded_packets,
                damages,
                not_shown,
                failure,
            };
            drop(status);
            return self.changed.notify_all();
        }
        self.run(session, options, None);
        let status = self.status();
        let Some(cache) =
            cache.filter(|_| status.state == BuildState::Done && !options.stop.load(Ordering::Relaxed))
        else {
            return;
        };
        // The lock is held briefly: writing reaches a few hundred megabytes per second.
        let stored = cache.store(&status.kept(), &self.timeline());
        if let Err(error) = stored {
            let mut status = self.lock_status();
            status.generation += 1;
            status.failure = Some(format!("the timeline cannot be cached: {error}"));
            drop(status);
            self.changed.notify_all();
        }
    }

    /// Numbers data streams and traces in session order.
    fn number_streams(&self, session: &Session) {
        let streams: Vec<_> = session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
        self.timeline().number_streams(streams.iter().map(|stream| &**stream));
    }

    /// Fills the timeline with the selected events of a session that also pass the filter, if any.
    pub(crate) fn run(&self, session: &Session, options: &ViewOptions, filter: Option<Selector>) {
        let ViewOptions { selection, stop, .. } = options;
        let noted = Instant::now();
        let reader = options.reader(session, Window::default());
        let expected = reader.as_ref().ok().and_then(|reader| expected_range(session, reader.windows()));
        let is_followed = options.follow;
        let mut filler =
            Filler { build: self, filter, held: None, expected, noted, counts: None, is_followed };
        if session.is_live() || options.follow {
            self.lock_status().state = BuildState::Live;
        }
        self.number_streams(session);
        let pass = Pass::new(selection.clone()).stop(stop);
        let pass = if session.is_live() { pass.live() } else { pass };
        let ended = reader
            .and_then(|reader| reader.pass().with(pass).run(&mut filler).map_err(|error| error.to_string()));
        if let Ok(summary) = &ended {
            filler.counts = Some(summary.counts);
        }
        filler.timeline().finish();
        let failure = match ended {
            Ok(summary) => match summary.end {
                PassEnd::Refused(damage) => Some(damage.to_string()),
                _ => None,
            },
            Err(error) => Some(error),
        };
        filler.update_status(Some(failure));
    }
}

/// Returns the time range recorded in the traces, each within its window.
fn expected_range(session: &Session, windows: &[Window]) -> Option<(u64, u64)> {
    let mut range: Option<(i128, i128)> = None;
    for (trace, window) in session.traces().iter().zip(windows) {
        trace.for_each_stream(&mut |summary| {
            let Some((begin, end)) = summary.time_range else { return };
            let begin = window.begin.map_or(begin, |first| first.max(begin));
            let end = window.end.map_or(end, |last| last.min(end));
            if begin <= end {
                let (first, last) = range.unwrap_or((begin, end));
                range = Some((first.min(begin), last.max(end)));
            }
        });
    }
    let (begin, end) = range?;
    Some((timeline_time(begin)?, timeline_time(end)?))
}

/// Sink that passes messages to the timeline.
struct Filler<'b> {
    build: &'b TimelineBuilder,
    filter: Option<Selector>,
    held: Option<MutexGuard<'b, Timeline>>,
    expected: Option<(u64, u64)>,
    /// Time of the last progress update.
    noted: Instant,
    /// Counts of the whole pass.
    counts: Option<PassCounts>,
    /// `true` if grown traces are opened again.
    is_followed: bool,
}

impl Filler<'_> {
    fn timeline(&mut self) -> &mut Timeline {
        let lock = || self.build.timeline.lock().ignore_poison();
        self.held.get_or_insert_with(lock)
    }

    /// Updates the progress. `ended` is set at the end, with the reason if reading failed.
    fn update_status(&mut self, ended: Option<Option<String>>) {
        let (range, counts) = (self.timeline().range(), self.timeline().counts());
        self.held = None;
        let mut status = self.build.lock_status();
        status.generation += 1;
        status.events = counts.events + counts.not_shown;
        status.not_shown = counts.not_shown;
        if let Some(counts) = &self.counts {
            status.discarded_events = counts.discarded_events;
            status.discarded_packets = counts.discarded_packets;
            status.damages = counts.damages;
        }
        // Show the expected range from the start, so that the picture does not move.
        status.range = match (range, self.expected.filter(|_| ended.is_none())) {
            (Some((first, last)), Some((begin, end))) => Some((first.min(begin), last.max(end))),
            (range, expected) => range.or(expected),
        };
        if let (Some((_, now)), Some((begin, end))) = (range, self.expected) {
            status.progress =
                (now.saturating_sub(begin) as f64 / (end - begin).max(1) as f64).clamp(0.0, 0.99);
        }
        if let Some(failure) = ended {
            status.progress = 1.0;
            status.is_complete = true;
            status.state = match failure.is_some() {
                true => BuildState::Failed,
                false if self.is_followed => BuildState::Live,
                false => BuildState::Done,
            };
            status.failure = failure;
        }
        drop(status);
        self.build.changed.notify_all();
        if let Some(whole) = &self.build.whole {
            whole.lock_status().generation += 1;
            whole.changed.notify_all();
        }
        self.noted = Instant::now();
    }
}

impl Sink for Filler<'_> {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let (Some(filter), Message::Event(event)) = (&mut self.filter, message)
            && !filter.selects(event)
        {
            self.timeline().pass_over(event);
            return Ok(ControlFlow::Continue(()));
        }
        self.timeline().take(message);
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, _: &Message<'_>, _: u32) -> io::Result<()> {
        if self.build.waiting.load(Ordering::Acquire) > 0 {
            self.held = None;
            // With the mutex alone, this thread would lock it again before a waiting thread wakes up.
            while self.build.waiting.load(Ordering::Acquire) > 0 {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        if self.noted.elapsed() >= STEP {
            self.update_status(None);
        }
        match self.build.is_cancelled.load(Ordering::Relaxed) {
            true => Err(io::Error::other("cancelled")),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.update_status(None);
        Ok(())
    }
}
