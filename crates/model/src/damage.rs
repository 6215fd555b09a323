//! What is wrong with a trace, and where.

use std::fmt;

use crate::decode::DecodeErrorKind;

/// Something that cannot be read, and how far it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file it is in.
    pub file: String,
    /// The data stream it is in, if that is known.
    pub stream: Option<String>,
    /// Offset in bits from the beginning of the file.
    pub bit: u64,
    /// What is wrong.
    pub kind: DamageKind,
    /// How many bits are skipped from there to where reading resumes.
    pub skipped: u64,
}

impl Damage {
    /// Something that is wrong at this bit of a file, and nothing that is skipped for it.
    #[must_use]
    pub fn new(file: impl Into<String>, bit: u64, kind: DamageKind) -> Self {
        Self { file: file.into(), stream: None, bit, kind, skipped: 0 }
    }

    /// The same in a data stream.
    #[must_use]
    pub fn in_stream(self, stream: impl Into<String>) -> Self {
        Self { stream: Some(stream.into()), ..self }
    }

    /// The same with the number of bits from there to where reading resumes.
    #[must_use]
    pub fn skipping(self, bits: u64) -> Self {
        Self { skipped: bits, ..self }
    }

    /// Where it is: the file, and how far from its beginning, `FILE: byte N` or `FILE: byte N, bit M`.
    #[must_use]
    pub fn location(&self) -> String {
        let (byte, bit) = (self.bit / 8, self.bit % 8);
        let bit = if bit == 0 { String::new() } else { format!(", bit {bit}") };
        format!("{}: byte {byte}{bit}", self.file)
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

/// What can be wrong in a data stream of any format. What only one format has is a [`BrokenRule`] of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// A field cannot be decoded.
    #[error("{0}")]
    Field(#[from] DecodeErrorKind),
    /// A packet is truncated by the end of its file.
    #[error("the packet of {total} bits is truncated after {available} bits")]
    CutOff {
        /// Size of the packet in bits.
        total: u64,
        /// Bits that are there.
        available: u64,
    },
    /// A packet that says to be longer than the way to the next packet.
    #[error("the packet of {total} bits cannot be that long: another one begins after {available} bits")]
    PacketWithin {
        /// Size of the packet in bits, as it says.
        total: u64,
        /// Bits up to the other packet.
        available: u64,
    },
    /// An event record has no bits at all.
    #[error("an event record of size zero")]
    EmptyEventRecord,
    /// The clock goes backwards.
    #[error("the clock goes backwards, from {from} to {to} cycles")]
    ClockBackwards {
        /// Cycles before.
        from: u64,
        /// Cycles after.
        to: u64,
    },
    /// An event is outside of the times of its packet (CTF2-PROP-2.0, role
    /// `packet-end-default-clock-timestamp`). Further ones in the packet are not reported.
    #[error("the event is at {cycles} cycles, after the end of its packet at {end} cycles")]
    EventAfterPacket {
        /// Cycles of the event.
        cycles: u64,
        /// Cycles at the end of the packet.
        end: u64,
    },
    /// A time does not fit in a signed number of 64 bits. Further ones that follow are not reported.
    #[error("the time of an event, {0} nanoseconds from the clock's origin, does not fit in 64 bits")]
    TimeOverflow(i128),
    /// Packets or event records could have this many fields for their few bits that it would take too long
    /// to read them. See [`Limits::fields_per_bit`](crate::Limits::fields_per_bit).
    #[error("{bits} bits of such {what} could have {fields} fields, more than the limit of {most}")]
    TooManyFields {
        /// "packets" or "event records".
        what: &'static str,
        /// Size of all of them in bits.
        bits: u64,
        /// How many fields they could have; names and labels that are long count, too.
        fields: u64,
        /// How many they may have.
        most: u64,
    },
    /// There are more packets than [`Limits::packets`](crate::Limits::packets) allows.
    #[error("the trace has more than {0} packets, the limit")]
    TooManyPackets(u64),
    /// A rule of the format is broken.
    #[error("{0}")]
    Rule(Box<BrokenRule>),
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Zeros where a packet should begin, most of them in holes of a sparse file: they were never written.
    #[error("zeros where a packet should begin: {0} bytes of the file were never written (holes)")]
    Hole(u64),
    /// What is there is no file, but "a pipe", "a device" and so on.
    #[error("this is {0}, not a file: it is skipped")]
    NotAFile(&'static str),
    /// A file could be read when it was opened, and cannot be read any more from here on.
    #[error(
        "the file has become shorter since it was opened, or its device fails{}",
        if *reported { ": events reported from behind here may be wrong" } else { "" }
    )]
    Lost {
        /// Whether something was reported before that may have been read from zeros, which were in the
        /// place of the missing bytes.
        reported: bool,
    },
}

impl DamageKind {
    /// The name of the limit that was reached, a member of [`Limits`](crate::Limits), if that is what is
    /// wrong.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Field(kind) => kind.limit(),
            Self::TooManyFields { .. } => Some("fields_per_bit"),
            Self::TooManyPackets(_) => Some("packets"),
            _ => None,
        }
    }

    /// The rule of the format that is broken, if that is what is wrong.
    #[must_use]
    pub fn rule(&self) -> Option<&BrokenRule> {
        match self {
            Self::Rule(rule) => Some(rule),
            _ => None,
        }
    }

    /// What the owner of the trace can do about it, in a phrase. Where a [limit](DamageKind::limit) was
    /// reached, raising that helps more.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Field(DecodeErrorKind::BeyondContent { .. } | DecodeErrorKind::BeyondData { .. })
            | Self::CutOff { .. } => {
                "the file ends early: copy it again from where it was recorded, or let the tracer stop before \
                 copying"
            }
            Self::Field(DecodeErrorKind::EndlessString | DecodeErrorKind::LengthBeyond { .. }) => {
                "the bytes there were changed, or the program that wrote them or their metadata is faulty: check \
                 that both belong to the same recording"
            }
            Self::Field(_) | Self::EmptyEventRecord => {
                "the metadata does not describe these bytes: check that it belongs to this recording and is \
                 complete"
            }
            Self::PacketWithin { .. } => {
                "the sizes in the packet are wrong: the tracer was interrupted while it wrote, or has a bug"
            }
            Self::ClockBackwards { .. } | Self::EventAfterPacket { .. } | Self::TimeOverflow(_) => {
                "the tracer's clock is wrong there, or bytes were changed: times near it may be wrong"
            }
            Self::Lost { .. } => {
                "another program writes to the file: read the trace again when that is done, or a copy of it"
            }
            Self::Rule(rule) => rule.remedy,
            Self::Unreadable(_) => {
                "change the owner or the mode of the file, fix the link that leads to it, or copy it again"
            }
            Self::Hole(_) => {
                "the tracer, or what copied the file, has not written this part of it: copy it again from where it \
                 was recorded"
            }
            Self::NotAFile(_) => {
                "if what comes out of it belongs to the trace, put it into a file; otherwise remove it from the \
                 directory"
            }
            Self::TooManyFields { .. } | Self::TooManyPackets(_) => {
                "record the trace again, or get it again from where it was recorded"
            }
        }
    }
}

impl From<BrokenRule> for DamageKind {
    fn from(rule: BrokenRule) -> Self {
        Self::Rule(Box::new(rule))
    }
}

/// A rule of a format that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// Name of the rule, in words of small letters with `-` between them.
    pub name: &'static str,
    /// What the rule says, and what was expected and found.
    pub statement: String,
    /// What the owner of the trace can do about it, in a phrase.
    pub remedy: &'static str,
    /// Number of the record in its file, from 1 on, where the format counts them.
    pub record: Option<u64>,
    /// Whether something is missing or not to be trusted because of it; otherwise all is read as if the rule
    /// were kept.
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
