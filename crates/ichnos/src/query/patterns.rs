//! Name patterns.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::QueryError;

/// How to write a pattern.
const PATTERN_HELP: &str = "`*` is any text, `?` any character, `[a-z]` one of them, `{a,b}` a or b; `[[]` and `[{]` are `[` and `{`";

/// Name patterns. A name matches if one of the patterns does, or if it is spelled like one of them: names can contain
/// brackets.
#[derive(Clone, Debug)]
pub struct Patterns {
    /// Patterns as written.
    texts: Arc<[String]>,
    set: GlobSet,
}

impl Patterns {
    /// Compiles the patterns of an option. Returns `None` without patterns.
    ///
    /// # Errors
    /// If one is invalid.
    pub fn new(texts: &[String], option: &str) -> Result<Option<Self>, QueryError> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut builder = GlobSetBuilder::new();
        for text in texts {
            let glob = Glob::new(text).map_err(|error| {
                QueryError::new(format!("invalid pattern in {option}: {error}")).help(PATTERN_HELP)
            })?;
            builder.add(glob);
        }
        let set = builder
            .build()
            .map_err(|error| QueryError::new(format!("invalid patterns in {option}: {error}")))?;
        Ok(Some(Self { texts: texts.into(), set }))
    }

    /// Returns the patterns as written.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns `true` if one of the patterns matches a name, or is spelled like it.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.set.is_match(name) || self.texts.iter().any(|text| text == name)
    }

    /// Returns each pattern as written, with the pattern alone.
    pub fn each(&self) -> impl Iterator<Item = (&str, Self)> {
        let single = |text: &String| Self::new(std::slice::from_ref(text), "").ok().flatten();
        self.texts.iter().filter_map(move |text| Some((text.as_str(), single(text)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Patterns {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        Patterns::new(&texts, "--event").unwrap().unwrap()
    }

    #[test]
    fn names_match_as_they_are_spelled() {
        let found = patterns(&["List[int]", "a*"]);
        assert!(["List[int]", "Listi", "abc", "a*"].iter().all(|name| found.matches(name)));
        assert!(!found.matches("List[i]") && !found.matches("b"));
        let each: Vec<_> = found.each().map(|(text, one)| (text, one.matches("abc"))).collect();
        assert_eq!(each, [("List[int]", false), ("a*", true)]);
    }

    #[test]
    fn an_invalid_pattern_is_an_error_with_a_way_to_write_the_name() {
        let error = Patterns::new(&["b[1".to_owned()], "--event").unwrap_err();
        assert!(error.message.starts_with("invalid pattern in --event: "), "{}", error.message);
        assert!(error.help.unwrap().contains("`[[]`"));
        assert!(patterns(&["b[[]1"]).matches("b[1"));
    }
}
