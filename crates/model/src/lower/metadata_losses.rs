//! Metadata losses in formats that describe only events and their fields.

use super::annotations::NAMESPACE;
use super::loss_table::{LossKind, LossTable};
use crate::class::{Attributes, EventRecordClass, TraceClass, Value};
use crate::clock::ClockClass;
use crate::event::Event;
use crate::log::{LogSeverity, TRACER_NAMESPACES};

/// PROP-1.0 namespace for attributes that are properties in other dialects.
const STANDARD: &str = "diamon.org/ctf/ns/std";

/// Metadata that a format without names and attributes still keeps in its own way.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptMetadata {
    /// Namespace of the attributes that the format's reader creates.
    pub namespace: Option<&'static str>,
    /// Descriptions of the clocks that the format's reader creates.
    pub clocks: &'static [&'static str],
    /// `true` if the format stores data stream class names.
    pub stream_names: bool,
    /// `true` if the format stores log severities, derived from log levels.
    pub severities: bool,
}

impl LossTable {
    /// Adds the metadata outside of event record classes that formats without names and attributes drop.
    pub fn add_trace_metadata(&mut self, class: &TraceClass, kept: KeptMetadata) {
        let own = kept.namespace;
        self.drop_all(
            "",
            "",
            "the trace",
            [
                (
                    class.name.is_some() || class.uid.is_some() || class.uuid.is_some(),
                    "name or unique identifier",
                ),
                (class.namespace.is_some(), "namespace"),
                (has_attributes(&class.attributes, own), "attributes"),
            ],
        );
        for (namespace, _) in &class.unmodeled.aux_streams {
            self.drop_all("", "", "the trace", [(true, format!("auxiliary stream `{namespace}`").as_str())]);
        }
        for stream in &class.data_streams {
            self.drop_all(
                "",
                "",
                "a data stream class",
                [
                    (stream.name.is_some() && !kept.stream_names, "name"),
                    (stream.namespace.is_some(), "namespace"),
                    (stream.uid.is_some(), "unique identifier"),
                    (has_attributes(&stream.attributes, own), "attributes"),
                ],
            );
        }
        for clock in &class.clocks {
            self.add_clock_metadata(clock, kept);
        }
    }

    /// Adds the clock metadata that formats without names and attributes drop.
    pub fn add_clock_metadata(&mut self, clock: &ClockClass, kept: KeptMetadata) {
        // Readers recreate their clocks with the same name and description.
        let is_own = clock.description.as_deref().is_some_and(|text| kept.clocks.contains(&text));
        self.drop_all(
            "",
            &format!("clock.{}", clock.id),
            "a clock",
            [
                (clock.name.is_some() && !is_own, "name"),
                (clock.namespace.is_some(), "namespace"),
                (clock.uid.is_some(), "unique identifier"),
                (clock.uuid.is_some(), "UUID"),
                (clock.description.is_some() && !is_own, "description"),
                (clock.precision.is_some_and(|cycles| cycles > 0), "precision"),
                (clock.accuracy.is_some(), "accuracy"),
                (has_attributes(&clock.attributes, kept.namespace), "attributes"),
            ],
        );
    }

    /// Adds the event record class metadata that formats with only names and fields drop.
    pub fn add_class_metadata(&mut self, event: &Event<'_>, kept: KeptMetadata) {
        let (class, own) = (event.class, kept.namespace);
        let severity = class.log.as_ref().map(|log| log.severity);
        let keeps_level =
            kept.severities && matches!(severity, Some(LogSeverity::Constant(_) | LogSeverity::Member));
        self.drop_all(
            event.name(),
            "",
            "the event record class",
            [
                (class.namespace.is_some(), "namespace"),
                (class.uid.is_some(), "unique identifier"),
                (class.emf_uri.is_some(), "EMF URI"),
                (class.log_level.is_some() && !keeps_level, "log level"),
                (others(&class.attributes, own).any(|entry| !repeats_properties(class, entry)), "attributes"),
            ],
        );
    }

    /// Adds the lost properties of an item.
    fn drop_all<const N: usize>(
        &mut self,
        class: &str,
        field: &str,
        item: &str,
        properties: [(bool, &str); N],
    ) {
        for (_, property) in properties.into_iter().filter(|(is_lost, _)| *is_lost) {
            let (class, field, what) = (class.to_owned(), field.to_owned(), format!("{property} of {item}"));
            self.note(LossKind::Dropped, class, field, what);
        }
    }
}

/// Returns `true` for attributes other than the format's own, in the namespace `own`, and those of ichnos, which
/// readers have applied already.
#[must_use]
pub fn has_attributes(attributes: &Attributes, own: Option<&str>) -> bool {
    others(attributes, own).next().is_some()
}

fn others<'a>(attributes: &'a Attributes, own: Option<&'a str>) -> impl Iterator<Item = &'a (String, Value)> {
    let is_known = move |(namespace, value): &(String, Value)| {
        namespace == NAMESPACE || Some(namespace.as_str()) == own || repeats_names(namespace, value)
    };
    attributes.iter().filter(move |entry| !is_known(entry))
}

/// Returns `true` for PROP-1.0 attributes that contain only the name, the namespace or the base of an item.
fn repeats_names(namespace: &str, value: &Value) -> bool {
    let Value::Map(entries) = value else { return false };
    namespace == STANDARD && entries.iter().all(|(name, _)| ["name", "ns", "base"].contains(&name.as_str()))
}

/// Returns `true` for CTF 2 attributes that contain only the log level and the EMF URI of a class.
fn repeats_properties(class: &EventRecordClass, (namespace, value): &(String, Value)) -> bool {
    let Value::Map(entries) = value else { return false };
    let is_property = |(name, _): &(String, Value)| match name.as_str() {
        "log-level" => class.log_level.is_some(),
        "emf-uri" => class.emf_uri.is_some(),
        _ => false,
    };
    TRACER_NAMESPACES.contains(&namespace.as_str()) && entries.iter().all(is_property)
}
