//! CTF constructs around fields: roots, headers and contexts with roles, clocks, ids, names, the environment.

use crate::encoder::{Order, unsigned_bits};

use super::ctf_language::{ClassText, Language, LengthText, RootPlace};
use super::ctf_trace::{CtfTrace, Fragment};
use super::{Construct, Datum, Lost, Origin};

use RootPlace::{CommonContext, EventHeader, PacketContext, PacketHeader, Payload, SpecificContext};

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
const UUID_BYTES: [u8; 16] = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";

/// Returns the constructs of a document, except field constructs.
pub(super) fn constructs(origin: Origin) -> Vec<Construct> {
    let mut table = HeaderTable { language: Language(origin), constructs: Vec::new() };
    table.roots();
    table.class_ids();
    table.stream_ids();
    table.identities();
    table.times();
    table.clocks();
    table.packet_sizes();
    table.packet_times();
    table.packet_counters();
    table.descriptions();
    table.clock_tags();
    table.constructs
}

/// Meaning of a field in a header or context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberRole {
    Magic,
    StreamClass,
    Stream,
    Total,
    Content,
    Begin,
    End,
    Discarded,
    Sequence,
    EventClass,
    Timestamp,
}

impl MemberRole {
    fn place(self) -> RootPlace {
        match self {
            Self::Magic | Self::StreamClass | Self::Stream => PacketHeader,
            Self::EventClass | Self::Timestamp => EventHeader,
            _ => PacketContext,
        }
    }

    /// Returns the member name. In TSDL, it is the role.
    fn member(self) -> &'static str {
        match self {
            Self::Magic => "magic",
            Self::StreamClass => "stream_id",
            Self::Stream => "stream_instance_id",
            Self::Total => "packet_size",
            Self::Content => "content_size",
            Self::Begin => "timestamp_begin",
            Self::End => "timestamp_end",
            Self::Discarded => "events_discarded",
            Self::Sequence => "packet_seq_num",
            Self::EventClass => "id",
            Self::Timestamp => "timestamp",
        }
    }

    fn name(self, origin: Origin) -> &'static str {
        match (self, origin) {
            (Self::Magic, Origin::Prop1) => "magic",
            (Self::Magic, _) => "packet-magic-number",
            (Self::StreamClass, _) => "data-stream-class-id",
            (Self::Stream, _) => "data-stream-id",
            (Self::Total, Origin::Spec2) => "packet-total-length",
            (Self::Total, _) => "packet-total-size",
            (Self::Content, Origin::Spec2) => "packet-content-length",
            (Self::Content, _) => "packet-content-size",
            (Self::Begin | Self::Timestamp, Origin::Prop1) => "update-data-stream-clock-now",
            (Self::Begin, Origin::Prop2) => "packet-beginning-default-clock-timestamp",
            (Self::Begin | Self::Timestamp, _) => "default-clock-timestamp",
            (Self::End, Origin::Prop1) => "update-data-stream-clock-after-packet",
            (Self::End, _) => "packet-end-default-clock-timestamp",
            (Self::Discarded, Origin::Prop1) => "discarded-event-record-count",
            (Self::Discarded, _) => "discarded-event-record-counter-snapshot",
            (Self::Sequence, _) => "packet-sequence-number",
            (Self::EventClass, _) => "event-record-class-id",
        }
    }

    fn is_clock(self) -> bool {
        matches!(self, Self::Begin | Self::End | Self::Timestamp)
    }
}

/// Adds an unsigned integer with a role.
fn role(trace: &mut CtfTrace, role: MemberRole, length: usize) {
    let language = trace.language;
    let class = language.integer(length, false, Order::Le);
    role_class(trace, role, class);
}

/// Adds a field with a role.
fn role_class(trace: &mut CtfTrace, role: MemberRole, class: ClassText) {
    let language = trace.language;
    let (place, member, name) = (role.place(), role.member(), role.name(language.0));
    match language.0 {
        Origin::Ctf18 if role.is_clock() => trace.member(place, member, class.with("map", "clock.c.value")),
        Origin::Ctf18 => trace.member(place, member, class),
        Origin::Prop1 => {
            let more = match role {
                MemberRole::Discarded => r#","reason":"legacy""#,
                _ if role.is_clock() => r#","data-stream-clock-class-name":"c""#,
                _ => "",
            };
            trace.member(place, member, class).tag(place, member, name, more)
        }
        _ => trace.member(place, member, class.with("roles", &format!("[\"{name}\"]"))),
    };
}

/// Clock properties.
#[derive(Clone, Copy, Debug)]
struct ClockText {
    frequency: u64,
    seconds: i64,
    cycles: u64,
    counts_from_unix_epoch: bool,
}

impl ClockText {
    const PLAIN: Self =
        Self { frequency: 1_000_000_000, seconds: 0, cycles: 0, counts_from_unix_epoch: false };

    /// Converts a clock value to a time in nanoseconds.
    fn nanoseconds(self, value: u64) -> i128 {
        let frequency = i128::from(self.frequency);
        let cycles = i128::from(self.seconds) * frequency + i128::from(self.cycles) + i128::from(value);
        (cycles * 1_000_000_000).div_euclid(frequency)
    }

    /// Adds the clock `c` to a trace and its data streams. `more` are further members.
    fn add(self, trace: &mut CtfTrace, more: &str) {
        let Self { frequency, seconds, cycles, counts_from_unix_epoch } = self;
        let text = match trace.language.0 {
            Origin::Ctf18 => {
                format!(
                    "clock {{ name = c; freq = {frequency}; offset_s = {seconds}; offset = {cycles}; {more}}};\n"
                )
            }
            Origin::Prop1 => format!(
                r#"{{"fragment":"data-stream-clock-class","name":"c","freq":{frequency},"offset-seconds":{seconds},"offset-cycles":{cycles}{more}}}"#
            ),
            Origin::Prop2 => format!(
                r#"{{"type":"clock-class","name":"c","frequency":{frequency},"offset":{{"seconds":{seconds},"cycles":{cycles}}},"origin-is-unix-epoch":{counts_from_unix_epoch}{more}}}"#
            ),
            _ => {
                let origin = if counts_from_unix_epoch { r#","origin":"unix-epoch""# } else { "" };
                format!(
                    r#"{{"type":"clock-class","id":"c","frequency":{frequency},"offset-from-origin":{{"seconds":{seconds},"cycles":{cycles}}}{origin}{more}}}"#
                )
            }
        };
        trace.fragment(text);
        match trace.language.0 {
            Origin::Prop2 => _ = trace.more(Fragment::Stream, "default-clock-class-name", r#""c""#),
            Origin::Spec2 => _ = trace.more(Fragment::Stream, "default-clock-class-id", r#""c""#),
            _ => {}
        }
    }
}

struct HeaderTable {
    language: Language,
    constructs: Vec<Construct>,
}

impl HeaderTable {
    fn trace(&self, name: impl AsRef<str>) -> CtfTrace {
        CtfTrace::new(self.language, name)
    }

    /// Creates a trace with a payload byte.
    fn with_payload(&self, name: impl AsRef<str>) -> CtfTrace {
        let mut trace = self.trace(name);
        trace.member(Payload, "x", self.language.byte());
        trace
    }

    fn add(&mut self, mut trace: CtfTrace) {
        self.constructs.push(trace.finish());
    }

    /// Root fields without a role. In PROP-1.0, also root fields that are not structures.
    fn roots(&mut self) {
        let language = self.language;
        for place in RootPlace::ALL {
            let is_of_packet = matches!(place, PacketHeader | PacketContext);
            // CTF 2 headers contain only fields with roles, and fields that others depend on.
            if !(language.is_second() && matches!(place, PacketHeader | EventHeader)) {
                let mut trace = self.trace(format!("only the {}", place.scope()));
                trace.member(place, "x", language.byte());
                if is_of_packet {
                    trace.member(Payload, "y", language.byte()).byte(place, "x", 7);
                    trace.event().byte(Payload, "y", 1).event().byte(Payload, "y", 2);
                } else {
                    trace.event().byte(place, "x", 1).event().byte(place, "x", 2);
                }
                self.add(trace);
            }
            if !language.is_prop1() {
                continue;
            }
            let array = language.array(&language.byte(), &LengthText::Static(2));
            let kinds: [(&str, ClassText, Datum, &[u8]); 3] = [
                ("integer", language.byte(), Datum::integer(65), b"A"),
                ("text", language.string(), Datum::text("ab"), b"ab\0"),
                ("array", array, Datum::array([1, 2].map(Datum::integer)), b"\x01\x02"),
            ];
            for (kind, class, value, bytes) in kinds {
                let mut trace = self.trace(format!("{kind} as {}", place.scope()));
                trace.whole(place, class);
                if is_of_packet {
                    trace.member(Payload, "y", language.byte());
                    trace.put_whole(place, value, |encoder| encoder.raw(bytes));
                    trace.event().byte(Payload, "y", 1).event().byte(Payload, "y", 2);
                } else {
                    for _ in 0..2 {
                        trace.event().put_whole(place, value.clone(), |encoder| encoder.raw(bytes));
                    }
                }
                self.add(trace);
            }
        }
        let mut trace = self.trace("all roots");
        for place in [PacketContext, CommonContext, SpecificContext, Payload] {
            trace.member(place, "x", language.byte());
        }
        trace.byte(PacketContext, "x", 9);
        for value in [1, 2] {
            trace.event().byte(CommonContext, "x", value).byte(SpecificContext, "x", 10 * value);
            trace.byte(Payload, "x", 100 * value);
        }
        self.add(trace);
    }

    /// Event record class ids: 0, and the greatest id for each width.
    fn class_ids(&mut self) {
        for length in [1_usize, 5, 8, 16, 32, 33, 64, 65, 128] {
            let greatest = if length == 128 { u128::MAX } else { (1 << length) - 1 };
            // CTF 1.8 ids have 64 bits.
            if self.language.is_tsdl() && length > 64 {
                continue;
            }
            // Another field fills the last byte.
            let rest = 8 + length.next_multiple_of(8) - length;
            let mut trace = self.trace(format!("event id of {length} bits"));
            role(&mut trace, MemberRole::EventClass, length);
            trace.event_id(0).member(Payload, "x", self.language.integer(rest, false, Order::Le));
            trace.next_event_class(greatest, "f").member(
                Payload,
                "y",
                self.language.integer(rest, false, Order::Le),
            );
            for (name, member, id) in [("e", "x", 0), ("f", "y", greatest), ("e", "x", 0)] {
                trace.event_of(Some(name), None);
                trace.encoder.fixed(&unsigned_bits(id, length), Order::Le);
                trace.int(Payload, member, 77, rest, Order::Le);
            }
            self.add(trace);
        }
        if let Some(class) = self.language.variable("unsigned-integer") {
            let mut trace = self.trace("event id of variable length");
            role_class(&mut trace, MemberRole::EventClass, class);
            trace.event_id(300).member(Payload, "x", self.language.byte());
            trace.event().encoder.uleb(300);
            trace.byte(Payload, "x", 5);
            self.add(trace);
        }
        let mut trace = self.trace("event without fields");
        role(&mut trace, MemberRole::EventClass, 8);
        trace.event_id(0).event().bits(0, 8).event().bits(0, 8);
        self.add(trace);
    }

    fn stream_ids(&mut self) {
        for length in [8, 32, 64, 72] {
            // CTF 1.8 ids have 64 bits.
            if self.language.is_tsdl() && length > 64 {
                continue;
            }
            let greatest: u128 = (1 << length) - 1;
            let mut trace = self.with_payload(format!("data stream class id of {length} bits"));
            role(&mut trace, MemberRole::StreamClass, length);
            trace.stream_id(0).next_stream_class(greatest).member(Payload, "y", self.language.byte());
            trace.encoder.fixed(&unsigned_bits(0, length), Order::Le);
            trace.event().byte(Payload, "x", 1).next_file("stream2");
            trace.encoder.fixed(&unsigned_bits(greatest, length), Order::Le);
            trace.event_of(Some("f"), None).byte(Payload, "y", 2);
            self.add(trace);

            let mut trace = self.with_payload(format!("data stream id of {length} bits"));
            role(&mut trace, MemberRole::Stream, length);
            trace.encoder.fixed(&unsigned_bits(0, length), Order::Le);
            trace.event().byte(Payload, "x", 1).next_file("stream2");
            trace.encoder.fixed(&unsigned_bits(greatest, length), Order::Le);
            trace.event().byte(Payload, "x", 2);
            self.add(trace);
        }
    }

    fn identities(&mut self) {
        let language = self.language;
        let mut trace = self.with_payload("magic number");
        role(&mut trace, MemberRole::Magic, 32);
        trace.bits(0xc1fc_1fc1, 32).event().byte(Payload, "x", 1);
        self.add(trace);

        let mut trace = self.with_payload("UUID in the metadata");
        add_uuid(&mut trace);
        trace.event().byte(Payload, "x", 1);
        self.add(trace);

        let mut trace = self.with_payload("UUID in the packet header");
        add_uuid(&mut trace);
        let array = || language.array(&language.byte(), &LengthText::Static(16));
        match language.0 {
            Origin::Ctf18 => _ = trace.member(PacketHeader, "uuid", array()),
            Origin::Prop1 => {
                let mut class = array();
                class.text = class.text.replace(r#""size":8"#, r#""size":8,"alignment":8"#);
                trace.member(PacketHeader, "uuid", class).tag(PacketHeader, "uuid", "uuid", "");
            }
            _ => {
                let name = if language.is_spec2() { "metadata-stream-uuid" } else { "trace-class-uuid" };
                let class = language.bytes("blob", &LengthText::Static(16)).unwrap();
                trace.member(PacketHeader, "uuid", class.with("roles", &format!("[\"{name}\"]")));
            }
        }
        trace.encoder.raw(&UUID_BYTES);
        trace.event().byte(Payload, "x", 1);
        self.add(trace);
    }

    /// Timestamps for each width. They wrap.
    fn times(&mut self) {
        for length in [1_usize, 5, 8, 27, 32, 63, 64, 65] {
            if self.language.is_tsdl() && length > 64 {
                continue;
            }
            let rest = 8 + length.next_multiple_of(8) - length;
            let mut trace = self.trace(format!("timestamp of {length} bits"));
            ClockText::PLAIN.add(&mut trace, "");
            role(&mut trace, MemberRole::Timestamp, length);
            trace.member(Payload, "x", self.language.integer(rest, false, Order::Le));
            let values: &[u128] = match length {
                1 => &[1, 2, 3],
                // Times are signed 64-bit numbers.
                63.. => &[0, 5, i64::MAX as u128],
                _ => &[3, (1 << length) - 1, (1 << length) + 2],
            };
            for (value, x) in values.iter().zip(1..) {
                let value = *value;
                trace.event_at(ClockText::PLAIN.nanoseconds(value as u64));
                let bits = if length < 64 { value & ((1 << length) - 1) } else { value };
                trace.encoder.fixed(&unsigned_bits(bits, length), Order::Le);
                trace.int(Payload, "x", x, rest, Order::Le);
            }
            self.add(trace);
        }
        if let Some(class) = self.language.variable("unsigned-integer") {
            let mut trace = self.with_payload("timestamp of variable length");
            ClockText::PLAIN.add(&mut trace, "");
            role_class(&mut trace, MemberRole::Timestamp, class);
            // With 14, 7 and 7 bits: the last timestamp wraps.
            for (value, time) in [(300, 300), (0x60, 300 - 300 % 128 + 0x60), (1, 300 - 300 % 128 + 128 + 1)]
            {
                trace.event_at(time).encoder.uleb(value);
                trace.byte(Payload, "x", 5);
            }
            self.add(trace);
        }
        // Sorted by file, not by time.
        let mut trace = self.with_payload("equal times in two data streams");
        ClockText::PLAIN.add(&mut trace, "");
        role(&mut trace, MemberRole::Timestamp, 32);
        trace.event_at(7).bits(7, 32).byte(Payload, "x", 1).event_at(7).bits(7, 32).byte(Payload, "x", 2);
        trace.next_file("stream2").event_at(7).bits(7, 32).byte(Payload, "x", 3);
        self.add(trace);
    }

    fn clocks(&mut self) {
        let plain = ClockText::PLAIN;
        let unix = ClockText { counts_from_unix_epoch: true, ..plain };
        let clocks = [
            ("frequency of 1 Hz", ClockText { frequency: 1, ..plain }),
            ("frequency of 1 kHz", ClockText { frequency: 1000, ..plain }),
            ("frequency of 3124099 Hz", ClockText { frequency: 3_124_099, ..plain }),
            ("frequency of 10 GHz", ClockText { frequency: 10_000_000_000, ..plain }),
            ("clock with seconds of offset", ClockText { seconds: 1_700_000_000, ..plain }),
            ("clock with negative seconds", ClockText { seconds: -5, ..plain }),
            ("clock with cycles of offset", ClockText { cycles: 999_999_999, ..plain }),
            ("clock with both offsets", ClockText { frequency: 1000, seconds: 3, cycles: 999, ..plain }),
            ("clock that counts from 1970", ClockText { seconds: 1_700_000_000, ..unix }),
        ];
        for (name, clock) in clocks {
            if clock.counts_from_unix_epoch && !self.language.is_second() {
                continue;
            }
            let mut trace = self.with_payload(name);
            clock.add(&mut trace, "");
            role(&mut trace, MemberRole::Timestamp, 64);
            for (value, x) in [(0, 1), (1, 2), (1_000_000_007, 3)] {
                trace.event_at(clock.nanoseconds(value)).bits(value.into(), 64).byte(Payload, "x", x);
            }
            self.add(trace);
        }
        let properties: &[(&str, &str)] = match self.language.0 {
            Origin::Ctf18 => &[
                ("description", r#"description = "a b"; "#),
                ("precision", "precision = 7; "),
                ("UUID", r#"uuid = "00112233-4455-6677-8899-aabbccddeeff"; "#),
                ("absolute", "absolute = true; "),
            ],
            Origin::Prop1 => &[
                ("error", r#","error-cycles":7"#),
                ("UUID", r#","uuid":"00112233-4455-6677-8899-aabbccddeeff""#),
                ("absolute", r#","is-absolute":true"#),
                ("attributes", r#","user-attrs":{"my ns":{"k":1}}"#),
            ],
            Origin::Prop2 => &[
                ("description", r#","description":"a b""#),
                ("precision", r#","precision":7"#),
                ("UUID", r#","uuid":"00112233-4455-6677-8899-aabbccddeeff""#),
                ("attributes", r#","user-attributes":{"my ns":{"k":1}}"#),
            ],
            _ => &[
                ("description", r#","description":"a b""#),
                ("precision", r#","precision":7"#),
                ("accuracy", r#","accuracy":7"#),
                ("name", r#","name":"n","uid":"u","namespace":"ns""#),
                ("named origin", r#","origin":{"namespace":"ns","name":"n","uid":"u"}"#),
                ("attributes", r#","attributes":{"my ns":{"k":1}}"#),
            ],
        };
        for (name, text) in properties {
            let mut trace = self.with_payload(format!("clock with {name}"));
            plain.add(&mut trace, text);
            role(&mut trace, MemberRole::Timestamp, 64);
            trace.event_at(5).bits(5, 64).byte(Payload, "x", 1);
            self.add(trace);
        }
    }

    fn packet_sizes(&mut self) {
        for length in [16, 32, 64] {
            for (padding, is_padded) in [(0, false), (2, true)] {
                let name = if is_padded { "with padding" } else { "without padding" };
                let mut trace = self.with_payload(format!("sizes of {length} bits, {name}"));
                role(&mut trace, MemberRole::Total, length);
                role(&mut trace, MemberRole::Content, length);
                for packet in [1, 2] {
                    trace.total_size(length).content_size(length);
                    trace.event().byte(Payload, "x", packet).event().byte(Payload, "x", 10 * packet);
                    trace.end_packet(padding);
                }
                self.add(trace);
            }
        }
        let mut trace = self.with_payload("total size only");
        role(&mut trace, MemberRole::Total, 32);
        for packet in [1, 2] {
            trace.total_size(32).event().byte(Payload, "x", packet).end_packet(0);
        }
        self.add(trace);
        let mut trace = self.with_payload("content size only");
        role(&mut trace, MemberRole::Content, 32);
        trace.content_size(32).event().byte(Payload, "x", 1).end_packet(0);
        self.add(trace);
        let mut trace = self.with_payload("packet without events");
        role(&mut trace, MemberRole::Total, 32);
        role(&mut trace, MemberRole::Content, 32);
        trace.total_size(32).content_size(32).end_packet(0);
        trace.total_size(32).content_size(32).event().byte(Payload, "x", 1).end_packet(0);
        self.add(trace);
    }

    /// Packet times for each width, with and without event timestamps.
    fn packet_times(&mut self) {
        for length in [8, 16, 32, 64] {
            for roles in [&[MemberRole::Begin][..], &[MemberRole::End], &[MemberRole::Begin, MemberRole::End]]
            {
                let names: Vec<&str> = roles.iter().map(|role| role.member()).collect();
                let mut trace = self.with_payload(format!("{} of {length} bits", names.join(" and ")));
                ClockText::PLAIN.add(&mut trace, "");
                role(&mut trace, MemberRole::Total, 32);
                role(&mut trace, MemberRole::Content, 32);
                roles.iter().for_each(|one| role(&mut trace, *one, length));
                role(&mut trace, MemberRole::Timestamp, 8);
                for begin in [10, 30] {
                    trace.total_size(32).content_size(32);
                    for role in roles {
                        trace.bits(if *role == MemberRole::Begin { begin } else { begin + 9 }, length);
                    }
                    for time in [begin + 1, begin + 5] {
                        trace.event_at(time).bits(time, 8).byte(Payload, "x", 1);
                    }
                    trace.end_packet(0);
                }
                self.add(trace);
            }
        }
        let mut trace = self.with_payload("time of the packet only");
        ClockText::PLAIN.add(&mut trace, "");
        role(&mut trace, MemberRole::Begin, 32);
        trace.bits(1000, 32).event_at(1000).byte(Payload, "x", 1).event_at(1000).byte(Payload, "x", 2);
        self.add(trace);
        let mut trace = self.with_payload("times of a packet at the limits");
        ClockText::PLAIN.add(&mut trace, "");
        role(&mut trace, MemberRole::Begin, 64);
        role(&mut trace, MemberRole::End, 64);
        role(&mut trace, MemberRole::Timestamp, 64);
        // Times are signed 64-bit numbers.
        let most = i128::from(i64::MAX);
        trace.bits(0, 64).bits(most, 64);
        trace.event_at(0).bits(0, 64).byte(Payload, "x", 1);
        trace.event_at(most).bits(most, 64).byte(Payload, "x", 2);
        self.add(trace);
    }

    fn packet_counters(&mut self) {
        for length in [8, 16, 32, 64] {
            let greatest = if length == 64 { -1 } else { (1 << length) - 1 };
            // The number discarded before the first packet is unknown.
            let before = Lost::UnknownEvents;
            let numbers: [(&str, MemberRole, &[i128], &[Lost]); 7] = [
                ("sequence numbers", MemberRole::Sequence, &[0, 1], &[]),
                ("sequence numbers from 5", MemberRole::Sequence, &[5, 6], &[]),
                ("sequence numbers with a gap", MemberRole::Sequence, &[0, 4], &[Lost::Packets(3)]),
                ("sequence numbers that wrap", MemberRole::Sequence, &[greatest, 0], &[]),
                ("discarded events", MemberRole::Discarded, &[0, 3], &[Lost::Events(3)]),
                ("discarded events before the first packet", MemberRole::Discarded, &[2, 2], &[before]),
                (
                    "discarded events that wrap",
                    MemberRole::Discarded,
                    &[greatest, 1],
                    &[before, Lost::Events(2)],
                ),
            ];
            for (name, one, values, lost) in numbers {
                let mut trace = self.with_payload(format!("{name}, {length} bits"));
                role(&mut trace, MemberRole::Total, 32);
                role(&mut trace, MemberRole::Content, 32);
                role(&mut trace, one, length);
                for value in values {
                    trace.total_size(32).content_size(32).bits(*value, length);
                    trace.event().byte(Payload, "x", 1).end_packet(0);
                }
                trace.lost.extend_from_slice(lost);
                self.add(trace);
            }
        }
    }

    /// Names, environment, attributes and other properties.
    fn descriptions(&mut self) {
        use Fragment::{Event, Preamble, Stream, Trace};
        let language = self.language;
        let attributes = match language.0 {
            Origin::Prop1 => "user-attrs",
            Origin::Prop2 => "user-attributes",
            _ => "attributes",
        };
        let value = r#"{"my ns":{"k":[1,null,true]}}"#;
        let mut rows: Vec<(&str, Fragment, &str, &str)> = Vec::new();
        if !language.is_tsdl() {
            rows.extend([
                ("attributes of the trace class", Trace, attributes, value),
                ("attributes of a data stream class", Stream, attributes, value),
                ("attributes of an event record class", Event, attributes, value),
            ]);
        }
        if language.is_second() {
            rows.push(("attributes of the preamble", Preamble, attributes, value));
        }
        if language.is_spec2() {
            rows.extend([
                (
                    "environment",
                    Trace,
                    "environment",
                    r#"{"hostname":"h","pid":7,"low":-9223372036854775808,"high":18446744073709551615}"#,
                ),
                ("name of the trace", Trace, "name", r#""t""#),
                ("namespace of the trace", Trace, "namespace", r#""n""#),
                ("unique id of the trace", Trace, "uid", r#""u""#),
                ("namespace of a data stream class", Stream, "namespace", r#""n""#),
                ("unique id of a data stream class", Stream, "uid", r#""u""#),
                ("unique id of an event record class", Event, "uid", r#""u""#),
                ("log level", Event, "attributes", r#"{"babeltrace.org,2020":{"log-level":"warning"}}"#),
                ("EMF URI", Event, "attributes", r#"{"babeltrace.org,2020":{"emf-uri":"a:b"}}"#),
            ]);
        }
        if language.is_second() {
            rows.extend([
                ("name of a data stream class", Stream, "name", r#""s""#),
                ("namespace of an event record class", Event, "namespace", r#""n""#),
            ]);
        }
        if language.is_tsdl() {
            rows.extend([
                ("log level", Event, "loglevel", "4"),
                ("log level without a name", Event, "loglevel", "77"),
                ("EMF URI", Event, "model.emf.uri", r#""a:b""#),
            ]);
        }
        for (name, fragment, key, value) in rows {
            let mut trace = self.with_payload(name);
            trace.more(fragment, key, value).event().byte(Payload, "x", 1);
            self.add(trace);
        }
        if language.is_tsdl() {
            let mut trace = self.with_payload("environment");
            trace.fragment(
                "env {\n    hostname = \"h\";\n    pid = 7;\n    low = -9223372036854775808;\n};\n",
            );
            trace.event().byte(Payload, "x", 1);
            self.add(trace);
        }
        if language.is_prop1() {
            let mut trace = self.trace("field type alias");
            let alias = r#"{"fragment":"field-type-alias","name":"u8","field-type":{"field-type":"int","size":8,"byte-order":"le"}}"#;
            let mut class = language.byte();
            class.text = r#""u8""#.to_owned();
            trace.fragment(alias).member(Payload, "x", class).event().byte(Payload, "x", 1);
            self.add(trace);
        }
        if language.is_spec2() {
            let mut trace = self.trace("field class alias");
            let alias = r#"{"type":"field-class-alias","name":"u8","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian"}}"#;
            let mut class = language.byte();
            class.text = r#""u8""#.to_owned();
            trace.fragment(alias).member(Payload, "x", class).event().byte(Payload, "x", 1);
            self.add(trace);
        }
        for name in ["a b", "a:b", "", "int", "\u{e9}"] {
            if language.is_prop1() || (language.is_tsdl() && name.is_empty()) {
                continue;
            }
            let mut trace = self.with_payload(format!("event name {name:?}"));
            trace.name_event(name).event().byte(Payload, "x", 1);
            self.add(trace);
        }
    }

    /// PROP-1.0: fields in other places that update clocks.
    fn clock_tags(&mut self) {
        if !self.language.is_prop1() {
            return;
        }
        let update = "update-data-stream-clock-now";
        let clock = |name: &str| format!(r#","data-stream-clock-class-name":"{name}""#);
        for place in [PacketHeader, CommonContext, SpecificContext, Payload] {
            let mut trace = self.trace(format!("clock updated in the {}", place.scope()));
            ClockText::PLAIN.add(&mut trace, "");
            trace.member(place, "t", self.language.byte()).tag(place, "t", update, &clock("c"));
            trace.member(Payload, "x", self.language.byte());
            if place == PacketHeader {
                trace.bits(9, 8);
            }
            let mut before = 0;
            for (value, x) in [(5, 1), (7, 2), (2, 3)] {
                let time = match (place, value) {
                    (PacketHeader, _) => 9,
                    (_, 2) => 256 + 2,
                    _ => i128::from(value),
                };
                // An event's clock is known before its own context.
                let is_late = matches!(place, SpecificContext | Payload);
                if is_late {
                    trace.event()
                } else {
                    trace.event_at(time)
                };
                if place != PacketHeader {
                    trace.byte(place, "t", value);
                }
                trace.byte(Payload, "x", x);
                if is_late {
                    trace.other_clock("c", before);
                    before = time;
                }
            }
            self.add(trace);
        }
        let second = r#"{"fragment":"data-stream-clock-class","name":"d","freq":1000}"#;
        let mut trace = self.with_payload("two clocks");
        ClockText::PLAIN.add(&mut trace, "");
        trace.fragment(second).member(EventHeader, "t", self.language.byte()).member(
            EventHeader,
            "u",
            self.language.byte(),
        );
        trace.tag(EventHeader, "t", update, &clock("c")).tag(EventHeader, "u", update, &clock("d"));
        for (value, other) in [(5, 1), (6, 2)] {
            trace
                .event_at(value.into())
                .bits(value.into(), 8)
                .bits(other.into(), 8)
                .byte(Payload, "x", other);
            trace.other_clock("d", other.into());
        }
        self.add(trace);
        let mut trace = self.with_payload("field that updates two clocks");
        ClockText::PLAIN.add(&mut trace, "");
        trace.fragment(second).member(EventHeader, "t", self.language.byte());
        trace.tag(EventHeader, "t", update, &clock("c")).tag(EventHeader, "t", update, &clock("d"));
        for value in [5, 6] {
            trace
                .event_at(value.into())
                .bits(value.into(), 8)
                .byte(Payload, "x", value)
                .other_clock("d", value.into());
        }
        self.add(trace);
        let mut trace = self.with_payload("discarded events in the packet header");
        trace.member(PacketHeader, "d", self.language.byte());
        trace.tag(PacketHeader, "d", "discarded-event-record-count", r#","reason":"legacy""#);
        role(&mut trace, MemberRole::Total, 32);
        for count in [0, 3] {
            trace.bits(count, 8).total_size(32).event().byte(Payload, "x", 1).end_packet(0);
        }
        trace.lost.push(Lost::Events(3));
        self.add(trace);
    }
}

/// Adds a UUID to a trace.
fn add_uuid(trace: &mut CtfTrace) {
    match trace.language.0 {
        Origin::Spec2 => {
            let numbers = UUID_BYTES.map(|byte| byte.to_string()).join(",");
            trace.more(Fragment::Preamble, "uuid", format!("[{numbers}]"));
        }
        _ => _ = trace.more(Fragment::Trace, "uuid", format!("\"{UUID}\"")),
    }
}
