//! Threads of a timeline: states, wakeups and processors.

use std::fmt::Write as _;

use crate::pyramid::{MOST_LANES, SpanItem};

use super::wait_table::{KnownWait, WaitNames};
use super::{Timeline, TimelineTrackKind, number};
use ichnos_analysis::events::thread_states::{StateInterval, ThreadState, ThreadWaker};

/// State of a thread at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineState {
    /// Start.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// Name number of the state.
    pub name: u32,
    /// Name number of the span in which the thread waits, if it waits.
    pub waits_in: Option<u32>,
    /// Cause that ended the wait.
    pub waker: Option<ThreadWaker>,
    /// Track of the thread that ended the wait.
    pub woken_by: Option<u32>,
    /// Name number of the waiting thread at the end of the wait.
    pub thread_name: Option<u32>,
    /// Name number of the thread that ended the wait, at its end.
    pub waker_name: Option<u32>,
}

impl Timeline {
    /// Returns the running time of a state track's thread, in nanoseconds. `None` for other tracks, and for threads
    /// that never ran.
    #[must_use]
    pub fn running(&self, track: u32) -> Option<u64> {
        self.states.running(track)
    }

    /// Returns the state track of the thread with this name number on a processor track.
    #[must_use]
    pub fn states_of_name(&self, track: u32, name: u32) -> Option<u32> {
        let (trace, _) = self.tracks.tracks.get(track as usize)?.runs_on?;
        self.states.track(trace, *self.threads.get(&name)?)
    }

    /// Returns the state of a state track at a time, followed by up to `most` earlier states, the latest first. It is
    /// empty if the state is unknown, or shorter than the [resolution](Self::resolution).
    pub fn states_at(&mut self, track: u32, time: u64, most: usize) -> Vec<TimelineState> {
        let mut found = Vec::new();
        let mut at = time;
        while found.len() < most {
            let mut item = None;
            self.board.pyramid.latest(track, at, |_, latest| item = Some(latest));
            let is_at = |item: &SpanItem| {
                item.count == 1 && (item.end > at || !found.is_empty() && item.end == at + 1)
            };
            let Some(SpanItem { begin, end, name, .. }) = item.filter(is_at) else { break };
            let wait = self.states.wait(track, end).filter(|wait| wait.begin == begin);
            let waker = wait.and_then(|wait| wait.waker);
            let woken_by = self.waker_track(track, waker);
            let names = wait.map(|wait| wait.names).unwrap_or_default();
            found.push(TimelineState {
                begin,
                end,
                name,
                waits_in: wait.and_then(|wait| wait.reason),
                waker,
                woken_by,
                thread_name: names.thread,
                waker_name: names.waker,
            });
            let Some(before) = begin.checked_sub(1) else { break };
            at = before;
        }
        found
    }

    /// Sets the names of a wait that this timeline knows. A [part](Self::part) can lack earlier names.
    pub fn name_wait(&self, track: u32, state: &mut TimelineState) {
        if let Some(wait) = self.states.wait(track, state.end).filter(|wait| wait.begin == state.begin) {
            (state.thread_name, state.waker_name) = (wait.names.thread, wait.names.waker);
        }
    }

    /// Returns the state track for the thread of a track.
    #[must_use]
    pub fn states_of(&self, track: u32) -> Option<u32> {
        self.states.of_thread_track(track)
    }

    /// Returns the trace number and the thread number of a state track.
    #[must_use]
    pub fn thread_and_trace(&self, track: u32) -> Option<(u32, u64)> {
        Some((self.states.trace_of(track)?, self.states.thread_of(track)?))
    }

    /// Returns the longest completed waits that touch a range, the longest first, with their state tracks.
    #[must_use]
    pub fn longest_waits(&self, begin: u64, end: u64, most: usize) -> Vec<(u32, TimelineState)> {
        let waits = self.states.longest_waits(begin, end, most).into_iter();
        waits
            .map(|(track, KnownWait { begin, end, reason, waker, names })| {
                let state = TimelineState {
                    begin,
                    end,
                    name: Self::OTHER,
                    waits_in: reason,
                    waker,
                    woken_by: self.waker_track(track, waker),
                    thread_name: names.thread,
                    waker_name: names.waker,
                };
                (track, state)
            })
            .collect()
    }

    /// Returns the track of the thread that ended a wait on a state track.
    fn waker_track(&self, track: u32, waker: Option<ThreadWaker>) -> Option<u32> {
        match waker {
            Some(ThreadWaker::Thread(thread)) => self.track_of_thread(self.states.trace_of(track)?, thread),
            _ => None,
        }
    }

    /// Returns the track of a thread with known states. `trace` is its trace number.
    #[must_use]
    pub fn track_of_thread(&self, trace: u32, thread: u64) -> Option<u32> {
        self.tracks.tracks.get(self.states.track(trace, thread)? as usize)?.parent
    }

    /// Returns the thread number of a state track.
    #[must_use]
    pub fn thread_of_states(&self, track: u32) -> Option<u64> {
        self.states.thread_of(track)
    }

    /// Returns the track of the processor that ran a thread at a time. `track` is the state track of the thread.
    pub fn processor_at(&mut self, track: u32, time: u64) -> Option<u32> {
        let (trace, thread) = self.thread_and_trace(track)?;
        let Self { tracks, board, threads, .. } = self;
        (0..).zip(&tracks.tracks).find_map(|(processor, known)| {
            let (of_trace, _) = known.runs_on?;
            let mut item: Option<SpanItem> = None;
            if of_trace == trace {
                board.pyramid.latest(processor, time, |_, latest| item = Some(latest));
            }
            let runs = item.filter(|item| item.count == 1 && item.end > time)?;
            (threads.get(&runs.name) == Some(&thread)).then_some(processor)
        })
    }

    /// Returns the first threads that a thread woke up in a range, sorted by time. All threads are given by their state
    /// tracks.
    #[must_use]
    pub fn woken(&self, track: u32, range: (u64, u64), most: usize) -> Vec<(u32, u64)> {
        let thread = self.thread_and_trace(track);
        thread.map_or_else(Vec::new, |thread| self.states.ended_by(thread, range, most))
    }

    /// Returns the program of a thread with a name number on a processor track: the process track, or the thread
    /// track of an unknown process.
    #[must_use]
    pub fn program_of_name(&self, track: u32, name: u32) -> Option<u32> {
        let states = self.states_of_name(track, name)?;
        let thread = self.tracks().get(states as usize)?.parent?;
        let process = self.tracks().get(thread as usize)?.parent;
        let is_process = |track: &u32| {
            let known = self.tracks().get(*track as usize);
            known.is_some_and(|track| track.kind == TimelineTrackKind::Process)
        };
        Some(process.filter(is_process).unwrap_or(thread))
    }

    /// Adds the last states of a part. Another timeline knows their ends.
    pub(super) fn finish_states_of_part(&mut self, whole: &mut Self) {
        let end = whole.range.map_or(0, |(_, last)| last);
        self.states.finish(end.max(self.range.map_or(0, |(_, last)| last)));
        for mut interval in std::mem::take(&mut self.states.ended) {
            let mut names = WaitNames::default();
            if let Some(track) = whole.states.track(interval.trace, interval.thread) {
                whole.board.pyramid.latest(track, interval.begin, |_, item| {
                    if item.count == 1 && item.begin == interval.begin {
                        interval.end = item.end;
                    }
                });
                let known = whole.states.wait(track, interval.end).filter(|_| interval.state.is_wait());
                if let Some(known) = known {
                    (interval.reason, interval.waker) = (known.reason, known.waker);
                    names = known.names;
                    interval.is_open = false;
                }
            }
            self.add_named_state(&interval, names);
            self.add_run(&interval);
        }
    }

    /// Adds a running state to the processor lanes of its process.
    pub(super) fn add_run(&mut self, interval: &StateInterval) {
        if interval.state != ThreadState::Running {
            return;
        }
        let StateInterval { trace, thread, begin, end, processor, .. } = *interval;
        let Self { states, tracks, names, board, text, .. } = self;
        let own = states.track(trace, thread).and_then(|track| tracks.tracks.get(track as usize)?.parent);
        let process = own.and_then(|own| tracks.tracks.get(own as usize)?.parent);
        let Some(track) = process.and_then(|process| tracks.of_runs(trace, process)) else { return };
        let name = own.and_then(|own| tracks.tracks.get(own as usize)).map_or("", |track| &track.name);
        text.clear();
        text.push_str(name);
        let name = number(names, text);
        let lane = processor.unwrap_or(0).min(u64::from(MOST_LANES) - 1) as u16;
        board.pyramid.span(track, lane, begin, end, name);
    }

    /// Adds a state, if its thread has a track.
    pub(super) fn add_state(&mut self, interval: &StateInterval) {
        let mut names = WaitNames::default();
        if interval.state.is_wait() && !interval.is_open {
            let trace = interval.trace;
            names.thread = self.thread_label(trace, interval.thread);
            if let Some(ThreadWaker::Thread(waker)) = interval.waker {
                names.waker = self.thread_label(trace, waker);
            }
        }
        self.add_named_state(interval, names);
    }

    fn add_named_state(&mut self, interval: &StateInterval, names: WaitNames) {
        if let Some(track) = self.states.track(interval.trace, interval.thread) {
            let name = number(&mut self.names, interval.state.name());
            self.states.add(interval, (track, name), names, &mut self.board.pyramid);
        }
    }

    /// Returns the number of a thread's current name with its number. `None` if the name is unknown.
    fn thread_label(&mut self, trace: u32, thread: u64) -> Option<u32> {
        let Self { scheduling, names, text, .. } = self;
        let (.., name) = scheduling.describe(trace, thread);
        text.clear();
        // Writing to memory does not fail.
        let _ = write!(text, "{} ({thread})", name?);
        Some(number(names, text)).filter(|number| *number != Self::OTHER)
    }
}
