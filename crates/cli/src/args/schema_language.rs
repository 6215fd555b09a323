//! Languages of `schema --as`, which formats declare.

use clap::builder::{PossibleValue, PossibleValuesParser};
use ichnos::io::SchemaLanguage;

/// Returns a parser of all languages' names.
pub(crate) fn parser() -> PossibleValuesParser {
    PossibleValuesParser::new(languages().map(|language| {
        PossibleValue::new(language.name).aliases(language.aliases.iter().copied()).help(language.title)
    }))
}

/// Returns all languages.
pub(crate) fn languages() -> impl Iterator<Item = &'static SchemaLanguage> {
    ichnos::formats().flat_map(|format| format.schema_languages)
}
