//! Batches with received reports, waiting for the disk.

use crate::statistics::CollectorCounters;
use std::hash::{BuildHasher, RandomState};

use ichnos_io::CollectSettings;

/// Minimum size of a full batch, in bytes.
pub(crate) const BATCH_BYTES: usize = 256 << 10;

/// Maximum number of batches that wait to be written.
pub(crate) const WAITING_BATCHES: usize = 32;

/// Received reports, waiting for the disk.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Reports in stored form.
    pub(crate) text: Vec<u8>,
    /// One hash per report.
    pub(crate) hashes: Vec<u64>,
    /// Connections that asked which of their reports are on the disk.
    pub(crate) syncs: Vec<SyncQuestion>,
}

/// Question of a connection: how many of its reports are on the disk? The count merges repeated questions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncQuestion {
    pub(crate) connection: usize,
    /// Number of accepted reports before the question.
    pub(crate) reports: u64,
    /// Number of refused reports.
    pub(crate) refused: u64,
    /// Number of questions without reports in between.
    pub(crate) count: u32,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty() && self.syncs.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.text.len() >= BATCH_BYTES || self.syncs.len() >= BATCH_BYTES / 64
    }
}

/// Checks reports and appends them to batches.
#[derive(Debug)]
pub(crate) struct ReportChecker {
    collect: CollectSettings,
    /// Hasher shared by all checkers of a collector. Its key is random, so that a sender cannot forge duplicates.
    hashes: RandomState,
}

impl ReportChecker {
    pub(crate) fn new(collect: CollectSettings, hashes: RandomState) -> Self {
        Self { collect, hashes }
    }

    /// Appends a report to the batch. Returns `false` if the report is invalid.
    pub(crate) fn take(&self, report: &[u8], batch: &mut Batch, counters: &CollectorCounters) -> bool {
        let from = batch.text.len();
        if (self.collect.store)(report, &mut batch.text).is_err() {
            batch.text.truncate(from);
            counters.refused.add(1);
            return false;
        }
        let stored = batch.text.get(from..).unwrap_or_default();
        batch.hashes.push(self.hashes.hash_one(stored));
        true
    }
}
