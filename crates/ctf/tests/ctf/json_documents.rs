//! Every JSON example from both proposal documents, stored next to the real traces, wrapped into a metadata stream
//! according to its kind.

use std::fs;

use ichnos_ctf::metadata::Problems;
use ichnos_ctf::metadata::json::{parse_aux_stream, parse_prop1, parse_prop2};
use ichnos_model::trace::{Limits, Severity};

use crate::support::traces;

/// Returns a document's examples: the first line's number, and the text.
fn examples(name: &str) -> Option<Vec<(usize, String)>> {
    let file = traces()?.join("../specs").join(name);
    let Ok(text) = fs::read_to_string(&file) else {
        eprintln!("skipped: {name} is not there");
        return None;
    };
    let mut lines = text.lines().enumerate();
    let mut examples = Vec::new();
    while let Some((_, line)) = lines.next() {
        if line.trim() != "[source,json]" {
            continue;
        }
        let (number, first) = lines.next().unwrap();
        let fenced = first.trim() == "----";
        let mut example = if fenced { String::new() } else { format!("{first}\n") };
        for (_, line) in lines.by_ref() {
            let line = line.trim_end();
            if line == "----" || (!fenced && matches!(line, "" | "====" | "--" | "+")) {
                break;
            }
            // Numbers in angle brackets refer to the text below. The dots stand for omitted parts.
            let line = line.split(" <").next().unwrap().replace('\u{2026}', "");
            example.push_str(&line);
            example.push('\n');
        }
        examples.push((number + 1 + usize::from(fenced), example));
    }
    Some(examples)
}

/// Returns the outermost object's property names.
fn outer_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, None);
    for (at, character) in text.char_indices() {
        match (character, start) {
            ('"', Some(open)) => {
                if depth == 1 && text[at + 1..].trim_start().starts_with(':') {
                    names.push(&text[open + 1..at]);
                }
                start = None;
            }
            ('"', None) => start = Some(at),
            ('{' | '[', None) => depth += 1,
            ('}' | ']', None) => depth -= 1,
            _ => {}
        }
    }
    names
}

/// Returns the aliases used in the PROP-1.0 examples.
fn prop1_aliases() -> String {
    let mut aliases = String::new();
    for (name, size, align) in [("uint8", 8, 8), ("uint27", 27, 1), ("uint32", 32, 8), ("uint64", 64, 8)] {
        aliases += &format!(
            "{{\"fragment\": \"field-type-alias\", \"name\": \"{name}\", \"field-type\": \
             {{\"field-type\": \"int\", \"size\": {size}, \"alignment\": {align}}}}},\n"
        );
    }
    for name in ["my alias", "elem-ft", "some-ft"] {
        aliases += &format!(
            "{{\"fragment\": \"field-type-alias\", \"name\": \"{name}\", \"field-type\": \"uint8\"}},\n"
        );
    }
    aliases
}

/// Fields that the paths in the examples lead to.
const PROP1_FIELDS: &str = r#"
    {"name": "a", "field-type": "uint8"}, {"name": "len", "field-type": "uint8"},
    {"name": "z", "field-type": "uint8"}, {"name": "cmd-len", "field-type": "uint8"},
    {"name": "msg", "field-type": {"field-type": "struct", "fields": [
        {"name": "info", "field-type": {"field-type": "struct", "fields": [{"name": "count", "field-type": "uint8"}]}}]}},
    {"name": "path", "field-type": {"field-type": "struct", "fields": [
        {"name": "to", "field-type": {"field-type": "struct", "fields": [
            {"name": "cpu_id", "field-type": "uint8"},
            {"name": "tag", "field-type": {"field-type": "enum", "size": 8, "members": {"ID": [0], "NAME": [1]}}}]}}]}},
    {"name": "tag", "field-type": {"field-type": "enum", "size": 8, "members": {"": [0], "one": [1], "two": [2]}}},
    {"name": "b", "field-type": {"field-type": "struct", "fields": [
        {"name": "v", "field-type": {"field-type": "variant", "tag": ["tag"], "choices": [
            {"name": "one", "field-type": "uint8"},
            {"name": "two", "field-type": {"field-type": "struct", "fields": [{"name": "a", "field-type": "uint8"}]}}]}},
        {"name": "i", "field-type": "uint8"}]}}"#;

/// Wraps a PROP-1.0 example into a metadata stream.
fn wrap_prop1(example: &str) -> String {
    let trace = r#"{"fragment": "trace-class", "default-byte-order": "le"},"#;
    let clock = r#"{"fragment": "data-stream-clock-class", "name": "monotonic", "freq": 1000},"#;
    let stream = |tags: &str| {
        format!(
            r#"{{"fragment": "data-stream-class", "tags": [{tags}], "packet-context-field-type":
            {{"field-type": "struct", "fields": [{PROP1_FIELDS}, {{"name": "number of discarded events", "field-type": "uint8"}}]}}}},"#
        )
    };
    let aliases = prop1_aliases();
    let field = |field: &str| {
        let stream = stream("");
        format!(
            "[\"CTF 2\", {aliases} {trace} {stream} {{\"fragment\": \"event-record-class\", \"payload-field-type\":
            {{\"field-type\": \"struct\", \"fields\": [{PROP1_FIELDS},\n{field}]}}}}]"
        )
    };
    let typed = |text: &str| field(&format!("{{\"name\": \"example\", \"field-type\": {text}}}"));
    let label = |text: &str| {
        typed(&format!(
            "{{\"field-type\": \"enum\", \"size\": 128, \"signed\": true, \"members\": {{\"label\": [{text}]}}}}"
        ))
    };
    let example = example.replace("my-scope", "event-record-payload");
    let example = example.trim();
    let names = outer_names(example);
    let has = |name: &str| names.contains(&name);
    if example.starts_with("[\n\"CTF 2\"") {
        return example.to_owned();
    }
    if has("fragment") {
        return match example {
            _ if example.contains("\"name\": \"uint8\"") => format!("[\"CTF 2\", {trace} {example}]"),
            _ if example.contains("field-type-alias") => format!("[\"CTF 2\", {aliases} {trace} {example}]"),
            _ if example.contains("\"trace-class\"") => format!("[\"CTF 2\", {aliases} {example}]"),
            _ if example.contains("clock-class\",") && !example.contains("tags") => {
                format!("[\"CTF 2\", {trace} {example}]")
            }
            _ if example.contains("\"event-record-class\"") => format!(
                "[\"CTF 2\", {aliases} {trace} {{\"fragment\": \"data-stream-class\", \"id\": 3}}, {example}]"
            ),
            _ => format!("[\"CTF 2\", {aliases} {trace} {clock} {example}]"),
        };
    }
    match example.chars().next().unwrap() {
        '"' => typed(example),
        '[' => typed(&format!("{{\"field-type\": \"textsequence\", \"length\": {example}}}"))
            .replace("[\"path\", \"to\"", "[\"path\",\"to\""),
        '0'..='9' => label(example),
        _ if has("tag") && !has("field-type") => {
            let stream = stream(example);
            format!("[\"CTF 2\", {aliases} {trace} {} {{\"fragment\": \"event-record-class\"}}]", stream)
        }
        _ if has("name") && has("field-type") => field(example),
        _ if has("field-type") => typed(example),
        _ if has("scope") => typed(&format!("{{\"field-type\": \"textsequence\", \"length\": {example}}}")),
        _ if has("lower") || has("value") => label(example),
        _ => typed(&format!("{{\"field-type\": \"null\", \"user-attrs\": {example}}}")),
    }
}

/// Wraps a PROP-2.0 example into a metadata stream. Returns `None` for an auxiliary stream.
fn wrap_prop2(example: &str) -> Option<String> {
    let example = example.trim();
    let names = outer_names(example);
    let has = |name: &str| names.contains(&name);
    let preamble = r#"{"type": "preamble", "version": 2},"#;
    let stream = r#"{"type": "data-stream-class"}"#;
    let member = |text: &str| {
        format!(
            "[{preamble} {stream}, {{\"type\": \"event-record-class\", \"payload-field-class\":
            {{\"type\": \"structure\", \"members\": [\n{text}]}}}}]"
        )
    };
    let class = |text: &str| member(&format!("{{\"name\": \"example\", \"field-class\": {text}}}"));
    let mappings = |text: &str| {
        class(&format!("{{\"type\": \"variable-length-signed-enumeration\", \"mappings\": {text}}}"))
    };
    let fragment = |text: &str| format!("[{preamble} {text}, {stream}]");
    Some(match example.chars().next().unwrap() {
        '"' => fragment(&format!("{{\"type\": \"trace-class\", \"uuid\": {example}}}")),
        '[' if example.contains("preamble") => example.replace(",\n  \n]", format!(", {stream},]").as_str()),
        '[' if example.starts_with("[[") => mappings(&format!("{{\"label\": {example}}}")),
        '[' => mappings(&format!("{{\"label\": [{example}]}}")),
        _ if example.contains("\"type\": \"preamble\"") => format!("[{example}, {stream}]"),
        _ if example.contains("\"type\": \"trace-class\"")
            || example.contains("\"type\": \"clock-class\"") =>
        {
            fragment(example)
        }
        _ if has("type") => class(example),
        _ if has("selector-field-ranges") => class(&format!(
            "{{\"type\": \"variant\", \"selector-field-location\": [\"packet-context\", \"s\"], \"options\": [{example}]}}"
        )),
        _ if has("field-class") => member(example),
        _ if has("seconds") || example == "{}" => fragment(&format!(
            "{{\"type\": \"clock-class\", \"name\": \"c\", \"frequency\": 1000000000, \"offset\": {example}}}"
        )),
        _ if has("fortune") => mappings(example),
        _ if example.contains("\"piano\"") => {
            format!("[{{\"type\": \"preamble\", \"version\": 2, \"extensions\": {example}}}, {stream}]")
        }
        _ if has("std") || example.contains("session-name") || example.contains(": 42") => return None,
        _ => class(&format!("{{\"type\": \"null-terminated-string\", \"user-attributes\": {example}}}")),
    })
}

/// Expected problem of an example: its document line, its severity, and the start of its message.
type ExpectedProblem = (usize, Severity, &'static str);

/// Warnings and notes for the PROP-1.0 examples.
const PROP1: &[ExpectedProblem] = &[
    (1984, Severity::Warning, "an `enum` without the property `size`"),
    (2938, Severity::Warning, "a path must be an array of names"),
    (3179, Severity::Note, "unknown property `length`"),
    (3365, Severity::Warning, "the field type `integer` is called `int`"),
    (3545, Severity::Warning, "an array without the property `length`"),
    (4342, Severity::Warning, "a comma before `}`"),
    (4342, Severity::Warning, "a comma before `]`"),
    (4342, Severity::Warning, "the property `align` is called `alignment`"),
    (4342, Severity::Warning, "the element type of an array is called `element-field-type`"),
    (4342, Severity::Warning, "the property `reason` is missing"),
];

/// Warnings for the PROP-2.0 examples, and unknown extensions.
const PROP2: &[ExpectedProblem] = &[
    (1096, Severity::Warning, "a comma before `]`"),
    (1194, Severity::Error, "the extension `piano` in the namespace `my.tracer`"),
    (1194, Severity::Error, "the extension `ramen` in the namespace `my.tracer`"),
    (1194, Severity::Error, "the extension `sax` in the namespace `abc/xyz`"),
    (4770, Severity::Error, "the extension `piano` in the namespace `my.tracer`"),
    (4770, Severity::Error, "the extension `ramen` in the namespace `my.tracer`"),
];

fn check(found: &[(usize, Severity, String)], expected: &[ExpectedProblem]) {
    for (line, severity, message) in found {
        let known = expected
            .iter()
            .any(|other| other.0 == *line && other.1 == *severity && message.starts_with(other.2));
        assert!(known, "line {line}: {severity}: {message}\nall: {found:#?}");
    }
    for (line, severity, message) in expected {
        let met = found
            .iter()
            .any(|other| other.0 == *line && other.1 == *severity && other.2.starts_with(message));
        assert!(met, "not met: line {line}: {severity}: {message}");
    }
}

#[test]
fn examples_of_prop1() {
    let Some(examples) = examples("ctf2-prop-1.0.adoc.txt") else { return };
    let limits = Limits::default();
    let mut found = Vec::new();
    for (line, example) in &examples {
        let mut problems = Problems::new(&limits);
        let text = wrap_prop1(example);
        let trace = parse_prop1(text.as_bytes(), &limits, &mut problems);
        let problems = problems.into_diagnostics();
        assert!(trace.is_some(), "line {line}: {problems:#?}\n{text}");
        found.extend(problems.into_iter().map(|problem| (*line, problem.severity, problem.message)));
    }
    assert_eq!(examples.len(), 67);
    check(&found, PROP1);
}

#[test]
fn examples_of_prop2() {
    let Some(examples) = examples("ctf2-prop-2.0.adoc.txt") else { return };
    let limits = Limits::default();
    let mut found = Vec::new();
    for (line, example) in &examples {
        let mut problems = Problems::new(&limits);
        match wrap_prop2(example) {
            Some(text) => {
                parse_prop2(text.as_bytes(), &limits, &mut problems);
            }
            None => {
                parse_aux_stream(example.as_bytes(), &limits, &mut problems);
            }
        }
        let problems = problems.into_diagnostics();
        found.extend(problems.into_iter().map(|problem| (*line, problem.severity, problem.message)));
    }
    assert_eq!(examples.len(), 87);
    check(&found, PROP2);
}
