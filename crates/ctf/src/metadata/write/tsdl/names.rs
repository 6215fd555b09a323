//! TSDL identifiers and strings (CTF 1.8, section C.1).

use std::borrow::Cow;
use std::fmt::Write as _;

use ichnos_model::class::Member;

use crate::metadata::tsdl::{is_c_type_word, is_reserved};

/// Returns `true` if a text is an identifier, but not a keyword.
pub(super) fn is_identifier(text: &str) -> bool {
    is_word(text) && !is_reserved(text) && !is_c_type_word(text)
}

/// Returns `true` if a text looks like an identifier or keyword.
fn is_word(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns a member's written name. It gets an underscore, which readers remove, if it has or needs one. Returns `None`
/// if the name cannot be written so that readers restore it.
pub(super) fn of_member(member: &Member) -> Option<Cow<'_, str>> {
    let name = member.name.as_str();
    if !member.has_underscore && !name.starts_with('_') && is_identifier(name) {
        return Some(Cow::Borrowed(name));
    }
    let written = format!("_{name}");
    is_identifier(&written).then_some(Cow::Owned(written))
}

/// Appends a string constant.
pub(super) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '\u{7f}' => {
                // Three digits, because a digit may follow. Writing to a text cannot fail.
                let _ = write!(out, "\\{:03o}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use ichnos_model::class::FieldClass;

    use super::*;

    #[test]
    fn names_get_the_underscore_that_readers_take_away() {
        let written = |name: &str, has_underscore: bool| {
            let mut member = Member::new(name, FieldClass::unsigned(8));
            member.has_underscore = has_underscore;
            of_member(&member).map(Cow::into_owned)
        };
        for (name, expected) in [
            ("a", Some("a")),
            ("_a", Some("__a")),
            ("event", Some("_event")),
            ("int", Some("_int")),
            ("1st", Some("_1st")),
            ("", Some("_")),
            ("a b", None),
            ("a-b", None),
            ("caf\u{e9}", None),
            // Without the underscore, it would be a keyword.
            ("Bool", Some("Bool")),
        ] {
            assert_eq!(written(name, false).as_deref(), expected, "{name}");
        }
        assert_eq!(written("a", true).as_deref(), Some("_a"));
        assert_eq!(written("Bool", true), None);
    }

    #[test]
    fn strings_are_escaped() {
        let mut out = String::new();
        write_text(&mut out, "\u{0}1*/\"\\\n\u{7f}\u{ffff}?");
        assert_eq!(out, "\"\\0001*/\\\"\\\\\\n\\177\u{ffff}?\"");
    }
}
