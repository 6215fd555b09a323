//! Sequences of packets: names that they have announced.

use ichnos_model::Event;
use ichnos_model::lower::{LossKind, LossTable};

use super::schema::packet;
use crate::arguments::ScopeNames;
use crate::log_line::LogFields;
use crate::protobuf::push_unsigned;
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::losses::{record_class_losses, record_loss};
use ichnos_analysis::events::names::{NumberBits, NumberedNames};

/// All names, by their kind.
#[derive(Debug, Default)]
pub(super) struct AllNames {
    pub(super) events: NumberedNames,
    pub(super) categories: NumberedNames,
    pub(super) annotations: NumberedNames,
    classes: u32,
}

/// Number of a sequence, and that of its machine: 0 for the first one, and where it is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SequenceId {
    pub(super) number: u32,
    pub(super) machine: u32,
}

impl SequenceId {
    /// Appends what a packet of the sequence says of it.
    #[inline]
    pub(super) fn push(self, out: &mut Vec<u8>) {
        push_unsigned(out, packet::SEQUENCE_ID, self.number.into());
        if self.machine != 0 {
            push_unsigned(out, packet::MACHINE_ID, self.machine.into());
        }
    }

    /// Returns a number that distinguishes a process of the machine from those of others.
    #[inline]
    pub(super) fn own(self, number: u64) -> u64 {
        number ^ u64::from(self.machine) << 40
    }
}

/// State of the sequence of a data stream.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    pub(super) id: SequenceId,
    /// Number of the trace.
    pub(super) trace: u32,
    /// `true` if a packet was written.
    pub(super) has_begun: bool,
    /// Classes whose names were announced, and those names.
    pub(super) classes: NumberBits,
    pub(super) events: NumberBits,
    pub(super) categories: NumberBits,
    pub(super) annotations: NumberBits,
    pub(super) samples: SampleNames,
}

/// An event record class with numbers of names.
#[derive(Debug)]
pub(super) struct PerfettoClass {
    pub(super) class: ViewerClass,
    pub(super) number: u32,
    pub(super) name: u32,
    /// 0 without one.
    pub(super) category: u32,
    pub(super) scopes: Vec<ScopeNames>,
    pub(super) log: LogFields,
}

impl PerfettoClass {
    /// Makes the class of an event.
    pub(super) fn of(event: &Event<'_>, names: &mut AllNames, losses: &mut LossTable) -> Self {
        let class = ViewerClass::from_event(event);
        record_class_losses(losses, event, &class);
        if matches!(class.form, EventForm::Switch | EventForm::Wakeup) {
            record_loss(losses, event, LossKind::Lowered, "", "scheduling without other fields");
            if !class.has_processor() {
                record_loss(losses, event, LossKind::Lowered, "", "no processor -> number of the trace");
            }
        }
        if class.form == EventForm::Sample && class.stack(event).is_some() {
            record_loss(losses, event, LossKind::Dropped, "", "sample fields other than the call stack");
        }
        names.classes += 1;
        let scopes = ScopeNames::all(event, &class, &mut names.annotations);
        Self {
            number: names.classes,
            name: names.events.number(&class.name),
            category: match &*class.category {
                "" => 0,
                category => names.categories.number(category),
            },
            scopes,
            log: LogFields::of(event),
            class,
        }
    }
}

/// Stacks, frames and names that a sequence has announced.
#[derive(Debug, Default)]
pub(super) struct SampleNames {
    stacks: NumberBits,
    pub(super) frames: NumberBits,
    pub(super) functions: NumberedNames,
    pub(super) modules: NumberedNames,
}

impl Sequence {
    /// Forgets what was announced: the next packet has the flag for readers to do so, too.
    pub(super) fn restart(&mut self) {
        *self = Self { id: self.id, trace: self.trace, ..Self::default() };
    }
}

impl SampleNames {
    /// Returns `true` if a call stack was announced.
    pub(super) fn has(&self, stack: u32) -> bool {
        self.stacks.has(stack)
    }

    /// Notes that a call stack is announced.
    pub(super) fn add(&mut self, stack: u32) {
        self.stacks.add(stack);
    }
}
