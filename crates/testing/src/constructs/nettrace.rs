//! .NET files: field types, metadata tags, event headers, blocks, the session description.

use crate::nettrace_file::{
    Bytes, File, FileEvent as Event, FileMetadata as Metadata, FileVersion as Form, Trace, field, field_v2,
    field_v6, kind, tag_v5,
};

use super::{Construct, Datum, EncodedEvent, Lost, Origin};

/// Time for tick 1,000 in the default trace block, in nanoseconds since 1970: 2024-05-06 07:08:09.010.
const SYNC: i128 = 1_714_979_289_010_000_000;

/// Returns the constructs of a version.
pub(super) fn constructs(origin: Origin) -> Vec<Construct> {
    let form = match origin {
        Origin::Nettrace3 => Form::V3,
        Origin::Nettrace4 => Form::V4,
        _ => Form::V6,
    };
    let mut table = NettraceTable { origin, form, constructs: Vec::new() };
    table.types();
    table.metadata();
    table.headers();
    table.sessions();
    if form != Form::V3 {
        table.blocks();
    }
    if form == Form::V6 {
        table.labels();
    }
    table.constructs
}

struct NettraceTable {
    origin: Origin,
    form: Form,
    constructs: Vec<Construct>,
}

/// Returns the expected event for thread 7 at a tick.
fn expected(name: &str, tick: u64, mut context: Datum, payload: Datum) -> EncodedEvent {
    if let Datum::Structure(members) = &mut context {
        members.insert(0, ("thread".to_owned(), Datum::integer(7)));
    }
    let scopes = vec![("ctx", context), ("payload", payload)];
    EncodedEvent { name: Some(name.to_owned()), nanoseconds: Some(SYNC + i128::from(tick) - 1_000), scopes }
}

/// Adds thread 7 of process 77, without a name (version 6).
fn thread(file: &mut File) {
    file.block(kind::THREAD, &Bytes::new().sized(Bytes::new().var(7).u8(2).var(77).u8(3).var(7)).0);
}

fn nothing() -> Datum {
    Datum::Structure(Vec::new())
}

fn x(value: Datum) -> Datum {
    Datum::structure([("x", value)])
}

impl NettraceTable {
    fn add(&mut self, name: &str, file: File, events: Vec<EncodedEvent>, lost: Vec<Lost>) {
        let document = match self.form {
            Form::V3 => "nettrace3",
            Form::V4 => "nettrace4",
            Form::V6 => "nettrace6",
        };
        let files = vec![("trace.nettrace".to_owned(), file.end())];
        self.constructs.push(Construct {
            name: format!("{document}: {name}"),
            origin: self.origin,
            files,
            events,
            lost,
        });
    }

    fn file(&self) -> File {
        let mut file = File::new(self.form);
        if self.form == Form::V6 {
            thread(&mut file);
        }
        file
    }

    /// Adds a file with an event for each value of a field `x`.
    fn field(&mut self, name: &str, field: Bytes, values: &[(Datum, Bytes)]) {
        self.fields(name, Metadata::new(1, "e", [field]), values);
    }

    fn fields(&mut self, name: &str, metadata: Metadata, values: &[(Datum, Bytes)]) {
        let mut file = self.file();
        file.metadata(&[metadata]);
        let (mut events, mut all) = (Vec::new(), Vec::new());
        for ((value, bytes), number) in values.iter().zip(1..) {
            events.push(Event::new(1, 7, number, u64::from(number) + 1_000).sorted().with(bytes.clone()));
            all.push(expected("Tests/e", u64::from(number) + 1_000, nothing(), x(value.clone())));
        }
        file.events(true, &events);
        self.add(name, file, all, Vec::new());
    }

    fn types(&mut self) {
        let form = self.form;
        let raw = |bytes: &[u8]| Bytes::new().raw(bytes);
        let integer = |value: i128, size: usize| (Datum::integer(value), raw(&value.to_le_bytes()[..size]));
        let guid = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
        let (max, min) = (i128::from(i64::MAX), i128::from(i64::MIN));
        // 100 ns since 1601: 1970, and a microsecond later.
        let date = |ticks: i64| (Datum::integer(ticks), raw(&ticks.to_le_bytes()));
        let float = |value: f32| (Datum::Float(32, value.to_bits().into()), raw(&value.to_le_bytes()));
        let double = |value: f64| (Datum::double(value), raw(&value.to_le_bytes()));
        // Names, type codes, and values with their bytes.
        type Scalar = (&'static str, u8, Vec<(Datum, Bytes)>);
        let scalars: Vec<Scalar> = vec![
            (
                "Boolean",
                3,
                vec![(Datum::Boolean(false), raw(&[0; 4])), (Datum::Boolean(true), raw(&[1, 0, 0, 0]))],
            ),
            ("Char", 4, vec![(Datum::text("A"), raw(b"A\0")), (Datum::text("\u{20ac}"), raw(&[0xac, 0x20]))]),
            ("SByte", 5, vec![integer(-128, 1), integer(127, 1)]),
            ("Byte", 6, vec![integer(0, 1), integer(255, 1)]),
            ("Int16", 7, vec![integer(-32_768, 2), integer(32_767, 2)]),
            ("UInt16", 8, vec![integer(0, 2), integer(65_535, 2)]),
            ("Int32", 9, vec![integer(i32::MIN.into(), 4), integer(i32::MAX.into(), 4)]),
            ("UInt32", 10, vec![integer(0, 4), integer(u32::MAX.into(), 4)]),
            ("Int64", 11, vec![integer(min, 8), integer(max, 8)]),
            ("UInt64", 12, vec![integer(0, 8), integer(u64::MAX.into(), 8)]),
            ("Single", 13, vec![float(1.5), float(-0.0), float(f32::INFINITY)]),
            ("Double", 14, vec![double(1.5), double(-0.0), double(f64::NEG_INFINITY)]),
            ("Decimal", 15, vec![(Datum::Bytes(guid.to_vec()), raw(&guid))]),
            ("DateTime", 16, vec![date(116_444_736_000_000_000), date(116_444_736_000_000_010)]),
            ("Guid", 17, vec![(Datum::Bytes(guid.to_vec()), raw(&guid))]),
            (
                "String",
                18,
                vec![
                    (Datum::text(""), Bytes::new().utf16("")),
                    (Datum::text("a\u{20ac}\u{1f463}"), Bytes::new().utf16("a\u{20ac}\u{1f463}")),
                ],
            ),
        ];
        for (name, code, values) in scalars {
            self.field(name, field(form, code, "x"), &values);
        }
        let object = match form {
            Form::V6 => {
                let inner = Bytes::new().sized(field_v6("a", &[6])).0;
                field_v6("x", &[&[1, 1, 0][..], &inner].concat())
            }
            _ => Bytes::new().u32(1).u32(1).raw(&field(form, 6, "a").0).utf16("x"),
        };
        self.field("Object", object, &[(Datum::structure([("a", Datum::integer(9))]), raw(&[9]))]);
        let bytes = |all: &[u8]| Datum::array(all.iter().map(Datum::integer));
        let arrays = [
            (bytes(&[]), raw(&[0, 0])),
            (bytes(&[5]), raw(&[1, 0, 5])),
            (bytes(&[5, 6]), raw(&[2, 0, 5, 6])),
        ];
        let texts =
            (Datum::array([Datum::text("a"), Datum::text("")]), Bytes::new().u16(2).utf16("a").utf16(""));
        match form {
            Form::V3 => {}
            Form::V4 => {
                let tag = |kind: Bytes| tag_v5(2, Bytes::new().u32(1).raw(&field_v2("x", kind).0));
                let of = |kind: Bytes| Metadata { tags: tag(kind), ..Metadata::new(1, "e", []) };
                self.fields("Array", of(Bytes::new().u32(19).u32(6)), &arrays);
                self.fields("Array of String", of(Bytes::new().u32(19).u32(18)), &[texts]);
                let nested = (Datum::array([bytes(&[1, 2]), bytes(&[])]), raw(&[2, 0, 2, 0, 1, 2, 0, 0]));
                self.fields("Array of Array", of(Bytes::new().u32(19).u32(19).u32(6)), &[nested]);
                self.fields("V2Params of a Byte", of(Bytes::new().u32(6)), &[(Datum::integer(5), raw(&[5]))]);
            }
            Form::V6 => {
                self.field("Array", field_v6("x", &[19, 6]), &arrays);
                self.field("Array of String", field_v6("x", &[19, 18]), &[texts]);
                let nested = (Datum::array([bytes(&[1, 2]), bytes(&[])]), raw(&[2, 0, 2, 0, 1, 2, 0, 0]));
                self.field("Array of Array", field_v6("x", &[19, 19, 6]), &[nested]);
                self.field(
                    "VarInt",
                    field_v6("x", &[20]),
                    &[(Datum::integer(-2), raw(&[3])), (Datum::integer(64), raw(&[0x80, 1]))],
                );
                self.field(
                    "VarUInt",
                    field_v6("x", &[21]),
                    &[(Datum::integer(3), raw(&[3])), (Datum::integer(128), raw(&[0x80, 1]))],
                );
                self.field(
                    "FixedLengthArray",
                    field_v6("x", &[22, 6, 2, 0]),
                    &[(bytes(&[5, 6]), raw(&[5, 6]))],
                );
                self.field("UTF8CodeUnit", field_v6("x", &[23]), &[(Datum::text("A"), raw(b"A"))]);
                self.field(
                    "Array of UTF8CodeUnit",
                    field_v6("x", &[19, 23]),
                    &[(Datum::text("Ab"), raw(b"\x02\0Ab"))],
                );
                self.field(
                    "FixedLengthArray of UTF8CodeUnit",
                    field_v6("x", &[22, 23, 2, 0]),
                    &[(Datum::text("Ab"), raw(b"Ab"))],
                );
                // The size is in the upper half, and the distance from the end of the number in the lower half.
                self.field(
                    "RelLoc",
                    field_v6("x", &[24, 23]),
                    &[(Datum::text("Ab"), Bytes::new().u32(2 << 16).raw(b"Ab"))],
                );
                self.field(
                    "DataLoc",
                    field_v6("x", &[25, 23]),
                    &[(Datum::text("Ab"), Bytes::new().u32(2 << 16 | 4).raw(b"Ab"))],
                );
                self.field(
                    "Boolean8",
                    field_v6("x", &[26]),
                    &[(Datum::Boolean(true), raw(&[1])), (Datum::Boolean(false), raw(&[0]))],
                );
            }
        }
    }

    /// Event properties in metadata.
    fn metadata(&mut self) {
        let plain = || Metadata::new(1, "e", [field(self.form, 6, "x")]);
        let mut rows = vec![
            ("keywords", Metadata { keywords: 6, ..plain() }),
            ("version of an event", Metadata { version: 3, ..plain() }),
            ("number of an event", Metadata { event_id: 70_000, ..plain() }),
        ];
        for level in [0, 1, 5] {
            let name =
                ["level 0", "level 1", "level 5"][[0, 1, 5].iter().position(|own| *own == level).unwrap()];
            rows.push((name, Metadata { level, ..plain() }));
        }
        match self.form {
            Form::V3 => {}
            Form::V4 => rows.push(("opcode", Metadata { tags: tag_v5(1, Bytes::new().u8(1)), ..plain() })),
            Form::V6 => rows.extend([
                ("opcode", Metadata { tags: Bytes::new().u8(1).u8(1), ..plain() }),
                ("message template", Metadata { tags: Bytes::new().u8(4).text("a {x}"), ..plain() }),
                ("description", Metadata { tags: Bytes::new().u8(5).text("a b"), ..plain() }),
                ("key and value", Metadata { tags: Bytes::new().u8(6).text("k").text("v"), ..plain() }),
                ("provider's GUID", Metadata { tags: Bytes::new().u8(7).raw(&[9; 16]), ..plain() }),
            ]),
        }
        for (name, metadata) in rows {
            self.fields(name, metadata, &[(Datum::integer(5), Bytes::new().u8(5))]);
        }
        let mut file = self.file();
        file.metadata(&[Metadata::new(1, "e", [])]);
        file.events(true, &[Event::new(1, 7, 1, 1_001).sorted()]);
        self.add(
            "event without fields",
            file,
            vec![expected("Tests/e", 1_001, nothing(), nothing())],
            Vec::new(),
        );
    }

    /// Each part of an event header.
    fn headers(&mut self) {
        let guid: [u8; 16] = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
        let plain = Event::new(1, 7, 1, 1_001).sorted().with(Bytes::new().u8(5));
        let mut rows: Vec<(&str, Event, Datum)> = vec![];
        if self.form != Form::V6 {
            rows.extend([
                (
                    "activity",
                    Event { activity: guid, ..plain.clone() },
                    Datum::structure([("activity", Datum::Bytes(guid.to_vec()))]),
                ),
                (
                    "related activity",
                    Event { related_activity: guid, ..plain.clone() },
                    Datum::structure([("related_activity", Datum::Bytes(guid.to_vec()))]),
                ),
            ]);
        }
        if self.form != Form::V3 {
            let no_processor = nothing();
            rows.extend([
                (
                    "processor 0",
                    Event { processor: 0, ..plain.clone() },
                    Datum::structure([("processor", Datum::integer(0))]),
                ),
                (
                    "processor 300",
                    Event { processor: 300, ..plain.clone() },
                    Datum::structure([("processor", Datum::integer(300))]),
                ),
                ("no processor", Event { processor: u32::MAX, ..plain.clone() }, no_processor),
            ]);
        }
        if self.form == Form::V4 {
            rows.push((
                "thread that captures",
                Event { capture_thread: 9, ..plain.clone() },
                Datum::structure([("capture_thread", Datum::integer(9))]),
            ));
        }
        for (name, event, context) in rows {
            for is_compressed in [true, false] {
                if is_compressed && self.form == Form::V3 {
                    continue;
                }
                let mut file = self.file();
                file.metadata(&[Metadata::new(1, "e", [field(self.form, 6, "x")])]);
                file.events(is_compressed, std::slice::from_ref(&event));
                let all = vec![expected("Tests/e", 1_001, context.clone(), x(Datum::integer(5)))];
                let name = if is_compressed {
                    name.to_owned()
                } else {
                    format!("{name}, header that is not compressed")
                };
                self.add(&name, file, all, Vec::new());
            }
        }
        // Events with equal ticks, sorted by thread.
        let mut file = self.file();
        file.metadata(&[Metadata::new(1, "e", [field(self.form, 6, "x")])]);
        let events: Vec<Event> = (1..4)
            .map(|number| Event::new(1, 7, number, 1_001).sorted().with(Bytes::new().u8(number as u8)))
            .collect();
        file.events(true, &events);
        let all =
            (1..4).map(|number| expected("Tests/e", 1_001, nothing(), x(Datum::integer(number)))).collect();
        self.add("equal times", file, all, Vec::new());
    }

    /// Trace block members.
    fn sessions(&mut self) {
        let plain = Trace::default();
        let mut rows = vec![
            ("pointers of 4 bytes", Trace { pointer_size: 4, ..plain.clone() }, 1),
            ("process 0", Trace { process: 0, ..plain.clone() }, 1),
            ("process 4294967295", Trace { process: u32::MAX, ..plain.clone() }, 1),
            ("no processors", Trace { processors: 0, ..plain.clone() }, 1),
            ("frequency of 10 MHz", Trace { frequency: 10_000_000, ..plain.clone() }, 100),
        ];
        if self.form == Form::V6 {
            let properties = vec![("My".to_owned(), "own".to_owned())];
            rows.push(("property", Trace { properties, ..plain }, 1));
        }
        for (name, trace, nanoseconds_per_tick) in rows {
            let mut file = File::with(self.form, &trace);
            if self.form == Form::V6 {
                thread(&mut file);
            }
            file.metadata(&[Metadata::new(1, "e", [field(self.form, 6, "x")])]);
            file.events(true, &[Event::new(1, 7, 1, 1_001).sorted().with(Bytes::new().u8(5))]);
            let mut event = expected("Tests/e", 1_000, nothing(), x(Datum::integer(5)));
            event.nanoseconds = event.nanoseconds.map(|time| time + nanoseconds_per_tick);
            self.add(name, file, vec![event], Vec::new());
        }
    }

    fn blocks(&mut self) {
        let form = self.form;
        let metadata = || Metadata::new(1, "e", [field(form, 6, "x")]);
        let event = |number: u32| {
            Event::new(1, 7, number, u64::from(number) + 1_000).sorted().with(Bytes::new().u8(number as u8))
        };
        let read = |number: u32| {
            expected("Tests/e", u64::from(number) + 1_000, nothing(), x(Datum::integer(number)))
        };
        let mut file = self.file();
        file.metadata(&[metadata()]).events(true, &[event(1), event(4)]);
        self.add("gap in the numbers", file, vec![read(1), read(4)], vec![Lost::Events(2)]);
        let mut file = self.file();
        file.metadata(&[metadata()]).events(true, &[event(1)]).sequence_point(1_002, 0, &[(7, 3)]);
        self.add("loss that a sequence point shows", file, vec![read(1)], vec![Lost::Events(2)]);
        let mut file = self.file();
        file.metadata(&[metadata()]).stacks(1, &[&[0x1000, 0x2000]]);
        file.events(true, &[Event { stack: 1, ..event(1) }]);
        self.add("stack", file, vec![read(1)], Vec::new());
        let mut file = self.file();
        file.metadata(&[metadata()]).stacks(1, &[&[]]);
        file.events(true, &[Event { stack: 1, ..event(1) }]);
        self.add("empty stack", file, vec![read(1)], Vec::new());
        let mut file = self.file();
        file.metadata(&[metadata()]).events(true, &[event(1)]).events(true, &[event(2)]);
        self.add("two blocks", file, vec![read(1), read(2)], Vec::new());
        if self.form == Form::V6 {
            let mut file = File::new(self.form);
            file.threads(&[(7, 7, "worker")]).metadata(&[metadata()]).events(true, &[event(1)]);
            let name = Datum::structure([("thread_name", Datum::text("worker"))]);
            self.add(
                "thread with a name",
                file,
                vec![expected("Tests/e", 1_001, name, x(Datum::integer(1)))],
                Vec::new(),
            );
            let mut file = self.file();
            file.metadata(&[metadata()])
                .events(true, &[event(1)])
                .block(kind::REMOVE_THREAD, &Bytes::new().var(7).var(1).0);
            self.add("thread that ends", file, vec![read(1)], Vec::new());
        }
    }

    /// Each label kind.
    fn labels(&mut self) {
        let pair = |name: &str, value: Datum| {
            Datum::array([Datum::structure([("name", Datum::text(name)), ("value", value)])])
        };
        let bytes: [u8; 16] = *b"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
        let rows: [(&str, Bytes, &str, Datum); 6] = [
            ("ActivityId", Bytes::new().u8(0x81).raw(&bytes), "activity", Datum::Bytes(bytes.to_vec())),
            (
                "RelatedActivityId",
                Bytes::new().u8(0x82).raw(&bytes),
                "related_activity",
                Datum::Bytes(bytes.to_vec()),
            ),
            (
                "TraceId",
                Bytes::new().u8(0x83).raw(&bytes),
                "trace_id",
                Datum::text("00112233445566778899aabbccddeeff"),
            ),
            ("SpanId", Bytes::new().u8(0x84).u64(0x1234), "span_id", Datum::integer(0x1234)),
            ("KeyString", Bytes::new().u8(0x85).text("k").text("v"), "labels", pair("k", Datum::text("v"))),
            (
                "KeyVarInt",
                Bytes::new().u8(0x86).text("k").var(3),
                "numeric_labels",
                pair("k", Datum::integer(-2)),
            ),
        ];
        for (name, label, member, value) in rows {
            let mut file = self.file();
            file.metadata(&[Metadata::new(1, "e", [field(self.form, 6, "x")])]);
            file.block(kind::LABEL_LIST, &Bytes::new().u32(1).u32(1).raw(&label.0).0);
            file.events(
                true,
                &[Event { labels: 1, ..Event::new(1, 7, 1, 1_001) }.sorted().with(Bytes::new().u8(5))],
            );
            let context = Datum::structure([(member, value)]);
            let all = vec![expected("Tests/e", 1_001, context, x(Datum::integer(5)))];
            self.add(&format!("label {name}"), file, all, Vec::new());
        }
    }
}
