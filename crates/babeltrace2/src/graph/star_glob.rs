//! Patterns with stars, for names of components and ports.

/// Returns `true` if a text matches a pattern. `*` stands for any text, and `\` makes the next character literal.
pub(crate) fn matches_star_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut position) = (0, 0);
    // Positions after the last star, from where a longer match of that star is tried.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let (literal, width) = match pattern.get(at) {
            Some('\\') if at + 1 < pattern.len() => (pattern.get(at + 1), 2),
            Some('*') => {
                retry = Some((at + 1, position));
                at += 1;
                continue;
            }
            other => (other, 1),
        };
        match (literal, text.get(position)) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == found => {
                at += width;
                position += 1;
            }
            _ => match retry {
                Some((after, from)) if from < text.len() => {
                    retry = Some((after, from + 1));
                    (at, position) = (after, from + 1);
                }
                _ => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let cases = [
            ("", "", true),
            ("*", "", true),
            ("*", "anything", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("a\\", "a\\", true),
            ("in*", "in", true),
            ("out", "outer", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches_star_glob(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!matches_star_glob(&"*a".repeat(50), &"a".repeat(49)));
    }
}
