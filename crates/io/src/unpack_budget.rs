//! Unpacked byte counts and limits.

use std::io;
use std::path::PathBuf;

use crate::tree_options::TreeOptions;
use crate::{IoError, ScanStep};

/// Counts the unpacked bytes in one tree, and the packed bytes they come from.
pub(crate) struct UnpackBudget<'a> {
    pub(crate) path: &'a str,
    pub(crate) options: &'a TreeOptions,
    used: u64,
    /// Number of unpacked bytes in memory.
    in_memory: u64,
    /// Size of the archive or compressed file, as far as read; `None` without packing.
    packed: Option<u64>,
    /// Number of packed bytes that were read.
    arrived: u64,
    total: Option<u64>,
}

impl<'a> UnpackBudget<'a> {
    pub(crate) fn new(path: &'a str, options: &'a TreeOptions, packed: Option<u64>) -> Self {
        Self {
            path,
            options,
            used: 0,
            in_memory: 0,
            packed,
            arrived: 0,
            total: packed.filter(|size| *size > 0),
        }
    }

    /// Returns the packed size.
    pub(crate) fn packed(&self) -> Option<u64> {
        self.packed
    }

    /// Records the number of packed bytes read so far.
    pub(crate) fn arrived(&mut self, packed: Option<u64>) {
        self.packed = self.packed.max(packed);
        self.arrived = self.arrived.max(packed.unwrap_or(0));
    }

    /// Returns the number of bytes that may still be kept in memory.
    pub(crate) fn in_memory(&self) -> u64 {
        self.options.memory_bytes.saturating_sub(self.in_memory)
    }

    /// Records that this number of bytes stays in memory.
    pub(crate) fn keep_in_memory(&mut self, bytes: u64) {
        self.in_memory = self.in_memory.saturating_add(bytes);
    }

    /// Returns the directory for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.options.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Creates the error for a failed temporary file.
    pub(crate) fn temporary_failed(&self, source: io::Error) -> IoError {
        IoError::Temporary {
            path: self.path.to_owned(),
            directory: self.temporary().to_string_lossy().into_owned(),
            source,
        }
    }

    /// Creates the error for missing memory.
    pub(crate) fn no_memory(&self, bytes: u64) -> IoError {
        IoError::Memory { path: self.path.to_owned(), bytes }
    }

    /// Records that more bytes were unpacked.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), IoError> {
        self.allows(bytes)?;
        let before = self.used / REPORT_INTERVAL;
        self.used = self.used.saturating_add(bytes);
        if self.used / REPORT_INTERVAL != before {
            let step = ScanStep::Unpacked { unpacked: self.used, packed: self.arrived, total: self.total };
            self.options.progress.report(step);
        }
        Ok(())
    }

    /// Checks that more bytes are allowed.
    pub(crate) fn allows(&self, bytes: u64) -> Result<(), IoError> {
        let limits = &self.options.limits;
        let used = self.used.saturating_add(bytes);
        if used > limits.decompressed_bytes {
            return Err(self.exceeded());
        }
        match self.packed.map(|packed| (packed, limits.unpacked(packed))) {
            Some((packed, limit)) if used > limit => {
                Err(IoError::Ratio { path: self.path.to_owned(), packed, limit })
            }
            _ => Ok(()),
        }
    }

    fn exceeded(&self) -> IoError {
        IoError::Limit {
            path: self.path.to_owned(),
            what: "the number of unpacked bytes",
            name: "decompressed_bytes",
            limit: self.options.limits.decompressed_bytes,
        }
    }

    /// Creates the error for unreadable data.
    pub(crate) fn damaged(&self, what: &'static str, problem: impl ToString) -> IoError {
        IoError::Damaged { path: self.path.to_owned(), what, problem: problem.to_string() }
    }
}

/// Progress report interval, in unpacked bytes.
const REPORT_INTERVAL: u64 = 1 << 20;
