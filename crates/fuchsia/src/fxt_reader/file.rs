//! File data shared by all cursors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ichnos_io::Bytes;
use ichnos_model::locks::IgnorePoison as _;

use super::index::FileIndex;

/// File data shared by all cursors.
#[derive(Debug)]
pub(super) struct FxtFile {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    pub(super) index: FileIndex,
    pub(super) check: bool,
    pub(super) unsorted: bool,
    pub(super) spaces: Arc<AddressSpaces>,
}

/// Address space number by process.
#[derive(Debug, Default)]
pub(super) struct AddressSpaces(Mutex<HashMap<u64, u32>>);

impl AddressSpaces {
    /// Returns the address space number of a process.
    pub(super) fn get(&self, process: u64) -> u32 {
        let mut spaces = self.0.lock().ignore_poison();
        let next = u32::try_from(spaces.len()).unwrap_or(u32::MAX);
        *spaces.entry(process).or_insert(next)
    }
}
