//! Languages for `schema --as`. Formats declare them.

use clap::builder::{PossibleValue, PossibleValuesParser};
use ichnos::io::SchemaLanguage;

/// Returns the parser for language names.
pub(crate) fn parser() -> PossibleValuesParser {
    PossibleValuesParser::new(languages().map(|language| {
        PossibleValue::new(language.name).aliases(language.aliases.iter().copied()).help(language.title)
    }))
}

/// Returns all languages.
pub(crate) fn languages() -> impl Iterator<Item = &'static SchemaLanguage> {
    ichnos::formats().flat_map(|format| format.schema_languages)
}
