//! What the fuzz targets share: they feed bytes, this reads all that is in them and checks what
//! must hold for any input.

pub mod expression;
pub mod fuchsia;
pub mod fxt;
pub mod generator;
pub mod json;
pub mod jsonl;
pub mod lttng;
pub mod nettrace;
pub mod roundtrip;
pub mod verified;
pub mod xtrace;
pub mod xtrace_reports;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};

use ichnos::ctf::metadata::{self, Dialect, MetadataOptions};
use ichnos::ctf::trace::CtfOptions;
use ichnos::export::{Details, DetailsOptions, Log, LogForm, LogOptions, Pretty, PrettyOptions};
use ichnos::flow::{DamageCursor, Merge};
use ichnos::io::{Bytes, Entry, Tree};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::model::cursor::{BoxedCursor, MessageKind, StreamCursor};
use ichnos::model::decode::Position;
use ichnos::model::event::{EventCounts, Scopes};
use ichnos::model::field::{Field, FieldValue, Real, Skip, Text, Wide};
use ichnos::model::message::DamageKind;
use ichnos::model::plan::{Plan, TracePlans};
use ichnos::model::trace::Limits;
use ichnos::model::{Cursor, Event, Message, OpenedTrace, Scope, Sink, TraceClass, Visitor, Window};

/// Metadata for the target `packets`.
pub const METADATA: [&[u8]; 8] = [
    lttng::METADATA,
    include_bytes!("../../examples/hello-ctf2/trace/metadata"),
    include_bytes!("../metadata/spec2.json"),
    include_bytes!("../metadata/prop1.json"),
    include_bytes!("../metadata/prop2.json"),
    include_bytes!("../metadata/big-endian.tsdl"),
    include_bytes!("../metadata/bare.tsdl"),
    include_bytes!("../metadata/empty.json"),
];

/// Nothing that is read from so little may need more at once.
const LARGEST_ALLOCATION: usize = 256 << 20;
/// Events that are read; none of the inputs is large enough for more.
const MOST_EVENTS: u64 = 1_000_000;

struct Bounded;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

// SAFETY: all is passed on to the allocator of the system.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check_size(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check_size(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check_size(size);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn check_size(size: usize) {
    assert!(size <= LARGEST_ALLOCATION, "an allocation of {size} bytes");
}

/// Reads metadata and compiles its plans.
pub fn metadata(text: &[u8], dialect: Option<Dialect>) -> Option<TraceClass> {
    let mut options = MetadataOptions::default();
    options.dialect = dialect;
    match metadata::parse(text, &options) {
        Ok(metadata) => {
            metadata.diagnostics.iter().for_each(|problem| drop(problem.to_string()));
            if let Err(error) = TracePlans::compile(&metadata.trace, &Limits::default()) {
                let _ = error.to_string();
            }
            Some(metadata.trace)
        }
        Err(error) => {
            assert!(!error.diagnostics.is_empty());
            error.diagnostics.iter().for_each(|problem| drop(problem.to_string()));
            None
        }
    }
}

/// What was read of a trace.
#[derive(Debug, Default)]
pub struct Reading {
    pub events: u64,
    pub damage: u64,
    text: Vec<u8>,
}

impl Reading {
    /// The beginning of what [`Pretty`] wrote.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or("?")
    }
}

/// Keeps the beginning of what is written.
struct Head<'a>(&'a mut Vec<u8>);

impl Write for Head<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = (64 << 10) - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(left)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a trace from memory and everything in it, and has all sinks write it.
pub fn trace(metadata: &[u8], stream: &[u8], index: Option<&[u8]>) -> Reading {
    let entry = |path: &str, bytes: &[u8]| Entry::from_bytes(path, Bytes::from(bytes.to_vec()));
    let mut entries = vec![entry("metadata", metadata), entry("stream", stream)];
    entries.extend(index.map(|index| entry("index/stream.idx", index)));
    let tree = Tree { name: "trace".to_owned(), entries, problems: Vec::new() };
    let opened = ichnos::ctf::trace::open(&[&tree], &CtfOptions::default());
    opened.errors.iter().for_each(|error| drop(error.to_string()));
    let traces: Vec<&dyn OpenedTrace> = opened.traces.iter().map(|trace| trace as _).collect();
    let reading = read_all(&traces, stream.len() as u64);
    assert!(reading.events <= stream.len() as u64 * 8, "more events than bits");
    reading
}

/// Reads traces and everything in them, and has all sinks write it. None of their files has more bytes than this.
fn read_all(traces: &[&dyn OpenedTrace], bytes: u64) -> Reading {
    let mut reading = Reading::default();
    let mut cursors: Vec<BoxedCursor> = Vec::new();
    for trace in traces {
        for summary in trace.streams() {
            assert!(summary.bytes <= bytes, "{summary:?}");
        }
        trace.diagnostics().iter().for_each(|problem| drop(problem.to_string()));
        let pairs = || trace.cursors(Window::default()).into_iter().zip(trace.cursors(Window::default()));
        pairs().for_each(|(one, other)| check_counts(one, other));
        pairs().for_each(|(one, other)| check_times(one, other));
        cursors.push(DamageCursor::new(trace.damage().to_vec()).boxed());
        cursors.extend(trace.cursors(Window::default()));
    }
    let mut text = Vec::new();
    let mut options = PrettyOptions::default();
    options.clock_gmt = true;
    let mut pretty = Pretty::new(Head(&mut text), options);
    let mut details = Details::new(io::sink(), DetailsOptions::default());
    let mut jsonl = JsonLines::new(io::sink(), JsonLinesOptions::default());
    let mut logs = [LogForm::Text, LogForm::Json].map(|form| {
        let mut options = LogOptions::default();
        options.form = form;
        Log::new(io::sink(), options)
    });
    let mut merge = Merge::new(cursors);
    while merge.advance() {
        let message = merge.current().expect("the head of a message that is not there");
        match &message {
            Message::Event(event) => {
                reading.events += 1;
                check_event(event);
            }
            Message::PacketBegin(packet) | Message::PacketEnd(packet) => {
                for scope in [Scope::PacketHeader, Scope::PacketContext] {
                    if let Some(plan) = packet.plan(scope) {
                        check_scope(&packet.scopes, scope as usize, plan);
                    }
                }
            }
            Message::Damage(damage) => {
                reading.damage += 1;
                assert!(damage.bit <= bytes * 8, "{damage:?}");
                // What is missing at the end of a packet has bits before it that say nothing alone.
                let is_end =
                    matches!(damage.kind, DamageKind::CutOff { .. } | DamageKind::PacketWithin { .. });
                let begin = if is_end { 0 } else { damage.bit };
                assert!(begin + damage.skipped <= bytes * 8, "{damage:?}");
                let _ = damage.to_string();
            }
            _ => {}
        }
        let _ = pretty.message(&message).unwrap();
        let _ = details.message(&message).unwrap();
        let _ = jsonl.message(&message).unwrap();
        for log in &mut logs {
            let _ = log.message(&message).unwrap();
        }
        if reading.events >= MOST_EVENTS {
            break;
        }
    }
    pretty.finish().unwrap();
    details.finish().unwrap();
    jsonl.finish().unwrap();
    logs.iter_mut().for_each(|log| log.finish().unwrap());
    drop(pretty);
    reading.text = text;
    reading
}

/// Counting gives what looking at each message gives.
fn check_counts(mut cursor: impl StreamCursor, mut counting: impl StreamCursor) {
    let (mut expected, mut counts) = (EventCounts::default(), EventCounts::default());
    let most = 50;
    while counts.sum() < MOST_EVENTS {
        let head = counting.count_events(most, &mut counts);
        for _ in 0..most {
            match cursor.next_head() {
                Some(head) if head.kind == MessageKind::Event => {
                    expected.add(head.class_index(), head.nanoseconds());
                }
                _ => break,
            }
        }
        assert_eq!((head, &counts), (cursor.head(), &expected));
        if head.is_none() {
            break;
        }
    }
}

/// Skipping gives the same times as reading each event.
fn check_times(mut cursor: impl StreamCursor, mut skipping: impl StreamCursor) {
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    while found.len() < MOST_EVENTS as usize {
        let mut times = Vec::new();
        skipping.skip_times(50, &mut times);
        found.extend(times.into_iter().map(|time| Some(i128::from(time))));
        if !skipping.advance() {
            break;
        }
        if let Some(Message::Event(event)) = skipping.current() {
            found.push(event.nanoseconds());
        }
    }
    while expected.len() < found.len() && cursor.advance() {
        if let Some(Message::Event(event)) = cursor.current() {
            expected.push(event.nanoseconds());
        }
    }
    assert_eq!(found, expected);
}

fn check_event(event: &Event<'_>) {
    for scope in Scope::ALL {
        if scope == Scope::Resource || event.scopes.values.is_some_and(|values| values.has(scope)) {
            let mut looking = Looking { end: u64::MAX, ..Looking::default() };
            event.visit(scope, &mut looking).expect("delivered, but of other values than its class");
            assert_eq!(looking.open, 0);
        } else if let Some(plan) = event.plan(scope) {
            let end = check_scope(&event.scopes, scope as usize, plan);
            // A scope ends where the next one begins.
            if (2..5).contains(&(scope as usize)) {
                assert_eq!(end, event.scopes.begins()[scope as usize + 1], "{scope:?}");
            }
        }
    }
}

/// What was delivered can be visited, and a visitor that wants no values gets as far as one that wants
/// them.
fn check_scope(scopes: &Scopes<'_>, scope: usize, plan: &Plan) -> Position {
    let walk = |visitor: &mut Looking| {
        let mut at = scopes.begins()[scope];
        plan.decode(scopes.bits, &mut at, scopes.slots, *scopes.limits, visitor)
            .expect("delivered, but not whole");
        at
    };
    let mut looking = Looking { end: scopes.bits.data.len() as u64 * 8, ..Looking::default() };
    let end = walk(&mut looking);
    assert_eq!(looking.open, 0);
    let mut skipped = scopes.begins()[scope];
    plan.decode(scopes.bits, &mut skipped, scopes.slots, *scopes.limits, &mut Skip)
        .expect("delivered, but not whole");
    assert_eq!(skipped, end);
    end
}

/// Looks at everything.
#[derive(Default)]
struct Looking {
    end: u64,
    open: u64,
    sum: u64,
}

impl Looking {
    fn field(&mut self, field: Field<'_>) {
        assert!(field.offset + field.length <= self.end);
        self.sum = self.sum.wrapping_add(field.offset);
    }

    fn end(&mut self, field: Field<'_>) {
        self.field(field);
        self.open -= 1;
    }

    fn begin(&mut self, field: Field<'_>) {
        self.field(field);
        self.open += 1;
    }
}

impl Visitor for Looking {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        assert!(field.length >= 64 || value >> field.length == 0);
        self.field(field);
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        assert!(field.length >= 64 || value >> (field.length - 1) == value >> 63);
        self.field(field);
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let _ = value.as_i128();
        self.field(field);
    }

    fn value(&mut self, field: Field<'_>, _: FieldValue<'_>) {
        self.field(field);
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let _ = value.to_f64();
        self.field(field);
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        assert!(value.bytes.len() <= value.raw.len());
        self.field(field.with_length(value.raw.len() as u64 * 8));
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.field(field.with_length(bytes.len() as u64 * 8));
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field);
    }

    fn end_structure(&mut self, field: Field<'_>) {
        self.end(field);
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.begin(field);
    }

    fn end_array(&mut self, field: Field<'_>) {
        self.end(field);
    }

    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.begin(field);
    }

    fn end_optional(&mut self, field: Field<'_>) {
        self.end(field);
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.begin(field);
    }

    fn end_variant(&mut self, field: Field<'_>) {
        self.end(field);
    }

    fn begin_union(&mut self, field: Field<'_>) {
        self.begin(field);
    }

    fn end_union(&mut self, field: Field<'_>) {
        self.end(field);
    }
}
