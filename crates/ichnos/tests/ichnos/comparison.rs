//! Comparison of a trace with its conversion. Events may differ only where the loss table says so.

use std::collections::HashSet;

use ichnos::model::lower::{LossKind, LossTable};
use serde_json::Value;

/// Compared event fields, and their scope names in loss tables.
const SCOPES: [(&str, &str); 3] =
    [("common_context", "ctx"), ("specific_context", "ctx"), ("payload", "payload")];

/// Compares events written as JSON lines.
pub(crate) struct Comparison<'c> {
    /// Field paths with losses. Renamed fields are compared by position.
    lossy: Vec<String>,
    /// Added field paths.
    added: Vec<String>,
    /// `true` if header fields became part of the common context.
    moves_fields: bool,
    /// Variant option names, which occur only in loss paths.
    options: HashSet<&'c str>,
    differences: Vec<String>,
}

impl<'c> Comparison<'c> {
    pub(crate) fn new(losses: &[&LossTable], options: &'c HashSet<String>) -> Self {
        let all = || losses.iter().flat_map(|table| table.iter()).map(|(loss, _)| loss);
        Self {
            lossy: all()
                .filter(|loss| loss.kind != LossKind::Renamed)
                .map(|loss| loss.field.clone())
                .collect(),
            added: all()
                .filter(|loss| loss.what.starts_with("added:"))
                .map(|loss| loss.field.clone())
                .collect(),
            moves_fields: all().any(|loss| loss.kind == LossKind::Moved),
            options: options.iter().flat_map(|name| name.split('.')).collect(),
            differences: Vec::new(),
        }
    }

    /// Returns the differences between events and their sources, in words.
    pub(crate) fn events(mut self, sources: &[Value], found: &[Value]) -> Vec<String> {
        for (source, found) in sources.iter().zip(found) {
            if source["cycles"] != found["cycles"] {
                self.differences.push(format!("cycles: {} {}", source["cycles"], found["cycles"]));
            }
            // In CTF 1.8, the specific context can become part of the payload.
            let is_joined = is_empty(&found["specific_context"]) && !is_empty(&source["specific_context"]);
            let scopes = if is_joined { &SCOPES[..1] } else { &SCOPES[..] };
            for (scope, short) in scopes {
                let has_moved = *scope == "common_context" && self.moves_fields;
                let mut own = found[scope].clone();
                if let (true, Value::Object(members)) = (has_moved, &mut own) {
                    members.retain(|name, _| !self.is_in(&self.added, &format!("{short}.{name}")));
                }
                let own = without_moved(&source[scope], &own, has_moved);
                self.values(&source[scope], &own, short);
            }
        }
        self.differences
    }

    fn values(&mut self, source: &Value, found: &Value, path: &str) {
        if self.is_lossy(path) || (is_empty(source) && is_empty(found)) {
            return;
        }
        match (plain(source), plain(found)) {
            (Value::Object(source), Value::Object(found)) => {
                let is_kept = |name: &&String| !self.is_lossy(&format!("{path}.{name}"));
                let is_added = |name: &str| self.is_in(&self.added, &format!("{path}.{name}"));
                let names: Vec<&String> =
                    source.iter().filter(|(_, value)| !is_empty(value)).map(|(name, _)| name).collect();
                let mut values: Vec<(&String, &Value)> =
                    found.iter().filter(|(_, value)| !is_empty(value)).collect();
                if values.len() > names.len() {
                    values.retain(|(name, _)| !is_added(name));
                }
                let mut kept = names.clone();
                if values.len() != names.len() {
                    kept.retain(is_kept);
                    values.retain(|(name, _)| is_kept(name));
                }
                if values.len() != kept.len() {
                    return self.differences.push(format!("{path}: {source:?} {found:?}"));
                }
                for (name, (_, value)) in kept.iter().zip(&values) {
                    self.values(&source[name.as_str()], value, &format!("{path}.{name}"));
                }
            }
            (Value::Array(source), Value::Array(found)) if source.len() == found.len() => {
                for (source, found) in source.iter().zip(found) {
                    self.values(source, found, &format!("{path}.[]"));
                }
            }
            (source, found) if source == found => {}
            // A boolean is true if any of its bits is set.
            (Value::Bool(source), Value::Number(found)) if (found.as_u64() != Some(0)) == *source => {}
            _ if self.is_within_lossy(path) => {}
            _ => self.differences.push(format!("{path}: {source:?} {found:?}")),
        }
    }

    /// Returns `true` if the losses name a field. Loss paths also contain option names.
    fn is_lossy(&self, path: &str) -> bool {
        self.is_in(&self.lossy, path)
    }

    fn is_in(&self, losses: &[String], path: &str) -> bool {
        let own: Vec<&str> = path.split('.').collect();
        losses.iter().any(|loss| {
            let mut segments: Vec<&str> = loss.split('.').collect();
            while !is_subsequence(&own, &segments) || own.last() != segments.last() {
                match segments.pop() {
                    Some(last) if self.options.contains(last) => {}
                    _ => return false,
                }
            }
            true
        })
    }

    /// Returns `true` if the losses name a field or a nested field.
    fn is_within_lossy(&self, path: &str) -> bool {
        let own: Vec<&str> = path.split('.').collect();
        own.len() > 1
            && self.lossy.iter().any(|loss| is_subsequence(&own, &loss.split('.').collect::<Vec<_>>()))
    }
}

/// Returns `true` if all segments occur in others, in the same order.
fn is_subsequence(own: &[&str], others: &[&str]) -> bool {
    let mut others = others.iter();
    own.iter().all(|name| others.any(|other| other == name))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().all(is_empty),
        _ => false,
    }
}

/// Returns a context without the event record header fields, which come before its own, and without a root field that
/// became a member.
fn without_moved(source: &Value, found: &Value, has_moved: bool) -> Value {
    let Value::Object(members) = found else { return found.clone() };
    match plain(source) {
        Value::Object(source) if has_moved && members.len() > source.len() => {
            let skipped = members.len() - source.len();
            let rest = members.iter().skip(skipped);
            Value::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        Value::Object(source) if members.len() > 1 || source.contains_key("value") => found.clone(),
        Value::Null if has_moved => Value::Null,
        Value::Object(_) => members.get("value").unwrap_or(found).clone(),
        // Other roots become members after those that moved.
        _ if has_moved => members.values().next_back().unwrap_or(found).clone(),
        _ => members.get("value").unwrap_or(found).clone(),
    }
}

/// Returns the plain value of a number that is shown with its kind or its labels.
fn plain(value: &Value) -> &Value {
    match value {
        Value::Object(members) if members.len() == 1 => {
            let kinds = ["bits", "$int", "value"];
            kinds.into_iter().find_map(|kind| members.get(kind)).map_or(value, plain)
        }
        Value::Object(members) if members.len() == 2 && members.contains_key("labels") => {
            members.get("value").map_or(value, plain)
        }
        value => value,
    }
}
