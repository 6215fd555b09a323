//! Parses the command line, with answers for options that come from other programs or do not apply.

mod babeltrace_compat;
mod option_check;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

#[cfg(feature = "view")]
use clap::ArgMatches;
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};
use ichnos::export::{TerminalText, for_terminal};

use crate::args::{self, LowArgs, When, limits};
use crate::exit::{Exit, Failure};
use crate::input::{event_map, live};
use crate::output::{self, safe};

/// Parses the command line. Ends the program if clap finds an error, or if help was requested.
///
/// # Errors
/// For errors that clap does not find: options from other programs, and options that do not apply.
pub(crate) fn parse() -> Result<LowArgs, Failure> {
    let mut command = LowArgs::command();
    let words: Vec<OsString> = mark_queries(std::env::args_os().collect(), &command);
    let topic = match words.get(1..) {
        Some([help, topic]) if help == "help" => match topic.to_str() {
            Some("limits") => Some(limits::help()),
            Some("map") => Some(event_map::help()),
            _ => None,
        },
        _ => None,
    };
    if let Some(text) = topic {
        output::print_as_it_is(&text)?;
        std::process::exit(Exit::Success as i32);
    }
    let words = record_as_convert(babeltrace_compat::arrange(words, &mut command)?);
    let parsed = command.try_get_matches_from_mut(&words).and_then(|matches| {
        let args = LowArgs::from_arg_matches(&matches);
        args.map(|args| (args, matches)).map_err(|error| error.format(&mut command))
    });
    match parsed {
        Ok((args, matches)) => {
            option_check::check(&args, &matches)?;
            #[cfg(feature = "view")]
            let args = with_option_texts(args, &matches);
            Ok(args)
        }
        Err(error) if let Some(failure) = babeltrace_compat::missing_pair(&error, &words) => Err(failure),
        Err(error) if error.use_stderr() => end_by_usage(error, &words),
        // Errors of writing the help must be reported.
        Err(help) => {
            ichnos::io::OutputFile::standard()?;
            help.print()?;
            std::io::stdout().flush()?;
            std::process::exit(Exit::Success as i32)
        }
    }
}

/// Puts a space before an SQL query that begins with a comment: clap would take it for an option.
fn mark_queries(mut words: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let (before, arguments) = split_at_verb(&mut words);
    if before.last().is_some_and(|verb| verb == "sql") {
        for query in arguments.iter_mut().filter(|word| is_commented_query(word, command)) {
            *query = [OsStr::new(" "), query.as_os_str()].into_iter().collect();
        }
    }
    words
}

/// Returns `true` for a comment with several words or lines. Option values can have several lines, too.
fn is_commented_query(word: &OsStr, command: &clap::Command) -> bool {
    let Some(comment) = word.to_str().and_then(|word| word.strip_prefix("--")) else { return false };
    let is_option = || {
        let name = comment.split('=').next();
        let sql = <args::SqlArgs as clap::Args>::augment_args(clap::Command::new("sql"));
        let mut options = command.get_arguments().chain(sql.get_arguments());
        options.any(|option| {
            let others = option.get_all_aliases().unwrap_or_default();
            option.get_long() == name || others.iter().any(|other| Some(*other) == name)
        })
    };
    comment.starts_with([' ', '\n']) || comment.contains('\n') && !is_option()
}

/// Returns the words up to the verb, and the words after it. The first are empty without a verb.
fn split_at_verb(words: &mut [OsString]) -> (&mut [OsString], &mut [OsString]) {
    let verb = words.iter().skip(1).position(|word| !word.to_string_lossy().starts_with('-'));
    words.split_at_mut(verb.map_or(0, |before| before + 2))
}

/// Replaces the verb `record` by `convert` if an input is not a process, because `convert` keeps all other live inputs.
fn record_as_convert(mut words: Vec<OsString>) -> Vec<OsString> {
    let (before, arguments) = split_at_verb(&mut words);
    let mut inputs = arguments.iter().take_while(|word| *word != "--");
    if let Some(verb) = before.last_mut().filter(|verb| *verb == "record")
        && inputs.any(|word| is_other_live_input(word))
    {
        *verb = "convert".into();
    }
    words
}

/// Returns `true` for the address of a live input other than a process, and for the option of receivers.
fn is_other_live_input(word: &OsStr) -> bool {
    let is_option = word.to_str().is_some_and(|word| word == "--listen" || word.starts_with("--listen="));
    is_option || live::is_network_address(Path::new(word))
}

/// Returns the arguments after the verb `babeltrace2`, or all if the program has this name.
#[cfg(feature = "babeltrace2")]
pub(crate) fn babeltrace2_arguments() -> Option<impl Iterator<Item = OsString>> {
    let mut words = std::env::args_os();
    let program = words.next()?;
    let name = std::path::Path::new(&program).file_name()?;
    let is_link = name.to_string_lossy().starts_with("babeltrace");
    let mut is_verb = || words.next().is_some_and(|verb| verb == "babeltrace2");
    (is_link || is_verb()).then_some(words)
}

/// Stores the original option text for `view`, which shows equivalent commands.
#[cfg(feature = "view")]
fn with_option_texts(mut args: LowArgs, matches: &ArgMatches) -> LowArgs {
    if let (args::Verb::View(view), Some((_, given))) = (&mut args.verb, matches.subcommand()) {
        view.option_texts = args::option_texts(given);
    }
    args
}

/// Prints a usage error and ends the program.
fn end_by_usage(error: clap::Error, arguments: &[OsString]) -> ! {
    // Arguments can be file names. Parsing their printable form again gives a message that needs no escaping.
    let printable: Vec<OsString> =
        arguments.iter().map(|argument| safe(&argument.to_string_lossy()).into_owned().into()).collect();
    let error = match LowArgs::try_parse_from(&printable) {
        Err(about_printable) if error.use_stderr() && arguments != printable => about_printable,
        _ => error,
    };
    let error = babeltrace_compat::improve(error);
    let paint = When::Auto.stderr();
    if !error.use_stderr() || !std::io::stderr().is_terminal() {
        error.exit();
    }
    let text = error.render();
    let text = if paint.is_on() { text.ansi().to_string() } else { text.to_string() };
    let text = for_terminal(&text, TerminalText::Lines { colors: paint.is_on() });
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    std::process::exit(error.exit_code())
}
