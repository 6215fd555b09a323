//! Warnings that are errors in strict mode, and data problems that only `check` reports.

use crate::support::{Directory, Run, ichnos};
use crate::transcript::transcript;

const TRACE: &str = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };";

/// Writes a trace with this metadata text and one data stream file.
fn directory(name: &str, metadata: &[u8], data: &[u8]) -> Directory {
    let directory = Directory::new(name);
    std::fs::write(directory.join("metadata"), metadata).unwrap();
    std::fs::write(directory.join("stream"), data).unwrap();
    directory
}

fn run(arguments: &[&str], directory: &Directory) -> Run {
    let path = directory.to_str().unwrap();
    ichnos(arguments.iter().copied().chain([path]))
}

#[test]
fn an_unknown_attribute_is_accepted() {
    let _transcript = transcript!();
    let metadata = format!("{TRACE} event {{ fields := struct {{ integer {{ size = 8; aa = 3; }} x; }}; }};");
    let directory = directory("unknown-attribute", metadata.as_bytes(), b"A");
    run(&["cat", "--format", "jsonl"], &directory);
    run(&["cat", "--strict"], &directory);
    run(&["check"], &directory);
    run(&["check", "--strict"], &directory);
}

#[test]
fn a_byte_order_mark_is_skipped_with_a_note() {
    let _transcript = transcript!();
    let metadata = format!("\u{feff}{TRACE} event {{ fields := struct {{ integer {{ size = 8; }} x; }}; }};");
    let directory = directory("byte-order-mark", metadata.as_bytes(), b"A");
    run(&["cat", "--format", "jsonl"], &directory);
    run(&["check"], &directory);
    run(&["check", "--strict"], &directory);
}

#[test]
fn invalid_texts_are_reported_by_check() {
    let _transcript = transcript!();
    let metadata = format!("{TRACE} event {{ name = \"e\"; fields := struct {{ string s; }}; }};");
    let directory = directory("invalid-texts", metadata.as_bytes(), b"fine\0\xffbad\0\xc3\0");
    let expected = "warning: the field `s` of `e` is not valid UTF-8; the data stream has 1 more such text";
    run(&["check"], &directory).prints(&[expected, "1 warning: 1 trace"]);
    run(&["check", "--strict"], &directory).prints(&[expected]);
    let json = run(&["check", "--json"], &directory).json();
    let finding = &json["findings"][0];
    assert_eq!((finding["kind"].as_str(), finding["texts"].as_u64()), (Some("text"), Some(2)), "{finding}");
    // All data can still be read.
    run(&["cat", "--format", "jsonl"], &directory);
}

#[test]
fn empty_data_streams_are_reported_by_strict_reading() {
    let _transcript = transcript!();
    let metadata = format!("{TRACE} event {{ fields := struct {{ integer {{ size = 8; }} x; }}; }};");
    let directory = directory("empty-stream", metadata.as_bytes(), b"A");
    std::fs::write(directory.join("empty"), b"").unwrap();
    run(&["check"], &directory);
    run(&["check", "--strict"], &directory);
}

#[test]
fn damage_gets_the_right_remedy() {
    let _transcript = transcript!();
    let text = format!("{TRACE} event {{ fields := struct {{ string s; }}; }};");
    let endless = directory("endless", text.as_bytes(), b"abc");
    let check = run(&["check"], &endless);
    assert!(!check.out.contains("the file ends early"), "{}", check.out);
    let text = format!(
        "{TRACE} typealias integer {{ size = 64; }} := u64; \
         event {{ fields := struct {{ u64 n; integer {{ size = 8; }} q[n]; }}; }};"
    );
    let long = directory("long", text.as_bytes(), &[0xff; 10]);
    let check = run(&["check"], &long);
    let expected = "a length of 18446744073709551615 elements does not fit in the 16 bits left";
    let check = check.prints(&[expected, "help: the bytes there were changed"]);
    assert!(!check.out.contains("the file ends early"), "{}", check.out);
}

#[test]
fn wide_numbers_are_shown_in_full() {
    let _transcript = transcript!();
    let most = u128::MAX;
    let metadata = format!(
        r#"["CTF 2", {{"fragment": "trace-class", "default-byte-order": "le"}}, {{"fragment": "data-stream-class"}},
        {{"fragment": "event-record-class", "id": {most}, "payload-field-type": {{"field-type": "struct", "fields": [
            {{"name": "e", "field-type": {{"field-type": "enum", "size": 128,
                "members": {{"max": [{most}], "some": [{{"lower": 2, "upper": {most}}}]}}}}}}]}}}}]"#
    );
    let directory = directory("wide-numbers", metadata.as_bytes(), &[0xff; 16]);
    let id = format!("\"id\":{{\"$int\":\"{most}\"}}");
    let labels = "\"labels\":[\"max\",\"some\"]";
    run(&["cat", "--format", "jsonl"], &directory).prints(&[&id, labels]);
    run(&["cat", "--format", "details"], &directory);
    let ranges = [format!("max = {most}"), format!("some = 2..{most}")];
    run(&["schema"], &directory).prints(&[&ranges[0], &ranges[1]]);
    let schema = run(&["schema", "--json"], &directory);
    schema.prints(&[&format!("\"id\": {most}"), &format!("{most}")]);
}
