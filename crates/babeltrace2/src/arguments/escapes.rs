//! Backslashes in names, connections and time ranges.

/// Returns the text before an end character, and its position (at the end, the length). A backslash before an
/// escapable character is removed. Before another character, it stays, and that character ends nothing.
pub(crate) fn text_until(input: &str, escapable: &[char], ends: &[char]) -> (String, usize) {
    let mut text = String::new();
    let mut characters = input.char_indices();
    while let Some((position, character)) = characters.next() {
        if character == '\\' {
            match characters.next() {
                None => text.push('\\'),
                Some((_, next)) => {
                    if !escapable.contains(&next) {
                        text.push('\\');
                    }
                    text.push(next);
                }
            }
        } else if ends.contains(&character) {
            return (text, position);
        } else {
            text.push(character);
        }
    }
    (text, input.len())
}

/// Returns `true` if a text only has characters that Babeltrace accepts in names: printable ASCII characters, tabs and
/// line breaks.
pub(crate) fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 0x0b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_an_unescaped_character() {
        let cases = [
            ("a.b", "a", 1),
            (r"a\.b:c", "a.b", 4),
            (r"a\b", r"a\b", 3),
            (r"a\", r"a\", 2),
            (r"a\\.", r"a\", 3),
            ("", "", 0),
            ("é:", "é", 2),
        ];
        for (input, text, end) in cases {
            assert_eq!(text_until(input, &['.', ':', '\\'], &['.', ':']), (text.to_owned(), end), "{input}");
        }
        assert_eq!(text_until(r"a\,b,c", &[], &[',']), (r"a\,b".to_owned(), 4));
    }

    #[test]
    fn printable_names() {
        for (text, expected) in [("a b~\t\n\r\u{b}", true), ("é", false), ("\u{1b}[0m", false)] {
            assert_eq!(is_printable(text), expected, "{text:?}");
        }
    }
}
