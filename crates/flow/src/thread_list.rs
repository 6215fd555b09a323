//! Thread lists in traces, with processes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::class::EventRecordClass;
use ichnos_model::cursor::ExcludedClasses;
use ichnos_model::meaning::Meaning;
use ichnos_model::trace::ListedThread;
use ichnos_model::{DataStream, Event, Message, OpenedTrace, Window};

/// Maximum number of messages to read. Each data stream has an equal share.
const MOST_MESSAGES: usize = 1 << 20;

/// Maximum number of threads, and of threads with a process.
const MOST_THREADS: usize = 1 << 16;
const MOST_PROCESSES: usize = 1 << 22;

/// Maximum length of thread names in bytes.
const MOST_NAME: usize = 256;

/// Returns `true` for event classes that name a thread's process.
fn lists_threads(class: &EventRecordClass) -> bool {
    let has = |meaning| class.meanings.members(meaning).next().is_some();
    has(Meaning::TargetThread) && has(Meaning::TargetProcess)
}

/// Returns `true` if a trace can list threads.
pub(crate) fn has_threads(trace: &dyn OpenedTrace) -> bool {
    let streams = &trace.trace().class.data_streams;
    streams.iter().any(|stream| stream.event_records.iter().any(|class| lists_threads(class)))
}

/// Returns the threads in the state dump at the start of a trace, and threads that were created during it. If a number
/// occurs again, the first thread counts, data stream by data stream.
pub(crate) fn list_threads(trace: &dyn OpenedTrace) -> Vec<ListedThread> {
    let (mut threads, mut known) = (Vec::new(), HashSet::new());
    for_each_listed(trace, Some(MOST_MESSAGES), &mut |number, event| {
        if known.len() >= MOST_THREADS || !known.insert(number) {
            return;
        }
        // An empty name means that it is unknown.
        let name = event.meaning(Meaning::TargetThreadName);
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
        let name = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
        threads.push(ListedThread { number, process: process(event), name: name.into() });
    });
    threads
}

/// Processes by thread. Thread numbers can be reused.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// Processes by thread, with their start times, sorted by time.
    by_thread: HashMap<u64, Vec<(i128, u64)>>,
}

impl Processes {
    /// Reads the processes of all threads listed in events.
    pub(crate) fn from_trace(trace: &dyn OpenedTrace) -> Self {
        let (mut by_thread, mut count) = (HashMap::<u64, Vec<(i128, u64)>>::new(), 0);
        for_each_listed(trace, None, &mut |thread, event| {
            if let Some(process) = process(event).filter(|_| count < MOST_PROCESSES) {
                by_thread
                    .entry(thread)
                    .or_default()
                    .push((event.nanoseconds().unwrap_or(i128::MIN), process));
                count += 1;
            }
        });
        for listed in by_thread.values_mut() {
            listed.sort_by_key(|(time, _)| *time);
            listed.dedup_by_key(|(_, process)| *process);
        }
        Self { by_thread }
    }

    /// Returns the process of a thread at a time: the last process listed until then, else the first.
    pub(crate) fn find(&self, thread: u64, time: Option<i128>) -> Option<u64> {
        let Some(listed) = self.by_thread.get(&thread) else {
            // Linux's idle threads are in process 0. State dumps leave them out.
            return (thread == 0 && !self.by_thread.is_empty()).then_some(0);
        };
        let until = time.map_or(0, |time| listed.partition_point(|(listed, _)| *listed <= time));
        listed.get(until.saturating_sub(1)).map(|(_, process)| *process)
    }
}

fn process(event: &Event<'_>) -> Option<u64> {
    event.meaning(Meaning::TargetProcess)?.as_u64()
}

/// Passes each event that lists a thread to `take`, data stream by data stream. `most` limits the number of messages.
fn for_each_listed(trace: &dyn OpenedTrace, most: Option<usize>, take: &mut dyn FnMut(u64, &Event<'_>)) {
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
