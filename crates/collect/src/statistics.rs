//! Collector statistics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Collector counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of reports on the disk.
    pub reports: u64,
    /// Size of these reports, in bytes.
    pub bytes: u64,
    /// Number of reports equal to one of the last 524,288 or more reports. Included in `reports`.
    pub duplicates: u64,
    /// Number of invalid reports.
    pub refused: u64,
    /// Number of datagrams and frames that are too long or empty. Over TCP, each of them ended its connection.
    pub bad_lengths: u64,
    /// Number of connections that ended within a report.
    pub cut_off: u64,
    /// Number of received datagrams.
    pub datagrams: u64,
    /// Number of datagrams dropped by the system because they arrived too fast. Known only on Linux.
    pub kernel_drops: u64,
    /// Number of accepted connections.
    pub connections: u64,
    /// Number of open connections.
    pub open_connections: u64,
    /// Number of connections closed immediately because there were too many.
    pub refused_connections: u64,
    /// Number of connections closed because no data arrived.
    pub idle_connections: u64,
    /// Number of answered questions for reports on the disk.
    pub syncs: u64,
    /// Number of flushes to the disk.
    pub flushes: u64,
    /// Number of accepted reports that were lost because writing them failed until the collector stopped.
    pub not_written: u64,
    /// Number of tasks in the index, including earlier runs. Reports are indexed when their segment is closed.
    pub tasks: u64,
}

/// Counters shared by several threads.
#[derive(Debug, Default)]
pub(crate) struct CollectorCounters {
    pub(crate) reports: SharedCounter,
    pub(crate) bytes: SharedCounter,
    pub(crate) duplicates: SharedCounter,
    pub(crate) refused: SharedCounter,
    pub(crate) bad_lengths: SharedCounter,
    pub(crate) cut_off: SharedCounter,
    pub(crate) datagrams: SharedCounter,
    pub(crate) kernel_drops: SharedCounter,
    pub(crate) connections: SharedCounter,
    pub(crate) open_connections: SharedCounter,
    pub(crate) refused_connections: SharedCounter,
    pub(crate) idle_connections: SharedCounter,
    pub(crate) syncs: SharedCounter,
    pub(crate) flushes: SharedCounter,
    pub(crate) not_written: SharedCounter,
    pub(crate) tasks: SharedCounter,
}

/// Counter that several threads increment.
#[derive(Debug, Default)]
pub(crate) struct SharedCounter(AtomicU64);

impl SharedCounter {
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

impl CollectorCounters {
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
