//! Errors in the JSON dialects, and their messages.

use ichnos_ctf::metadata::Problems;
use ichnos_ctf::metadata::json::{parse_aux_stream, parse_prop1, parse_prop2, parse_spec2};
use ichnos_model::TraceClass;
use ichnos_model::trace::{Limits, Severity};

fn messages(problems: Problems) -> Vec<String> {
    problems.into_diagnostics().iter().map(ToString::to_string).collect()
}

fn spec2(fragments: &[&str]) -> (Option<TraceClass>, Vec<String>) {
    let text: String = fragments.iter().map(|fragment| format!("\x1e{fragment}\n")).collect();
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let trace = parse_spec2(text.as_bytes(), &limits, &mut problems);
    (trace, messages(problems))
}

fn prop2(fragments: &str) -> Vec<String> {
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let text = format!("[{{\"type\": \"preamble\", \"version\": 2}},\n{fragments}]");
    parse_prop2(text.as_bytes(), &limits, &mut problems);
    messages(problems)
}

fn prop1(fragments: &str) -> Vec<String> {
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let text = format!("[\"CTF 2\",\n{fragments}]");
    parse_prop1(text.as_bytes(), &limits, &mut problems);
    messages(problems)
}

const PREAMBLE: &str = r#"{"type": "preamble", "version": 2}"#;
const STREAM: &str = r#"{"type": "data-stream-class"}"#;

/// Checks that SPEC-2.0 `fragments` after a preamble cause problems that contain these words.
fn refused(fragments: &[&str], expected: &[&str]) {
    let all: Vec<&str> = std::iter::once(PREAMBLE).chain(fragments.iter().copied()).collect();
    let (_, problems) = spec2(&all);
    assert_eq!(problems.len(), expected.len(), "{fragments:?}: {problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem} does not contain {expected}");
    }
}

fn header(members: &str) -> String {
    format!(
        r#"{{"type": "trace-class", "packet-header-field-class": {{"type": "structure", "member-classes": [{members}]}}}}"#
    )
}

fn payload(class: &str) -> String {
    format!(
        r#"{{"type": "event-record-class", "payload-field-class": {{"type": "structure", "member-classes": [{{"name": "it", "field-class": {class}}}]}}}}"#
    )
}

#[test]
fn several_problems_are_told_in_one_run() {
    let (trace, problems) = spec2(&[
        PREAMBLE,
        STREAM,
        r#"{"type": "event-record-class", "id": 3, "payload-field-class": {"type": "structure", "member-classes": [
            {"name": "len", "field-class": {"type": "fixed-length-unsigned-integer", "length": -1}},
            {"name": "len", "field-class": {"type": "nonsense"}}]}}"#,
        r#"{"type": "event-record-class", "id": 3.5}"#,
        r#"{"type": "event-record-class" "id": 4}"#,
        r#"{"type": "clock-class", "id": "c", "frequency": 0}"#,
    ]);
    assert!(trace.is_none());
    let starts = [
        "4:96: error: in event record class 3, payload, member `len`: invalid property `length` \
         (expected an unsigned integer of at most 64 bits, found the integer -1)",
        "4:44: error: in event record class 3, payload, member `len`: the property `byte-order` is missing",
        "5:22: error: in event record class 3, payload, member `len`: duplicate member `len`",
        "5:53: error: in event record class 3, payload, member `len`: unknown field class type (expected `fixed-",
        "6:39: error: in event record class: invalid property `id`",
        "7:32: error: the text is not valid JSON (expected `,` or `}`, found `\"`)",
        "8:50: error: in clock class `c`: invalid property `frequency` (expected an integer greater \
         than 0, found the integer 0)",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}\n{start}");
    }
}

#[test]
fn order_and_number_of_fragments() {
    refused(&[PREAMBLE, STREAM], &["only one preamble"]);
    refused(
        &[r#"{"type": "trace-class"}"#, r#"{"type": "trace-class"}"#, STREAM],
        &["more than one trace class"],
    );
    refused(&[STREAM, r#"{"type": "trace-class"}"#], &["must be before all data stream"]);
    refused(&[STREAM, STREAM], &["duplicate data stream class id 0"]);
    refused(
        &[STREAM, r#"{"type": "event-record-class"}"#, r#"{"type": "event-record-class"}"#],
        &["duplicate event record class id 0 in data stream class 0"],
    );
    refused(
        &[STREAM, r#"{"type": "event-record-class", "data-stream-class-id": 8}"#],
        &["unknown data stream class id 8"],
    );
    refused(&[r#"{"type": "epilogue"}"#, STREAM], &["unknown fragment type (expected `preamble`"]);
    assert!(spec2(&[STREAM]).1[0].contains("must begin with a preamble"));
    assert!(spec2(&[]).1[0].contains("must begin with a preamble"));
    assert!(
        spec2(&[r#"{"type": "preamble", "version": 3}"#, STREAM]).1[0].contains("expected the version 2")
    );
}

#[test]
fn text_sequences_without_separators_are_warnings() {
    let limits = Limits::default();
    let mut problems = Problems::new(&limits);
    let text = format!("{PREAMBLE}\n\x1e{STREAM}{STREAM}");
    let trace =
        parse_spec2(text.replace(&format!("{STREAM}{STREAM}"), STREAM).as_bytes(), &limits, &mut problems);
    assert!(trace.is_some());
    let problems = problems.into_diagnostics();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].severity, Severity::Warning);
    assert_eq!((problems[0].position.line, problems[0].position.column), (1, 1));
}

#[test]
fn extensions_must_be_declared_and_known() {
    let declared = r#"{"type": "preamble", "version": 2, "extensions": {"example.com": {"harp": 1}}}"#;
    let (_, problems) =
        spec2(&[declared, r#"{"type": "data-stream-class", "extensions": {"example.com": {"harp": 2}}}"#]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("the extension `harp` in the namespace `example.com` is not supported"));
    refused(
        &[r#"{"type": "data-stream-class", "extensions": {"example.com": {"harp": 2}}}"#],
        &["the preamble does not declare an extension in the namespace `example.com`"],
    );
}

#[test]
fn roles_have_their_places() {
    let magic = r#"{"name": "m", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32, "byte-order": "big-endian", "roles": ["packet-magic-number"]}}"#;
    let id = r#"{"name": "i", "field-class": {"type": "variable-length-unsigned-integer", "roles": ["data-stream-id"]}}"#;
    assert!(spec2(&[PREAMBLE, &header(&format!("{magic}, {id}")), STREAM]).0.is_some());
    refused(
        &[&header(&format!("{id}, {magic}")), STREAM],
        &["must be the first member of the packet header"],
    );
    refused(
        &[&header(&magic.replace("32", "16")), STREAM],
        &[
            "cannot have the role `packet-magic-number` (expected a fixed-length unsigned integer of 32 bits, found a 16-bit",
        ],
    );
    refused(
        &[&header(&id.replace("data-stream-id", "event-record-class-id")), STREAM],
        &[
            "the role `event-record-class-id` is not allowed here (expected `event-record-header`, found `packet-header`)",
        ],
    );
    refused(
        &[&header(&id.replace("data-stream-id", "boss")), STREAM],
        &["unknown role (expected `packet-magic"],
    );
    let uuid = r#"{"name": "u", "field-class": {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}}"#;
    refused(&[&header(uuid), STREAM], &["the preamble lacks the property `uuid`"]);
    // An alias does not know its scope, but its use does.
    let alias = r#"{"type": "field-class-alias", "name": "a", "field-class": {"type": "variable-length-unsigned-integer", "roles": ["data-stream-id"]}}"#;
    refused(
        &[alias, STREAM, &payload("\"a\"")],
        &["in event record class 0, payload, member `it`: the role `data-stream-id` is not allowed here"],
    );
    assert!(spec2(&[PREAMBLE, alias, &header(r#"{"name": "i", "field-class": "a"}"#), STREAM]).0.is_some());
    // Timestamps need a clock.
    refused(
        &[
            r#"{"type": "data-stream-class", "event-record-header-field-class": {"type": "structure", "member-classes": [
            {"name": "t", "field-class": {"type": "variable-length-unsigned-integer", "roles": ["default-clock-timestamp"]}}]}}"#,
        ],
        &["lacks a default clock class"],
    );
}

#[test]
fn headers_are_not_for_user_fields() {
    let plain = r#"{"name": "kind", "field-class": {"type": "variable-length-unsigned-integer"}}"#;
    refused(
        &[&header(plain), STREAM],
        &["warning: the field `kind` of the `packet-header` lacks a role, and no other field needs it"],
    );
    let optional = r#"{"type": "optional", "selector-field-location": {"origin": "packet-header", "path": ["kind"]},
        "selector-field-ranges": [[1, 1]], "field-class": {"type": "null-terminated-string"}}"#;
    refused(&[&header(plain), STREAM, &payload(optional)], &[]);
}

#[test]
fn field_classes_keep_their_rules() {
    let int = |rest: &str| {
        payload(&format!(
            r#"{{"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian"{rest}}}"#
        ))
    };
    for (class, expected) in [
        (int(r#", "preferred-display-base": 7"#), "expected 2, 8, 10 or 16, found the integer 7"),
        (int(r#", "bit-order": "up""#), "expected `first-to-last` or `last-to-first`"),
        (int(r#", "length": 9"#), "duplicate property `length`"),
        (int(r#", "mappings": {"a": []}"#), "expected at least one integer range, found an array"),
        (int(r#", "mappings": {"a": [[1, 2, 3]]}"#), "expected two integers"),
        (
            payload(r#"{"type": "structure", "minimum-alignment": 3}"#),
            "expected a power of two, found the integer 3",
        ),
        (
            payload(
                r#"{"type": "fixed-length-floating-point-number", "length": 48, "byte-order": "big-endian"}"#,
            ),
            "expected 16, 32, 64, 128 or a greater multiple of 32",
        ),
        (
            payload(
                r#"{"type": "fixed-length-bit-map", "length": 8, "byte-order": "big-endian", "flags": {}}"#,
            ),
            "expected at least one flag",
        ),
        (
            payload(r#"{"type": "variant", "selector-field-location": {"path": ["s"]}, "options": []}"#),
            "at least one option",
        ),
        (
            payload(
                r#"{"type": "variant", "selector-field-location": {"path": ["s"]}, "options": [
                {"field-class": {"type": "structure"}, "selector-field-ranges": [[7, 9], [1, 1]]},
                {"field-class": {"type": "structure"}, "selector-field-ranges": [[3, 3], [9, 12]]}]}"#,
            ),
            "the ranges of two options have a value in common",
        ),
        (
            payload(
                r#"{"type": "dynamic-length-string", "length-field-location": {"origin": "event", "path": ["n"]}}"#,
            ),
            "unknown scope (expected `packet-header`,",
        ),
        (
            payload(r#"{"type": "dynamic-length-string", "length-field-location": {"path": []}}"#),
            "expected at least one element",
        ),
    ] {
        refused(&[STREAM, &class], &[expected]);
    }
    refused(
        &[
            r#"{"type": "data-stream-class", "packet-context-field-class": {"type": "structure", "member-classes": [
            {"name": "s", "field-class": {"type": "dynamic-length-string",
             "length-field-location": {"origin": "event-record-payload", "path": ["n"]}}}]}}"#,
        ],
        &[
            "a field in the scope `packet-context` needs a field in `event-record-payload`, but that scope is \
            decoded later",
        ],
    );
}

#[test]
fn clocks_keep_their_rules() {
    let clock = |rest: &str| format!(r#"{{"type": "clock-class", "id": "c", "frequency": 100{rest}}}"#);
    for (rest, expected) in [
        (r#", "offset-from-origin": {"cycles": 100}"#, "expected less than the frequency, 100"),
        (r#", "origin": "big bang""#, "expected `unix-epoch` or an object"),
        (r#", "origin": {"name": "boot"}"#, "the property `uid` is missing"),
        (r#", "precision": -1"#, "expected an unsigned integer"),
        (r#", "accuracy": "good""#, "expected an unsigned integer"),
    ] {
        refused(&[&clock(rest), STREAM], &[expected]);
    }
    refused(&[&clock(""), &clock(""), STREAM], &["duplicate clock class `c`"]);
    refused(
        &[r#"{"type": "data-stream-class", "default-clock-class-id": "d"}"#],
        &["unknown clock class `d`: no earlier fragment declares it"],
    );
    let same = r#", "name": "n", "uid": "u""#;
    refused(
        &[&clock(same), &clock(same).replace("100", "200").replace("\"c\"", "\"d\""), STREAM],
        &["the clock class `c` has the same identity"],
    );
}

#[test]
fn log_levels_and_uris_come_from_attributes() {
    let event = r#"{"type": "event-record-class", "attributes": {"babeltrace.org,2020": {"log-level": "debug:line", "emf-uri": "http://example.com/it"}}}"#;
    let (trace, problems) = spec2(&[PREAMBLE, STREAM, event]);
    assert!(problems.is_empty(), "{problems:?}");
    let record = &trace.unwrap().data_streams[0].event_records[0];
    assert_eq!((record.log_level, record.emf_uri.as_deref()), (Some(13), Some("http://example.com/it")));
    assert!(record.attributes.get("babeltrace.org,2020").is_some());
}

#[test]
fn prop2_keeps_its_own_rules() {
    let stream = r#"{"type": "data-stream-class"}"#;
    let class = |class: &str| {
        format!(
            r#"{stream}, {{"type": "event-record-class", "payload-field-class": {{"type": "structure", "members": [{{"name": "it", "field-class": {class}}}]}}}}"#
        )
    };
    for (fragments, expected) in [
        (r#"{"type": "trace-class", "uuid": "1ec96494e402454693dbe9222bee6cc7"}, "#.to_owned() + stream, "expected a UUID such as"),
        (r#"{"type": "field-class-alias", "name": "a"}, "#.to_owned() + stream, "unknown fragment type"),
        (class("\"alias\""), "expected an object, found the string `alias`"),
        (class(r#"{"type": "fixed-length-bit-map"}"#), "PROP-2.0 does not have a field class of the type"),
        (class(r#"{"type": "variable-length-unsigned-enumeration"}"#), "the property `mappings` is missing"),
        (class(r#"{"type": "null-terminated-string", "encoding": "utf-16be"}"#), "unknown property `encoding`"),
        (class(r#"{"type": "dynamic-length-string", "length-field-location": ["event-record-payload"]}"#), "at least one name"),
        (class(r#"{"type": "dynamic-length-string", "length-field-location": ["n", "n"]}"#), "unknown scope"),
        (class(r#"{"type": "null-terminated-string", "roles": ["data-stream-id"]}"#), "is not allowed here"),
        (r#"{"type": "clock-class", "name": "a", "frequency": 1, "uuid": "1ec96494-e402-4546-93db-e9222bee6cc7"},
            {"type": "clock-class", "name": "b", "frequency": 1, "uuid": "1ec96494-e402-4546-93db-e9222bee6cc7"}, "#.to_owned() + stream,
            "duplicate clock class UUID"),
    ] {
        let problems = prop2(&fragments);
        assert_eq!(problems.len(), 1, "{problems:#?}");
        assert!(problems[0].contains(expected), "{problems:?} {expected}");
    }
}

#[test]
fn prop1_keeps_its_own_rules() {
    let stream =
        r#"{"fragment": "trace-class", "default-byte-order": "le"}, {"fragment": "data-stream-class"}"#;
    let fields = |fields: &str| {
        format!(
            r#"{stream}, {{"fragment": "event-record-class", "payload-field-type": {{"field-type": "struct", "fields": [{fields}]}}}}"#
        )
    };
    let int = r#"{"name": "n", "field-type": {"field-type": "int", "size": 8}}"#;
    for (fragments, expected) in [
        (
            fields(int).replace(r#", "default-byte-order": "le""#, ""),
            "needs the default byte order, but the trace class lacks it",
        ),
        (fields(r#"{"name": "s", "field-type": "text"}"#), "unknown field type alias `text`: no earlier fragment declares it"),
        (fields(r#"{"name": "s", "field-type": {"field-type": "quaternion"}}"#), "an unknown field type cannot be decoded"),
        (fields(r#"{"name": "s", "field-type": {"field-type": "string", "alignment": 4}}"#), "a power of two of at least 8"),
        (fields(r#"{"name": "s", "field-type": {"field-type": "textsequence", "length": ["n"]}}"#), "unknown field `n`: no earlier field has this path"),
        (
            fields(&format!(
                r#"{int}, {{"name": "v", "field-type": {{"field-type": "variant", "tag": ["n"], "choices": [{int}]}}}}"#
            )),
            "the tag of a variant must be an enumeration; found: 8-bit unsigned integer",
        ),
        (
            fields(&format!(
                r#"{{"name": "e", "field-type": {{"field-type": "enum", "size": 8, "members": {{"a": [1]}}}}}},
                {{"name": "v", "field-type": {{"field-type": "variant", "tag": ["e"], "choices": [{int}]}}}}"#
            )),
            "the tag enumeration lacks the label `n`",
        ),
        (
            fields(r#"{"name": "e", "field-type": {"field-type": "enum", "size": 8, "members": {"a": [{"base": 2, "value": "12"}]}}}"#),
            "expected the base-2 digits of an integer",
        ),
        (fields(r#"{"name": "u", "field-type": {"field-type": "union", "fields": []}}"#), "expected at least one field"),
        (fields(r#"{"name": "a", "field-type": {"field-type": "array", "element-field-type": {"field-type": "string"}}}"#), "the property `length` is missing"),
        (
            stream.replace(r#""data-stream-class""#, r#""data-stream-class", "tags": [{"tag": "packet-total-size", "path": {"scope": "data-stream-packet-context", "path": ["x"]}}]"#),
            "the tag is for the unknown field `packet-context/x`",
        ),
        (
            stream.replace(r#""data-stream-class""#, r#""data-stream-class", "tags": [{"tag": "magic", "path": {"scope": "trace-packet-header", "path": ["x"]}}]"#),
            "is not allowed for fields of this scope",
        ),
    ] {
        let problems = prop1(&fragments);
        assert_eq!(problems.len(), 1, "{fragments} {problems:#?}");
        assert!(problems[0].contains(expected), "{problems:?} {expected}");
    }
}

#[test]
fn auxiliary_streams_have_one_property() {
    let limits = Limits::default();
    for text in ["{}", "{\"a\": 1, \"b\": 2}", "[]", "{\"std\": {\"environment\": 3}}", "{"] {
        let mut problems = Problems::new(&limits);
        assert!(parse_aux_stream(text.as_bytes(), &limits, &mut problems).is_none(), "{text}");
        assert_eq!(messages(problems).len(), 1, "{text}");
    }
}

#[test]
fn aliases_cannot_grow_without_bound() {
    let mut fragments = vec![
        PREAMBLE.to_owned(),
        r#"{"type": "field-class-alias", "name": "a0", "field-class": {"type": "structure"}}"#.to_owned(),
    ];
    for level in 1..40 {
        let inner = format!("a{}", level - 1);
        fragments.push(format!(
            r#"{{"type": "field-class-alias", "name": "a{level}", "field-class": {{"type": "structure", "member-classes": [
            {{"name": "x", "field-class": "{inner}"}}, {{"name": "y", "field-class": "{inner}"}}]}}}}"#
        ));
    }
    fragments.push(STREAM.to_owned());
    fragments.push(payload("\"a39\""));
    let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
    let (trace, problems) = spec2(&fragments);
    assert!(trace.is_none());
    let expected = format!("more than {} field classes, the limit", Limits::default().field_classes);
    assert!(problems[0].contains(&expected), "{}", problems[0]);
}

#[test]
fn deep_classes_are_refused_before_the_stack_ends() {
    let mut limits = Limits::default();
    for depth in [64, u32::MAX] {
        limits.depth = depth;
        for (open, close) in [
            (r#"{"type": "structure", "member-classes": [{"name": "x", "field-class": "#, "}]}"),
            (r#"{"type": "static-length-array", "length": 1, "element-field-class": "#, "}"),
            (r#"{"type": "optional", "selector-field-location": {"path": ["s"]}, "field-class": "#, "}"),
        ] {
            for levels in [40, 63, 250, 2000] {
                let class = format!(
                    "{}{{\"type\": \"null-terminated-string\"}}{}",
                    open.repeat(levels),
                    close.repeat(levels)
                );
                let text = format!("\x1e{PREAMBLE}\n\x1e{STREAM}\n\x1e{}", payload(&class));
                let mut problems = Problems::new(&limits);
                let trace = parse_spec2(text.as_bytes(), &limits, &mut problems);
                let problems = messages(problems);
                match levels {
                    40 => assert!(trace.is_some(), "{problems:?}"),
                    2000 => assert!(problems[0].contains("deeper than"), "{problems:?}"),
                    _ => {}
                }
            }
        }
    }
}
