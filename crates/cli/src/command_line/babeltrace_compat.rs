//! Accepts babeltrace2 command lines, or explains the ichnos equivalent.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{PROPERTIES, SCOPES};
use crate::exit::Failure;
use crate::suggestions::did_you_mean;

/// Puts the verb first, as the parser expects. A command line with only a path gets the verb `cat`.
///
/// # Errors
/// For options that only `babeltrace2` has. The error explains the equivalent.
pub(crate) fn arrange(mut words: Vec<OsString>, command: &mut Command) -> Result<Vec<OsString>, Failure> {
    // This builds the options that all verbs have, and no verb.
    command.render_usage();
    let verb = match words.get(1).and_then(|word| word.to_str()).filter(|word| is_verb(command, word)) {
        Some(verb) => verb.to_owned(),
        None => match put_verb_first(&mut words, command)? {
            Some(verb) => verb,
            None => return Ok(words),
        },
    };
    // They contain the command line of another program.
    if !matches!(verb.as_str(), "babeltrace2" | "record")
        && let Some(verb) = built(command, &verb)
    {
        answer_all(&words, verb)?;
    }
    Ok(words)
}

/// Returns a verb with its options.
fn built<'a>(command: &'a mut Command, verb: &str) -> Option<&'a Command> {
    let verb = command.find_subcommand_mut(verb)?;
    verb.build();
    Some(verb)
}

fn is_verb(command: &Command, name: &str) -> bool {
    let mut verbs = command.get_subcommands();
    verbs.any(|verb| verb.get_name() == name || verb.get_all_aliases().any(|alias| alias == name))
}

/// Puts the verb first, and returns it. It is `cat` if there is only a path.
fn put_verb_first(words: &mut Vec<OsString>, command: &mut Command) -> Result<Option<String>, Failure> {
    let Some(cat) = built(command, "cat").cloned() else { return Ok(None) };
    let cat = &cat;
    let command = &*command;
    let scanned = scan(words, cat);
    let is_known_above = |word: &CommandWord| match word {
        CommandWord::Option { name, .. } => {
            matches!(name.as_str(), "--help" | "-h" | "--version" | "-V") || has_option(command, name)
        }
        CommandWord::Path(_) => true,
    };
    let first = scanned.iter().position(|(_, word)| matches!(word, CommandWord::Path(_)));
    let options_before = || scanned[..first.unwrap_or(scanned.len())].iter();
    let has_own_options = options_before().any(|(_, word)| !is_known_above(word));
    let verb = match first.and_then(|first| scanned.get(first)) {
        Some((at, CommandWord::Path(path))) => {
            let name = path.to_string_lossy().into_owned();
            let is_foreign = foreign_verb(&name).is_some() && !Path::new(path).exists();
            if is_foreign || is_verb(command, &name) {
                if has_own_options {
                    let verb = words.remove(*at);
                    words.insert(1, verb);
                }
                name
            } else if is_path(path) {
                words.insert(1, "cat".into());
                "cat".to_owned()
            } else {
                let failure = Failure::new(format!("`{name}` is neither a command nor an existing path"));
                return Err(failure.help(similar_command(&name, command)));
            }
        }
        _ if has_own_options => {
            words.insert(1, "cat".into());
            "cat".to_owned()
        }
        _ => return Ok(None),
    };
    Ok(Some(verb))
}

/// Suggests commands with a similar name, or explains how to list all commands.
fn similar_command(name: &str, command: &Command) -> String {
    did_you_mean(name, command.get_subcommands().map(Command::get_name))
        .unwrap_or_else(|| "`ichnos --help` lists the commands; `ichnos PATH` prints a trace".to_owned())
}

/// Returns `true` if a word that is not a verb can only be a path.
fn is_path(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    text == "-" || text.contains('/') || text.starts_with(['.', '~']) || Path::new(word).exists()
}

/// A word on the command line.
enum CommandWord {
    /// An option, `--begin` or `-b` as written, with its value.
    Option {
        name: String,
        value: Option<String>,
    },
    Path(OsString),
}

/// Splits a command line into words with their positions. Errors are left to the parser.
fn scan(words: &[OsString], command: &Command) -> Vec<(usize, CommandWord)> {
    let takes_value = |name: &str| {
        let argument = command.get_arguments().find(|argument| is_called(argument, name));
        let is_foreign = || FOREIGN_WITH_VALUE.split(' ').any(|known| known == name);
        argument.map_or_else(is_foreign, |found| found.get_action().takes_values())
    };
    let mut scanned = Vec::new();
    let mut rest = words.iter().enumerate().skip(1);
    while let Some((at, word)) = rest.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            scanned.extend(rest.by_ref().map(|(at, word)| (at, CommandWord::Path(word.clone()))));
        } else if text.starts_with("--") {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&*text, None),
            };
            let value = match value {
                None if takes_value(name) => {
                    rest.next().map(|(_, value)| value.to_string_lossy().into_owned())
                }
                value => value,
            };
            scanned.push((at, CommandWord::Option { name: name.to_owned(), value }));
        } else if text.len() > 1 && text.starts_with('-') {
            for (i, letter) in text.char_indices().skip(1) {
                let name = format!("-{letter}");
                if !takes_value(&name) {
                    scanned.push((at, CommandWord::Option { name, value: None }));
                    continue;
                }
                let behind = text.get(i + letter.len_utf8()..).unwrap_or_default();
                let value = if behind.is_empty() {
                    rest.next().map(|(_, value)| value.to_string_lossy().into_owned())
                } else {
                    Some(behind.strip_prefix('=').unwrap_or(behind).to_owned())
                };
                scanned.push((at, CommandWord::Option { name, value }));
                break;
            }
        } else {
            scanned.push((at, CommandWord::Path(word.clone())));
        }
    }
    scanned
}

fn is_called(argument: &clap::Arg, name: &str) -> bool {
    if let Some(long) = name.strip_prefix("--") {
        return argument.get_long() == Some(long)
            || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&long));
    }
    let mut letters = name.chars().skip(1);
    let (Some(letter), None) = (letters.next(), letters.next()) else { return false };
    argument.get_short() == Some(letter)
        || argument.get_all_short_aliases().is_some_and(|aliases| aliases.contains(&letter))
}

fn has_option(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| is_called(argument, name))
}

/// Options with a value that only `babeltrace2` has, separated by spaces.
const FOREIGN_WITH_VALUE: &str = "--component -c --connect -x --params -p --log-level -l --plugin-path \
    --retry-duration --output-format";

/// Checks a command line for options that only `babeltrace2` has.
fn answer_all(words: &[OsString], verb: &Command) -> Result<(), Failure> {
    for (_, word) in scan(words, verb) {
        let answer = match &word {
            CommandWord::Path(path) => address(&path.to_string_lossy()),
            CommandWord::Option { name, value } => {
                let value = value.as_deref().unwrap_or_default();
                match name.as_str() {
                    "-o" if matches!(verb.get_name(), "cat" | "convert") => {
                        output_format(name, value, verb.get_name())
                    }
                    "-i" | "--input-format" | "--from" if value == "lttng-live" => Some(
                        Failure::new(format!("`{name} {value}`: the address alone is enough")).help(LIVE),
                    ),
                    _ if has_option(verb, name) => None,
                    _ => option(name, value),
                }
            }
        };
        if let Some(failure) = answer {
            return Err(failure);
        }
    }
    Ok(())
}

/// Returns the error for a `babeltrace2` option, with the equivalent.
fn option(name: &str, value: &str) -> Option<Failure> {
    let (message, help) = match name {
        "-c" | "--component" => ("ichnos has no components", component(value)),
        "-x" | "--connect" | "--run-args" | "--run-args-0" => (
            "ichnos has no components to connect",
            "`ichnos cat PATH...` reads traces, sorts their events by time and prints them",
        ),
        "-p" | "--params" => ("ichnos has options instead of component parameters", parameters(value)),
        "--plugin-path" | "--omit-home-plugin-path" | "--omit-system-plugin-path" => {
            ("ichnos has no plugins", "leave it out; `ichnos formats` lists what ichnos reads and prints")
        }
        "-l" | "--log-level" | "-d" | "--debug" | "--debug-mode" => (
            "ichnos does not have logging levels",
            "leave it out, or use `-v` to see notes, and `-q` to see less",
        ),
        "--retry-duration" => ("ichnos reads existing data, without retries", "leave it out"),
        "--output-format" => return output_format(name, value, "cat"),
        _ => return None,
    };
    Some(Failure::new(format!("`{}`: {message}", written(name, value))).help(help))
}

/// Returns an option and its value as written.
fn written(name: &str, value: &str) -> String {
    match value {
        "" => name.to_owned(),
        value if name.starts_with("--") => format!("{name}={value}"),
        value => format!("{name} {value}"),
    }
}

/// Returns the equivalent of a Babeltrace component.
fn component(value: &str) -> &'static str {
    let class = value.rsplit(':').next().unwrap_or_default();
    let class = class.replace("src.", "source.").replace("flt.", "filter.");
    match class.as_str() {
        "sink.text.pretty" => "`ichnos cat PATH` prints this text",
        "sink.text.details" => "`ichnos cat --format details PATH` prints this text",
        "sink.utils.dummy" => "`ichnos cat --format null PATH` reads everything and prints nothing",
        "sink.utils.counter" => {
            "`ichnos info --count PATH` counts events, and `ichnos cat --format null --stats PATH` counts \
            everything that is read"
        }
        "sink.ctf.fs" => WRITING,
        "source.ctf.fs" => "name the paths: `ichnos cat PATH...`",
        "source.ctf.lttng-live" => LIVE,
        "source.text.dmesg" => "ichnos does not read kernel messages; `ichnos formats` lists what it reads",
        "filter.utils.muxer" => "leave it out: `ichnos cat` always sorts events by time",
        "filter.utils.trimmer" => {
            "`ichnos cat --begin TIME --end TIME PATH` prints the events between two times"
        }
        "filter.lttng-utils.debug-info" => "`ichnos cat --target-prefix / PATH` adds source locations",
        _ => "`ichnos cat --format FORMAT PATH...` prints traces; `ichnos formats` lists the formats",
    }
}

/// Returns the equivalent of a component's parameter.
fn parameters(value: &str) -> &'static str {
    let name = value.split('=').next().unwrap_or_default().trim();
    match name {
        "clock-class-offset-s" => "`--clock-offset SECONDS` does the same",
        "clock-class-offset-ns" => "`--clock-offset-ns NANOSECONDS` does the same",
        "force-clock-class-origin-unix-epoch" => "`--assume-correlated` does the same",
        "inputs" | "trace-name" => "name the paths: `ichnos cat PATH...`",
        "begin" | "end" | "gmt" => "`--begin TIME`, `--end TIME` and `--clock-gmt` do the same",
        "compact" => "`--details compact` does the same",
        name if name.starts_with("with-") => "`--details NAME=YES|NO` does the same",
        name if name.starts_with("field-") => "`--fields FIELD` does the same",
        name if name.starts_with("name-") => "`--names NAME` does the same",
        "path" => "`--output FILE` does the same",
        _ => "`ichnos help cat` lists the options",
    }
}

const WRITING: &str = "`ichnos convert PATH -o OUT` writes traces";
const LIVE: &str = "`ichnos cat net://HOST/host/NAME/SESSION` prints a live session, and `ichnos info net://HOST` lists \
    the sessions";

/// Returns the error for `-o FORMAT`, the output format in `babeltrace2`. In ichnos, `-o` is the output file.
fn output_format(option: &str, value: &str, verb: &str) -> Option<Failure> {
    let help = match value {
        "text" if verb == "convert" => "`ichnos cat PATH` prints text",
        "dummy" if verb == "convert" => "`ichnos cat --format null PATH` reads everything and prints nothing",
        "text" => "text is the default: `ichnos cat PATH` prints `--format pretty`",
        "dummy" => "`--format null` reads everything and prints nothing",
        "ctf" => WRITING,
        "ctf-metadata" => "`ichnos schema PATH` prints the contents of the metadata",
        _ if option == "-o" => return None,
        _ => "`--format FORMAT` selects the format, `--output FILE` the file",
    };
    let (message, help) = if option == "-o" {
        let message = format!("`-o {value}`: `-o` is the file to write, not the format");
        let what = if verb == "convert" { "an output" } else { "a file" };
        (message, format!("{help}; {what} with this name is `-o ./{value}`"))
    } else {
        (format!("`{}`: ichnos has no such option", written(option, value)), help.to_owned())
    };
    Some(Failure::new(message).help(help))
}

/// Returns the error for a relay daemon address with another protocol name.
fn address(path: &str) -> Option<Failure> {
    const SCHEMES: [&str; 5] = ["lttng-live://", "lttng-live:", "tcp://", "tcp4://", "tcp6://"];
    let is_address = SCHEMES.iter().any(|scheme| path.starts_with(scheme));
    let failure = || Failure::new(format!("`{path}`: the address of a relay daemon begins with `net://`"));
    (is_address && !Path::new(path).exists()).then(|| failure().help(LIVE))
}

/// Returns the equivalent of a verb from another program.
fn foreign_verb(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "trim" => "`ichnos cut --begin TIME --end TIME PATH -o OUT` writes the events between two times",
        "run" => "ichnos has no components to connect: `ichnos cat PATH...` reads, merges and prints traces",
        "query" => {
            "ichnos has no components to query: `ichnos info PATH` describes a trace, \
             `ichnos schema PATH` its event classes"
        }
        "list-plugins" => "ichnos has no plugins: `ichnos formats` lists what it reads and prints",
        _ if ["source.", "src.", "filter.", "flt.", "sink."].iter().any(|kind| verb.starts_with(kind)) => {
            "ichnos has no components: `ichnos formats` lists what it reads and prints, `ichnos help` the commands"
        }
        _ => return None,
    })
}

/// Suggests a replacement for an option that users may expect.
fn missing_option(option: &str) -> Option<&'static str> {
    Some(match option {
        "--pid" | "--tid" | "--vpid" | "--vtid" | "--procname" | "--process" | "--cpu" | "--where"
        | "--field" => {
            "select events with --event, --stream, --begin and --end, or by fields: --filter 'vpid == 5'"
        }
        "--dialect" => "--from-dialect names the dialect of the input",
        "--max" => "--resource-limit NAME=VALUE sets limits, --max-events N stops after N events",
        "--follow" => "`ichnos cat`, `ichnos stats` and `ichnos view` follow growing files",
        "--text" | "--pretty" => "`--format pretty` is the default of `ichnos cat`",
        _ => return None,
    })
}

/// Improves the hints in a parser error.
pub(crate) fn improve(mut error: clap::Error) -> clap::Error {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (argument, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let hint = foreign_verb(&text(ContextKind::InvalidSubcommand));
            if hint.is_some() {
                error.remove(ContextKind::SuggestedSubcommand);
            }
            // The parser suggests passing the command as a value, which is rarely intended.
            let usage = error.get(ContextKind::Usage).map(ContextValue::to_string).unwrap_or_default();
            let command = if usage.contains("ichnos task ") { "ichnos task" } else { "ichnos" };
            Some(hint.map_or_else(|| format!("`{command} --help` lists the commands"), str::to_owned))
        }
        ErrorKind::UnknownArgument => {
            // Remove the hint "to pass it as a value": paths rarely look like options.
            error.remove(ContextKind::Suggested);
            let hint = missing_option(&argument);
            if hint.is_some() {
                // Options with similar names have another purpose.
                error.remove(ContextKind::SuggestedArg);
                error.remove(ContextKind::Usage);
            }
            hint.map(str::to_owned)
        }
        ErrorKind::ArgumentConflict => {
            // The usage would show the reordered words.
            error.remove(ContextKind::Usage);
            None
        }
        ErrorKind::InvalidValue
            if argument.starts_with("--format")
                && are_all(&value, PROPERTIES.iter().map(|(name, _)| *name)) =>
        {
            error.remove(ContextKind::SuggestedValue);
            Some(format!("select the printed properties with `--fields {value}`"))
        }
        ErrorKind::InvalidValue
            if argument.starts_with("--format")
                && error.get(ContextKind::SuggestedValue).is_none()
                && matches!(error.get(ContextKind::ValidValue), Some(ContextValue::Strings(formats)) if formats.iter().any(|format| format == "csv"))
                && is_field_list(&value) =>
        {
            let fields = format!("`--format csv --fields time,event,{value}`");
            // A single word can also be a format that ichnos lacks.
            Some(match value.contains([',', '.']) {
                true => format!("name table columns with `--fields`: {fields}"),
                false => format!("if `{value}` is a field, not a format, print its column with {fields}"),
            })
        }
        ErrorKind::ValueValidation
            if argument.starts_with("--max-events <")
                && are_all(&value, SCOPES.iter().map(|(name, ..)| *name)) =>
        {
            Some(format!("select the scopes of printed names with `--names {value}`"))
        }
        _ => None,
    };
    if let Some(hint) = hint {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Returns `true` if a comma-separated list contains only known names.
fn are_all<'k>(list: &str, known: impl Iterator<Item = &'k str> + Clone) -> bool {
    list.split(',').all(|name| known.clone().any(|known| known.eq_ignore_ascii_case(name)))
}

/// Returns `true` if a value looks like a comma-separated list of field names.
fn is_field_list(list: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    list.split(',')
        .all(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(is_part))
}

/// Returns the error for `--pair BEGIN PATH`, where the parser took the path as the second name.
pub(crate) fn missing_pair(error: &clap::Error, words: &[OsString]) -> Option<Failure> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let at = words.iter().position(|word| word == "--pair")?;
    let [begin, path] = [words.get(at + 1)?, words.get(at + 2)?];
    let [begin_name, path_name] = [begin, path].map(|word| word.to_string_lossy());
    is_path(path).then(|| {
        Failure::new(format!("--pair: the name of the end event is missing, because `{path_name}` is a path"))
            .help(format!("write `--pair {begin_name} END {path_name}`; both names can be equal"))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::LowArgs;

    fn arranged(line: &str) -> Result<String, Failure> {
        let mut command = LowArgs::command();
        let words = std::iter::once("ichnos").chain(line.split_whitespace()).map(OsString::from).collect();
        let words = arrange(words, &mut command)?;
        Ok(words[1..].iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_path_without_a_verb() {
        for (line, expected) in [
            ("a/b", "cat a/b"),
            ("-", "cat -"),
            (". --begin 5", "cat . --begin 5"),
            ("--begin 5 a/b", "cat --begin 5 a/b"),
            ("--begin=5 -n 3 -qv a/b", "cat --begin=5 -n 3 -qv a/b"),
            ("-n3 ./info", "cat -n3 ./info"),
            ("--begin -5 a/b", "cat --begin -5 a/b"),
            ("-q a/b", "cat -q a/b"),
            ("-- a/b", "cat -- a/b"),
            ("--listen unixgram:x", "cat --listen unixgram:x"),
            ("--format jsonl", "cat --format jsonl"),
            ("--format jsonl cat x", "cat --format jsonl x"),
            ("--count info x", "info --count x"),
            // Unchanged command lines.
            ("info x", "info x"),
            ("-v info x", "-v info x"),
            ("dump x", "dump x"),
            ("help cat", "help cat"),
            ("--help", "--help"),
            ("-V", "-V"),
            ("--color never", "--color never"),
            ("convert x", "convert x"),
            ("--names=args convert x", "convert --names=args x"),
            ("", ""),
        ] {
            assert_eq!(arranged(line).unwrap(), expected, "{line}");
        }
        assert_eq!(arranged("chekc").unwrap_err().help.unwrap(), "did you mean `check`?");
        let failure = arranged("--begin 5 nothing-of-this-name").unwrap_err();
        assert!(failure.message.contains("neither a command nor"), "{failure}");
    }

    /// Every option from the manual page of `babeltrace2 convert`, including general options, must exist in ichnos or
    /// have an answer.
    #[test]
    fn every_option_of_babeltrace() {
        let mut command = LowArgs::command();
        command.build();
        let cat = command.find_subcommand("cat").unwrap();
        for option in "-d --debug -l --log-level --omit-home-plugin-path --omit-system-plugin-path --plugin-path \
            -v --verbose -c --component -p --params -i --input-format -o --output-format --clock-force-correlate \
            --clock-offset --clock-offset-s --clock-offset-ns -b --begin -e --end -t --timerange --debug-info \
            --debug-info-dir --debug-info-full-path --debug-info-target-prefix --clock-cycles --clock-date \
            --clock-gmt --clock-seconds --color -f --fields -n --names --no-delta -w --output --run-args \
            --run-args-0 --retry-duration --stream-intersection -h --help --connect -x"
            .split(' ')
        {
            let is_known = has_option(cat, option);
            assert!(is_known || super::option(option, "x").is_some(), "{option}");
            if !is_known {
                let failure = arranged(&format!("a/b {option}=x")).unwrap_err();
                assert!(failure.help.is_some_and(|help| !help.is_empty()), "{option}");
                assert!(arranged(&format!("cat a/b {option} x")).is_err(), "{option}");
            }
        }
    }

    #[test]
    fn formats_of_output() {
        for value in ["text", "dummy", "ctf", "ctf-metadata"] {
            for line in [
                format!("-o {value} a/b"),
                format!("a/b -o{value}"),
                format!("cat a/b -o={value}"),
                format!("cat -qo {value} a/b"),
            ] {
                let failure = arranged(&line).unwrap_err();
                assert!(failure.help.unwrap().contains(&format!("`-o ./{value}`")), "{line}");
            }
            let failure = arranged(&format!("convert a/b -o {value}")).unwrap_err();
            assert!(failure.help.unwrap().contains(&format!("an output with this name is `-o ./{value}`")));
            assert!(arranged(&format!("cut a/b -o {value}")).is_ok());
            assert!(arranged(&format!("a/b --output-format={value}")).is_err());
            // The long option is the same in both programs.
            assert!(arranged(&format!("a/b --output {value}")).is_ok());
            assert!(arranged(&format!("a/b -o ./{value}")).is_ok());
            assert!(arranged(&format!("a/b -- -o {value}")).is_ok());
        }
    }

    #[test]
    fn components_and_addresses() {
        for (line, help) in [
            ("a/b -c sink.text.details", "--format details"),
            ("a/b --component=my:sink.utils.counter", "info --count"),
            ("a/b -c src.ctf.fs", "PATH..."),
            ("a/b -c flt.utils.trimmer -p begin=3", "--begin TIME"),
            ("a/b --params clock-class-offset-s=3", "--clock-offset SECONDS"),
            ("a/b --params=with-uuid=no", "--details NAME"),
            ("lttng-live://host/session", "cat net://HOST"),
            ("-i lttng-live net://localhost", "cat net://HOST"),
            ("info tcp4://localhost:5344/host/a/b", "info net://HOST"),
        ] {
            let failure = arranged(line).unwrap_err();
            assert!(failure.help.clone().unwrap().contains(help), "{line}: {:?}", failure.help);
        }
    }
}
