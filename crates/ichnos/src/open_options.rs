//! How to open traces.

use std::ffi::OsStr;
use std::path::PathBuf;

use ichnos_io::{Format, IoLimits, OptionError, ReadOptions, TreeOptions};

use crate::enclosing::Opening;
use crate::format::FORMATS;

/// How to open traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// How to read what is opened.
    pub read: ReadOptions,
    /// Limits of what is read from files and archives.
    pub io: IoLimits,
    /// Merge traces though nothing says that their clocks have the same origin.
    pub assume_correlated: bool,
    /// Name of the only format to try, for what is not recognised.
    pub format: Option<String>,
    /// Nanoseconds to add to the clocks of what is opened at these paths. Their clocks then count as
    /// related to all others: the offset says how.
    pub clock_offsets: Vec<(PathBuf, i128)>,
    /// Fail if any of several paths cannot be read, rather than leave it out (see
    /// [`Session::left_out`](crate::Session::left_out)).
    pub require_all: bool,
    /// Directory of temporary files; see [`TreeOptions::temp_dir`].
    pub temp_dir: Option<PathBuf>,
    /// Read the beginnings of packed files only; see [`TreeOptions::beginning`] and
    /// [`Session::beginnings`](crate::Session::beginnings).
    pub beginning: Option<u64>,
}

impl OpenOptions {
    /// Sets an option of a format, as `FORMAT.OPTION`; see [`Format::options`]. For one of a file, the value is
    /// its path, and it is read at once.
    ///
    /// # Errors
    /// If there is no such option, no such value of it, or if the file cannot be read.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) -> Result<(), OptionError> {
        let named = name.split_once('.').and_then(|(format, option)| {
            let format = FORMATS.iter().find(|known| known.name() == format)?;
            format.options().iter().any(|known| known.name == option).then_some((*format, option))
        });
        let Some((format, option)) = named else {
            let names = FORMATS.iter().flat_map(|format| {
                format.options().iter().map(move |option| format!("{}.{}", format.name(), option.name))
            });
            return Err(OptionError::Name { name: name.to_owned(), known: names.collect() });
        };
        self.read.formats.set(format, option, value.as_ref())
    }

    /// Applies what was set for the clocks of a path to what is opened for it.
    pub(crate) fn place(&mut self, opening: &Opening) {
        let given = self.clock_offsets.iter().find(|(path, _)| *path == opening.given);
        if let (Some(_), Some((_, offset))) = (&opening.enclosing, given) {
            self.clock_offsets.push((opening.path().to_owned(), *offset));
        }
    }

    /// How to open trees.
    pub(crate) fn tree(&self) -> TreeOptions {
        let mut options = TreeOptions::from(self.io);
        options.progress = self.read.progress.clone();
        options.temp_dir.clone_from(&self.temp_dir);
        options.beginning = self.beginning;
        options
    }

    /// How to read traces.
    pub(crate) fn reading(&self) -> ReadOptions {
        let mut options = self.read.clone();
        options.force |= self.format.is_some();
        options
    }

    /// The formats to try.
    pub(crate) fn formats(&self) -> impl Iterator<Item = &'static dyn Format> {
        let is_wanted = |format: &&dyn Format| self.format.as_ref().is_none_or(|name| name == format.name());
        FORMATS.iter().copied().filter(is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of formats and of their options distinguish them, and each format is found by its own.
    #[test]
    fn names_are_unique() {
        for (i, format) in FORMATS.iter().enumerate() {
            assert_eq!(FORMATS.iter().position(|other| other.name() == format.name()), Some(i));
            for option in format.options() {
                assert_eq!(format.options().iter().filter(|other| other.name == option.name).count(), 1);
                let name = format!("{}.{}", format.name(), option.name);
                for value in option.values() {
                    OpenOptions::default().set(&name, value.name).unwrap();
                }
                assert!(OpenOptions::default().set(&name, "/does/not/exist").is_err());
            }
        }
        let error = OpenOptions::default().set("sundial.clock", "sun").unwrap_err();
        assert!(matches!(error, OptionError::Name { .. }), "{error}");
    }
}
