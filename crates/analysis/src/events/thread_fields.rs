//! Fields about threads other than the event's own.

use std::borrow::Cow;

use ichnos_model::Event;
use ichnos_model::class::{FieldKind, Value};
use ichnos_model::field::FieldRef;
use ichnos_model::meaning::Meaning;

use super::text_field::TextField;

/// Fields about threads other than the event's own.
#[derive(Debug)]
pub struct ThreadFields {
    target: Option<FieldRef>,
    target_name: Option<TextField>,
    target_process: Option<FieldRef>,
    previous: Option<FieldRef>,
    previous_name: Option<TextField>,
    previous_state: Option<FieldRef>,
    /// `true` if every event has the previous thread and its Linux state number.
    pub has_linux_states: bool,
    /// `true` if the trace names a Linux version since 4.14.
    is_since_4_14: bool,
}

/// Thread state after a processor stopped running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousState {
    /// `prev_state` in Linux: 0 if the thread can run, otherwise bits as in Linux 4.4.
    Linux(i64),
    /// Ready to run.
    Runnable,
    /// Waiting.
    Blocked,
    /// Stopped by another thread.
    Suspended,
    /// Ending.
    Dying,
    /// Ended.
    Dead,
}

/// Bits of Linux's `prev_state` (`include/linux/sched.h`), as in Linux 4.4.
pub mod linux {
    /// `TASK_INTERRUPTIBLE`.
    pub const INTERRUPTIBLE: i64 = 1;
    /// `TASK_UNINTERRUPTIBLE`.
    pub const UNINTERRUPTIBLE: i64 = 2;
    /// `__TASK_STOPPED` and `__TASK_TRACED`.
    pub const STOPPED: i64 = 4 | 8;
    /// `EXIT_DEAD`, `EXIT_ZOMBIE` and `TASK_DEAD`.
    pub const ENDED: i64 = 0x10 | 0x20 | 0x40;
    /// `TASK_PARKED`.
    pub const PARKED: i64 = 0x200;
    /// Idle kernel thread: uninterruptible, but no load.
    pub const IDLE: i64 = UNINTERRUPTIBLE | 0x400;
    /// Preempted thread, which can run. The bit is above all states.
    pub const PREEMPTED: i64 = 0x800;
}

/// Translates `prev_state` into the Linux 4.4 bits, which Perfetto expects if a trace does not name its version.
///
/// A preempted thread has a single bit: 0x400 before 4.4, 0x1000 since 4.8, 0x100 since 4.14. Since 4.14, an idle thread has
/// the single bit 0x80, and a parked thread 0x40, which meant `TASK_DEAD` before.
fn linux_bits(bits: i64, is_since_4_14: bool) -> i64 {
    match bits {
        0x100 | 0x400 | 0x1000 => linux::PREEMPTED,
        0x80 => linux::IDLE,
        0x40 if is_since_4_14 => linux::PARKED,
        bits => bits,
    }
}

/// Returns `true` for a kernel release since 4.14, such as `5.10.0-8-amd64`.
fn is_since_4_14(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let version = (numbers.next().flatten(), numbers.next().flatten());
    version >= (Some(4), Some(14))
}

impl PreviousState {
    /// Returns `true` if the thread has ended.
    pub fn is_end(self) -> bool {
        match self {
            Self::Linux(bits) => bits & linux::ENDED != 0,
            Self::Dying | Self::Dead => true,
            Self::Runnable | Self::Blocked | Self::Suspended => false,
        }
    }
}

/// State names in Fuchsia traces ("Context Switch Record" in the document).
const NAMED: [(&str, PreviousState); 6] = [
    ("new", PreviousState::Runnable),
    ("running", PreviousState::Runnable),
    ("suspended", PreviousState::Suspended),
    ("blocked", PreviousState::Blocked),
    ("dying", PreviousState::Dying),
    ("dead", PreviousState::Dead),
];

/// Thread that an event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedThread<'e> {
    /// Thread identifier.
    pub number: u64,
    /// Thread name, empty if unknown.
    pub name: Cow<'e, str>,
}

impl ThreadFields {
    /// Finds the thread fields in the event's class. `None` if the class lacks them.
    pub fn from_event(event: &Event<'_>) -> Option<Self> {
        let first = |meaning| FieldRef::for_meaning(event, meaning);
        let text = |meaning| TextField::for_meaning(event, meaning);
        let has_linux_states = is_plain_integer(event, Meaning::PreviousThread)
            && is_plain_integer(event, Meaning::PreviousState);
        // LTTng's member name, then perf's.
        let release = ["kernel_release", "release"]
            .into_iter()
            .find_map(|name| event.stream.trace.class.environment(name).and_then(Value::as_text));
        let found = Self {
            target: first(Meaning::TargetThread),
            target_name: text(Meaning::TargetThreadName),
            target_process: first(Meaning::TargetProcess),
            previous: first(Meaning::PreviousThread),
            previous_name: text(Meaning::PreviousThreadName),
            previous_state: first(Meaning::PreviousState),
            has_linux_states,
            is_since_4_14: release.is_some_and(is_since_4_14),
        };
        (found.target.is_some() || found.previous.is_some()).then_some(found)
    }

    fn thread<'e>(
        event: &Event<'e>,
        number: &Option<FieldRef>,
        name: &Option<TextField>,
    ) -> Option<NamedThread<'e>> {
        let number = event.get(number.as_ref()?)?.as_u64()?;
        // An empty name means that it is unknown.
        let name = name.as_ref().and_then(|name| name.get(event)).unwrap_or_default();
        Some(NamedThread { number, name })
    }

    /// Returns `true` if events name the thread that they are about.
    pub fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// Returns the thread that an event is about.
    pub fn target<'e>(&self, event: &Event<'e>) -> Option<NamedThread<'e>> {
        Self::thread(event, &self.target, &self.target_name)
    }

    /// Returns this thread's process.
    pub fn target_process(&self, event: &Event<'_>) -> Option<u64> {
        event.get(self.target_process.as_ref()?)?.as_u64()
    }

    /// Returns the thread that ran before.
    pub fn previous<'e>(&self, event: &Event<'e>) -> Option<NamedThread<'e>> {
        Self::thread(event, &self.previous, &self.previous_name)
    }

    /// Returns the state of the thread that ran before, if it is known.
    pub fn previous_state(&self, event: &Event<'_>) -> Option<PreviousState> {
        let field = self.previous_state.as_ref()?;
        let value = event.get(field)?;
        let names = field.class(event).and_then(|class| class.mappings());
        let names = names.zip(value.as_i128()).map(|(names, value)| names.names_of(value));
        match names.into_iter().flatten().find_map(named_state) {
            Some(state) => Some(state),
            // A value of more than 63 bits is meaningless.
            None => value.as_i64().map(|bits| PreviousState::Linux(linux_bits(bits, self.is_since_4_14))),
        }
    }
}

/// Returns the state for a name in Fuchsia traces.
fn named_state(name: &str) -> Option<PreviousState> {
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, state)| *state)
}

/// Returns `true` if each event of the class has an integer with the meaning, and its labels are not Fuchsia's.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_depend_on_the_linux_version() {
        for (bits, before, since) in [
            (0, 0, 0),
            (0x40, 0x40, linux::PARKED),
            (0x80, linux::IDLE, linux::IDLE),
            (0x82, 0x82, 0x82),
            (0x100, linux::PREEMPTED, linux::PREEMPTED),
            (0x200, linux::PARKED, linux::PARKED),
            (0x400, linux::PREEMPTED, linux::PREEMPTED),
            (0x402, linux::IDLE, linux::IDLE),
            (0x800, linux::PREEMPTED, linux::PREEMPTED),
            (0x1000, linux::PREEMPTED, linux::PREEMPTED),
        ] {
            assert_eq!((linux_bits(bits, false), linux_bits(bits, true)), (before, since), "{bits:#x}");
        }
        for (release, is_later) in [
            ("3.10.31-ltsi", false),
            ("4.4.3-1-ARCH", false),
            ("4.13.16", false),
            ("4.14.0", true),
            ("5.4.0-42-generic", true),
            ("10.0", true),
            ("6", true),
            ("", false),
            ("none", false),
        ] {
            assert_eq!(is_since_4_14(release), is_later, "{release}");
        }
    }
}
