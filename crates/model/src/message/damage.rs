//! Damage in a trace, with its position.

use std::fmt;

use crate::decode::DecodeErrorKind;
use crate::message::DataPosition;

/// Unreadable data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// File name.
    pub file: String,
    /// Data stream name, if known.
    pub stream: Option<String>,
    /// Offset in bits from the start of the file.
    pub bit: u64,
    /// Damage kind.
    pub kind: DamageKind,
    /// Number of bits from there to the point where reading resumes.
    pub skipped: u64,
}

impl Damage {
    /// Creates damage at this bit of a file, without skipped data.
    #[must_use]
    pub fn new(file: impl Into<String>, bit: u64, kind: DamageKind) -> Self {
        Self { file: file.into(), stream: None, bit, kind, skipped: 0 }
    }

    /// Adds the data stream name.
    #[must_use]
    pub fn in_stream(self, stream: impl Into<String>) -> Self {
        Self { stream: Some(stream.into()), ..self }
    }

    /// Adds the number of bits to the point where reading resumes.
    #[must_use]
    pub fn skipping(self, bits: u64) -> Self {
        Self { skipped: bits, ..self }
    }

    /// Returns the file and the offset: `FILE: byte N` or `FILE: byte N, bit M`.
    #[must_use]
    pub fn location(&self) -> String {
        DataPosition::new(&*self.file, self.bit).to_string()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.kind)?;
        if self.skipped > 0 {
            write!(f, "; skipped {} bytes", self.skipped.div_ceil(8))?;
        }
        Ok(())
    }
}

/// Damage kinds for all formats. Format-specific damage is a [`BrokenRule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// A field cannot be decoded.
    #[error("{0}")]
    Field(#[from] DecodeErrorKind),
    /// A packet is truncated by the end of its file.
    #[error("packet ends after {available} of {total} bits")]
    CutOff {
        /// Packet size in bits.
        total: u64,
        /// Available bits.
        available: u64,
    },
    /// A packet is larger than the distance to the next packet.
    #[error("packet of {total} bits overlaps the next packet, which starts after {available} bits")]
    PacketWithin {
        /// Recorded packet size in bits.
        total: u64,
        /// Bits up to the next packet.
        available: u64,
    },
    /// An event record has a size of 0 bits.
    #[error("an event record of size zero")]
    EmptyEventRecord,
    /// The clock goes backwards.
    #[error("the clock goes backwards, from {from} to {to} cycles")]
    ClockBackwards {
        /// Previous value in cycles.
        from: u64,
        /// Next value in cycles.
        to: u64,
    },
    /// An event is outside the time range of its packet (CTF2-PROP-2.0, role `packet-end-default-clock-timestamp`).
    /// Only the first such event in a packet is reported.
    #[error("the event is at {cycles} cycles, after the end of its packet at {end} cycles")]
    EventAfterPacket {
        /// Event time in cycles.
        cycles: u64,
        /// Cycles at the end of the packet.
        end: u64,
    },
    /// A time does not fit in a signed 64-bit number. Only the first of several consecutive times is reported.
    #[error("the time of an event, {0} nanoseconds from the clock's origin, does not fit in 64 bits")]
    TimeOverflow(i128),
    /// Packets or event records could have too many fields for their size, so reading them could take too long. See
    /// [`Limits::fields_per_bit`](crate::trace::Limits::fields_per_bit).
    #[error("{bits} bits of such {what} could have {fields} fields, more than the limit of {most}")]
    TooManyFields {
        /// "packets" or "event records".
        what: &'static str,
        /// Total size in bits.
        bits: u64,
        /// Number of fields they could have. Long names and labels count, too.
        fields: u64,
        /// Maximum number of fields.
        most: u64,
    },
    /// There are more packets than [`Limits::packets`](crate::trace::Limits::packets) allows.
    #[error("the trace has more than {0} packets, the limit")]
    TooManyPackets(u64),
    /// An event or a description has a member that the format does not define. The rest of it is read.
    #[error("unknown member `{member}` of {of}: it is not read")]
    UnknownMember {
        /// Member name.
        member: String,
        /// "an event", or another object with the member.
        of: &'static str,
    },
    /// A format rule is broken.
    #[error("{0}")]
    Rule(Box<BrokenRule>),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Zeros in place of a packet, mostly in holes of a sparse file: the packet was never written.
    #[error("zeros where a packet should begin: {0} bytes of the file were never written (holes)")]
    Hole(u64),
    /// Not a file; for example "a pipe" or "a device".
    #[error("skipped {0}: not a file")]
    NotAFile(&'static str),
    /// A file became unreadable from this position on, after it was opened.
    #[error(
        "the file has become shorter since it was opened, or its device fails{}",
        if *reported { ": events reported after this position may be wrong" } else { "" }
    )]
    Lost {
        /// `true` if earlier reports may be based on zeros in place of the missing bytes.
        reported: bool,
    },
}

/// Remedies shared by several damage kinds and rules.
pub mod remedy {
    /// Metadata does not fit the data.
    pub const METADATA: &str =
        "the metadata does not describe these bytes: check that it belongs to this recording and is complete";
    /// Wrong packet sizes.
    pub const PACKET_SIZES: &str =
        "the sizes in the packet are wrong: the tracer was interrupted while it wrote, or has a bug";
    /// Times contradict their order.
    pub const CLOCK: &str =
        "the tracer's clock is wrong there, or bytes were changed: times near it may be wrong";
}

impl DamageKind {
    /// Returns the name of the limit that was reached, a member of [`Limits`](crate::trace::Limits).
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Field(kind) => kind.limit(),
            Self::TooManyFields { .. } => Some("fields_per_bit"),
            Self::TooManyPackets(_) => Some("packets"),
            _ => None,
        }
    }

    /// Returns the broken rule.
    #[must_use]
    pub fn rule(&self) -> Option<&BrokenRule> {
        match self {
            Self::Rule(rule) => Some(rule),
            _ => None,
        }
    }

    /// Returns a remedy for the owner of the trace, as a phrase. If a [limit](DamageKind::limit) was reached, raising
    /// it helps more.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Field(DecodeErrorKind::BeyondContent { .. } | DecodeErrorKind::BeyondData { .. })
            | Self::CutOff { .. } => {
                "the file ends early: copy it again from its source, or stop the tracer before copying"
            }
            Self::Field(DecodeErrorKind::EndlessString | DecodeErrorKind::LengthBeyond { .. }) => {
                "the bytes there were changed, or the program that wrote them or their metadata is faulty: check \
                 that both belong to the same recording"
            }
            Self::Field(_) | Self::EmptyEventRecord => remedy::METADATA,
            Self::PacketWithin { .. } => remedy::PACKET_SIZES,
            Self::ClockBackwards { .. } | Self::EventAfterPacket { .. } | Self::TimeOverflow(_) => {
                remedy::CLOCK
            }
            Self::Lost { .. } => {
                "another program is changing the file: read the trace again afterwards, or read a copy"
            }
            Self::UnknownMember { of, .. } if *of != "an event" => {
                "correct the member name; if a newer version of the format has it, use a newer ichnos"
            }
            Self::UnknownMember { .. } => {
                "write event fields as members of `payload`, for example with `jq`: '{ts, name, payload: .}'"
            }
            Self::Rule(rule) => rule.remedy,
            Self::Unreadable(_) => {
                "change the owner or the mode of the file, fix the link to it, or copy it again"
            }
            Self::Hole(_) => {
                "the tracer or the copy did not write this part of the file: copy it again from its source"
            }
            Self::NotAFile(_) => {
                "if its output belongs to the trace, save that to a file; otherwise remove it from the directory"
            }
            Self::TooManyFields { .. } | Self::TooManyPackets(_) => {
                "record the trace again, or copy it again from its source"
            }
        }
    }
}

impl From<BrokenRule> for DamageKind {
    fn from(rule: BrokenRule) -> Self {
        Self::Rule(Box::new(rule))
    }
}

/// A broken format rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// Rule name, in lower case with `-` between words.
    pub name: &'static str,
    /// Rule statement, with the expected and the actual data.
    pub statement: String,
    /// Remedy for the owner of the trace, as a phrase.
    pub remedy: &'static str,
    /// Record number in the file, from 1, if the format counts records.
    pub record: Option<u64>,
    /// `true` if data is missing or unreliable as a result. Otherwise, all data is read as if the rule were kept.
    pub fatal: bool,
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record {
            Some(record) => write!(f, "record {record} breaks the rule {}: {}", self.name, self.statement),
            None => f.write_str(&self.statement),
        }
    }
}
