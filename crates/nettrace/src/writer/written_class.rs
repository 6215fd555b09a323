//! Event classes in the output.

use ichnos_io::ClassTreatment;
use ichnos_model::Event;

use super::foreign::{self, ForeignClass};
use super::losses::{EventLoss, EventLossCounts};
use super::own::{self, NativeClass};
use super::payload::PayloadWriter;
use super::written_event::NettraceEvent;
use crate::EventMetadata;

/// Event class, and the losses of its events.
#[derive(Debug)]
pub(super) struct NettraceClass {
    pub(super) name: String,
    pub(super) treatment: ClassTreatment<NativeClass, ForeignClass>,
    /// Metadata ids and hashes, by the level that overrides the metadata.
    pub(super) ids: Vec<(Option<u8>, u32, u64)>,
    pub(super) losses: EventLossCounts,
}

impl NettraceClass {
    /// Returns `true` if function names in stacks are written at the end of the file.
    pub(super) fn needs_names(&self) -> bool {
        match &self.treatment {
            ClassTreatment::Own(own) => own.needs_names,
            ClassTreatment::Foreign(_) => true,
        }
    }

    /// Returns `true` if the process does not become a field in version 4.
    pub(super) fn lacks_process_field(&self) -> bool {
        match &self.treatment {
            ClassTreatment::Own(_) => true,
            ClassTreatment::Foreign(foreign) => foreign.takes_process,
        }
    }

    /// Returns `true` if the metadata describes an event's payload correctly.
    pub(super) fn is_described(&self, event: &Event<'_>, payload: &[u8]) -> bool {
        match &self.treatment {
            ClassTreatment::Own(_) => !event.class.is_undescribed,
            ClassTreatment::Foreign(foreign) => !foreign.is_raw || payload.is_empty(),
        }
    }

    /// Reads an event's parts, and the payload of an event in another format. Returns its level if the level is a
    /// field. Returns `None` if the event cannot be decoded.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        event: &Event<'_>,
        ticks: u64,
        parts: &mut NettraceEvent,
        payload: &mut PayloadWriter,
    ) -> Option<Option<u8>> {
        let foreign = match &self.treatment {
            ClassTreatment::Own(_) => return own::read(event, ticks, parts).then_some(None),
            ClassTreatment::Foreign(foreign) => foreign,
        };
        let losses = &mut self.losses;
        foreign::read(event, foreign, ticks, parts, payload, losses);
        losses.add(EventLoss::Elements, payload.losses.cut);
        losses.add(EventLoss::Texts, payload.losses.texts);
        losses.add(EventLoss::Numbers, payload.losses.rounded);
        losses.add(EventLoss::Ends, payload.losses.ends);
        Some(foreign.level(event))
    }

    /// Returns the metadata for events with a level.
    pub(super) fn metadata(&self, level: Option<u8>) -> EventMetadata {
        match &self.treatment {
            ClassTreatment::Own(own) => own.metadata.clone(),
            ClassTreatment::Foreign(foreign) => {
                let own = foreign.metadata();
                EventMetadata { level: level.or(own.level), ..own.clone() }
            }
        }
    }
}
