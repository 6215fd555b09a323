//! Metadata writer for any dialect; [`parse`](super::parse) reads the text back as the same classes.
//!
//! ```text
//! TraceClass -> fragments (SPEC-2.0, PROP-2.0) | prop1 | tsdl -> text -> read back -> WrittenMetadata
//!                 field_class, places (field locations), ranges, sizes (shared classes), clocks, attributes
//! ```
//!
//! Nothing is changed to fit a dialect: parts that it cannot express are [`Unsupported`]. Only the spelling
//! differs, as the last table shows.
//!
//! # Features of dialects
//! A dash means "cannot be expressed". Alignments are powers of two; "8" means only 8.
//!
//! | field class | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | bit array, boolean | yes | yes | yes | - |
//! | bit map, of at least one flag | yes | - | - | - |
//! | integer | yes | yes | yes | yes |
//! | other than natural bit order | yes | - | - | - |
//! | mappings: minimum number; minimum ranges of each | 0; 1 | 1; 1 | 0; 0 | 0; 1 |
//! | values of mappings | any | any | any | -2^63 to 2^64 - 1 |
//! | epoch of an integer | - | - | - | - |
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
//! Options of a variant that are labels have a name, and the values of that label; in CTF 1.8, the selector
//! is of fixed length, and the label is an identifier, perhaps with an underscore before the name. Root
//! fields are structures, except in PROP-1.0. An array of PROP-1.0 that is not aligned like its elements can
//! be expressed if that does not change its alignment.
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
//! | environment | integers, strings | any values | any values | integers of 64 bits, strings; names are identifiers |
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
//! A duplicate of a name or a namespace that must be unique cannot be expressed.
//!
//! # Spelling in dialects
//! | | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |
//! |---|---|---|---|---|
//! | clock class: reference to it | its id | its name | its name | its name |
//! | clock class: UUID | as UID | yes | yes | yes |
//! | clock class: no precision | yes | 0 | 0 | yes; 0 is meant |
//! | UUID field of packet headers | BLOB | BLOB | array of bytes | array of bytes |
//! | log level, EMF URI | attributes | attributes | attributes | properties |
//! | name, namespace of other classes than clocks | properties | properties | attributes | property |
//! | base of an integer | property | property | attribute | property |
//! | location | relative or absolute | absolute | absolute | a name alone, or absolute |
//! | environment | trace class | auxiliary stream | attributes of the trace class | block |
//! | auxiliary stream | attributes of the trace class | a file of its own | attributes of the trace class | - |
//! | class that is used several times | alias | at each use | alias | at each use |
//!
//! CTF 1.8 omits ids to which no field of the data refers: Babeltrace 2 refuses them. The offset of a clock
//! has fewer cycles than a second, except in PROP-1.0. Facts that are not metadata are ignored: meanings,
//! roles of events, log roles, the implied namespace, the clocks of a data stream other than its default one.

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

use ichnos_model::{ByteOrder, EventRecordClass, Limits, RangeSet, Severity, TraceClass};

use self::sizes::Sizes;
use self::unsupported::Refusals;
use super::json::vocabulary::Vocabulary;
use super::{Dialect, MetadataOptions};

/// Number of classes that following field locations may visit, for each field class that the limits allow.
const VISITS: u64 = 16;

/// Hard limit of the depth of field classes, regardless of the configured limits: walking them is recursive.
const DEEPEST: u32 = 256;

/// A trace class in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenMetadata {
    /// Metadata stream.
    pub text: String,
    /// Auxiliary streams, in the dialect that has them (PROP-2.0).
    pub aux_streams: Vec<WrittenAuxStream>,
}

/// Writes a trace class in a dialect. The same class gives the same text.
///
/// The text can be read within the limits, and gives the same class.
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
    let sizes = Sizes::of(trace, deepest);
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

/// Returns the label of an event record class for messages.
fn label_of(event: &EventRecordClass) -> String {
    match &event.name {
        Some(name) => format!("event record class {} `{name}`", event.id),
        None => format!("event record class {}", event.id),
    }
}

/// Returns the name of a byte order in TSDL and PROP-1.0.
const fn be_or_le(byte_order: ByteOrder) -> &'static str {
    match byte_order {
        ByteOrder::BigEndian => "be",
        ByteOrder::LittleEndian => "le",
    }
}

/// Returns `true` if two lists of ranges are the same in any order.
fn range_lists_agree(a: &RangeSet, b: &RangeSet) -> bool {
    let sorted = |set: &RangeSet| {
        let mut ranges = set.0.clone();
        ranges.sort_unstable_by_key(|range| (range.lower, range.upper));
        ranges
    };
    a == b || sorted(a) == sorted(b)
}
