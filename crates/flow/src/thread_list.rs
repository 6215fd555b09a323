//! Threads that a trace lists, with their processes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::{
    DataStream, Event, EventRecordClass, ExcludedClasses, ListedThread, Meaning, Message, TraceInput, Window,
};

/// Maximum number of messages that are read, of each data stream an equal share.
const MOST_MESSAGES: usize = 1 << 20;

/// Maximum number of threads, and of threads with a process.
const MOST_THREADS: usize = 1 << 16;
const MOST_PROCESSES: usize = 1 << 22;

/// Maximum length of names of threads, in bytes.
const MOST_NAME: usize = 256;

/// Returns `true` for classes of events that say which process a thread is part of.
fn lists_threads(class: &EventRecordClass) -> bool {
    let has = |meaning| class.meanings.members(meaning).next().is_some();
    has(Meaning::TargetThread) && has(Meaning::TargetProcess)
}

/// Returns `true` if a trace can list threads.
pub(crate) fn has_threads(trace: &dyn TraceInput) -> bool {
    let streams = &trace.trace().class.data_streams;
    streams.iter().any(|stream| stream.event_records.iter().any(|class| lists_threads(class)))
}

/// Returns the threads that the events at the beginning of a trace list: those of a state dump, with which tracers
/// begin, and those that were created during it. The first one of a number counts, data stream by data stream.
pub(crate) fn list_threads(trace: &dyn TraceInput) -> Vec<ListedThread> {
    let (mut threads, mut known) = (Vec::new(), HashSet::new());
    for_each_listed(trace, Some(MOST_MESSAGES), &mut |number, event| {
        if known.len() >= MOST_THREADS || !known.insert(number) {
            return;
        }
        let name = event.meaning(Meaning::TargetThreadName);
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
        let name = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
        threads.push(ListedThread { number, process: process(event), name: name.into() });
    });
    threads
}

/// Returns the processes of all threads that the events of a trace list. The first one of a thread counts.
pub(crate) fn processes(trace: &dyn TraceInput) -> HashMap<u64, u64> {
    let mut processes = HashMap::new();
    for_each_listed(trace, None, &mut |thread, event| {
        if let Some(process) = process(event).filter(|_| processes.len() < MOST_PROCESSES) {
            processes.entry(thread).or_insert(process);
        }
    });
    processes
}

fn process(event: &Event<'_>) -> Option<u64> {
    event.meaning(Meaning::TargetProcess)?.as_u64()
}

/// Passes each event that lists a thread to a function, data stream by data stream: of the first `most` messages, or of
/// all.
fn for_each_listed(trace: &dyn TraceInput, most: Option<usize>, take: &mut dyn FnMut(u64, &Event<'_>)) {
    let streams = trace.data_streams();
    let classes = |stream: &DataStream| -> Vec<bool> {
        stream.plans().event_records.iter().map(|plans| lists_threads(&plans.class)).collect()
    };
    let listing = streams.iter().map(|stream| classes(stream)).enumerate();
    let listing: Vec<_> = listing.filter(|(_, classes)| classes.contains(&true)).collect();
    let share = most.map(|most| most / listing.len().max(1));
    for (index, classes) in listing {
        let Some(mut cursor) = trace.cursor(index, Window::default()) else { continue };
        // Excluded messages would not count.
        if let Some(others) =
            ExcludedClasses::new(classes.iter().map(|lists| !lists)).filter(|_| share.is_none())
        {
            cursor.exclude(&Arc::new(others));
        }
        for _ in 0..share.unwrap_or(usize::MAX) {
            let Some(head) = cursor.next_head() else { break };
            let class = head.class_index().and_then(|class| classes.get(class));
            if class != Some(&true) {
                continue;
            }
            let Some(Message::Event(event)) = cursor.current() else { continue };
            if let Some(thread) = event.meaning(Meaning::TargetThread).and_then(|value| value.as_u64()) {
                take(thread, &event);
            }
        }
    }
}
