//! Threads that a trace lists, with their processes.

use std::collections::HashSet;

use ichnos_model::{DataStream, EventRecordClass, ListedThread, Meaning, Message, TraceInput, Window};

/// Maximum number of messages that are read, of each data stream an equal share.
const MOST_MESSAGES: usize = 1 << 20;

/// Maximum number of threads.
const MOST_THREADS: usize = 1 << 16;

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
    let streams = trace.data_streams();
    let classes = |stream: &DataStream| -> Vec<bool> {
        stream.plans().event_records.iter().map(|plans| lists_threads(&plans.class)).collect()
    };
    let listing = streams.iter().map(|stream| classes(stream)).enumerate();
    let listing: Vec<_> = listing.filter(|(_, classes)| classes.contains(&true)).collect();
    let most = MOST_MESSAGES / listing.len().max(1);
    let (mut threads, mut known) = (Vec::new(), HashSet::new());
    for (index, classes) in listing {
        let Some(mut cursor) = trace.cursor(index, Window::default()) else { continue };
        for _ in 0..most {
            let Some(head) = cursor.next_head() else { break };
            let class = head.class_index().and_then(|class| classes.get(class));
            if class != Some(&true) {
                continue;
            }
            let Some(Message::Event(event)) = cursor.current() else { continue };
            let number = |meaning| event.meaning(meaning).and_then(|value| value.as_u64());
            let Some(thread) = number(Meaning::TargetThread) else { continue };
            if known.len() >= MOST_THREADS || !known.insert(thread) {
                continue;
            }
            let name = event.meaning(Meaning::TargetThreadName);
            let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
            let name = name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default();
            let process = number(Meaning::TargetProcess);
            threads.push(ListedThread { number: thread, process, name: name.into() });
        }
    }
    threads
}
