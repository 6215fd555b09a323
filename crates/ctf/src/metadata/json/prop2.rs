//! Parts specific to PROP-2.0: fragment arrays, UUIDs as strings, clocks by name.

use ichnos_model::TraceClass;
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::trace::Limits;

use super::object::{Object, array, boolean, text, unsigned};
use super::stream::{StreamReader, canonical_uuid};
use super::text::{Json, fragments};
use super::vocabulary::Vocabulary;
use crate::metadata::Problems;

/// Reads a CTF2-PROP-2.0 metadata stream ("Metadata stream"): a JSON array of fragments, possibly unterminated.
///
/// Adds problems to `problems`, and returns `None` if any is an error.
pub fn parse_prop2(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    let errors = problems.errors();
    let node = fragments(text, limits, problems)?;
    array(&node, problems)?;
    let Json::Array(fragments) = node.json else { return None };
    let mut reader = StreamReader::new(Vocabulary::Prop2, limits, problems);
    for fragment in fragments {
        // Fragments are dropped after reading, because their classes need the memory.
        reader.fragment(&fragment);
    }
    let trace = reader.finish(text);
    if problems.errors() == errors { trace } else { None }
}

impl StreamReader<'_> {
    /// Reads a trace class (CTF2-PROP-2.0, "Trace class fragment").
    pub(super) fn prop2_trace_class(&mut self, object: &mut Object<'_>) {
        let node = object.get("uuid");
        self.trace.uuid = node.and_then(|node| canonical_uuid(node, self.classes.problems));
    }

    /// Reads a clock class (CTF2-PROP-2.0, "Clock class fragment"). The default origin is the Unix epoch.
    pub(super) fn prop2_clock_class(&mut self, object: &mut Object<'_>) -> Option<ClockClass> {
        let name_node = object.require("name", self.classes.problems);
        let name = name_node.and_then(|node| text(node, self.classes.problems));
        let frequency = self.frequency(object);
        // A missing name or frequency was already reported.
        let mut clock = ClockClass::new(name.unwrap_or_default(), frequency.unwrap_or(u64::MAX));
        self.offset("offset", &mut clock, object);
        let problems = &mut *self.classes.problems;
        clock.name = name.map(str::to_owned);
        clock.description = object.text("description", problems);
        let uuid_node = object.get("uuid");
        clock.uuid = uuid_node.and_then(|node| canonical_uuid(node, problems));
        let precision = object.get("precision");
        clock.precision = precision.map_or(Some(0), |node| unsigned(node, problems));
        let unix = object.get("origin-is-unix-epoch").map_or(Some(true), |node| boolean(node, problems));
        clock.origin = if unix == Some(true) { ClockOrigin::UnixEpoch } else { ClockOrigin::Unknown };
        let name = name?;
        if self.clocks.contains_key(name) {
            let position = object.position_of(name_node);
            problems.error(position, format!("duplicate clock class `{name}`"));
            return None;
        }
        if let (Some(node), Some(uuid)) = (uuid_node, clock.uuid)
            && !self.clock_uuids.insert(uuid)
        {
            problems.error(node.position, "duplicate clock class UUID");
        }
        Some(clock)
    }
}
