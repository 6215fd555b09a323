//! How to open traces.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use ichnos_io::{Format, IoLimits, OptionError, ReadOptions, TreeOptions};
use ichnos_model::{ClockClass, ClockOffsets};

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
    /// Where the clocks are of what is opened at some paths. Several for one path add up.
    pub clock_offsets: Vec<ClockOffset>,
    /// Fail if any of several paths cannot be read, rather than leave it out (see
    /// [`Session::left_out`](crate::Session::left_out)).
    pub require_all: bool,
    /// Further files that belong to the input, such as a list of the paths: no output is written over them.
    pub other_inputs: Vec<PathBuf>,
    /// Directory of temporary files; see [`TreeOptions::temp_dir`].
    pub temp_dir: Option<PathBuf>,
    /// Read the beginnings of packed files only; see [`TreeOptions::beginning`] and
    /// [`Session::beginnings`](crate::Session::beginnings).
    pub beginning: Option<u64>,
}

/// Where clocks are of what is opened at a path. They then count as related to all others: the offset says how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockOffset {
    /// The path, as it is opened.
    pub path: PathBuf,
    /// Name or id of a clock; None: all of them.
    pub clock: Option<String>,
    /// Nanoseconds to add to its times.
    pub nanoseconds: i128,
}

impl ClockOffset {
    /// Of all clocks.
    pub fn new(path: impl Into<PathBuf>, nanoseconds: i128) -> Self {
        Self { path: path.into(), clock: None, nanoseconds }
    }

    /// Of the clock of this name alone.
    #[must_use]
    pub fn of_clock(mut self, name: impl Into<String>) -> Self {
        self.clock = Some(name.into());
        self
    }
}

/// All offsets of what is opened at a path. What has the same ones is opened together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placement {
    /// What is added.
    pub(crate) offsets: ClockOffsets,
    /// Whether they are those of all clocks.
    pub(crate) is_of_all: bool,
}

impl Placement {
    /// Whether a clock counts as related to all others.
    pub(crate) fn relates(&self, clock: &ClockClass) -> bool {
        self.is_of_all || self.offsets.by_name.iter().any(|(name, _)| clock.is_called(name))
    }

    /// Whether any clock does.
    pub(crate) fn is_any(&self) -> bool {
        self.is_of_all || !self.offsets.by_name.is_empty()
    }
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

    /// Where the clocks are of what is opened, by path.
    pub(crate) fn placements(&self) -> HashMap<PathBuf, Placement> {
        let mut placements: HashMap<PathBuf, Placement> = HashMap::new();
        for ClockOffset { path, clock, nanoseconds } in &self.clock_offsets {
            let placement = placements.entry(path.clone()).or_default();
            match clock {
                Some(name) => placement.offsets.by_name.push((name.clone(), *nanoseconds)),
                None => {
                    placement.offsets.all = placement.offsets.all.saturating_add(*nanoseconds);
                    placement.is_of_all = true;
                }
            }
        }
        placements
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
