//! Well-known events that metadata does not describe: their names, fields and meanings.
//!
//! The .NET runtime writes its own events without names and fields. They come from a table that was generated from the
//! runtime's event manifest. A few more events are missing in all manifests, and are defined in code.

mod meaning;
mod table;
mod well_known;

use ichnos_model::meaning::EventRole;
use uuid::Uuid;

pub use meaning::{CounterFields, EventMeaning, PayloadPath, meaning};
pub use well_known::replaces_metadata;

use crate::PayloadField;

/// A well-known event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownEvent {
    /// Name without the version, for example `GCStart` or `MethodLoadVerbose`.
    pub name: String,
    /// Field version: the requested version, or its replacement.
    pub version: u32,
    /// Task, for example `GC` or `Method`. PerfView names the event by task and opcode: `GC/Start`.
    pub task: Option<String>,
    /// Opcode number: 0 for an instant, 1 for a start, 2 for a stop.
    pub opcode: u8,
    /// Opcode name, for example `Start` or `LoadVerbose`.
    pub opcode_name: String,
    /// Level in the manifest, for events without metadata: 0 always, 1 critical, 2 error, 3 warning, 4 informational, 5
    /// verbose. `None` without a manifest.
    pub level: Option<u8>,
    /// Keywords, as a mask.
    pub keywords: u64,
    /// Payload fields. An event without fields has no payload.
    pub fields: Vec<PayloadField>,
    /// Meaning of the event and its fields.
    pub meaning: EventMeaning,
}

impl KnownEvent {
    /// Returns the meaning for a file's opcode, which may differ from the known opcode.
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

/// Returns a provider's well-known event. `name` is its name in metadata, which can be empty.
///
/// If `version` is unknown, returns the newest known version before it, or else the oldest version. Newer versions
/// append fields, so extra bytes after the fields belong to a newer version. A payload that is shorter than the fields
/// has another format, and should be read as bytes. See [`KnownEvent::version`].
pub fn find(provider: &str, event_id: u32, version: u32, name: &str) -> Option<KnownEvent> {
    let mut event = well_known::find(provider, event_id, version, name)
        .or_else(|| table::find(provider, event_id, version))?;
    well_known::name_data(provider, &mut event);
    well_known::split_method_flags(&mut event);
    Some(event)
}

/// Returns a runtime provider's GUID. Other providers' GUIDs are derived from their names.
pub fn provider_guid(provider: &str) -> Option<Uuid> {
    table::provider_guid(provider)
}

/// Returns a runtime provider's keywords: names with their one-bit masks, sorted by mask. Empty for other providers.
pub fn keyword_names(provider: &str) -> Vec<(u64, &'static str)> {
    table::keyword_names(provider)
}
