//! Writes metadata in any dialect: what [`parse`](super::parse) reads back as the same classes.

mod attributes;
mod clocks;
mod field_class;
mod fragments;
mod json;
mod places;
mod prop1;
mod ranges;
mod sizes;
mod tsdl;
mod unsupported;

pub use tsdl::tsdl_name_of_role;
pub use unsupported::Unsupported;

use ichnos_model::{EventRecordClass, Limits, RangeSet, Severity, TraceClass, Value};

use self::sizes::Sizes;
use self::unsupported::Refusals;
use super::json::vocabulary::Vocabulary;
use super::{Dialect, MetadataOptions};

/// Classes that following field locations may look at, for each field class that the limits allow.
const VISITS: u64 = 16;

/// What a trace class is in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenMetadata {
    /// The metadata stream.
    pub text: String,
    /// The auxiliary stream with the environment, in the dialect that has such streams (PROP-2.0).
    pub environment: Option<String>,
}

/// Writes a trace class in a dialect. The same class gives the same text.
///
/// What is written can be read within the limits, and says the same.
///
/// # Errors
/// All that the dialect cannot express, each where it is.
pub fn write_metadata(
    trace: &TraceClass,
    dialect: Dialect,
    limits: &Limits,
) -> Result<WrittenMetadata, Vec<Unsupported>> {
    let mut refusals = Refusals::new(limits.diagnostics);
    let sizes = Sizes::of(trace, limits.depth);
    if sizes.classes > limits.field_classes {
        refusals.refuse(format!(
            "{} field classes, with those that are shared counted once for each use: the limit is {}",
            sizes.classes, limits.field_classes
        ));
    }
    if sizes.depth > limits.depth {
        refusals.refuse(format!("field classes that nest deeper than {} levels, the limit", limits.depth));
    }
    if !refusals.is_empty() {
        return Err(refusals.into_unsupported());
    }
    let mut environment = None;
    let text = match dialect {
        Dialect::Spec2 => {
            let mut text = String::new();
            for fragment in fragments::write(trace, Vocabulary::Spec2, sizes, refusals, limits)? {
                text.push('\u{1e}');
                json::write(&mut text, &fragment, 0);
                text.push('\n');
            }
            text
        }
        Dialect::Prop2 => {
            environment = auxiliary_stream(trace, &mut refusals);
            let fragments = fragments::write(trace, Vocabulary::Prop2, sizes, refusals, limits)?;
            let mut text = String::new();
            json::write(&mut text, &Value::Array(fragments), 0);
            text.push('\n');
            text
        }
        Dialect::Ctf18 => tsdl::write(trace, refusals, limits)?,
        Dialect::Prop1 => {
            let mut text = String::new();
            json::write(&mut text, &prop1::write(trace, sizes, refusals, limits)?, 0);
            text.push('\n');
            text
        }
    };
    read_back(&text, dialect, limits)?;
    Ok(WrittenMetadata { text, environment })
}

/// Sees to it that a text can be read.
fn read_back(text: &str, dialect: Dialect, limits: &Limits) -> Result<(), Vec<Unsupported>> {
    let options = MetadataOptions { dialect: Some(dialect), limits: *limits, ..MetadataOptions::default() };
    let Err(error) = super::parse(text.as_bytes(), &options) else { return Ok(()) };
    let mut refusals = Refusals::new(limits.diagnostics);
    for problem in error.diagnostics.iter().filter(|problem| problem.severity == Severity::Error) {
        refusals.refuse_problem(problem);
    }
    Err(refusals.into_unsupported())
}

/// CTF2-PROP-2.0, "Trace environment".
fn auxiliary_stream(trace: &TraceClass, refusals: &mut Refusals) -> Option<String> {
    if trace.environment.is_empty() {
        return None;
    }
    let mut names = std::collections::HashSet::new();
    for (name, value) in &trace.environment {
        refusals.within(format!("environment entry `{name}`"), |refusals| {
            refusals.refuse_if(!names.insert(name), "a name that occurs twice");
            json::check(value, 0, refusals);
        });
    }
    let mut variables = json::Object::default();
    variables.set("environment", Value::Map(trace.environment.clone()));
    let mut stream = json::Object::default();
    stream.set("std", variables.finish());
    let mut text = String::new();
    json::write(&mut text, &stream.finish(), 0);
    text.push('\n');
    Some(text)
}

/// What people call an event record class.
fn label_of(event: &EventRecordClass) -> String {
    match &event.name {
        Some(name) => format!("event record class {} `{name}`", event.id),
        None => format!("event record class {}", event.id),
    }
}

/// Whether two lists of ranges are the same, in whichever order.
fn range_lists_agree(a: &RangeSet, b: &RangeSet) -> bool {
    let sorted = |set: &RangeSet| {
        let mut ranges = set.0.clone();
        ranges.sort_unstable_by_key(|range| (range.lower, range.upper));
        ranges
    };
    a == b || sorted(a) == sorted(b)
}
