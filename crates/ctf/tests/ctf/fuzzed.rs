//! Minimized fuzzing findings (see the project's `fuzz` directory).

use crate::reading::{MessageReport, damage, events, observed, trace};

/// Returns all messages of a SPEC-2.0 data stream with a single event record class, whose payload has these members.
fn payload(members: &str, stream: &[u8]) -> Vec<MessageReport> {
    let metadata = format!(
        r#"{{"type":"preamble","version":2}}
        {{"type":"data-stream-class"}}
        {{"type":"event-record-class","payload-field-class":
            {{"type":"structure","member-classes":[{members}]}}}}"#
    );
    observed(&trace(metadata.as_bytes(), &[("stream", stream)]))
}

#[test]
fn what_is_skipped_for_a_wrong_packet_ends_with_the_file() {
    let metadata = br#"{"type":"preamble","version":2}
        {"type":"data-stream-class","packet-context-field-class":{"type":"structure","member-classes":[
            {"name":"size","field-class":{"type":"fixed-length-unsigned-integer","length":16,
                "byte-order":"little-endian","roles":["packet-total-length"]}}]}}"#;
    // A packet cannot have 17 bits. This is found after its context of 16 bits.
    let trace = trace(metadata, &[("stream", &[17, 0, 0, 0, 0])]);
    let damage = &ichnos_model::OpenedTrace::damage(&trace)[0];
    assert_eq!((damage.bit, damage.skipped), (16, 24));
}

#[test]
fn half_a_code_unit_is_damage_where_it_is_only_skipped() {
    let text =
        r#"{"name":"a","field-class":{"type":"static-length-string","length":5,"encoding":"utf-16le"}}"#;
    let sized = payload(text, &[65, 0, 66, 0, 67]);
    assert_eq!((events(&sized).len(), damage(&sized).len()), (0, 1));
    let ended = payload(text, &[65, 0, 0, 0, 67]);
    assert_eq!((events(&ended).len(), damage(&ended).len()), (1, 0));
}

#[test]
fn too_many_elements_of_nothing_are_damage_where_they_are_only_skipped() {
    let members = r#"{"name":"bit","field-class":
            {"type":"fixed-length-boolean","length":8,"byte-order":"little-endian"}},
        {"name":"a","field-class":{"type":"static-length-array","length":1000000000000,
            "element-field-class":{"type":"structure"}}}"#;
    let observed = payload(members, &[0]);
    assert_eq!((events(&observed).len(), damage(&observed).len()), (0, 1));
}

/// Each event is below the packet limit, but a packet can contain as many events as bits.
#[test]
fn elements_of_nothing_do_not_add_up_from_event_to_event() {
    let n = r#"{"origin":"event-record-payload","path":["n"]}"#;
    let array = |element: &str| {
        format!(
            r#"{{"type":"dynamic-length-array","length-field-location":{n},"element-field-class":{element}}}"#
        )
    };
    let members = format!(
        r#"{{"name":"n","field-class":{{"type":"fixed-length-unsigned-integer","length":8,
            "byte-order":"little-endian"}}}},
        {{"name":"a","field-class":{}}}"#,
        array(&array(r#"{"type":"structure"}"#))
    );
    // 63 arrays with 63 zero-size elements each. A packet may have 65,536 of them.
    let observed = payload(&members, &[63; 1000]);
    assert_eq!((events(&observed).len(), damage(&observed).len()), (65_536 / (63 * 64), 1));
    // As many zero-size elements as bits before them are harmless.
    let observed = payload(&members, &[2; 1000]);
    assert_eq!((events(&observed).len(), damage(&observed).len()), (1000, 0));
}

/// Doubling aliases create the maximum number of field classes from two thousand bytes.
#[test]
fn as_many_field_classes_as_are_allowed_fit_into_memory() {
    let most = ichnos_model::trace::Limits::default().field_classes;
    assert!(most * size_of::<ichnos_model::plan::Node>() as u64 <= 256 << 20);
}

/// Each packet has a plausible loss, but their sum exceeds the largest number.
#[test]
fn discarded_events_beyond_all_numbers_are_counted_as_far_as_numbers_go() {
    let metadata = br#"{"type":"preamble","version":2}
        {"type":"data-stream-class","packet-context-field-class":{"type":"structure","member-classes":[
            {"name":"size","field-class":{"type":"fixed-length-unsigned-integer","length":64,
                "byte-order":"little-endian","roles":["packet-total-length"]}},
            {"name":"lost","field-class":{"type":"fixed-length-unsigned-integer","length":64,
                "byte-order":"little-endian","roles":["discarded-event-record-counter-snapshot"]}}]}}"#;
    let counters = [0, 1 << 63, 0, 1 << 63, 0, 1u64 << 63];
    let stream: Vec<u8> = counters.iter().flat_map(|lost| [128, *lost]).flat_map(u64::to_le_bytes).collect();
    let trace = trace(metadata, &[("stream", &stream)]);
    assert_eq!(ichnos_model::OpenedTrace::streams(&trace)[0].discarded_events, u64::MAX);
}

/// Three kilobytes of doubling aliases for an empty structure, and a hundred bytes of one-byte event records, took 41
/// seconds: each record had a million zero-size fields.
#[test]
fn a_million_fields_of_nothing_are_refused() {
    let mut metadata = r#"{"type":"preamble","version":2}
        {"type":"field-class-alias","name":"a0","field-class":{"type":"structure"}}"#
        .to_owned();
    for level in 1..19 {
        let inner = level - 1;
        metadata.push_str(&format!(
            r#"
            {{"type":"field-class-alias","name":"a{level}","field-class":{{"type":"structure","member-classes":[
                {{"name":"x","field-class":"a{inner}"}},{{"name":"y","field-class":"a{inner}"}}]}}}}"#
        ));
    }
    metadata.push_str(
        r#"
        {"type":"data-stream-class"}
        {"type":"event-record-class","payload-field-class":{"type":"structure","member-classes":[
            {"name":"bit","field-class":{"type":"fixed-length-boolean","length":8,"byte-order":"little-endian"}},
            {"name":"nothing","field-class":"a18"}]}}"#,
    );
    let options = ichnos_ctf::metadata::MetadataOptions::default();
    let error = ichnos_ctf::metadata::parse(metadata.as_bytes(), &options).unwrap_err();
    let expected = "more than 65536 fields of one root field can have zero bits";
    let is_reported = error.diagnostics.iter().any(|problem| problem.message.contains(expected));
    assert!(is_reported, "{:?}", error.diagnostics);
}
