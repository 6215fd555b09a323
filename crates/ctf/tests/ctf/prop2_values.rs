//! PROP-2.0 and SPEC-2.0: every field class, made by the encoder of these tests and read by the
//! project.

use ichnos_model::{TraceInput, Value};

use crate::encoder::{Encoder, Order, bits, hex};
use crate::reading::{Observed, damage, events, observed, packets, trace, tree};
use crate::table::{Table, integer_text, patterns, quadruples};

/// What the two documents call differently.
#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Prop2,
    Spec2,
}

impl Dialect {
    fn members(self) -> &'static str {
        if self == Self::Prop2 { "members" } else { "member-classes" }
    }

    fn role(self, name: &'static str) -> &'static str {
        match (self, name) {
            (Self::Prop2, "packet-total-length") => "packet-total-size",
            (Self::Prop2, "packet-content-length") => "packet-content-size",
            (Self::Prop2, "begin") => "packet-beginning-default-clock-timestamp",
            (Self::Spec2, "begin") => "default-clock-timestamp",
            _ => name,
        }
    }

    /// A metadata stream of these fragments.
    fn metadata(self, fragments: &[String]) -> String {
        let preamble = r#"{"type":"preamble","version":2}"#.to_owned();
        let all = std::iter::once(&preamble).chain(fragments);
        match self {
            Self::Prop2 => format!("[{}]", all.cloned().collect::<Vec<_>>().join(",")),
            Self::Spec2 => all.map(|fragment| format!("\u{1e}{fragment}\n")).collect(),
        }
    }

    fn structure(self, minimum: u64, members: &[String]) -> String {
        format!(
            r#"{{"type":"structure","minimum-alignment":{minimum},"{}":[{}]}}"#,
            self.members(),
            members.join(",")
        )
    }

    /// A location in the payload.
    fn payload(self, path: &str) -> String {
        match self {
            Self::Prop2 => format!(r#"["event-record-payload",{path}]"#),
            Self::Spec2 => format!(r#"{{"origin":"event-record-payload","path":[{path}]}}"#),
        }
    }

    fn check(self, table: Table) {
        let size = |name: &str, role: &'static str| {
            member(name, &uint(32, &format!(r#","alignment":8,"roles":["{}"]"#, self.role(role))))
        };
        let context = self
            .structure(1, &[size("total", "packet-total-length"), size("content", "packet-content-length")]);
        let metadata = self.metadata(&[
            r#"{"type":"trace-class"}"#.to_owned(),
            format!(r#"{{"type":"data-stream-class","packet-context-field-class":{context}}}"#),
            format!(
                r#"{{"type":"event-record-class","payload-field-class":{}}}"#,
                self.structure(64, &table.members)
            ),
        ]);
        table.check(&metadata);
    }
}

const BOTH: [Dialect; 2] = [Dialect::Prop2, Dialect::Spec2];
const ORDERS: [(&str, Order); 2] = [("little-endian", Order::Le), ("big-endian", Order::Be)];
const LENGTHS: [usize; 16] = [1, 3, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 128, 200];

fn member(name: &str, class: &str) -> String {
    format!(r#"{{"name":"{name}","field-class":{class}}}"#)
}

/// An unsigned little-endian integer.
fn uint(length: u64, more: &str) -> String {
    fixed("unsigned-integer", length, "little-endian", more)
}

fn fixed(kind: &str, length: u64, order: &str, more: &str) -> String {
    format!(r#"{{"type":"fixed-length-{kind}","length":{length},"byte-order":"{order}"{more}}}"#)
}

fn table() -> Table {
    let mut table = Table::new("field-class");
    table.encoder.align(64);
    table
}

/// Ends a chain of writes.
fn end(_: &mut Encoder) {}

/// All fixed-length classes but floats, in all lengths, byte orders and (SPEC-2.0) bit orders.
#[test]
fn fixed_length_fields() {
    for dialect in BOTH {
        let mut table = table();
        let bit_orders: &[(&str, Option<bool>)] = match dialect {
            Dialect::Prop2 => &[("", None)],
            Dialect::Spec2 => &[
                ("", None),
                (r#","bit-order":"first-to-last""#, Some(true)),
                (r#","bit-order":"last-to-first""#, Some(false)),
            ],
        };
        for (order_name, order) in ORDERS {
            for (bit_order, first_to_last) in bit_orders {
                let place = table.members.len();
                table.add(
                    &format!("gap{place}"),
                    &fixed("unsigned-integer", 3, order_name, r#","alignment":8"#),
                    |e| end(e.align(8).int(6, 3, order)),
                    &[("", "u:6")],
                );
                for length in LENGTHS {
                    for (i, bits) in patterns(length).into_iter().enumerate() {
                        let truth = format!("b:{}", bits.contains(&true));
                        let mut kinds = vec![
                            ("bit-array", String::new(), format!("a:{}", hex(&bits))),
                            ("boolean", String::new(), truth),
                            ("unsigned-integer", String::new(), integer_text(&bits, false)),
                            ("signed-integer", String::new(), integer_text(&bits, true)),
                        ];
                        let mappings = r#","mappings":{"a":[[0,5]],"b":[[-3,-1],[7,7]]}"#.to_owned();
                        match dialect {
                            Dialect::Prop2 => {
                                let one = r#","mappings":{"a":[[0,5]]}"#.to_owned();
                                kinds.push(("unsigned-enumeration", one, integer_text(&bits, false)));
                                kinds.push(("signed-enumeration", mappings, integer_text(&bits, true)));
                            }
                            Dialect::Spec2 => {
                                kinds.push(("signed-integer", mappings, integer_text(&bits, true)));
                                let flags = r#","flags":{"x":[[0,0]],"y":[[3,9]]}"#.to_owned();
                                kinds.push(("bit-map", flags, format!("m:{}", hex(&bits))));
                            }
                        }
                        for (k, (kind, more, value)) in kinds.into_iter().enumerate() {
                            table.add(
                                &format!("f{place}_{length}_{i}_{k}"),
                                &fixed(kind, length as u64, order_name, &format!("{more}{bit_order}")),
                                |e| {
                                    end(e.in_bit_order(
                                        &bits,
                                        order,
                                        first_to_last.unwrap_or(order == Order::Le),
                                    ))
                                },
                                &[("", &value)],
                            );
                        }
                    }
                }
            }
        }
        dialect.check(table);
    }
}

#[test]
fn floating_point_numbers() {
    for dialect in BOTH {
        let mut table = table();
        for (order_name, order) in ORDERS {
            for (alignment, reversed) in [(1, false), (8, false), (32, true)] {
                if reversed && dialect == Dialect::Prop2 {
                    continue;
                }
                let place = table.members.len();
                table.add(
                    &format!("gap{place}"),
                    &fixed("unsigned-integer", 5, order_name, r#","alignment":8"#),
                    |e| end(e.align(8).int(17, 5, order)),
                    &[("", "u:17")],
                );
                let bit_order = match (reversed, order) {
                    (false, _) => "",
                    (true, Order::Le) => r#","bit-order":"last-to-first""#,
                    (true, Order::Be) => r#","bit-order":"first-to-last""#,
                };
                let mut all = vec![
                    (bits(0x3555, 16), "r:0.333251953125".to_owned()),
                    (bits((-0.1f32).to_bits().into(), 32), format!("r:{:?}", f64::from(-0.1f32))),
                    (bits(f64::MIN_POSITIVE.to_bits().into(), 64), format!("r:{:?}", f64::MIN_POSITIVE)),
                ];
                all.extend(quadruples());
                for (i, (bits, value)) in all.into_iter().enumerate() {
                    table.add(
                        &format!("r{place}_{i}"),
                        &fixed(
                            "floating-point-number",
                            bits.len() as u64,
                            order_name,
                            &format!(r#","alignment":{alignment}{bit_order}"#),
                        ),
                        |e| {
                            end(e.align(alignment).in_bit_order(
                                &bits,
                                order,
                                (order == Order::Le) != reversed,
                            ))
                        },
                        &[("", &value)],
                    );
                }
            }
        }
        dialect.check(table);
    }
}

#[test]
fn variable_length_fields() {
    for dialect in BOTH {
        let mut table = table();
        table.add("bit", &uint(1, ""), |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
        for groups in [1, 2, 9, 10, 11, 19, 40] {
            for (i, bits) in patterns(groups * 7).into_iter().enumerate() {
                for signed in [false, true] {
                    let sign = if signed { "signed" } else { "unsigned" };
                    let mut kinds = vec![(format!("variable-length-{sign}-integer"), "")];
                    if dialect == Dialect::Prop2 {
                        let mappings = r#","mappings":{"a":[[1,2]]}"#;
                        kinds.push((format!("variable-length-{sign}-enumeration"), mappings));
                    }
                    for (k, (kind, more)) in kinds.into_iter().enumerate() {
                        table.add(
                            &format!("v{groups}_{i}_{signed}_{k}"),
                            &format!(r#"{{"type":"{kind}"{more}}}"#),
                            |e| end(e.leb(&bits)),
                            &[("", &integer_text(&bits, signed))],
                        );
                    }
                }
                if dialect == Dialect::Prop2 {
                    table.add(
                        &format!("a{groups}_{i}"),
                        r#"{"type":"variable-length-bit-array"}"#,
                        |e| end(e.leb(&bits)),
                        &[("", &format!("a:{}", hex(&bits)))],
                    );
                }
            }
        }
        dialect.check(table);
    }
}

/// A text in an encoding, by hand.
fn encoded(text: &str, encoding: &str) -> Vec<u8> {
    let units: Vec<u32> = match &encoding[..5] {
        "utf-1" => text.encode_utf16().map(u32::from).collect(),
        "utf-3" => text.chars().map(u32::from).collect(),
        _ => return text.as_bytes().to_vec(),
    };
    let size = if encoding.starts_with("utf-16") { 2 } else { 4 };
    let mut bytes = Vec::new();
    for unit in units {
        let big = unit.to_be_bytes();
        let mut unit = big[4 - size..].to_vec();
        if encoding.ends_with("le") {
            unit.reverse();
        }
        bytes.extend(unit);
    }
    bytes
}

#[test]
fn strings_and_blobs() {
    for dialect in BOTH {
        let mut table = table();
        let encodings: &[&str] = match dialect {
            Dialect::Prop2 => &["utf-8"],
            Dialect::Spec2 => &["utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le"],
        };
        table.add("n", &uint(8, ""), |e| end(e.raw(&[8])), &[("", "u:8")]);
        for encoding in encodings {
            let property = match dialect {
                Dialect::Prop2 => String::new(),
                Dialect::Spec2 => format!(r#","encoding":"{encoding}""#),
            };
            let place = table.members.len();
            let text = "a\u{0}b\u{ff00}\u{1f600}";
            let unit = encoded("\0", encoding);
            table.add(&format!("bit{place}"), &uint(1, ""), |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
            // A zero byte is no end within UTF-16 and UTF-32.
            let long = "\u{100}x\u{1f600}";
            table.add(
                &format!("nul{place}"),
                &format!(r#"{{"type":"null-terminated-string"{property}}}"#),
                |e| end(e.align(8).raw(&encoded(long, encoding)).raw(&unit)),
                &[("", &format!("t:{long}"))],
            );
            let all = encoded(text, encoding);
            table.add(
                &format!("static{place}"),
                &format!(r#"{{"type":"static-length-string","length":{}{property}}}"#, all.len()),
                |e| end(e.raw(&all)),
                &[("", "t:a")],
            );
            let eight = encoded(if unit.len() == 1 { "12345678" } else { "\u{1f600}xy" }, encoding);
            let eight = &eight[..8];
            let shown = match unit.len() {
                1 => "12345678",
                2 => "\u{1f600}xy",
                _ => "\u{1f600}x",
            };
            table.add(
                &format!("dynamic{place}"),
                &format!(
                    r#"{{"type":"dynamic-length-string","length-field-location":{}{property}}}"#,
                    dialect.payload(r#""n""#)
                ),
                |e| end(e.raw(eight)),
                &[("", &format!("t:{shown}"))],
            );
        }
        table.add("bit", &uint(1, ""), |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
        table.add(
            "blob",
            r#"{"type":"static-length-blob","length":3,"media-type":"image/png"}"#,
            |e| end(e.align(8).raw(&[0, 1, 255])),
            &[("", "x:0001ff")],
        );
        table.add("empty", r#"{"type":"static-length-blob","length":0}"#, |_| (), &[("", "x:")]);
        table.add(
            "blob2",
            &format!(
                r#"{{"type":"dynamic-length-blob","length-field-location":{}}}"#,
                dialect.payload(r#""n""#)
            ),
            |e| end(e.raw(&[1, 2, 3, 4, 5, 6, 7, 8])),
            &[("", "x:0102030405060708")],
        );
        dialect.check(table);
    }
}

#[test]
fn arrays_and_alignments() {
    for dialect in BOTH {
        let mut table = table();
        let array = |length: u64, element: &str, more: &str| {
            format!(
                r#"{{"type":"static-length-array","length":{length},"element-field-class":{element}{more}}}"#
            )
        };
        let dynamic = |path: &str, element: &str| {
            format!(
                r#"{{"type":"dynamic-length-array","length-field-location":{},"element-field-class":{element}}}"#,
                dialect.payload(path)
            )
        };
        table.add("bit", &uint(1, ""), |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
        // Even without elements, an array is aligned like them.
        table.add("none", &array(0, &uint(3, r#","alignment":16"#), ""), |e| end(e.align(16)), &[("", "#0")]);
        table.add(
            "three",
            &array(3, &uint(5, r#","alignment":2"#), ""),
            |e| {
                end(e.align(2).int(1, 5, Order::Le).align(2).int(2, 5, Order::Le).align(2).int(
                    3,
                    5,
                    Order::Le,
                ))
            },
            &[("", "#3"), ("[0]", "u:1"), ("[1]", "u:2"), ("[2]", "u:3")],
        );
        if dialect == Dialect::Spec2 {
            table.add(
                "minimum",
                &array(1, &uint(5, ""), r#","minimum-alignment":32"#),
                |e| end(e.align(32).int(9, 5, Order::Le)),
                &[("", "#1"), ("[0]", "u:9")],
            );
        }
        table.add("n", &uint(2, ""), |e| end(e.int(2, 2, Order::Le)), &[("", "u:2")]);
        let inner = dialect.structure(
            4,
            &[member("m", &uint(2, "")), member("ones", &dynamic(r#""own","m""#, &uint(1, "")))],
        );
        // Elements find what is in the same element; outside they find what came before.
        table.add(
            "own",
            &dynamic(r#""n""#, &inner),
            |e| {
                e.align(4).int(3, 2, Order::Le).int(0b101, 3, Order::Le);
                e.align(4).int(0, 2, Order::Le);
            },
            &[
                ("", "#2"),
                ("[0].m", "u:3"),
                ("[0].ones", "#3"),
                ("[0].ones[0]", "u:1"),
                ("[0].ones[1]", "u:0"),
                ("[0].ones[2]", "u:1"),
                ("[1].m", "u:0"),
                ("[1].ones", "#0"),
            ],
        );
        // The alignment of a structure is that of its members, or more.
        table.add(
            "st",
            &dialect.structure(2, &[member("a", &uint(1, "")), member("b", &uint(3, r#","alignment":16"#))]),
            |e| end(e.align(16).int(1, 1, Order::Le).align(16).int(5, 3, Order::Le)),
            &[(".a", "u:1"), (".b", "u:5")],
        );
        table.add("empty", &dialect.structure(32, &[]), |e| end(e.align(32)), &[]);
        // Arrays of whole bytes are read at once: the edges of that.
        for (i, length) in [8u64, 16, 32, 64].into_iter().enumerate() {
            for (order_name, order) in ORDERS {
                table.add(
                    &format!("whole{i}_{order_name}"),
                    &array(3, &fixed("signed-integer", length, order_name, r#","alignment":8"#), ""),
                    |e| {
                        e.align(8);
                        for value in [-2, 100, -128] {
                            e.int(value, length as usize, order);
                        }
                    },
                    &[("", "#3"), ("[0]", "s:-2"), ("[1]", "s:100"), ("[2]", "s:-128")],
                );
            }
        }
        dialect.check(table);
    }
}

#[test]
fn optionals_and_variants() {
    for dialect in BOTH {
        let mut table = table();
        let optional = |path: &str, ranges: &str, class: &str| {
            let ranges = match ranges {
                "" => String::new(),
                ranges => format!(r#","selector-field-ranges":{ranges}"#),
            };
            format!(
                r#"{{"type":"optional","selector-field-location":{}{ranges},"field-class":{class}}}"#,
                dialect.payload(path)
            )
        };
        let three = uint(3, "");
        let sint = |length: u64| fixed("signed-integer", length, "little-endian", "");
        let present = |path: &'static str| vec![(path, "u:5")];
        table.add(
            "yes",
            &fixed("boolean", 4, "little-endian", ""),
            |e| end(e.int(8, 4, Order::Le)),
            &[("", "b:true")],
        );
        table.add(
            "no",
            &fixed("boolean", 4, "little-endian", ""),
            |e| end(e.int(0, 4, Order::Le)),
            &[("", "b:false")],
        );
        table.add("o1", &optional(r#""yes""#, "", &three), |e| end(e.int(5, 3, Order::Le)), &present(""));
        // An absent field aligns nothing.
        table.add("o2", &optional(r#""no""#, "", &uint(3, r#","alignment":64"#)), |_| (), &[("", "none")]);
        table.add("minus", &sint(70), |e| end(e.int(-5, 70, Order::Le)), &[("", "s:-5")]);
        table.add(
            "o3",
            &optional(r#""minus""#, "[[-9,-5],[3,4]]", &three),
            |e| end(e.int(5, 3, Order::Le)),
            &present(""),
        );
        table.add("o4", &optional(r#""minus""#, "[[-4,900]]", &three), |_| (), &[("", "none")]);
        table.add(
            "vl",
            r#"{"type":"variable-length-signed-integer"}"#,
            |e| end(e.sleb(-1_000_000_000_000_000_000_000)),
            &[("", "s:-1000000000000000000000")],
        );
        table.add(
            "v",
            &format!(
                r#"{{"type":"variant","selector-field-location":{},"options":[
                {{"selector-field-ranges":[[0,9]],"field-class":{three}}},
                {{"name":"n","selector-field-ranges":[[-1000000000000000000001,-999999999999999999999],[-1,-1]],
                  "field-class":{}}}]}}"#,
                dialect.payload(r#""vl""#),
                dialect.structure(8, &[member("k", &uint(8, "")), member("q", &three)]),
            ),
            |e| end(e.align(8).int(2, 8, Order::Le).int(5, 3, Order::Le)),
            &[("<n>.k", "u:2"), ("<n>.q", "u:5")],
        );
        // A location through an optional it is in, and selectors within variants.
        table.add(
            "o5",
            &optional(
                r#""yes""#,
                "",
                &dialect.structure(
                    1,
                    &[member("s", &uint(2, "")), member("in", &optional(r#""o5","s""#, "[[1,3]]", &three))],
                ),
            ),
            |e| end(e.int(3, 2, Order::Le).int(5, 3, Order::Le)),
            &[(".s", "u:3"), (".in", "u:5")],
        );
        let either = |length: u64| dialect.structure(1, &[member("len", &uint(length, ""))]);
        table.add("pick", &uint(2, ""), |e| end(e.int(1, 2, Order::Le)), &[("", "u:1")]);
        table.add(
            "w",
            &format!(
                r#"{{"type":"variant","selector-field-location":{},"options":[
                {{"name":"a","selector-field-ranges":[[0,0]],"field-class":{}}},
                {{"name":"b","selector-field-ranges":[[1,2]],"field-class":{}}}]}}"#,
                dialect.payload(r#""pick""#),
                either(3),
                either(5)
            ),
            |e| end(e.int(2, 5, Order::Le)),
            &[("<b>.len", "u:2")],
        );
        table.add(
            "through",
            &format!(
                r#"{{"type":"dynamic-length-array","length-field-location":{},"element-field-class":{three}}}"#,
                dialect.payload(r#""w","len""#)
            ),
            |e| end(e.int(1, 3, Order::Le).int(7, 3, Order::Le)),
            &[("", "#2"), ("[0]", "u:1"), ("[1]", "u:7")],
        );
        dialect.check(table);
    }
}

/// Locations without an origin, and with steps to the parent.
#[test]
fn relative_locations() {
    let mut table = table();
    let dialect = Dialect::Spec2;
    let at = |path: &str| {
        format!(
            r#"{{"type":"dynamic-length-array","length-field-location":{{"path":[{path}]}},"element-field-class":{}}}"#,
            uint(1, "")
        )
    };
    table.add("n", &uint(2, ""), |e| end(e.int(1, 2, Order::Le)), &[("", "u:1")]);
    let inner = dialect.structure(
        1,
        &[
            member("n", &uint(2, "")),
            member("own", &at(r#""n""#)),
            member("up", &at(r#"null,"n""#)),
            member("up2", &at(r#"null,null,"n""#)),
            member("down", &at(r#"null,"first","n""#)),
            member("around", &at(r#"null,"inner",null,"n""#)),
        ],
    );
    let middle = dialect.structure(
        1,
        &[
            member("n", &uint(2, "")),
            member("first", &dialect.structure(1, &[member("n", &uint(2, ""))])),
            member(
                "inner",
                &format!(r#"{{"type":"static-length-array","length":1,"element-field-class":{inner}}}"#),
            ),
        ],
    );
    table.add(
        "middle",
        &middle,
        |e| {
            e.int(2, 2, Order::Le).int(3, 2, Order::Le).int(0, 2, Order::Le);
            e.int(0b01, 2, Order::Le).int(1, 1, Order::Le).int(0b100, 3, Order::Le).int(0b11, 2, Order::Le);
        },
        &[
            (".n", "u:2"),
            (".first.n", "u:3"),
            (".inner", "#1"),
            (".inner[0].n", "u:0"),
            (".inner[0].own", "#0"),
            (".inner[0].up", "#2"),
            (".inner[0].up[0]", "u:1"),
            (".inner[0].up[1]", "u:0"),
            (".inner[0].up2", "#1"),
            (".inner[0].up2[0]", "u:1"),
            (".inner[0].down", "#3"),
            (".inner[0].down[0]", "u:0"),
            (".inner[0].down[1]", "u:0"),
            (".inner[0].down[2]", "u:1"),
            (".inner[0].around", "#2"),
            (".inner[0].around[0]", "u:1"),
            (".inner[0].around[1]", "u:1"),
        ],
    );
    dialect.check(table);
}

/// Roles, also of nested fields and reported twice; all root fields, each needing one before it.
#[test]
fn roles_and_root_fields() {
    for dialect in BOTH {
        let role = |name: &'static str| format!(r#","alignment":8,"roles":["{}"]"#, dialect.role(name));
        let number = |name: &str, length: u64, of: &'static str| member(name, &uint(length, &role(of)));
        let plain = |name: &str| member(name, &uint(8, r#","alignment":8"#));
        let uuid_role = match dialect {
            Dialect::Prop2 => "trace-class-uuid",
            Dialect::Spec2 => "metadata-stream-uuid",
        };
        let header = dialect.structure(
            1,
            &[
                number("magic", 32, "packet-magic-number"),
                member(
                    "uuid",
                    &format!(r#"{{"type":"static-length-blob","length":16,"roles":["{uuid_role}"]}}"#),
                ),
                member(
                    "ids",
                    &dialect.structure(
                        1,
                        &[
                            number("first", 8, "data-stream-class-id"),
                            number("class", 8, "data-stream-class-id"),
                            number("stream", 8, "data-stream-id"),
                        ],
                    ),
                ),
            ],
        );
        let located = |origin: &str, path: &str| match dialect {
            Dialect::Prop2 => format!(r#"["{origin}",{path}]"#),
            Dialect::Spec2 => format!(r#"{{"origin":"{origin}","path":[{path}]}}"#),
        };
        let array = |name: &str, origin: &str, path: &str| {
            member(
                name,
                &format!(
                    r#"{{"type":"dynamic-length-array","length-field-location":{},
                    "element-field-class":{}}}"#,
                    located(origin, path),
                    uint(8, r#","alignment":8"#)
                ),
            )
        };
        let context = dialect.structure(
            1,
            &[
                number("total", 32, "packet-total-length"),
                number("content", 32, "packet-content-length"),
                member("times", &dialect.structure(1, &[number("begin", 64, "begin")])),
                number("end", 64, "packet-end-default-clock-timestamp"),
                number("lost", 16, "discarded-event-record-counter-snapshot"),
                number("number", 8, "packet-sequence-number"),
                plain("n"),
                array("by header", "packet-header", r#""ids","stream""#),
            ],
        );
        let event_header = dialect.structure(
            1,
            &[
                number("first id", 8, "event-record-class-id"),
                member(
                    "id",
                    r#"{"type":"variable-length-unsigned-integer","roles":["event-record-class-id"]}"#,
                ),
                number("time", 8, "default-clock-timestamp"),
            ],
        );
        let common = dialect.structure(1, &[plain("m"), array("by context", "packet-context", r#""n""#)]);
        let specific =
            dialect.structure(1, &[plain("k"), array("by common", "event-record-common-context", r#""m""#)]);
        let payload = dialect.structure(
            1,
            &[
                array("by specific", "event-record-specific-context", r#""k""#),
                array("by header", "packet-header", r#""ids","stream""#),
                array("by event header", "event-record-header", r#""time""#),
            ],
        );
        let (uuid_preamble, trace_class, clock, default) = match dialect {
            Dialect::Prop2 => (
                String::new(),
                r#"{"type":"trace-class","uuid":"00010203-0405-0607-0809-0a0b0c0d0e0f","#,
                r#"{"type":"clock-class","name":"c","frequency":1000,"offset":{"seconds":-3,"cycles":999}}"#,
                r#""default-clock-class-name":"c""#,
            ),
            Dialect::Spec2 => (
                r#","uuid":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"#.to_owned(),
                r#"{"type":"trace-class","environment":{"hostname":"h","n":-1},"#,
                r#"{"type":"clock-class","id":"c","frequency":1000,"origin":"unix-epoch",
                    "offset-from-origin":{"seconds":-3,"cycles":999}}"#,
                r#""default-clock-class-id":"c""#,
            ),
        };
        let metadata = dialect
            .metadata(&[
                format!(r#"{trace_class}"packet-header-field-class":{header}}}"#),
                clock.to_owned(),
                format!(
                    r#"{{"type":"data-stream-class","id":2,{default},"packet-context-field-class":{context},
                    "event-record-header-field-class":{event_header},
                    "event-record-common-context-field-class":{common}}}"#
                ),
                format!(
                    r#"{{"type":"event-record-class","id":300,"data-stream-class-id":2,
                    "specific-context-field-class":{specific},"payload-field-class":{payload}}}"#
                ),
            ])
            .replacen(r#""version":2"#, &format!(r#""version":2{uuid_preamble}"#), 1);
        let packet = |lost: i128, number: i128, begin: i128, end: i128, events: &[i128]| {
            let mut e = Encoder::default();
            e.int(0xc1fc_1fc1, 32, Order::Le).raw(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
            e.raw(&[77, 2, 1]);
            let sizes = e.at;
            e.int(0, 64, Order::Le).int(begin, 64, Order::Le).int(end, 64, Order::Le);
            e.int(lost, 16, Order::Le).int(number, 8, Order::Le).raw(&[2, 0xaa]);
            for time in events {
                e.raw(&[9]).uleb(300).raw(&[*time as u8]);
                e.raw(&[1, 0xb0, 0xb1]);
                e.raw(&[3, 0xc0]);
                e.raw(&[0xd0, 0xd1, 0xd2, 0xe0]).raw(&vec![0xf0; *time as usize]);
            }
            let content = e.at;
            e.raw(&[0; 3]);
            let total = e.at;
            e.patch(sizes, total, 32, Order::Le);
            e.patch(sizes + 32, content, 32, Order::Le);
            e.bytes
        };
        let mut stream = packet(5, 254, 1000, 1300, &[250, 0, 3]);
        stream.extend(packet(3, 2, 2000, 2001, &[]));
        let mut files = vec![("metadata", metadata.as_bytes()), ("stream", stream.as_slice())];
        if dialect == Dialect::Prop2 {
            files.push(("env.json", br#"{"std":{"environment":{"hostname":"h","n":-1}}}"#));
            files.push(("other.json", br#"{"my.tracer":{"version":[1,3,2]}}"#));
        }
        let opened = ichnos_ctf::trace::open(&[&tree(&files)], &Default::default());
        assert!(opened.errors.is_empty(), "{}", opened.errors[0]);
        let trace = &opened.traces[0];
        assert_eq!(trace.diagnostics().len(), 0);
        let class = &trace.trace().class;
        assert_eq!(class.environment("hostname"), Some(&Value::Text("h".into())));
        assert_eq!(class.environment("n"), Some(&Value::Integer(-1)));
        assert_eq!(class.attributes.get("my.tracer").is_some(), dialect == Dialect::Prop2);
        let observed = observed(trace);
        assert_eq!(damage(&observed).len(), 0, "{:#?}", damage(&observed));
        assert_eq!(observed[0], Observed::StreamBegin(Some(1)));
        let ns = |cycles: i128| -3_000_000_000 + (cycles + 999) * 1_000_000;
        let facts: Vec<_> =
            packets(&observed).iter().map(|p| (p.begin, p.end, p.sequence, p.discarded)).collect();
        assert_eq!(
            facts,
            [
                (Some(ns(1000)), Some(ns(1300)), Some(254), Some(5)),
                (Some(ns(2000)), Some(ns(2001)), Some(2), Some(3)),
            ]
        );
        assert_eq!(packets(&observed)[0].total - packets(&observed)[0].content, 24);
        assert!(packets(&observed)[0].fields.contains(&("context.by header[0]".into(), "u:170".into())));
        // 1000 = 3 * 256 + 232.
        let times: Vec<_> = events(&observed).iter().map(|event| event.nanoseconds.unwrap()).collect();
        assert_eq!(times, [ns(3 * 256 + 250), ns(4 * 256), ns(4 * 256 + 3)]);
        let event = events(&observed)[2];
        let fields: Vec<(&str, &str)> =
            event.fields.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        assert_eq!(
            fields,
            [
                ("event.first id", "u:9"),
                ("event.id", "u:300"),
                ("event.time", "u:3"),
                ("common.m", "u:1"),
                ("common.by context", "#2"),
                ("common.by context[0]", "u:176"),
                ("common.by context[1]", "u:177"),
                ("specific.k", "u:3"),
                ("specific.by common", "#1"),
                ("specific.by common[0]", "u:192"),
                ("payload.by specific", "#3"),
                ("payload.by specific[0]", "u:208"),
                ("payload.by specific[1]", "u:209"),
                ("payload.by specific[2]", "u:210"),
                ("payload.by header", "#1"),
                ("payload.by header[0]", "u:224"),
                ("payload.by event header", "#3"),
                ("payload.by event header[0]", "u:240"),
                ("payload.by event header[1]", "u:240"),
                ("payload.by event header[2]", "u:240"),
            ]
        );
        let lost: Vec<_> = observed
            .iter()
            .filter(|observed| {
                matches!(observed, Observed::DiscardedEvents(_) | Observed::DiscardedPackets(_))
            })
            .collect();
        assert_eq!(
            lost,
            [
                &Observed::DiscardedEvents(None),
                &Observed::DiscardedEvents(Some(65_534)),
                &Observed::DiscardedPackets(Some(3))
            ]
        );
    }
}

/// A clock is 0 before each packet.
#[test]
fn a_clock_begins_again_with_each_packet() {
    for dialect in BOTH {
        let (clock, default) = match dialect {
            Dialect::Prop2 => (r#""name":"c""#, "default-clock-class-name"),
            Dialect::Spec2 => (r#""id":"c""#, "default-clock-class-id"),
        };
        let total = uint(8, &format!(r#","roles":["{}"]"#, dialect.role("packet-total-length")));
        let time = uint(8, r#","roles":["default-clock-timestamp"]"#);
        let metadata = dialect.metadata(&[
            r#"{"type":"trace-class"}"#.to_owned(),
            format!(r#"{{"type":"clock-class",{clock},"frequency":1000000000}}"#),
            format!(
                r#"{{"type":"data-stream-class","{default}":"c","packet-context-field-class":{},
                "event-record-header-field-class":{}}}"#,
                dialect.structure(1, &[member("total", &total)]),
                dialect.structure(1, &[member("time", &time)])
            ),
            r#"{"type":"event-record-class"}"#.to_owned(),
        ]);
        let observed = observed(&trace(metadata.as_bytes(), &[("stream", &[24, 9, 3, 16, 1])]));
        let times: Vec<_> = events(&observed).iter().map(|event| event.nanoseconds.unwrap()).collect();
        assert_eq!(times, [9, 256 + 3, 1]);
        // That it goes backwards is reported.
        assert_eq!(damage(&observed).len(), 1);
    }
}
