//! Packet sequences and the names that they announced.

use ichnos_model::Event;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::meaning::Meaning;

use super::schema::packet;
use crate::arguments::{ArgumentNames, ContextArguments, ScopeNames};
use crate::event_track::LastPlace;
use crate::log_line::LogFields;
use crate::protobuf::{Head, push_unsigned};
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::losses::{record_class_losses, record_loss};
use ichnos_analysis::events::names::{NumberBits, NumberedNames};

/// All names by kind.
#[derive(Debug)]
pub(super) struct AllNames {
    pub(super) events: NumberedNames,
    pub(super) categories: NumberedNames,
    pub(super) annotations: ArgumentNames,
    classes: u32,
}

impl Default for AllNames {
    fn default() -> Self {
        let (events, categories) = <(NumberedNames, NumberedNames)>::default();
        // The number of a name is its key.
        Self { events, categories, annotations: ArgumentNames::new(|_, _| {}), classes: 0 }
    }
}

/// Sequence number and machine number. Machine 0 is the first or an unknown machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SequenceId {
    pub(super) number: u32,
    pub(super) machine: u32,
}

impl SequenceId {
    /// Appends the sequence and machine fields of a packet.
    #[inline]
    pub(super) fn push(self, out: &mut Vec<u8>) {
        push_unsigned(out, packet::SEQUENCE_ID, self.number.into());
        if self.machine != 0 {
            push_unsigned(out, packet::MACHINE_ID, self.machine.into());
        }
    }

    /// Puts the sequence and machine fields of a packet.
    #[inline(always)]
    pub(super) fn put<const N: usize>(self, head: &mut Head<N>) {
        head.unsigned(packet::SEQUENCE_ID, self.number.into());
        if self.machine != 0 {
            head.unsigned(packet::MACHINE_ID, self.machine.into());
        }
    }

    /// Returns a process number that is unique across machines.
    #[inline]
    pub(super) fn unique_process(self, number: u64) -> u64 {
        number ^ u64::from(self.machine) << 40
    }
}

/// Sequence state of a data stream.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    pub(super) id: SequenceId,
    /// Trace number.
    pub(super) trace: u32,
    /// `true` after the first packet.
    pub(super) has_begun: bool,
    /// Classes whose names were announced, and those names.
    pub(super) classes: NumberBits,
    pub(super) events: NumberBits,
    pub(super) categories: NumberBits,
    pub(super) annotations: NumberBits,
    pub(super) samples: SampleNames,
    /// Track of the last place.
    pub(super) track: LastPlace<u64>,
    /// Annotations of the last common context.
    pub(super) context: ContextArguments,
}

/// Event record class with name numbers.
#[derive(Debug)]
pub(super) struct PerfettoClass {
    pub(super) class: ViewerClass,
    pub(super) number: u32,
    pub(super) name: u32,
    /// Category name number, 0 without a category.
    pub(super) category: u32,
    pub(super) scopes: Vec<ScopeNames>,
    pub(super) log: LogFields,
}

impl PerfettoClass {
    /// Creates the class of an event.
    pub(super) fn for_event(event: &Event<'_>, names: &mut AllNames, losses: &mut LossTable) -> Self {
        let class = ViewerClass::from_event(event);
        record_class_losses(losses, event, &class);
        if matches!(class.form, EventForm::Switch | EventForm::Wakeup) {
            record_loss(losses, event, LossKind::Lowered, "", "scheduling without other fields");
            if !class.has_processor() {
                record_loss(losses, event, LossKind::Lowered, "", "missing processor -> trace number");
            }
        }
        if class.form == EventForm::Sample && class.stack(event).is_some() && !has_weights(event) {
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
            log: LogFields::for_event(event),
            class,
        }
    }
}

/// Returns `true` for samples with weights, such as bytes.
pub(super) fn has_weights(event: &Event<'_>) -> bool {
    event.class.meanings.members(Meaning::Weight).next().is_some()
}

/// Announced stacks, frames and names of a sequence.
#[derive(Debug, Default)]
pub(super) struct SampleNames {
    stacks: NumberBits,
    pub(super) frames: NumberBits,
    pub(super) functions: NumberedNames,
    pub(super) modules: NumberedNames,
}

impl Sequence {
    /// Forgets all announced names. The next packet has the flag for readers to forget them.
    pub(super) fn restart(&mut self) {
        *self = Self { id: self.id, trace: self.trace, ..Self::default() };
    }
}

impl SampleNames {
    /// Returns `true` if a call stack was announced.
    pub(super) fn has(&self, stack: u32) -> bool {
        self.stacks.has(stack)
    }

    /// Marks a call stack as announced.
    pub(super) fn add(&mut self, stack: u32) {
        self.stacks.add(stack);
    }
}
