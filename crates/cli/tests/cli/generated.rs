//! Random traces as JSON Lines, with every type of field class.

use std::collections::BTreeSet;

use ichnos_testing::Random;
use serde_json::{Value, json};

/// Names that cause trouble in some dialect or reader.
const NAMES: [&str; 14] = [
    "a",
    "b c",
    "café",
    "int",
    "_x",
    "__y",
    "9z",
    "timestamp",
    "id",
    "packet_size",
    "cpu_id",
    "a-b",
    "align",
    "value",
];
const TEXTS: [&str; 9] = ["a", "grüezi ", "\"q\\", "\t", "\n", "\u{7f}", "€", "𝄞", "%s"];

/// Random trace.
pub struct Generated {
    pub lines: String,
    /// `true` if the trace avoids everything that other readers are known not to read.
    pub is_plain: bool,
}

/// Field that others can use as selector or length: its path from the current structure, and its value when known.
#[derive(Clone)]
struct Known {
    path: Vec<Value>,
    kind: Kind,
    value: i64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Length,
    Selector,
    Presence,
}

struct Maker<'a> {
    random: &'a mut Random,
    is_plain: bool,
    /// Byte order of all fields. It cannot change within a byte.
    byte_order: &'static str,
    /// Remaining number of classes.
    budget: u32,
}

/// Generates a trace: one or two data streams, up to three event classes in each, and some events.
pub fn generate(random: &mut Random) -> Generated {
    let is_plain = random.percent(75);
    let byte_order = random.pick(&["little-endian", "big-endian"]);
    let mut maker = Maker { random, is_plain, byte_order, budget: 0 };
    let mut lines = Vec::new();
    let trace = json!({"path": "t", "format": "generated", "environment": {"host": "box", "number": 7}});
    let has_clock = maker.random.percent(85);
    for stream in 0..maker.random.below(2) + 1 {
        // Other readers require a clock in all data streams, or in none.
        let differs = !is_plain && maker.random.percent(20);
        maker.stream(stream, &trace, has_clock != differs, &mut lines);
    }
    let lines = lines.iter().map(|line| format!("{line}\n")).collect();
    Generated { lines, is_plain }
}

/// Adjusts known field paths for a nested structure.
fn from_within(known: &[Known]) -> Vec<Known> {
    let deeper = |known: &Known| {
        let path = std::iter::once(Value::Null).chain(known.path.iter().cloned()).collect();
        Known { path, ..known.clone() }
    };
    known.iter().map(deeper).collect()
}

/// Returns the value of the field at a class's location.
fn value_at(class: &Value, name: &str, known: &[Known]) -> Option<i64> {
    let path = class.get(name)?["path"].as_array()?;
    known.iter().find(|known| known.path == *path).map(|known| known.value)
}

impl Maker<'_> {
    fn stream(&mut self, stream: u64, trace: &Value, has_clock: bool, lines: &mut Vec<Value>) {
        let mut begin =
            json!({"type": "stream-begin", "stream": stream, "name": format!("s{stream}"), "trace": trace});
        let common = self.random.percent(40).then(|| self.root());
        begin["class"] = json!({"id": stream});
        if let Some(common) = &common {
            begin["class"]["fields"] = json!({"common_context": common});
        }
        if has_clock {
            let frequency = self.random.pick(&[1_000_000_000, 1000, 3_579_545]);
            begin["clock"] = json!({"id": "c", "frequency": frequency, "offset_seconds": 1_780_000_000,
                "offset_cycles": 5, "origin": "unix-epoch"});
        }
        lines.push(begin);
        let mut classes = Vec::new();
        for id in 0..self.random.below(3) + 1 {
            let mut fields = json!({"payload": self.root()});
            if self.random.percent(30) {
                fields["specific_context"] = self.root();
            }
            lines.push(json!({"type": "event-class", "stream": stream, "id": id, "name": format!("e{id}"),
                "fields": fields}));
            classes.push(fields);
        }
        let mut cycles = 0;
        for _ in 0..2 + self.random.below(8) {
            let id = self.random.index(classes.len());
            let mut event = json!({"type": "event", "stream": stream, "id": id});
            if has_clock {
                cycles += 1 + self.random.below(1 << 34) * self.random.below(2);
                event["cycles"] = json!(cycles);
            }
            if let Some(common) = &common {
                event["common_context"] = self.value(common, &[]);
            }
            for (scope, class) in classes[id].as_object().cloned().into_iter().flatten() {
                event[scope] = self.value(&class, &[]);
            }
            lines.push(event);
        }
    }

    fn root(&mut self) -> Value {
        self.budget = 20;
        self.structure(3, &[])
    }

    fn structure(&mut self, depth: u32, known: &[Known]) -> Value {
        let mut known = from_within(known);
        let (mut members, mut names) = (Vec::new(), BTreeSet::new());
        for number in 0..1 + self.random.below(5) {
            let mut name = self.random.pick(&NAMES).to_owned();
            if !names.insert(name.clone()) {
                name = format!("m{number}");
            }
            let class = match self.known_kind() {
                Some((kind, class)) => {
                    known.push(Known { path: vec![json!(name)], kind, value: 0 });
                    class
                }
                None => self.class(depth, &known),
            };
            members.push(json!({"name": name, "class": class}));
        }
        json!({"type": "structure", "members": members, "minimum_alignment": self.random.pick(&[1, 1, 8, 32])})
    }

    /// Returns a class for a field that others can use.
    fn known_kind(&mut self) -> Option<(Kind, Value)> {
        match self.random.below(9) {
            0 => Some((Kind::Length, self.bits("integer", 8))),
            1 => {
                let mut class = self.bits("integer", 16);
                // Babeltrace 2.1.2 never finds an optional field with a signed selector.
                class["signed"] = json!(!self.is_plain);
                Some((Kind::Selector, class))
            }
            2 => Some((Kind::Presence, self.bits("boolean", 8))),
            _ => None,
        }
    }

    fn bits(&mut self, kind: &str, length: u64) -> Value {
        let alignment = self.random.pick(&[1, 8, 8, 8, 16, 64]);
        let mut class =
            json!({"type": kind, "length": length, "alignment": alignment, "byte_order": self.byte_order});
        if !self.is_plain && self.random.percent(10) {
            class["bit_order"] = json!(self.random.pick(&["first-to-last", "last-to-first"]));
        }
        class
    }

    fn any_bits(&mut self, kind: &str) -> Value {
        let length = match self.random.below(3) {
            0 => self.random.pick(&[8, 16, 32, 64]),
            1 if !self.is_plain => 1 + self.random.below(200),
            // Babeltrace prints hexadecimal numbers of 61 to 63 bits as 0.
            _ => 1 + self.random.below(if self.is_plain { 60 } else { 64 }),
        };
        self.bits(kind, length)
    }

    /// Returns the location of a field of this kind, if there is one.
    fn location(&mut self, kind: Kind, known: &[Known]) -> Option<Value> {
        let known: Vec<&Known> = known.iter().filter(|known| known.kind == kind).collect();
        let index = self.random.index(known.len().max(1));
        known.get(index).filter(|_| self.random.percent(70)).map(|known| json!({"path": known.path}))
    }

    /// Returns value names up to a maximum. Other readers print a value with several names differently.
    fn mappings(&mut self, most: i64) -> Value {
        let (mut mappings, mut lower) = (Vec::new(), 0);
        for name in ["low", "high label", "int", "both"] {
            if lower > most {
                break;
            }
            let upper = (lower + self.random.below(3) as i64).min(most);
            mappings.push(json!({"name": name, "ranges": [[lower, upper]]}));
            lower = upper + i64::from(self.is_plain || self.random.percent(50));
        }
        Value::Array(mappings)
    }

    fn class(&mut self, depth: u32, known: &[Known]) -> Value {
        self.budget = self.budget.saturating_sub(1);
        let kinds = if depth == 0 || self.budget == 0 { 14 } else { 21 };
        match self.random.below(kinds) {
            0..=2 => {
                let mut class = self.any_bits("integer");
                class["signed"] = json!(self.random.percent(50));
                class["preferred_display_base"] = json!(self.random.pick(&[10, 10, 16, 8, 2]));
                if self.random.percent(25) {
                    class["mappings"] = self.mappings(if class["length"] == 1 { 0 } else { 1 });
                }
                class
            }
            3 => {
                let length = 1 + self.random.below(64);
                self.bits("boolean", length)
            }
            4 => self.any_bits("bit-array"),
            5 => {
                let mut class = self.any_bits("bit-map");
                class["flags"] = self.mappings(class["length"].as_i64().unwrap() - 1);
                class
            }
            6 => {
                let lengths: &[u64] = if self.is_plain { &[32, 64] } else { &[16, 32, 64, 128] };
                let length = self.random.pick(lengths);
                self.bits("float", length)
            }
            7 => {
                let kinds: &[&str] = match self.is_plain {
                    true => &["variable-length-integer"],
                    false => {
                        &["variable-length-integer", "variable-length-boolean", "variable-length-bit-array"]
                    }
                };
                json!({"type": self.random.pick(kinds), "signed": self.random.percent(50)})
            }
            8..=10 => self.string(known),
            11 => {
                let mut class = json!({"type": "blob"});
                match self.random.below(2) {
                    0 => class["length"] = json!(u64::from(self.is_plain) + self.random.below(9)),
                    _ => class["length_field"] = self.location(Kind::Length, known).unwrap_or(json!({})),
                }
                class
            }
            12 => json!({"type": "guid"}),
            13 => json!({"type": "integer", "length": 64,
                "wall_clock": {"epoch_seconds": -11_644_473_600i64, "frequency": 10_000_000}}),
            14 | 15 => {
                let mut class = json!({"type": "array", "element": self.class(depth - 1, known)});
                match self.random.below(2) {
                    0 => class["length"] = json!(self.random.below(4)),
                    _ => class["length_field"] = self.location(Kind::Length, known).unwrap_or(json!({})),
                }
                class
            }
            16 => {
                let mut class = json!({"type": "optional", "field": self.class(depth - 1, known)});
                match self.random.below(3) {
                    0 => class["selector"] = self.location(Kind::Presence, known).unwrap_or(json!({})),
                    _ => {
                        if let Some(selector) = self.location(Kind::Selector, known) {
                            class["selector"] = selector;
                            class["ranges"] = json!([[1, 2], [4, 100]]);
                        }
                    }
                }
                class
            }
            17 => {
                let lowest = if self.is_plain { 0 } else { -100 };
                let ranges = [json!([[lowest, 0]]), json!([[1, 1], [3, 3]]), json!([[2, 2], [4, 100]])];
                let selector = self.location(Kind::Selector, known);
                // Without a selector, each value names its option.
                let classes = match &selector {
                    Some(_) => [0; 3].map(|_| self.class(depth - 1, known)),
                    None => [self.bits("integer", 64), json!({"type": "string"}), self.bits("boolean", 8)],
                };
                let option = |(ranges, class)| json!({"ranges": ranges, "class": class});
                let options: Vec<Value> = ranges.into_iter().zip(classes).map(option).collect();
                json!({"type": "variant", "options": options, "selector": selector.unwrap_or(json!({}))})
            }
            // Union values become zero bytes.
            18 if !self.is_plain => {
                let class = self.any_bits("integer");
                let member = |name: &str| json!({"name": name, "class": class.clone()});
                let alignment = &class["alignment"];
                json!({"type": "union", "members": [member("one"), member("other")], "alignment": alignment})
            }
            19 if !self.is_plain => json!({"type": "null"}),
            _ => self.structure(depth - 1, known),
        }
    }

    fn string(&mut self, known: &[Known]) -> Value {
        let encodings = ["utf-8", "utf-8", "utf-16le", "utf-16be", "utf-32le"];
        let mut class = json!({"type": "string", "encoding": self.random.pick(&encodings)});
        match self.random.below(4) {
            0 => class["length"] = json!(4 * (1 + self.random.below(8))),
            1 => {
                class["length"] = json!("dynamic");
                if class["encoding"] == "utf-8"
                    && let Some(location) = self.location(Kind::Length, known)
                {
                    class["length_field"] = location;
                }
            }
            2 => {
                class["length_prefix"] = self.bits("integer", 16);
                class["length_prefix"]["gap"] = json!(self.random.below(2) * 8);
            }
            _ => {}
        }
        class
    }

    fn text(&mut self) -> String {
        let least = u64::from(self.is_plain);
        (0..least + self.random.below(4)).map(|_| self.random.pick(&TEXTS)).collect()
    }

    /// Returns an integer for a class. With more than 64 bits, it is written as digits.
    fn integer(&mut self, length: u64, signed: bool) -> Value {
        let bits = u128::from(self.random.number()) << 64 | u128::from(self.random.number());
        let bits = if self.random.percent(40) { u128::from(self.random.below(4)) } else { bits };
        let length = length.min(127) as u32;
        let value = (bits << (128 - length)) as i128 >> (128 - length);
        let value = if signed { value } else { value & i128::MAX >> (127 - length) };
        if length <= 64 && value >= 0 {
            json!(value as u64)
        } else if length <= 64 {
            json!(value as i64)
        } else {
            json!({"$int": value.to_string()})
        }
    }

    /// Returns a value for a class.
    fn value(&mut self, class: &Value, known: &[Known]) -> Value {
        let length = class["length"].as_u64();
        let signed = class["signed"] == true;
        let dynamic = value_at(class, "length_field", known).map(|length| length as u64);
        match class["type"].as_str().unwrap() {
            "integer" if !class["wall_clock"].is_null() => {
                let digits = self.random.below(10_000_000);
                json!(format!("2026-11-23T02:13:24.{digits:07}00Z"))
            }
            "integer" | "variable-length-integer" => {
                let value = self.integer(length.unwrap_or(if self.is_plain { 64 } else { 90 }), signed);
                if class["mappings"].is_null() { value } else { json!({"value": value, "labels": []}) }
            }
            "boolean" | "variable-length-boolean" => json!(self.random.percent(50)),
            "bit-array" | "bit-map" | "variable-length-bit-array" => {
                json!({"bits": self.integer(length.unwrap_or(40), false)})
            }
            "float" => match self.random.below(6) {
                _ if length == Some(128) => json!({"$float128": format!("{:032x}", self.random.number())}),
                0 => json!({"$float": self.random.pick(&["NaN", "Infinity", "-Infinity"])}),
                _ if length == Some(16) => json!(self.random.below(64) as f64 / 8.0),
                1 => json!(if length == Some(32) { 0.125 } else { 0.1 }),
                2 => json!(1e10),
                3 => json!(-0.0),
                _ => json!(self.random.below(1 << 20) as f64 / 8.0),
            },
            "string" => match dynamic {
                Some(length) => json!("x".repeat(length as usize)),
                None => {
                    // A character has up to 4 bytes in each encoding.
                    let most = length.map_or(usize::MAX, |length| length as usize / 4);
                    json!(self.text().chars().take(most).collect::<String>())
                }
            },
            "blob" => {
                let length = dynamic.or(length).unwrap_or_else(|| 1 + self.random.below(5));
                let digits: String =
                    self.random.bytes(length as usize).iter().map(|byte| format!("{byte:02x}")).collect();
                json!({"$blob": digits, "media_type": "application/octet-stream"})
            }
            "guid" => json!(format!("6b29fc40-ca47-1067-b31d-{:012x}", self.random.below(1 << 48))),
            "structure" => {
                let mut known = from_within(known);
                let mut object = serde_json::Map::new();
                for member in class["members"].as_array().unwrap() {
                    let (name, class) = (&member["name"], &member["class"]);
                    let value = match class["type"].as_str() {
                        Some("integer") if class["length"] == 8 && class["wall_clock"].is_null() => {
                            self.length(class)
                        }
                        Some("integer") if class["length"] == 16 && class["mappings"].is_null() => {
                            let lowest = if class["signed"] == true { -2 } else { 0 };
                            json!(lowest + self.random.below(6) as i64)
                        }
                        _ => self.value(class, &known),
                    };
                    let number = value.as_i64().or_else(|| value.as_bool().map(i64::from));
                    if let Some(value) = number {
                        known.push(Known { path: vec![name.clone()], kind: Kind::Length, value });
                    }
                    object.insert(name.as_str().unwrap().to_owned(), value);
                }
                Value::Object(object)
            }
            "union" => {
                let value = self.value(&class["members"][0]["class"], known);
                json!({"one": value, "other": value})
            }
            "array" => {
                let length = dynamic.or(length).unwrap_or_else(|| self.random.below(4));
                (0..length).map(|_| self.value(&class["element"], known)).collect()
            }
            "optional" => {
                let is_there = match value_at(class, "selector", known) {
                    Some(value) if !class["ranges"].is_null() => [1, 2].contains(&value) || value >= 4,
                    Some(value) => value != 0,
                    None => self.random.percent(50),
                };
                if is_there { self.value(&class["field"], known) } else { Value::Null }
            }
            "variant" => {
                let index = match value_at(class, "selector", known) {
                    Some(..=0) => 0,
                    Some(1 | 3) => 1,
                    Some(_) => 2,
                    None => self.random.index(3),
                };
                self.value(&class["options"][index]["class"], known)
            }
            "null" => Value::Null,
            other => panic!("{other}"),
        }
    }

    /// Returns a length value, or a value of another 8-bit integer.
    fn length(&mut self, class: &Value) -> Value {
        let value = json!(u64::from(self.is_plain) + self.random.below(3));
        if class["mappings"].is_null() { value } else { json!({"value": value, "labels": []}) }
    }
}
