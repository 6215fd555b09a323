//! One construct, one trace: for each construct of each document, the smallest trace that has it and nothing else, with
//! what has to be read of it.
//!
//! A construct is a line of a table: [`constructs`] returns all of them. Bytes and metadata are made here, bit by bit
//! and from the documents alone; no code of readers or writers is shared. To add a construct of CTF:
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

/// Formats and dialects in which constructs are encoded.
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
    /// Returns the name of the format, and the dialect of the same document, if the format is written in several ones.
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

/// A trace with one construct.
#[derive(Clone, Debug)]
pub struct Construct {
    /// The document and the construct, for instance `spec2: unsigned integer, 5 bits, le`.
    pub name: String,
    /// Format and dialect.
    pub origin: Origin,
    /// Names of the files and their contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Events in their order.
    pub events: Vec<EncodedEvent>,
    /// What the producer discarded, in its order.
    pub lost: Vec<Lost>,
}

/// Data that a producer discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A number of events.
    Events(u64),
    /// A number of events that is unknown.
    UnknownEvents,
    /// A number of packets.
    Packets(u64),
}

/// An event as it was encoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodedEvent {
    /// Name of its class, if it has one.
    pub name: Option<String>,
    /// Time in nanoseconds from the origin of its clock, if it has one.
    pub nanoseconds: Option<i128>,
    /// Values of the scopes that have some, by the names that loss tables use.
    pub scopes: Vec<(&'static str, Datum)>,
}

/// Returns the constructs of all documents.
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
