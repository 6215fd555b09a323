//! Hints for paths without a trace, or with a different trace than intended.

use std::fmt;

/// A fact about a path or a file, and a format-specific option that may help.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hint {
    /// Text for display, without the full stop.
    pub message: String,
    /// Option that helps, if any.
    pub option: Option<OptionHint>,
}

impl Hint {
    /// Creates a hint without an option.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), option: None }
    }

    /// Sets the option that helps.
    #[must_use]
    pub fn with_option(mut self, option: OptionHint) -> Self {
        self.option = Some(option);
        self
    }

    /// Inserts a text before the message.
    #[must_use]
    pub fn after(mut self, beginning: &str) -> Self {
        self.message.insert_str(0, beginning);
        self
    }

    /// Returns the hint in one sentence, with the option as `describe` writes it.
    pub fn describe(&self, describe: impl FnOnce(&OptionHint) -> String) -> String {
        match &self.option {
            Some(option) => format!("{}; {}", self.message, describe(option)),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(ToString::to_string))
    }
}

/// A format-specific option that may help, and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionHint {
    /// Option, as `FORMAT.OPTION`.
    pub option: &'static str,
    /// Value to set, or a placeholder in capital letters.
    pub value: String,
    /// Path to open with the option, if it only makes sense for one path.
    pub path: Option<String>,
    /// Effect, as the end of a sentence ("names its metadata").
    pub effect: &'static str,
}

impl OptionHint {
    /// Creates a hint for the option `FORMAT.OPTION` with a value and an effect.
    pub fn new(option: &'static str, value: impl Into<String>, effect: &'static str) -> Self {
        Self { option, value: value.into(), path: None, effect }
    }

    /// Sets the path to open with the option.
    #[must_use]
    pub fn for_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

impl fmt::Display for OptionHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the option `{}={}` {}", self.option, self.value, self.effect)
    }
}
