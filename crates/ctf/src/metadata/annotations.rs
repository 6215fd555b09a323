//! Annotations: facts about classes that ichnos stored while writing a trace in a less expressive dialect.

use ichnos_model::TraceClass;
use ichnos_model::class::Value;
use ichnos_model::lower::{apply_annotations, put_annotations};
use ichnos_model::trace::Limits;

use super::json;

/// Environment entry for annotations in dialects without attributes.
pub const ANNOTATIONS: &str = "ichnos_annotations";

/// Applies annotations from attributes and from the environment, and removes them there.
pub(crate) fn take_over_annotations(class: &mut TraceClass, limits: &Limits) {
    if let Some(at) = class.environment.iter().position(|(name, _)| name == ANNOTATIONS)
        && let Value::Text(text) = &class.environment[at].1
        && let Some(annotations) = json::value_of_text(text, limits)
    {
        class.environment.remove(at);
        put_annotations(class, &annotations);
    }
    apply_annotations(class);
}
