//! State shared by collector threads.

use std::fmt;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos_io::CollectSettings;

use crate::batch::ReportChecker;
use crate::statistics::CollectorCounters;
use crate::{CollectorOptions, Notice};

/// State shared by collector threads.
pub(crate) struct CollectorState {
    pub(crate) options: CollectorOptions,
    pub(crate) counters: CollectorCounters,
    collect: CollectSettings,
    hashes: RandomState,
    notify: Box<dyn Fn(&Notice) + Send + Sync>,
    is_stopping: AtomicBool,
}

impl CollectorState {
    pub(crate) fn new(
        options: CollectorOptions,
        collect: CollectSettings,
        notify: Box<dyn Fn(&Notice) + Send + Sync>,
    ) -> Self {
        Self {
            options,
            counters: CollectorCounters::default(),
            collect,
            hashes: RandomState::new(),
            notify,
            is_stopping: AtomicBool::new(false),
        }
    }

    /// Creates a report checker for one thread.
    pub(crate) fn checker(&self) -> ReportChecker {
        ReportChecker::new(self.collect, self.hashes.clone())
    }

    /// Sends a message to people.
    pub(crate) fn notice(&self, notice: &Notice) {
        (self.notify)(notice);
    }

    /// Asks all threads to end.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    /// Returns `true` if all threads must end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }
}

impl fmt::Debug for CollectorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectorState").field("options", &self.options).finish_non_exhaustive()
    }
}
