//! Languages in which schemas are written.

use ichnos_model::{Limits, TraceClass};

/// A language in which a format writes schemas of traces of any format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SchemaLanguage {
    /// Short name, for options: lower case and hyphens; unique among all languages.
    pub name: &'static str,
    /// Further names.
    pub aliases: &'static [&'static str],
    /// Display name.
    pub title: &'static str,
    /// Writes a schema that can be read within the limits.
    ///
    /// # Errors
    /// All items that the language cannot express, a line each.
    pub write: WriteSchema,
}

/// Writes a schema in a language.
pub type WriteSchema = fn(&TraceClass, &Limits) -> Result<WrittenSchema, Vec<String>>;

impl SchemaLanguage {
    /// Makes a language with a name and a title.
    #[must_use]
    pub const fn new(name: &'static str, title: &'static str, write: WriteSchema) -> Self {
        Self { name, aliases: &[], title, write }
    }

    /// Sets further names.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// A schema in a language.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenSchema {
    /// The text.
    pub text: String,
    /// Notices of related items that are not in the text, a sentence each.
    pub notices: Vec<String>,
}

impl WrittenSchema {
    /// Makes a schema without notices.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), notices: Vec::new() }
    }
}
