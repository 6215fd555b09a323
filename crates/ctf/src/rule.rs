//! Rules that CTF data can break, in addition to the rules for any format.

use ichnos_model::{DamageKind, Uuid, remedy, rules};

ichnos_model::named_enum! {
    /// Content of a block that was never written, or overwritten.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Overwritten {
        /// Bytes of 0.
        Zeros = "zeros",
        /// Bytes of 0xff.
        Ones = "bytes of 0xff",
        /// The bytes of the block before.
        Copy = "a copy of the 4,096 bytes before",
        /// Bytes of 0, or of 0xff, up to the end of the packet.
        Rest = "zeros, or bytes of 0xff, up to the end of the packet",
    }
}

const REMOVE_INDEX: &str =
    "remove the packet index (the file in the directory `index`): packets are found without it";

rules! {
    /// Rule that a packet, an event record or a packet index breaks, with details.
    #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum Rule {
        /// A packet begins with the magic number, if its class has one (CTF2-SPEC-2.0, "Packet").
        #[error("expected the packet magic number 0xc1fc1fc1, found {0:#x}")]
        Magic(u64): "packet-magic", true,
            "not a data stream of this trace, or bytes are missing: move other files out of the directory, or \
            copy the file again";
        /// A packet has the UUID of its metadata stream.
        #[error("expected the UUID {expected} of the metadata, found {found}")]
        Uuid {
            /// UUID of the metadata.
            expected: Uuid,
            /// UUID of the packet.
            found: Uuid,
        }: "packet-uuid", true,
            "the file belongs to another recording: put it next to the metadata of that recording";
        /// A packet names a data stream class of the metadata.
        #[error("unknown data stream class {0}: it is not in the metadata")]
        DataStreamClass(u128): "data-stream-class", true, remedy::METADATA;
        /// A packet names the data stream to which its number belongs.
        #[error("the packet names data stream {found}, but its number continues data stream {expected}")]
        DataStream {
            /// Id that the packet names.
            found: u128,
            /// Id of its data stream.
            expected: u128,
        }: "data-stream", true,
            "bytes were changed: the packet is read as part of the data stream of the packets around it";
        /// A packet belongs to the data stream in the index of its file.
        #[error("the index of the file is wrong: the packet belongs to data stream class {class}")]
        OtherDataStream {
            /// Id of the data stream class that the packet names.
            class: u128,
        }: "index-data-stream", true, REMOVE_INDEX;
        /// An event record names an event record class of its data stream class.
        #[error("unknown event record class {id} of data stream class {data_stream_class}")]
        EventRecordClass {
            /// Id of the data stream class.
            data_stream_class: u128,
            /// Id that the event record names.
            id: u128,
        }: "event-record-class", true,
            "the file `metadata` does not declare this id: use the metadata of the tracer version that \
            recorded the trace (with Zephyr, a file in its sources); otherwise, bytes before it were changed \
            or are missing";
        /// An event record consists of its own bytes. A medium or a file system can leave other bytes there.
        #[error("expected an event record, found {0}")]
        Overwritten(Overwritten): "event-record-bytes", true,
            "these bytes were never written, or were overwritten: copy the file again from its source";
        /// Packets begin with their own bytes, not with a text.
        #[error("expected a packet, found the text {0}")]
        Text(String): "packet-text", true,
            "remove the text that another program wrote into the file";
        /// An id takes 128 bits at most: a limit of this reader.
        #[error("the id takes {0} bits, more than the limit of 128")]
        WideId(u64): "id-length", true, remedy::METADATA;
        /// The content of a packet is not longer than the packet.
        #[error("the packet's content of {content} bits is longer than the packet of {total} bits")]
        ContentBeyondTotal {
            /// Size of the content in bits.
            content: u64,
            /// Size of the packet in bits.
            total: u64,
        }: "packet-content-length", true, remedy::PACKET_SIZES;
        /// A packet does not end before its own header and context.
        #[error("the packet has {what} of {length} bits, but its header and context take {taken} bits")]
        PacketTooShort {
            /// "a total length" or "a content length".
            what: &'static str,
            /// Recorded size.
            length: u64,
            /// Size of its header and context.
            taken: u64,
        }: "packet-length", true, remedy::PACKET_SIZES;
        /// The size of a packet is a whole number of bytes.
        #[error("the packet's total length of {0} bits is not a multiple of 8")]
        PartialByte(u64): "packet-whole-bytes", true, remedy::PACKET_SIZES;
        /// A packet is in its file once.
        #[error("the packet is a copy of the packet at byte {0} of the file")]
        Copy(u64): "packet-copy", true,
            "the packet was copied after it was recorded: it is read once; copy the file again from its \
            source";
        /// The packets of a file are sorted by time.
        #[error(
            "the packet begins at {begin} cycles: this does not fit between the packets around it in the file"
        )]
        Misplaced {
            /// Cycles at its beginning.
            begin: u64,
        }: "packet-order", true,
            "packets were moved, or their times changed, after they were recorded: all are read, sorted by \
            time";
        /// Packet numbers and counters of discarded event records only grow.
        #[error("the {counter} goes back, from {from} to {to}")]
        CounterBackwards {
            /// "packet sequence number" or "counter of discarded event records".
            counter: &'static str,
            /// Value in the packet before.
            from: u64,
            /// Value in the packet.
            to: u64,
        }: "counter-order", true,
            "the tracer was restarted, or bytes were changed: loss counts near it may be wrong";
        /// A packet ends before the next one begins.
        #[error("the packet ends at {end} cycles, but the next packet begins at {next} cycles")]
        EndAfterNext {
            /// Cycles at its end.
            end: u64,
            /// Cycles at the beginning of the next packet of the data stream.
            next: u64,
        }: "packet-end-next", true, remedy::CLOCK;
        /// A packet begins before its event records.
        #[error("the packet begins at {begin} cycles, after its event records, which begin at {first} cycles")]
        BeginAfterEvents {
            /// Cycles at its beginning.
            begin: u64,
            /// Cycles of its first event record.
            first: u64,
        }: "packet-begin", true, remedy::CLOCK;
        /// A packet begins before it ends.
        #[error("the packet ends at {end} cycles, before it begins at {begin} cycles")]
        EndBeforeBegin {
            /// Cycles at its beginning.
            begin: u64,
            /// Cycles at its end.
            end: u64,
        }: "packet-end", true, remedy::CLOCK;
        /// The tracer's packet index matches the packet. If it does not, the packet is right.
        #[error("the packet index does not match the packet")]
        FalseIndex: "index-packet", true, REMOVE_INDEX;
    }
}

impl From<Rule> for DamageKind {
    fn from(rule: Rule) -> Self {
        rule.broken(rule.to_string()).into()
    }
}
