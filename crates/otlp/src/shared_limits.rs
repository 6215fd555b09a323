//! Limits on texts and attributes that many events share. Each of these events has a copy, or is compared with one.

use std::borrow::Cow;
use std::fmt;

use crate::any_value::NamedValue;

/// Maximum length of the texts that classes have, in bytes: the name of an element, the name, unit and description of
/// a metric, and the name of a scope. It is also the maximum length of a scope's version and of a schema URL.
pub(crate) const MOST_TEXT: usize = 1 << 10;

/// Maximum size of the attributes of a resource or a scope, in bytes.
pub(crate) const MOST_ORIGIN: usize = 64 << 10;

/// Cuts a text to [`MOST_TEXT`]. Appends a statement about a longer one.
pub(crate) fn cut_text<'a>(
    text: Cow<'a, [u8]>,
    what: fmt::Arguments<'_>,
    cuts: &mut Vec<String>,
) -> Cow<'a, [u8]> {
    if text.len() <= MOST_TEXT {
        return text;
    }
    let length = text.len();
    cuts.push(format!("expected at most {MOST_TEXT} bytes in {what}, found {length}; the rest is left out"));
    let is_in_character = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (MOST_TEXT - 3..=MOST_TEXT).rev().find(|end| !is_in_character(*end)).unwrap_or(MOST_TEXT);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..end).unwrap_or_default()),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

/// Removes attributes that do not fit into [`MOST_ORIGIN`] together with those before them. Returns their number, and
/// appends a statement about them.
pub(crate) fn limit_attributes(
    attributes: &mut Vec<NamedValue<'_>>,
    what: &str,
    cuts: &mut Vec<String>,
) -> u64 {
    let (mut left, before) = (MOST_ORIGIN, attributes.len());
    attributes.retain(|attribute| {
        let rest = left.checked_sub(attribute.size());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let removed = before - attributes.len();
    if removed > 0 {
        cuts.push(format!(
            "expected at most {MOST_ORIGIN} bytes of attributes in {what}, found more; {removed} of {before} are left out"
        ));
    }
    removed as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::any_value::AnyValue;

    #[test]
    fn texts_are_cut_at_characters() {
        for (text, end) in [
            ("a".repeat(MOST_TEXT), MOST_TEXT),
            ("a".repeat(MOST_TEXT + 1), MOST_TEXT),
            ("a".repeat(MOST_TEXT - 1) + "é", MOST_TEXT - 1),
            ("a".repeat(MOST_TEXT - 3) + "😀", MOST_TEXT - 3),
            ("a".repeat(MOST_TEXT - 4) + "😀", MOST_TEXT),
        ] {
            let mut cuts = Vec::new();
            for given in [Cow::Borrowed(text.as_bytes()), Cow::Owned(text.clone().into_bytes())] {
                let cut = cut_text(given, format_args!("the name"), &mut cuts);
                assert_eq!(&*cut, &text.as_bytes()[..end]);
            }
            assert_eq!(cuts.len(), if text.len() > MOST_TEXT { 2 } else { 0 }, "{cuts:?}");
        }
        let bytes = vec![0x80; 2 * MOST_TEXT];
        let cut = cut_text(Cow::Owned(bytes), format_args!("the name"), &mut Vec::new());
        assert_eq!(cut.len(), MOST_TEXT);
    }

    #[test]
    fn small_attributes_are_kept() {
        let long = "a".repeat(MOST_ORIGIN);
        let many = AnyValue::Array(vec![AnyValue::Integer(1); MOST_ORIGIN / 16]);
        let values = [AnyValue::Integer(1), AnyValue::text(&long), many, AnyValue::text("b")];
        let names = ["a", "long", "many", "b"];
        let mut attributes: Vec<_> =
            names.iter().zip(values).map(|(name, value)| NamedValue::new(name, value)).collect();
        let mut cuts = Vec::new();
        assert_eq!(limit_attributes(&mut attributes, "a resource", &mut cuts), 2);
        assert_eq!(attributes.iter().map(|kept| &*kept.name).collect::<Vec<_>>(), ["a", "b"]);
        let wanted =
            "expected at most 65536 bytes of attributes in a resource, found more; 2 of 4 are left out";
        assert_eq!(cuts, [wanted]);
        assert_eq!(limit_attributes(&mut attributes, "a resource", &mut cuts), 0);
        assert_eq!(cuts.len(), 1);
    }
}
