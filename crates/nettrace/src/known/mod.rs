//! Names, fields and meanings of well-known events that are not described by metadata in files.
//!
//! The .NET runtime writes its own events without names and fields. They come from a table generated from the
//! manifest of its events; a few more events, missing from every manifest, are defined in the code.

mod meaning;
mod table;
mod well_known;

use ichnos_model::EventRole;
use uuid::Uuid;

pub use meaning::{CounterFields, EventMeaning, FieldPath, meaning};
pub use well_known::replaces_metadata;

use crate::Field;

/// A well-known event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownEvent {
    /// Name without the version: `GCStart`, `MethodLoadVerbose`.
    pub name: String,
    /// Version of the fields: the requested one, or its replacement.
    pub version: u32,
    /// Task: `GC`, `Method`. Task and opcode are PerfView's name of the event: `GC/Start`.
    pub task: Option<String>,
    /// Number of the opcode: 0 is an instant, 1 a start, 2 a stop.
    pub opcode: u8,
    /// Name of the opcode: `Start`, `LoadVerbose`.
    pub opcode_name: String,
    /// Level in the manifest, for events without metadata; `None` without a manifest. 0 always, 1 critical, 2
    /// error, 3 warning, 4 informational, 5 verbose.
    pub level: Option<u8>,
    /// Keywords, as a mask.
    pub keywords: u64,
    /// Fields of the payload, in order. An event without fields has no payload.
    pub fields: Vec<Field>,
    /// Meaning of the event and its fields.
    pub meaning: EventMeaning,
}

impl KnownEvent {
    /// Returns the meaning with the opcode of a file, which may differ from the known one.
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

/// Returns a well-known event of a provider; `name` is its name in metadata, which can be empty.
///
/// An unknown `version` is replaced by the newest known one before it, or else by the oldest one: newer versions
/// of an event append fields. See [`KnownEvent::version`]: bytes after the fields belong to a newer version; a
/// payload that is shorter than the fields has another format and should be treated as bytes.
pub fn find(provider: &str, event_id: u32, version: u32, name: &str) -> Option<KnownEvent> {
    let mut event = well_known::find(provider, event_id, version, name)
        .or_else(|| table::find(provider, event_id, version))?;
    well_known::name_data(provider, &mut event);
    well_known::split_method_flags(&mut event);
    Some(event)
}

/// Returns the GUID of a provider of the runtime. GUIDs of other providers are derived from their names.
pub fn provider_guid(provider: &str) -> Option<Uuid> {
    table::provider_guid(provider)
}

/// Returns the keywords of a provider of the runtime: masks of one bit, in order, and names. Empty for other
/// providers.
pub fn keyword_names(provider: &str) -> Vec<(u64, &'static str)> {
    table::keyword_names(provider)
}
