//! Thread state tracks, and wakeup causes.

use std::collections::HashMap;

use crate::pyramid::{Pyramid, SpanItem};

use super::wait_table::{KnownWait, WaitNames, WaitTable};
use ichnos_analysis::events::ThreadWaker;
use ichnos_analysis::events::thread_states::{StateEvent, StateInterval, ThreadState, ThreadStates};

/// Thread states of a timeline.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Default)]
pub(super) struct StateTracks {
    states: ThreadStates,
    /// Tracks by trace and thread.
    tracks: HashMap<(u32, u64), u32>,
    /// Trace and thread by state track.
    threads: HashMap<u32, (u32, u64)>,
    /// State track by thread track.
    of_parents: HashMap<u32, u32>,
    /// Running time of threads in nanoseconds, by state track.
    running: HashMap<u32, u64>,
    waits: WaitTable,
    /// States that the last event ended.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) ended: Vec<StateInterval>,
}

impl StateTracks {
    /// Takes an event. The states that it ends are added to [`Self::ended`].
    #[inline]
    pub(super) fn take(&mut self, of: StateEvent<'_, '_>) {
        if of.class.has_states() {
            let Self { states, ended, .. } = self;
            states.take(of, &mut |interval| ended.push(*interval));
        }
    }

    /// Ends the states of all threads at a time.
    pub(super) fn finish(&mut self, time: u64) {
        let Self { states, ended, .. } = self;
        states.finish(time, &mut |interval| ended.push(*interval));
    }

    /// Returns the state track of a thread, if there is one.
    pub(super) fn track(&self, trace: u32, thread: u64) -> Option<u32> {
        self.tracks.get(&(trace, thread)).copied()
    }

    /// Records the first event of a processor.
    pub(super) fn record_first(&mut self, trace: u32, processor: Option<u64>, time: u64) {
        self.states.record_first(trace, processor, time);
    }

    /// Marks the thread of a processor as unknown from a time on.
    pub(super) fn record_processor_loss(&mut self, trace: u32, processor: Option<u64>, time: u64) {
        let Self { states, ended, .. } = self;
        states.record_processor_loss(trace, processor, time, &mut |interval| ended.push(*interval));
    }

    /// Adds the state track of a thread.
    pub(super) fn add_track(&mut self, trace: u32, thread: u64, track: u32, parent: u32) {
        self.of_parents.insert(parent, track);
        self.tracks.insert((trace, thread), track);
        self.threads.insert(track, (trace, thread));
    }

    /// Returns the state track for the thread of another track.
    pub(super) fn of_thread_track(&self, parent: u32) -> Option<u32> {
        self.of_parents.get(&parent).copied()
    }

    /// Returns the trace of a state track.
    pub(super) fn trace_of(&self, track: u32) -> Option<u32> {
        self.threads.get(&track).map(|(trace, _)| *trace)
    }

    /// Returns the thread of a state track.
    pub(super) fn thread_of(&self, track: u32) -> Option<u64> {
        self.threads.get(&track).map(|(_, thread)| *thread)
    }

    /// Adds an ended state to a track. `name` is the number of its name. `names` are those of a wait.
    pub(super) fn add(
        &mut self,
        interval: &StateInterval,
        (track, name): (u32, u32),
        names: WaitNames,
        pyramid: &mut Pyramid,
    ) {
        let StateInterval { begin, end, state, reason, waker, .. } = *interval;
        pyramid.span(track, 0, begin, end, name);
        if state == ThreadState::Running {
            let running = self.running.entry(track).or_default();
            *running = running.saturating_add(end - begin);
        }
        if state.is_wait() && !interval.is_open {
            self.waits.add(track, KnownWait { begin, end, reason, waker, names });
        }
    }

    /// Returns the running time of a state track's thread, in nanoseconds.
    pub(super) fn running(&self, track: u32) -> Option<u64> {
        self.running.get(&track).copied()
    }

    /// Returns the wait of a state track that ends at a time.
    pub(super) fn wait(&self, track: u32, end: u64) -> Option<KnownWait> {
        self.waits.find(track, end)
    }

    /// Returns the waits that a thread ended in a range: state tracks of the waiting threads, and times.
    pub(super) fn ended_by(
        &self,
        (trace, thread): (u32, u64),
        range: (u64, u64),
        most: usize,
    ) -> Vec<(u32, u64)> {
        let is_of_trace = |track| self.trace_of(track) == Some(trace);
        self.waits.ended_by(ThreadWaker::Thread(thread), range, is_of_trace, most)
    }

    /// Returns the longest waits that touch a range with their tracks, longest first.
    pub(super) fn longest_waits(&self, begin: u64, end: u64, most: usize) -> Vec<(u32, KnownWait)> {
        self.waits.longest(begin, end, most)
    }

    /// Starts with the known states at a time. `of` returns the state on a state track at that time.
    pub(super) fn begin_at(
        &mut self,
        from: &Self,
        mut of: impl FnMut(u32) -> Option<(ThreadState, SpanItem)>,
    ) {
        self.tracks.clone_from(&from.tracks);
        self.threads.clone_from(&from.threads);
        self.of_parents.clone_from(&from.of_parents);
        for (&(trace, thread), track) in &from.tracks {
            if let Some((state, item)) = of(*track) {
                self.states.restore(trace, thread, state, item.begin);
            }
        }
    }

    /// Sets the running thread of a processor.
    pub(super) fn set_running(&mut self, trace: u32, processor: Option<u64>, thread: u64) {
        self.states.restore_processor(trace, processor, thread);
    }
}
