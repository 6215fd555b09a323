//! Name patterns.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::QueryError;

/// Name patterns. A name matches if one of the patterns does.
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
                QueryError::new(format!("invalid pattern in {option}: {error}"))
                    .help("`*` is any text, `?` any character, `[a-z]` one of them, `{a,b}` a or b")
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

    /// Returns `true` if one of the patterns matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }
}
