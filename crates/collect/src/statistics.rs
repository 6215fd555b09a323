//! What was counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a collector has counted since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Reports that are on the disk.
    pub reports: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Reports with the text of one of the last 524,288 or more; they are among `reports`, too.
    pub duplicates: u64,
    /// Reports that are none of the format.
    pub refused: u64,
    /// Datagrams and frames that are longer than allowed, or that have the length 0. Of TCP, each has ended its
    /// connection.
    pub bad_lengths: u64,
    /// Connections that ended within a report.
    pub cut_off: u64,
    /// Datagrams that were received.
    pub datagrams: u64,
    /// Datagrams that the system has dropped, because they came faster than they were taken. Only Linux says.
    pub kernel_drops: u64,
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections that are open.
    pub open_connections: u64,
    /// Connections that were closed at once because there were too many.
    pub refused_connections: u64,
    /// Connections that were closed because nothing came.
    pub idle_connections: u64,
    /// How many questions for what is on the disk were answered.
    pub syncs: u64,
    /// How often data were written to the disk.
    pub flushes: u64,
    /// Reports that were taken and are lost, because they could not be written before the end.
    pub not_written: u64,
    /// Tasks that the index has, those of earlier collecting included. Reports come into the index when their
    /// segment is closed.
    pub tasks: u64,
}

/// Counters that several threads count with.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reports: Counter,
    pub(crate) bytes: Counter,
    pub(crate) duplicates: Counter,
    pub(crate) refused: Counter,
    pub(crate) bad_lengths: Counter,
    pub(crate) cut_off: Counter,
    pub(crate) datagrams: Counter,
    pub(crate) kernel_drops: Counter,
    pub(crate) connections: Counter,
    pub(crate) open_connections: Counter,
    pub(crate) refused_connections: Counter,
    pub(crate) idle_connections: Counter,
    pub(crate) syncs: Counter,
    pub(crate) flushes: Counter,
    pub(crate) not_written: Counter,
    pub(crate) tasks: Counter,
}

/// A number that several threads add to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            reports: self.reports.get(),
            bytes: self.bytes.get(),
            duplicates: self.duplicates.get(),
            refused: self.refused.get(),
            bad_lengths: self.bad_lengths.get(),
            cut_off: self.cut_off.get(),
            datagrams: self.datagrams.get(),
            kernel_drops: self.kernel_drops.get(),
            connections: self.connections.get(),
            open_connections: self.open_connections.get(),
            refused_connections: self.refused_connections.get(),
            idle_connections: self.idle_connections.get(),
            syncs: self.syncs.get(),
            flushes: self.flushes.get(),
            not_written: self.not_written.get(),
            tasks: self.tasks.get(),
        }
    }
}
