//! One construct, one trace: for each construct in each document, the smallest trace that contains it and nothing else,
//! with the expected events.
//!
//! A construct is a line in a table: [`constructs`] returns all of them. Bytes and metadata are made here, bit by bit
//! and from the documents alone. Readers and writers share no code with this module. To add a CTF construct:
//!
//! ```ignore
//! let mut trace = CtfTrace::new(language, "unsigned integer, 5 bits");
//! trace.member(RootPlace::Payload, "x", language.integer(5, false, Order::Le));
//! trace.event().int(RootPlace::Payload, "x", 31, 5);
//! constructs.push(trace.finish());
//! ```

mod ctf_fields;
mod ctf_language;
mod ctf_streams;
mod ctf_trace;
mod datum;
mod fuchsia;
mod nettrace;
mod reports;

pub use self::datum::Datum;

/// Format or dialect for encoding constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Origin {
    Prop1,
    Prop2,
    Spec2,
    Ctf18,
    Nettrace3,
    Nettrace4,
    Nettrace6,
    FuchsiaLog,
    Fxt,
    XTrace,
    JsonLines,
}

impl Origin {
    /// Returns the format name, and the dialect for this document if the format is written in several dialects.
    #[must_use]
    pub fn target(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Prop1 => ("ctf", Some("prop1")),
            Self::Prop2 => ("ctf", Some("prop2")),
            Self::Spec2 => ("ctf", Some("spec2")),
            Self::Ctf18 => ("ctf", Some("ctf1.8")),
            // Version 3 is not written.
            Self::Nettrace3 | Self::Nettrace4 => ("nettrace", Some("4")),
            Self::Nettrace6 => ("nettrace", Some("6")),
            Self::FuchsiaLog => ("fuchsia-log", None),
            Self::Fxt => ("fxt", None),
            Self::XTrace => ("xtrace", None),
            Self::JsonLines => ("jsonl", None),
        }
    }
}

/// Trace with one construct.
#[derive(Clone, Debug)]
pub struct Construct {
    /// Document and construct, for example `spec2: unsigned integer, 5 bits, le`.
    pub name: String,
    /// Format and dialect.
    pub origin: Origin,
    /// File names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Events in order.
    pub events: Vec<EncodedEvent>,
    /// Discarded data in order.
    pub lost: Vec<Lost>,
}

/// Data that a producer discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Number of events.
    Events(u64),
    /// Unknown number of events.
    UnknownEvents,
    /// Number of packets.
    Packets(u64),
}

/// Event as it was encoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedEvent {
    /// Class name, if it has one.
    pub name: Option<String>,
    /// Time in nanoseconds from the clock origin, if it has one.
    pub nanoseconds: Option<i128>,
    /// Values by scope, with the scope names from loss tables. Scopes without values are omitted.
    pub scopes: Vec<(&'static str, Datum)>,
}

/// Returns all constructs.
#[must_use]
pub fn constructs() -> Vec<Construct> {
    let mut all = Vec::new();
    for origin in [Origin::Prop1, Origin::Prop2, Origin::Spec2, Origin::Ctf18] {
        all.extend(ctf_fields::constructs(origin));
        all.extend(ctf_streams::constructs(origin));
    }
    for origin in [Origin::Nettrace3, Origin::Nettrace4, Origin::Nettrace6] {
        all.extend(nettrace::constructs(origin));
    }
    all.extend(fuchsia::logs());
    all.extend(fuchsia::traces());
    all.extend(reports::xtrace());
    all.extend(reports::json_lines());
    all
}
