//! Fields about threads other than that of an event.

use ichnos_model::{Event, FieldKind, FieldRef, Meaning};

/// Fields about threads other than that of the event.
#[derive(Debug)]
pub(super) struct ThreadFields {
    target: Option<FieldRef>,
    target_name: Option<FieldRef>,
    target_process: Option<FieldRef>,
    previous: Option<FieldRef>,
    previous_name: Option<FieldRef>,
    previous_state: Option<FieldRef>,
    /// `true` if every event has the previous thread and its state, as a number of Linux.
    pub(super) has_linux_states: bool,
}

/// State of a thread that a processor does not run any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreviousState {
    /// `prev_state` of Linux's scheduler: 0 if the thread can run, otherwise bits.
    Linux(i64),
    Runnable,
    Blocked,
    Suspended,
    Dying,
    Dead,
}

/// Bits of `prev_state` of Linux for a thread that has ended: `EXIT_DEAD` and `EXIT_ZOMBIE`, and `TASK_DEAD` before 4.14.
const ENDED: i64 = 0x10 | 0x20 | 0x40;

/// `TASK_DEAD` of Linux since 4.14, alone; before, this bit is another one that comes with those of a thread that waits.
const TASK_DEAD: i64 = 0x80;

impl PreviousState {
    /// Returns `true` if the thread has ended.
    pub(super) fn is_end(self) -> bool {
        match self {
            Self::Linux(bits) => bits & ENDED != 0 || bits == TASK_DEAD,
            Self::Dying | Self::Dead => true,
            Self::Runnable | Self::Blocked | Self::Suspended => false,
        }
    }
}

/// Names of states in Fuchsia traces ("Context Switch Record" of the document).
const NAMED: [(&str, PreviousState); 6] = [
    ("new", PreviousState::Runnable),
    ("running", PreviousState::Runnable),
    ("suspended", PreviousState::Suspended),
    ("blocked", PreviousState::Blocked),
    ("dying", PreviousState::Dying),
    ("dead", PreviousState::Dead),
];

/// A thread that an event is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedThread<'e> {
    pub(super) number: u64,
    /// Empty if it is not known.
    pub(super) name: &'e str,
}

impl ThreadFields {
    /// Finds the fields of the class of an event; `None` if there are none.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let first = |meaning| FieldRef::of_meaning(event, meaning);
        let has_linux_states = is_plain_integer(event, Meaning::PreviousThread)
            && is_plain_integer(event, Meaning::PreviousState);
        let found = Self {
            target: first(Meaning::TargetThread),
            target_name: first(Meaning::TargetThreadName),
            target_process: first(Meaning::TargetProcess),
            previous: first(Meaning::PreviousThread),
            previous_name: first(Meaning::PreviousThreadName),
            previous_state: first(Meaning::PreviousState),
            has_linux_states,
        };
        (found.target.is_some() || found.previous.is_some()).then_some(found)
    }

    fn thread<'e>(
        event: &Event<'e>,
        number: &Option<FieldRef>,
        name: &Option<FieldRef>,
    ) -> Option<NamedThread<'e>> {
        let number = event.get(number.as_ref()?)?.as_u64()?;
        let name = name.as_ref().and_then(|name| event.get(name)?.as_str()).unwrap_or_default();
        Some(NamedThread { number, name })
    }

    /// Returns `true` if events name the thread that they are about.
    pub(super) fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// Returns the thread that an event is about.
    pub(super) fn target<'e>(&self, event: &Event<'e>) -> Option<NamedThread<'e>> {
        Self::thread(event, &self.target, &self.target_name)
    }

    /// Returns the process of this thread.
    pub(super) fn target_process(&self, event: &Event<'_>) -> Option<u64> {
        event.get(self.target_process.as_ref()?)?.as_u64()
    }

    /// Returns the thread that ran before.
    pub(super) fn previous<'e>(&self, event: &Event<'e>) -> Option<NamedThread<'e>> {
        Self::thread(event, &self.previous, &self.previous_name)
    }

    /// Returns the state of the thread that ran before, if it is known.
    pub(super) fn previous_state(&self, event: &Event<'_>) -> Option<PreviousState> {
        let field = self.previous_state.as_ref()?;
        let value = event.get(field)?;
        let names = field.class(event).and_then(|class| class.mappings());
        let names = names.zip(value.as_i128()).map(|(names, value)| names.names_of(value));
        match names.into_iter().flatten().find_map(named_state) {
            Some(state) => Some(state),
            // Other bits than 63 mean nothing.
            None => value.as_i64().map(PreviousState::Linux),
        }
    }
}

/// Returns the state with a name in Fuchsia traces.
fn named_state(name: &str) -> Option<PreviousState> {
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, state)| *state)
}

/// Returns `true` if each event of a class has an integer with a meaning, whose names are not those of Fuchsia.
fn is_plain_integer(event: &Event<'_>, meaning: Meaning) -> bool {
    let class = event.class.meanings.members(meaning).next().and_then(|member| {
        let plan = event.plan(member.scope)?;
        Some(&plan.get(plan.member(member.index as usize)?)?.class)
    });
    class.is_some_and(|class| {
        let mut names = class.mappings().into_iter().flat_map(|names| names.iter());
        matches!(class.kind, FieldKind::Integer { .. }) && !names.any(|name| named_state(name.name).is_some())
    })
}
