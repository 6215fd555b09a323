//! The command `query`.

use crate::arguments::class_name::parse_named_class;
use crate::arguments::options::{Item, OptionId, OptionNames, Options, flag, with_argument};
use crate::command::{Action, Failure};
use crate::help::usage;
use crate::parameters::{extend, parse_option};
use crate::value::Map;

static OPTIONS: &[OptionNames] =
    &[flag(OptionId::Help, Some('h'), "help"), with_argument(OptionId::Params, Some('p'), "params")];

/// Parses the command arguments.
///
/// # Errors
/// If they are not a component class, an object and parameters.
pub(crate) fn parse(words: &[String], words_before: usize) -> Result<Action, Failure> {
    let help = || Ok(Action::Print(usage::QUERY.to_owned()));
    let mut parameters = Map::default();
    let mut class = None;
    let mut object = None;
    for item in Options::new(words, OPTIONS) {
        match item {
            Ok(Item::Option { id: OptionId::Help, .. }) => return help(),
            Ok(Item::Option { argument, .. }) => {
                extend(&mut parameters, parse_option(argument, "--params")?);
            }
            Ok(Item::Word { text, .. }) if class.is_none() => class = Some(text),
            Ok(Item::Word { text, .. }) if object.is_none() => object = Some(text),
            Ok(Item::Word { text, .. }) => {
                let problem = "Extraneous command-line argument specified to `query` command";
                return Err(Failure::from_cause(format!("{problem}: `{text}`.")));
            }
            Err(error) => return Err(error.failure("query", words_before)),
        }
    }
    let (Some(class), Some(object)) = (class, object) else { return help() };
    let context = "Invalid format for component class specification:\n    ";
    let class = parse_named_class(class, context)?;
    if object.is_empty() {
        return Err(Failure::from_cause("Invalid empty object."));
    }
    Ok(Action::Query { class: class.class, object: object.to_owned(), parameters })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::parse_parameters;

    fn parse_line(line: &[&str]) -> Result<Action, Failure> {
        let words: Vec<String> = line.iter().map(ToString::to_string).collect();
        parse(&words, 1)
    }

    #[test]
    fn queries() {
        let expected = Action::Query {
            class: parse_named_class("src.ctf.fs", "").unwrap().class,
            object: "babeltrace.trace-infos".to_owned(),
            parameters: parse_parameters("a=3,b=x,c=y").unwrap(),
        };
        let line = ["-p", "a=2,b=x", "src.ctf.fs", "babeltrace.trace-infos", "--params=c=y,a=3"];
        assert_eq!(parse_line(&line), Ok(expected));
        for line in [&[][..], &["src.ctf.fs"], &["-h"], &["src.ctf.fs", "x", "--help"]] {
            assert_eq!(parse_line(line), Ok(Action::Print(usage::QUERY.to_owned())), "{line:?}");
        }
    }

    #[test]
    fn errors() {
        let cases: &[(&[&str], &str)] = &[
            (&["a", "b", "c"], "Extraneous command-line argument specified to `query` command: `c`."),
            (&["src.a", "b"], "Invalid format for component class specification:\n    src.a"),
            (&["src.a.b.c", "b"], "Invalid format for component class specification:\n    src.a.b.c"),
            (&["src.a.b", ""], "Invalid empty object."),
            (
                &["-p", "a=3,"],
                "Invalid format for --params option's argument:\n    Expecting unquoted map key:\n\n    a=3,\n        ^",
            ),
            (
                &["--pa"],
                "While parsing `query` command's command-line arguments: While parsing argument #2 (`--pa`): Unknown \
                 option `--pa`",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(parse_line(line).unwrap_err().causes[0], *expected, "{line:?}");
        }
    }
}
