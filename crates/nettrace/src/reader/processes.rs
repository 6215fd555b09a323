//! Process names from one-collect events (version 6).

use super::index::NettraceIndex;
use super::tables::ThreadTable;
use super::walk::Walker;
use crate::wire::Wire;
use crate::{Block, EventMetadata, EventRow};

/// Process names over time. Ids are reused, and a process can be renamed.
#[derive(Debug, Default)]
pub(super) struct ProcessNames {
    /// Sorted by process and time. Rows with equal times stay in file order.
    rows: Vec<ProcessRow>,
    /// Names, in a stream that is still arriving, whose bytes are not kept.
    kept: Option<Vec<u8>>,
}

/// Data of an event about a process.
#[derive(Clone, Copy, Debug)]
struct ProcessRow {
    process: u64,
    ticks: u64,
    /// Position of the name, in the file or in the kept names.
    begin: usize,
    /// Length in bytes. `None` if the process ends.
    length: Option<u16>,
}

/// Maximum number of events about processes. An event takes 32 bytes.
const MOST: usize = 1 << 18;

/// Maximum number of bytes in kept names.
const MOST_KEPT: usize = 16 << 20;

impl ProcessNames {
    /// Returns a process's name at a time in ticks, as bytes in the file.
    ///
    /// A name is valid until the next name, because the last events of a process can be recorded after its end. The
    /// first name is also valid before its event, unless another process with this id ended before. one-collect records
    /// a process when it executes another program, but the process was active before that.
    pub(super) fn get<'f>(&'f self, process: u64, ticks: u64, bytes: &'f [u8]) -> Option<&'f [u8]> {
        let behind = self.rows.partition_point(|row| (row.process, row.ticks) <= (process, ticks));
        let (before, behind) = self.rows.split_at_checked(behind)?;
        let before = before.iter().rev().take_while(|row| row.process == process);
        let named = before.clone().find(|row| row.length.is_some());
        // An end without a previous name belongs to an unnamed process.
        let next = behind.first().filter(|row| row.process == process && before.clone().next().is_none());
        let row = named.or(next)?;
        let bytes = self.kept.as_deref().unwrap_or(bytes);
        bytes.get(row.begin..row.begin.checked_add(row.length?.into())?)
    }

    /// Adds the names that have arrived, and copies them.
    pub(super) fn extend(&mut self, arrived: ProcessNameReader<'_>) {
        if arrived.rows.is_empty() {
            return;
        }
        let kept = self.kept.get_or_insert_default();
        for mut row in arrived.rows {
            let length = usize::from(row.length.unwrap_or(0));
            if self.rows.len() >= MOST || kept.len() + length > MOST_KEPT {
                break;
            }
            // Names are within the bytes.
            let name = arrived.bytes.get(row.begin..row.begin + length).unwrap_or_default();
            row.begin = kept.len();
            kept.extend_from_slice(name);
            self.rows.push(row);
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.rows.sort_by_key(|row| (row.process, row.ticks));
        // Repeated ends are redundant, and names are searched backwards.
        self.rows.dedup_by(|row, before| {
            row.process == before.process && row.length.is_none() && before.length.is_none()
        });
    }
}

/// Process information in the events of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessEvent {
    Nothing,
    Name,
    End,
}

impl ProcessEvent {
    fn from_metadata(metadata: &EventMetadata) -> Self {
        if metadata.provider != UNIVERSAL_SYSTEM {
            return Self::Nothing;
        }
        match &*metadata.name {
            "ExistingProcess" | "ProcessCreate" => Self::Name,
            "ProcessExit" => Self::End,
            _ => Self::Nothing,
        }
    }
}

/// Walker that collects process names.
#[derive(Debug)]
pub(super) struct ProcessNameReader<'f> {
    bytes: &'f [u8],
    /// Process information by class.
    sources: Vec<ProcessEvent>,
    rows: Vec<ProcessRow>,
}

impl<'f> ProcessNameReader<'f> {
    /// Returns `None` if no event can name a process.
    pub(super) fn new(bytes: &'f [u8], index: &NettraceIndex) -> Option<Self> {
        let sources: Vec<_> = index.classes.iter().map(ProcessEvent::from_metadata).collect();
        sources.contains(&ProcessEvent::Name).then(|| Self { bytes, sources, rows: Vec::new() })
    }

    pub(super) fn finish(self) -> ProcessNames {
        let mut names = ProcessNames { rows: self.rows, kept: None };
        names.sort();
        names.rows.shrink_to_fit();
        names
    }

    #[cold]
    fn record(&mut self, source: ProcessEvent, row: &EventRow, threads: &ThreadTable) {
        let Some(process) = threads.process(row.thread) else { return };
        let name = match source {
            ProcessEvent::Nothing => return,
            ProcessEvent::End => Some((0, None)),
            ProcessEvent::Name => self.name(row),
        };
        if let Some((begin, length)) = name.filter(|_| self.rows.len() < MOST) {
            self.rows.push(ProcessRow { process, ticks: row.timestamp, begin, length });
        }
    }

    /// Returns the position and length of the name in an event. `None` without a name.
    fn name(&self, row: &EventRow) -> Option<(usize, Option<u16>)> {
        let mut wire = Wire::new(self.bytes.get(row.payload.clone())?);
        let _namespace = wire.varuint64()?;
        let length = wire.u16()?;
        let begin = row.payload.start + wire.position();
        wire.take(length.into())?;
        (length > 0).then_some((begin, Some(length)))
    }
}

impl Walker for ProcessNameReader<'_> {
    fn block(&mut self, _: &Block) {}

    #[inline(always)]
    fn event(&mut self, row: &EventRow, class: u32, threads: &ThreadTable) {
        match self.sources.get(class as usize) {
            None | Some(ProcessEvent::Nothing) => {}
            Some(source) => self.record(*source, row, threads),
        }
    }
}

/// one-collect's provider for system-wide events.
pub(super) const UNIVERSAL_SYSTEM: &str = "Universal.System";
