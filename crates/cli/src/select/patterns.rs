//! Name patterns.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::exit::Failure;

/// Name patterns. A name matches if one of the patterns does.
#[derive(Clone)]
pub(crate) struct Patterns {
    /// Patterns as written.
    pub(crate) texts: Arc<[String]>,
    set: GlobSet,
}

impl Patterns {
    /// Compiles the patterns of an option. Returns `None` without patterns.
    pub(crate) fn new(texts: &[String], option: &str) -> Result<Option<Self>, Failure> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut builder = GlobSetBuilder::new();
        for text in texts {
            let glob = Glob::new(text).map_err(|error| {
                Failure::new(format!("invalid pattern in {option}: {error}"))
                    .help("`*` is any text, `?` any character, `[a-z]` one of them, `{a,b}` a or b")
            })?;
            builder.add(glob);
        }
        let set = builder
            .build()
            .map_err(|error| Failure::new(format!("invalid patterns in {option}: {error}")))?;
        Ok(Some(Self { texts: texts.into(), set }))
    }

    /// Returns `true` if one of the patterns matches a name.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }
}
