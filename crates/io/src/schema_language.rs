//! Schema languages.

use ichnos_model::TraceClass;
use ichnos_model::trace::Limits;

/// A language in which a format writes trace schemas, for traces in any format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SchemaLanguage {
    /// Short name, for options: lower case and hyphens. Must be unique among all languages.
    pub name: &'static str,
    /// Aliases.
    pub aliases: &'static [&'static str],
    /// Display name.
    pub title: &'static str,
    /// Writes a schema that can be read within the limits.
    ///
    /// # Errors
    /// Returns all items that the language cannot express, one line each.
    pub write: WriteSchema,
}

/// Writes a schema in a language.
pub type WriteSchema = fn(&TraceClass, &Limits) -> Result<WrittenSchema, Vec<String>>;

impl SchemaLanguage {
    /// Creates a language with a name and a title.
    #[must_use]
    pub const fn new(name: &'static str, title: &'static str, write: WriteSchema) -> Self {
        Self { name, aliases: &[], title, write }
    }

    /// Sets aliases.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// Schema text, with notices about missing items.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenSchema {
    /// Schema text.
    pub text: String,
    /// Notices about related items that are missing from the text, one sentence each.
    pub notices: Vec<String>,
}

impl WrittenSchema {
    /// Creates a schema without notices.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), notices: Vec::new() }
    }
}
