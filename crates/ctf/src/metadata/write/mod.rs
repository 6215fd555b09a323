//! Writes metadata in any dialect: what [`parse`](super::parse) reads back as the same classes.
//!
//! ```text
//! TraceClass -> fragments (SPEC-2.0, PROP-2.0) | prop1 | tsdl -> text -> read back -> WrittenMetadata
//!                 field_class, places (field locations), ranges, sizes (shared classes), clocks, attributes
//! ```
//!
//! Nothing is changed to fit a dialect: what a dialect cannot express is [`Unsupported`]. Only the spelling differs, as
//! the last table says.
//!
//! # What dialects can express
//! A dash: it cannot be expressed. Alignments are powers of two; "8" means no other one.
//!
//! | field class | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | bit array, boolean | yes | yes | yes | - |
//! | bit map, of at least one flag | yes | - | - | - |
//! | integer | yes | yes | yes | yes |
//! | bit order that is not natural | yes | - | - | - |
//! | mappings; how many at least; how many ranges of each | 0; 1 | 1; 1 | 0; 0 | 0; 1 |
//! | values of mappings | any | any | any | -2^63 to 2^64 - 1 |
//! | date that an integer counts from | - | - | - | - |
//! | floating-point number | yes | yes | yes | yes |
//! | variable-length integer | 8 | 8 | 8 and more | - |
//! | variable-length bit array | - | 8 | 8 and more | - |
//! | variable-length boolean | - | - | 8 and more | - |
//! | null-terminated string | 8 | 8 | 8 and more | 8 |
//! | static-length, dynamic-length string | 8 | 8 | any alignment | 8 |
//! | encoding | UTF-8, UTF-16, UTF-32 | UTF-8 | UTF-8 | UTF-8 |
//! | BLOB, with its media type | 8 | 8 | - | - |
//! | structure | yes | yes | yes | yes |
//! | array | any minimum alignment | no minimum of its own | any alignment | no minimum of its own |
//! | optional | yes | yes | - | - |
//! | variant | at least one option, each of at least one value | the same | options are labels of the selector | the same |
//! | union, null | - | - | yes | - |
//! | GUID, padding, length-prefixed string, fields of values alone | - | - | - | - |
//!
//! The options of a variant that are labels have a name, and the values of that label; in CTF 1.8, the selector is of
//! fixed length, and the label is an identifier, perhaps with an underscore before the name. Root fields are structures,
//! but for PROP-1.0. An array that is not aligned like its elements (PROP-1.0) is one that is where that makes no
//! difference to its alignment.
//!
//! | | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | location that fits only some options of a variant | - | - | yes | - |
//! | location of a root field itself | - | - | yes | - |
//! | roles | in the scopes of the document | the same | the same; timestamps anywhere | of the right names: [`tsdl_name_of_role`] |
//! | role of elements of an array that are no structures | yes | yes | - | timestamps |
//! | timestamp of another clock than the default one | - | - | yes | yes |
//! | field that updates several clocks | - | - | yes | - |
//! | default clock | any, or none | any, or none | that of the first tag | that of the first field that is mapped |
//! | namespace, name of the trace class | yes | - | - | - |
//! | environment | integers, strings | any values | - | integers of 64 bits, strings; names are identifiers |
//! | call sites | - | - | - | yes |
//! | clock class: namespace, accuracy, named origin | yes | - | - | - |
//! | clock class: description | yes | yes | - | yes |
//! | clock class: UID | yes | if it is a UUID | if it is a UUID | if it is a UUID |
//! | clock class: UUID beside another UID | - | yes | yes | yes |
//! | data stream class, event record class: id | 128 bits | 128 bits | 128 bits | 64 bits |
//! | data stream class: namespace, name | yes | yes | yes | - |
//! | event record class: namespace | yes | yes | yes | - |
//! | other UIDs | yes | - | - | - |
//! | attributes | yes | yes | yes | - |
//! | names of members | any | any | any | identifiers, after an underscore where one is needed |
//! | names of clocks that fields are mapped to | any | any | any | identifiers |
//! | class of resources | - | - | - | - |
//!
//! A name or a namespace that occurs twice where it must be the only one cannot be expressed.
//!
//! # What dialects spell differently
//! | | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | clock class: how others refer to it | its id | its name | its name | its name |
//! | clock class: UUID | as UID | yes | yes | yes |
//! | clock class: no precision | yes | 0 | 0 | yes; 0 is meant |
//! | UUID field of packet headers | BLOB | BLOB | array of bytes | array of bytes |
//! | log level, EMF URI | attributes | attributes | attributes | properties |
//! | name, namespace of other classes than clocks | properties | properties | attributes | property |
//! | base of an integer | property | property | attribute | property |
//! | location | relative or absolute | absolute | absolute | a name alone, or absolute |
//! | environment | trace class | auxiliary stream | - | block |
//! | class that is used several times | alias | at each use | alias | at each use |
//!
//! Ids that no field of the data refers to are left out of CTF 1.8: Babeltrace 2 refuses them. The offset of a clock has
//! less cycles than a second, but for PROP-1.0. What is not metadata is not looked at: meanings, roles of events, log
//! roles, the namespace that is implied, the clocks of a data stream besides its default one.

mod aliases;
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

use ichnos_model::{ByteOrder, EventRecordClass, Limits, RangeSet, Severity, TraceClass, Value};

use self::sizes::Sizes;
use self::unsupported::Refusals;
use super::json::vocabulary::Vocabulary;
use super::{Dialect, MetadataOptions};

/// Classes that following field locations may look at, for each field class that the limits allow.
const VISITS: u64 = 16;

/// Depth of field classes beyond which nothing is written, whatever the limits say: the classes are walked on a stack.
const DEEPEST: u32 = 256;

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
    let deepest = limits.depth.min(DEEPEST);
    let sizes = Sizes::of(trace, deepest);
    if sizes.classes > limits.field_classes {
        refusals.refuse(format!(
            "{} field classes, with those that are shared counted once for each use: the limit is {}",
            sizes.classes, limits.field_classes
        ));
    }
    if sizes.depth > deepest {
        refusals.refuse(format!("field classes that nest deeper than {deepest} levels, the limit"));
    }
    if sizes.memory_in(dialect) > limits.description_bytes {
        let most = limits.description_bytes;
        refusals.refuse(format!(
            "field classes that are used so often that reading them takes more than {most} bytes of memory, the limit"
        ));
    }
    if !refusals.is_empty() {
        return Err(refusals.into_unsupported());
    }
    let mut environment = None;
    let text = match dialect {
        Dialect::Ctf18 => tsdl::write(trace, refusals, limits)?,
        Dialect::Prop1 => prop1::write(trace, sizes, refusals, limits)?,
        Dialect::Prop2 => {
            environment = auxiliary_stream(trace, &mut refusals);
            fragments::write(trace, Vocabulary::Prop2, sizes, refusals, limits)?
        }
        Dialect::Spec2 => fragments::write(trace, Vocabulary::Spec2, sizes, refusals, limits)?,
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

/// How TSDL and PROP-1.0 call a byte order.
const fn be_or_le(byte_order: ByteOrder) -> &'static str {
    match byte_order {
        ByteOrder::BigEndian => "be",
        ByteOrder::LittleEndian => "le",
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
