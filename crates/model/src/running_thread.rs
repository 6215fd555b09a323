//! Running thread: the thread that the processor runs at the time of an event.
//!
//! Operating system tracers record thread switches (`sched_switch`), but not the thread of each event. With
//! [`ClassMap::with_running`](crate::meaning::ClassMap::with_running), the events of such data streams have a
//! [resource](crate::Scope::Resource) with the members `thread` and `thread_name`, and optionally `process`. A cursor
//! that follows the switches fills in the values. Each data stream must belong to one processor.

use std::sync::{Arc, LazyLock};

use crate::class::{DataStreamClass, EventRecordClass, FieldClass, Member, Scope};
use crate::event::EventValues;
use crate::meaning::{EventRole, Meaning};

/// Members of the running thread that are added to events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunningParts {
    /// Nothing.
    Nothing,
    /// Thread number and name, only for readers of the events: written CTF lacks them.
    #[default]
    ReadThread,
    /// Thread number and name.
    Thread,
    /// Thread number, name and process. Finding the processes reads the trace once more, if its events list them.
    ThreadAndProcess,
}

/// Thread number member.
pub const THREAD: &str = "thread";
/// Thread name member.
pub const THREAD_NAME: &str = "thread_name";

/// Process number member.
pub const PROCESS: &str = "process";

static WITH_PROCESS: LazyLock<Arc<FieldClass>> = LazyLock::new(|| Arc::new(FieldClass::structure(members())));
static WITHOUT_PROCESS: LazyLock<Arc<FieldClass>> =
    LazyLock::new(|| Arc::new(FieldClass::structure(members().into_iter().take(2))));
static ONLY_READ: LazyLock<Arc<FieldClass>> =
    LazyLock::new(|| Arc::new(FieldClass::structure(members().into_iter().take(2))));

fn members() -> [Member; 3] {
    let optional = |name, class| Member::new(name, FieldClass::optional(class));
    [
        optional(THREAD, FieldClass::unsigned(64)),
        optional(THREAD_NAME, FieldClass::string()),
        optional(PROCESS, FieldClass::unsigned(64)),
    ]
}

/// Adds the running thread to a data stream class, if its events record thread switches, and no event has a separate
/// thread.
pub(crate) fn add_to(stream: &mut DataStreamClass, parts: RunningParts) {
    let resource = match parts {
        RunningParts::Nothing => return,
        RunningParts::ReadThread => &ONLY_READ,
        RunningParts::Thread => &WITHOUT_PROCESS,
        RunningParts::ThreadAndProcess => &WITH_PROCESS,
    };
    let has = |class: &EventRecordClass, meaning| class.meanings.members(meaning).next().is_some();
    let classes = &mut stream.event_records;
    if stream.resource.is_some()
        || !classes.iter().any(|class| is_switch(class))
        || classes.iter().any(|class| has(class, Meaning::Thread))
    {
        return;
    }
    stream.resource = Some(Arc::clone(resource));
    for class in classes {
        let meanings = &mut Arc::make_mut(class).meanings;
        meanings.insert(Scope::Resource, 0, Meaning::Thread);
        meanings.insert(Scope::Resource, 1, Meaning::ThreadName);
        if parts == RunningParts::ThreadAndProcess {
            meanings.insert(Scope::Resource, 2, Meaning::Process);
        }
    }
}

/// Returns `true` if events in a data stream class have a running thread.
#[must_use]
pub fn is_in(stream: &DataStreamClass) -> bool {
    [&ONLY_READ, &WITHOUT_PROCESS, &WITH_PROCESS].into_iter().any(|class| has_resource(stream, class))
}

fn has_resource(stream: &DataStreamClass, class: &Arc<FieldClass>) -> bool {
    stream.resource.as_ref().is_some_and(|resource| Arc::ptr_eq(resource, class))
}

/// Returns `true` if events in a data stream class have a running thread that is not written.
pub(crate) fn is_only_read(stream: &DataStreamClass) -> bool {
    has_resource(stream, &ONLY_READ)
}

/// Returns `true` if events in a data stream class have a running thread with its process.
#[must_use]
pub fn has_process(stream: &DataStreamClass) -> bool {
    has_resource(stream, &WITH_PROCESS)
}

/// Context field names from kernel traces that mean the running thread.
pub const CONTEXTS: [&str; 4] = ["tid", "comm", "procname", "pid"];

/// Translates one of the [`CONTEXTS`] to a running thread member.
/// `None` for other names, and for a data stream class without a running thread.
#[must_use]
pub fn member_of(stream: &DataStreamClass, name: &str) -> Option<&'static str> {
    let member = match name {
        "tid" => THREAD,
        "comm" | "procname" => THREAD_NAME,
        "pid" => return has_process(stream).then_some(PROCESS),
        _ => return None,
    };
    is_in(stream).then_some(member)
}

/// Returns `true` for event classes that record a thread switch.
#[must_use]
pub fn is_switch(class: &EventRecordClass) -> bool {
    class.role == EventRole::Switch && class.meanings.members(Meaning::TargetThread).next().is_some()
}

/// Sets the number and the name of the running thread. An empty name means an unknown name. `process` is `None` if
/// classes [lack it](has_process), and `Some(None)` if it is unknown.
pub fn set(values: &mut EventValues, thread: u64, name: &str, process: Option<Option<u64>>) {
    values.clear();
    values.begin(Scope::Resource);
    values.push_optional(true);
    values.push(thread);
    values.push_optional(!name.is_empty());
    if !name.is_empty() {
        values.push(name);
    }
    if let Some(process) = process {
        values.push_optional(process.is_some());
        if let Some(process) = process {
            values.push(process);
        }
    }
}
