//! Fields about threads other than that of an event.

use ichnos_model::{Event, FieldRef, Meaning};

/// Fields about threads other than that of the event.
#[derive(Debug)]
pub(super) struct ThreadFields {
    target: Option<FieldRef>,
    target_name: Option<FieldRef>,
    target_process: Option<FieldRef>,
    previous: Option<FieldRef>,
    previous_name: Option<FieldRef>,
    previous_state: Option<FieldRef>,
}

/// A thread that an event is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedThread<'e> {
    pub(super) number: u64,
    pub(super) name: &'e str,
}

impl ThreadFields {
    /// Finds the fields of the class of an event; `None` if there are none.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        let first = |meaning| FieldRef::of_meaning(event, meaning);
        let found = Self {
            target: first(Meaning::TargetThread),
            target_name: first(Meaning::TargetThreadName),
            target_process: first(Meaning::TargetProcess),
            previous: first(Meaning::PreviousThread),
            previous_name: first(Meaning::PreviousThreadName),
            previous_state: first(Meaning::PreviousState),
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

    /// Returns the state of the thread that ran before.
    pub(super) fn previous_state(&self, event: &Event<'_>) -> i64 {
        let state = self.previous_state.as_ref().and_then(|state| event.get(state)?.as_i64());
        state.unwrap_or_default()
    }
}
