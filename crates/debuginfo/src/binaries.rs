//! Opened binaries. Their number and their memory are bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ichnos_model::locks::IgnorePoison as _;

use crate::binary::{Binary, BinaryId, Location, OpenSettings};
use crate::error::DebugInfoError;

/// Limits for debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of a file in bytes.
    pub file_bytes: u64,
    /// Maximum number of opened binaries.
    pub open_binaries: usize,
    /// Maximum number of bytes of all opened binaries. At least one binary is open, even if it is larger.
    pub open_bytes: usize,
}

impl Default for Limits {
    /// 2 GiB for a file, 256 binaries, 2 GiB for all of them.
    fn default() -> Self {
        Self { file_bytes: 2 << 30, open_binaries: 256, open_bytes: 2 << 30 }
    }
}

/// Opened binaries by identity.
#[derive(Debug)]
pub(crate) struct Binaries {
    settings: OpenSettings,
    opened: Mutex<Opened>,
}

#[derive(Debug, Default)]
struct Opened {
    binaries: HashMap<BinaryId, Entry>,
    /// Number of uses of any binary.
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    binary: Binary,
    last_use: u64,
}

/// Result of looking up an address in a binary.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// Address relative to the address for which the binary was linked, if it can be loaded at any address.
    pub(crate) is_relative: bool,
    pub(crate) address: u64,
    pub(crate) location: Location,
    /// `true` if the file of the binary was found.
    pub(crate) is_found: bool,
}

impl Binaries {
    pub(crate) fn new(settings: OpenSettings) -> Self {
        Self { settings, opened: Mutex::default() }
    }

    /// Looks up an address in a binary that was loaded at `base`.
    pub(crate) fn find(
        &self,
        id: &BinaryId,
        base: u64,
        is_position_independent: Option<bool>,
        address: u64,
    ) -> Lookup {
        let mut opened = self.opened.lock().ignore_poison();
        opened.uses += 1;
        let last_use = opened.uses;
        if !opened.binaries.contains_key(id) {
            let binary = Binary::open(id, &self.settings);
            opened.binaries.insert(id.clone(), Entry { binary, last_use });
        }
        let mut lookup =
            Lookup { is_relative: true, address, location: Location::default(), is_found: false };
        if let Some(entry) = opened.binaries.get_mut(id) {
            entry.last_use = last_use;
            let own = || entry.binary.is_position_independent();
            lookup.is_relative = is_position_independent.or_else(own).unwrap_or(true);
            if lookup.is_relative {
                lookup.address = address.saturating_sub(base);
            }
            lookup.location = entry.binary.find(lookup.address);
            lookup.is_found = entry.binary.is_found();
        }
        opened.close_old(&self.settings.limits);
        lookup
    }

    /// Returns the problems of all opened binaries.
    pub(crate) fn problems(&self) -> Vec<(Arc<str>, DebugInfoError)> {
        let opened = self.opened.lock().ignore_poison();
        let problems = opened
            .binaries
            .iter()
            .filter_map(|(id, entry)| Some((Arc::clone(&id.path), entry.binary.problem()?)));
        let mut problems: Vec<_> = problems.collect();
        problems.sort_by(|(a, _), (b, _)| a.cmp(b));
        problems
    }
}

impl Opened {
    /// Closes the binaries that were not used for the longest time, until the limits hold.
    fn close_old(&mut self, limits: &Limits) {
        let mut bytes: usize = self.binaries.values().map(|entry| entry.binary.bytes()).sum();
        while self.binaries.len() > 1
            && (bytes > limits.open_bytes || self.binaries.len() > limits.open_binaries)
        {
            let oldest = self.binaries.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { return };
            if let Some(entry) = self.binaries.remove(&oldest) {
                bytes = bytes.saturating_sub(entry.binary.bytes());
            }
        }
    }
}
