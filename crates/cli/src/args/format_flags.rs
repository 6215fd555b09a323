//! Format options without the format's name, for reading and for writing. For example, `--metadata` is short for
//! `-O FORMAT.metadata=`.

use std::ffi::{OsStr, OsString};

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use ichnos::convert::Target;
use ichnos::io::{FormatOptions, OptionHint};
use ichnos::{FormatOption, OpenOptions, OptionError, OptionKind, OptionValue};

use crate::exit::Failure;

/// Option values by name, for writing if `WRITES`, otherwise for reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct OptionFlags<const WRITES: bool> {
    given: Vec<(&'static str, OsString)>,
}

/// Options for reading.
pub(crate) type FormatFlags = OptionFlags<false>;
/// Options for writing.
pub(crate) type WriterFlags = OptionFlags<true>;

impl WriterFlags {
    /// Returns the options for an output format.
    ///
    /// # Errors
    /// If the format lacks one of the options.
    pub(crate) fn for_target(&self, target: Target) -> Result<FormatOptions, Failure> {
        let mut options = FormatOptions::default();
        let declared = target.writer.options();
        for (name, value) in &self.given {
            if !declared.iter().any(|option| option.name == *name) {
                let formats = all::<true>().filter(|(_, option)| option.name == *name);
                let formats: Vec<&str> = formats.map(|(format, _)| format).collect();
                let (formats, format) = (formats.join(", "), target.format);
                let message = format!("`--{name}` is for output of the format {formats}, not of {format}");
                return Err(Failure::new(message).help("leave it out, or name that format with --to"));
            }
            let set = options.set(target.format, declared, name, value);
            set.map_err(|error| Failure::new(error.to_string()))?;
        }
        Ok(options)
    }

    /// Returns the value of an option, if it was given.
    pub(crate) fn value(&self, option: &str) -> Option<&OsStr> {
        self.given.iter().find(|(name, _)| *name == option).map(|(_, value)| &**value)
    }

    /// Returns `true` if the output should be added to an existing directory.
    pub(crate) fn append(&self) -> bool {
        self.value("append").is_some()
    }
}

impl FormatFlags {
    /// Returns the names of the given options.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.given.iter().map(|(name, _)| *name)
    }

    /// Returns the options whose values are otherwise detected from the trace.
    pub(crate) fn choices(&self) -> impl Iterator<Item = &'static str> {
        let is_choice =
            |name: &&str| declared(name).any(|(_, option)| matches!(option.kind, OptionKind::Choice(_)));
        self.names().filter(is_choice)
    }

    /// Sets the options in all formats that declare them and accept the value.
    pub(crate) fn set(&self, options: &mut OpenOptions) -> Result<(), OptionError> {
        for (name, value) in &self.given {
            let mut set = |(format, option)| options.set(&full_name(format, option), value);
            let results: Vec<Result<(), OptionError>> = declared(name).map(&mut set).collect();
            if !results.iter().any(Result::is_ok) {
                results.into_iter().collect::<Result<(), _>>()?;
            }
        }
        Ok(())
    }
}

/// Returns the formats that declare an option with this name, and the options.
pub(crate) fn declared(name: &str) -> impl Iterator<Item = (&'static str, &'static FormatOption)> {
    all::<false>().filter(move |(_, option)| option.name == name)
}

/// Returns a suggested option as the user should write it.
pub(crate) fn written(hint: &OptionHint) -> String {
    let is_unprefixed = all::<false>().any(|(format, option)| full_name(format, option) == hint.option);
    let (option, value) = (hint.option, &hint.value);
    let option = match option.split_once('.') {
        Some((_, name)) if is_unprefixed => format!("--{} {value}", flag(name)),
        _ => format!("-O {option}={value}"),
    };
    let path = hint.path.as_ref().map(|path| format!("{path} ")).unwrap_or_default();
    format!("`{path}{option}` {}", hint.effect)
}

/// Returns the option `FORMAT.OPTION` as written on the command line.
pub(crate) fn name(option: &str) -> String {
    let is_unprefixed = all::<false>().any(|(format, known)| full_name(format, known) == option);
    match option.split_once('.') {
        Some((_, name)) if is_unprefixed => format!("--{}", flag(name)),
        _ => format!("-O {option}"),
    }
}

/// Returns the flag for an option. As the output has a dialect, too, the input dialect is `--from-dialect`.
pub(crate) fn flag(option: &str) -> &str {
    if option == "dialect" { "from-dialect" } else { option }
}

fn full_name(format: &str, option: &FormatOption) -> String {
    format!("{format}.{}", option.name)
}

/// Returns all options for writing or for reading, each with its format name.
fn all<const WRITES: bool>() -> impl Iterator<Item = (&'static str, &'static FormatOption)> {
    let read = ichnos::formats().map(|format| (format.name, format.options));
    let written = ichnos::convert::targets().map(|target| (target.format, target.writer.options()));
    let all = read.filter(|_| !WRITES).chain(written.filter(|_| WRITES));
    all.flat_map(|(format, options)| options.iter().map(move |option| (format, option)))
        .filter(|(_, option)| option.unprefixed)
}

fn argument<const WRITES: bool>(option: &'static FormatOption) -> Arg {
    let name = option.name;
    let argument = Arg::new(name).long(flag(name)).value_name(option.value_name).help(option.about);
    let argument = if WRITES { argument } else { argument.help_heading("Reading") };
    let argument = argument.hide_short_help(true);
    let argument = match option.details {
        "" => argument,
        details => argument.long_help(format!("{}\n\n{details}", option.about)),
    };
    match option.kind {
        OptionKind::File => {
            let parser = ValueParser::from(OsStringValueParser::new());
            argument.value_hint(ValueHint::FilePath).value_parser(parser)
        }
        OptionKind::Text => argument.value_parser(ValueParser::from(OsStringValueParser::new())),
        OptionKind::Texts => {
            argument.action(ArgAction::Append).value_parser(ValueParser::from(OsStringValueParser::new()))
        }
        _ => {
            // Formats that share the option can have different values.
            let same = all::<WRITES>().filter(|(_, option)| option.name == name);
            let mut values: Vec<&OptionValue> = Vec::new();
            for value in same.flat_map(|(_, option)| option.values()) {
                if values.iter().all(|known| known.name != value.name) {
                    values.push(value);
                }
            }
            let values = values.into_iter().map(|value| {
                PossibleValue::new(value.name).aliases(value.aliases.iter().copied()).help(value.about)
            });
            argument.value_parser(PossibleValuesParser::new(values))
        }
    }
}

impl<const WRITES: bool> clap::Args for OptionFlags<WRITES> {
    fn augment_args(command: Command) -> Command {
        let is_first = |(format, option): &(&str, &FormatOption)| {
            let mut same = all::<WRITES>().filter(|(_, other)| other.name == option.name);
            same.next().is_some_and(|(first, _)| first == *format)
        };
        command.args(all::<WRITES>().filter(is_first).map(|(_, option)| argument::<WRITES>(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const WRITES: bool> clap::FromArgMatches for OptionFlags<WRITES> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (_, option) in all::<WRITES>() {
            let values = matches.get_raw(option.name).into_iter().flatten();
            // Only the last value of most options counts.
            let values: Vec<_> = match option.kind {
                OptionKind::Texts => values.collect(),
                _ => values.last().into_iter().collect(),
            };
            if !values.is_empty() {
                self.given.retain(|(name, _)| *name != option.name);
                self.given.extend(values.into_iter().map(|value| (option.name, value.to_owned())));
            }
        }
        Ok(())
    }
}
