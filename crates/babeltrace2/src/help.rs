//! The command `help`: plugins and component classes.

pub(crate) mod usage;

use crate::arguments::class_name::{kind_name, parse_named_class};
use crate::arguments::environment::Environment;
use crate::arguments::escapes::text_until;
use crate::arguments::options::{Item, OptionId, OptionNames, Options, flag};
use crate::command::{ComponentClass, ComponentKind, Failure};
use crate::component_list::{
    ClassInfo, ParameterKind, PluginInfo, class_info, missing_class, missing_plugin_help, plugin,
};
use crate::paint::Paint;

static OPTIONS: &[OptionNames] = &[flag(OptionId::Help, Some('h'), "help")];

/// Help subject.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The command itself.
    Command,
    Plugin(String),
    Class(ComponentClass),
}

/// Parses the command arguments.
///
/// # Errors
/// If they are not a plugin or a component class.
pub(crate) fn parse(words: &[String], words_before: usize) -> Result<Subject, Failure> {
    let mut subject = None;
    for item in Options::new(words, OPTIONS) {
        match item {
            Ok(Item::Option { .. }) => return Ok(Subject::Command),
            Ok(Item::Word { text, .. }) if subject.is_some() => {
                let problem = "Extraneous command-line argument specified to `help` command";
                return Err(Failure::from_cause(format!("{problem}: `{text}`.")));
            }
            Ok(Item::Word { text, .. }) => subject = Some(text),
            Err(error) => return Err(error.failure("help", words_before)),
        }
    }
    let Some(subject) = subject else {
        return Err(Failure::from_cause("Missing plugin name or component class descriptor."));
    };
    let (_, end) = text_until(subject, &['.', '\\'], &['.']);
    if end == subject.len() {
        return Ok(Subject::Plugin(subject.to_owned()));
    }
    let context = "Could not parse argument as a component class name: arg=";
    Ok(Subject::Class(parse_named_class(subject, context)?.class))
}

/// Returns the help for a subject. For an unknown component class in a known plugin, there are both the plugin's help
/// and a failure.
pub(crate) fn text(subject: &Subject, environment: &Environment<'_>) -> (String, Option<Failure>) {
    let (name, class) = match subject {
        Subject::Command => return (usage::HELP.to_owned(), None),
        Subject::Plugin(name) => (name, None),
        Subject::Class(class) => (&class.plugin, Some(class)),
    };
    let Some(plugin) = plugin(name) else {
        let text = format!("Cannot find plugin: plugin-name=\"{name}\"");
        return (String::new(), Some(Failure::from_cause(missing_plugin_help()).in_context(text)));
    };
    let paint = environment.paint;
    let mut text = plugin_text(plugin, paint);
    for (kind, label) in KINDS {
        let count = plugin.classes(kind).count();
        text += &format!("  {}{label} component classes{}: {count}\n", paint.bold(), paint.reset());
    }
    let Some(class) = class else { return (text, None) };
    match class_info(class) {
        Some(info) => {
            text.push('\n');
            text += &class_text(plugin, info, paint);
            (text, None)
        }
        None => (text, Some(Failure::from_cause(missing_class(class)))),
    }
}

/// Component class kinds in list order, with labels.
pub(crate) const KINDS: [(ComponentKind, &str); 3] =
    [(ComponentKind::Source, "Source"), (ComponentKind::Filter, "Filter"), (ComponentKind::Sink, "Sink")];

/// Describes a plugin.
pub(crate) fn plugin_text(plugin: &PluginInfo, paint: Paint) -> String {
    let (bold, reset) = (paint.bold(), paint.reset());
    let lines = [
        ("Version", env!("CARGO_PKG_VERSION")),
        ("Description", plugin.description),
        ("Author", env!("CARGO_PKG_AUTHORS")),
        ("License", env!("CARGO_PKG_LICENSE")),
    ];
    let mut text = format!("{}{}{reset}:\n  Built-in\n", paint.bright_blue(), plugin.name);
    for (label, value) in lines {
        text += &format!("  {bold}{label}{reset}: {value}\n");
    }
    text
}

/// Returns a component class name with kind and plugin.
pub(crate) fn class_title(plugin: &PluginInfo, class: &ClassInfo, paint: Paint) -> String {
    let kind = kind_name(class.kind);
    let (colored, default) = (paint.bright_cyan(), paint.default());
    let (blue, yellow, reset) = (paint.blue(), paint.yellow(), paint.reset());
    format!("'{colored}{kind}{default}.{blue}{}{default}.{yellow}{}{reset}'", plugin.name, class.name)
}

fn class_text(plugin: &PluginInfo, class: &ClassInfo, paint: Paint) -> String {
    let mut text = class_title(plugin, class, paint);
    text += &format!("\n  {}Description{}: {}\n\n", paint.bold(), paint.reset(), class.description);
    if class.parameters.is_empty() {
        text.push_str("It does not have parameters.\n");
        return text;
    }
    text.push_str("Parameters:\n\n");
    for parameter in class.parameters {
        let kind = match parameter.kind {
            ParameterKind::Boolean => "boolean".to_owned(),
            ParameterKind::Signed => "signed integer".to_owned(),
            ParameterKind::Unsigned => "unsigned integer".to_owned(),
            ParameterKind::Text => "text".to_owned(),
            ParameterKind::Choice(choices) => choices.join(" | "),
            ParameterKind::Texts(1) => "array of one text".to_owned(),
            ParameterKind::Texts(_) => "array of texts".to_owned(),
            ParameterKind::Time => "signed integer or text".to_owned(),
        };
        let required = if parameter.is_required { ", required" } else { "" };
        text += &format!("  {} ({kind}{required}): {}\n", parameter.name, parameter.description);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(line: &str) -> (String, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let environment = Environment { variable: &|_| None, paint: Paint::off(), print_warning: &|_| {} };
        let (text, failure) = match parse(&words, 1) {
            Ok(subject) => text(&subject, &environment),
            Err(failure) => (String::new(), Some(failure)),
        };
        (text, failure.map(|failure| failure.causes[0].clone()).unwrap_or_default())
    }

    #[test]
    fn subjects() {
        let cases = [
            ("ctf", "Description: CTF input and output\n", ""),
            (
                "ctf",
                "  Source component classes: 2\n  Filter component classes: 0\n  Sink component classes: 1\n",
                "",
            ),
            ("src.ctf.fs", "\n'source.ctf.fs'\n  Description: Read CTF traces from the file system.\n", ""),
            ("src.ctf.fs", "  inputs (array of texts, required): directories of one trace\n", ""),
            ("sink.utils.dummy", "It does not have parameters.\n", ""),
            ("x:filter.utils.trimmer", "  begin (signed integer or text): start of the range\n", ""),
            ("--help", usage::HELP, ""),
            ("ctf -h", usage::HELP, ""),
            ("", "", "Missing plugin name or component class descriptor."),
            ("ctf fs", "", "Extraneous command-line argument specified to `help` command: `fs`."),
            ("zigotos", "", "Cannot find plugin: plugin-name=\"zigotos\""),
            ("src.bob.fs", "", "Cannot find plugin: plugin-name=\"bob\""),
            (
                "src.ctf.bob",
                "Description: CTF input and output\n",
                "Cannot find component class: plugin-name=\"ctf\", comp-cls-name=\"bob\", comp-cls-type=SOURCE",
            ),
            ("src.ctf", "", "Could not parse argument as a component class name: arg=src.ctf"),
            ("src.ctf.fs.x", "", "Could not parse argument as a component class name: arg=src.ctf.fs.x"),
            (
                "-x",
                "",
                "While parsing `help` command's command-line arguments: While parsing argument #2 (`-x`): Unknown \
                 option `-x`",
            ),
        ];
        for (line, expected, problem) in cases {
            let (text, cause) = help(line);
            assert!(text.contains(expected), "{line}: {text}");
            assert_eq!(cause, problem, "{line}");
        }
    }
}
