//! CTF rules that data can break, in addition to the rules for all formats.

use ichnos_model::class::Uuid;
use ichnos_model::message::{DamageKind, remedy};
use ichnos_model::rules;

ichnos_model::named_enum! {
    /// Content of an unwritten or overwritten block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Overwritten {
        /// 0 bytes.
        Zeros = "zeros",
        /// 0xff bytes.
        Ones = "bytes of 0xff",
        /// Copy of the previous block.
        Copy = "a copy of the 4,096 bytes before",
        /// 0 bytes or 0xff bytes up to the packet's end.
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
        /// A packet must begin with the magic number, if its class has one (CTF2-SPEC-2.0, "Packet").
        #[error("expected the packet magic number 0xc1fc1fc1, found {0:#x}")]
        Magic(u64): "packet-magic", true,
            "not a data stream of this trace, or bytes are missing: move other files out of the directory, or \
            copy the file again";
        /// A packet must have its metadata stream's UUID.
        #[error("expected the UUID {expected} of the metadata, found {found}")]
        Uuid {
            /// Metadata UUID.
            expected: Uuid,
            /// Packet UUID.
            found: Uuid,
        }: "packet-uuid", true,
            "the file belongs to another recording: put it next to the metadata of that recording";
        /// A packet must name a data stream class from the metadata.
        #[error("unknown data stream class {0}: it is not in the metadata")]
        DataStreamClass(u128): "data-stream-class", true, remedy::METADATA;
        /// A packet must name the data stream that its sequence number continues.
        #[error("the packet names data stream {found}, but its number continues data stream {expected}")]
        DataStream {
            /// Id named by the packet.
            found: u128,
            /// Id of its data stream.
            expected: u128,
        }: "data-stream", true,
            "bytes were changed: the packet is read as part of the data stream of the packets around it";
        /// A packet must belong to the data stream given in its file's index.
        #[error("the index of the file is wrong: the packet belongs to data stream class {class}")]
        OtherDataStream {
            /// Data stream class id named by the packet.
            class: u128,
        }: "index-data-stream", true, REMOVE_INDEX;
        /// An event record must name an event record class from its data stream class.
        #[error("unknown event record class {id} of data stream class {data_stream_class}")]
        EventRecordClass {
            /// Data stream class id.
            data_stream_class: u128,
            /// Id named by the event record.
            id: u128,
        }: "event-record-class", true,
            "the file `metadata` does not declare this id: use the metadata of the tracer version that \
            recorded the trace (with Zephyr, a file in its sources); otherwise, bytes before it were changed \
            or are missing";
        /// An event record must consist of its own bytes. Media or file systems can leave other bytes in its place.
        #[error("expected an event record, found {0}")]
        Overwritten(Overwritten): "event-record-bytes", true,
            "these bytes were never written, or were overwritten: copy the file again from its source";
        /// Packets must begin with their own bytes, not with a text.
        #[error("expected a packet, found the text {0}")]
        Text(String): "packet-text", true,
            "remove the text that another program wrote into the file";
        /// An id must not exceed 128 bits. This is a limit of this reader.
        #[error("the id takes {0} bits, more than the limit of 128")]
        WideId(u64): "id-length", true, remedy::METADATA;
        /// A packet's content must not be longer than the packet.
        #[error("the packet's content of {content} bits is longer than the packet of {total} bits")]
        ContentBeyondTotal {
            /// Content size in bits.
            content: u64,
            /// Packet size in bits.
            total: u64,
        }: "packet-content-length", true, remedy::PACKET_SIZES;
        /// A packet must not end before its own header and context.
        #[error("the packet has {what} of {length} bits, but its header and context take {taken} bits")]
        PacketTooShort {
            /// "a total length" or "a content length".
            what: &'static str,
            /// Recorded size in bits.
            length: u64,
            /// Size of its header and context in bits.
            taken: u64,
        }: "packet-length", true, remedy::PACKET_SIZES;
        /// A packet's size must be a whole number of bytes.
        #[error("the packet's total length of {0} bits is not a multiple of 8")]
        PartialByte(u64): "packet-whole-bytes", true, remedy::PACKET_SIZES;
        /// A file must not contain a packet twice.
        #[error("the packet is a copy of the packet at byte {0} of the file")]
        Copy(u64): "packet-copy", true,
            "the packet was copied after it was recorded: it is read once; copy the file again from its \
            source";
        /// Packets in a file must be sorted by time.
        #[error(
            "the packet begins at {begin} cycles: this does not fit between the packets around it in the file"
        )]
        Misplaced {
            /// Cycles at its start.
            begin: u64,
        }: "packet-order", true,
            "packets were moved, or their times changed, after they were recorded: all are read, sorted by \
            time";
        /// Packet sequence numbers and counters of discarded event records must not decrease.
        #[error("the {counter} goes back, from {from} to {to}")]
        CounterBackwards {
            /// "packet sequence number" or "counter of discarded event records".
            counter: &'static str,
            /// Value in the previous packet.
            from: u64,
            /// Value in this packet.
            to: u64,
        }: "counter-order", true,
            "the tracer was restarted, or bytes were changed: loss counts near it may be wrong";
        /// A packet must end before the next packet begins.
        #[error("the packet ends at {end} cycles, but the next packet begins at {next} cycles")]
        EndAfterNext {
            /// Cycles at its end.
            end: u64,
            /// Cycles at the start of the next packet in the data stream.
            next: u64,
        }: "packet-end-next", true, remedy::CLOCK;
        /// A packet must begin before its event records.
        #[error("the packet begins at {begin} cycles, but its first event record is at {first} cycles")]
        BeginAfterEvents {
            /// Cycles at its start.
            begin: u64,
            /// Cycles of its first event record.
            first: u64,
        }: "packet-begin", true, remedy::CLOCK;
        /// A packet must begin before it ends.
        #[error("the packet ends at {end} cycles, before it begins at {begin} cycles")]
        EndBeforeBegin {
            /// Cycles at its start.
            begin: u64,
            /// Cycles at its end.
            end: u64,
        }: "packet-end", true, remedy::CLOCK;
        /// A recording program must deliver its packets.
        #[error("a packet of {bytes} bytes was not received: {reason}")]
        NotReceived {
            /// Packet size in bytes.
            bytes: u64,
            /// Reason in the words of the sender or of the connection.
            reason: String,
        }: "packet-received", true,
            "the sender no longer has the packet: let it keep more of them, or read them earlier";
        /// A tracer's packet index must match the packet. If they differ, the packet is right.
        #[error("the packet index does not match the packet")]
        FalseIndex: "index-packet", true, REMOVE_INDEX;
    }
}

impl From<Rule> for DamageKind {
    fn from(rule: Rule) -> Self {
        rule.broken(rule.to_string()).into()
    }
}
