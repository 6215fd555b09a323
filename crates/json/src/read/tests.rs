use alloc::format;
use alloc::string::ToString;

use ichnos_testing::cases;

use super::*;

extern crate std;

/// Reads a whole text token by token, and writes it again.
fn canonical<T: Text + ?Sized>(reader: &mut Reader<'_, T>, out: &mut String, depth: u32) -> Result<()> {
    let mut is_first = true;
    match reader.peek() {
        Some(b'{') => {
            let depth = reader.enter(depth)?;
            out.push('{');
            while let Some(name) = reader.key(&mut is_first)? {
                out.push_str(&format!("{:?}:", name.text()));
                canonical(reader, out, depth)?;
                out.push(',');
            }
            out.push('}');
        }
        Some(b'[') => {
            let depth = reader.enter(depth)?;
            out.push('[');
            while reader.element(&mut is_first)? {
                canonical(reader, out, depth)?;
                out.push(',');
            }
            out.push(']');
        }
        Some(b'"') => out.push_str(&format!("{:?}", reader.string()?.text())),
        _ => match ["true", "false", "null"].into_iter().find(|word| reader.literal(word)) {
            Some(word) => out.push_str(word),
            None => out.push_str(reader.number()?),
        },
    }
    Ok(())
}

/// The same for a value that another library has read.
fn expected(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(elements) => {
            let elements: String = elements.iter().map(|element| expected(element) + ",").collect();
            format!("[{elements}]")
        }
        serde_json::Value::Object(members) => {
            let member = |(name, value): (&String, _)| format!("{name:?}:{},", expected(value));
            format!("{{{}}}", members.iter().map(member).collect::<String>())
        }
        serde_json::Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

fn read<T: Text + ?Sized>(text: &T) -> Result<String> {
    let (mut reader, mut out) = (Reader::new(text), String::new());
    canonical(&mut reader, &mut out, MAX_DEPTH)?;
    if reader.peek().is_some() { reader.error("the end") } else { Ok(out) }
}

fn skip<T: Text + ?Sized>(text: &T) -> Result<()> {
    let mut reader = Reader::new(text);
    reader.skip()?;
    if reader.peek().is_some() { reader.error("the end") } else { Ok(()) }
}

const PARTS: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\"a\"",
    "\"b\":",
    "null",
    "true",
    "fals",
    "e",
    "0",
    "1",
    "-",
    "1.5",
    "e5",
    "E-1",
    ".",
    " ",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "é",
    "\t",
    "18446744073709551616",
    "\"\\n\"",
    "\"\\/\\b\"",
    "\"of more than eight bytes\"",
    "\n",
];

#[test]
fn accepts_and_reads_what_another_library_does() {
    let mut accepted = 0;
    cases(20_000, |random| {
        let mut text = String::new();
        for _ in 0..random.index(12) + 1 {
            text.push_str(PARTS[random.index(PARTS.len())]);
        }
        let other: core::result::Result<serde_json::Value, _> = serde_json::from_str(&text);
        let (found, of_bytes) = (read(&*text), read(text.as_bytes()));
        assert_eq!(found, of_bytes, "{text:?}");
        assert_eq!(skip(&*text).err(), found.as_ref().err().copied(), "{text:?}");
        match (found, other) {
            (Ok(found), Ok(other)) => {
                accepted += 1;
                // The other library keeps the last of duplicate members, and writes exponents differently.
                let is_simple = !text.contains("\"b\":") && !text.contains(['e', 'E']);
                assert!(!is_simple || found == expected(&other), "{text:?}: {found}");
            }
            (Err(error), Err(_)) => assert!(error.offset <= text.len(), "{text:?}"),
            (found, other) => panic!("{text:?}: {found:?}, {other:?}"),
        }
    });
    assert!(accepted > 100 || std::env::var_os("ICHNOS_SEED").is_some(), "{accepted}");
}

#[test]
fn bytes_are_read_as_another_library_does() {
    cases(20_000, |random| {
        let mut text = std::vec::Vec::new();
        for _ in 0..random.index(6) + 1 {
            match random.index(6) {
                0 => text.push(random.index(256) as u8),
                _ => text.extend_from_slice(PARTS[random.index(PARTS.len())].as_bytes()),
            }
        }
        let other: core::result::Result<serde_json::Value, _> = serde_json::from_slice(&text);
        assert_eq!(read(&*text).is_ok(), other.is_ok(), "{}", text.escape_ascii());
        // The relaxed methods accept all valid JSON.
        let relaxed = Reader::new(&*text).skip_relaxed(MAX_DEPTH).map(<[u8]>::len);
        if other.is_ok() {
            let mut reader = Reader::new(&*text);
            assert_eq!(relaxed, reader.skip().map(<[u8]>::len), "{}", text.escape_ascii());
        }
    });
}

#[test]
fn relaxed_strings_are_those_of_json_if_they_are_valid() {
    cases(20_000, |random| {
        let mut text = String::from("\"");
        for _ in 0..random.index(8) {
            text.push_str(PARTS[random.index(PARTS.len())]);
        }
        text.push('"');
        let Ok(valid) = Reader::new(&*text).string() else { return };
        let mut relaxed = std::vec::Vec::new();
        let string = Reader::new(&*text).relaxed_string("a string").unwrap();
        assert_eq!(string.raw, valid.as_written().as_bytes());
        string.push_to(&mut relaxed).unwrap();
        assert_eq!(relaxed, valid.text().as_bytes(), "{text}");
    });
}

#[test]
fn errors_have_places_and_kinds() {
    use ErrorKind::{ControlCharacter, InvalidUtf8, LeadingZero, LoneSurrogate, UnclosedString, Unexpected};
    for (text, offset, kind) in [
        (&b" [1 2]"[..], 4, Unexpected("`,` or `]`")),
        (b"{\"a\":1 2}", 7, Unexpected("`,` or `}`")),
        (b"{1:2}", 1, Unexpected("a property name")),
        (b"{\"a\" 1}", 5, Unexpected("`:`")),
        (b"[truex]", 1, Unexpected("a value")),
        (b"[-]", 2, Unexpected("a digit")),
        (b"[1.e]", 3, Unexpected("a digit")),
        (b"[-01]", 1, LeadingZero),
        (b"\"a\nb\"", 2, ControlCharacter(b'\n')),
        (b"\"abc", 4, UnclosedString),
        (b"\"a\\", 3, Unexpected("one of `\"\\/bfnrtu` after a backslash")),
        (b"\"\\u12x4\"", 5, Unexpected("a hexadecimal digit")),
        (b"\"\\ud800x\"", 1, LoneSurrogate(0xd800)),
        (b"\"\\ude00\\ud800\"", 1, LoneSurrogate(0xde00)),
        (b"[\"a\xff\"]", 3, InvalidUtf8),
        (b"[\"a\xff\n\"]", 3, InvalidUtf8),
        (b"[\"a\n\xff\"]", 3, ControlCharacter(b'\n')),
        (b"", 0, Unexpected("a value")),
    ] {
        assert_eq!(skip(text), Err(Error { offset, kind }), "{}", text.escape_ascii());
    }
    assert_eq!(skip("[").unwrap_err().to_string(), "byte 1: expected a value");
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: u32| "[".repeat(depth as usize) + &"]".repeat(depth as usize);
    assert!(skip(&*nested(MAX_DEPTH)).is_ok());
    let too_deep = Error { offset: MAX_DEPTH as usize, kind: ErrorKind::Depth };
    assert_eq!(skip(&*nested(MAX_DEPTH + 1)), Err(too_deep));
    assert_eq!(skip(&*"[".repeat(1_000_000)), Err(too_deep));
    for depth in [3, MAX_DEPTH] {
        let relaxed = |text: String| Reader::new(&*text).skip_relaxed(depth).map(drop);
        assert!(relaxed(nested(depth)).is_ok());
        assert_eq!(relaxed(nested(depth + 1)), Err(Error { offset: depth as usize, kind: ErrorKind::Depth }));
    }
}

#[test]
fn relaxed_values() {
    for (text, length) in [
        (&b"[1 2, \xff{}:]x"[..], Some(11)),
        (b"{\"]\": [}", None),
        (b"[\"\t\\q\"]", Some(7)),
        (b"[\"\n\"]", None),
        (b"1.2.3 ", Some(5)),
        (b"nul", None),
        (b" true,", Some(4)),
        (b"[", None),
        (b"\"a\\", None),
        (b"", None),
    ] {
        let found = Reader::new(text).skip_relaxed(MAX_DEPTH);
        assert_eq!(found.ok().map(<[u8]>::len), length, "{}", text.escape_ascii());
    }
    let wrong = Reader::new(&b" \"ab\\q\""[..]).relaxed_string("a string").unwrap();
    let error = wrong.push_to(&mut std::vec::Vec::new()).unwrap_err();
    assert_eq!((error.offset, error.kind.expected()), (4, "an escape"));
}

#[test]
fn numbers_are_those_of_json() {
    for text in ["0", "-0", "10", "1.5", "-1.50e+3", "2E9", "1e-9", "340282366920938463463374607431768211456"]
    {
        assert!(is_number(text), "{text}");
    }
    for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 ", " 1", "NaN", "1,0", "\"1\""] {
        assert!(!is_number(text), "{text}");
    }
}
