//! Threads that a trace lists, with their processes.

use std::collections::HashSet;

use ichnos_model::{EventRecordClass, ListedThread, Meaning, Message, TraceInput, Window};

/// Maximum number of messages that are read in all data streams together.
const MOST_MESSAGES: usize = 1 << 20;

/// Maximum number of threads.
const MOST_THREADS: usize = 1 << 16;

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
/// begin, and those that were created during it. The first one of a number counts.
pub(crate) fn list_threads(trace: &dyn TraceInput) -> Vec<ListedThread> {
    let streams = trace.data_streams();
    let most = MOST_MESSAGES / streams.len().max(1);
    let (mut threads, mut known) = (Vec::new(), HashSet::new());
    for (index, stream) in streams.iter().enumerate() {
        let flags: Vec<_> =
            stream.plans().event_records.iter().map(|plans| lists_threads(&plans.class)).collect();
        if !flags.contains(&true) {
            continue;
        }
        let Some(mut cursor) = trace.cursor(index, Window::default()) else { continue };
        for _ in 0..most {
            let Some(head) = cursor.next_head() else { break };
            let class = head.class_index().and_then(|class| flags.get(class));
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
            let process = number(Meaning::TargetProcess);
            threads.push(ListedThread { number: thread, process, name: name.into() });
        }
    }
    threads
}
