//! Opened binaries. Their number and memory are limited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ichnos_model::locks::IgnorePoison as _;

use crate::binary::{Binary, CodeLocation, OpenSettings};
use crate::binary_id::{BinaryId, MappingBase};
use crate::error::DebugInfoError;
use crate::options::DebugInfoLimits;

/// Opened binaries by identity.
#[derive(Debug)]
pub(crate) struct Binaries {
    settings: OpenSettings,
    opened: Mutex<Opened>,
}

#[derive(Debug, Default)]
struct Opened {
    binaries: HashMap<BinaryId, OpenedBinary>,
    /// Problems with closed binaries.
    problems: Vec<DebugInfoError>,
    /// Number of lookups so far, in any binary.
    uses: u64,
}

#[derive(Debug)]
struct OpenedBinary {
    binary: Binary,
    last_use: u64,
}

/// Result of an address lookup in a binary.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// `true` if the address is relative to the start of the binary.
    pub(crate) is_relative: bool,
    pub(crate) address: u64,
    pub(crate) location: CodeLocation,
    /// `true` if the binary's file was found.
    pub(crate) is_found: bool,
}

impl Binaries {
    pub(crate) fn new(settings: OpenSettings) -> Self {
        Self { settings, opened: Mutex::default() }
    }

    /// Returns the functions in a binary that was loaded at `base`: first address, end and name.
    pub(crate) fn functions(
        &self,
        id: &BinaryId,
        (base, kind): (u64, MappingBase),
    ) -> Vec<(u64, u64, Arc<str>)> {
        self.with(id, |binary| {
            let origin = binary.origin(base, kind).unwrap_or_default();
            let functions = binary.functions().iter().map(|(begin, end, name)| {
                (begin.wrapping_add(origin), end.wrapping_add(origin), Arc::clone(name))
            });
            functions.collect()
        })
    }

    /// Looks up an address in a binary that was loaded at `base`.
    pub(crate) fn find(&self, id: &BinaryId, (base, kind): (u64, MappingBase), address: u64) -> Lookup {
        self.with(id, |binary| {
            let origin = binary.origin(base, kind);
            let address = address.wrapping_sub(origin.unwrap_or_default());
            let location = binary.find(address);
            Lookup { is_relative: origin.is_some(), address, location, is_found: binary.is_found() }
        })
    }

    /// Passes an opened binary to `work`.
    fn with<T>(&self, id: &BinaryId, work: impl FnOnce(&mut Binary) -> T) -> T {
        let mut opened = self.opened.lock().ignore_poison();
        opened.uses += 1;
        let last_use = opened.uses;
        let open = || OpenedBinary { binary: Binary::open(id, &self.settings), last_use };
        let entry = opened.binaries.entry(id.clone()).or_insert_with(open);
        entry.last_use = last_use;
        let result = work(&mut entry.binary);
        opened.close_old(&self.settings.limits);
        result
    }

    /// Returns the problems with all binaries so far, sorted by message.
    pub(crate) fn problems(&self) -> Vec<DebugInfoError> {
        let opened = self.opened.lock().ignore_poison();
        let open = opened.binaries.values().filter_map(|entry| entry.binary.problem());
        let mut problems: Vec<_> = open.chain(opened.problems.iter().cloned()).collect();
        problems.sort_by_cached_key(ToString::to_string);
        problems.dedup();
        problems
    }
}

impl Opened {
    /// Closes the least recently used binaries until the limits hold.
    fn close_old(&mut self, limits: &DebugInfoLimits) {
        let mut bytes: usize = self.binaries.values().map(|entry| entry.binary.bytes()).sum();
        while self.binaries.len() > 1
            && (bytes > limits.open_bytes || self.binaries.len() > limits.open_binaries)
        {
            let oldest = self.binaries.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { return };
            if let Some(entry) = self.binaries.remove(&oldest) {
                bytes = bytes.saturating_sub(entry.binary.bytes());
                self.keep_problem(&entry.binary);
            }
        }
    }

    fn keep_problem(&mut self, binary: &Binary) {
        /// Maximum number of problems. Later problems are forgotten with their binaries.
        const MOST: usize = 256;
        if self.problems.len() < MOST
            && let Some(problem) = binary.problem()
            && !self.problems.contains(&problem)
        {
            self.problems.push(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_with_closed_binaries_are_kept() {
        let limits = DebugInfoLimits { open_binaries: 1, ..DebugInfoLimits::default() };
        let binaries = Binaries::new(OpenSettings { limits, ..OpenSettings::default() });
        for path in ["b", "a", "b", "c"] {
            binaries.find(&BinaryId::new(path), (0, MappingBase::Absolute), 0);
        }
        let problems: Vec<String> = binaries.problems().iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["a", "b", "c"].map(|path| format!("{path}: not an absolute path")));
    }
}
