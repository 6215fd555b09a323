//! Random traces for CTF2-PROP-1.0 and CTF2-PROP-2.0 with expected values, made from the two documents alone.
//!
//! A trace is made in three steps: field types are chosen, the JSON metadata is written from them, and packets are
//! encoded bit by bit. Readers and writers share no code with this module.

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

/// Document.
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

    /// Returns the document name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "PROP-1.0",
            Self::Second => "PROP-2.0",
        }
    }
}

/// Field paths and values. A value is text with a kind prefix, such as `u:5`.
pub type ExpectedFields = Vec<(String, String)>;

/// Expected packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPacket {
    /// Packet size in bits.
    pub total: u64,
    /// Content size in bits.
    pub content: u64,
    /// Packet header and packet context fields.
    pub fields: ExpectedFields,
    /// Events.
    pub events: Vec<ExpectedEvent>,
}

/// Expected event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedEvent {
    /// Class id.
    pub id: u128,
    /// Default clock value, if there is one.
    pub cycles: Option<u64>,
    /// Fields in all scopes.
    pub fields: ExpectedFields,
}

/// Data stream in a random trace.
#[derive(Clone, Debug)]
pub struct RandomStream {
    /// File name.
    pub file: String,
    /// File content.
    pub bytes: Vec<u8>,
    /// Packets in order.
    pub packets: Vec<ExpectedPacket>,
}

/// Random trace.
#[derive(Clone, Debug)]
pub struct RandomTrace {
    /// Metadata stream.
    pub metadata: String,
    /// Data streams, one per file.
    pub streams: Vec<RandomStream>,
    /// Names of the constructs in the trace.
    pub constructs: BTreeSet<&'static str>,
}
