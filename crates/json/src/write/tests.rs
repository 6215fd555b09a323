extern crate std;

use alloc::format;
use alloc::string::{String, ToString};
use std::vec;

use ichnos_testing::cases;
use serde_json::Value;

use super::*;

fn written(write: impl FnOnce(ValueWriter<'_>)) -> String {
    let mut out = Vec::new();
    write(ValueWriter::new(&mut out));
    String::from_utf8(out).unwrap()
}

/// Writes a value from another library.
fn write(value: &Value, place: ValueWriter<'_>) {
    match value {
        Value::Null => place.null(),
        Value::Bool(value) => place.boolean(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => place.unsigned(value),
            (None, Some(value)) => place.signed(value),
            _ => place.number(&number.to_string()),
        },
        Value::String(text) => place.string(text),
        Value::Array(elements) => {
            let mut array = place.array();
            elements.iter().for_each(|element| write(element, array.element()));
            array.end();
        }
        Value::Object(members) => {
            let mut object = place.object();
            members.iter().for_each(|(name, value)| write(value, object.named(name)));
            object.end();
        }
    }
}

fn text(random: &mut ichnos_testing::Random) -> String {
    const ODD: [char; 12] =
        ['"', '\\', '\n', '\t', '\r', '\0', '\u{1f}', '\u{7f}', '\u{9b}', 'é', '\u{2028}', '\u{1f600}'];
    let any = |random: &mut ichnos_testing::Random| match random.index(3) {
        0 => ODD[random.index(ODD.len())],
        _ => char::from(b' ' + random.index(95) as u8),
    };
    (0..random.index(20)).map(|_| any(random)).collect()
}

fn value(random: &mut ichnos_testing::Random, depth: usize) -> Value {
    match random.index(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.index(2) == 0),
        2 => Value::from(u64::MAX >> random.index(64)),
        3 => Value::from(i64::MIN >> random.index(64)),
        4 => Value::from(1.5),
        5 => Value::from(text(random)),
        6 => (0..random.index(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let members = (0..random.index(4)).map(|_| (text(random), value(random, depth - 1)));
            Value::Object(members.collect())
        }
    }
}

#[test]
fn another_library_reads_what_was_written() {
    cases(5_000, |random| {
        let value = value(random, 4);
        let text = written(|place| write(&value, place));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
        let mut reader = crate::read::Reader::new(&*text);
        assert_eq!(reader.skip(), Ok(&*text));
    });
}

#[test]
fn strings_are_read_back() {
    cases(5_000, |random| {
        let text = text(random);
        let display = written(|place| place.display(&text));
        assert_eq!(display, written(|place| place.string(&text)));
        assert_eq!(crate::read::Reader::new(&*display).string().unwrap().text(), text);
        let mut printable = String::new();
        write_printable(&mut printable, &text).unwrap();
        assert!(!printable.contains(|c: char| c.is_control() || c == '\u{2028}'), "{printable:?}");
        assert_eq!(crate::read::Reader::new(&*printable).string().unwrap().text(), text);
        let mut plain = Vec::new();
        if push_plain(&mut plain, text.as_bytes()) {
            assert_eq!(plain, display.as_bytes());
        }
    });
}

#[test]
fn integers() {
    let mut values = vec![0, u64::MAX];
    for digits in 0..20 {
        let power = 10u64.pow(digits);
        values.extend([power - 1, power, power + 1, power.wrapping_mul(7) / 3, power / 9 * 5]);
    }
    values.extend(0..11_000);
    for value in values {
        assert_eq!(written(|place| place.unsigned(value)), value.to_string());
        let signed = value as i64;
        assert_eq!(written(|place| place.signed(signed)), signed.to_string());
        let wide = i128::from(value) * i128::from(signed);
        assert_eq!(written(|place| place.integer(wide)), wide.to_string());
    }
    assert_eq!(written(|place| place.signed(i64::MIN)), i64::MIN.to_string());
    for value in (0..10_000).flat_map(|value| [value, value * 10_000, value * 10_001]) {
        assert_eq!(eight_digits(value), *format!("{value:08}").as_bytes());
    }
}

#[test]
fn separators() {
    let text = written(|place| {
        let mut lines = place.array_of_lines();
        lines.element().strings(["a", "b"]);
        let mut object = lines.element().object();
        object.string("none", None);
        assert!(!object.has_members());
        object.unsigned("x", Some(1));
        let mut rest = ObjectWriter::resume(object.buffer(), true);
        rest.string("y", Some("z"));
        object.end();
        lines.element().array().end();
        lines.end();
    });
    let object = written(|place| {
        let mut object = place.object_of_lines();
        object.member("a").boolean(true);
        object.member("b").null();
        object.end();
    });
    assert_eq!(object, "{\"a\":true,\n\"b\":null}");
    assert_eq!(text, "[\n[\"a\",\"b\"],\n{\"x\":1,\"y\":\"z\"},\n[]]");
}
