//! PROP-2.0 auxiliary streams: data outside the data streams.

use ichnos_model::TraceClass;
use ichnos_model::class::Value;
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};

use super::object::{properties, refuse};
use super::text::{Json, single_value};
use crate::metadata::{Problems, memory};

/// Reads an auxiliary stream (CTF2-PROP-2.0, "Auxiliary stream"): a JSON object with a single property, named after the
/// namespace.
pub fn parse_aux_stream(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<(String, Value)> {
    let errors = problems.errors();
    let node = single_value(text, limits, problems)?;
    let [property] = properties(&node, problems)? else {
        refuse(&node, "an object with exactly one property", problems);
        return None;
    };
    if &*property.name == "std"
        && let Some(environment) = property.value.get("environment")
        && !matches!(environment.json, Json::Object(_))
    {
        refuse(environment, "an object", problems);
    }
    let value = property.value.to_value();
    problems.charge(memory::of_entry(&property.name, &value), node.position);
    (problems.errors() == errors).then(|| (property.name.to_string(), value))
}

/// Adds auxiliary streams to a trace class. The environment in the namespace `std` (CTF2-PROP-2.0, "Trace environment")
/// becomes the trace's environment. All other namespaces become attributes, joined with the metadata's attributes. A
/// second stream with the same namespace is refused.
pub fn apply_aux_streams(
    trace: &mut TraceClass,
    streams: impl IntoIterator<Item = (String, Value)>,
    problems: &mut Problems,
) {
    let mut seen: Vec<String> = Vec::new();
    for (namespace, value) in streams {
        if seen.contains(&namespace) {
            let message = format!("there are two auxiliary streams with the namespace `{namespace}`");
            problems.add(Diagnostic::error(TextPosition::default(), message));
            continue;
        }
        seen.push(namespace.clone());
        let value = match value {
            Value::Map(entries) if namespace == "std" => {
                let mut others = Vec::new();
                for (name, value) in entries {
                    match value {
                        Value::Map(variables) if name == "environment" => trace.environment.extend(variables),
                        value => others.push((name, value)),
                    }
                }
                if others.is_empty() {
                    continue;
                }
                Value::Map(others)
            }
            value => value,
        };
        trace.unmodeled.aux_streams.push((namespace.clone(), value.clone()));
        for namespace in trace.attributes.join([(namespace, value)].into_iter().collect()) {
            let message = format!(
                "the auxiliary stream with the namespace `{namespace}` repeats attribute names of the \
                metadata: the metadata attributes are used"
            );
            problems.add(Diagnostic::warning(TextPosition::default(), message));
        }
    }
}
