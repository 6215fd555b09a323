//! Original text of the reading and selection options, to show commands with the same options.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command};

use super::reading::Reading;
use super::selecting::Selecting;

/// An option from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionText {
    /// Long name.
    pub(crate) name: String,
    /// Value, or `None` for a flag.
    pub(crate) value: Option<String>,
}

/// Returns the reading and selection options from a verb's command line.
pub(crate) fn option_texts(matches: &ArgMatches) -> Vec<OptionText> {
    let mut given = Vec::new();
    let known = Selecting::augment_args(Reading::augment_args(Command::new("")));
    for argument in known.get_arguments() {
        let id = argument.get_id().as_str();
        let is_given =
            matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(name) = argument.get_long().filter(|_| is_given) else { continue };
        let option = |value| OptionText { name: name.to_owned(), value };
        if !argument.get_action().takes_values() {
            given.push(option(None));
            continue;
        }
        let values = matches.get_raw_occurrences(id).into_iter().flatten();
        given.extend(values.map(|values| {
            let values: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
            option(Some(values.join(" ")))
        }));
    }
    given
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn options_are_kept_as_they_were_given() {
        let words = "view --no-open --event a* --event b --clock-gmt -b -5.2 --port 7 --offset x=1s x";
        let matches = crate::args::LowArgs::command()
            .try_get_matches_from(["ichnos"].into_iter().chain(words.split(' ')));
        let matches = matches.unwrap();
        let given = option_texts(matches.subcommand_matches("view").unwrap());
        let texts: Vec<String> = given
            .into_iter()
            .map(|OptionText { name, value }| {
                name + &value.map_or(String::new(), |value| format!("={value}"))
            })
            .collect();
        assert_eq!(texts, ["offset=x=1s", "begin=-5.2", "event=a*", "event=b", "clock-gmt"]);
    }
}
