//! Names and fields of well-known events that metadata on disk does not describe, and what they mean.
//!
//! The .NET runtime writes its own events with neither names nor fields. They come from a table made of the manifest of
//! its events; a few more, which no manifest has, are written down beside it.

mod meaning;
mod table;
mod well_known;

use ichnos_model::EventRole;
use uuid::Uuid;

pub use meaning::{CounterFields, EventMeaning, FieldPath, meaning};
pub use well_known::replaces_metadata;

use crate::Field;

/// An event that is known beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownEvent {
    /// Name without the version: `GCStart`, `MethodLoadVerbose`.
    pub name: String,
    /// Version that the fields are of: the asked one, or the one that stands in for it.
    pub version: u32,
    /// Task: `GC`, `Method`. With the name of the opcode it is how PerfView names the event: `GC/Start`.
    pub task: Option<String>,
    /// Number of the opcode. 0 is an instant, 1 a start, 2 a stop.
    pub opcode: u8,
    /// Name of the opcode: `Start`, `LoadVerbose`.
    pub opcode_name: String,
    /// Level in the manifest, for events that no file describes; None without a manifest. 0 always, 1 critical, 2 error,
    /// 3 warning, 4 informational, 5 verbose.
    pub level: Option<u8>,
    /// Keywords, as a mask.
    pub keywords: u64,
    /// Fields of the payload in order. An event without fields has no payload.
    pub fields: Vec<Field>,
    /// What the event and its fields mean.
    pub meaning: EventMeaning,
}

impl KnownEvent {
    /// Meaning of the event and its fields where a file says this opcode, which can be another one than the known one.
    pub(crate) fn meaning_with(&self, opcode: u8) -> EventMeaning {
        let mut meaning = self.meaning.clone();
        if opcode == self.opcode || meaning.role != EventRole::Instant && meaning.span.is_none() {
            return meaning;
        }
        meaning.role = match opcode {
            1 => EventRole::Begin,
            2 => EventRole::End,
            _ => EventRole::Instant,
        };
        let span = || meaning.span.as_ref().or(self.task.as_ref()).unwrap_or(&self.name).clone();
        meaning.span = matches!(opcode, 1 | 2).then(span);
        meaning
    }
}

/// What is known of the event `event_id` of a provider, whose name in metadata, which can be empty, is `name`.
///
/// If `version` is not known, the newest known one before it stands in for it, otherwise the oldest one: newer versions
/// of an event append fields. Look at [`KnownEvent::version`]; what is left of a payload after the fields is of a newer
/// version, and a payload that is shorter than the fields is of something else: take it as bytes.
pub fn find(provider: &str, event_id: u32, version: u32, name: &str) -> Option<KnownEvent> {
    let mut event = well_known::find(provider, event_id, version, name)
        .or_else(|| table::find(provider, event_id, version))?;
    well_known::name_data(provider, &mut event);
    well_known::split_method_flags(&mut event);
    Some(event)
}

/// GUID of a provider of the runtime. Other providers' GUIDs are derived from their names.
pub fn provider_guid(provider: &str) -> Option<Uuid> {
    table::provider_guid(provider)
}

/// Keywords of a provider of the runtime: masks of one bit, in order, and names. Empty for every other provider.
pub fn keyword_names(provider: &str) -> Vec<(u64, &'static str)> {
    table::keyword_names(provider)
}
