//! Scheduling: running threads on processors, and thread names.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::trace::ListedThread;
use ichnos_model::{Event, Trace};

use super::class::{EventForm, EventPlace, ViewerClass};
use super::last_context::LastContext;
use super::named_objects::NamedObjects;
use super::thread_fields::NamedThread;

/// Maximum number of threads, and of processors. Beyond it, all are forgotten.
const MOST: usize = 1 << 16;

/// Maximum length of thread names in bytes.
const MOST_NAME: usize = 256;

/// Returns the thread that runs after a switch or can run after a wakeup. `None` if it is unknown.
pub fn next_thread<'e>(
    event: &Event<'e>,
    class: &ViewerClass,
    place: &EventPlace<'e>,
) -> Option<NamedThread<'e>> {
    match class.threads.as_ref().filter(|threads| threads.has_target()) {
        Some(threads) => threads.target(event),
        None => {
            Some(NamedThread { number: place.thread?, name: place.thread_name.unwrap_or_default().into() })
        }
    }
}

#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
struct KnownThread {
    process: Option<u64>,
    /// Process of the thread's track, once it has a track. It does not change, because open slices keep their track.
    shown: Option<Option<u64>>,
    /// Process that was looked up last, and the index of its main thread, which has the same number and name.
    main: Option<(u64, u32)>,
    name: String,
}

/// Threads and processors of all traces as known so far. Traces are identified by number.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
pub struct Scheduling {
    /// Running thread of each processor. A trace that does not name processors has one.
    running: HashMap<(u32, Option<u64>), u64>,
    /// Number of processors that run a thread, by trace and thread.
    processors: HashMap<(u32, u64), u32>,
    /// Traces that name processors in events.
    with_processors: HashSet<u32>,
    threads: HashMap<(u32, u64), u32>,
    /// Threads by index.
    known: Vec<KnownThread>,
    /// Process by thread, from events that name both. Scheduler events can name only the thread.
    processes: HashMap<(u32, u64), u64>,
    /// Thread list by trace number.
    #[cfg_attr(feature = "serde", serde(skip))]
    listed: HashMap<u32, Arc<[ListedThread]>>,
    /// Objects that name events.
    objects: NamedObjects,
    /// Threads with a new process or name, by trace and thread number. `None` if changes are not recorded.
    #[cfg_attr(feature = "serde", serde(skip))]
    changes: Option<Vec<(u32, u64)>>,
}

/// Place and name of an event, completed by earlier events.
#[derive(Debug)]
pub struct EventLocation<'p> {
    /// Place, with the thread that runs.
    pub place: EventPlace<'p>,
    /// Number that successive events of the data stream share if their common contexts are equal, if known.
    pub context: Option<u64>,
    /// Name of the event itself, instead of the class name.
    pub own_name: Option<&'p str>,
    /// `false` for a thread switch if the machine has several processors and the event does not name one.
    pub has_processor: bool,
    /// `true` for a thread switch, a wakeup or the start of a thread in a trace that names processors.
    pub has_processors: bool,
    /// Thread that the processor ran before a thread switch.
    pub previous: Option<u64>,
    /// `true` for the wakeup of a thread that runs.
    pub is_running: bool,
}

impl Scheduling {
    /// Returns the place and the name of an event. The name borrows `text`. Process and thread names can borrow
    /// `last`, the last context of the data stream.
    #[inline]
    pub fn locate<'p>(
        &'p mut self,
        trace: u32,
        class: &ViewerClass,
        event: &Event<'p>,
        (last, text): (&'p mut LastContext, &'p mut String),
    ) -> EventLocation<'p> {
        let context = class.context(event, last);
        let mut place = class.place(event, context, last);
        let is_switch = class.form == EventForm::Switch;
        let is_wakeup = matches!(class.form, EventForm::Wakeup | EventForm::ThreadStart);
        let has_processors = (is_switch || is_wakeup) && self.has_processors(trace, class);
        let has_processor = !is_switch || place.processor.is_some() || !has_processors;
        let previous = if is_switch { self.running(trace, place.processor) } else { None };
        let woken = if is_wakeup { next_thread(event, class, &place) } else { None };
        let is_running = woken.is_some_and(|thread| self.processors.contains_key(&(trace, thread.number)));
        let own_name = class.event_name(event, (trace, place.process), &self.objects, text);
        self.complete(trace, class, &mut place);
        EventLocation { place, context, own_name, has_processor, has_processors, previous, is_running }
    }

    /// Completes the place of an event from earlier events: the running thread of its processor, and the process and
    /// name of its thread.
    #[inline]
    pub fn complete<'p>(&'p mut self, trace: u32, class: &ViewerClass, place: &mut EventPlace<'p>) {
        let is_of_scheduler = matches!(class.form, EventForm::Switch | EventForm::Wakeup);
        if !self.running.is_empty()
            || !self.threads.is_empty()
            || !self.listed.is_empty()
            || is_of_scheduler && !self.processes.is_empty()
        {
            self.complete_known(trace, class, place);
        }
    }

    fn complete_known<'p>(&'p mut self, trace: u32, class: &ViewerClass, place: &mut EventPlace<'p>) {
        if place.thread.is_none() && class.is_of_thread() {
            place.thread = self.running(trace, place.processor);
        }
        let Some(thread) = place.thread.filter(|thread| *thread != 0) else { return };
        let index = self.index(trace, thread);
        let Some(known) = self.known.get_mut(index as usize) else { return };
        if place.process.is_none() {
            let learned = self.processes.get(&(trace, thread)).copied();
            place.process = *known.shown.get_or_insert(known.process.or(learned));
        }
        if let (None, Some(process)) = (place.process_name, place.process) {
            let main = match known.main {
                Some((of, main)) if of == process => main,
                _ => {
                    let main = self.index(trace, process);
                    // This can forget all other threads.
                    if let Some(known) = self.known.get_mut(index as usize) {
                        known.main = Some((process, main));
                    }
                    main
                }
            };
            // A thread of another process can have the same number.
            let is_own = |known: &KnownThread| known.process.is_none_or(|of| of == process);
            let is_own = self.known.get(main as usize).is_some_and(is_own);
            place.process_name = self.thread_name(main).filter(|_| is_own);
        }
        place.thread_name = place.thread_name.or(self.thread_name(index));
    }

    /// Records a thread's process, from an event that names both.
    pub fn learn_process(&mut self, trace: u32, thread: u64, process: u64) {
        self.processes.entry((trace, thread)).or_insert(process);
    }

    /// Returns a thread's process, the process name and the thread name, as far as known.
    pub fn describe(&self, trace: u32, thread: u64) -> (Option<u64>, Option<&str>, Option<&str>) {
        let name = |thread| self.thread_name(*self.threads.get(&(trace, thread))?);
        let known = self.threads.get(&(trace, thread)).and_then(|index| self.known.get(*index as usize));
        let listed = self.listed(trace, thread);
        let process =
            known.and_then(|known| known.process).or_else(|| listed.and_then(|listed| listed.process));
        let listed_name = |thread| self.listed(trace, thread).map(|listed| &*listed.name);
        let name_of = |thread| name(thread).or_else(|| listed_name(thread).filter(|name| !name.is_empty()));
        (process, process.and_then(name_of), name_of(thread))
    }

    /// Returns the place of the thread that exited with a switch.
    pub fn ended_thread<'p>(
        &'p mut self,
        trace: u32,
        event: &Event<'_>,
        class: &ViewerClass,
    ) -> Option<EventPlace<'p>> {
        let threads = class.threads.as_ref().filter(|_| class.form == EventForm::Switch)?;
        threads.previous_state(event).filter(|state| state.is_end())?;
        let thread = Some(threads.previous(event)?.number).filter(|thread| *thread != 0);
        let mut place = EventPlace { thread, ..EventPlace::default() };
        thread?;
        self.complete_known(trace, class, &mut place);
        Some(place)
    }

    /// Returns the thread name for an index. `None` if it is unknown.
    fn thread_name(&self, index: u32) -> Option<&str> {
        self.known.get(index as usize).map(|known| &*known.name).filter(|name| !name.is_empty())
    }

    /// Returns a thread's index.
    fn index(&mut self, trace: u32, thread: u64) -> u32 {
        if let Some(index) = self.threads.get(&(trace, thread)) {
            return *index;
        }
        if self.known.len() >= MOST {
            self.threads.clear();
            self.known.clear();
        }
        let index = self.known.len() as u32;
        self.threads.insert((trace, thread), index);
        let listed = self.listed(trace, thread);
        let known = listed.map(|listed| KnownThread {
            process: listed.process,
            name: (*listed.name).to_owned(),
            ..KnownThread::default()
        });
        if let (Some(changes), Some(_)) = (&mut self.changes, &known) {
            changes.push((trace, thread));
        }
        self.known.push(known.unwrap_or_default());
        index
    }

    /// Returns a thread from the list of its trace.
    fn listed(&self, trace: u32, thread: u64) -> Option<&ListedThread> {
        let all = self.listed.get(&trace)?;
        all.get(all.binary_search_by_key(&thread, |listed| listed.number).ok()?)
    }

    /// Adds the threads that a trace lists.
    pub fn add_trace(&mut self, number: u32, trace: &Trace) {
        let threads = trace.threads();
        if !threads.is_empty() {
            self.listed.insert(number, Arc::clone(threads));
        }
    }

    /// Starts to record threads with a new process or name, for [`take_change`](Self::take_change).
    pub fn record_changes(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// Removes and returns a thread with a new process or name: number, process and name.
    pub fn take_change(&mut self) -> Option<(u64, u64, &str)> {
        while let Some((trace, thread)) = self.changes.as_mut()?.pop() {
            let index = self.threads.get(&(trace, thread)).copied();
            let known = index.and_then(|index| self.known.get(index as usize));
            if let Some(process) = known.and_then(|known| known.process) {
                return Some((thread, process, self.thread_name(index?).unwrap_or_default()));
            }
        }
        None
    }

    /// Returns a copy without running threads.
    pub fn threads_alone(&self) -> Self {
        Self {
            running: HashMap::new(),
            processors: HashMap::new(),
            with_processors: self.with_processors.clone(),
            threads: self.threads.clone(),
            known: self.known.clone(),
            processes: self.processes.clone(),
            listed: self.listed.clone(),
            objects: self.objects.clone(),
            changes: None,
        }
    }

    /// Sets a processor's running thread.
    pub fn set_running(&mut self, trace: u32, processor: Option<u64>, thread: u64) {
        self.forget_running(trace, processor);
        if self.running.len() >= MOST {
            self.running.clear();
            self.processors.clear();
        }
        self.running.insert((trace, processor), thread);
        *self.processors.entry((trace, thread)).or_default() += 1;
    }

    /// Marks the running thread on a processor as unknown.
    fn forget_running(&mut self, trace: u32, processor: Option<u64>) {
        if let Some(thread) = self.running.remove(&(trace, processor))
            && let Entry::Occupied(mut count) = self.processors.entry((trace, thread))
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Returns a processor's running thread, if it is known.
    fn running(&self, trace: u32, processor: Option<u64>) -> Option<u64> {
        self.running.get(&(trace, processor)).copied()
    }

    /// Returns `true` if a trace is known to name the processors in thread switches. Otherwise the machine has one
    /// processor.
    fn has_processors(&self, trace: u32, class: &ViewerClass) -> bool {
        class.has_processor() || self.with_processors.contains(&trace)
    }

    /// Updates threads and processors from an event.
    #[inline]
    pub fn observe(&mut self, trace: u32, event: &Event<'_>, class: &ViewerClass) {
        if class.threads.is_some() || class.form == EventForm::Switch {
            self.observe_threads(trace, event, class);
        }
        if let Some(object) = &class.object
            && let Some((object, note)) = object.note(trace.into(), class.unnamed_place(event).process, event)
        {
            self.objects.take(object, note);
        }
    }

    fn observe_threads(&mut self, trace: u32, event: &Event<'_>, class: &ViewerClass) {
        let place = class.unnamed_place(event);
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
            self.name(trace, NamedThread { number: thread, name: "".into() }, Some(process));
        }
        if class.form == EventForm::Switch {
            match place.processor {
                Some(_) => drop(self.with_processors.insert(trace)),
                None if self.has_processors(trace, class) => return,
                None => {}
            }
            let Some(next) = next_thread(event, class, &place) else {
                return self.forget_running(trace, place.processor);
            };
            self.set_running(trace, place.processor, next.number);
        }
    }

    /// Records a thread's name and process. Thread 0 is the idle thread of each processor.
    fn name(&mut self, trace: u32, thread: NamedThread<'_>, process: Option<u64>) {
        if thread.number == 0 {
            return;
        }
        let index = self.index(trace, thread.number);
        let Some(known) = self.known.get_mut(index as usize) else { return };
        let before = known.process;
        if before.is_some() && process.is_some_and(|process| before != Some(process)) {
            // The earlier thread has exited, and another process has a thread with its number.
            *known = KnownThread::default();
        }
        known.process = process.or(before);
        let name = thread.name.get(..thread.name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
        let is_renamed = !name.is_empty() && known.name != name;
        if is_renamed {
            name.clone_into(&mut known.name);
        }
        if (is_renamed || before != known.process)
            && let Some(changes) = &mut self.changes
        {
            changes.push((trace, thread.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_numbers_are_reused() {
        let mut scheduling = Scheduling::default();
        let named = |number, name: &'static str| NamedThread { number, name: name.into() };
        scheduling.name(0, named(7, "first"), Some(5));
        let index = scheduling.index(0, 7);
        let known = |scheduling: &mut Scheduling| {
            let known = &mut scheduling.known[index as usize];
            (*known.shown.get_or_insert(known.process), known.name.clone())
        };
        assert_eq!(known(&mut scheduling), (Some(5), "first".to_owned()));
        // Missing facts of the same thread stay unchanged.
        scheduling.name(0, named(7, ""), Some(5));
        scheduling.name(0, named(7, "renamed"), None);
        assert_eq!(known(&mut scheduling), (Some(5), "renamed".to_owned()));
        // The thread has ended, and another process reuses its number.
        scheduling.name(0, named(7, ""), Some(9));
        assert_eq!(known(&mut scheduling), (Some(9), String::new()));
    }
}
