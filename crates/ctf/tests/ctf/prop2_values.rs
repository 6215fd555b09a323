//! PROP-2.0 and SPEC-2.0: every field class, encoded by these tests and read by the project.

use crate::table::{PayloadTable, integer_text, patterns, quadruples};
use ichnos_testing::encoder::{Encoder, Order, bits, hex};

/// Names that differ between the two documents.
#[derive(Clone, Copy, PartialEq)]
pub enum JsonDialect {
    Prop2,
    Spec2,
}

impl JsonDialect {
    pub fn members(self) -> &'static str {
        if self == Self::Prop2 { "members" } else { "member-classes" }
    }

    pub fn role(self, name: &'static str) -> &'static str {
        match (self, name) {
            (Self::Prop2, "packet-total-length") => "packet-total-size",
            (Self::Prop2, "packet-content-length") => "packet-content-size",
            (Self::Prop2, "begin") => "packet-beginning-default-clock-timestamp",
            (Self::Spec2, "begin") => "default-clock-timestamp",
            _ => name,
        }
    }

    /// Returns a metadata stream with these fragments.
    pub fn metadata(self, fragments: &[String]) -> String {
        let preamble = r#"{"type":"preamble","version":2}"#.to_owned();
        let all = std::iter::once(&preamble).chain(fragments);
        match self {
            Self::Prop2 => format!("[{}]", all.cloned().collect::<Vec<_>>().join(",")),
            Self::Spec2 => all.map(|fragment| format!("\u{1e}{fragment}\n")).collect(),
        }
    }

    pub fn structure(self, minimum: u64, members: &[String]) -> String {
        format!(
            r#"{{"type":"structure","minimum-alignment":{minimum},"{}":[{}]}}"#,
            self.members(),
            members.join(",")
        )
    }

    /// Returns a payload location.
    pub fn payload(self, path: &str) -> String {
        match self {
            Self::Prop2 => format!(r#"["event-record-payload",{path}]"#),
            Self::Spec2 => format!(r#"{{"origin":"event-record-payload","path":[{path}]}}"#),
        }
    }

    pub fn check(self, table: PayloadTable) {
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

pub const BOTH: [JsonDialect; 2] = [JsonDialect::Prop2, JsonDialect::Spec2];
const ORDERS: [(&str, Order); 2] = [("little-endian", Order::Le), ("big-endian", Order::Be)];
const LENGTHS: [usize; 16] = [1, 3, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 128, 200];

pub fn member(name: &str, class: &str) -> String {
    format!(r#"{{"name":"{name}","field-class":{class}}}"#)
}

/// Returns an unsigned little-endian integer class.
pub fn uint(length: u64, more: &str) -> String {
    fixed("unsigned-integer", length, "little-endian", more)
}

pub fn fixed(kind: &str, length: u64, order: &str, more: &str) -> String {
    format!(r#"{{"type":"fixed-length-{kind}","length":{length},"byte-order":"{order}"{more}}}"#)
}

fn table() -> PayloadTable {
    let mut table = PayloadTable::new("field-class");
    table.encoder.align(64);
    table
}

/// Ends a chain of writes.
fn end(_: &mut Encoder) {}

/// All fixed-length classes except floats, in all lengths, byte orders and (SPEC-2.0) bit orders.
#[test]
fn fixed_length_fields() {
    for dialect in BOTH {
        let mut table = table();
        let bit_orders: &[(&str, Option<bool>)] = match dialect {
            JsonDialect::Prop2 => &[("", None)],
            JsonDialect::Spec2 => &[
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
                            JsonDialect::Prop2 => {
                                let one = r#","mappings":{"a":[[0,5]]}"#.to_owned();
                                kinds.push(("unsigned-enumeration", one, integer_text(&bits, false)));
                                kinds.push(("signed-enumeration", mappings, integer_text(&bits, true)));
                            }
                            JsonDialect::Spec2 => {
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
                if reversed && dialect == JsonDialect::Prop2 {
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
                    if dialect == JsonDialect::Prop2 {
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
                if dialect == JsonDialect::Prop2 {
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

/// Encodes a text manually.
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
            JsonDialect::Prop2 => &["utf-8"],
            JsonDialect::Spec2 => &["utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le"],
        };
        table.add("n", &uint(8, ""), |e| end(e.raw(&[8])), &[("", "u:8")]);
        for encoding in encodings {
            let property = match dialect {
                JsonDialect::Prop2 => String::new(),
                JsonDialect::Spec2 => format!(r#","encoding":"{encoding}""#),
            };
            let place = table.members.len();
            let text = "a\u{0}b\u{ff00}\u{1f600}";
            let unit = encoded("\0", encoding);
            table.add(&format!("bit{place}"), &uint(1, ""), |e| end(e.int(1, 1, Order::Le)), &[("", "u:1")]);
            // In UTF-16 and UTF-32, a single zero byte does not end a text.
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
        // Even without elements, an array has its elements' alignment.
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
        if dialect == JsonDialect::Spec2 {
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
        // Elements find fields in the same element. Outside, they find the preceding field.
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
        // A structure's alignment is at least its members' alignment.
        table.add(
            "st",
            &dialect.structure(2, &[member("a", &uint(1, "")), member("b", &uint(3, r#","alignment":16"#))]),
            |e| end(e.align(16).int(1, 1, Order::Le).align(16).int(5, 3, Order::Le)),
            &[(".a", "u:1"), (".b", "u:5")],
        );
        table.add("empty", &dialect.structure(32, &[]), |e| end(e.align(32)), &[]);
        // Byte arrays are read at once: tests the limits of this.
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
        // A missing field does not align anything.
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
        // A location through an enclosing optional, and selectors within variants.
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

/// Locations without an origin, and with parent steps.
#[test]
fn relative_locations() {
    let mut table = table();
    let dialect = JsonDialect::Spec2;
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
