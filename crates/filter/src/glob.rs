//! Patterns with stars.

use memchr::memmem::Finder;

use super::syntax::Literal;

/// Pattern. Its stars match any text.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    first: Box<[u8]>,
    middle: Vec<Finder<'static>>,
    last: Box<[u8]>,
}

impl Glob {
    /// Creates a pattern. `None` for a text without stars.
    pub(super) fn new(literal: &Literal) -> Option<Self> {
        let text = literal.text.as_bytes();
        let (first_star, last_star) = (*literal.stars.first()?, *literal.stars.last()?);
        let between = literal.stars.windows(2).map(|stars| &text[stars[0] + 1..stars[1]]);
        Some(Self {
            first: text[..first_star].into(),
            middle: between
                .filter(|part| !part.is_empty())
                .map(|part| Finder::new(part).into_owned())
                .collect(),
            last: text[last_star + 1..].into(),
        })
    }

    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let Some(rest) = text.strip_prefix(&*self.first) else { return false };
        let Some(mut rest) = rest.strip_suffix(&*self.last) else { return false };
        self.middle.iter().all(|part| match part.find(rest) {
            Some(at) => {
                rest = &rest[at + part.needle().len()..];
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let matches = |pattern: &str, text: &str| {
            let stars = pattern.match_indices('*').map(|(at, _)| at).collect();
            Glob::new(&Literal { text: pattern.to_owned(), stars }).unwrap().matches(text.as_bytes())
        };
        for (pattern, text) in [
            ("*", ""),
            ("a*", "a"),
            ("*b", "ab"),
            ("a*a", "aa"),
            ("a*b*c", "axxbc"),
            ("**", "x"),
            ("*bc*c", "abcbcc"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*", "ba"), ("a*a", "a"), ("a*b*c", "acb"), ("*b*b", "b"), ("ab*b", "ab")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert!(Glob::new(&Literal::default()).is_none());
    }
}
