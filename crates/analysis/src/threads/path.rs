//! Critical path over wakeups: the work of a thread, and during its waits the work of the threads that woke it up.

use std::collections::HashMap;

use super::names_over_time::NamesOverTime;
use super::waker::Waker;
use crate::events::{StateInterval, ThreadNames, ThreadState, ThreadStateReader, ThreadWaker};

/// Maximum number of threads that wait for each other at the same time.
const MOST_NESTED: usize = 256;

/// Options for a [`WakeupPath`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PathOptions {
    /// Thread number. The path ends when this thread ends.
    pub thread: u64,
    /// Trace number. `None` for the first trace with this thread.
    pub trace: Option<u32>,
    /// Start and end of the path as [timeline times](mod@crate::events::timeline_time). `None` for everything known about
    /// the thread.
    pub range: Option<(u64, u64)>,
    /// Maximum number of states. With more, the path starts later.
    pub most: usize,
}

impl PathOptions {
    /// Creates the options for a thread.
    #[must_use]
    pub fn new(thread: u64) -> Self {
        Self { thread, trace: None, range: None, most: 1 << 21 }
    }
}

/// Step of a path. It starts at the end of the previous step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathStep {
    /// Trace number.
    pub trace: u32,
    /// Thread number.
    pub thread: u64,
    /// Thread and process names at the end of the step's state.
    pub names: ThreadNames,
    /// Start as a [timeline time](mod@crate::events::timeline_time).
    pub begin: u64,
    /// End as a timeline time.
    pub end: u64,
    /// State. It is a wait only if the work of the waking thread is unknown.
    pub state: ThreadState,
    /// Processor that runs the thread.
    pub processor: Option<u64>,
    /// Name of the span in which the thread waits.
    pub reason: Option<String>,
    /// Wakeup cause.
    pub waker: Option<Waker>,
}

/// Critical path over wakeups.
///
/// The search goes backward from the end. While the thread runs or waits for a processor, it is on the path itself.
/// While it waits for something else, the path continues in the thread that woke it up, and so on. Before the first
/// state of another thread, the path continues in the thread that started it or woke it up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WakeupPath {
    /// Trace number. If several traces have the thread, the first.
    pub trace: u32,
    /// Steps sorted by time.
    pub steps: Vec<PathStep>,
    /// `false` if some states were dropped because there were too many.
    pub is_complete: bool,
}

/// States of all threads that the path may need.
#[derive(Debug)]
pub(super) struct StatePath {
    options: PathOptions,
    threads: HashMap<(u32, u64), Vec<NamedState>>,
    kept: usize,
    names: NamesOverTime,
}

/// State with the names at its end.
#[derive(Clone, Copy, Debug)]
struct NamedState {
    state: StateInterval,
    names: u32,
    waker_names: Option<u32>,
}

/// Thread in the search, with the time range to search.
#[derive(Clone, Copy, Debug)]
struct PathFrame {
    thread: (u32, u64),
    begin: u64,
    at: u64,
    /// Thread that made this one runnable at `at`.
    starter: Option<u64>,
}

impl StatePath {
    pub(super) fn new(options: PathOptions) -> Self {
        Self { options, threads: HashMap::new(), kept: 0, names: NamesOverTime::default() }
    }

    /// Adds a state that has ended with the last message.
    pub(super) fn add(&mut self, interval: &StateInterval, reader: &ThreadStateReader) {
        let (begin, end) = self.options.range.unwrap_or((0, u64::MAX));
        if interval.end <= begin || interval.begin >= end || self.kept >= self.options.most {
            return;
        }
        self.kept += 1;
        let StateInterval { trace, thread, waker, .. } = *interval;
        let names = self.names.current(reader, trace, thread);
        let waker_names = match waker.filter(|_| interval.state.is_wait()) {
            Some(ThreadWaker::Thread(waker)) => Some(self.names.current(reader, trace, waker)),
            _ => None,
        };
        let named = NamedState { state: *interval, names, waker_names };
        self.threads.entry((trace, thread)).or_default().push(named);
    }

    /// Finds the path.
    pub(super) fn find(mut self, reader: &ThreadStateReader) -> WakeupPath {
        let is_complete = self.kept < self.options.most;
        let PathOptions { thread, trace, .. } = self.options;
        let of_thread =
            |(of, known): &&(u32, u64)| *known == thread && trace.is_none_or(|trace| *of == trace);
        let Some(thread) = self.threads.keys().filter(of_thread).min().copied() else {
            return WakeupPath { is_complete, ..WakeupPath::default() };
        };
        let own = self.threads.get(&thread).map(Vec::as_slice).unwrap_or_default();
        let known = own.first().map(|first| first.state.begin).zip(own.last().map(|last| last.state.end));
        let (first, last) = known.unwrap_or_default();
        let (begin, end) = self.options.range.unwrap_or((first, last));
        let frame = PathFrame { thread, begin: begin.max(first), at: end.min(last), starter: None };
        let mut parts = self.parts(frame, reader);
        parts.reverse();
        let text = |number: u32| reader.name(number).to_owned();
        let step = |part: &NamedState| {
            let StateInterval { trace, thread, begin, end, state, processor, reason, waker, .. } = part.state;
            let names = self.names.get(part.names);
            let waker = waker.filter(|_| state.is_wait()).map(|waker| match waker {
                ThreadWaker::Thread(thread) => {
                    let names = part.waker_names.map(|names| self.names.get(names));
                    Waker::Thread(thread, names.unwrap_or_default())
                }
                ThreadWaker::Interrupt(name) => Waker::Interrupt(name.map(text)),
            });
            PathStep { trace, thread, names, begin, end, state, processor, reason: reason.map(text), waker }
        };
        WakeupPath { trace: thread.0, steps: parts.iter().map(step).collect(), is_complete }
    }

    /// Returns the parts of the path, last first.
    fn parts(&mut self, from: PathFrame, reader: &ThreadStateReader) -> Vec<NamedState> {
        let mut parts = Vec::new();
        let mut frames = vec![from];
        loop {
            let nested = frames.len();
            let Some(frame) = frames.last_mut() else { break };
            let PathFrame { thread, begin, at, starter } = *frame;
            if at <= begin {
                frames.pop();
                continue;
            }
            let states = self.threads.get(&thread).map(Vec::as_slice).unwrap_or_default();
            let index = states.partition_point(|named| named.state.begin < at);
            let named = index.checked_sub(1).and_then(|index| states.get(index));
            let continues = |other: &u64| {
                *other != thread.1 && nested < MOST_NESTED && self.threads.contains_key(&(thread.0, *other))
            };
            let Some(named) = named.filter(|named| named.state.end >= at) else {
                if let Some(starter) = starter.filter(continues) {
                    frame.at = begin;
                    frames.push(PathFrame { thread: (thread.0, starter), begin, at, starter: None });
                    continue;
                }
                // The state is unknown between two states and before the first.
                let since = named.map_or(begin, |named| named.state.end.max(begin));
                let names = self.names.current(reader, thread.0, thread.1);
                parts.push(NamedState { state: unknown(thread, since, at), names, waker_names: None });
                (frame.at, frame.starter) = (since, None);
                continue;
            };
            let state = &named.state;
            let since = state.begin.max(begin);
            (frame.at, frame.starter) = (since, started_by(state));
            match ended_by(state, at).filter(continues) {
                Some(waker) => {
                    let thread = (thread.0, waker);
                    frames.push(PathFrame { thread, begin: since, at, starter: None });
                }
                None => {
                    let state = StateInterval { begin: since, end: at, ..*state };
                    parts.push(NamedState { state, ..*named });
                }
            }
        }
        parts
    }
}

/// Returns the thread that ended a wait at a time.
fn ended_by(state: &StateInterval, at: u64) -> Option<u64> {
    match state.waker {
        Some(ThreadWaker::Thread(waker)) if state.state.is_wait() && state.end == at => Some(waker),
        _ => None,
    }
}

/// Returns the thread that made a thread runnable at the start of a state.
fn started_by(state: &StateInterval) -> Option<u64> {
    match state.waker {
        Some(ThreadWaker::Thread(waker)) if state.state == ThreadState::Runnable => Some(waker),
        _ => None,
    }
}

fn unknown((trace, thread): (u32, u64), begin: u64, end: u64) -> StateInterval {
    StateInterval {
        trace,
        thread,
        begin,
        end,
        state: ThreadState::Unknown,
        processor: None,
        reason: None,
        waker: None,
        is_open: false,
    }
}
