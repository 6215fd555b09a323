//! PROP-1.0: every field type, encoded by these tests and read by the project.

use crate::reading::refusal;
use crate::table::{PayloadTable, integer_text, patterns, quadruples};
use ichnos_testing::encoder::{Encoder, Order, bits, hex};

const CONTEXT: &str = r#"
    "packet-context-field-type": {"field-type":"struct","fields":[
        {"name":"total","field-type":{"field-type":"int","size":32,"byte-order":"le","alignment":8}},
        {"name":"content","field-type":{"field-type":"int","size":32,"byte-order":"le","alignment":8}}]},
    "tags": [
        {"tag":"packet-total-size","path":{"scope":"data-stream-packet-context","path":["total"]}},
        {"tag":"packet-content-size","path":{"scope":"data-stream-packet-context","path":["content"]}}]"#;

fn metadata(default_order: &str, fields: &[String]) -> String {
    format!(
        r#"["CTF 2",
        {{"fragment":"field-type-alias","name":"byte","field-type":{{"field-type":"int","size":8,"alignment":8}}}},
        {{"fragment":"field-type-alias","name":"bit","field-type":{{"field-type":"int","size":1}}}},
        {{"fragment":"trace-class","default-byte-order":"{default_order}"}},
        {{"fragment":"data-stream-class",{CONTEXT}}},
        {{"fragment":"event-record-class","payload-field-type":
            {{"field-type":"struct","alignment":64,"fields":[{}]}}}}]"#,
        fields.join(",")
    )
}

fn check(table: PayloadTable, default_order: &str) {
    let metadata = metadata(default_order, &table.members);
    table.check(&metadata);
}

/// Ends a chain of writes.
fn end(_: &mut Encoder) {}

fn table() -> PayloadTable {
    let mut table = PayloadTable::new("field-type");
    table.encoder.align(64);
    table
}

const ORDERS: [(&str, Order); 2] = [("le", Order::Le), ("be", Order::Be)];
const SIZES: [usize; 20] = [1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 200];

#[test]
fn integers_of_all_sizes_and_byte_orders() {
    for default_order in ORDERS {
        let mut table = table();
        for (property, order) in [(r#","byte-order":"le""#, Order::Le), (r#","byte-order":"be""#, Order::Be)]
            .into_iter()
            .chain([("", default_order.1), (r#","byte-order":"default""#, default_order.1)])
        {
            let place = table.members.len();
            // Byte order only changes between bytes.
            table.add(
                &format!("first{place}"),
                &format!(r#"{{"field-type":"int","size":3,"alignment":8{property}}}"#),
                |e| {
                    e.align(8).int(5, 3, order);
                },
                &[("", "u:5")],
            );
            for size in SIZES {
                for (i, bits) in patterns(size).into_iter().enumerate() {
                    for signed in [false, true] {
                        table.add(
                            &format!("i{place}_{size}_{i}_{signed}"),
                            &format!(r#"{{"field-type":"int","size":{size},"signed":{signed}{property}}}"#),
                            |e| {
                                e.fixed(&bits, order);
                            },
                            &[("", &integer_text(&bits, signed))],
                        );
                    }
                }
            }
        }
        check(table, default_order.0);
    }
}

#[test]
fn bit_arrays_and_booleans() {
    let mut table = table();
    for (name, order) in ORDERS {
        table.add(
            &format!("first_{name}"),
            &format!(r#"{{"field-type":"bool","size":2,"alignment":8,"byte-order":"{name}"}}"#),
            |e| {
                e.align(8).int(2, 2, order);
            },
            &[("", "b:true")],
        );
        for size in SIZES {
            for (i, bits) in patterns(size).into_iter().enumerate() {
                let truth = if bits.contains(&true) { "b:true" } else { "b:false" };
                for (kind, value) in [("bitarray", format!("a:{}", hex(&bits))), ("bool", truth.to_owned())] {
                    table.add(
                        &format!("{kind}_{name}_{size}_{i}"),
                        &format!(r#"{{"field-type":"{kind}","size":{size},"byte-order":"{name}"}}"#),
                        |e| {
                            e.fixed(&bits, order);
                        },
                        &[("", &value)],
                    );
                }
            }
        }
    }
    check(table, "le");
}

#[test]
fn floating_point_numbers() {
    let mut table = table();
    for (name, order) in ORDERS {
        table.add(
            &format!("gap_{name}"),
            &format!(r#"{{"field-type":"int","size":5,"alignment":8,"byte-order":"{name}"}}"#),
            |e| {
                e.align(8).int(9, 5, order);
            },
            &[("", "u:9")],
        );
        let mut add = |size: usize, i: usize, bits: &[bool], value: &str| {
            table.add(
                &format!("f{name}_{size}_{i}"),
                &format!(r#"{{"field-type":"float","size":{size},"byte-order":"{name}"}}"#),
                |e| {
                    e.fixed(bits, order);
                },
                &[("", value)],
            );
        };
        for (i, (half, value)) in
            [(0x3c00, "1.0"), (0xc000, "-2.0"), (0x7bff, "65504.0"), (0xfc00, "-inf")].into_iter().enumerate()
        {
            add(16, i, &bits(half, 16), &format!("r:{value}"));
        }
        for (i, value) in [0.0f32, -1.25, f32::MAX, f32::MIN_POSITIVE].into_iter().enumerate() {
            add(32, i, &bits(value.to_bits().into(), 32), &format!("r:{:?}", f64::from(value)));
        }
        for (i, value) in [0.1f64, -1e300, f64::INFINITY, 5e-324].into_iter().enumerate() {
            add(64, i, &bits(value.to_bits().into(), 64), &format!("r:{value:?}"));
        }
        for (i, (bits, value)) in quadruples().into_iter().enumerate() {
            add(128, i, &bits, &value);
        }
    }
    check(table, "le");
}

#[test]
fn variable_length_fields() {
    let mut table = table();
    let gap = |e: &mut Encoder| {
        e.int(1, 1, Order::Le).align(8);
    };
    for (i, value) in
        [0, 1, 127, 128, 16383, 16384, (1 << 63) - 1, 1 << 63, u128::from(u64::MAX), 1 << 64, u128::MAX]
            .into_iter()
            .enumerate()
    {
        table.add(&format!("gap_u{i}"), r#""bit""#, gap, &[("", "u:1")]);
        table.add(
            &format!("u{i}"),
            r#"{"field-type":"varint"}"#,
            |e| {
                e.uleb(value);
            },
            &[("", &format!("u:{value}"))],
        );
    }
    for (i, value) in [
        0,
        63,
        64,
        -1,
        -64,
        -65,
        i128::from(i64::MAX),
        i128::from(i64::MIN),
        i128::from(i64::MIN) - 1,
        1 << 64,
        i128::MIN,
        i128::MAX,
    ]
    .into_iter()
    .enumerate()
    {
        table.add(
            &format!("s{i}"),
            r#"{"field-type":"varint","signed":true}"#,
            |e| {
                e.sleb(value);
            },
            &[("", &format!("s:{value}"))],
        );
    }
    // Longer than any native integer, and longer than needed.
    for groups in [10, 19, 30, 60] {
        for (i, bits) in patterns(groups * 7).into_iter().enumerate() {
            for signed in [false, true] {
                table.add(
                    &format!("w{groups}_{i}_{signed}"),
                    &format!(r#"{{"field-type":"varint","signed":{signed}}}"#),
                    |e| {
                        e.leb(&bits);
                    },
                    &[("", &integer_text(&bits, signed))],
                );
            }
            table.add(
                &format!("a{groups}_{i}"),
                r#"{"field-type":"varbitarray"}"#,
                |e| {
                    e.leb(&bits);
                },
                &[("", &format!("a:{}", hex(&bits)))],
            );
            let truth = bits.contains(&true);
            table.add(
                &format!("b{groups}_{i}"),
                r#"{"field-type":"varbool","alignment":16}"#,
                |e| {
                    e.align(16).leb(&bits);
                },
                &[("", &format!("b:{truth}"))],
            );
        }
    }
    table.add(
        "enum",
        r#"{"field-type":"varenum","signed":true,"members":{"A":[-7],"B":[{"lower":1,"upper":9}]}}"#,
        |e| {
            e.sleb(-7);
        },
        &[("", "s:-7")],
    );
    check(table, "le");
}

#[test]
fn strings_and_texts() {
    let mut table = table();
    table.add("bit", r#""bit""#, |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
    table.add(
        "s",
        r#"{"field-type":"string"}"#,
        |e| end(e.align(8).raw("h\u{e9}\u{1f600}\0".as_bytes())),
        &[("", "t:h\u{e9}\u{1f600}")],
    );
    table.add(
        "s32",
        r#"{"field-type":"string","alignment":32}"#,
        |e| end(e.align(32).raw(b"\0")),
        &[("", "t:")],
    );
    table.add(
        "text",
        r#"{"field-type":"textarray","length":6}"#,
        |e| end(e.raw(b"abc\0zz")),
        &[("", "t:abc")],
    );
    table.add("n", r#""byte""#, |e| end(e.raw(&[4])), &[("", "u:4")]);
    table.add(
        "sequence",
        r#"{"field-type":"textsequence","length":["n"]}"#,
        |e| end(e.raw(b"wxyz")),
        &[("", "t:wxyz")],
    );
    table.add("bit2", r#""bit""#, |e| end(e.int(0, 1, Order::Le)), &[("", "u:0")]);
    // Empty texts may be anywhere.
    table.add("empty", r#"{"field-type":"textarray","length":0}"#, |_| (), &[("", "t:")]);
    table.add(
        "aligned",
        r#"{"field-type":"textsequence","length":["n"],"alignment":16}"#,
        |e| end(e.align(16).raw(b"1\0\0\0")),
        &[("", "t:1")],
    );
    check(table, "le");
}

#[test]
fn a_text_may_begin_within_a_byte() {
    for (name, order) in ORDERS {
        let mut table = table();
        let bits = |size| format!(r#"{{"field-type":"int","size":{size},"byte-order":"{name}"}}"#);
        table.add("bit", &bits(1), |e| end(e.int(1, 1, order)), &[("", "u:1")]);
        let text = r#"{"field-type":"textarray","length":2}"#;
        table.add("text", text, |e| end(e.int(66, 8, order).int(65, 8, order)), &[("", "t:BA")]);
        table.add("rest", &bits(7), |e| end(e.int(5, 7, order)), &[("", "u:5")]);
        check(table, "le");
    }
}

#[test]
fn arrays_are_aligned_by_their_own_property_only() {
    let mut table = table();
    let byte = r#"{"field-type":"array","length":0,"element-field-type":"byte"}"#;
    table.add("bit", r#""bit""#, |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
    // It is empty, so its element does not align anything.
    table.add("none", byte, |_| (), &[("", "#0")]);
    table.add("bit2", r#""bit""#, |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
    // A structure has the array's alignment, not the elements' alignment: 1, while elements align to 8.
    table.add(
        "st",
        r#"{"field-type":"struct","fields":[{"name":"bit","field-type":"bit"},
            {"name":"two","field-type":{"field-type":"array","length":2,"element-field-type":"byte"}},
            {"name":"after","field-type":"bit"}]}"#,
        |e| end(e.int(1, 1, Order::Le).align(8).raw(&[7, 8]).int(1, 1, Order::Le)),
        &[(".bit", "u:1"), (".two", "#2"), (".two[0]", "u:7"), (".two[1]", "u:8"), (".after", "u:1")],
    );
    table.add("length", r#""bit""#, |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
    table.add(
        "sequence",
        r#"{"field-type":"sequence","length":["length"],"alignment":4,"element-field-type":
            {"field-type":"int","size":3}}"#,
        |e| end(e.align(4).int(6, 3, Order::Le)),
        &[("", "#1"), ("[0]", "u:6")],
    );
    // Elements that begin within bytes, with a size that does not match bytes.
    table.add(
        "bits",
        r#"{"field-type":"array","length":5,"alignment":16,"element-field-type":
            {"field-type":"int","size":5,"signed":true,"alignment":2}}"#,
        |e| {
            e.align(16);
            for value in [-16, 15, -1, 0, 7] {
                e.align(2).int(value, 5, Order::Le);
            }
        },
        &[("", "#5"), ("[0]", "s:-16"), ("[1]", "s:15"), ("[2]", "s:-1"), ("[3]", "s:0"), ("[4]", "s:7")],
    );
    table.add(
        "nested",
        r#"{"field-type":"array","length":2,"element-field-type":
            {"field-type":"array","length":2,"element-field-type":{"field-type":"string"}}}"#,
        |e| end(e.align(8).raw(b"a\0b\0c\0d\0")),
        &[
            ("", "#2"),
            ("[0]", "#2"),
            ("[0][0]", "t:a"),
            ("[0][1]", "t:b"),
            ("[1]", "#2"),
            ("[1][0]", "t:c"),
            ("[1][1]", "t:d"),
        ],
    );
    check(table, "le");
}

#[test]
fn alignment_of_each_type() {
    let mut table = table();
    let types = [
        ("null", r#""field-type":"null""#, 0, "null"),
        ("bitarray", r#""field-type":"bitarray","size":3"#, 3, "a:5"),
        ("bool", r#""field-type":"bool","size":3"#, 3, "b:true"),
        ("int", r#""field-type":"int","size":3"#, 3, "u:5"),
        ("enum", r#""field-type":"enum","size":3,"members":{"x":[5]}"#, 3, "u:5"),
    ];
    for alignment in [2, 4, 8, 16, 32, 64] {
        for (name, properties, size, value) in types {
            table.add(
                &format!("{name}{alignment}"),
                &format!(r#"{{{properties},"alignment":{alignment}}}"#),
                |e| end(e.align(alignment).int(5, size, Order::Le)),
                &[("", value)],
            );
        }
        let int = r#"{"field-type":"int","size":3}"#;
        table.add(
            &format!("struct{alignment}"),
            &format!(
                r#"{{"field-type":"struct","alignment":{alignment},"fields":[{{"name":"i","field-type":{int}}}]}}"#
            ),
            |e| end(e.align(alignment).int(2, 3, Order::Le)),
            &[(".i", "u:2")],
        );
        table.add(
            &format!("empty{alignment}"),
            &format!(r#"{{"field-type":"struct","alignment":{alignment}}}"#),
            |e| end(e.align(alignment)),
            &[],
        );
        table.add(
            &format!("array{alignment}"),
            &format!(
                r#"{{"field-type":"array","length":0,"alignment":{alignment},"element-field-type":{int}}}"#
            ),
            |e| end(e.align(alignment)),
            &[("", "#0")],
        );
        table.add(
            &format!("tag{alignment}"),
            r#"{"field-type":"enum","size":2,"members":{"one":[1],"two":[2]}}"#,
            |e| end(e.int(2, 2, Order::Le)),
            &[("", "u:2")],
        );
        table.add(
            &format!("variant{alignment}"),
            &format!(
                r#"{{"field-type":"variant","alignment":{alignment},"tag":["tag{alignment}"],"choices":[
                    {{"name":"one","field-type":"byte"}},{{"name":"two","field-type":{int}}}]}}"#
            ),
            |e| end(e.align(alignment).int(3, 3, Order::Le)),
            &[("<two>", "u:3")],
        );
        table.add(
            &format!("union{alignment}"),
            &format!(
                r#"{{"field-type":"union","alignment":{alignment},"fields":[
                    {{"name":"a","field-type":{{"field-type":"int","size":4}}}},
                    {{"name":"b","field-type":{{"field-type":"int","size":4,"signed":true}}}},
                    {{"name":"c","field-type":{{"field-type":"struct","fields":[
                        {{"name":"d","field-type":{int}}},{{"name":"e","field-type":"bit"}}]}}}}]}}"#
            ),
            |e| end(e.align(alignment).int(0b1011, 4, Order::Le)),
            &[(".a", "u:11"), (".b", "s:-5"), (".c.d", "u:3"), (".c.e", "u:1")],
        );
    }
    check(table, "le");
}

#[test]
fn enumerations_of_the_document() {
    // The labels do not change the values. The class shows that they were read.
    let mut table = table();
    let members = r#""members":{"NEW":[0],"TERMINATED":[-1],"READY":[2,17],"RUNNING":[-3],
        "WAITING":[{"lower":19,"upper":199},1000],
        "RESTARTING":[{"base":8,"value":"126674015"},{"lower":-155,"upper":-98}]}"#;
    for (i, value) in [-1, 17, -101, 1000, 22_771_725, 2, 50].into_iter().enumerate() {
        table.add(
            &format!("e{i}"),
            &format!(r#"{{"field-type":"enum","alignment":16,"size":32,"signed":true,{members}}}"#),
            |e| end(e.align(16).int(value, 32, Order::Be)),
            &[("", &format!("s:{value}"))],
        );
    }
    check(table, "be");
}

#[test]
fn paths() {
    let mut table = table();
    let length = r#"{"field-type":"sequence","length":PATH,"element-field-type":"bit"}"#;
    let sequence = |path: &str| length.replace("PATH", path);
    table.add("z", r#""byte""#, |e| end(e.raw(&[3])), &[("", "u:3")]);
    // Example from "Field lookup mechanism", without its strings.
    table.add(
        "y",
        &format!(
            r#"{{"field-type":"struct","fields":[{{"name":"a","field-type":"byte"}},
            {{"name":"b","field-type":{{"field-type":"struct","fields":[
                {{"name":"c","field-type":"byte"}},
                {{"name":"e","field-type":{{"field-type":"struct","fields":[
                    {{"name":"f","field-type":"byte"}},{{"name":"g","field-type":"byte"}}]}}}},
                {{"name":"i","field-type":{{"field-type":"struct","fields":[
                    {{"name":"j","field-type":"byte"}},
                    {{"name":"k","field-type":{}}},{{"name":"near","field-type":{}}}]}}}}]}}}},
            {{"name":"x","field-type":{}}}]}}"#,
            sequence(r#"["b","e","f"]"#),
            sequence(r#"["j"]"#),
            sequence(r#"["z"]"#),
        ),
        |e| {
            e.align(8).raw(&[9, 8, 2, 7, 1]);
            e.int(0b01, 2, Order::Le).int(1, 1, Order::Le).int(0b110, 3, Order::Le);
        },
        &[
            (".a", "u:9"),
            (".b.c", "u:8"),
            (".b.e.f", "u:2"),
            (".b.e.g", "u:7"),
            (".b.i.j", "u:1"),
            (".b.i.k", "#2"),
            (".b.i.k[0]", "u:1"),
            (".b.i.k[1]", "u:0"),
            (".b.i.near", "#1"),
            (".b.i.near[0]", "u:1"),
            (".x", "#3"),
            (".x[0]", "u:0"),
            (".x[1]", "u:1"),
            (".x[2]", "u:1"),
        ],
    );
    // Through a union, absolute and relative.
    table.add(
        "u",
        r#"{"field-type":"union","alignment":8,"fields":[{"name":"as int","field-type":"byte"},
            {"name":"as struct","field-type":{"field-type":"struct","fields":[
                {"name":"low","field-type":{"field-type":"int","size":4}},
                {"name":"high","field-type":{"field-type":"int","size":4}}]}}]}"#,
        |e| end(e.align(8).raw(&[0x21])),
        &[(".as int", "u:33"), (".as struct.low", "u:1"), (".as struct.high", "u:2")],
    );
    table.add(
        "low",
        &sequence(r#"["u","as struct","low"]"#),
        |e| end(e.int(1, 1, Order::Le)),
        &[("", "#1"), ("[0]", "u:1")],
    );
    table.add(
        "high",
        &sequence(r#"{"scope":"event-record-payload","path":["u","as struct","high"]}"#),
        |e| end(e.int(2, 2, Order::Le)),
        &[("", "#2"), ("[0]", "u:0"), ("[1]", "u:1")],
    );
    // Array elements that are structures find the members of their own element.
    table.add(
        "own",
        &format!(
            r#"{{"field-type":"array","length":3,"element-field-type":{{"field-type":"struct","fields":[
                {{"name":"n","field-type":{{"field-type":"int","size":2}}}},
                {{"name":"s","field-type":{}}}]}}}}"#,
            sequence(r#"["n"]"#)
        ),
        |e| {
            e.int(1, 2, Order::Le).int(1, 1, Order::Le);
            e.int(0, 2, Order::Le);
            e.int(2, 2, Order::Le).int(1, 2, Order::Le);
        },
        &[
            ("", "#3"),
            ("[0].n", "u:1"),
            ("[0].s", "#1"),
            ("[0].s[0]", "u:1"),
            ("[1].n", "u:0"),
            ("[1].s", "#0"),
            ("[2].n", "u:2"),
            ("[2].s", "#2"),
            ("[2].s[0]", "u:1"),
            ("[2].s[1]", "u:0"),
        ],
    );
    check(table, "le");
}

/// Example from "Field lookup mechanism" with a variant. All paths are valid, whichever choice they match.
#[test]
fn paths_through_variants() {
    let choices = [("choice1", 5), ("choice2", 2), ("choice3", 3), ("choice4", 4)];
    for (selected, (name, length)) in choices.into_iter().enumerate() {
        let mut table = table();
        table.add("a", r#""byte""#, |e| end(e.raw(&[1])), &[("", "u:1")]);
        let int = r#"{"field-type":"int","size":4}"#;
        let written: &[(&str, &str)] = match name {
            "choice3" => &[(".tag", "u:2"), (".v<choice3>.a", "u:3"), (".v<choice3>.b", "r:1.5")],
            _ => &[(".tag", ""), ("", "")],
        };
        let mut values: Vec<(String, String)> = vec![(".tag".into(), format!("u:{selected}"))];
        if name == "choice3" {
            values.extend(written[1..].iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())));
        } else {
            values.push((format!(".v<{name}>"), format!("u:{length}")));
        }
        values.push((".i".into(), "u:2".into()));
        let values: Vec<(&str, &str)> = values.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        table.add(
            "b",
            &format!(
                r#"{{"field-type":"struct","fields":[
                {{"name":"tag","field-type":{{"field-type":"enum","size":4,"members":
                    {{"choice1":[0],"choice2":[1],"choice3":[2],"choice4":[3]}}}}}},
                {{"name":"v","field-type":{{"field-type":"variant","tag":["tag"],"choices":[
                    {{"name":"choice1","field-type":{int}}},{{"name":"choice2","field-type":{int}}},
                    {{"name":"choice3","field-type":{{"field-type":"struct","fields":[
                        {{"name":"a","field-type":{int}}},
                        {{"name":"b","field-type":{{"field-type":"float","size":32}}}}]}}}},
                    {{"name":"choice4","field-type":{{"field-type":"enum","size":4,"members":{{"x":[0]}}}}}}]}}}},
                {{"name":"i","field-type":{int}}}]}}"#
            ),
            |e| {
                e.int(selected as i128, 4, Order::Le).int(length, 4, Order::Le);
                if name == "choice3" {
                    e.int(1.5f32.to_bits().into(), 32, Order::Le);
                }
                e.int(2, 4, Order::Le);
            },
            &values,
        );
        let path = if name == "choice3" { r#"["b","v","a"]"# } else { r#"["b","v"]"# };
        for (member, path) in [
            ("relative", path.to_owned()),
            ("absolute", format!(r#"{{"scope":"event-record-payload","path":{path}}}"#)),
        ] {
            let mut values = vec![(String::new(), format!("#{length}"))];
            values.extend((0..length).map(|i| (format!("[{i}]"), format!("u:{}", i % 2))));
            let values: Vec<(&str, &str)> = values.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            table.add(
                member,
                &format!(r#"{{"field-type":"sequence","length":{path},"element-field-type":"bit"}}"#),
                |e| (0..length).for_each(|i| end(e.int(i % 2, 1, Order::Le))),
                &values,
            );
        }
        check(table, "le");
    }
}

#[test]
fn a_field_needs_a_byte_order() {
    let metadata = r#"["CTF 2",{"fragment":"trace-class"},{"fragment":"data-stream-class"},
        {"fragment":"event-record-class","payload-field-type":{"field-type":"int","size":12}}]"#;
    assert!(refusal(metadata.as_bytes()).contains("default byte order"));
}
