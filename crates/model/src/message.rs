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
    /// `packet-end-default-clock-timestamp`). Further ones in the packet are not told.
    #[error("an event at {cycles} cycles, but its packet ends at {end} cycles")]
    EventAfterPacket {
        /// Cycles of the event.
        cycles: u64,
        /// Cycles at the end of the packet.
        end: u64,
    },
    /// A time does not fit in a signed number of 64 bits. Further ones that follow are not told.
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
        if *told { ": events that were told from behind here are not to be trusted" } else { "" }
    )]
    Lost {
        /// Whether something was told before that may have been read from zeros, which were in the
        /// place of the missing bytes.
        told: bool,
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

/// What the merge needs to know of a message, without borrowing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    // The halves of the time: what is stored at once and loaded in halves, or the other way round,
    // takes long, and a head is loaded right after it was stored.
    low: u64,
    high: u64,
    has_time: bool,
    /// Which kind of message.
    pub kind: MessageKind,
    class: u32,
}

impl Head {
    /// The head of a message of this time, in nanoseconds from the origin of the stream's clock;
    /// None: at once.
    #[inline(always)]
    #[must_use]
    pub fn new(kind: MessageKind, nanoseconds: Option<i128>) -> Self {
        let time = nanoseconds.unwrap_or_default();
        let has_time = nanoseconds.is_some();
        Self { low: time as u64, high: (time >> 64) as u64, has_time, kind, class: Self::NO_CLASS }
    }

    /// The head of an event record of the class with this index in its data stream class.
    #[inline(always)]
    #[must_use]
    pub fn event(class: usize, nanoseconds: Option<i128>) -> Self {
        let class = u32::try_from(class).unwrap_or(Self::NO_CLASS);
        Self { class, ..Self::new(MessageKind::Event, nanoseconds) }
    }

    const NO_CLASS: u32 = u32::MAX;

    /// Of an event record, the index of its class in its data stream class if the cursor told it:
    /// whoever only counts need not look at the event.
    #[inline(always)]
    #[must_use]
    pub fn class_index(&self) -> Option<usize> {
        (self.class != Self::NO_CLASS).then_some(self.class as usize)
    }

    /// A number that puts messages in the order of their times, which are cut to 64 bits for it: of two
    /// with different numbers that of the lesser one comes first.
    #[inline(always)]
    #[must_use]
    pub fn order(&self) -> u64 {
        order(self.nanoseconds())
    }

    /// When, in nanoseconds from the origin of the stream's clock; None: at once. An event that
    /// says to be later than its packet comes at the end of the packet, whatever its own time.
    #[inline(always)]
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        let time = (u128::from(self.high) << 64 | u128::from(self.low)) as i128;
        self.has_time.then_some(time)
    }
}

/// The [`Head::order`] of messages of this time.
#[inline(always)]
#[must_use]
pub fn order(nanoseconds: Option<i128>) -> u64 {
    const SIGN: u64 = 1 << 63;
    match nanoseconds {
        None => 0,
        Some(nanoseconds) => match i64::try_from(nanoseconds) {
            Ok(nanoseconds) => nanoseconds as u64 ^ SIGN,
            Err(_) if nanoseconds < 0 => 0,
            Err(_) => u64::MAX,
        },
    }
}

/// Takes messages that are handed on, and says whether it wants more.
pub type Take<'t> = dyn FnMut(&Message<'_>) -> ControlFlow<()> + 't;

/// Why a cursor does not hand on more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandedOn {
    /// The message that the cursor is at now comes later than was asked for: its [`Head::order`].
    Until(u64),
    /// There are no more.
    All,
    /// Somebody has enough; the cursor is at the last message that was handed on.
    Enough,
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum MessageKind {
    StreamBegin,
    StreamEnd,
    PacketBegin,
    PacketEnd,
    Event,
    DiscardedEvents,
    DiscardedPackets,
    Damage,
}

/// A source of messages that lends the current one.
///
/// # For implementations
/// Time of the heads goes backwards only where the clock of the trace does, after a
/// [`DamageKind::ClockBackwards`] that says so. Formats whose records need not be in order at all
/// say nothing: then the merge hands such a record on at once. Errors are [`Message::Damage`]; after one, go on where
/// it is possible.
pub trait Cursor {
    /// Moves on to the next message; false after the last one, however often it is called.
    fn move_on(&mut self) -> bool;

    /// The message that [`Cursor::move_on`] moved to; None before the first and after the last one, and
    /// otherwise only behind [`Cursor::pass_events`].
    fn current(&self) -> Option<Message<'_>>;

    /// The head of that message; None where there is none.
    fn head(&self) -> Option<Head>;

    /// Moves on to the next message and tells its head; None after the last one.
    fn advance(&mut self) -> Option<Head> {
        if self.move_on() { self.head() } else { None }
    }

    /// Hands on the current message, and those after it whose [`Head::order`] is below `limit`: quicker
    /// than to ask for one after the other, as nothing is called through a table but `take`.
    fn hand_on(&mut self, limit: u64, take: &mut Take<'_>) -> HandedOn {
        loop {
            if let Some(message) = &self.current()
                && take(message).is_break()
            {
                return HandedOn::Enough;
            }
            if !self.move_on() {
                return HandedOn::All;
            }
            let order = self.head().map_or(0, |head| head.order());
            if order >= limit {
                return HandedOn::Until(order);
            }
        }
    }

    /// Moves on and counts event records, to the first message that is none or to the last one of so many
    /// of them, and tells its head; None after the last message.
    fn count_events(&mut self, most: u32, counts: &mut EventCounts) -> Option<Head> {
        let mut left = most;
        while left > 0 {
            left -= self.pass_events(left - 1, counts).min(left - 1) + 1;
            if !self.move_on() {
                return None;
            }
            match self.head() {
                Some(head) if head.kind == MessageKind::Event => {
                    counts.add(head.class_index(), head.nanoseconds())
                }
                _ => break,
            }
        }
        self.head()
    }

    /// Counts event records that come next, at most so many, and gets past them, as far as that is
    /// quicker than to move on to each of them; gives how many. Even if it gives 0, there need not be a
    /// current message until [`Cursor::move_on`] is called, which moves on to what follows them.
    ///
    /// Of each it counts the class and the time that its [`Head`] would tell. It stays before an event
    /// record of which there is more to tell: before damage, and where a window begins or ends.
    fn pass_events(&mut self, _most: u32, _counts: &mut EventCounts) -> u32 {
        0
    }

    /// The current message will probably be lent before long: a good time to fetch what it is made
    /// of from memory. Nothing else may come of it.
    #[inline]
    fn prepare(&self) {}

    /// Where the cursor is; None if it cannot tell. See [`Place`].
    fn place(&self) -> Option<Place> {
        None
    }
}

/// How many event records a data stream has, and when they come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// By index of the class; see [`Head::class_index`].
    pub by_class: Vec<u64>,
    /// Those of which the index is not known.
    pub others: u64,
    /// The first and the last time, in nanoseconds from the origin of the stream's clock; None if none
    /// has one.
    pub times: Option<(i128, i128)>,
}

impl EventCounts {
    /// Counts an event record.
    #[inline]
    pub fn add(&mut self, class_index: Option<usize>, nanoseconds: Option<i128>) {
        self.add_class(class_index);
        if let Some(time) = nanoseconds {
            self.add_time(time);
        }
    }

    /// Counts an event record of a class, whenever it comes.
    #[inline]
    pub fn add_class(&mut self, class_index: Option<usize>) {
        match class_index.map(|index| (index, self.by_class.get_mut(index))) {
            Some((_, Some(count))) => *count += 1,
            Some((index, None)) => self.add_new_class(index),
            None => self.others += 1,
        }
    }

    /// Notes when event records come.
    #[inline]
    pub fn add_time(&mut self, time: i128) {
        match &mut self.times {
            // Nearly all events are later than those before.
            Some((_, end)) if time > *end => *end = time,
            Some((begin, _)) => *begin = time.min(*begin),
            times @ None => *times = Some((time, time)),
        }
    }

    #[cold]
    fn add_new_class(&mut self, index: usize) {
        self.by_class.resize(index + 1, 0);
        self.by_class[index] += 1;
    }

    /// Of all classes.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.by_class.iter().fold(self.others, |sum, count| sum.saturating_add(*count))
    }
}

/// Where a cursor is in its stream: two cursors of the same stream at equal places lend the same
/// message, and the same ones from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind the last message.
    End,
    /// Somewhere else, in numbers that only mean something to the reader.
    At([u64; 4]),
}

impl<C: Cursor + ?Sized> Cursor for Box<C> {
    fn move_on(&mut self) -> bool {
        (**self).move_on()
    }

    fn advance(&mut self) -> Option<Head> {
        (**self).advance()
    }

    fn current(&self) -> Option<Message<'_>> {
        (**self).current()
    }

    fn head(&self) -> Option<Head> {
        (**self).head()
    }

    fn hand_on(&mut self, limit: u64, take: &mut Take<'_>) -> HandedOn {
        (**self).hand_on(limit, take)
    }

    fn count_events(&mut self, most: u32, counts: &mut EventCounts) -> Option<Head> {
        (**self).count_events(most, counts)
    }

    fn pass_events(&mut self, most: u32, counts: &mut EventCounts) -> u32 {
        (**self).pass_events(most, counts)
    }

    fn prepare(&self) {
        (**self).prepare();
    }

    fn place(&self) -> Option<Place> {
        (**self).place()
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

#[cfg(test)]
mod tests {
    use super::EventCounts;

    #[test]
    fn counts_have_the_first_and_the_last_time_whatever_the_order() {
        let mut counts = EventCounts::default();
        for (class, time) in
            [(Some(2), Some(5)), (None, None), (Some(0), Some(3)), (Some(2), Some(9)), (None, Some(4))]
        {
            counts.add(class, time);
        }
        assert_eq!(counts, EventCounts { by_class: vec![1, 0, 2], others: 2, times: Some((3, 9)) });
        assert_eq!(counts.sum(), 5);
    }
}
