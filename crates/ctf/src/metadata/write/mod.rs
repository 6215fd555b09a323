//! Metadata writer for any dialect. [`parse`](super::parse) reads the text back as the same classes.
//!
//! ```text
//! TraceClass -> fragments (SPEC-2.0, PROP-2.0) | prop1 | tsdl -> text -> read back -> WrittenMetadata
//!                 field_class, places (field locations), ranges, sizes (shared classes), clocks, attributes
//! ```
//!
//! Classes are never changed to fit a dialect: parts that it cannot express are [`Unsupported`]. Only the spelling
//! differs, as the last table shows.
//!
//! # Dialect features
//! A dash means "cannot be expressed". Alignments are powers of two, and "8" means only 8.
//!
//! | field class | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | bit array, boolean | yes | yes | yes | - |
//! | bit map with at least one flag | yes | - | - | - |
//! | integer | yes | yes | yes | yes |
//! | bit order other than natural | yes | - | - | - |
//! | mappings: minimum count, minimum ranges in each | 0, 1 | 1, 1 | 0, 0 | 0, 1 |
//! | mapped values | any | any | any | -2^63 to 2^64 - 1 |
//! | integer epoch | - | - | - | - |
//! | floating-point number | yes | yes | yes | yes |
//! | variable-length integer | 8 | 8 | 8 and more | - |
//! | variable-length bit array | - | 8 | 8 and more | - |
//! | variable-length boolean | - | - | 8 and more | - |
//! | null-terminated string | 8 | 8 | 8 and more | 8 |
//! | static-length, dynamic-length string | 8 | 8 | any alignment | 8 |
//! | encoding | UTF-8, UTF-16, UTF-32 | UTF-8 | UTF-8 | UTF-8 |
//! | BLOB with its media type | 8 | 8 | - | - |
//! | structure | yes | yes | yes | yes |
//! | array | any minimum alignment | element alignment | any alignment | element alignment |
//! | optional | yes | yes | - | - |
//! | variant | at least one option, each with at least one value | same | options are selector labels | same |
//! | union, null | - | - | yes | - |
//! | GUID, padding, length-prefixed string, value-only fields | - | - | - | - |
//!
//! Variant options that are labels have the label as name, and its values. In CTF 1.8, the selector must have a fixed
//! length, and the label must be an identifier, possibly with an underscore before the name. Root fields are
//! structures, except in PROP-1.0. A PROP-1.0 array whose alignment differs from its elements can be expressed if this
//! does not change its alignment.
//!
//! | | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | location that fits only some variant options | - | - | yes | - |
//! | location that is a root field | - | - | yes | - |
//! | roles | in the document's scopes | same | same, timestamps anywhere | by name: [`tsdl_name_of_role`] |
//! | role on array elements other than structures | yes | yes | - | timestamps |
//! | timestamp of another clock than the default clock | - | - | yes | yes |
//! | field that updates several clocks | - | - | yes | - |
//! | default clock | any, or none | any, or none | the first tag's clock | the first mapped field's clock |
//! | trace class: namespace, name | yes | - | - | - |
//! | environment | integers, strings | any values | any values | 64-bit integers, strings, with identifiers as names |
//! | call sites | - | - | - | yes |
//! | clock class: namespace, accuracy, named origin | yes | - | - | - |
//! | clock class: description | yes | yes | - | yes |
//! | clock class: UID | yes | if it is a UUID | if it is a UUID | if it is a UUID |
//! | clock class: UUID and a different UID | - | yes | yes | yes |
//! | data stream class, event record class: id | 128 bits | 128 bits | 128 bits | 64 bits |
//! | data stream class: namespace, name | yes | yes | yes | - |
//! | event record class: namespace | yes | yes | yes | - |
//! | other UIDs | yes | - | - | - |
//! | attributes | yes | yes | yes | - |
//! | member names | any | any | any | identifiers, with an underscore if needed |
//! | names of mapped clocks | any | any | any | identifiers |
//! | resource class | - | - | - | - |
//!
//! Duplicate names or namespaces cannot be expressed where they must be unique.
//!
//! # Dialect spelling
//! | | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | clock class: referenced by | id | name | name | name |
//! | clock class: UUID | as UID | yes | yes | yes |
//! | clock class: no precision | omitted | 0 | 0 | omitted, meaning 0 |
//! | UUID field in packet headers | BLOB | BLOB | byte array | byte array |
//! | log level, EMF URI | attributes | attributes | attributes | properties |
//! | name, namespace of other classes | properties | properties | attributes | property |
//! | integer base | property | property | attribute | property |
//! | location | relative or absolute | absolute | absolute | single name, or absolute |
//! | environment | trace class | auxiliary stream | trace class attributes | block |
//! | auxiliary stream | trace class attributes | separate file | trace class attributes | - |
//! | class with several uses | alias | repeated | alias | repeated |
//!
//! CTF 1.8 metadata omits ids without a corresponding field in the data, because Babeltrace 2 refuses them. A clock
//! offset's cycles are less than a second, except in PROP-1.0. Facts other than metadata are ignored: meanings, event
//! roles, log roles, the implied namespace, and a data stream's further clocks.

mod aliases;
pub(crate) mod attributes;
mod aux_streams;
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

pub(crate) use aux_streams::ENVIRONMENT;
pub use aux_streams::WrittenAuxStream;
pub use tsdl::tsdl_name_of_role;
pub use unsupported::Unsupported;

use ichnos_model::TraceClass;
use ichnos_model::class::{ByteOrder, EventRecordClass, RangeSet};
use ichnos_model::trace::{Limits, Severity};

use self::sizes::ClassSizes;
use self::unsupported::Refusals;
use super::json::vocabulary::Vocabulary;
use super::{Dialect, MetadataOptions};

/// Number of class visits allowed for following field locations, per field class that the limits allow.
const VISITS: u64 = 16;

/// Hard limit for field class depth, regardless of the configured limits, because walking them is recursive.
const DEEPEST: u32 = 256;

/// Trace class in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenMetadata {
    /// Metadata stream.
    pub text: String,
    /// Auxiliary streams (PROP-2.0 only).
    pub aux_streams: Vec<WrittenAuxStream>,
}

/// Writes a trace class in a dialect. Equal classes produce equal texts.
///
/// The text can be read within the limits, and reading it returns the same class.
///
/// # Errors
/// Returns everything that the dialect cannot express, with its place.
pub fn write_metadata(
    trace: &TraceClass,
    dialect: Dialect,
    limits: &Limits,
) -> Result<WrittenMetadata, Vec<Unsupported>> {
    let mut refusals = Refusals::new(limits.diagnostics);
    let deepest = limits.depth.min(DEEPEST);
    let sizes = ClassSizes::for_trace(trace, deepest);
    if sizes.classes > limits.field_classes {
        refusals.refuse(format!(
            "{} field classes, with shared classes counted once per use: the limit is {}",
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
    let mut aux_streams = Vec::new();
    let text = match dialect {
        Dialect::Ctf18 => tsdl::write(trace, refusals, limits)?,
        Dialect::Prop1 => prop1::write(trace, sizes, refusals, limits)?,
        Dialect::Prop2 => {
            aux_streams = aux_streams::write(trace, &mut refusals);
            fragments::write(trace, Vocabulary::Prop2, sizes, refusals, limits)?
        }
        Dialect::Spec2 => fragments::write(trace, Vocabulary::Spec2, sizes, refusals, limits)?,
    };
    read_back(&text, dialect, limits)?;
    Ok(WrittenMetadata { text, aux_streams })
}

/// Checks that a text can be read.
fn read_back(text: &str, dialect: Dialect, limits: &Limits) -> Result<(), Vec<Unsupported>> {
    let options = MetadataOptions { dialect: Some(dialect), limits: *limits, ..MetadataOptions::default() };
    let Err(error) = super::parse(text.as_bytes(), &options) else { return Ok(()) };
    let mut refusals = Refusals::new(limits.diagnostics);
    for problem in error.diagnostics.iter().filter(|problem| problem.severity == Severity::Error) {
        refusals.refuse_problem(problem);
    }
    Err(refusals.into_unsupported())
}

/// Returns an event record class's label for messages.
fn label_of(event: &EventRecordClass) -> String {
    match &event.name {
        Some(name) => format!("event record class {} `{name}`", event.id),
        None => format!("event record class {}", event.id),
    }
}

/// Returns a byte order's name in TSDL and PROP-1.0.
const fn be_or_le(byte_order: ByteOrder) -> &'static str {
    match byte_order {
        ByteOrder::BigEndian => "be",
        ByteOrder::LittleEndian => "le",
    }
}

/// Returns `true` if two range lists are equal in any order.
fn range_lists_agree(a: &RangeSet, b: &RangeSet) -> bool {
    let sorted = |set: &RangeSet| {
        let mut ranges = set.0.clone();
        ranges.sort_unstable_by_key(|range| (range.lower, range.upper));
        ranges
    };
    a == b || sorted(a) == sorted(b)
}
