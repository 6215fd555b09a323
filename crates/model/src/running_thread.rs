//! The running thread: the thread that a processor runs when an event happens there.
//!
//! Tracers of operating systems record which thread a processor runs from a time on (`sched_switch`), but not with each
//! event. With [`ClassMap::with_running_threads`](crate::ClassMap::with_running_threads), the events of such data streams
//! have a [resource](crate::Scope::Resource) with the members `thread` and `thread_name`. Its values come from a cursor
//! that follows the switches; each data stream must be that of one processor.

use std::sync::{Arc, LazyLock};

use crate::{DataStreamClass, EventRecordClass, EventRole, EventValues, FieldClass, Meaning, Member, Scope};

/// Name of the member with the number of the thread.
pub const THREAD: &str = "thread";
/// Name of the member with the name of the thread.
pub const THREAD_NAME: &str = "thread_name";

static CLASS: LazyLock<Arc<FieldClass>> = LazyLock::new(|| {
    let optional = |name, class| Member::new(name, FieldClass::optional(class));
    let thread = optional(THREAD, FieldClass::unsigned(64));
    Arc::new(FieldClass::structure([thread, optional(THREAD_NAME, FieldClass::string())]))
});

/// Adds the running thread to a data stream class, if its events say which thread runs, and no event has a thread of its
/// own.
pub(crate) fn add_to(stream: &mut DataStreamClass) {
    let has = |class: &EventRecordClass, meaning| class.meanings.members(meaning).next().is_some();
    let classes = &mut stream.event_records;
    if stream.resource.is_some()
        || !classes.iter().any(|class| is_switch(class))
        || classes.iter().any(|class| has(class, Meaning::Thread))
    {
        return;
    }
    stream.resource = Some(Arc::clone(&CLASS));
    for class in classes {
        let meanings = &mut Arc::make_mut(class).meanings;
        meanings.insert(Scope::Resource, 0, Meaning::Thread);
        meanings.insert(Scope::Resource, 1, Meaning::ThreadName);
    }
}

/// Returns `true` if events of a data stream class have a running thread.
#[must_use]
pub fn is_in(stream: &DataStreamClass) -> bool {
    stream.resource.as_ref().is_some_and(|resource| Arc::ptr_eq(resource, &CLASS))
}

/// Returns the member of the running thread that a name means in kernel traces, as tracers call these fields of a context:
/// `tid`, `comm` or `procname`. `None` for other names, and for a data stream class without a running thread.
#[must_use]
pub fn member_of(stream: &DataStreamClass, name: &str) -> Option<&'static str> {
    let member = match name {
        "tid" => THREAD,
        "comm" | "procname" => THREAD_NAME,
        _ => return None,
    };
    is_in(stream).then_some(member)
}

/// Returns `true` for classes of events that say which thread runs from then on.
#[must_use]
pub fn is_switch(class: &EventRecordClass) -> bool {
    class.role == EventRole::Switch && class.meanings.members(Meaning::TargetThread).next().is_some()
}

/// Sets the number and the name of the running thread; an empty name is none.
pub fn set(values: &mut EventValues, thread: u64, name: &str) {
    values.clear();
    values.begin(Scope::Resource);
    values.push_optional(true);
    values.push(thread);
    values.push_optional(!name.is_empty());
    if !name.is_empty() {
        values.push(name);
    }
}
