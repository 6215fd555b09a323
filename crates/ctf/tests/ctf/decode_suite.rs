//! Compares all elements and offsets of 74 tiny traces with another reader's output.
//!
//! `expect.txt` is a dump: P packet, PC its content, SC a scope by number, ER an event record, ST a structure, FLUI a
//! fixed-length unsigned integer, and so on. An unindented last line is the error at which reading ended.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use ichnos_ctf::metadata::{self, MetadataOptions};
use ichnos_ctf::packet::update_clock;
use ichnos_model::class::{FieldKind, Length, Role, StringLength, Uuid, VariableLengthValue};
use ichnos_model::decode::{DecodeErrorKind, DecodeLimits, PacketBits, Position, UNKNOWN};
use ichnos_model::field::{Field, Real, StringEncoding, Text, Wide};
use ichnos_model::plan::{Plan, TracePlans};
use ichnos_model::trace::Limits;
use ichnos_model::{Scope, TraceClass, Visitor};

use crate::support::traces;

/// End of reading, in bits from the start of the stream, and the reason.
struct Ended(u64, String);

struct Dump<'a> {
    out: String,
    depth: usize,
    /// First bit of the packet.
    base: u64,
    trace: &'a TraceClass,
    default_clock: Option<u16>,
    clock: u64,
    class_id: Option<u64>,
    stream_id: Option<u64>,
    event_id: Option<u64>,
    total: Option<u64>,
    content: Option<u64>,
    end: Option<u64>,
    discarded: Option<u64>,
    sequence: Option<u64>,
    uuid: Option<Vec<u8>>,
}

impl Dump<'_> {
    fn line(&mut self, bit: u64, text: &str) {
        writeln!(self.out, "{:6} {}{text}", self.base + bit, "  ".repeat(self.depth)).unwrap();
    }

    fn open(&mut self, bit: u64, text: &str) {
        self.line(bit, &format!("{text} {{"));
        self.depth += 1;
    }

    fn close(&mut self, bit: u64) {
        self.depth -= 1;
        self.line(bit, "}");
    }

    /// Returns "KIND:name", or "KIND" without a name. Here, variant options have names, but the expected dumps do not
    /// show them.
    fn named(kind: &str, field: Field<'_>) -> String {
        match field.name().filter(|_| !is_option(field)) {
            Some(name) => format!("{kind}:{name}"),
            None => kind.to_owned(),
        }
    }

    fn value(&mut self, kind: &str, field: Field<'_>, value: &str) {
        let named = Self::named(kind, field);
        self.line(field.offset, &format!("{named}:{value}"));
    }
}

/// Returns `true` if the field's name is an option name.
fn is_option(field: Field<'_>) -> bool {
    field.node().is_variant_option()
}

fn kind_of(field: Field<'_>) -> &'static str {
    match &field.class().kind {
        FieldKind::Integer { integer, .. } if integer.signed => "FLSI",
        FieldKind::Integer { .. } => "FLUI",
        FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } if integer.signed => {
            "VLSI"
        }
        FieldKind::VariableLength { .. } => "VLUI",
        FieldKind::String { length: StringLength::NullTerminated, .. } => "NTS",
        FieldKind::String { length: StringLength::Static(_), .. } => "SLS",
        FieldKind::String { .. } => "DLS",
        FieldKind::Array { length: Length::Static(_), .. } => "SLA",
        FieldKind::Array { .. } => "DLA",
        FieldKind::Blob { length: Length::Static(_), .. } => "SLB",
        FieldKind::Blob { .. } => "DLB",
        other => panic!("no abbreviation for {other:?}"),
    }
}

impl Visitor for Dump<'_> {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        if let Some(uuid) = &mut self.uuid {
            uuid.push(value as u8);
        }
        self.value(kind_of(field), field, &value.to_string());
        let after = field.offset + field.length;
        let roles = field.node().roles;
        if roles.has(Role::PacketMagicNumber) {
            self.line(after, &format!("PMN:{value}"));
        }
        if roles.has(Role::Timestamp) && (roles.clock.is_none() || roles.clock == self.default_clock) {
            self.clock = update_clock(self.clock, value, field.length);
            self.line(after, &format!("DCV:{}", self.clock));
        }
        for (role, place) in [
            (Role::DataStreamClassId, &mut self.class_id),
            (Role::DataStreamId, &mut self.stream_id),
            (Role::EventRecordClassId, &mut self.event_id),
            (Role::PacketTotalLength, &mut self.total),
            (Role::PacketContentLength, &mut self.content),
            (Role::PacketEndTimestamp, &mut self.end),
            (Role::DiscardedEventCounter, &mut self.discarded),
            (Role::PacketSequenceNumber, &mut self.sequence),
        ] {
            if roles.has(role) {
                *place = Some(value);
            }
        }
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.value(kind_of(field), field, &value.to_string());
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        let mut digits = Vec::new();
        value.write_decimal(&mut digits);
        self.value(kind_of(field), field, &String::from_utf8(digits).unwrap());
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.value("FLB", field, if value { "true" } else { "false" });
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.value("FLBA", field, &bits.to_string());
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        let FieldKind::BitMap { flags, .. } = &field.class().kind else { panic!("no bit map") };
        let mut names: Vec<&str> = flags.flags_of(bits).collect();
        names.sort_unstable();
        self.value("FLBM", field, &format!("{bits}:{}", names.join(",")));
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.value("FLFPN", field, &six_digits(value.to_f64()));
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let named = Self::named(kind_of(field), field);
        self.open(field.offset, &named);
        if !value.raw.is_empty() {
            let shown: String = value
                .raw
                .iter()
                .map(|byte| match byte {
                    0x20..=0x7e => char::from(*byte).to_string(),
                    other => format!("${other:02x}"),
                })
                .collect();
            self.line(field.offset, &format!("RD:{}:{shown}", value.raw.len()));
        }
        self.close(field.offset + value.raw.len() as u64 * 8);
        assert!(value.encoding == StringEncoding::Utf8 || value.raw.len() % value.encoding.unit() == 0);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        let named = Self::named("ST", field);
        self.open(field.offset, &named);
    }

    fn end_structure(&mut self, field: Field<'_>) {
        self.close(field.offset);
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        if field.node().roles.has(Role::MetadataStreamUuid) {
            self.uuid = Some(Vec::new());
        }
        let named = Self::named(kind_of(field), field);
        self.open(field.offset, &named);
    }

    fn end_array(&mut self, field: Field<'_>) {
        if let Some(uuid) = self.uuid.take() {
            self.line(field.offset, &format!("MSU:{}", Uuid::from_slice(&uuid).unwrap()));
        }
        self.close(field.offset);
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        let named = Self::named(kind_of(field), field);
        self.open(field.offset, &named);
        self.line(field.offset, &format!("RD:{}", bytes.len()));
        if field.node().roles.has(Role::MetadataStreamUuid) {
            let at = field.offset + bytes.len() as u64 * 8;
            self.line(at, &format!("MSU:{}", Uuid::from_slice(bytes).unwrap()));
        }
        self.close(field.offset + bytes.len() as u64 * 8);
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {
        let state = if present { "enabled" } else { "disabled" };
        let class = &field.class().kind;
        if matches!(class, FieldKind::Optional { ranges: None, .. }) {
            self.open(field.offset, &format!("{}:{state}", Self::named("OB", field)));
        } else {
            self.open(field.offset, &format!("{}:{state}:{selector}", Self::named("O", field)));
        }
    }

    fn end_optional(&mut self, field: Field<'_>) {
        self.close(field.offset);
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, selector: i128) {
        self.open(field.offset, &format!("{}:{selector}", Self::named("V", field)));
    }

    fn end_variant(&mut self, field: Field<'_>) {
        self.close(field.offset);
    }
}

/// Formats a number like C's `%g` and C++ streams: six significant digits.
fn six_digits(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let (_, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    assert!((-5..6).contains(&exponent), "no case needs more: {value}");
    let fixed = format!("{value:.*}", (5 - exponent).max(0) as usize);
    if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').to_owned() } else { fixed }
}

/// Dumps a stream like the reference.
fn dump(trace: &TraceClass, data: &[u8]) -> (String, Option<Ended>) {
    // The reference reads integers with up to 64 bits.
    let mut limits = Limits::default();
    limits.integer_bits = 64;
    let plans = TracePlans::compile(trace, &limits).unwrap();
    let mut dump = Dump {
        out: String::new(),
        depth: 0,
        base: 0,
        trace,
        default_clock: None,
        clock: 0,
        class_id: None,
        stream_id: None,
        event_id: None,
        total: None,
        content: None,
        end: None,
        discarded: None,
        sequence: None,
        uuid: None,
    };
    let mut offset = 0;
    while offset < data.len() {
        match packet(&mut dump, &plans, DecodeLimits::from(&limits), &data[offset..]) {
            Ok(size) => offset += size,
            Err(Ended(bit, message)) => {
                let at = dump.base + bit;
                return (dump.out, Some(Ended(at, message)));
            }
        }
        dump.base = offset as u64 * 8;
    }
    (dump.out, None)
}

fn packet(
    dump: &mut Dump<'_>,
    plans: &TracePlans,
    limits: DecodeLimits,
    data: &[u8],
) -> Result<usize, Ended> {
    let slots = vec![Cell::new(UNKNOWN); plans.slots()];
    let mut at = Position::default();
    let trace = dump.trace;
    (dump.clock, dump.class_id, dump.stream_id) = (0, None, None);
    (dump.total, dump.content, dump.end, dump.discarded, dump.sequence) = (None, None, None, None, None);
    dump.open(0, "P");
    dump.open(0, "PC");
    let mut bits = PacketBits { data, content: u64::MAX };
    let walk =
        |dump: &mut Dump<'_>, scope: Scope, plan: &Option<Plan>, bits: PacketBits<'_>, at: &mut Position| {
            let Some(plan) = plan else { return Ok(()) };
            let begin = align(at.bit, plan);
            if begin > bits.end() {
                // The plan itself reports the error.
                let error = plan.decode(bits, at, &slots, limits, dump).unwrap_err();
                return Err(Ended(error.bit, format!("{:?}", error.kind)));
            }
            dump.open(begin, &format!("SC:{}", scope as u8));
            plan.decode(bits, at, &slots, limits, dump)
                .map_err(|error| Ended(error.bit, message(error.kind)))?;
            dump.close(at.bit);
            Ok(())
        };
    walk(dump, Scope::PacketHeader, &plans.packet_header, bits, &mut at)?;
    let id = dump.class_id.unwrap_or(0);
    let stream = match trace.data_streams.iter().position(|class| class.id == id.into()) {
        Some(index) => Some((&trace.data_streams[index], &plans.data_streams[index])),
        None if trace.data_streams.is_empty() => None,
        None => return Err(Ended(at.bit, format!("no data stream class {id}"))),
    };
    let mut line = "DSI".to_owned();
    if stream.is_some() {
        write!(line, ":T{id}").unwrap();
    }
    if let Some(id) = dump.stream_id {
        write!(line, ":{id}").unwrap();
    }
    dump.line(at.bit, &line);
    dump.default_clock = stream.and_then(|(class, _)| class.default_clock);
    if let Some((_, plans)) = stream {
        walk(dump, Scope::PacketContext, &plans.packet_context, bits, &mut at)?;
    }
    for (what, length) in [("total", dump.total), ("content", dump.content)] {
        if let Some(length) = length.filter(|length| *length < at.bit) {
            return Err(Ended(at.bit, format!("{what} length {length} too small")));
        }
    }
    if let (Some(total), Some(content)) = (dump.total, dump.content)
        && content > total
    {
        return Err(Ended(at.bit, format!("content length {content} > total length {total}")));
    }
    let total = dump.total.or(dump.content);
    let content = dump.content.or(dump.total);
    let mut line = "PI".to_owned();
    let said_total = dump.total;
    for (letter, value) in [
        ('T', said_total),
        ('C', dump.content.or(said_total)),
        ('E', dump.end),
        ('D', dump.discarded),
        ('S', dump.sequence),
    ] {
        if let Some(value) = value {
            write!(line, ":{letter}{value}").unwrap();
        }
    }
    // Without a data stream class, the dump ends here.
    if stream.is_some() || line != "PI" {
        dump.line(at.bit, &line);
    }
    bits.content = content.unwrap_or(u64::MAX);
    while at.bit < bits.end().max(if content.is_some() { bits.content } else { 0 }) {
        let Some((class, plans)) = stream else { break };
        if class.event_records.is_empty() {
            break;
        }
        // An event record begins with its first field.
        let only = (class.event_records.len() == 1).then(|| &plans.event_records[0]);
        let first = [&plans.event_record_header, &plans.common_context]
            .into_iter()
            .flatten()
            .next()
            .or_else(|| only.and_then(|only| only.specific_context.as_ref().or(only.payload.as_ref())));
        let begin = first.map_or(at.bit, |first| align(at.bit, first));
        if begin > bits.end() {
            return Err(Ended(at.bit, format!("alignment to {begin}")));
        }
        dump.open(begin, "ER");
        dump.event_id = None;
        walk(dump, Scope::EventRecordHeader, &plans.event_record_header, bits, &mut at)?;
        let id = dump.event_id.unwrap_or(0);
        let Some(index) = class.event_records.iter().position(|class| class.id == id.into()) else {
            return Err(Ended(at.bit, format!("no event record class {id}")));
        };
        let event = &class.event_records[index];
        let name = event.name.as_ref().map_or(String::new(), |name| format!(":#{name}"));
        dump.line(
            at.bit.max(if plans.event_record_header.is_some() { 0 } else { begin }),
            &format!("ERI:T{id}{name}"),
        );
        walk(dump, Scope::CommonContext, &plans.common_context, bits, &mut at)?;
        walk(dump, Scope::SpecificContext, &plans.event_records[index].specific_context, bits, &mut at)?;
        walk(dump, Scope::Payload, &plans.event_records[index].payload, bits, &mut at)?;
        dump.close(at.bit);
    }
    let end = content.unwrap_or(at.bit).max(at.bit);
    dump.close(at.bit);
    let size = total.unwrap_or(end);
    if size > data.len() as u64 * 8 {
        return Err(Ended(at.bit, "padding beyond data".to_owned()));
    }
    dump.close(size);
    Ok((size / 8) as usize)
}

fn align(bit: u64, plan: &Plan) -> u64 {
    bit.next_multiple_of(plan.root().alignment())
}

fn message(kind: DecodeErrorKind) -> String {
    kind.to_string()
}

/// Returns the comparable part of a dump. The reference announces a string and shows its available part before it
/// detects that the string does not end. A visitor only gets complete strings.
fn comparable(lines: &[&str]) -> Vec<String> {
    let mut lines: Vec<&str> = lines.to_vec();
    while lines.last().is_some_and(|line| {
        let element = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        ["NTS", "DLS", "SLS", "RD:"].iter().any(|kind| element.starts_with(kind))
    }) {
        lines.pop();
    }
    // Also, a visitor does not see the end of a context with wrong lengths.
    while lines.last().is_some_and(|line| line.ends_with(" }")) {
        lines.pop();
    }
    lines.into_iter().map(str::to_owned).collect()
}

fn run_case(case: &Path) -> Result<(), String> {
    let text = std::fs::read(case.join("metadata")).unwrap();
    let stream = std::fs::read(case.join("stream")).unwrap();
    let expected = std::fs::read_to_string(case.join("expect.txt")).unwrap();
    let metadata = metadata::parse(&text, &MetadataOptions::default())
        .map_err(|error| format!("metadata refused: {}", error.diagnostics[0]))?;
    let (found, ended) = dump(&metadata.trace, &stream);
    let expected = without_signs(&expected);
    let mut expected: Vec<&str> = expected.lines().collect();
    let mut found: Vec<&str> = found.lines().collect();
    let fails = case.file_name().unwrap().to_string_lossy().starts_with("fail-");
    if fails {
        let error = expected.pop().unwrap();
        let at: u64 = error.split_whitespace().next().unwrap().parse().unwrap();
        let Some(Ended(bit, message)) = ended else { return Err(format!("not seen: {error}")) };
        if bit != at {
            return Err(format!("ended at {bit} ({message}), expected {error}"));
        }
        let (expected, found) = (comparable(&expected), comparable(&found));
        return compare(&expected, &found);
    }
    if let Some(Ended(bit, message)) = ended {
        return Err(format!("ended at {bit}: {message}"));
    }
    let owned = |lines: &mut Vec<&str>| lines.drain(..).map(str::to_owned).collect::<Vec<_>>();
    compare(&owned(&mut expected), &owned(&mut found))
}

/// Returns the dump without the letter for a signed selector, because it belongs to the selector's class.
fn without_signs(dump: &str) -> String {
    ["OU", "OS", "VU", "VS"].iter().fold(dump.to_owned(), |dump, kind| {
        let (long, short) = (format!(" {kind}:"), format!(" {}:", &kind[..1]));
        dump.replace(&long, &short)
    })
}

fn compare(expected: &[String], found: &[String]) -> Result<(), String> {
    for i in 0..expected.len().max(found.len()) {
        let (a, b) = (expected.get(i), found.get(i));
        if a != b {
            return Err(format!("line {}: expected {a:?}, found {b:?}", i + 1));
        }
    }
    Ok(())
}

#[test]
fn every_element_of_every_case() {
    let Some(traces) = traces() else { return };
    let mut failed = Vec::new();
    let mut passed = 0;
    for dialect in ["ctf-1", "ctf-2"] {
        let directory = traces.join("ctf/decode").join(dialect);
        let mut cases: Vec<_> =
            std::fs::read_dir(directory).unwrap().map(|case| case.unwrap().path()).collect();
        cases.sort();
        for case in cases {
            match run_case(&case) {
                Ok(()) => passed += 1,
                Err(why) => failed.push(format!("{}: {why}", case.file_name().unwrap().to_string_lossy())),
            }
        }
    }
    println!("decode: {passed} passed, {} failed, 0 skipped", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed, 74);
}
