//! What may help where no trace is found, or another one than was meant.

use std::fmt;

/// What is known of a path or a file, and the option of a format that may help.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hint {
    /// For people, without the final full stop.
    pub message: String,
    /// The option, if there is one that helps.
    pub option: Option<OptionHint>,
}

impl Hint {
    /// A hint without an option.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), option: None }
    }

    /// Says which option helps.
    #[must_use]
    pub fn with_option(mut self, option: OptionHint) -> Self {
        self.option = Some(option);
        self
    }

    /// Says something before it.
    #[must_use]
    pub fn after(mut self, beginning: &str) -> Self {
        self.message.insert_str(0, beginning);
        self
    }

    /// The hint in one sentence, with the option as `describe` writes it.
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

/// An option of a format that may help, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionHint {
    /// The option, as `FORMAT.OPTION`.
    pub option: &'static str,
    /// The value to set, or a placeholder in capital letters.
    pub value: String,
    /// The path to open with it, if the option is for one path.
    pub path: Option<String>,
    /// What it does, as the end of a sentence ("names its metadata").
    pub effect: &'static str,
}

impl OptionHint {
    /// The option `FORMAT.OPTION`, a value of it, and what it does.
    pub fn new(option: &'static str, value: impl Into<String>, effect: &'static str) -> Self {
        Self { option, value: value.into(), path: None, effect }
    }

    /// Says which path to open with it.
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
