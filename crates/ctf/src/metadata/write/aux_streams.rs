//! PROP-2.0 auxiliary streams.

use std::collections::HashSet;

use ichnos_model::TraceClass;
use ichnos_model::class::Value;

use super::json;
use super::unsupported::Refusals;

/// Namespace of the environment stream.
const STANDARD: &str = "std";

/// Environment file name.
pub(crate) const ENVIRONMENT: &str = "environment.json";

/// Maximum length in bytes of a file name derived from a namespace.
const LONGEST_NAME: usize = 100;

/// Auxiliary stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenAuxStream {
    /// File name, next to the metadata.
    pub file: String,
    /// File content.
    pub text: String,
}

/// Writes the environment (CTF2-PROP-2.0, "Trace environment") and the other auxiliary streams of a trace class
/// ("Auxiliary stream"), each namespace in its own file.
pub(super) fn write(trace: &TraceClass, refusals: &mut Refusals) -> Vec<WrittenAuxStream> {
    let streams = &trace.unmodeled.aux_streams;
    let mut written = Vec::new();
    let standard = streams.iter().find(|(namespace, _)| namespace == STANDARD).map(|(_, value)| value);
    if let Some(value) = standard_stream(trace, standard, refusals) {
        written.push(stream(ENVIRONMENT.to_owned(), STANDARD, value));
    }
    let mut files: HashSet<String> = [ENVIRONMENT.to_owned()].into();
    for (namespace, value) in streams.iter().filter(|(namespace, _)| namespace != STANDARD) {
        refusals
            .within(format!("auxiliary stream `{namespace}`"), |refusals| json::check(value, 0, refusals));
        let mut file = file_name(namespace);
        let mut number = 1_u64;
        // Some file systems do not distinguish upper and lower case.
        while !files.insert(file.to_lowercase()) {
            file = format!("auxiliary-{number}.json");
            number += 1;
        }
        written.push(stream(file, namespace, value.clone()));
    }
    written
}

/// Returns the standard namespace's stream: the environment, and the source's further entries.
fn standard_stream(trace: &TraceClass, others: Option<&Value>, refusals: &mut Refusals) -> Option<Value> {
    let mut names = HashSet::new();
    for (name, value) in &trace.environment {
        refusals.within(format!("environment entry `{name}`"), |refusals| {
            refusals.refuse_if(!names.insert(name), "a duplicate name");
            json::check(value, 0, refusals);
        });
    }
    let mut content = json::JsonObject::default();
    if !trace.environment.is_empty() {
        content.set("environment", Value::Map(trace.environment.clone()));
    }
    match others {
        None if trace.environment.is_empty() => return None,
        None => {}
        Some(Value::Map(others)) => {
            for (name, value) in others {
                refusals.within(format!("auxiliary stream `{STANDARD}`"), |refusals| {
                    refusals.refuse_if(name == "environment", "another environment");
                    json::check(value, 0, refusals);
                });
                content.set(name, value.clone());
            }
        }
        Some(_) if !trace.environment.is_empty() => {
            refusals.refuse(format!(
                "an environment next to the auxiliary stream `{STANDARD}`, which is not an object"
            ));
        }
        Some(value) => return Some(value.clone()),
    }
    Some(content.finish())
}

fn stream(file: String, namespace: &str, value: Value) -> WrittenAuxStream {
    let mut object = json::JsonObject::default();
    object.set(namespace, value);
    let mut text = String::new();
    json::write(&mut text, &object.finish(), 0);
    text.push('\n');
    WrittenAuxStream { file, text }
}

/// Returns a namespace's file name: the namespace itself if every file system accepts it.
fn file_name(namespace: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = namespace.starts_with(|c: char| c.is_ascii_alphanumeric())
        && namespace.chars().all(is_plain)
        && namespace.len() <= LONGEST_NAME;
    format!("{}.json", if is_name { namespace } else { "auxiliary" })
}
