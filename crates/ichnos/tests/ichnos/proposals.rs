//! Random traces in both proposals, converted to every dialect and back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use ichnos::convert::{ConvertError, ConvertOptions, target};
use ichnos::io::WriteReport;
use ichnos::model::class::{Child, FieldClass};
use ichnos::model::lower::{LossKind, LossTable};
use ichnos::model::{Message, Sink};
use ichnos::prelude::Cursor;
use ichnos_jsonl::{JsonLines, JsonLinesOptions};
use ichnos_testing::proposals::{Proposal, RandomTrace, random_trace};
use ichnos_testing::{cases, compare_table};
use serde_json::Value;

use crate::comparison::Comparison;

/// Number of traces per document. `ICHNOS_PROPOSAL_TRACES` sets another number. With `ICHNOS_SEED`, the traces for one
/// case are kept.
const TRACES: u64 = 110;

const DIALECTS: [&str; 4] = ["spec2", "prop2", "prop1", "ctf1.8"];

/// Maximum share of refused traces, in percent.
const MOST_REFUSED: u64 = 2;

/// Events in a trace as JSON lines, and its damage.
struct Content {
    events: Vec<Value>,
    /// Variant option names.
    options: HashSet<String>,
    damage: Vec<String>,
}

fn read(path: &Path, strict: bool) -> Result<Content, String> {
    let mut options = ichnos::OpenOptions::default();
    options.read.check = true;
    options.read.strict = strict;
    options.assume_correlated = true;
    let session = ichnos::open([path], &options).map_err(|error| format!("{error:?}"))?;
    let mut damage: Vec<String> = Vec::new();
    let mut options = HashSet::new();
    for trace in session.traces() {
        trace.trace().class.roots().for_each(|root| collect_options(root, &mut options));
        let warnings = trace.diagnostics().iter();
        damage.extend(warnings.map(|problem| problem.diagnostic.message.clone()));
    }
    let mut lines = Vec::new();
    let mut sink = JsonLines::new(&mut lines, JsonLinesOptions::default());
    let reader = session.stream_reader();
    let mut cursor = reader.cursor();
    while cursor.advance() {
        let message = cursor.current().unwrap();
        if let Message::Damage(found) = &message {
            damage.push(found.to_string());
        }
        let _ = sink.message(&message).unwrap();
    }
    sink.finish().unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Ok(Content { events: all.filter(|line| line["type"] == "event").collect(), options, damage })
}

fn collect_options(class: &FieldClass, options: &mut HashSet<String>) {
    for child in class.children() {
        if let Child::Choice(option) = child {
            options.extend(option.name.clone());
        }
        collect_options(child.class(), options);
    }
}

fn convert(from: &Path, to: &Path, dialect: &str) -> Result<WriteReport, String> {
    let mut options = ichnos::OpenOptions::default();
    options.read.check = true;
    options.assume_correlated = true;
    let session = ichnos::open([from], &options).map_err(|error| format!("cannot be read: {error}"))?;
    let writer = target(Some("ctf"), to, Some(dialect)).unwrap().writer;
    let mut options = ConvertOptions::default();
    options.write.dialect = Some(dialect.to_owned());
    options.verify = true;
    let reader = session.stream_reader();
    reader.convert(writer, Some(to.to_owned()), &options).map_err(|error| match error {
        ConvertError::Create(error) => error.to_string(),
        error => format!("{error:?}"),
    })
}

fn differences(source: &Content, found: &Content, losses: &[&LossTable]) -> Vec<String> {
    Comparison::new(losses, &source.options).events(&source.events, &found.events)
}

fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            all.push((path.strip_prefix(directory).unwrap().to_owned(), bytes));
        }
    }
    all.sort();
    all
}

/// Results for one direction.
#[derive(Default)]
struct Figures {
    /// Changes other than renaming, in general words.
    changes: BTreeSet<(LossKind, String)>,
    refused: u64,
    refused_back: u64,
    with_lost_events: u64,
    with_unequal_values: u64,
    with_unequal_values_back: u64,
    with_problems: u64,
    unstable: u64,
    /// Refused seeds by reason.
    reasons: BTreeMap<String, Vec<u64>>,
}

/// Returns the part of a reason that does not depend on the trace.
fn general(reason: &str) -> String {
    let first = reason.split("; ").next().unwrap_or(reason);
    let text = first.split(" (expected").next().unwrap_or(first).rsplit(": ").next().unwrap_or(first);
    let mut general = String::new();
    let mut is_quoted = false;
    for c in text.chars() {
        if c == '`' {
            is_quoted = !is_quoted;
        }
        if !(is_quoted || c.is_ascii_digit() && general.ends_with('0')) {
            general.push(if c.is_ascii_digit() { '0' } else { c });
        }
    }
    general.chars().take(120).collect()
}

/// Returns a change without numbers and names from the source.
fn general_change(what: &str) -> String {
    let (before, mut after) = what.split_once(" -> ").unwrap_or((what, ""));
    if before.starts_with("alignment") {
        after = "largest allowed alignment";
    }
    let mut general = String::new();
    for part in before.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        general += if rest.len() < part.len() { "N" } else { "" };
        general += rest;
    }
    if after.is_empty() { general } else { format!("{general} -> {after}") }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} refused, {} refused back, {} with lost events, {} with unequal values, {} with unequal values back, \
             {} with problems, {} unstable",
            self.refused,
            self.refused_back,
            self.with_lost_events,
            self.with_unequal_values,
            self.with_unequal_values_back,
            self.with_problems,
            self.unstable,
        )
    }
}

impl Figures {
    /// Returns `true` if all traces that were not refused keep their events and values, and do not change in another
    /// conversion.
    fn is_exact(&self) -> bool {
        let wrong = [
            self.with_lost_events,
            self.with_unequal_values,
            self.with_unequal_values_back,
            self.with_problems,
            self.unstable,
        ];
        wrong == [0; 5]
    }

    fn reason(&mut self, what: &str, reason: &str, seed: u64) {
        if std::env::var_os("ICHNOS_SEED").is_some() {
            println!("{what}: {reason}");
        }
        self.reasons.entry(format!("{what}: {}", general(reason))).or_default().push(seed);
    }

    fn direction(&mut self, seed: u64, directory: &Path, source: &Content, origin: &str, dialect: &str) {
        let from = directory.join("source");
        let path = |name: &str| directory.join(format!("{dialect}-{name}"));
        let report = match convert(&from, &path("out"), dialect) {
            Ok(report) => report,
            Err(reason) => {
                self.refused += 1;
                return self.reason("refused", &reason, seed);
            }
        };
        let changes = report.losses.iter().filter(|(loss, _)| loss.kind != LossKind::Renamed);
        self.changes.extend(changes.map(|(loss, _)| (loss.kind, general_change(&loss.what))));
        let found = match read(&path("out"), true) {
            Ok(found) => found,
            Err(reason) => {
                self.with_problems += 1;
                return self.reason("strict", &reason, seed);
            }
        };
        if let Some(problem) = found.damage.last().filter(|_| found.damage.len() > source.damage.len()) {
            self.with_problems += 1;
            self.reason("problem", problem, seed);
        }
        if found.events.len() != source.events.len() {
            self.with_lost_events += 1;
            if std::env::var_os("ICHNOS_SEED").is_some() {
                println!("{:#?}", report.losses);
            }
            let lost = report.losses.iter().find(|(loss, _)| loss.what.contains("cannot be"));
            self.reason("lost events", lost.map_or("unknown", |(loss, _)| &loss.what), seed);
        } else {
            let unequal = differences(source, &found, &[&report.losses]);
            if let Some(first) = unequal.first() {
                if std::env::var_os("ICHNOS_SEED").is_some() {
                    println!("{:#?}", report.losses);
                }
                self.with_unequal_values += 1;
                self.reason("unequal", first, seed);
            }
        }
        match convert(&path("out"), &path("again"), dialect) {
            Ok(_) if files(&path("out")) == files(&path("again")) => {}
            Ok(_) => {
                self.unstable += 1;
                self.reason("unstable", "second conversion differs", seed);
            }
            Err(reason) => {
                self.unstable += 1;
                self.reason("unstable", &reason, seed);
            }
        }
        let back = match convert(&path("out"), &path("back"), origin) {
            Ok(report) => report,
            Err(reason) => {
                self.refused_back += 1;
                return self.reason("refused back", &reason, seed);
            }
        };
        match read(&path("back"), false) {
            Ok(found) if found.events.len() == source.events.len() => {
                let unequal = differences(source, &found, &[&report.losses, &back.losses]);
                if let Some(first) = unequal.first() {
                    self.with_unequal_values_back += 1;
                    self.reason("unequal back", first, seed);
                }
            }
            Ok(_) => {
                self.with_lost_events += 1;
                self.reason("lost events back", "", seed);
            }
            Err(reason) => {
                self.refused_back += 1;
                self.reason("unreadable back", &reason, seed);
            }
        }
    }
}

/// Formats a table of changes: a line per change, with the dialects that require it.
fn table_of_changes(all: &BTreeMap<&str, Figures>) -> String {
    let changes: BTreeSet<&(LossKind, String)> = all.values().flat_map(|figures| &figures.changes).collect();
    let mut table = String::from(
        "| change | kind | SPEC-2.0 | PROP-2.0 | PROP-1.0 | CTF 1.8 |\n|---|---|---|---|---|---|\n",
    );
    for change in changes {
        let is_made = |dialect| all.get(dialect).is_some_and(|figures| figures.changes.contains(change));
        let cells = DIALECTS.map(|dialect| if is_made(dialect) { "yes" } else { "-" }).join(" | ");
        writeln!(table, "| {} | {} | {cells} |", change.1, change.0).unwrap();
    }
    table
}

fn write_source(directory: &Path, random: &RandomTrace) {
    let source = directory.join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("metadata"), &random.metadata).unwrap();
    for stream in &random.streams {
        fs::write(source.join(&stream.file), &stream.bytes).unwrap();
    }
}

fn every_direction_and_back(proposal: Proposal, origin: &str) {
    let traces = std::env::var("ICHNOS_PROPOSAL_TRACES").map_or(TRACES, |number| number.parse().unwrap());
    let mut all: BTreeMap<&str, Figures> = BTreeMap::new();
    let count = cases(traces, |random| {
        let seed = random.seed();
        let random = random_trace(proposal, random);
        let directory = tempfile::tempdir().unwrap();
        write_source(directory.path(), &random);
        let source = read(&directory.path().join("source"), false).unwrap();
        for dialect in DIALECTS {
            all.entry(dialect).or_default().direction(seed, directory.path(), &source, origin, dialect);
        }
        if std::env::var_os("ICHNOS_SEED").is_some() {
            println!("kept: {}", directory.keep().display());
        }
    });
    if count == TRACES {
        compare_table("editing.md", origin, &table_of_changes(&all));
    }
    let mut wrong = Vec::new();
    for (dialect, figures) in &all {
        println!("{} -> {dialect}, {count} traces: {figures}", proposal.name());
        let mut reasons: Vec<_> = figures.reasons.iter().collect();
        reasons.sort_by_key(|(_, seeds)| std::cmp::Reverse(seeds.len()));
        for (reason, seeds) in reasons {
            println!("{:5}: {reason}, seeds {seeds:?}", seeds.len());
        }
        let refused = (figures.refused + figures.refused_back) * 100 / count;
        if refused > MOST_REFUSED || !figures.is_exact() {
            wrong.push(format!("{} -> {dialect}: {figures}", proposal.name()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_direction_of_prop1_and_back() {
    every_direction_and_back(Proposal::First, "prop1");
}

#[test]
fn every_direction_of_prop2_and_back() {
    every_direction_and_back(Proposal::Second, "prop2");
}

/// A union that starts within a byte becomes bytes with only its own bits.
#[test]
fn unions_within_bytes() {
    // The integer 5 (3 bits), a union 0x1abc (13 bits), and the integer 0xff (8 bits).
    for (order, packet, union) in [("le", [0xe5, 0xd5, 0xff], "bc1a"), ("be", [0xba, 0xbc, 0xff], "d5e0")] {
        let directory = tempfile::tempdir().unwrap();
        let (source, target) = (directory.path().join("source"), directory.path().join("target"));
        let int = |size: u32| format!(r#"{{"field-type":"int","size":{size},"byte-order":"{order}"}}"#);
        let member = |name: &str, class: &str| format!(r#"{{"name":"{name}","field-type":{class}}}"#);
        let members = [member("x", &int(13)), member("y", &int(13))].join(",");
        let union_type = format!(r#"{{"field-type":"union","fields":[{members}]}}"#);
        let fields = [member("a", &int(3)), member("u", &union_type), member("b", &int(8))].join(",");
        let metadata = format!(
            r#"["CTF 2",{{"fragment":"trace-class"}},{{"fragment":"data-stream-class"}},
            {{"fragment":"event-record-class","payload-field-type":{{"field-type":"struct","fields":[{fields}]}}}}]"#
        );
        fs::create_dir(&source).unwrap();
        fs::write(source.join("metadata"), metadata).unwrap();
        fs::write(source.join("stream"), packet).unwrap();
        let read_source = read(&source, false).unwrap();
        let expected = serde_json::json!({"a": 5, "u": {"x": 0x1abc, "y": 0x1abc}, "b": 0xff});
        assert_eq!(read_source.events[0]["payload"], expected, "{order}");
        for dialect in ["spec2", "prop2"] {
            convert(&source, &target, dialect).unwrap();
            let payload = &read(&target, true).unwrap().events[0]["payload"];
            assert_eq!((&payload["a"], &payload["b"]), (&5.into(), &255.into()));
            assert_eq!(payload["u"]["$blob"], union, "{order} {dialect}: {payload}");
            fs::remove_dir_all(&target).unwrap();
        }
    }
}

/// Writes a PROP-1.0 trace with one data stream class, one event record class and one packet.
fn write_prop1(directory: &Path, stream_class: &str, payload: &str, packet: &[u8]) -> PathBuf {
    let path = directory.join("source");
    fs::create_dir(&path).unwrap();
    let metadata = format!(
        r#"["CTF 2",{{"fragment":"trace-class","default-byte-order":"le"}},{{"fragment":"data-stream-class"{stream_class}}},
        {{"fragment":"event-record-class","payload-field-type":{{"field-type":"struct","fields":[{payload}]}}}}]"#
    );
    fs::write(path.join("metadata"), metadata).unwrap();
    fs::write(path.join("stream"), packet).unwrap();
    path
}

#[test]
fn integers_of_many_bits_become_bytes_and_numbers_again() {
    let directory = tempfile::tempdir().unwrap();
    let int = |name: &str, size: u32, more: &str| {
        format!(
            r#"{{"name":"{name}","field-type":{{"field-type":"int","size":{size},"alignment":8{more}}}}}"#
        )
    };
    let payload = [
        int("minus-two", 72, r#","signed":true,"byte-order":"be""#),
        int("wide", 128, ""),
        int("minus-one", 65, r#","signed":true"#),
    ];
    let mut packet = [&[0xff; 8][..], &[0xfe]].concat();
    packet.extend((1u8..=16).collect::<Vec<u8>>());
    packet.extend([0xff; 9]);
    let source = write_prop1(directory.path(), "", &payload.join(","), &packet);
    let expected = &read(&source, false).unwrap().events[0]["payload"];
    let number = u128::from_le_bytes(std::array::from_fn(|index| index as u8 + 1));
    assert_eq!(expected["minus-two"]["$int"], "-2");
    assert_eq!(expected["wide"]["$int"], number.to_string());
    let target = directory.path().join("ctf1.8");
    convert(&source, &target, "ctf1.8").unwrap();
    let found = &read(&target, true).unwrap().events[0]["payload"];
    for (name, own) in [("minus_two", "minus-two"), ("wide", "wide"), ("minus_one", "minus-one")] {
        assert_eq!(found[name], expected[own], "{name}: {found}");
    }
    // Other readers find the number's bytes, least significant first.
    let mut bytes = [&[0xfe][..], &[0xff; 8]].concat();
    bytes.extend(1..=16);
    bytes.extend([0xff; 9]);
    let written = fs::read(target.join("stream")).unwrap();
    assert!(written.windows(bytes.len()).any(|window| window == bytes), "{written:x?}");
}

/// A variant in an event record header, with a timestamp and with an unused field.
#[test]
fn fields_with_roles_stay_in_headers() {
    let directory = tempfile::tempdir().unwrap();
    let metadata = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; } := u8;
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; };
        typealias integer { size = 32; align = 8; map = clock.c.value; } := now;
        stream { event.header := struct {
            enum : u8 { compact = 0 ... 30, extended = 31 } id;
            variant <id> {
                struct { now timestamp; } compact;
                struct { u8 id; now timestamp; u8 cpu; } extended;
            } v;
        }; };
        event { id = 1; name = e; fields := struct { u8 a; }; };"#;
    let source = directory.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("metadata"), metadata).unwrap();
    fs::write(source.join("stream"), [1, 5, 0, 0, 0, 77, 31, 1, 9, 0, 0, 0, 3, 78]).unwrap();
    // In CTF 2, `cpu` is a header field without a role. Strict readers warn about it.
    for dialect in ["spec2", "prop2"] {
        let refused = convert(&source, &directory.path().join(dialect), dialect).unwrap_err();
        assert!(refused.contains("the field `cpu` of the `event-record-header` lacks a role"), "{refused}");
    }
    let target = directory.path().join("prop1");
    convert(&source, &target, "prop1").unwrap();
    let events = read(&target, false).unwrap().events;
    let found: Vec<_> = events.iter().map(|event| (&event["cycles"], &event["payload"]["a"])).collect();
    assert_eq!(found, [(&5.into(), &77.into()), (&9.into(), &78.into())]);
}

/// A length in the same option as the array. Another option changes its name.
#[test]
fn renamed_lengths_are_those_of_the_own_option() {
    let directory = tempfile::tempdir().unwrap();
    let int = |name: &str| {
        format!(r#"{{"name":"{name}","field-type":{{"field-type":"int","size":8,"alignment":8}}}}"#)
    };
    let length = r#"{"scope":"event-record-payload","path":["v","x-y"]}"#;
    let array = format!(
        r#"{{"name":"a","field-type":{{"field-type":"sequence","length":{length},
        "element-field-type":{{"field-type":"int","size":8,"alignment":8}}}}}}"#
    );
    let option = |name: &str, fields: &[String]| {
        format!(
            r#"{{"name":"{name}","field-type":{{"field-type":"struct","fields":[{}]}}}}"#,
            fields.join(",")
        )
    };
    let tag = r#"{"name":"t","field-type":{"field-type":"enum","size":8,"alignment":8,"members":{"A":[0],"B":[1]}}}"#;
    let options = [option("A", &[int("x-y")]), option("B", &[int("x_y"), int("x-y"), array])];
    let variant = format!(
        r#"{{"name":"v","field-type":{{"field-type":"variant","tag":["t"],"choices":[{}]}}}}"#,
        options.join(",")
    );
    let source = write_prop1(directory.path(), "", &format!("{tag},{variant}"), &[1, 9, 2, 21, 22]);
    assert_eq!(read(&source, false).unwrap().events[0]["payload"]["v"]["a"], serde_json::json!([21, 22]));
    let target = directory.path().join("ctf1.8");
    convert(&source, &target, "ctf1.8").unwrap();
    assert_eq!(read(&target, true).unwrap().events[0]["payload"]["v"]["a"], serde_json::json!([21, 22]));
}
