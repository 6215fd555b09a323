//! Messages: what readers hand on, one after the other, per data stream.

use std::fmt;
use std::ops::ControlFlow;

use crate::walk::DecodeErrorKind;
use crate::{ClockValue, DataStream, Event, Packet, Uuid};

/// What happens next in a data stream.
///
/// Loss and damage are messages like any other: they can be printed, counted and converted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// A data stream begins: the first message of it.
    StreamBegin(&'a DataStream),
    /// A data stream has ended: the last message of it.
    StreamEnd(&'a DataStream),
    /// A packet begins.
    PacketBegin(Packet<'a>),
    /// A packet has ended.
    PacketEnd(Packet<'a>),
    /// An event record.
    Event(Event<'a>),
    /// The producer discarded event records.
    DiscardedEvents(Discarded<'a>),
    /// Packets are missing.
    DiscardedPackets(Discarded<'a>),
    /// Something cannot be read.
    Damage(&'a Damage),
}

impl<'a> Message<'a> {
    /// When, as far as the message itself says, in nanoseconds from the origin of the stream's clock.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        let value = match self {
            Self::Event(event) => event.clock.copied(),
            Self::PacketBegin(packet) => packet.begin,
            Self::PacketEnd(packet) => packet.end,
            Self::DiscardedEvents(discarded) | Self::DiscardedPackets(discarded) => discarded.begin,
            Self::StreamBegin(_) | Self::StreamEnd(_) | Self::Damage(_) => None,
        };
        value.map(|value| value.nanoseconds)
    }

    /// The data stream that it is about; None for damage outside of any.
    #[must_use]
    pub fn stream(&self) -> Option<&'a DataStream> {
        match self {
            Self::StreamBegin(stream) | Self::StreamEnd(stream) => Some(stream),
            Self::PacketBegin(packet) | Self::PacketEnd(packet) => Some(packet.stream),
            Self::Event(event) => Some(event.stream),
            Self::DiscardedEvents(discarded) | Self::DiscardedPackets(discarded) => Some(discarded.stream),
            Self::Damage(_) => None,
        }
    }
}

/// Event records or packets that are missing.
#[derive(Clone, Copy, Debug)]
pub struct Discarded<'a> {
    /// The stream they are missing from.
    pub stream: &'a DataStream,
    /// How many, if that is known.
    pub count: Option<u64>,
    /// After when, if that is known.
    pub begin: Option<ClockValue>,
    /// Before when, if that is known.
    pub end: Option<ClockValue>,
}

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
    /// How many bits are skipped from there to the next good place.
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

    /// The same with the number of bits from there to the next good place.
    #[must_use]
    pub fn skipping(self, bits: u64) -> Self {
        Self { skipped: bits, ..self }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: byte {}", self.file, self.bit / 8)?;
        if !self.bit.is_multiple_of(8) {
            write!(f, ", bit {}", self.bit % 8)?;
        }
        write!(f, ": {}", self.kind)?;
        if self.skipped > 0 {
            write!(f, "; skipped {} bytes", self.skipped.div_ceil(8))?;
        }
        Ok(())
    }
}

/// What can be wrong in a data stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// A field cannot be decoded.
    #[error("{0}")]
    Field(#[from] DecodeErrorKind),
    /// A packet does not begin with the magic number.
    #[error("expected the packet magic number 0xc1fc1fc1, found {0:#x}")]
    Magic(u64),
    /// A packet belongs to another metadata stream.
    #[error("expected the UUID {expected} of the metadata, found {found}")]
    Uuid {
        /// UUID of the metadata.
        expected: Uuid,
        /// UUID of the packet.
        found: Uuid,
    },
    /// A packet names a data stream class that the metadata does not have.
    #[error("there is no data stream class {0} in the metadata")]
    DataStreamClass(u128),
    /// A packet belongs to another data stream than the index of its file says.
    #[error("the index of the file is wrong: the packet belongs to data stream class {class}")]
    OtherDataStream {
        /// Id of the data stream class that the packet names.
        class: u128,
    },
    /// An event record names a class that the metadata does not have.
    #[error("there is no event record class {id} in data stream class {data_stream_class}")]
    EventRecordClass {
        /// Id of the data stream class.
        data_stream_class: u128,
        /// Id that the event record names.
        id: u128,
    },
    /// An id takes more bits than ids can have.
    #[error("the id takes {0} bits, more than the limit of 128")]
    WideId(u64),
    /// The content of a packet is longer than the packet.
    #[error("the packet's content of {content} bits is longer than the packet of {total} bits")]
    ContentBeyondTotal {
        /// Size of the content in bits.
        content: u64,
        /// Size of the packet in bits.
        total: u64,
    },
    /// A packet ends before its own header and context.
    #[error("the packet says {what} of {length} bits, but its header and context take {taken} bits")]
    PacketTooShort {
        /// "a total length" or "a content length".
        what: &'static str,
        /// The size it says.
        length: u64,
        /// Size of its header and context.
        taken: u64,
    },
    /// The size of a packet is no whole number of bytes.
    #[error("the packet's total length of {0} bits is not a multiple of 8")]
    PartialByte(u64),
    /// A packet is cut off by the end of its file.
    #[error("the packet of {total} bits is cut off after {available} bits")]
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
    /// A packet is in its file twice.
    #[error("the packet is a copy of the one at byte {0} of the file: it is left out")]
    Copy(u64),
    /// A packet begins at a time that does not fit between those of the packets around it.
    #[error(
        "the packet begins at {begin} cycles, which does not fit between the packets around it in the file"
    )]
    Misplaced {
        /// Cycles at its beginning.
        begin: u64,
    },
    /// An event record has no bits at all.
    #[error("an event record without any bits")]
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
    #[error("an event at {cycles} cycles, but its packet ends at {end} cycles")]
    EventAfterPacket {
        /// Cycles of the event.
        cycles: u64,
        /// Cycles at the end of the packet.
        end: u64,
    },
    /// A time does not fit in a signed number of 64 bits. Further ones that follow are not reported.
    #[error("an event at {0} nanoseconds from the clock's origin, which is more than 64 bits can hold")]
    TimeOverflow(i128),
    /// A counter of packets or of discarded event records goes back.
    #[error("the {counter} goes back, from {from} to {to}")]
    CounterBackwards {
        /// "packet sequence number" or "counter of discarded event records".
        counter: &'static str,
        /// Value in the packet before.
        from: u64,
        /// Value in the packet.
        to: u64,
    },
    /// A packet ends after the next one begins.
    #[error("the packet ends at {end} cycles, but the next one begins at {next} cycles")]
    EndAfterNext {
        /// Cycles at its end.
        end: u64,
        /// Cycles at the beginning of the next packet of the data stream.
        next: u64,
    },
    /// A packet ends before it begins.
    #[error("the packet begins at {begin} cycles and ends at {end} cycles")]
    EndBeforeBegin {
        /// Cycles at its beginning.
        begin: u64,
        /// Cycles at its end.
        end: u64,
    },
    /// Packets or event records could have so many fields for their few bits that it would take too long
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
    /// The packet index that the tracer wrote says something else than the packet; it is the
    /// packet that counts.
    #[error("the packet index beside the file does not say what the packet says")]
    FalseIndex,
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
    #[error("this is {0}, not a file: it is left out")]
    NotAFile(&'static str),
    /// A file could be read when it was opened, and cannot be read any more from here on.
    #[error(
        "the file has become shorter since it was opened, or its device fails{}",
        if *reported { ": events that were reported from behind here are not to be trusted" } else { "" }
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
}

/// A rule of a format that is broken. Unless it is `fatal`, all is read as if it were not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// Name of the rule, in words of small letters with `-` between them.
    pub name: &'static str,
    /// What the rule says, and what was expected and found.
    pub statement: String,
    /// Number of the record in its file, from 1 on.
    pub record: u64,
    /// Whether the record cannot be read because of it.
    pub fatal: bool,
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), in record {}", self.statement, self.name, self.record)
    }
}

/// Takes messages.
pub trait Sink {
    /// Takes one message; [`ControlFlow::Break`] if it wants no more.
    ///
    /// # Errors
    /// If it cannot write.
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<ControlFlow<()>>;

    /// Writes what is left, for somebody who waits for it: more messages may come.
    ///
    /// # Errors
    /// If it cannot write.
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    /// There are no more messages: writes what is left.
    ///
    /// # Errors
    /// If it cannot write.
    fn finish(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
