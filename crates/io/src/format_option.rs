//! Format-specific options, which supply information missing from traces.

use std::ffi::OsStr;

use crate::Bytes;

/// An option that a format declares.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FormatOption {
    /// Name within the format.
    pub name: &'static str,
    /// One-line description, for display.
    pub about: &'static str,
    /// Details in sentences; may be empty.
    pub details: &'static str,
    /// Value placeholder in descriptions, in capital letters.
    pub value_name: &'static str,
    /// Value kind.
    pub kind: OptionKind,
    /// `true` if the option name is clear without the format name, so that a program can offer the option by its name
    /// alone. It must have the same meaning in all formats that declare it.
    pub unprefixed: bool,
}

impl FormatOption {
    /// Creates an option with a choice of values.
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

    /// Creates an option that names a file. The file content is its value.
    #[must_use]
    pub const fn file(name: &'static str, about: &'static str) -> Self {
        Self { name, about, details: "", value_name: "FILE", kind: OptionKind::File, unprefixed: false }
    }

    /// Creates an option with a text value.
    #[must_use]
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self { name, about, details: "", value_name: "TEXT", kind: OptionKind::Text, unprefixed: false }
    }

    /// Creates an option that can be repeated. Its value is a list of texts.
    #[must_use]
    pub const fn texts(name: &'static str, about: &'static str) -> Self {
        Self { name, about, details: "", value_name: "TEXT", kind: OptionKind::Texts, unprefixed: false }
    }

    /// Sets the details, in sentences.
    #[must_use]
    pub const fn details(mut self, details: &'static str) -> Self {
        self.details = details;
        self
    }

    /// Sets the value placeholder for descriptions, in capital letters.
    #[must_use]
    pub const fn value_name(mut self, value_name: &'static str) -> Self {
        self.value_name = value_name;
        self
    }

    /// Marks the option name as clear without the format name.
    #[must_use]
    pub const fn unprefixed(mut self) -> Self {
        self.unprefixed = true;
        self
    }

    /// Returns the values to choose from; empty for other kinds.
    #[must_use]
    pub const fn values(&self) -> &'static [OptionValue] {
        match self.kind {
            OptionKind::Choice(values) => values,
            OptionKind::File | OptionKind::Text | OptionKind::Texts => &[],
        }
    }
}

/// Value kind of an option.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum OptionKind {
    /// A choice of values.
    Choice(&'static [OptionValue]),
    /// File content.
    File,
    /// Any text.
    Text,
    /// Texts, one for each time that the option is set.
    Texts,
}

/// A possible value of an option.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OptionValue {
    /// Value name.
    pub name: &'static str,
    /// Aliases.
    pub aliases: &'static [&'static str],
    /// Meaning, for display.
    pub about: &'static str,
}

impl OptionValue {
    /// Creates a value.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, aliases: &[], about }
    }

    /// Sets aliases.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// Values of format-specific options.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    set: Vec<SetOption>,
}

#[derive(Clone, Debug)]
struct SetOption {
    format: &'static str,
    name: &'static str,
    value: ValueContent,
}

#[derive(Clone, Debug)]
enum ValueContent {
    Choice(&'static str),
    File { path: String, bytes: Bytes },
    Text(String),
    Texts(Vec<String>),
}

impl FormatOptions {
    /// Sets an option that a format has `declared`. The value of a file option is a path. The file is read at once. In
    /// a text, bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// Fails if the option or the value is unknown, or the file cannot be read.
    pub fn set(
        &mut self,
        format: &'static str,
        declared: &[FormatOption],
        name: &str,
        value: &OsStr,
    ) -> Result<(), OptionError> {
        let full_name = |name: &str| format!("{format}.{name}");
        let Some(option) = declared.iter().find(|option| option.name == name) else {
            let known = declared.iter().map(|option| full_name(option.name)).collect();
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
                ValueContent::Choice(chosen.name)
            }
            OptionKind::Text => ValueContent::Text(value.to_string_lossy().into_owned()),
            OptionKind::Texts => {
                let mut texts: Vec<String> = self.texts(format, name).to_vec();
                texts.push(value.to_string_lossy().into_owned());
                ValueContent::Texts(texts)
            }
            OptionKind::File => {
                let path = value.to_string_lossy().into_owned();
                match Bytes::from_file(value.as_ref()) {
                    Ok(bytes) => ValueContent::File { path, bytes },
                    Err(error) => {
                        return Err(OptionError::File { path, name: option.name, error: error.to_string() });
                    }
                }
            }
        };
        let new = SetOption { format, name: option.name, value };
        self.set.retain(|known| (known.format, known.name) != (new.format, new.name));
        self.set.push(new);
        Ok(())
    }

    /// Returns the chosen value name for an option, if it was set.
    #[must_use]
    pub fn choice(&self, format: &str, name: &str) -> Option<&'static str> {
        match self.value(format, name)? {
            ValueContent::Choice(value) => Some(value),
            ValueContent::File { .. } | ValueContent::Text(_) | ValueContent::Texts(_) => None,
        }
    }

    /// Returns the texts for an option, in the order in which they were set.
    #[must_use]
    pub fn texts(&self, format: &str, name: &str) -> &[String] {
        match self.value(format, name) {
            Some(ValueContent::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// Returns the text for an option, if it was set.
    #[must_use]
    pub fn text(&self, format: &str, name: &str) -> Option<&str> {
        match self.value(format, name)? {
            ValueContent::Text(text) => Some(text),
            ValueContent::Choice(_) | ValueContent::File { .. } | ValueContent::Texts(_) => None,
        }
    }

    /// Returns the path and the content of the file for an option, if it was set.
    #[must_use]
    pub fn file(&self, format: &str, name: &str) -> Option<(&str, &Bytes)> {
        match self.value(format, name)? {
            ValueContent::Choice(_) | ValueContent::Text(_) | ValueContent::Texts(_) => None,
            ValueContent::File { path, bytes } => Some((path, bytes)),
        }
    }

    /// Returns the paths of all files that options name.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.set.iter().filter_map(|set| match &set.value {
            ValueContent::Choice(_) | ValueContent::Text(_) | ValueContent::Texts(_) => None,
            ValueContent::File { path, .. } => Some(path.as_str()),
        })
    }

    fn value(&self, format: &str, name: &str) -> Option<&ValueContent> {
        let is_meant = |set: &&SetOption| (set.format, set.name) == (format, name);
        self.set.iter().find(is_meant).map(|set| &set.value)
    }
}

fn expected_name(known: &[String]) -> String {
    match known {
        [] => "the format has no options".to_owned(),
        known => format!("expected one of {}", known.join(", ")),
    }
}

/// Reason why a format-specific option cannot be set.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The option is unknown.
    #[error("unknown option `{name}`; {}", expected_name(known))]
    Name {
        /// Unknown name.
        name: String,
        /// Known names.
        known: Vec<String>,
    },
    /// The value is unknown.
    #[error("invalid value `{value}` for the option `{name}`; expected {}", known.join(", "))]
    Value {
        /// Option name.
        name: String,
        /// Unknown value.
        value: String,
        /// Known values.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("{path}: the {name} cannot be read: {error}")]
    File {
        /// File path.
        path: String,
        /// Option name, without its format.
        name: &'static str,
        /// Reason.
        error: String,
    },
}
