//! Thread states from scheduler events, for timelines and reports.

use std::collections::HashMap;

use ichnos_model::Event;

use super::class::{EventForm, EventPlace, ViewerClass};
use super::scheduling::next_thread;
use super::span_edge::SpanEdge;
use super::thread_fields::{PreviousState, linux};

/// Maximum number of threads. Beyond it, all are forgotten.
const MOST: usize = 1 << 16;

/// Maximum number of open spans of a thread or a processor. Deeper spans are ignored.
const MOST_OPEN: usize = 64;

ichnos_model::named_enum! {
    /// Thread state.
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum ThreadState {
        /// A processor runs the thread.
        Running = "running",
        /// The thread can run, but no processor runs it.
        Runnable = "runnable",
        /// The thread waits, and a signal would wake it: Linux's interruptible sleep.
        Sleeping = "sleeping",
        /// The thread waits: Linux's uninterruptible sleep, or a blocked thread of another system.
        Waiting = "waiting",
        /// The thread was stopped by a debugger or a signal.
        Stopped = "stopped",
        /// No event tells the state: the thread does not run, or events were lost.
        Unknown = "unknown",
    }
}

impl ThreadState {
    /// Returns `true` if the thread waits for something other than a processor.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::Sleeping | Self::Waiting)
    }

    /// Returns a thread's state after it stopped running. `None` if it has exited.
    fn after_running(state: Option<PreviousState>) -> Option<Self> {
        Some(match state {
            None => Self::Unknown,
            Some(PreviousState::Runnable) => Self::Runnable,
            Some(PreviousState::Blocked) => Self::Waiting,
            Some(PreviousState::Suspended) => Self::Stopped,
            Some(PreviousState::Dying | PreviousState::Dead) => return None,
            Some(PreviousState::Linux(bits)) => match bits {
                _ if bits & linux::ENDED != 0 => return None,
                _ if bits & linux::STOPPED != 0 => Self::Stopped,
                _ if bits & linux::IDLE == linux::IDLE => Self::Sleeping,
                _ if bits & linux::UNINTERRUPTIBLE != 0 => Self::Waiting,
                _ if bits & linux::INTERRUPTIBLE != 0 || bits == linux::PARKED => Self::Sleeping,
                // No state, or only a bit above all states: the thread was preempted.
                _ => Self::Runnable,
            },
        })
    }
}

/// Wakeup cause.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadWaker {
    /// The thread with this number.
    Thread(u64),
    /// An interrupt, with its name number if events name interrupts.
    Interrupt(Option<u32>),
}

/// Time interval in which a thread had the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateInterval {
    /// Trace number.
    pub trace: u32,
    /// Thread number, unique in the trace at a time.
    pub thread: u64,
    /// Start as a [timeline time](mod@super::timeline_time).
    pub begin: u64,
    /// End as a timeline time.
    pub end: u64,
    /// State.
    pub state: ThreadState,
    /// Processor of a running thread, if the trace names processors.
    pub processor: Option<u64>,
    /// Name number of the innermost span in which the thread stopped running.
    pub reason: Option<u32>,
    /// Wakeup cause after this wait. For other states, after the last wait before.
    pub waker: Option<ThreadWaker>,
    /// `true` if the state lasts until the end of the trace or longer.
    pub is_open: bool,
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug)]
struct KnownState {
    state: ThreadState,
    since: u64,
    processor: Option<u64>,
    reason: Option<u32>,
    waker: Option<ThreadWaker>,
    /// `true` if the thread stopped running for an unknown reason. It was waiting if it is woken up later.
    has_left: bool,
    /// `true` after the first state of the thread.
    is_later: bool,
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
struct KnownProcessor {
    /// First event's time.
    first: u64,
    /// Running thread, 0 for an idle processor. `None` before the first switch and after a loss.
    running: Option<u64>,
    /// `true` after a switch or a loss.
    is_switched: bool,
    /// Open interrupt spans: event names and class names.
    interrupts: Vec<(u32, u32)>,
}

/// Event with its place, time and names.
#[derive(Clone, Copy)]
pub struct StateEvent<'a, 'e> {
    /// The event.
    pub event: &'a Event<'e>,
    /// Its class.
    pub class: &'a ViewerClass,
    /// Trace number.
    pub trace: u32,
    /// Place, including the running thread.
    pub place: &'a EventPlace<'a>,
    /// Its [timeline time](mod@super::timeline_time).
    pub time: u64,
    /// Name numbers of the event and its class.
    pub names: (u32, u32),
}

/// Thread states of all traces so far.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
pub struct ThreadStates {
    threads: HashMap<(u32, u64), KnownState>,
    processors: HashMap<(u32, Option<u64>), KnownProcessor>,
    /// Open spans by thread: event names and class names.
    spans: HashMap<(u32, u64), Vec<(u32, u32)>>,
    /// Traces with thread switches.
    has_switches: bool,
    /// Thread whose state ended last.
    ended: Option<(u32, u64)>,
}

impl ThreadStates {
    /// Returns `true` if there was a thread switch.
    pub fn has_switches(&self) -> bool {
        self.has_switches
    }

    /// Returns the processors so far, with their trace numbers.
    pub fn processors(&self) -> impl Iterator<Item = (u32, Option<u64>)> {
        self.processors.keys().copied()
    }

    /// Records the first event of a data stream or processor. The first running thread of a processor runs since then.
    pub fn record_first(&mut self, trace: u32, processor: Option<u64>, time: u64) {
        let new = || KnownProcessor { first: time, ..KnownProcessor::default() };
        if self.processors.len() < MOST {
            self.processors.entry((trace, processor)).or_insert_with(new);
        }
    }

    /// Takes an event, and passes the states that it ends to `out`.
    pub fn take(&mut self, of: StateEvent<'_, '_>, out: &mut dyn FnMut(&StateInterval)) {
        match of.class.form {
            EventForm::Switch => self.switch(of, out),
            EventForm::Wakeup | EventForm::ThreadStart => self.wake(of, out),
            EventForm::Begin => {
                if let Some(open) = self.open_spans(of)
                    && open.len() < MOST_OPEN
                {
                    open.push(of.names);
                }
            }
            EventForm::End => {
                let ((name, kind), is_unnamed) = (of.names, of.class.edge(None).is_unnamed);
                let end = SpanEdge { name, kind, is_unnamed };
                if let Some(open) = self.open_spans(of)
                    && let Some(index) = open
                        .iter()
                        .rposition(|(name, kind)| end.ends(SpanEdge { name: *name, kind: *kind, ..end }))
                {
                    open.truncate(index);
                }
            }
            _ => {}
        }
    }

    /// Returns the open spans of an event's thread, or the interrupt spans of its processor.
    fn open_spans(&mut self, of: StateEvent<'_, '_>) -> Option<&mut Vec<(u32, u32)>> {
        let StateEvent { class, trace, place, time, .. } = of;
        if class.is_of_thread() {
            let thread = place.thread.filter(|thread| *thread != 0)?;
            if self.spans.len() >= MOST {
                self.spans.clear();
            }
            return Some(self.spans.entry((trace, thread)).or_default());
        }
        let processor = place.processor?;
        self.record_first(trace, Some(processor), time);
        Some(&mut self.processors.get_mut(&(trace, Some(processor)))?.interrupts)
    }

    fn switch(&mut self, of: StateEvent<'_, '_>, out: &mut dyn FnMut(&StateInterval)) {
        let StateEvent { event, class, trace, place, time, .. } = of;
        self.has_switches = true;
        self.record_first(trace, place.processor, time);
        let key = (trace, place.processor);
        let Some(KnownProcessor { first, running, is_switched, interrupts }) = self.processors.get_mut(&key)
        else {
            return;
        };
        interrupts.clear();
        let ran = *running;
        let first = Some(*first).filter(|_| !*is_switched);
        let next = next_thread(event, class, place);
        (*running, *is_switched) = (next.as_ref().map(|next| next.number), true);
        let previous = class.threads.as_ref().and_then(|threads| threads.previous(event));
        let previous = previous.map(|previous| previous.number).or(ran);
        if let Some(ran) = ran.filter(|ran| Some(*ran) != previous) {
            self.record_loss(trace, ran, time, out);
        }
        if let Some(previous) = previous.filter(|thread| *thread != 0) {
            let state = class.threads.as_ref().and_then(|threads| threads.previous_state(event));
            self.leave((trace, previous), place.processor, first, time, state, out);
        }
        if let Some(next) = next.filter(|next| next.number != 0) {
            let waker = self.end((trace, next.number), time, None, out).and_then(|ended| ended.waker);
            self.set((trace, next.number), ThreadState::Running, time, (place.processor, None, waker));
        }
    }

    /// Ends the running state of a thread. `first` is the first time of its processor if this is the processor's first
    /// switch.
    fn leave(
        &mut self,
        thread: (u32, u64),
        processor: Option<u64>,
        first: Option<u64>,
        time: u64,
        state: Option<PreviousState>,
        out: &mut dyn FnMut(&StateInterval),
    ) {
        let known = self.threads.get(&thread);
        let (is_known, ran, waker) = (
            known.is_some(),
            known.is_some_and(|known| known.state == ThreadState::Running),
            known.and_then(|known| known.waker),
        );
        // Its state since the first event is known if a state ended since then.
        let since = known.filter(|known| known.is_later).map(|known| known.since);
        match first.filter(|first| *first < time && since.is_none_or(|since| since <= *first)) {
            _ if ran => drop(self.end(thread, time, None, out)),
            // The thread may have started running unseen after a wakeup by another processor.
            Some(first) => {
                self.end(thread, first, Some(ThreadState::Unknown), out);
                self.set(thread, ThreadState::Running, first, (processor, None, None));
                self.end(thread, time, None, out);
            }
            None if is_known => drop(self.end(thread, time, Some(ThreadState::Unknown), out)),
            None => {}
        }
        let Some(after) = ThreadState::after_running(state) else {
            self.spans.remove(&thread);
            return;
        };
        let span = self.spans.get(&thread).and_then(|open| open.last());
        let reason = span.map(|(name, _)| *name).filter(|_| after != ThreadState::Runnable);
        self.set(thread, after, time, (None, reason, waker.filter(|_| after == ThreadState::Runnable)));
        if let Some(known) = self.threads.get_mut(&thread) {
            known.has_left = state.is_none();
        }
    }

    fn wake(&mut self, of: StateEvent<'_, '_>, out: &mut dyn FnMut(&StateInterval)) {
        let StateEvent { event, class, trace, place, time, .. } = of;
        let target = class.threads.as_ref().and_then(|threads| threads.target(event));
        let Some(target) = target.filter(|target| target.number != 0) else { return };
        let thread = (trace, target.number);
        let known = self.threads.get(&thread).map(|known| (known.state, known.has_left));
        if let Some((ThreadState::Running | ThreadState::Runnable, _)) = known {
            return;
        }
        let interrupt = self.processors.get(&(trace, place.processor));
        let interrupt = interrupt.and_then(|processor| processor.interrupts.last());
        let waker = match (interrupt, place.thread) {
            (Some((name, _)), _) => Some(ThreadWaker::Interrupt(Some(*name))),
            // On an idle processor, only an interrupt can wake a thread.
            (None, Some(0)) => Some(ThreadWaker::Interrupt(None)),
            (None, thread) => thread.map(ThreadWaker::Thread),
        };
        if let Some(known) = self.threads.get_mut(&thread) {
            known.waker = waker;
        }
        // A woken thread was waiting before.
        let waited = known.filter(|(_, has_left)| *has_left).map(|_| ThreadState::Waiting);
        self.end(thread, time, waited, out);
        self.set(thread, ThreadState::Runnable, time, (None, None, waker));
    }

    /// Handles lost events of a processor from a time on. Its thread may have stopped running.
    pub fn record_processor_loss(
        &mut self,
        trace: u32,
        processor: Option<u64>,
        time: u64,
        out: &mut dyn FnMut(&StateInterval),
    ) {
        let Some(known) = self.processors.get_mut(&(trace, processor)) else { return };
        known.is_switched = true;
        known.interrupts.clear();
        if let Some(thread) = known.running.take().filter(|thread| *thread != 0) {
            let since = self.threads.get(&(trace, thread)).map_or(time, |known| known.since);
            self.end((trace, thread), time.max(since), None, out);
            self.set((trace, thread), ThreadState::Unknown, time.max(since), (None, None, None));
        }
    }

    /// Marks the time at which a thread stopped running as unknown.
    fn record_loss(&mut self, trace: u32, thread: u64, time: u64, out: &mut dyn FnMut(&StateInterval)) {
        let is_running = |known: &KnownState| known.state == ThreadState::Running;
        if self.threads.get(&(trace, thread)).is_some_and(is_running) {
            self.end((trace, thread), time, Some(ThreadState::Unknown), out);
            self.set((trace, thread), ThreadState::Unknown, time, (None, None, None));
        }
    }

    /// Ends the state of a thread. `was` is the actual state, if a later event tells more about it.
    fn end(
        &mut self,
        thread: (u32, u64),
        time: u64,
        was: Option<ThreadState>,
        out: &mut dyn FnMut(&StateInterval),
    ) -> Option<KnownState> {
        let known = self.threads.remove(&thread)?;
        self.ended = Some(thread);
        let mut interval = known.interval(thread, time, false);
        interval.state = was.unwrap_or(interval.state);
        // Events at the same time can come in any order, and clocks can go back.
        if interval.begin < interval.end {
            out(&interval);
        }
        Some(known)
    }

    fn set(
        &mut self,
        thread: (u32, u64),
        state: ThreadState,
        since: u64,
        (processor, reason, waker): (Option<u64>, Option<u32>, Option<ThreadWaker>),
    ) {
        if self.threads.len() >= MOST {
            self.threads.clear();
        }
        let is_later = self.ended.take() == Some(thread);
        let known = KnownState { state, since, processor, reason, waker, has_left: false, is_later };
        self.threads.insert(thread, known);
    }

    /// Passes the last states to `out`.
    pub fn finish(&self, time: u64, out: &mut dyn FnMut(&StateInterval)) {
        let open = self.threads.iter().map(|(thread, known)| known.interval(*thread, time, true));
        let mut open: Vec<_> = open.filter(|interval| interval.begin < interval.end).collect();
        open.sort_by_key(|interval| (interval.trace, interval.thread));
        open.iter().for_each(out);
    }

    /// Sets the state of a thread from another timeline.
    pub fn restore(&mut self, trace: u32, thread: u64, state: ThreadState, since: u64) {
        self.set((trace, thread), state, since, (None, None, None));
    }

    /// Sets a processor's running thread from another timeline.
    pub fn restore_processor(&mut self, trace: u32, processor: Option<u64>, thread: u64) {
        let known = KnownProcessor { running: Some(thread), is_switched: true, ..KnownProcessor::default() };
        self.processors.insert((trace, processor), known);
        self.has_switches = true;
        if let Some(known) = self.threads.get_mut(&(trace, thread))
            && known.state == ThreadState::Running
        {
            known.processor = processor;
        }
    }
}

impl KnownState {
    fn interval(&self, (trace, thread): (u32, u64), end: u64, is_open: bool) -> StateInterval {
        let Self { state, since, processor, reason, waker, .. } = *self;
        StateInterval { trace, thread, begin: since, end, state, processor, reason, waker, is_open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_linux() {
        let after = |bits| ThreadState::after_running(Some(PreviousState::Linux(bits)));
        let runnable = Some(ThreadState::Runnable);
        assert_eq!((after(0), after(linux::PREEMPTED)), (runnable, runnable));
        for bits in [1, 0x401, linux::PARKED, linux::IDLE] {
            assert_eq!(after(bits), Some(ThreadState::Sleeping), "{bits:#x}");
        }
        assert_eq!((after(2), after(0x82)), (Some(ThreadState::Waiting), Some(ThreadState::Waiting)));
        assert_eq!((after(4), after(8)), (Some(ThreadState::Stopped), Some(ThreadState::Stopped)));
        assert_eq!((after(0x10), after(0x20), after(0x40)), (None, None, None));
        assert_eq!(ThreadState::after_running(None), Some(ThreadState::Unknown));
        assert_eq!(ThreadState::after_running(Some(PreviousState::Blocked)), Some(ThreadState::Waiting));
    }
}
