//! Options with a choice of named values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Name, description and value. A name without a description is hidden, for example an alias.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// Returns the parser for a choice.
pub(crate) fn parser<T: Clone + Send + Sync + 'static>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let shown = |(name, about, _): &Choice<T>| PossibleValue::new(*name).help(*about).hide(about.is_empty());
    PossibleValuesParser::new(choices.iter().map(shown)).try_map(move |name| {
        let choice = choices.iter().find(|(known, ..)| *known == name);
        choice.map(|(.., value)| value.clone()).ok_or("unknown value")
    })
}
