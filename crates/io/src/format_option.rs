//! Options of formats: what can be said about traces that they do not say themselves.

use std::ffi::OsStr;

use crate::{Bytes, Format};

/// An option that a format declares.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FormatOption {
    /// Name within the format.
    pub name: &'static str,
    /// What it is about, for people, in one line.
    pub about: &'static str,
    /// More about it, in sentences; may be empty.
    pub details: &'static str,
    /// What stands for its value in descriptions, in capital letters.
    pub value_name: &'static str,
    /// What values it takes.
    pub kind: OptionKind,
    /// Whether its name is clear without that of the format, so that a program can offer it by its name
    /// alone. Formats that declare the same name mean the same by it.
    pub unprefixed: bool,
}

impl FormatOption {
    /// An option that has one of several values.
    #[must_use]
    pub const fn choice(name: &'static str, about: &'static str, values: &'static [OptionValue]) -> Self {
        Self {
            name,
            about,
            details: "",
            value_name: "VALUE",
            kind: OptionKind::Choice(values),
            unprefixed: false,
        }
    }

    /// An option that names a file, whose content is its value.
    #[must_use]
    pub const fn file(name: &'static str, about: &'static str) -> Self {
        Self { name, about, details: "", value_name: "FILE", kind: OptionKind::File, unprefixed: false }
    }

    /// Says more about it, in sentences.
    #[must_use]
    pub const fn details(mut self, details: &'static str) -> Self {
        self.details = details;
        self
    }

    /// Says what stands for its value in descriptions, in capital letters.
    #[must_use]
    pub const fn value_name(mut self, value_name: &'static str) -> Self {
        self.value_name = value_name;
        self
    }

    /// Says that its name is clear without that of the format.
    #[must_use]
    pub const fn unprefixed(mut self) -> Self {
        self.unprefixed = true;
        self
    }

    /// The values that can be chosen; none if any file can be named.
    #[must_use]
    pub const fn values(&self) -> &'static [OptionValue] {
        match self.kind {
            OptionKind::Choice(values) => values,
            OptionKind::File => &[],
        }
    }
}

/// What values an option takes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum OptionKind {
    /// One of these.
    Choice(&'static [OptionValue]),
    /// The content of a file.
    File,
}

/// A value that an option can have.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OptionValue {
    /// How it is written.
    pub name: &'static str,
    /// How it can be written, too.
    pub aliases: &'static [&'static str],
    /// What it means, for people.
    pub about: &'static str,
}

impl OptionValue {
    /// A value of this name.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, aliases: &[], about }
    }

    /// Says how else it can be written.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// The options of formats that were set.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    set: Vec<SetOption>,
}

#[derive(Clone, Debug)]
struct SetOption {
    format: &'static str,
    name: &'static str,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Choice(&'static str),
    File { path: String, bytes: Bytes },
}

impl FormatOptions {
    /// Sets an option that `format` declares; for one of a file, `value` is its path, and it is read at once.
    ///
    /// # Errors
    /// If there is no such option, no such value of it, or if the file cannot be read.
    pub fn set(&mut self, format: &dyn Format, name: &str, value: &OsStr) -> Result<(), OptionError> {
        let full_name = |name: &str| format!("{}.{name}", format.name());
        let Some(option) = format.options().iter().find(|option| option.name == name) else {
            let known = format.options().iter().map(|option| full_name(option.name)).collect();
            return Err(OptionError::Name { name: full_name(name), known });
        };
        let value = match option.kind {
            OptionKind::Choice(values) => {
                let is_meant = |known: &&OptionValue| {
                    value == known.name || known.aliases.iter().any(|alias| value == *alias)
                };
                let Some(chosen) = values.iter().find(is_meant) else {
                    return Err(OptionError::Value {
                        name: full_name(name),
                        value: value.to_string_lossy().into_owned(),
                        known: values.iter().map(|value| value.name).collect(),
                    });
                };
                Value::Choice(chosen.name)
            }
            OptionKind::File => {
                let path = value.to_string_lossy().into_owned();
                match Bytes::of_file(value.as_ref()) {
                    Ok(bytes) => Value::File { path, bytes },
                    Err(error) => {
                        return Err(OptionError::File { path, name: option.name, error: error.to_string() });
                    }
                }
            }
        };
        let new = SetOption { format: format.name(), name: option.name, value };
        self.set.retain(|known| (known.format, known.name) != (new.format, new.name));
        self.set.push(new);
        Ok(())
    }

    /// The name of the value that was chosen for an option of a format, if it was set.
    #[must_use]
    pub fn choice(&self, format: &dyn Format, name: &str) -> Option<&'static str> {
        match self.value(format, name)? {
            Value::Choice(value) => Some(value),
            Value::File { .. } => None,
        }
    }

    /// The path and the content of the file that an option of a format names, if it was set.
    #[must_use]
    pub fn file(&self, format: &dyn Format, name: &str) -> Option<(&str, &Bytes)> {
        match self.value(format, name)? {
            Value::Choice(_) => None,
            Value::File { path, bytes } => Some((path, bytes)),
        }
    }

    /// The paths of all files that options name.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.set.iter().filter_map(|set| match &set.value {
            Value::Choice(_) => None,
            Value::File { path, .. } => Some(path.as_str()),
        })
    }

    fn value(&self, format: &dyn Format, name: &str) -> Option<&Value> {
        let is_meant = |set: &&SetOption| (set.format, set.name) == (format.name(), name);
        self.set.iter().find(is_meant).map(|set| &set.value)
    }
}

/// Why an option of a format cannot be set.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option `{name}`; expected one of {}", known.join(", "))]
    Name {
        /// What was named.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The option does not have such a value.
    #[error("invalid value `{value}` for the option `{name}`; expected {}", known.join(", "))]
    Value {
        /// The option.
        name: String,
        /// The value.
        value: String,
        /// What it can be.
        known: Vec<&'static str>,
    },
    /// The file that the option names cannot be read.
    #[error("{path}: the {name} cannot be read: {error}")]
    File {
        /// The file.
        path: String,
        /// The option, without its format.
        name: &'static str,
        /// Why.
        error: String,
    },
}
