//! The command `list-plugins`.

use crate::arguments::environment::Environment;
use crate::arguments::options::{Item, OptionId, OptionNames, Options, flag};
use crate::command::Failure;
use crate::component_list::PLUGINS;
use crate::help::{KINDS, class_title, plugin_text, usage};
use crate::value::ParameterValue;
use crate::value_text::value_text;

static OPTIONS: &[OptionNames] = &[flag(OptionId::Help, Some('h'), "help")];

/// Parses the command arguments, and returns the output.
///
/// # Errors
/// If there are arguments.
pub(crate) fn run(
    words: &[String],
    words_before: usize,
    plugin_paths: &[String],
    environment: &Environment<'_>,
) -> Result<String, Failure> {
    match Options::new(words, OPTIONS).next() {
        None => Ok(list(plugin_paths, environment)),
        Some(Ok(Item::Option { .. })) => Ok(usage::LIST_PLUGINS.to_owned()),
        Some(Ok(Item::Word { text, .. })) => {
            let problem = "Extraneous command-line argument specified to `list-plugins` command";
            Err(Failure::from_cause(format!("{problem}: `{text}`.")))
        }
        Some(Err(error)) => Err(error.failure("list-plugins", words_before)),
    }
}

fn list(plugin_paths: &[String], environment: &Environment<'_>) -> String {
    let paint = environment.paint;
    let (bold, reset) = (paint.bold(), paint.reset());
    let paths = ParameterValue::Array(plugin_paths.iter().cloned().map(ParameterValue::Text).collect());
    let mut text = format!("From the following plugin paths:\n\n{}\n", value_text(&paths, 2, paint));
    let classes: usize = PLUGINS.iter().map(|plugin| plugin.classes.len()).sum();
    let plugins = PLUGINS.len();
    text += &format!("Found {bold}{classes}{reset} component classes in {bold}{plugins}{reset} plugins.\n");
    for plugin in PLUGINS {
        text.push('\n');
        text += &plugin_text(plugin, paint);
        for (kind, label) in KINDS {
            let none = if plugin.classes(kind).next().is_none() { " (none)" } else { "" };
            text += &format!("  {bold}{label} component classes{reset}:{none}\n");
            for class in plugin.classes(kind) {
                text += &format!("    {}: {}\n", class_title(plugin, class, paint), class.description);
            }
        }
    }
    text
}

/// Returns the paths from which plugins would be loaded: from the environment, from options, and below the home
/// directory.
pub(crate) fn plugin_paths(
    options: &[&str],
    omits_home: bool,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut lists: Vec<String> = variable("BABELTRACE_PLUGIN_PATH").into_iter().collect();
    lists.extend(options.iter().map(ToString::to_string));
    if let Some(home) = variable("HOME").filter(|_| !omits_home) {
        lists.push(format!("{home}/.local/lib/babeltrace2/plugins"));
    }
    let paths = lists.iter().flat_map(|list| list.split(':')).filter(|path| !path.is_empty());
    paths.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::Paint;

    #[test]
    fn the_list_has_all_classes() {
        let environment = Environment { variable: &|_| None, paint: Paint::off(), print_warning: &|_| {} };
        let text = run(&[], 1, &["/a".to_owned()], &environment).unwrap();
        for line in [
            "From the following plugin paths:\n\n  - /a\n\nFound 11 component classes in 4 plugins.\n\nctf:\n  Built-in\n",
            "  Sink component classes:\n    'sink.ctf.fs': Write CTF traces to the file system.\n\nlttng-utils:\n",
            "  Filter component classes: (none)\n",
            "    'filter.utils.muxer': ",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let environment = Environment {
            variable: &|_| None,
            paint: Paint::detect(&|_| Some("always".into()), false),
            print_warning: &|_| {},
        };
        let text = run(&[], 1, &[], &environment).unwrap();
        assert!(text.contains("\u{1b}[33mmuxer\u{1b}[0m'"), "{text}");
    }

    #[test]
    fn arguments() {
        let environment = Environment { variable: &|_| None, paint: Paint::off(), print_warning: &|_| {} };
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(run(&words("-h x"), 1, &[], &environment).unwrap(), usage::LIST_PLUGINS);
        for (line, expected) in [
            ("x", "Extraneous command-line argument specified to `list-plugins` command: `x`."),
            (
                "--x",
                "While parsing `list-plugins` command's command-line arguments: While parsing argument #2 (`--x`): \
                 Unknown option `--x`",
            ),
        ] {
            assert_eq!(run(&words(line), 1, &[], &environment).unwrap_err().causes, [expected]);
        }
    }

    #[test]
    fn paths() {
        let variable = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "BABELTRACE_PLUGIN_PATH" => Some(":/a::/b".to_owned()),
            _ => None,
        };
        let home = "/h/.local/lib/babeltrace2/plugins";
        assert_eq!(plugin_paths(&["/c:/d", "/e"], false, &variable), ["/a", "/b", "/c", "/d", "/e", home]);
        assert_eq!(plugin_paths(&[], true, &variable), ["/a", "/b"]);
    }
}
