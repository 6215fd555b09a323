//! The command line: general options, then a command and its arguments.

pub(crate) mod class_name;
pub(crate) mod environment;
pub(crate) mod escapes;
pub(crate) mod integers;
pub(crate) mod log_levels;
pub(crate) mod options;

use self::environment::Environment;
use self::log_levels::{parse_log_level, raise, raise_by_environment};
use self::options::{Item, OptionId, OptionNames, Options, flag, with_argument};
use crate::command::{Action, Command, Failure, LogLevel};
use crate::convert::{self, FindSources};
use crate::help::{self, usage};
use crate::{list_plugins, query, run};

static OPTIONS: &[OptionNames] = &[
    flag(OptionId::Debug, Some('d'), "debug"),
    flag(OptionId::Help, Some('h'), "help"),
    with_argument(OptionId::LogLevel, Some('l'), "log-level"),
    flag(OptionId::Verbose, Some('v'), "verbose"),
    flag(OptionId::Version, Some('V'), "version"),
    flag(OptionId::OmitHomePluginPath, None, "omit-home-plugin-path"),
    flag(OptionId::OmitSystemPluginPath, None, "omit-system-plugin-path"),
    with_argument(OptionId::PluginPath, None, "plugin-path"),
];

/// Babeltrace version with this command line.
const VERSION: &str = "2.1.2";

/// Wrong command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// Text for standard output before the failure.
    pub(crate) output: String,
    pub(crate) failure: Failure,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { output: String::new(), failure }
    }
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// If the command line is wrong, or if sources cannot be found.
pub(crate) fn parse(
    arguments: &[String],
    environment: &Environment<'_>,
    find_sources: FindSources<'_>,
) -> Result<Command, Refusal> {
    if arguments.is_empty() {
        let text = format!("{}\n{}", version(), usage::GENERAL);
        return Ok(Command { log_level: None, action: Action::Print(text) });
    }
    let wrong = |failure: Failure| failure.in_context("Command-line error: retcode=1");
    let general = match General::parse(arguments).map_err(wrong)? {
        Top::Print(text) => return Ok(Command { log_level: None, action: Action::Print(text) }),
        Top::Command(general) => general,
    };
    let General { mut log_level, words, words_before, .. } = general;
    if general.name != Name::Convert {
        raise_by_environment(&mut log_level, environment.variable);
    }
    let action = match general.name {
        Name::Convert => convert::parse(words, words_before, &mut log_level, environment, find_sources),
        Name::Run => run::parse(words, words_before),
        Name::Query => query::parse(words, words_before),
        Name::ListPlugins => {
            let omits_home = general.omits_home;
            let paths = list_plugins::plugin_paths(&general.plugin_paths, omits_home, environment.variable);
            list_plugins::run(words, words_before, &paths, environment).map(Action::Print)
        }
        Name::Help => {
            let subject = help::parse(words, words_before).map_err(wrong)?;
            match help::text(&subject, environment) {
                (text, None) => Ok(Action::Print(text)),
                (output, Some(failure)) => return Err(Refusal { output, failure }),
            }
        }
    };
    Ok(Command { action: action.map_err(wrong)?, log_level })
}

/// Command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Convert,
    Help,
    ListPlugins,
    Query,
    Run,
}

/// General options, and a command.
#[derive(Debug)]
struct General<'a> {
    log_level: Option<LogLevel>,
    plugin_paths: Vec<&'a str>,
    omits_home: bool,
    name: Name,
    /// Command arguments.
    words: &'a [String],
    /// Number of arguments before them.
    words_before: usize,
}

/// Outcome after the general options.
enum Top<'a> {
    Print(String),
    Command(General<'a>),
}

impl<'a> General<'a> {
    fn parse(arguments: &'a [String]) -> Result<Top<'a>, Failure> {
        let mut general = Self {
            log_level: None,
            plugin_paths: Vec::new(),
            omits_home: false,
            name: Name::Convert,
            words: arguments,
            words_before: 0,
        };
        let mut options = Options::new(arguments, OPTIONS);
        while let Some(item) = options.next() {
            match item {
                Ok(Item::Option { id: OptionId::Version, .. }) => return Ok(Top::Print(version())),
                Ok(Item::Option { id: OptionId::Help, .. }) => {
                    return Ok(Top::Print(usage::GENERAL.to_owned()));
                }
                Ok(Item::Option { id, argument }) => general.apply(id, argument)?,
                Ok(Item::Word { text, index }) => {
                    general.start_command(arguments, text, index);
                    return Ok(Top::Command(general));
                }
                // A `convert` option.
                Err(error) if error.is_unknown => {
                    general.set_words(arguments, options.consumed());
                    return Ok(Top::Command(general));
                }
                Err(error) => {
                    let text = format!("While parsing command-line arguments: {}", error.text(0));
                    return Err(Failure::from_cause(text));
                }
            }
        }
        Ok(Top::Print(usage::GENERAL.to_owned()))
    }

    fn apply(&mut self, id: OptionId, argument: &'a str) -> Result<(), Failure> {
        match id {
            OptionId::Debug => raise(&mut self.log_level, LogLevel::Trace),
            OptionId::Verbose => raise(&mut self.log_level, LogLevel::Info),
            OptionId::LogLevel => match parse_log_level(argument) {
                Some(level) => raise(&mut self.log_level, level),
                None => {
                    let text = format!("Invalid argument for --log-level option:\n    {argument}");
                    return Err(Failure::from_cause(text));
                }
            },
            OptionId::OmitHomePluginPath => self.omits_home = true,
            OptionId::PluginPath => self.plugin_paths.push(argument),
            // There are no system plugins.
            _ => {}
        }
        Ok(())
    }

    /// Starts with a word: a command, or an input for `convert`.
    fn start_command(&mut self, arguments: &'a [String], word: &str, index: usize) {
        let name = match word {
            "convert" => Some(Name::Convert),
            "help" => Some(Name::Help),
            "list-plugins" => Some(Name::ListPlugins),
            "query" => Some(Name::Query),
            "run" => Some(Name::Run),
            _ => None,
        };
        self.name = name.unwrap_or(Name::Convert);
        self.set_words(arguments, index.saturating_add(usize::from(name.is_some())));
    }

    fn set_words(&mut self, arguments: &'a [String], words_before: usize) {
        self.words = arguments.get(words_before..).unwrap_or_default();
        self.words_before = words_before;
    }
}

/// Returns the `--version` text. Programs that look for Babeltrace read the first line.
fn version() -> String {
    let own = env!("CARGO_PKG_VERSION");
    format!(
        "Babeltrace {VERSION} \"ichnos\" [ichnos {own}]\n\nThis command is ichnos {own}, which accepts the command line of \
         Babeltrace {VERSION}.\n"
    )
}

#[cfg(test)]
mod tests;
