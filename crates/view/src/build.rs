//! The timeline of all selected events, which is built while it is looked at.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ichnos::export::viewers::Timeline;
use ichnos::model::{Message, Window};
use ichnos::{Pass, PassCounts, PassEnd, PassHandler, Selector, Session};

use crate::cache::{KeptStatus, TimelineCache};
use crate::options::ViewOptions;

/// Time between two notes of progress.
const STEP: Duration = Duration::from_millis(200);

/// State of a [`Build`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BuildState {
    #[default]
    Loading,
    /// Messages arrive as long as others write them.
    Live,
    Done,
    Failed,
}

impl BuildState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Live => "live",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// Progress of a [`Build`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// Grows with each change.
    pub(crate) generation: u64,
    pub(crate) state: BuildState,
    /// Nothing more is added to this timeline.
    pub(crate) is_complete: bool,
    /// Part that is done, from 0 to 1.
    pub(crate) progress: f64,
    /// First and last time so far, in nanoseconds since the origin of the clock.
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) events: u64,
    pub(crate) discarded_events: u64,
    pub(crate) discarded_packets: u64,
    pub(crate) damages: u64,
    /// Text for people: the reason of a state that failed, or why the timeline could not be kept.
    pub(crate) failure: Option<String>,
}

impl Status {
    /// Returns what is kept beside the timeline.
    fn kept(&self) -> KeptStatus {
        let Self { range, events, discarded_events, discarded_packets, damages, .. } = *self;
        KeptStatus { range, events, discarded_events, discarded_packets, damages }
    }
}

/// A timeline that one thread fills and others ask.
#[derive(Debug)]
pub(crate) struct Build {
    timeline: Mutex<Timeline>,
    /// Number of threads that wait for the timeline.
    waiting: AtomicUsize,
    status: Mutex<Status>,
    changed: Condvar,
    /// `true` if it is no longer needed.
    is_cancelled: AtomicBool,
    /// The timeline of all events, whose pages are notified when this one changes.
    whole: Option<Arc<Self>>,
}

impl Build {
    /// Makes an empty one, or one of a part of the events of another one. `budget` is that of [`Timeline::new`], in bytes.
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

    /// Makes one for the events of another one, which is complete, and further ones.
    pub(crate) fn after(earlier: &Self, budget: usize) -> Self {
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

    /// Makes one for the events of another one at other times, with the same numbers of tracks and names. Pages are notified of
    /// its changes.
    pub(crate) fn beside(whole: &Arc<Self>, budget: usize) -> Self {
        let numbered = whole.timeline().numbered(budget);
        Self { timeline: Mutex::new(numbered.with_flows()), ..Self::new(budget, Some(Arc::clone(whole))) }
    }

    /// Waits until it is complete, or the time is over.
    pub(crate) fn wait_until_complete(&self, time: Duration) {
        let status = self.lock_status();
        let _ = self.changed.wait_timeout_while(status, time, |status| !status.is_complete);
    }

    /// Locks the timeline as it is now. The thread that fills it waits.
    pub(crate) fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let timeline = self.timeline.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        timeline
    }

    pub(crate) fn status(&self) -> Status {
        self.lock_status().clone()
    }

    fn lock_status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the status is another one than that of a generation, or the time is over.
    pub(crate) fn wait(&self, generation: u64, time: Duration) -> Status {
        let status = self.lock_status();
        let waited = self.changed.wait_timeout_while(status, time, |status| status.generation == generation);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Ends the thread that fills the timeline soon.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Takes the tracks and names of the timeline of all events, once that is complete: they have the same numbers then.
    pub(crate) fn wait_for_whole(&self, budget: usize) {
        let Some(whole) = &self.whole else { return };
        let mut status = whole.status();
        while !status.is_complete && !self.is_cancelled.load(Ordering::Relaxed) {
            status = whole.wait(status.generation, STEP);
        }
        let part = whole.timeline().part(0, budget);
        *self.timeline() = part.with_flows();
    }

    /// Takes over the timeline that was kept, or fills it and keeps it.
    pub(crate) fn run_cached(&self, session: &Session, options: &ViewOptions) {
        let cache = options.cache.as_ref().filter(|_| !session.is_live() && !options.follow);
        if let Some((kept, timeline)) = cache.and_then(TimelineCache::load) {
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
        // The lock is not held for long: a few hundred megabytes a second are written.
        let stored = cache.store(&status.kept(), &self.timeline());
        if let Err(error) = stored {
            let mut status = self.lock_status();
            status.generation += 1;
            status.failure = Some(format!("the timeline cannot be cached: {error}"));
            drop(status);
            self.changed.notify_all();
        }
    }

    /// Numbers data streams and traces in the order of the session.
    fn number_streams(&self, session: &Session) {
        let streams: Vec<_> = session.traces().iter().flat_map(|trace| trace.data_streams()).collect();
        self.timeline().number_streams(streams.iter().map(|stream| &**stream));
    }

    /// Fills the timeline with the selected events of a session, or those among them that a filter selects.
    pub(crate) fn run(&self, session: &Session, options: &ViewOptions, filter: Option<Selector>) {
        let ViewOptions { selection, stop, .. } = options;
        let noted = Instant::now();
        let reader = options.reader(session, Window::default());
        let expected = reader.as_ref().ok().and_then(|reader| expected_range(session, reader.windows()));
        let (is_followed, is_live) = (options.follow, session.is_live());
        let mut filler =
            Filler { build: self, filter, held: None, expected, noted, counts: None, is_followed, is_live };
        if session.is_live() || options.follow {
            self.lock_status().state = BuildState::Live;
        }
        self.number_streams(session);
        let pass = Pass::new(selection.clone()).stop(stop);
        let pass = if session.is_live() { pass.live() } else { pass };
        let ended =
            reader.and_then(|reader| pass.run(&reader, &mut filler).map_err(|error| error.to_string()));
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
        filler.note(Some(failure));
    }
}

/// Returns the time range that the traces say they have, each within its window.
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
    Some((u64::try_from(begin).ok()?, u64::try_from(end).ok()?))
}

/// Passes messages to the timeline.
struct Filler<'b> {
    build: &'b Build,
    filter: Option<Selector>,
    held: Option<MutexGuard<'b, Timeline>>,
    expected: Option<(u64, u64)>,
    /// Time of the last note.
    noted: Instant,
    /// Counts of the whole pass.
    counts: Option<PassCounts>,
    /// Traces are opened again when they have grown.
    is_followed: bool,
    /// Messages arrive as long as others write them.
    is_live: bool,
}

impl Filler<'_> {
    fn timeline(&mut self) -> &mut Timeline {
        let lock = || self.build.timeline.lock().unwrap_or_else(PoisonError::into_inner);
        self.held.get_or_insert_with(lock)
    }

    /// Notes the progress; at the end, with the reason of a failure.
    fn note(&mut self, ended: Option<Option<String>>) {
        let (range, counts) = (self.timeline().range(), self.timeline().counts());
        self.held = None;
        let mut status = self.build.lock_status();
        status.generation += 1;
        status.events = counts.events + counts.not_shown;
        if let Some(counts) = &self.counts {
            status.discarded_events = counts.discarded_events;
            status.discarded_packets = counts.discarded_packets;
            status.damages = counts.damages;
        }
        // The expected range is shown from the beginning, so that the picture does not move.
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

impl PassHandler for Filler<'_> {
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

    fn step(&mut self, _: &Message<'_>, _: u32) {
        if self.build.waiting.load(Ordering::Acquire) > 0 {
            self.held = None;
            // A mutex alone would be taken again before those who wait wake up.
            while self.build.waiting.load(Ordering::Acquire) > 0 {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        if self.noted.elapsed() >= STEP {
            self.note(None);
        }
    }

    fn after_step(&mut self) -> io::Result<()> {
        if self.is_live {
            // The next message may be long in coming.
            self.note(None);
        }
        match self.build.is_cancelled.load(Ordering::Relaxed) {
            true => Err(io::Error::other("cancelled")),
            false => Ok(()),
        }
    }
}
