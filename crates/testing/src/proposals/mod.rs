//! Random traces of CTF2-PROP-1.0 and CTF2-PROP-2.0 with their expected values, made from the two documents alone.
//!
//! A trace is made in three steps: field types are chosen, the JSON text of the metadata is written from
//! them, and packets are encoded bit by bit. No code of readers or writers is shared.

mod encode;
mod fixed;
mod json;
mod maker;
mod names;
mod roles;
mod targets;
mod trace;
mod types;

use std::collections::BTreeSet;

pub use self::trace::random_trace;

/// Documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// CTF2-PROP-1.0.
    First,
    /// CTF2-PROP-2.0.
    Second,
}

impl Proposal {
    /// Both documents.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// Returns the name of the document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "PROP-1.0",
            Self::Second => "PROP-2.0",
        }
    }
}

/// Paths of fields, and their values as texts that begin with their kind, such as `u:5`.
pub type ExpectedFields = Vec<(String, String)>;

/// A packet as it has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPacket {
    /// Size of the packet in bits.
    pub total: u64,
    /// Size of its content in bits.
    pub content: u64,
    /// Fields of the packet header and the packet context.
    pub fields: ExpectedFields,
    /// Events of the packet.
    pub events: Vec<ExpectedEvent>,
}

/// An event as it has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedEvent {
    /// Id of its class.
    pub id: u128,
    /// Value of the default clock, if there is one.
    pub cycles: Option<u64>,
    /// Fields of all scopes.
    pub fields: ExpectedFields,
}

/// A data stream of a random trace.
#[derive(Clone, Debug)]
pub struct RandomStream {
    /// Name of the file.
    pub file: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Packets in their order.
    pub packets: Vec<ExpectedPacket>,
}

/// A random trace.
#[derive(Clone, Debug)]
pub struct RandomTrace {
    /// Metadata stream.
    pub metadata: String,
    /// Data streams, one in each file.
    pub streams: Vec<RandomStream>,
    /// Names of the constructs that the trace has.
    pub constructs: BTreeSet<&'static str>,
}
