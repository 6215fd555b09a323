//! What ichnos knew of the classes of a trace when it wrote it, beyond what the dialect can say.

use ichnos_model::lower::{apply_annotations, put_annotations};
use ichnos_model::{Limits, TraceClass, Value};

use super::json;

/// The entry of the environment that has annotations where the dialect has no attributes.
pub const ANNOTATIONS: &str = "ichnos_annotations";

/// Takes annotations over: from attributes, and from the environment, of which they are no longer a part then.
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
