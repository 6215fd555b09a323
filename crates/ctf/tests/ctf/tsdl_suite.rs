//! CTF 1.8 metadata: the suite of texts with known verdicts, and every real trace.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ichnos_ctf::metadata::{Problems, packetized, tsdl};
use ichnos_model::{Diagnostic, FieldClass, FieldKind, Limits, Severity, TraceClass};

use super::support::traces;

fn parse(text: &[u8]) -> (Option<TraceClass>, Vec<Diagnostic>) {
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let trace = tsdl::parse(text, &limits, &mut problems);
    (trace, problems.into_diagnostics())
}

fn first_error(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics.iter().find(|problem| problem.severity == Severity::Error)
}

fn cases(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut cases: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    cases.sort();
    cases
}

#[test]
fn the_suite_of_verdicts() {
    let Some(traces) = traces() else {
        eprintln!("skipped: the recorded traces are not there");
        return;
    };
    let (mut places, mut wrong_places, mut wrong) = (0, Vec::new(), Vec::new());
    for (name, folder) in cases(&traces.join("ctf/metadata/ctf-1")) {
        let text = std::fs::read(folder.join("metadata")).unwrap();
        let (trace, diagnostics) = parse(&text);
        let tolerated = TOLERATED.contains(&name.as_str());
        let error = if tolerated { diagnostics.first() } else { first_error(&diagnostics) };
        if name.starts_with("pass-") {
            if error.is_some() || trace.is_none() {
                wrong.push(format!("{name}: {}", error.map(ToString::to_string).unwrap_or_default()));
            }
            continue;
        }
        let expected = std::fs::read_to_string(folder.join("expect-error.txt")).unwrap();
        let place = expected.lines().rfind(|line| line.starts_with('[')).unwrap();
        let place = place[1..].split(']').next().unwrap();
        let for_check = FOR_CHECK.iter().any(|(case, _)| *case == name);
        if for_check || LEGAL.iter().any(|(case, _)| *case == name) {
            assert_eq!(diagnostics, [], "{name}");
            // What the check reports must be declared where the suite expects the report.
            if for_check && place != "1:1" {
                let declared = declarations(trace.as_ref().unwrap());
                assert!(declared.contains(place), "{name}: {place} is none of {declared:?}");
            }
            continue;
        }
        assert!(!tolerated || trace.is_some(), "{name}");
        let Some(error) = error else {
            wrong.push(format!("{name}: no error, expected {}", expected.lines().last().unwrap_or_default()));
            continue;
        };
        if place == error.place.to_string() {
            places += 1;
        } else {
            wrong_places.push(format!("{name}: expected at {place}, but {error}"));
        }
    }
    println!("{places} places are right; others: {wrong_places:#?}");
    assert!(wrong.is_empty(), "wrong verdicts: {wrong:#?}");
    assert!(wrong_places.is_empty(), "wrong places: {wrong_places:#?}");
}

/// The places of all field classes.
fn declarations(trace: &TraceClass) -> HashSet<String> {
    fn collect(class: &FieldClass, places: &mut HashSet<String>) {
        places.insert(class.declared_at.0.to_string());
        match &class.kind {
            FieldKind::Structure { members, .. } => {
                members.iter().for_each(|member| collect(&member.class, places));
            }
            FieldKind::Variant { options, .. } => {
                options.iter().for_each(|option| collect(&option.class, places));
            }
            FieldKind::Array { element, .. } => collect(element, places),
            _ => {}
        }
    }
    let mut places = HashSet::new();
    let mut roots = vec![&trace.packet_header];
    for stream in &trace.data_streams {
        roots.extend([&stream.packet_context, &stream.event_record_header, &stream.common_context]);
        for event in &stream.event_records {
            roots.extend([&event.specific_context, &event.payload]);
        }
    }
    roots.into_iter().flatten().for_each(|root| collect(root, &mut places));
    places
}

/// Cases whose texts can be read, but whose classes do not fit together: for the check of the
/// finished trace class.
const FOR_CHECK: [(&str, &str); 20] = [
    ("fail-dl-array-type-inval-len-loc-11", "a length is not an unsigned integer"),
    ("fail-dl-array-type-inval-len-loc-12", "a length is not an unsigned integer"),
    ("fail-dl-array-type-inval-len-loc-2", "a length is not an unsigned integer"),
    ("fail-dl-array-type-inval-len-loc-4", "a location goes on behind a scalar"),
    ("fail-dl-array-type-inval-len-loc-6", "a length is not an unsigned integer"),
    ("fail-dl-array-type-inval-len-loc-9", "a length is not an unsigned integer"),
    ("fail-dl-str-type-inval-len-loc-10", "a length is not an unsigned integer"),
    ("fail-dl-str-type-inval-len-loc-2", "a length is not an unsigned integer"),
    ("fail-dl-str-type-inval-len-loc-3", "a location goes on behind a scalar"),
    ("fail-dl-str-type-inval-len-loc-6", "a length is not an unsigned integer"),
    ("fail-dl-str-type-inval-len-loc-7", "a length is not an unsigned integer"),
    ("fail-dl-str-type-inval-len-loc-9", "a length is not an unsigned integer"),
    ("fail-ert-empty-1", "an event record of no bits"),
    ("fail-ert-empty-2", "an event record of no bits"),
    ("fail-ert-empty-3", "an event record of no bits"),
    ("fail-ert-empty-5", "an event record of no bits"),
    ("fail-trace-type-ph-type-inval-magic-member-1", "a magic number of 8 bits"),
    ("fail-var-type-inval-sel-loc-2", "a location leads nowhere"),
    ("fail-var-type-inval-sel-loc-5", "a location leads into an array that is not around"),
    ("fail-var-type-inval-sel-loc-6", "a location leads into an array that is not around"),
];

/// Cases that are legal CTF 1.8: the reader that their verdict comes from is stricter.
const LEGAL: [(&str, &str); 1] =
    [("fail-clk-type-wrong-offset-attr-1", "a negative `offset`: section 8 says that it is signed")];

/// Cases that only a strict reading refuses, because there are real traces of the kind
/// (`babeltrace/1/succeed/succeed4`): unknown attributes of a block. Their problem is a slip, at
/// the expected place.
const TOLERATED: [&str; 2] = ["fail-clk-type-unknown-attr", "fail-trace-type-unknown-attr"];

#[test]
fn every_real_trace() {
    let Some(traces) = traces() else {
        eprintln!("skipped: the recorded traces are not there");
        return;
    };
    let limits = Limits::default();
    let root = traces.join("ctf/real");
    let mut folders = vec![root.clone()];
    let (mut read, mut refused) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for (name, path) in cases(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if name != "metadata" {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let mut problems = Problems::new(&limits);
            let unpacked = packetized::unpack(&bytes, &limits, &mut problems);
            let text = unpacked.map_or(bytes, |unpacked| unpacked.text);
            // Old LTTng texts do not begin with the comment; those of CTF 2 begin with a separator.
            if text.starts_with(b"\x1e") {
                continue;
            }
            let trace = tsdl::parse(&text, &limits, &mut problems);
            let diagnostics = problems.into_diagnostics();
            let name = folder.strip_prefix(&root).unwrap().display().to_string();
            for problem in &diagnostics {
                println!("{name}: {problem}");
            }
            if trace.is_none() || first_error(&diagnostics).is_some() {
                refused.push(name);
            } else {
                read += 1;
            }
        }
    }
    refused.sort();
    println!("{read} read, refused: {refused:#?}");
    assert_eq!(refused, REFUSED);
    assert!(read > 90, "{read} texts are too few: are the traces all there?");
}

/// Real traces that other readers refuse as well, because of what their metadata says: a version
/// 0.1, a variant whose tag is a structure, syntax errors.
const REFUSED: [&str; 5] = [
    "babeltrace/1/fail/fail1",
    "babeltrace/1/fail/fail2",
    "babeltrace/1/fail/invalid-variant-selector-field-class",
    "babeltrace/1/fail/metadata-syntax-error",
    "babeltrace/1/live/invalid-metadata",
];
