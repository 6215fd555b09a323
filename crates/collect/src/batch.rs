//! Reports on their way from the network to the disk.

use crate::statistics::Counters;
use std::hash::{BuildHasher, RandomState};

use ichnos_io::Collect;

/// From how many bytes on a batch is full.
pub(crate) const BATCH_BYTES: usize = 256 << 10;

/// How many batches may wait to be written.
pub(crate) const WAITING_BATCHES: usize = 32;

/// Reports on their way from the network to the disk.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Reports as they are stored.
    pub(crate) text: Vec<u8>,
    /// A hash of each.
    pub(crate) hashes: Vec<u64>,
    /// Those who want to know when it is on the disk.
    pub(crate) syncs: Vec<Sync>,
}

/// A connection wants to know when its reports are on the disk: once or several times in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sync {
    pub(crate) connection: usize,
    /// Reports that it has sent before.
    pub(crate) reports: u64,
    /// Those that were refused.
    pub(crate) refused: u64,
    /// How often it asked without sending anything in between.
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

/// Checks reports and puts them into batches.
#[derive(Debug)]
pub(crate) struct Checker {
    collect: Collect,
    /// The same for all checkers of a collector. It has a random key, so that a sender cannot make reports look alike.
    hashes: RandomState,
}

impl Checker {
    pub(crate) fn new(collect: Collect, hashes: RandomState) -> Self {
        Self { collect, hashes }
    }

    /// Takes a report, unless it is none; whether it is one.
    pub(crate) fn take(&self, report: &[u8], batch: &mut Batch, counters: &Counters) -> bool {
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
