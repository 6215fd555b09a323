//! Reports in the ichnos model: each report is an event with all its lines and their meanings.

use std::fs;
use std::time::SystemTime;

use ichnos_io::{Entry, Format, FormatOptions, ReadOptions, Tree};
use ichnos_model::cursor::StreamCursor;
use ichnos_model::field::{Field, Text};
use ichnos_model::log::LogSeverity;
use ichnos_model::meaning::{CauseKind, Meaning};
use ichnos_model::{Event, Message, OpenedTrace, Scope, Visitor, Window};
use ichnos_testing::{Random, cases};
use ichnos_xtrace::propagation::MemoryReporter;
use ichnos_xtrace::report::{ReportRule, ReportWriter, parse_timestamp};
use ichnos_xtrace::{Context, Tracer, XTrace};

use crate::reports::{Lines, of_text};

fn tree(files: &[(&str, &[u8])]) -> Tree {
    let entries = files.iter().map(|(name, bytes)| Entry::from_bytes(*name, bytes.to_vec())).collect();
    Tree { name: "x".to_owned(), entries, problems: Vec::new() }
}

pub(crate) fn options(check: bool) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.check = check;
    options.formats = FormatOptions::default();
    options
}

pub(crate) fn open_all(files: &[(&str, &[u8])], options: &ReadOptions) -> Box<dyn OpenedTrace> {
    let opened = XTrace.open(&[&tree(files)], options);
    assert!(opened.refused.is_empty() && opened.notices.is_empty());
    opened.traces.into_iter().next().unwrap()
}

/// Values with their member names.
#[derive(Default)]
pub(crate) struct Values {
    list: Vec<(String, Vec<u8>)>,
    /// Current scope member.
    member: String,
    depth: usize,
}

impl Values {
    pub(crate) fn of(event: &Event<'_>, scope: Scope) -> Vec<(String, Vec<u8>)> {
        let mut values = Self::default();
        event.visit(scope, &mut values).unwrap();
        values.list
    }

    fn enter(&mut self, field: Field<'_>) {
        if self.depth == 0 {
            self.member = field.name().unwrap_or_default().to_owned();
        }
        self.depth += 1;
    }

    fn push(&mut self, field: Field<'_>, value: &[u8]) {
        self.enter(field);
        self.depth -= 1;
        self.list.push((self.member.clone(), value.to_vec()));
    }
}

impl Visitor for Values {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.push(field, value.to_string().as_bytes());
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.push(field, value.to_string().as_bytes());
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.push(field, value.bytes);
    }
    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.enter(field);
    }
    fn end_array(&mut self, _: Field<'_>) {
        self.depth -= 1;
    }
    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.enter(field);
    }
    fn end_optional(&mut self, _: Field<'_>) {
        self.depth -= 1;
    }
}

/// Describes the messages of all cursors, for an event its time, contexts and lines.
pub(crate) fn words(trace: &dyn OpenedTrace, window: Window) -> Vec<String> {
    let mut found = Vec::new();
    for mut cursor in trace.cursors(window) {
        while let Some(head) = cursor.next_head() {
            match cursor.current().unwrap() {
                Message::Event(event) => {
                    assert_eq!(head.nanoseconds(), event.nanoseconds());
                    assert_eq!(head.class_index(), event.class_index());
                    let mut text =
                        event.nanoseconds().map_or_else(|| "-".to_owned(), |time| time.to_string());
                    for scope in [Scope::CommonContext, Scope::SpecificContext, Scope::Payload] {
                        text += ";";
                        for (name, value) in Values::of(&event, scope) {
                            text += &format!(" {name}={}", value.escape_ascii());
                        }
                    }
                    found.push(text);
                }
                Message::Damage(damage) => {
                    let name = damage.kind.rule().map_or("", |rule| rule.name);
                    found.push(format!("{name} at {}", damage.bit / 8));
                }
                Message::StreamBegin(_) | Message::StreamEnd(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    found
}

/// Describes a text, even if it does not start with a report.
fn read(text: &str, check: bool) -> Vec<String> {
    let mut options = options(check);
    options.force = true;
    words(&*open_all(&[("a", text.as_bytes())], &options), Window::default())
}

const HEAD: &str = "X-Trace Report ver 1.0\n";

#[test]
fn what_lines_mean() {
    let text = "X-Trace Report ver 1.0\r\nX-Trace: 1d0102030405060708cafebabecafebabe04C102f8e6\r\n\
                Edge: 0000000000000000\r\nEdge: 0a0a0a0a0a0a0a0a\r\nEdge: 0B0B0B0B0B0B0B0B, down\r\n\
                Edge: 0C0C0C0C0C0C0C0C, up, 0x1234\r\nEdge: 0D0D0D0D0D0D0D0D, next\r\nProcessID: 12@host\r\n\
                ThreadID: 34\r\nSeverity: 3\r\nTimestamp: 1.5\r\nLabel: at 10:30\r\nTag: t\r\n";
    let edges = "Edge=0000000000000000 Edge=0a0a0a0a0a0a0a0a Edge=0B0B0B0B0B0B0B0B, down \
                 Edge=0C0C0C0C0C0C0C0C, up, 0x1234 Edge=0D0D0D0D0D0D0D0D, next";
    let expected = format!(
        "1500000000; task_id=0102030405060708 operation_id=CAFEBABECAFEBABE parents=0B0B0B0B0B0B0B0B \
         predecessors=0000000000000000 predecessors=0A0A0A0A0A0A0A0A predecessors=0D0D0D0D0D0D0D0D returns=0C0C0C0C0C0C0C0C chain_id=63718 \
         cause_chains=-1 cause_chains=-1 cause_chains=-1 cause_chains=-1 cause_chains=4660 \
         metadata_options=ChainId 0xF8E6; \
         process_id=12 thread_id=34 severity=3; X-Trace=1d0102030405060708cafebabecafebabe04C102f8e6 {edges} \
         ProcessID=12@host ThreadID=34 Severity=3 Timestamp=1.5 Label=at 10:30 Tag=t"
    );
    assert_eq!(read(text, true), [expected]);

    // A chain line, version 2 metadata, and values that are not numbers in the model.
    let text = format!(
        "{HEAD}ChainId: 0x00FF\nX-Trace: 2B9F41282812F1D348EE79A1B65F87656AAB20C705D5AD851C0152084301\n\
         ProcessID: java\nThreadID: 12a\n"
    );
    let expected = "-; task_id=9F41282812F1D348EE79A1B65F87656AAB20C705 operation_id=D5AD851C01520843 chain_id=255;; \
                    ChainId=0x00FF X-Trace=2B9F41282812F1D348EE79A1B65F87656AAB20C705D5AD851C0152084301 \
                    ProcessID=java ThreadID=12a";
    assert_eq!(read(&text, true), [expected]);

    // JSON of servers without metadata.
    let json = r#"[{"TaskID": "00000000000000ff", "EventID": "-1", "ParentEventID": ["1", "-2"], "Timestamp": 1500}]"#;
    let expected = "1500000000000; task_id=00000000000000FF operation_id=FFFFFFFFFFFFFFFF \
                    predecessors=0000000000000001 predecessors=FFFFFFFFFFFFFFFE;; \
                    TaskID=00000000000000ff EventID=-1 ParentEventID=1 ParentEventID=-2 Timestamp=1500";
    assert_eq!(read(json, true), [expected]);
}

/// Times in all notations are exact to the nanosecond, and times from a tracer are read back unchanged.
#[test]
fn times_are_exact() {
    for (value, expected) in [
        // Milliseconds from the original libraries, microseconds from the Ruby library, and nanoseconds.
        ("1364280059.495", "1364280059495000000"),
        ("1364280059.12345", "1364280059123450000"),
        ("   12.34567", "12345670000"),
        ("1364280059.123456789", "1364280059123456789"),
        ("1364280059.000000001", "1364280059000000001"),
        ("1364280059.1234567891234", "1364280059123456789"),
        ("1364280059.123456789[sent]", "1364280059123456789"),
        // Integers from later systems.
        ("1384989800278", "1384989800278000000"),
        ("1384989800278123456", "1384989800278123456"),
    ] {
        let text = format!("{HEAD}X-Trace: 10CAFEBABE01020304\nTimestamp: {value}\n");
        let found = read(&text, true);
        assert!(found.len() == 1 && found[0].starts_with(&format!("{expected};")), "{value}: {found:?}");
        // As text in JSON, and as a number.
        let is_number = !value.contains([' ', '[']);
        for quote in [Some("\""), is_number.then_some("")].into_iter().flatten() {
            let json =
                format!("{{\"X-Trace\": \"10CAFEBABE01020304\", \"Timestamp\": {quote}{value}{quote}}}");
            let found = read(&json, true);
            assert!(found.len() == 1 && found[0].starts_with(&format!("{expected};")), "{json}: {found:?}");
        }
    }
    cases(1_000, |random| {
        let nanos = random.number() >> random.index(64);
        let mut text = Vec::new();
        let mut report = ReportWriter::from_lines(&mut text);
        report.timestamp_nanos(nanos);
        let line = text.rsplit(|byte| *byte == b' ').next().unwrap().trim_ascii_end();
        assert_eq!(parse_timestamp(line), Some(nanos));
    });
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    for (has_nanoseconds, digits) in [(false, 3), (true, 9)] {
        let collected = MemoryReporter::default();
        let mut tracer = Tracer::new(collected.clone());
        if has_nanoseconds {
            tracer = tracer.with_nanoseconds();
        }
        let before = now();
        Context::start().event(&tracer, "event").send().unwrap();
        let report = collected.take().remove(0);
        let fraction = report.lines().find_map(|line| line.strip_prefix("Timestamp: ")?.split_once('.'));
        assert_eq!(fraction.unwrap().1.len(), digits);
        let found = read(&report, true);
        let time: u128 = found[0].split(';').next().unwrap().parse().unwrap();
        let unit = 10u128.pow(9 - digits as u32);
        assert!((before / unit * unit..=now()).contains(&time), "{time}");
    }
}

#[test]
fn meanings_of_members() {
    let text = format!(
        "{HEAD}X-Trace: 10CAFEBABE01020304\nHost: h\nAgent: a\nClass: c\nSource: s:1\nOperation: o\nLabel: l\n\
         ThreadName: t\nProcessName: p\nTitle: i\nTag: g\nSeverity: 4\nOther: x\nRepeated: 1\nRepeated: 2\n"
    );
    let trace = open_all(&[("a", text.as_bytes())], &options(false));
    let mut cursor = trace.cursors(Window::default()).remove(0);
    while !matches!(cursor.current(), Some(Message::Event(_))) {
        assert!(cursor.next_head().is_some());
    }
    let Some(Message::Event(event)) = cursor.current() else { panic!() };
    let class = event.class;
    assert_eq!(event.name(), "report");
    let of = |scope: Scope| -> Vec<Meaning> {
        let members = class.meanings.iter().filter(|(member, _)| member.scope == scope);
        members.map(|(_, meaning)| meaning).collect()
    };
    let cause = Meaning::Cause;
    let [parent, predecessor, returned] =
        [cause(CauseKind::Parent), cause(CauseKind::Predecessor), cause(CauseKind::Return)];
    let expected = [
        Meaning::TaskId,
        Meaning::OperationId,
        parent,
        predecessor,
        returned,
        Meaning::ChainId,
        Meaning::CauseChain,
    ];
    assert_eq!(of(Scope::CommonContext), expected);
    assert_eq!(of(Scope::SpecificContext), [Meaning::Severity]);
    assert_eq!(
        of(Scope::Payload),
        [
            Meaning::Rendered,
            Meaning::Machine,
            Meaning::Component,
            Meaning::Tag,
            Meaning::File,
            Meaning::Message,
            Meaning::Thread,
            Meaning::ProcessName,
            Meaning::TaskTitle,
            Meaning::Tag,
            Meaning::Rendered
        ]
    );
    let role = class.log.as_deref().unwrap();
    assert_eq!(role.severity, LogSeverity::Member);
    let levels: Vec<&str> = (0..9).map(|severity| role.scale.level(severity).name()).collect();
    assert_eq!(levels, ["FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG", "TRACE"]);
    assert_eq!(event.field("Other").unwrap().as_str(), Some("x"));
}

#[test]
fn rules_are_told() {
    let text = format!(
        "stray\n\n{HEAD}X-Trace: 19zz\nX-Trace: 10CAFEBABE01020304\nEdge: foo\nno colon\nno colon\nSeverity: high\n\
         ChainId: 12\nTimestamp: now\nLabel: bad\n\nstray again\n\n\
         X-Trace Report ver 1.1\nX-Trace: 10CAFEBABE0102030400\nEdge: 0102030405060708\n\n\
         {HEAD}X-Trace: 100000000001020304\n\n{HEAD}Escaped: 1\nLabel: \\q"
    );
    let at = |line: &str, value: &str| {
        let line = text.find(line).unwrap();
        format!(" at {}", line + text[line..].find(value).unwrap())
    };
    let bad = "-;;; X-Trace=19zz X-Trace=10CAFEBABE01020304 Edge=foo Severity=high ChainId=12 Timestamp=now Label=bad";
    let expected = [
        "report-begin at 0".to_owned(),
        format!("metadata{}", at("X-Trace: 19zz", "19zz")),
        format!("metadata-once{}", at("X-Trace: 10CAFEBABE01020304\n", "10CA")),
        format!("edge{}", at("Edge: foo", "foo")),
        format!("line-colon{}", at("no colon", "no")),
        format!("number{}", at("Severity", "high")),
        format!("number{}", at("ChainId", "12")),
        format!("timestamp{}", at("Timestamp", "now")),
        bad.to_owned(),
        format!("report-begin{}", at("stray again", "stray")),
        format!("report-version{}", at("X-Trace Report ver 1.1", "X-Trace")),
        format!("metadata-strict{}", at("X-Trace: 10CAFEBABE0102030400", "10CA")),
        format!("edge-length{}", at("Edge: 01020304", "0102")),
        "-; task_id=CAFEBABE operation_id=01020304 predecessors=0102030405060708;; X-Trace=10CAFEBABE0102030400 \
         Edge=0102030405060708"
            .to_owned(),
        format!("metadata-valid{}", at("X-Trace: 1000", "1000")),
        "-;;; X-Trace=100000000001020304".to_owned(),
        format!("metadata-missing at {}", text.rfind(HEAD).unwrap()),
        format!("escape{}", at("Label: \\q", "\\q")),
        format!("line-end at {}", text.len()),
        "-;;; Label=\\\\q".to_owned(),
    ];
    assert_eq!(read(&text, true), expected);
    // Fatal errors are always reported.
    let is_told = |word: &&String| {
        let name = word.split(' ').next().unwrap();
        ReportRule::ALL.iter().all(|rule| rule.name() != name || rule.is_fatal())
    };
    assert_eq!(read(&text, false), expected.iter().filter(is_told).cloned().collect::<Vec<_>>());

    let json =
        r#"[{"X-Trace":"10CAFEBABE01020304","a":true},{"X-Trace" 1},{"X-Trace":"10CAFEBABE01020304"}]"#;
    assert_eq!(
        read(json, true),
        [
            "json-value at 37",
            "-; task_id=CAFEBABE operation_id=01020304;; X-Trace=10CAFEBABE01020304 a=true",
            "json-syntax at 54",
            "operation-once at 57",
            "-; task_id=CAFEBABE operation_id=01020304;; X-Trace=10CAFEBABE01020304"
        ]
    );
}

/// Different reports of one operation are reported in any files, but copies are not.
#[test]
fn operations_have_one_report() {
    let report =
        |metadata: &str, label: &str| format!("{HEAD}X-Trace: {metadata}\nLabel: {label}\nTag: t\n\n");
    let one = report("10CAFEBABE01020304", "one");
    let first = [
        one.clone(),
        one.clone(),
        one.replace('\n', "\r\n"),
        report("10CAFEBABE01020305", "other operation"),
        report("10CAFEBABF01020304", "other task"),
        report("14CAFEBABE0102030404C1020001", "other chain"),
        report("14CAFEBABE0102030404C1020002", "other chain"),
        // The operation is still missing.
        report("10CAFEBABE00000000", "a"),
        report("10CAFEBABE00000000", "b"),
    ]
    .concat();
    let json = br#"[{"Tag": ["t"], "Label": "one", "X-Trace": "10CAFEBABE01020304"}]"#;
    let second =
        [report("10CAFEBABE01020305", "other operation"), report("10CAFEBABE01020304", "two")].concat();
    let third = report("14CAFEBABE0102030404C1020002", "in its chain");
    let files: [(&str, &[u8]); 4] =
        [("a", first.as_bytes()), ("b", json), ("c", second.as_bytes()), ("d", third.as_bytes())];
    let trace = open_all(&files, &options(true));
    // A second reading reports the same.
    for _ in 0..2 {
        let mut found = Vec::new();
        for mut cursor in trace.cursors(Window::default()) {
            while cursor.next_head().is_some() {
                if let Some(Message::Damage(damage)) = cursor.current() {
                    assert_eq!(damage.kind.rule().unwrap().name, "operation-once");
                    let statement = &damage.kind.rule().unwrap().statement;
                    found.push(format!("{} {}: {statement}", damage.file, damage.bit / 8));
                }
            }
        }
        let rule = "an operation has one report, possibly with copies";
        assert_eq!(
            found,
            [
                format!(
                    "x/c {}: {rule}, but operation 01020304 of task CAFEBABE has another report at x/a: byte \
                    0",
                    second.rfind(HEAD).unwrap()
                ),
                format!(
                    "x/d 0: {rule}, but operation 01020304 of task CAFEBABE has another report at x/a: byte \
                    {}",
                    first.find("14CAFEBABE0102030404C1020002").unwrap() - HEAD.len() - "X-Trace: ".len()
                ),
            ]
        );
    }
    assert_eq!(words(&*open_all(&files, &options(false)), Window::default()).len(), 13);
}

/// Returns the lines of an event with any class.
pub(crate) fn lines_of(event: &Event<'_>) -> Lines {
    let values = Values::of(event, Scope::Payload);
    if event.class.log.as_deref().is_some_and(|role| role.text.is_some()) {
        let pairs = values.chunks_exact(2);
        return pairs.map(|pair| (pair[0].1.clone(), pair[1].1.clone())).collect();
    }
    values.into_iter().map(|(name, value)| (name.into_bytes(), value)).collect()
}

/// Groups lines with the same key, as in the payload.
pub(crate) fn grouped(lines: &Lines) -> Lines {
    let keys: Vec<Vec<u8>> = lines.iter().map(|(key, _)| key.clone()).collect();
    let mut lines = lines.clone();
    lines.sort_by_key(|(key, _)| keys.iter().position(|other| other == key));
    lines
}

#[test]
fn no_line_is_lost_however_many_classes_there_are() {
    const KEYS: &[&str] =
        &["a", "b", "Tag", "Edge", "X-Trace", "Label", "Severity", "", "ThreadID", "key", "\u{e4}"];
    cases(300, |random: &mut Random| {
        let reports: Vec<Lines> = (0..random.index(20))
            .map(|_| {
                let most = if random.below(20) == 0 { 600 } else { 6 };
                let lines = random.index(most);
                (0..lines)
                    .map(|_| (random.pick(KEYS).as_bytes().to_vec(), random.pick(&["1", "x y", "\n"]).into()))
                    .collect()
            })
            .collect();
        let mut text = Vec::new();
        for lines in &reports {
            let mut report = ReportWriter::from_lines(&mut text);
            lines.iter().for_each(|(key, value)| report.line(key, value));
        }
        assert_eq!(of_text(&text), reports);
        let mut options = options(random.below(2) == 0);
        options.limits.dynamic_event_record_classes = random.below(4);
        let trace = open_all(&[("a", &text)], &options);
        let mut events = 0;
        if let Some(mut cursor) = trace.cursors(Window::default()).pop() {
            while cursor.next_head().is_some() {
                let Some(Message::Event(event)) = cursor.current() else { continue };
                let lines = lines_of(&event);
                let expected = &reports[events];
                assert!(lines == *expected || lines == grouped(expected), "{lines:?}\n{expected:?}");
                if let Some(text) = event.class.log.as_deref().and_then(|role| role.text) {
                    let mut message = String::new();
                    (text.write)(&event, &mut message).unwrap();
                    assert_eq!(message.is_empty(), lines.is_empty());
                }
                events += 1;
            }
        }
        assert_eq!(events, reports.len());
    });
}

/// A first line can be as long as a report, but the error text is short.
#[test]
fn statements_are_short() {
    let text = format!("X-Trace Report ver {}\nLabel: a\n", "1".repeat(1 << 20));
    let trace = open_all(&[("a", text.as_bytes())], &options(true));
    let mut lengths = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.next_head().is_some() {
            if let Message::Damage(damage) = cursor.current().unwrap() {
                lengths.push((damage.kind.rule().unwrap().name, damage.kind.to_string().len()));
            }
        }
    }
    assert!(lengths.iter().any(|(name, _)| *name == "report-version"), "{lengths:?}");
    assert!(lengths.iter().all(|(_, length)| *length < 500), "{lengths:?}");
}

#[test]
fn reports_that_are_too_large() {
    let small = format!("{HEAD}X-Trace: 10CAFEBABE01020304\n\n");
    let lines = |count: usize| format!("{HEAD}{}\n", "a:\n".repeat(count));
    let text = format!("{small}{}{small}{}", lines(65_536), lines(65_537));
    let expected = ["-;;; li", &format!("report-size at {}", 2 * small.len() + lines(65_536).len())];
    let found = read(&text, false);
    let found: Vec<&str> =
        found.iter().map(|word| word.get(..7).filter(|_| word.len() > 999).unwrap_or(word)).collect();
    assert!(found.contains(&expected[0]) && found.contains(&expected[1]), "{found:?}");

    let value = "x".repeat(17 << 20);
    let text = format!("{small}{HEAD}a: {value}\n\n{small}");
    assert_eq!(read(&text, false)[1..2], [format!("report-size at {}", small.len())]);
    assert_eq!(read(&text, false).len(), 3);
    let one = r#"{"X-Trace": "10CAFEBABE01020304"}"#;
    for large in [format!("{{\"a\": \"{value}\"}}"), format!("{{\"a\": [{}1]}}", "1,".repeat(65_536))] {
        let found = read(&format!("[{one},{large},{one}]"), false);
        assert_eq!((found.len(), &*found[1]), (3, "report-size at 35"));
    }
}

#[test]
fn files_of_directories() {
    let report = format!("{HEAD}X-Trace: 10CAFEBABE01020304\nTimestamp: 5\n");
    let report = report.as_bytes();
    let json = br#"{"X-Trace": "10CAFEBABE01020305", "Timestamp": "6.5"}"#;
    let files: [(&str, &[u8]); 5] = [
        ("00000001.reports", report),
        ("00000002.reports", b""),
        ("index.redb", b"redb\0\0\0"),
        ("other.json", b"{\"a\": 1}"),
        ("web.json", json),
    ];
    let all = tree(&files);
    assert!(XTrace.probe(&all, &options(false)));
    let trace = open_all(&files, &options(false));
    let names: Vec<String> = trace.streams().iter().map(|stream| stream.stream.name.to_string()).collect();
    assert_eq!(names, ["x/00000001.reports", "x/web.json"]);
    assert_eq!((trace.format(), trace.path()), ("xtrace", "x"));
    assert_eq!(words(&*trace, Window::default()).len(), 2);
    let window = Window { begin: Some(6_000_000_000), end: Some(6_500_000_000) };
    assert_eq!(words(&*trace, window).len(), 1);
    let window = Window { end: Some(6_499_999_999), ..Window::default() };
    assert_eq!(words(&*trace, window).len(), 1);
    // Times need not be sorted. No rule is broken, and a window has all its events.
    let at = |time: u64| format!("{HEAD}X-Trace: 10CAFEBABE0102030{time}\nTimestamp: {time}\n\n");
    let text = [6, 9, 7, 1, 8].map(at).concat();
    let trace = open_all(&[("a", text.as_bytes())], &options(true));
    let window = Window { begin: Some(6_000_000_000), end: Some(8_000_000_000) };
    let found = words(&*trace, window);
    let times: Vec<&str> = found.iter().map(|word| &word[..1]).collect();
    assert_eq!(times, ["6", "7", "8"]);
    for others in [&files[1..4], &files[1..2], &[]] {
        assert!(!XTrace.probe(&tree(others), &options(false)));
    }

    // A requested file is read even without recognition.
    let mut forced = options(false);
    forced.force = true;
    let text = [b"a stray line\n\n", report].concat();
    assert!(!XTrace.probe(&tree(&[("a", &text)]), &options(false)));
    assert!(XTrace.probe(&tree(&[("a", &text)]), &forced));
    let found = words(&*open_all(&[("a", &text)], &forced), Window::default());
    assert_eq!((found.len(), &*found[0]), (2, "report-begin at 0"));

    // Times are moved within 64 bits.
    let mut moved = options(false);
    moved.clock_offsets.all = -1;
    let found = words(&*open_all(&files[..1], &moved), Window::default());
    assert!(found[0].starts_with("4999999999;"), "{found:?}");
    moved.clock_offsets.all = i128::MAX;
    let opened = XTrace.open(&[&all], &moved);
    assert!(opened.traces.is_empty() && opened.refused.len() == 1);

    // The same files twice.
    let opened = XTrace.open(&[&all, &all], &options(false));
    assert_eq!((opened.traces.len(), opened.notices.len()), (1, 2));
}

#[test]
fn recorded_reports_are_events() {
    let Some(traces) = ichnos_testing::recorded("xtrace") else { return };
    // All edges, including root edges.
    for (name, reports, causes) in [("small", 166, 218), ("medium", 849, 1009), ("download", 839, 888)] {
        let text = fs::read(traces.join(format!("brown/text/{name}.txt"))).unwrap();
        let json = fs::read(traces.join(format!("brown/{name}.json"))).unwrap();
        let of_text = words(&*open_all(&[("a", &text)], &options(true)), Window::default());
        let of_json = words(&*open_all(&[("a", &json)], &options(true)), Window::default());
        assert!(of_text == of_json, "{name}");
        assert_eq!(of_text.len(), reports, "{name}");
        let found: usize = of_text.iter().map(|words| words.matches(" predecessors=").count()).sum();
        assert_eq!(found, causes, "{name}");
        assert!(of_text.iter().all(|words| words.contains("task_id=") && words.contains("operation_id=")));
        assert!(!of_text.iter().any(|words| words.starts_with('-')), "{name}: no event is without a time");
    }
}

#[test]
fn mentions_are_found() {
    let find = XTrace.info().find_mentions.unwrap();
    let mut found = Vec::new();
    find(
        b"x 10CAFEBABE01020304 and 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, or \
          2B9F41282812F1D348EE79A1B65F87656AAB20C705D5AD851C0152084301",
        &mut |mention| found.push(format!("{} {}", mention.task, mention.operation.unwrap())),
    );
    assert_eq!(
        found,
        [
            "CAFEBABE 01020304",
            "0AF7651916CD43DD8448EB211C80319C B7AD6B7169203331",
            "9F41282812F1D348EE79A1B65F87656AAB20C705 D5AD851C01520843"
        ]
    );
}
