//! Meanings of event record class members: processes, threads, operations, causes and others, independent of the
//! format.

mod activity_path;
mod event_display;
mod event_role;
mod event_rule;
mod identifier;

use crate::class::Scope;

pub use self::activity_path::ActivityPaths;
pub use self::event_display::{EventDisplay, EventTrack};
pub use self::event_role::EventRole;
pub use self::event_rule::{ClassMap, EventRule};
pub use self::identifier::{Chain, FindMentions, Identifier, Mention};

/// A member in a scope's root structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct MemberIndex {
    /// The scope.
    pub scope: Scope,
    /// Index of the member in its structure, from 0. [`Plan::member`](crate::plan::Plan::member) returns the plan node.
    pub index: u32,
}

/// Meaning of a member.
///
/// Readers set known meanings once for each event record class. Sinks use nothing else. Several members of a class may
/// have the same meaning: each of them counts, unless stated otherwise here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Meaning {
    /// Process: a number. The first one counts.
    Process,
    /// Process name: a string.
    ProcessName,
    /// Thread: a number, or a name. The first one counts.
    Thread,
    /// Thread name in addition to the number: a string. The first one counts.
    ThreadName,
    /// Machine of the event, if it differs from the trace's machine: a name, or a number. The first one counts.
    Machine,
    /// Processor of the event: a number. The first one counts.
    Processor,
    /// Severity number, on the scale of the [log role](crate::log::LogRole).
    Severity,
    /// Log message: a string.
    Message,
    /// Part of the text that [`LogRole::text`](crate::log::LogRole::text) renders. A log does not show it separately.
    Rendered,
    /// Tag, category, or logger name: a string.
    Tag,
    /// Source file: a string.
    File,
    /// Line in the source file: a number.
    Line,
    /// Function in the source: a string.
    Function,
    /// Place of the event's component in the system (its moniker): a string.
    Component,
    /// URL of the event's component: a string.
    ComponentUrl,
    /// Number of events that the source dropped before this one. Several such fields are added up.
    Dropped,
    /// Number of events of the same component that the log service discarded before this one. Several such
    /// fields are added up.
    RolledOut,
    /// Call stack: a number in the [stack table](crate::stack::StackTable) of the trace.
    Stack,
    /// Task identifier of the operation (a trace in OpenTelemetry): like [`Meaning::OperationId`], which is then unique
    /// only within the task.
    TaskId,
    /// Metadata that programs pass on with their messages to name a task and an operation, in a format's notation
    /// ([`FindMentions`]): bytes, or a string.
    TaskContext,
    /// Task title: a string. The first one counts.
    TaskTitle,
    /// Identifier of the operation that the event belongs to or begins: a number, a string, a GUID, or bytes. If
    /// several members have one, the last of them counts.
    OperationId,
    /// Identifier of an operation that caused this one: like [`Meaning::OperationId`]. Several causes are normal. Each
    /// element of an array is a cause.
    Cause(CauseKind),
    /// Event chain of the operation, within which its identifier is unique: a number. Without it, the identifier is
    /// unique within the task.
    ChainId,
    /// Chains of the causes: an integer for each, in the same order as the cause members and elements. A negative
    /// number means the chain of the event itself.
    CauseChain,
    /// Counter value: a number. The member name is the counter name, unless another member is a
    /// [`Meaning::CounterName`].
    CounterValue,
    /// Counter name: a string, used instead of the names of the value members. The first one counts.
    CounterName,
    /// Weight of a sample or any other event, 1 by default: a number. The first one counts.
    Weight,
    /// Value shared by the events that begin and end a span. All such members together are the key.
    PairKey,
    /// Duration from the event time on: an integer, in cycles of the data stream's clock. The first one counts.
    Duration,
    /// Name of the span, the frame or the instant, instead of the class name: a string, or a number. The first one
    /// counts.
    EventName,
    /// Thread that the event is about, if it happened in another thread: a number. The first one counts.
    TargetThread,
    /// Name of the target thread: a string. The first one counts.
    TargetThreadName,
    /// Process of the target thread: a number. The first one counts.
    TargetProcess,
    /// Thread that ran until an event with the role [`Switch`](crate::meaning::EventRole::Switch): a number. The first
    /// one counts.
    PreviousThread,
    /// Name of the previous thread: a string. The first one counts.
    PreviousThreadName,
    /// State of the previous thread from then on: a number. The first one counts.
    PreviousState,
    /// Thread state of a sample: an enumeration. The thread ran on a processor if the value name is in
    /// [`ON_PROCESSOR`](Self::ON_PROCESSOR). Otherwise, it waited or ran code that the profiler does not inspect. The
    /// first one counts.
    ThreadState,
    /// Needed only for decoding or merging. Viewers may hide it.
    Hidden,
}

/// Relation between a cause and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CauseKind {
    /// The cause contains the effect: a call, the parent of a span, an edge "down".
    Parent,
    /// The effect follows the cause: an edge "next", a sent message.
    Predecessor,
    /// The effect, which continues, contained the cause: the end of a call, an edge "up".
    Return,
    /// The relation is unknown: a related activity, a link, a flow.
    Related,
}

crate::named_enum! {
    pub impl Meaning: "meaning" {
        Process = "process",
        ProcessName = "process-name",
        Thread = "thread",
        ThreadName = "thread-name",
        Machine = "machine",
        Processor = "processor",
        Severity = "severity",
        Message = "message",
        Rendered = "rendered",
        Tag = "tag",
        File = "file",
        Line = "line",
        Function = "function",
        Component = "component",
        ComponentUrl = "component-url",
        Dropped = "dropped",
        RolledOut = "rolled-out",
        Stack = "stack",
        TaskId = "task-id",
        TaskContext = "task-context",
        TaskTitle = "task-title",
        OperationId = "operation-id",
        Cause(CauseKind::Parent) = "parent",
        Cause(CauseKind::Predecessor) = "predecessor",
        Cause(CauseKind::Return) = "return",
        Cause(CauseKind::Related) = "related",
        ChainId = "chain-id",
        CauseChain = "cause-chain",
        CounterValue = "counter-value",
        CounterName = "counter-name",
        Weight = "weight",
        PairKey = "pair-key",
        Duration = "duration",
        EventName = "event-name",
        TargetThread = "target-thread",
        TargetThreadName = "target-thread-name",
        TargetProcess = "target-process",
        PreviousThread = "previous-thread",
        PreviousThreadName = "previous-thread-name",
        PreviousState = "previous-state",
        ThreadState = "thread-state",
        Hidden = "hidden",
    }
}

impl Meaning {
    /// [`Meaning::ThreadState`] value names for threads that ran on a processor.
    pub const ON_PROCESSOR: [&'static str; 2] = ["Managed", "running"];
}

/// Meanings for the members in an event record class.
///
/// ```
/// use ichnos_model::Scope;
/// use ichnos_model::meaning::{Meaning, Meanings};
///
/// let mut meanings = Meanings::default();
/// meanings.insert(Scope::CommonContext, 0, Meaning::Process);
/// meanings.insert(Scope::Payload, 2, Meaning::Stack);
/// assert_eq!(meanings.get(Scope::Payload, 2), Some(Meaning::Stack));
/// assert_eq!(meanings.members(Meaning::Process).next().map(|member| member.index), Some(0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meanings {
    /// Members sorted by scope and index. Most classes lack them, and there can be millions of classes.
    #[allow(clippy::box_collection)]
    members: Option<Box<Vec<(MemberIndex, Meaning)>>>,
}

impl Meanings {
    /// Sets a member's meaning.
    pub fn insert(&mut self, scope: Scope, index: usize, meaning: Meaning) {
        let Ok(index) = u32::try_from(index) else { return };
        let member = MemberIndex { scope, index };
        let found = self.find(member);
        let members = self.members.get_or_insert_default();
        match found {
            Ok(at) => members[at].1 = meaning,
            Err(at) => members.insert(at, (member, meaning)),
        }
    }

    /// Removes a meaning from all members.
    pub fn remove(&mut self, meaning: Meaning) {
        if let Some(members) = &mut self.members {
            members.retain(|(_, other)| *other != meaning);
        }
    }

    /// Returns a member's meaning, if any.
    #[must_use]
    pub fn get(&self, scope: Scope, index: usize) -> Option<Meaning> {
        let at = self.find(MemberIndex { scope, index: u32::try_from(index).ok()? }).ok()?;
        Some(self.as_slice().get(at)?.1)
    }

    /// Returns the members with this meaning, in decoding order.
    pub fn members(&self, meaning: Meaning) -> impl Iterator<Item = MemberIndex> + '_ {
        self.as_slice().iter().filter(move |(_, other)| *other == meaning).map(|(member, _)| *member)
    }

    /// Returns all members with a meaning, in decoding order.
    pub fn iter(&self) -> impl Iterator<Item = (MemberIndex, Meaning)> + '_ {
        self.as_slice().iter().copied()
    }

    /// Returns `true` if no member has a meaning.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    fn as_slice(&self) -> &[(MemberIndex, Meaning)] {
        self.members.as_deref().map_or(&[], Vec::as_slice)
    }

    fn find(&self, member: MemberIndex) -> Result<usize, usize> {
        self.as_slice().binary_search_by_key(&member, |(member, _)| *member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for meaning in Meaning::ALL {
            assert_eq!(meaning.name().parse(), Ok(meaning));
        }
        assert!("".parse::<Meaning>().is_err());
    }

    #[test]
    fn members_are_found_in_whatever_order_they_came() {
        let mut meanings = Meanings::default();
        meanings.insert(Scope::Payload, 3, Meaning::Tag);
        meanings.insert(Scope::SpecificContext, 7, Meaning::Severity);
        meanings.insert(Scope::Payload, 0, Meaning::Cause(CauseKind::Parent));
        meanings.insert(Scope::Payload, 1, Meaning::Cause(CauseKind::Parent));
        meanings.insert(Scope::Payload, 3, Meaning::Message);
        assert_eq!(meanings.get(Scope::Payload, 3), Some(Meaning::Message));
        assert_eq!(meanings.get(Scope::SpecificContext, 7), Some(Meaning::Severity));
        assert_eq!(meanings.get(Scope::Payload, 7), None);
        let causes = meanings.members(Meaning::Cause(CauseKind::Parent)).map(|member| member.index);
        assert_eq!(causes.collect::<Vec<_>>(), [0, 1]);
        assert_eq!(meanings.iter().count(), 4);
    }
}
