//! Options of single formats that are written without the format's name: `--dialect` instead of
//! `-O FORMAT.dialect=`.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgMatches, Command, ValueHint};
use ichnos::io::OptionHint;
use ichnos::{FORMATS, Format, FormatOption, OpenOptions, OptionError, OptionKind};

/// Given options, by name.
#[derive(Debug, Default)]
pub(crate) struct FormatFlags {
    given: Vec<(&'static str, OsString)>,
}

impl FormatFlags {
    /// Returns the names of the given options.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.given.iter().map(|(name, _)| *name)
    }

    /// Returns the names of those that set a value which is otherwise detected.
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
pub(crate) fn declared(name: &str) -> impl Iterator<Item = (&'static dyn Format, &'static FormatOption)> {
    all().filter(move |(_, option)| option.name == name)
}

/// Returns a suggested option as written on the command line.
pub(crate) fn written(hint: &OptionHint) -> String {
    let is_unprefixed = all().any(|(format, option)| full_name(format, option) == hint.option);
    let (option, value) = (hint.option, &hint.value);
    let option = match option.split_once('.') {
        Some((_, name)) if is_unprefixed => format!("--{name} {value}"),
        _ => format!("-O {option}={value}"),
    };
    let path = hint.path.as_ref().map(|path| format!("{path} ")).unwrap_or_default();
    format!("`{path}{option}` {}", hint.effect)
}

/// Returns the option `FORMAT.OPTION` as written on the command line.
pub(crate) fn name(option: &str) -> String {
    let is_unprefixed = all().any(|(format, known)| full_name(format, known) == option);
    match option.split_once('.') {
        Some((_, name)) if is_unprefixed => format!("--{name}"),
        _ => format!("-O {option}"),
    }
}

fn full_name(format: &dyn Format, option: &FormatOption) -> String {
    format!("{}.{}", format.name(), option.name)
}

fn all() -> impl Iterator<Item = (&'static dyn Format, &'static FormatOption)> {
    let own = |format: &&'static dyn Format| {
        let format = *format;
        format.options().iter().filter(|option| option.unprefixed).map(move |option| (format, option))
    };
    FORMATS.iter().flat_map(own)
}

fn argument(option: &'static FormatOption) -> Arg {
    let name = option.name;
    let argument = Arg::new(name).long(name).value_name(option.value_name).help(option.about);
    let argument = argument.help_heading("Reading").hide_short_help(true);
    let argument = match option.details {
        "" => argument,
        details => argument.long_help(format!("{}\n\n{details}", option.about)),
    };
    match option.kind {
        OptionKind::File => {
            let parser = ValueParser::from(OsStringValueParser::new());
            argument.value_hint(ValueHint::FilePath).value_parser(parser)
        }
        _ => {
            // Formats that share the option may have other values.
            let values = declared(name).flat_map(|(_, option)| option.values());
            let values = values.map(|value| {
                PossibleValue::new(value.name).aliases(value.aliases.iter().copied()).help(value.about)
            });
            argument.value_parser(PossibleValuesParser::new(values))
        }
    }
}

impl clap::Args for FormatFlags {
    fn augment_args(command: Command) -> Command {
        let is_first = |(format, option): &(&dyn Format, &FormatOption)| {
            let mut same = declared(option.name).map(|(format, _)| format.name());
            same.next() == Some(format.name())
        };
        // A verb can have an option of the same name for its output.
        let taken: Vec<String> =
            command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect();
        let argument = |option: &'static FormatOption| {
            let argument = argument(option);
            match taken.iter().any(|long| long == option.name) {
                true => argument.long(format!("from-{}", option.name)),
                false => argument,
            }
        };
        command.args(all().filter(is_first).map(|(_, option)| argument(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for FormatFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (_, option) in all() {
            let value = matches.get_raw(option.name).and_then(|mut values| values.next_back());
            if let Some(value) = value {
                self.given.retain(|(name, _)| *name != option.name);
                self.given.push((option.name, value.to_owned()));
            }
        }
        Ok(())
    }
}
