//! Metadata in which two large numbers multiply. It must be read or refused in time and memory proportional to the
//! text.

use ichnos_ctf::trace::{CtfOptions, open};

use crate::nested_classes::{fixed, spec2};
use crate::reading::{damage, observed, trace, tree};
use crate::support::quick;

/// Many fields, each located through a variant with many options. The metadata is short, but each field would visit
/// each option.
#[test]
fn locations_through_many_options() {
    let mut options = CtfOptions::default();
    options.limits.field_classes = 20_000;
    let mut spec2 = vec![
        r#"{"type":"preamble","version":2}"#.to_owned(),
        format!(
            r#"{{"type":"field-class-alias","name":"o0","field-class":{}}}"#,
            fixed("unsigned-integer", 8)
        ),
        r#"{"type":"field-class-alias","name":"d0","field-class":{"type":"dynamic-length-blob",
            "length-field-location":{"origin":"event-record-payload","path":["v"]}}}"#
            .to_owned(),
    ];
    let mut prop1 = vec![
        r#""CTF 2""#.to_owned(),
        r#"{"fragment":"field-type-alias","name":"o0","field-type":{"field-type":"int","size":8}}"#
            .to_owned(),
        r#"{"fragment":"field-type-alias","name":"d0","field-type":{"field-type":"textsequence",
            "length":{"scope":"event-record-payload","path":["v"]}}}"#
            .to_owned(),
    ];
    for level in 1..=13 {
        let before = level - 1;
        spec2.push(format!(
            r#"{{"type":"field-class-alias","name":"o{level}","field-class":{{"type":"variant",
            "selector-field-location":{{"origin":"event-record-payload","path":["s"]}},"options":[
            {{"selector-field-ranges":[[0,0]],"field-class":"o{before}"}},
            {{"selector-field-ranges":[[1,1]],"field-class":"o{before}"}}]}}}}"#
        ));
        spec2.push(format!(
            r#"{{"type":"field-class-alias","name":"d{level}","field-class":{{"type":"structure","member-classes":[
            {{"name":"x","field-class":"d{before}"}},{{"name":"y","field-class":"d{before}"}}]}}}}"#
        ));
        prop1.push(format!(
            r#"{{"fragment":"field-type-alias","name":"o{level}","field-type":{{"field-type":"variant",
            "tag":{{"scope":"event-record-payload","path":["s"]}},"choices":[
            {{"name":"a","field-type":"o{before}"}},{{"name":"b","field-type":"o{before}"}}]}}}}"#
        ));
        prop1.push(format!(
            r#"{{"fragment":"field-type-alias","name":"d{level}","field-type":{{"field-type":"struct","fields":[
            {{"name":"x","field-type":"d{before}"}},{{"name":"y","field-type":"d{before}"}}]}}}}"#
        ));
    }
    spec2.push(r#"{"type":"data-stream-class"}"#.to_owned());
    spec2.push(format!(
        r#"{{"type":"event-record-class","payload-field-class":{{"type":"structure","member-classes":[
        {{"name":"s","field-class":{}}},{{"name":"v","field-class":"o12"}},{{"name":"d","field-class":"d12"}}]}}}}"#,
        fixed("unsigned-integer", 8)
    ));
    prop1.push(r#"{"fragment":"trace-class","default-byte-order":"le"}"#.to_owned());
    prop1.push(r#"{"fragment":"data-stream-class"}"#.to_owned());
    prop1.push(
        r#"{"fragment":"event-record-class","payload-field-type":{"field-type":"struct","fields":[
        {"name":"s","field-type":{"field-type":"enum","size":8,"members":{"a":[0],"b":[1]}}},
        {"name":"v","field-type":"o12"},{"name":"d","field-type":"d12"}]}}"#
            .to_owned(),
    );
    let spec2: String = spec2.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    let prop1 = format!("[{}]", prop1.join(","));
    for text in [spec2, prop1] {
        let opened = quick("locations", || open(&[&tree(&[("metadata", text.as_bytes())])], &options));
        let error = opened.errors[0].to_string();
        assert!(error.contains("steps"), "{}", &error[..error.len().min(400)]);
    }
}

/// Many invalid locations in a large structure. Each message would list all members.
#[test]
fn locations_that_lead_nowhere() {
    let members = |count: u32| -> String {
        let class = fixed("unsigned-integer", 8);
        (0..count).map(|i| format!(r#"{{"name":"member{i}","field-class":{class}}},"#)).collect()
    };
    let metadata = |fields: u32| {
        let texts: Vec<String> = (0..fields)
            .map(|i| {
                format!(
                    r#"{{"name":"text{i}","field-class":{{"type":"dynamic-length-string",
                    "length-field-location":{{"origin":"event-record-payload","path":["none"]}}}}}}"#
                )
            })
            .collect();
        spec2(&format!("{}{}", members(3000), texts.join(",")))
    };
    let opened = quick("locations", || {
        let text = metadata(10_000);
        open(&[&tree(&[("metadata", text.as_bytes())])], &CtfOptions::default())
    });
    let error = opened.errors[0].to_string();
    assert!(error.contains("cannot find `none`"), "{}", &error[..error.len().min(400)]);
    assert!(error.contains("`member15`, and 12984 more"), "{}", &error[..error.len().min(400)]);
    assert!(!error.contains("`member16`"));
    assert!(error.len() < 100_000, "{}", error.len());
}

/// Each variant option has its label's ranges. Many variants would copy a label with many ranges.
#[test]
fn labels_of_many_ranges_times_variants() {
    let values = (0..20_000).map(|i| (2 * i).to_string()).collect::<Vec<String>>();
    let labels = values.iter().map(|value| format!("A={value}")).collect::<Vec<String>>().join(",");
    let variants = (0..1000).map(|i| format!("variant<t>{{u8 A;}}v{i};")).collect::<String>();
    let tsdl = format!(
        "/* CTF 1.8 */ trace {{ major = 1; minor = 8; byte_order = le; }}; stream {{ }};
        typealias integer {{ size = 8; }} := u8;
        event {{ name = e; fields := struct {{ enum:integer {{ size = 32; }} {{{labels}}} t; {variants} }}; }};"
    );
    let int = r#"{"field-type":"int","size":8}"#;
    let variants = (0..1000).map(|i| {
        format!(
            r#",{{"name":"v{i}","field-type":{{"field-type":"variant","tag":["t"],
            "choices":[{{"name":"A","field-type":{int}}}]}}}}"#
        )
    });
    let prop1 = format!(
        r#"["CTF 2",{{"fragment":"trace-class","default-byte-order":"le"}},{{"fragment":"data-stream-class"}},
        {{"fragment":"event-record-class","payload-field-type":{{"field-type":"struct","fields":[
        {{"name":"t","field-type":{{"field-type":"enum","size":32,"members":{{"A":[{}]}}}}}}{}]}}}}]"#,
        values.join(","),
        variants.collect::<String>()
    );
    for text in [tsdl, prop1] {
        let opened =
            quick("ranges", || open(&[&tree(&[("metadata", text.as_bytes())])], &CtfOptions::default()));
        let error = opened.errors[0].to_string();
        // It must be refused while reading, not only while compiling.
        assert!(error.contains("the description takes more than"), "{}", &error[..error.len().min(400)]);
    }
}

/// In PROP-1.0, each data stream has all clocks, so many clocks and many data streams multiply.
#[test]
fn clocks_times_data_streams() {
    const COUNT: u32 = 20_000;
    let clocks = (0..COUNT)
        .map(|i| format!(r#"{{"fragment":"data-stream-clock-class","name":"c{i}","freq":1}},"#))
        .collect::<String>();
    let streams =
        (0..COUNT).map(|i| format!(r#"{{"fragment":"data-stream-class","id":{i}}},"#)).collect::<String>();
    let metadata = |clocks: &str, streams: &str| {
        format!(
            r#"["CTF 2",{{"fragment":"trace-class","default-byte-order":"le"}},{clocks}{streams}
            {{"fragment":"event-record-class","payload-field-type":{{"field-type":"struct","fields":[
            {{"name":"a","field-type":{{"field-type":"int","size":8}}}}]}}}}]"#
        )
    };
    let opened = quick("clocks", || {
        let text = metadata(&clocks, &streams);
        open(&[&tree(&[("metadata", text.as_bytes())])], &CtfOptions::default())
    });
    let error = opened.errors[0].to_string();
    assert!(error.contains("the limit"), "{}", &error[..error.len().min(400)]);
    // A few events with many clocks are read, but not as many as would take hours to print.
    let one = r#"{"fragment":"data-stream-class"},"#;
    let read = |bytes: usize| {
        let text = metadata(&clocks, one);
        damage(&observed(&trace(text.as_bytes(), &[("stream", &vec![0; bytes])]))).len()
    };
    assert_eq!(read(20), 0);
    assert_eq!(read(20_000), 1);
}
