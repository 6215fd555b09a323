//! Options for opening traces.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos_debuginfo::DebugInfo;
use ichnos_io::{Entry, Format, IoLimits, OptionError, ReadOptions, Tree, TreeOptions};
use ichnos_model::clock::{ClockClass, ClockOffsets};
use ichnos_model::running_thread::RunningParts;

use crate::format::{FORMATS, formats};

/// Options for opening traces.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Options for reading.
    pub read: ReadOptions,
    /// Limits for reading files and archives.
    pub io: IoLimits,
    /// Merge traces even if their clocks are not known to have the same origin.
    pub assume_correlated: bool,
    /// Name of the only format to try on unrecognized files.
    pub format: Option<String>,
    /// Clock offsets of given paths. Several offsets of one path are added.
    pub clock_offsets: Vec<ClockOffset>,
    /// Fail if one of several paths cannot be read, instead of skipping it (see
    /// [`Session::left_out`](crate::Session::left_out)).
    pub require_all: bool,
    /// Further files that belong to the input, for example a list of the paths. Outputs must not overwrite them.
    pub other_inputs: Vec<PathBuf>,
    /// Follow links out of given directories: see [`TreeOptions::follow_links`].
    pub follow_links: bool,
    /// Directory of temporary files: see [`TreeOptions::temp_dir`].
    pub temp_dir: Option<PathBuf>,
    /// Read only the first bytes of packed files: see [`TreeOptions::beginning`] and
    /// [`Session::beginnings`](crate::Session::beginnings).
    pub beginning: Option<u64>,
    /// Thread properties to add to processor events that do not name their thread: see
    /// [`running_thread`](ichnos_model::running_thread).
    pub running: RunningParts,
    /// Debug information to add to events with an address, for example from
    /// [`debug_info`](crate::debug_info::debug_info()). Several sessions can share it.
    pub debug_info: Option<Arc<DebugInfo>>,
    /// Leave out formats whose files are [read once](crate::FormatInfo::is_read_once).
    pub(crate) without_read_once: bool,
}

/// Clock offset of a path. Its clocks count as related to all other clocks, by this offset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockOffset {
    /// Path as given, or the path of a trace in it.
    pub path: PathBuf,
    /// Name or id of a clock. `None` for all clocks.
    pub clock: Option<String>,
    /// Nanoseconds to add to the times of the clock.
    pub nanoseconds: i128,
    /// `true` if the offset is the time of the clock's origin since 1970. Clocks that count from 1970 do not need it.
    pub is_origin: bool,
}

impl ClockOffset {
    /// Creates an offset for all clocks at a path.
    pub fn new(path: impl Into<PathBuf>, nanoseconds: i128) -> Self {
        Self { path: path.into(), clock: None, nanoseconds, is_origin: false }
    }

    /// Marks the offset as the time of the clock's origin.
    #[must_use]
    pub fn of_origin(mut self) -> Self {
        self.is_origin = true;
        self
    }

    /// Restricts the offset to the clock with this name.
    #[must_use]
    pub fn of_clock(mut self, name: impl Into<String>) -> Self {
        self.clock = Some(name.into());
        self
    }
}

/// All offsets of a path. Paths with equal offsets are opened together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placement {
    /// Offsets to add.
    pub(crate) offsets: ClockOffsets,
    /// `true` if an offset applies to all clocks.
    pub(crate) is_of_all: bool,
}

impl Placement {
    /// Returns `true` if a clock counts as related to all other clocks.
    pub(crate) fn relates(&self, clock: &ClockClass) -> bool {
        self.is_of_all || self.offsets.by_name.iter().any(|(name, _)| clock.is_called(name))
    }

    /// Adds the offsets of a trace within the path.
    fn and(mut self, inner: &Self) -> Self {
        self.offsets = self.offsets.and(&inner.offsets);
        self.is_of_all |= inner.is_of_all;
        self
    }

    /// Divides a tree, or a format's part of it, into parts with equal offsets. `root` is the path of the whole tree.
    /// Also returns the inner paths that have offsets, but no files here.
    pub(crate) fn divide<'t>(
        tree: &'t Tree,
        root: &Path,
        placements: &HashMap<PathBuf, Self>,
    ) -> (Vec<(Self, Cow<'t, Tree>)>, Vec<PathBuf>) {
        let outer = placements.get(root).cloned().unwrap_or_default();
        let is_inner = |path: &Path| path.starts_with(root) && path != root;
        let mut inner: Vec<_> = placements.iter().filter(|(path, _)| is_inner(path)).collect();
        if inner.is_empty() {
            return (vec![(outer, Cow::Borrowed(tree))], Vec::new());
        }
        // The longest path decides if paths are nested.
        inner.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
        // The paths in a tree are texts.
        let texts = inner.iter().map(|(path, _)| PathBuf::from(path.to_string_lossy().into_owned()));
        let texts: Vec<PathBuf> = texts.collect();
        let mut parts: BTreeMap<Option<usize>, Vec<Entry>> = BTreeMap::new();
        for entry in &tree.entries {
            let path = Path::new(&tree.name).join(&entry.path);
            let part = texts.iter().position(|inner| path.starts_with(inner));
            parts.entry(part).or_default().push(entry.clone());
        }
        let missing = inner.iter().enumerate().filter(|(index, _)| !parts.contains_key(&Some(*index)));
        let missing = missing.map(|(_, (path, _))| PathBuf::clone(path)).collect();
        let parts = parts.into_iter().map(|(part, entries)| {
            let inner = part.and_then(|part| inner.get(part));
            let placement = inner.map_or_else(|| outer.clone(), |(_, inner)| outer.clone().and(inner));
            (placement, Cow::Owned(Tree { name: tree.name.clone(), entries, problems: Vec::new() }))
        });
        (parts.collect(), missing)
    }

    /// Returns `true` if any clock counts as related to all other clocks.
    pub(crate) fn is_any(&self) -> bool {
        self.is_of_all || !self.offsets.by_name.is_empty()
    }
}

impl OpenOptions {
    /// Sets an option of a format, as `FORMAT.OPTION`: see [`FormatInfo::options`](crate::FormatInfo::options). For a
    /// file option, the value is the path, and the file is read immediately.
    ///
    /// # Errors
    /// If the option or the value is unknown, or if the file cannot be read.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) -> Result<(), OptionError> {
        let named = name.split_once('.').and_then(|(format, option)| {
            let format = formats().find(|known| known.name == format)?;
            format.options.iter().any(|known| known.name == option).then_some((format, option))
        });
        let Some((format, option)) = named else {
            let names = formats().flat_map(|format| {
                format.options.iter().map(move |option| format!("{}.{}", format.name, option.name))
            });
            return Err(OptionError::Name { name: name.to_owned(), known: names.collect() });
        };
        self.read.formats.set(format.name, format.options, option, value.as_ref())
    }

    /// Returns the clock offsets by path.
    pub(crate) fn placements(&self) -> HashMap<PathBuf, Placement> {
        let mut placements: HashMap<PathBuf, Placement> = HashMap::new();
        for ClockOffset { path, clock, nanoseconds, is_origin } in &self.clock_offsets {
            let placement = placements.entry(path.clone()).or_default();
            match clock {
                Some(name) => placement.offsets.by_name.push((name.clone(), *nanoseconds)),
                None => {
                    let offsets = &mut placement.offsets;
                    let offset = if *is_origin { &mut offsets.origin } else { &mut offsets.all };
                    *offset = offset.saturating_add(*nanoseconds);
                    placement.is_of_all = true;
                }
            }
        }
        placements
    }

    /// Returns the options for opening trees.
    pub(crate) fn tree(&self) -> TreeOptions {
        let mut options = TreeOptions::from(self.io);
        options.progress = self.read.progress.clone();
        options.temp_dir.clone_from(&self.temp_dir);
        options.beginning = self.beginning;
        options.follow_links = self.follow_links;
        options
    }

    /// Returns the options for reading traces.
    pub(crate) fn reading(&self) -> ReadOptions {
        let mut options = self.read.clone();
        options.force |= self.format.is_some();
        let mut class_map = options.class_map.unwrap_or_default().with_running(self.running);
        if let Some(debug_info) = self.debug_info.clone() {
            class_map = class_map.with_streams(move |stream| debug_info.declare(stream));
        }
        options.class_map = Some(class_map);
        options
    }

    /// Returns the options for reading a live input, with the clock offsets for its address.
    #[must_use]
    pub fn reading_at(&self, address: &str) -> ReadOptions {
        let mut options = self.read.clone();
        if let Some(placement) = self.placements().get(Path::new(address)) {
            options.clock_offsets = options.clock_offsets.and(&placement.offsets);
        }
        options
    }

    /// Returns the formats to try.
    pub(crate) fn formats(&self) -> impl Iterator<Item = &'static dyn Format> {
        let is_wanted = |format: &&dyn Format| {
            let info = format.info();
            self.format.as_ref().is_none_or(|name| name == info.name)
                && !(self.without_read_once && info.is_read_once)
        };
        FORMATS.iter().copied().filter(is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format and option names must be unique, and each format is found by its name.
    #[test]
    fn names_are_unique() {
        for (i, format) in formats().enumerate() {
            assert_eq!(formats().position(|other| other.name == format.name), Some(i));
            for option in format.options {
                assert_eq!(format.options.iter().filter(|other| other.name == option.name).count(), 1);
                let name = format!("{}.{}", format.name, option.name);
                for value in option.values() {
                    OpenOptions::default().set(&name, value.name).unwrap();
                }
                // Any text is a valid value of a text option. The format checks it.
                let is_text = matches!(option.kind, crate::OptionKind::Text);
                assert_eq!(OpenOptions::default().set(&name, "/does/not/exist").is_ok(), is_text, "{name}");
            }
        }
        let error = OpenOptions::default().set("sundial.clock", "sun").unwrap_err();
        assert!(matches!(error, OptionError::Name { .. }), "{error}");
    }
}
