//! Threads and processors: which thread runs where, and what threads are called.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ichnos_model::Event;

use super::class::{EventForm, EventPlace, ViewerClass};
use super::thread_fields::NamedThread;

/// Maximum number of threads, and of processors, that are kept; beyond it, all are forgotten.
const MOST: usize = 1 << 16;

/// Returns the thread that a processor runs from an event on.
pub(super) fn next_thread<'e>(
    event: &Event<'e>,
    class: &ViewerClass,
    place: &EventPlace<'e>,
) -> Option<NamedThread<'e>> {
    match class.threads.as_ref().and_then(|threads| threads.target(event)) {
        Some(target) => Some(target),
        None => Some(NamedThread { number: place.thread?, name: place.thread_name.unwrap_or_default() }),
    }
}

#[derive(Debug, Default)]
struct KnownThread {
    process: Option<u64>,
    name: String,
}

/// Knowledge of events so far about the threads of the traces with these numbers.
#[derive(Debug, Default)]
pub(super) struct Scheduling {
    /// Thread that each processor runs.
    running: HashMap<(u32, u64), u64>,
    threads: HashMap<(u32, u64), KnownThread>,
}

impl Scheduling {
    /// Completes the place of an event: an event with a processor happened in the thread that ran there, and a thread
    /// has the process and the name of earlier events.
    #[inline]
    pub(super) fn complete<'p>(&'p self, trace: u32, class: &ViewerClass, place: &mut EventPlace<'p>) {
        if !self.running.is_empty() || !self.threads.is_empty() {
            self.complete_known(trace, class, place);
        }
    }

    fn complete_known<'p>(&'p self, trace: u32, class: &ViewerClass, place: &mut EventPlace<'p>) {
        if place.thread.is_none() && class.is_of_thread() {
            let processor = place.processor.unwrap_or_default();
            place.thread = self.running(trace, processor);
        }
        let Some(thread) = place.thread.and_then(|thread| self.threads.get(&(trace, thread))) else { return };
        place.process = place.process.or(thread.process);
        if !thread.name.is_empty() {
            place.thread_name = place.thread_name.or(Some(&thread.name));
        }
    }

    /// Returns the thread that a processor runs, if it is known.
    pub(super) fn running(&self, trace: u32, processor: u64) -> Option<u64> {
        self.running.get(&(trace, processor)).copied()
    }

    /// Takes what an event says.
    #[inline]
    pub(super) fn observe(&mut self, trace: u32, event: &Event<'_>, class: &ViewerClass) {
        if class.threads.is_some() || class.form == EventForm::Switch {
            self.observe_threads(trace, event, class);
        }
    }

    fn observe_threads(&mut self, trace: u32, event: &Event<'_>, class: &ViewerClass) {
        let place = class.place(event);
        if let Some(threads) = &class.threads {
            let process = threads.target_process(event);
            if let Some(target) = threads.target(event) {
                self.name(trace, target, process);
            }
            if let Some(previous) = threads.previous(event) {
                self.name(trace, previous, None);
            }
        }
        if let (Some(thread), Some(process)) = (place.thread, place.process) {
            self.name(trace, NamedThread { number: thread, name: "" }, Some(process));
        }
        if class.form == EventForm::Switch
            && let Some(next) = next_thread(event, class, &place)
        {
            if self.running.len() >= MOST {
                self.running.clear();
            }
            self.running.insert((trace, place.processor.unwrap_or_default()), next.number);
        }
    }

    /// Notes name and process of a thread. Thread 0 is that of each idle processor.
    fn name(&mut self, trace: u32, thread: NamedThread<'_>, process: Option<u64>) {
        if thread.number == 0 {
            return;
        }
        if self.threads.len() >= MOST && !self.threads.contains_key(&(trace, thread.number)) {
            self.threads.clear();
        }
        let known = match self.threads.entry((trace, thread.number)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(KnownThread::default()),
        };
        known.process = process.or(known.process);
        if !thread.name.is_empty() && known.name != thread.name {
            thread.name.clone_into(&mut known.name);
        }
    }
}
