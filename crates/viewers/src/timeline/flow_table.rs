//! Flows between the events of a timeline.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use ichnos_model::Event;
use ichnos_model::meaning::{CauseKind, Chain, Identifier, Meaning};

use ichnos_analysis::events::class::ViewerClass;
use ichnos_analysis::events::flows::FlowEnd;
use ichnos_analysis::events::place::TimelinePlace;
use ichnos_analysis::tasks::EventContent;

/// Maximum number of flows, of known operations and messages, and of effects waiting for their cause.
const MOST_FLOWS: usize = 1 << 17;
const MOST_OPERATIONS: usize = 1 << 17;
const MOST_WAITING: usize = 1 << 14;

/// Kind of a flow between two events.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowKind {
    /// The first event's operation caused the second event's operation.
    Cause(#[cfg_attr(feature = "serde", serde(with = "cause_kind"))] CauseKind),
    /// The second event receives the message that the first event sent.
    Message,
}

impl FlowKind {
    /// Returns the name: the name of the cause's meaning, or `message`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cause(kind) => Meaning::Cause(kind).name(),
            Self::Message => "message",
        }
    }
}

/// Serialized form of cause kinds: their index in this list.
#[cfg(feature = "serde")]
mod cause_kind {
    use ichnos_model::meaning::CauseKind;
    use serde::{Deserialize as _, Deserializer, Serializer};

    const KINDS: [CauseKind; 4] =
        [CauseKind::Parent, CauseKind::Predecessor, CauseKind::Return, CauseKind::Related];

    pub(super) fn serialize<S: Serializer>(kind: &CauseKind, serializer: S) -> Result<S::Ok, S::Error> {
        let place = KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len() - 1);
        serializer.serialize_u8(place as u8)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CauseKind, D::Error> {
        let place = u8::deserialize(deserializer)?;
        Ok(KINDS.get(usize::from(place)).copied().unwrap_or(CauseKind::Related))
    }
}

/// Flow from an event to a later event. If clocks differ, the second event can be earlier.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineFlow {
    /// First event of the cause, or the sending event.
    pub from: TimelinePlace,
    /// Event that names the cause, or the receiving event.
    pub to: TimelinePlace,
    /// Kind of the flow.
    pub kind: FlowKind,
}

/// Causes and effects of an event.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EventLinks {
    /// Events that caused the event or its operation, or sent the received message.
    pub causes: Vec<(FlowKind, TimelinePlace)>,
    /// Events caused by its operation, or receiving its message.
    pub effects: Vec<(FlowKind, TimelinePlace)>,
}

/// Flows so far, in bounded memory.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug)]
pub(super) struct FlowTable {
    /// First event of each operation.
    operations: HashMap<u64, TimelinePlace>,
    /// Last sending event by message key.
    messages: HashMap<u64, TimelinePlace>,
    /// Effects by the operation that they name, until it has an event.
    #[cfg_attr(feature = "serde", serde(skip))]
    waiting: HashMap<u64, Vec<(TimelinePlace, CauseKind)>>,
    #[cfg_attr(feature = "serde", serde(skip))]
    waiting_number: usize,
    /// Pairs of cause and effect with a flow, because each event of an operation can name its causes again.
    pairs: HashSet<u64>,
    flows: Vec<TimelineFlow>,
    is_complete: bool,
    #[cfg_attr(feature = "serde", serde(skip))]
    content: EventContent,
    #[cfg_attr(feature = "serde", serde(skip))]
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Default for FlowTable {
    fn default() -> Self {
        Self {
            operations: HashMap::new(),
            messages: HashMap::new(),
            waiting: HashMap::new(),
            waiting_number: 0,
            pairs: HashSet::new(),
            flows: Vec::new(),
            is_complete: true,
            content: EventContent::default(),
            hasher: BuildHasherDefault::default(),
        }
    }
}

impl FlowTable {
    /// Returns the flows in the order in which they were found.
    pub(super) fn flows(&self) -> &[TimelineFlow] {
        &self.flows
    }

    /// Returns `true` if an event has an operation.
    pub(super) fn has_operations(&self) -> bool {
        !self.operations.is_empty()
    }

    /// Returns `false` if there were too many flows.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Adds the flows of an event. `trace` is its trace number.
    #[inline]
    pub(super) fn take(&mut self, event: &Event<'_>, class: &ViewerClass, trace: u32, place: TimelinePlace) {
        if class.has_message() || class.tasks.is_some() {
            self.take_flows(event, class, trace, place);
        }
    }

    fn take_flows(&mut self, event: &Event<'_>, class: &ViewerClass, trace: u32, place: TimelinePlace) {
        if let Some((end, key)) = class.message(event) {
            self.message(end, key, place);
        }
        let Some(fields) = &class.tasks else { return };
        let mut content = std::mem::take(&mut self.content);
        fields.read(event, &[], &mut content);
        let own = content.operation.map(|own| self.key(content.task, trace, content.chain, own));
        for (cause, chain, kind) in content.causes() {
            let cause = self.key(content.task, trace, chain, cause);
            if own != Some(cause) && self.is_new_pair(cause, own) {
                self.effect(cause, place, kind);
            }
        }
        if let Some(own) = own {
            self.operation(own, place);
        }
        self.content = content;
    }

    /// Returns a key for an operation. An operation without a task is unique within its trace.
    fn key(&self, task: Option<Identifier>, trace: u32, chain: Chain, operation: Identifier) -> u64 {
        match task {
            Some(task) => self.hasher.hash_one((task, chain, operation)),
            None => self.hasher.hash_one((trace, chain, operation)),
        }
    }

    fn is_new_pair(&mut self, cause: u64, effect: Option<u64>) -> bool {
        let Some(effect) = effect else { return true };
        if self.pairs.len() >= MOST_FLOWS {
            self.is_complete = false;
            return false;
        }
        self.pairs.insert(self.hasher.hash_one((cause, effect)))
    }

    fn push(&mut self, from: TimelinePlace, to: TimelinePlace, kind: FlowKind) {
        match self.flows.len() < MOST_FLOWS {
            true => self.flows.push(TimelineFlow { from, to, kind }),
            false => self.is_complete = false,
        }
    }

    fn message(&mut self, end: FlowEnd, key: u64, place: TimelinePlace) {
        match end {
            FlowEnd::Begin if self.messages.len() < MOST_OPERATIONS || self.messages.contains_key(&key) => {
                self.messages.insert(key, place);
            }
            FlowEnd::Begin => self.is_complete = false,
            FlowEnd::End => {
                if let Some(from) = self.messages.get(&key).copied() {
                    self.push(from, place, FlowKind::Message);
                }
            }
        }
    }

    fn effect(&mut self, cause: u64, place: TimelinePlace, kind: CauseKind) {
        if let Some(from) = self.operations.get(&cause).copied() {
            self.push(from, place, FlowKind::Cause(kind));
        } else if self.waiting_number < MOST_WAITING {
            self.waiting_number += 1;
            self.waiting.entry(cause).or_default().push((place, kind));
        }
    }

    fn operation(&mut self, own: u64, place: TimelinePlace) {
        if self.operations.contains_key(&own) {
            return;
        }
        if self.operations.len() >= MOST_OPERATIONS {
            self.is_complete = false;
            return;
        }
        self.operations.insert(own, place);
        let effects = self.waiting.remove(&own).unwrap_or_default();
        self.waiting_number -= effects.len();
        effects.into_iter().for_each(|(effect, kind)| self.push(place, effect, FlowKind::Cause(kind)));
    }

    /// Returns the links of an event. `trace` is its trace number.
    pub(super) fn links(
        &self,
        event: &Event<'_>,
        class: &ViewerClass,
        trace: u32,
        place: TimelinePlace,
    ) -> EventLinks {
        let mut links = EventLinks::default();
        let mut first = place;
        if let Some(fields) = &class.tasks {
            let mut content = EventContent::default();
            fields.read(event, &[], &mut content);
            let own = content.operation.map(|own| self.key(content.task, trace, content.chain, own));
            first = own.and_then(|own| self.operations.get(&own)).copied().unwrap_or(place);
            for (cause, chain, kind) in content.causes() {
                let cause = self.key(content.task, trace, chain, cause);
                if let Some(from) = self.operations.get(&cause).filter(|_| own != Some(cause)) {
                    links.causes.push((FlowKind::Cause(kind), *from));
                }
            }
        }
        let is_event = |other: &TimelinePlace, event: &TimelinePlace| other.event() == event.event();
        for flow in &self.flows {
            if flow.kind == FlowKind::Message && is_event(&flow.to, &place) {
                links.causes.push((flow.kind, flow.from));
            }
            let own = if flow.kind == FlowKind::Message { &place } else { &first };
            if is_event(&flow.from, own) {
                links.effects.push((flow.kind, flow.to));
            }
        }
        links
    }
}
