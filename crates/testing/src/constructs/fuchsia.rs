//! Fuchsia logs and traces: each argument type, each record kind.

use crate::fxt_file::{Body, FxtBuilder as Builder, body, header, inline};

use super::{Construct, Datum, EncodedEvent, Lost, Origin};

/// Returns the log constructs.
pub(super) fn logs() -> Vec<Construct> {
    let mut all = Vec::new();
    let mut add = |name: &str, records: &[(i64, u8, Vec<Body>)], payload: Vec<Datum>| {
        let mut bytes = Vec::new();
        let mut events = Vec::new();
        for ((time, severity, arguments), payload) in records.iter().zip(payload) {
            let arguments: Vec<u8> = arguments.iter().flat_map(|argument| argument.0.clone()).collect();
            let size = 2 + arguments.len() as u64 / 8;
            bytes.extend((9 | size << 4 | u64::from(*severity) << 56).to_le_bytes());
            bytes.extend(time.to_le_bytes());
            bytes.extend(arguments);
            let context = Datum::structure([("severity", Datum::integer(*severity))]);
            let scopes = vec![("specific ctx", context), ("payload", payload)];
            events.push(EncodedEvent {
                name: Some("log".to_owned()),
                nanoseconds: Some((*time).into()),
                scopes,
            });
        }
        let files = vec![("trace.log".to_owned(), bytes)];
        all.push(Construct {
            name: format!("logs: {name}"),
            origin: Origin::FuchsiaLog,
            files,
            events,
            lost: Vec::new(),
        });
    };
    let text = |name: &str, text: &str| match text {
        "" => body().argument(6, name, 0, body()),
        _ => body().argument(6, name, inline(text), body().text(text)),
    };
    let word = |kind, name: &str, word| body().argument(kind, name, 0, body().word(word));
    let one = |name: &str, value: Datum| vec![Datum::structure([(name, value)])];
    let signed = [0, -1, i64::MIN, i64::MAX];
    let records: Vec<_> = signed.iter().map(|value| (1, 0x30, vec![word(3, "x", *value as u64)])).collect();
    add(
        "signed integer",
        &records,
        signed.iter().map(|value| Datum::structure([("x", Datum::integer(value))])).collect(),
    );
    let unsigned = [0, u64::MAX];
    let records: Vec<_> = unsigned.iter().map(|value| (1, 0x30, vec![word(4, "x", *value)])).collect();
    add(
        "unsigned integer",
        &records,
        unsigned.iter().map(|value| Datum::structure([("x", Datum::integer(value))])).collect(),
    );
    let floats = [1.5, -0.0, f64::INFINITY];
    let records: Vec<_> = floats.iter().map(|value| (1, 0x30, vec![word(5, "x", value.to_bits())])).collect();
    add(
        "float",
        &records,
        floats.iter().map(|value| Datum::structure([("x", Datum::double(*value))])).collect(),
    );
    let texts = ["", "a", "gr\u{fc}\u{df}e \u{1f463}", "a\nb"];
    let records: Vec<_> = texts.iter().map(|value| (1, 0x30, vec![text("x", value)])).collect();
    add("text", &records, texts.iter().map(|value| Datum::structure([("x", Datum::text(value))])).collect());
    let records: Vec<_> =
        [true, false].map(|value| (1, 0x30, vec![body().argument(9, "x", value.into(), body())])).into();
    add(
        "boolean",
        &records,
        [true, false].map(|value| Datum::structure([("x", Datum::Boolean(value))])).into(),
    );
    for name in ["pid", "tid", "line", "num_dropped"] {
        if name != "num_dropped" {
            add(name, &[(1, 0x30, vec![word(4, name, 7)])], one(name, Datum::integer(7)));
        }
    }
    for name in ["tag", "message", "file", "a b", "\u{e9}"] {
        let value = Datum::text("v");
        add(&format!("text {name:?}"), &[(1, 0x30, vec![text(name, "v")])], one(name, value));
    }
    for severity in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x2e, 0xff] {
        let name = format!("severity {severity:#x}");
        add(&name, &[(1, severity, vec![text("message", "m")])], one("message", Datum::text("m")));
    }
    for time in [0, 1, i64::MAX] {
        add(
            &format!("time {time}"),
            &[(time, 0x30, vec![text("message", "m")])],
            one("message", Datum::text("m")),
        );
    }
    let twice = vec![word(4, "x", 1), word(4, "x", 2)];
    let values = Datum::structure([("x", Datum::integer(1)), ("x", Datum::integer(2))]);
    add("argument that occurs twice", &[(1, 0x30, twice)], vec![values]);
    let printf = vec![word(4, "printf", 0), text("message", "%d"), word(3, "", 5)];
    let values = Datum::structure([
        ("printf", Datum::integer(0)),
        ("message", Datum::text("%d")),
        ("", Datum::integer(5)),
    ]);
    add("printf", &[(1, 0x30, printf)], vec![values]);
    let message = || vec![text("message", "m")];
    let value = || Datum::structure([("message", Datum::text("m"))]);
    add("times that go back", &[(5, 0x30, message()), (3, 0x30, message())], vec![value(), value()]);
    add("no arguments", &[(1, 0x30, vec![])], vec![Datum::Structure(Vec::new())]);
    all
}

/// Returns the trace constructs.
pub(super) fn traces() -> Vec<Construct> {
    let mut table = FxtTable { constructs: Vec::new() };
    table.arguments();
    table.kinds();
    table.records();
    table.constructs
}

struct FxtTable {
    constructs: Vec<Construct>,
}

/// Returns the expected event for thread 2 of process 1.
fn event(name: &str, nanoseconds: i128, specific: Datum, payload: Datum) -> EncodedEvent {
    let thread = Datum::structure([("pid", Datum::integer(1)), ("tid", Datum::integer(2))]);
    let scopes = vec![("ctx", thread), ("specific ctx", specific), ("payload", payload)];
    EncodedEvent { name: Some(name.to_owned()), nanoseconds: Some(nanoseconds), scopes }
}

fn nothing() -> Datum {
    Datum::Structure(Vec::new())
}

impl FxtTable {
    fn add(&mut self, name: &str, builder: &Builder, events: Vec<EncodedEvent>, lost: Vec<Lost>) {
        let files = vec![("trace.fxt".to_owned(), builder.bytes.clone())];
        self.constructs.push(Construct {
            name: format!("fxt: {name}"),
            origin: Origin::Fxt,
            files,
            events,
            lost,
        });
    }

    /// Each argument type with its values.
    fn arguments(&mut self) {
        let argument = |kind, low, more: Body| body().argument(kind, "x", low, more);
        let word = |kind, value: u64| body().argument(kind, "x", 0, body().word(value));
        let text = |value: &str| body().argument(6, "x", inline(value), body().text(value));
        let rows: Vec<(&str, Vec<(Body, Datum)>)> = vec![
            ("null", vec![(argument(0, 0, body()), Datum::Absent)]),
            (
                "int32",
                [0, -1, i32::MIN, i32::MAX]
                    .map(|value: i32| (argument(1, (value as u32).into(), body()), Datum::integer(value)))
                    .into(),
            ),
            (
                "uint32",
                [0, u32::MAX]
                    .map(|value: u32| (argument(2, value.into(), body()), Datum::integer(value)))
                    .into(),
            ),
            (
                "int64",
                [0, -1, i64::MIN, i64::MAX]
                    .map(|value: i64| (word(3, value as u64), Datum::integer(value)))
                    .into(),
            ),
            ("uint64", [0, u64::MAX].map(|value: u64| (word(4, value), Datum::integer(value))).into()),
            (
                "double",
                [1.5, -0.0, f64::INFINITY]
                    .map(|value: f64| (word(5, value.to_bits()), Datum::double(value)))
                    .into(),
            ),
            (
                "string",
                ["a", "gr\u{fc}\u{df}e \u{1f463}", "a\nb"]
                    .map(|value| (text(value), Datum::text(value)))
                    .into(),
            ),
            ("empty string", vec![(argument(6, 0, body()), Datum::text(""))]),
            ("pointer", [0, u64::MAX].map(|value: u64| (word(7, value), Datum::integer(value))).into()),
            ("koid", [0, u64::MAX].map(|value: u64| (word(8, value), Datum::integer(value))).into()),
            (
                "boolean",
                [true, false].map(|value| (argument(9, value.into(), body()), Datum::Boolean(value))).into(),
            ),
            ("blob", vec![(argument(10, 3, body().stream(&[1, 2, 3])), Datum::Bytes(vec![1, 2, 3]))]),
            ("empty blob", vec![(argument(10, 0, body()), Datum::Bytes(Vec::new()))]),
        ];
        for (name, values) in rows {
            let mut builder = Builder::new();
            let mut events = Vec::new();
            for ((argument, value), ticks) in values.into_iter().zip(1..) {
                builder.event(0, ticks, ["c", "n"], vec![argument], &[]);
                events.push(event("c:n", ticks.into(), nothing(), Datum::structure([("x", value)])));
            }
            self.add(&format!("argument {name}"), &builder, events, Vec::new());
        }
    }

    /// Each event type.
    fn kinds(&mut self) {
        let none = nothing;
        let id = |name: &str, value: u64| Datum::structure([(name, Datum::integer(value))]);
        let rows: Vec<(&str, u64, &str, Vec<u64>, Datum)> = vec![
            ("instant", 0, "c:n", vec![], none()),
            ("counter", 1, "c:n", vec![3], id("counter_id", 3)),
            ("duration begin", 2, "c:n:begin", vec![], none()),
            ("duration end", 3, "c:n:end", vec![], none()),
            ("duration complete", 4, "c:n", vec![15], id("duration", 5)),
            ("async begin", 5, "c:n:async_begin", vec![9], id("async_id", 9)),
            ("async instant", 6, "c:n:async_instant", vec![9], id("async_id", 9)),
            ("async end", 7, "c:n:async_end", vec![9], id("async_id", 9)),
            ("flow begin", 8, "c:n:flow_begin", vec![u64::MAX], id("flow_id", u64::MAX)),
            ("flow step", 9, "c:n:flow_step", vec![9], id("flow_id", 9)),
            ("flow end", 10, "c:n:flow_end", vec![9], id("flow_id", 9)),
        ];
        for (name, kind, read_as, data, specific) in rows {
            let mut builder = Builder::new();
            let argument = body().argument(4, "x", 0, body().word(5));
            builder.event(kind, 10, ["c", "n"], vec![argument], &data);
            let payload = Datum::structure([("x", Datum::integer(5))]);
            self.add(name, &builder, vec![event(read_as, 10, specific, payload)], Vec::new());
        }
    }

    /// Other records.
    fn records(&mut self) {
        let plain = |builder: &mut Builder| {
            builder.event(0, 10, ["c", "n"], vec![], &[]);
        };
        let read = |nanoseconds| event("c:n", nanoseconds, nothing(), nothing());
        for (name, frequency, nanoseconds) in [("24 MHz", 24_000_000, 416), ("1 Hz", 1, 10_000_000_000)] {
            let mut builder = Builder::new();
            builder.initialization(frequency);
            plain(&mut builder);
            self.add(&format!("initialization, {name}"), &builder, vec![read(nanoseconds)], Vec::new());
        }
        let mut builder = Builder::new();
        builder.provider(7, "p").section(7);
        plain(&mut builder);
        self.add("provider", &builder, vec![read(10)], Vec::new());
        let mut builder = Builder::new();
        plain(&mut builder);
        builder.event(0, i64::MAX as u64, ["c", "n"], vec![], &[]);
        self.add("times at the limits", &builder, vec![read(10), read(i64::MAX.into())], Vec::new());
        let mut builder = Builder::new();
        builder.record(header(7, &[(16, 4), (24, inline("pipe"))]), body().word(88).text("pipe"));
        let context = Datum::structure([
            ("koid", Datum::integer(88)),
            ("type", Datum::integer(4)),
            ("name", Datum::text("pipe")),
        ]);
        let object = EncodedEvent {
            name: Some("kernel_object".to_owned()),
            nanoseconds: None,
            scopes: vec![("specific ctx", context)],
        };
        self.add("kernel object", &builder, vec![object], Vec::new());
        let mut builder = Builder::new();
        builder.record(header(6, &[(24, inline("view"))]), body().words(&[0xabc, 31]).text("view"));
        let context = Datum::structure([("pointer", Datum::integer(0xabc)), ("name", Datum::text("view"))]);
        let process = Datum::structure([("pid", Datum::integer(31))]);
        let scopes = vec![("ctx", process), ("specific ctx", context)];
        let object = EncodedEvent { name: Some("userspace_object".to_owned()), nanoseconds: None, scopes };
        self.add("userspace object", &builder, vec![object], Vec::new());
        let mut builder = Builder::new();
        builder.record(header(8, &[(20, 3), (36, 2), (60, 1)]), body().words(&[10, 20, 21]));
        let context = Datum::structure([
            ("cpu", Datum::integer(3)),
            ("outgoing_tid", Datum::integer(20)),
            ("outgoing_state", Datum::integer(2)),
        ]);
        let thread = Datum::structure([("tid", Datum::integer(21))]);
        let scopes = vec![("ctx", thread), ("specific ctx", context)];
        let switch = EncodedEvent { name: Some("context_switch".to_owned()), nanoseconds: Some(10), scopes };
        self.add("context switch", &builder, vec![switch], Vec::new());
        let mut builder = Builder::new();
        builder.record(header(8, &[(20, 3), (60, 2)]), body().words(&[10, 21]));
        let context = Datum::structure([("cpu", Datum::integer(3))]);
        let scopes =
            vec![("ctx", Datum::structure([("tid", Datum::integer(21))])), ("specific ctx", context)];
        let wakeup = EncodedEvent { name: Some("thread_wakeup".to_owned()), nanoseconds: Some(10), scopes };
        self.add("thread wakeup", &builder, vec![wakeup], Vec::new());
        let mut builder = Builder::new();
        builder.record(header(9, &[(16, 2)]), body().words(&[10, 1, 2]).text("hi"));
        let log = event("log", 10, nothing(), Datum::structure([("message", Datum::text("hi"))]));
        self.add("log", &builder, vec![log], Vec::new());
        let mut builder = Builder::new();
        builder
            .record(header(5, &[(16, inline("b")), (32, 3), (48, 1)]), body().text("b").stream(&[1, 2, 3]));
        let payload = Datum::structure([
            ("name", Datum::text("b")),
            ("type", Datum::integer(1)),
            ("data", Datum::Bytes(vec![1, 2, 3])),
        ]);
        let blob = EncodedEvent {
            name: Some("blob".to_owned()),
            nanoseconds: None,
            scopes: vec![("payload", payload)],
        };
        self.add("BLOB", &builder, vec![blob], Vec::new());
    }
}
