//! Event providers of .NET processes.

use clap::builder::{PossibleValue, PossibleValuesParser};
use ichnos::dotnet_diagnostics::providers::{PROFILES, Provider, Providers};

/// Returns a parser for the names of profiles.
pub(super) fn profiles() -> PossibleValuesParser {
    let all = PROFILES.iter().map(|profile| PossibleValue::new(profile.name).help(profile.description));
    all.collect::<Vec<_>>().into()
}

/// Checks a list of providers. The text is kept, because it is merged with others.
pub(super) fn check(text: &str) -> Result<String, String> {
    match Providers::new(&[], &[text]) {
        Ok(found) if found.iter().len() == 0 => Provider::parse("").map(drop),
        found => found.map(drop),
    }
    .map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_checked() {
        assert!(check("A:1:5,B").is_ok() && check("").is_err() && check("A:1:high").is_err());
    }
}
