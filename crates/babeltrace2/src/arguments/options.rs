//! Splits a command line into options and other arguments.
//!
//! Options have the forms `--name`, `--name=argument`, `--name argument`, `-n`, `-nargument` and `-n argument`. Several
//! short options can be joined. `-` and `--` are not options.

use crate::command::Failure;

/// Command option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionId {
    AllowedMipVersions,
    BaseParams,
    Begin,
    ClockCycles,
    ClockDate,
    ClockForceCorrelate,
    ClockGmt,
    ClockOffset,
    ClockOffsetNs,
    ClockSeconds,
    Color,
    Component,
    Connect,
    Debug,
    DebugInfo,
    DebugInfoDir,
    DebugInfoFullPath,
    DebugInfoTargetPrefix,
    End,
    Fields,
    Help,
    InputFormat,
    LogLevel,
    Names,
    NoDelta,
    OmitHomePluginPath,
    OmitSystemPluginPath,
    Output,
    OutputFormat,
    Params,
    PluginPath,
    ResetBaseParams,
    RetryDuration,
    RunArgs,
    RunArgs0,
    StreamIntersection,
    TimeRange,
    Verbose,
    Version,
}

/// Option names.
#[derive(Debug)]
pub(crate) struct OptionNames {
    id: OptionId,
    short: Option<char>,
    long: &'static str,
    has_argument: bool,
}

/// Returns an option without an argument.
pub(crate) const fn flag(id: OptionId, short: Option<char>, long: &'static str) -> OptionNames {
    OptionNames { id, short, long, has_argument: false }
}

/// Returns an option with an argument.
pub(crate) const fn with_argument(id: OptionId, short: Option<char>, long: &'static str) -> OptionNames {
    OptionNames { id, short, long, has_argument: true }
}

/// Command line item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// Option. Its argument is empty if it does not need one.
    Option { id: OptionId, argument: &'a str },
    /// Other argument, and its index.
    Word { text: &'a str, index: usize },
}

/// Wrong option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionError {
    /// `true` if the command does not have the option.
    pub(crate) is_unknown: bool,
    /// Word index.
    index: usize,
    word: String,
    problem: String,
}

impl OptionError {
    /// Returns the text for an error message. Words before the first one are counted, too.
    pub(crate) fn text(&self, words_before: usize) -> String {
        let number = self.index.saturating_add(words_before).saturating_add(1);
        format!("While parsing argument #{number} (`{}`): {}", self.word, self.problem)
    }

    /// Returns the error as a command failure.
    pub(crate) fn failure(&self, command: &str, words_before: usize) -> Failure {
        let text = self.text(words_before);
        Failure::from_cause(format!("While parsing `{command}` command's command-line arguments: {text}"))
    }
}

/// Command line iterator. It ends after an error.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    words: &'a [String],
    table: &'static [OptionNames],
    index: usize,
    /// Remaining short options in the current word.
    group: &'a str,
    has_failed: bool,
}

impl<'a> Options<'a> {
    /// Creates an iterator.
    pub(crate) fn new(words: &'a [String], table: &'static [OptionNames]) -> Self {
        Self { words, table, index: 0, group: "", has_failed: false }
    }

    /// Returns how many words are completely consumed.
    pub(crate) fn consumed(&self) -> usize {
        self.index
    }

    fn error(&self, is_unknown: bool, problem: String) -> OptionError {
        let word = self.words.get(self.index).cloned().unwrap_or_default();
        OptionError { is_unknown, index: self.index, word, problem }
    }

    fn long_option(&mut self, word: &'a str) -> Result<Item<'a>, OptionError> {
        let (name, attached) = match word.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (word, None),
        };
        let Some(option) = self.table.iter().find(|option| option.long == name) else {
            return Err(self.error(true, format!("Unknown option `--{name}`")));
        };
        let mut consumed = 1;
        let argument: &'a str = match (option.has_argument, attached) {
            (true, Some(argument)) => argument,
            (true, None) => {
                consumed = 2;
                let Some(argument) = self.words.get(self.index.saturating_add(1)) else {
                    let problem = format!("Missing required argument for option `--{name}`");
                    return Err(self.error(false, problem));
                };
                argument
            }
            (false, Some(_)) => {
                return Err(self.error(false, format!("Unexpected argument for option `--{name}`")));
            }
            (false, None) => "",
        };
        self.index = self.index.saturating_add(consumed);
        Ok(Item::Option { id: option.id, argument })
    }

    fn short_option(&mut self) -> Result<Item<'a>, OptionError> {
        let name = self.group.chars().next().unwrap_or_default();
        let rest = self.group.get(name.len_utf8()..).unwrap_or_default();
        let Some(option) = self.table.iter().find(|option| option.short == Some(name)) else {
            return Err(self.error(true, format!("Unknown option `-{name}`")));
        };
        self.group = "";
        let mut consumed = 1;
        let argument: &'a str = if !option.has_argument {
            self.group = rest;
            consumed = usize::from(rest.is_empty());
            ""
        } else if rest.is_empty() {
            consumed = 2;
            let Some(argument) = self.words.get(self.index.saturating_add(1)) else {
                return Err(self.error(false, format!("Missing required argument for option `-{name}`")));
            };
            argument
        } else {
            rest
        };
        self.index = self.index.saturating_add(consumed);
        Ok(Item::Option { id: option.id, argument })
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<Item<'a>, OptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let index = self.index;
        let word = self.words.get(index)?.as_str();
        let result = if !self.group.is_empty() {
            self.short_option()
        } else if word == "-" || word == "--" || !word.starts_with('-') {
            self.index = index.saturating_add(1);
            Ok(Item::Word { text: word, index })
        } else if let Some(long) = word.strip_prefix("--") {
            self.long_option(long)
        } else {
            self.group = word.get(1..).unwrap_or_default();
            self.short_option()
        };
        self.has_failed = result.is_err();
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: &[OptionNames] = &[
        flag(OptionId::Verbose, Some('v'), "verbose"),
        with_argument(OptionId::Names, Some('n'), "names"),
        with_argument(OptionId::Color, None, "color"),
    ];

    fn parts(line: &[&str]) -> Vec<String> {
        let words: Vec<String> = line.iter().map(ToString::to_string).collect();
        let parts = Options::new(&words, TABLE).map(|item| match item {
            Ok(Item::Option { id, argument }) => format!("{id:?}({argument})"),
            Ok(Item::Word { text, index }) => format!("{index}:{text}"),
            Err(error) => error.text(3),
        });
        parts.collect()
    }

    #[test]
    fn options_and_words() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["a", "-", "--", ""], &["0:a", "1:-", "2:--", "3:"]),
            (&["--verbose", "-v", "x"], &["Verbose()", "Verbose()", "2:x"]),
            (&["--names=all", "--names", "-v", "--color="], &["Names(all)", "Names(-v)", "Color()"]),
            (&["-vnall", "-n", "", "-vv"], &["Verbose()", "Names(all)", "Names()", "Verbose()", "Verbose()"]),
            (&["-vn", "x", "y"], &["Verbose()", "Names(x)", "2:y"]),
            (
                &["x", "-vé", "y"],
                &["0:x", "Verbose()", "While parsing argument #5 (`-vé`): Unknown option `-é`"],
            ),
            (&["--no"], &["While parsing argument #4 (`--no`): Unknown option `--no`"]),
            (&["--=x"], &["While parsing argument #4 (`--=x`): Unknown option `--`"]),
            (
                &["--verbose=x", "y"],
                &["While parsing argument #4 (`--verbose=x`): Unexpected argument for option `--verbose`"],
            ),
            (
                &["x", "--names"],
                &[
                    "0:x",
                    "While parsing argument #5 (`--names`): Missing required argument for option `--names`",
                ],
            ),
            (
                &["-vn"],
                &[
                    "Verbose()",
                    "While parsing argument #4 (`-vn`): Missing required argument for option `-n`",
                ],
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(parts(line), *expected, "{line:?}");
        }
    }
}
