//! Sorts events and losses by time.

use std::io;
use std::path::PathBuf;

use ichnos_io::{RecordSorter, SortedRecords, SorterMemory};
use ichnos_model::message::Discarded;

use super::stored_event::{StoredMessage, load, store_loss};
use super::written_event::NettraceEvent;

/// Sorts messages by time. Uses temporary files for many messages.
#[derive(Debug)]
pub(super) struct MessageSorter {
    records: RecordSorter,
    scratch: Vec<u8>,
}

impl MessageSorter {
    /// Creates an empty sorter. Temporary files are in `directory`. All sorters share `memory`.
    pub(super) fn new(directory: Option<PathBuf>, memory: SorterMemory) -> Self {
        Self { records: RecordSorter::new(directory, memory), scratch: Vec::new() }
    }

    /// Adds an event with these parts.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub(super) fn push(&mut self, event: &StoredMessage<'_>, parts: &NettraceEvent) -> io::Result<()> {
        self.scratch.clear();
        event.store(parts, &mut self.scratch);
        self.records.push(parts.ticks, &self.scratch)
    }

    /// Adds missing events at a time in ticks.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub(super) fn push_loss(&mut self, ticks: u64, discarded: &Discarded<'_>) -> io::Result<()> {
        self.scratch.clear();
        store_loss(discarded, &mut self.scratch);
        self.records.push(ticks, &self.scratch)
    }

    /// Returns the sorted messages.
    ///
    /// # Errors
    /// If a temporary file cannot be read.
    pub(super) fn finish(self) -> io::Result<SortedMessages> {
        Ok(SortedMessages(self.records.finish()?))
    }
}

/// Messages sorted by time.
#[derive(Debug)]
pub(super) struct SortedMessages(SortedRecords);

impl SortedMessages {
    /// Returns the next message and its time in ticks. The message is `None` if it cannot be read. Stores the parts of
    /// an event in `parts`.
    pub(super) fn next<'r>(
        &'r mut self,
        parts: &mut NettraceEvent,
    ) -> Option<(u64, Option<StoredMessage<'r>>)> {
        let (ticks, record) = self.0.next()?;
        Some((ticks, load(record, parts)))
    }
}
