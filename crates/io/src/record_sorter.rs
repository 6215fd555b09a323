//! Sorts records by time, in runs in a shared temporary file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ichnos_model::locks::IgnorePoison as _;

use crate::Bytes;

/// Size of the records in memory, in bytes, at which they are written as a run.
const RUN: usize = 32 << 20;

/// Size in bytes of the time and the length before each record.
const HEAD: usize = 12;

/// Minimum run size in bytes, if other sorters take the memory.
const LEAST_RUN: usize = 32 << 10;

/// Memory and temporary file shared by several sorters.
///
/// Together, their records in memory take at most 32 MiB, plus 32 KiB and one record for each sorter. The file exists
/// until the last sorter and the last [`SortedRecords`] are dropped.
#[derive(Clone, Debug, Default)]
pub struct SorterMemory(Arc<SharedMemory>);

#[derive(Debug, Default)]
struct SharedMemory {
    bytes: AtomicUsize,
    file: Mutex<Option<RunFile>>,
}

/// Temporary file with the runs from all sorters.
#[derive(Debug)]
struct RunFile {
    file: BufWriter<File>,
    /// Number of bytes in it.
    written: usize,
}

/// Memory that a sorter takes.
#[derive(Debug, Default)]
struct MemoryShare {
    all: SorterMemory,
    bytes: usize,
}

impl MemoryShare {
    /// Takes more bytes, and returns the total number of bytes for all sorters.
    fn take(&mut self, bytes: usize) -> usize {
        self.bytes += bytes;
        self.all.0.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    fn give_back(&mut self) {
        self.all.0.bytes.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Sorts records by time. Records with equal times stay in order.
///
/// A limited number of records is in memory. Further records are sorted runs in an unnamed temporary file, which
/// disappears with the process. Sorters with the same [`SorterMemory`] share the file.
#[derive(Debug)]
pub struct RecordSorter {
    directory: PathBuf,
    run_bytes: usize,
    /// Records of the current run, each after its time and its length.
    records: Vec<u8>,
    /// Times and positions of these records.
    order: Vec<(u64, usize)>,
    memory: MemoryShare,
    /// Runs in the file.
    runs: Vec<SortedRun>,
}

/// Byte range of a run.
#[derive(Clone, Copy, Debug)]
struct SortedRun {
    begin: usize,
    end: usize,
}

impl RecordSorter {
    /// Creates a sorter without records. `directory` is for the temporary file. Default: the system's directory.
    /// `memory` is shared with other sorters.
    #[must_use]
    pub fn new(directory: Option<PathBuf>, memory: SorterMemory) -> Self {
        Self { memory: MemoryShare { all: memory, bytes: 0 }, ..Self::with_runs_of(RUN, directory) }
    }

    fn with_runs_of(run_bytes: usize, directory: Option<PathBuf>) -> Self {
        let directory = directory.unwrap_or_else(std::env::temp_dir);
        let (records, order, runs) = (Vec::new(), Vec::new(), Vec::new());
        let memory = MemoryShare::default();
        Self { directory, run_bytes, records, order, memory, runs }
    }

    /// Adds a record of at most 4 GiB.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be written.
    pub fn push(&mut self, time: u64, record: &[u8]) -> io::Result<()> {
        let length = u32::try_from(record.len()).map_err(io::Error::other)?;
        self.order.push((time, self.records.len()));
        self.records.extend_from_slice(&time.to_le_bytes());
        self.records.extend_from_slice(&length.to_le_bytes());
        self.records.extend_from_slice(record);
        let all = self.memory.take(HEAD + record.len());
        let least = if all > self.run_bytes { LEAST_RUN } else { self.run_bytes };
        if self.records.len() < least.min(self.run_bytes) { Ok(()) } else { self.write_run() }
    }

    /// Writes the records in memory as a run.
    fn write_run(&mut self) -> io::Result<()> {
        let all = self.memory.all.clone();
        let mut shared = all.0.file.lock().ignore_poison();
        let shared = match &mut *shared {
            Some(shared) => shared,
            none => {
                let file = BufWriter::new(tempfile::tempfile_in(&self.directory)?);
                none.insert(RunFile { file, written: 0 })
            }
        };
        self.order.sort_by_key(|(time, _)| *time);
        for (_, at) in &self.order {
            // All positions in `order` are those of records.
            shared.file.write_all(record_with_head(&self.records, *at).unwrap_or_default())?;
        }
        let begin = shared.written;
        shared.written += self.records.len();
        self.runs.push(SortedRun { begin, end: shared.written });
        self.memory.give_back();
        // Other sorters need the memory more.
        (self.records, self.order) = (Vec::new(), Vec::new());
        Ok(())
    }

    /// Returns all records, sorted.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be written or mapped.
    pub fn finish(mut self) -> io::Result<SortedRecords> {
        let bytes = if !self.runs.is_empty() {
            if !self.records.is_empty() {
                self.write_run()?;
            }
            let mut shared = self.memory.all.0.file.lock().ignore_poison();
            match &mut *shared {
                Some(shared) => {
                    shared.file.flush()?;
                    Bytes::from_temporary(shared.file.get_ref())?
                }
                None => Bytes::default(),
            }
        } else {
            // A single run in memory.
            let mut sorted = Vec::with_capacity(self.records.len());
            self.order.sort_by_key(|(time, _)| *time);
            for (_, at) in &self.order {
                // All positions in `order` are those of records.
                sorted.extend_from_slice(record_with_head(&self.records, *at).unwrap_or_default());
            }
            self.runs.push(SortedRun { begin: 0, end: sorted.len() });
            sorted.into()
        };
        let runs = self.runs.iter().enumerate();
        let heads = runs.filter_map(|(number, run)| Some(Reverse((time_at(&bytes, run.begin)?, number))));
        let heads = heads.collect();
        Ok(SortedRecords { bytes, runs: self.runs, heads })
    }
}

/// Sorted records.
#[derive(Debug)]
pub struct SortedRecords {
    bytes: Bytes,
    /// Remaining records in each run.
    runs: Vec<SortedRun>,
    /// Time of the first remaining record in each run, and the run. Earlier runs come first at equal times.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
}

impl SortedRecords {
    /// Returns the next record and its time, or `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<(u64, &[u8])> {
        let Reverse((time, number)) = self.heads.pop()?;
        let run = self.runs.get_mut(number)?;
        let record = record_with_head(&self.bytes, run.begin)?;
        run.begin += record.len();
        if run.begin < run.end {
            self.heads.push(Reverse((time_at(&self.bytes, run.begin)?, number)));
        }
        Some((time, record.get(HEAD..)?))
    }
}

fn time_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|time| u64::from_le_bytes(*time))
}

/// Returns a record with the time and the length before it.
fn record_with_head(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let length = bytes.get(at + 8..)?.first_chunk().map(|length| u32::from_le_bytes(*length))?;
    bytes.get(at..at + HEAD + length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorters_share_memory() {
        let memory = SorterMemory::default();
        let mut sorters: Vec<RecordSorter> =
            (0..8).map(|_| RecordSorter::new(None, memory.clone())).collect();
        let record = vec![7; 1 << 16];
        for number in 0..2 * RUN / record.len() {
            sorters[number % 8].push(number as u64, &record).unwrap();
            assert!(memory.0.bytes.load(Ordering::Relaxed) <= RUN + 8 * (HEAD + record.len()));
        }
        for (first, sorter) in sorters.into_iter().enumerate() {
            let mut sorted = sorter.finish().unwrap();
            let times = std::iter::from_fn(|| sorted.next().map(|(time, _)| time));
            let expected = (first as u64..).step_by(8).take(2 * RUN / record.len() / 8);
            assert!(times.eq(expected));
        }
        assert_eq!(memory.0.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn sorters_share_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let memory = SorterMemory::default();
        let first = [vec![1; 1 << 16], vec![2; 1 << 16]];
        let new = || RecordSorter::new(Some(directory.path().to_owned()), memory.clone());
        let mut idle = new();
        idle.push(1, &vec![0; RUN - 1 - HEAD]).unwrap();
        let mut sorters = [new(), new()];
        for time in [2, 1] {
            for (sorter, record) in sorters.iter_mut().zip(&first) {
                sorter.push(time, record).unwrap();
            }
        }
        // Only the first run needs the directory.
        drop(directory);
        let [one, two] = sorters.map(RecordSorter::finish).map(Result::unwrap);
        for (mut sorted, record) in [one, two].into_iter().zip(&first) {
            assert_eq!(sorted.next(), Some((1, &record[..])));
            assert_eq!(sorted.next(), Some((2, &record[..])));
            assert_eq!(sorted.next(), None);
        }
        assert_eq!(idle.finish().unwrap().next().map(|(time, _)| time), Some(1));
    }

    /// Records in many runs, in one run and without a run are sorted, and stay in order where times are equal.
    #[test]
    fn records_are_sorted_by_time_and_number() {
        for (count, run_bytes) in [(0u64, 100), (1, 100), (500, 100), (500, 1 << 20), (7, 1)] {
            let mut sorter = RecordSorter::with_runs_of(run_bytes, None);
            let mut expected = Vec::new();
            for number in 0..count {
                let time = (number * 7_919) % 97;
                let record = vec![number as u8; (number % 5) as usize];
                sorter.push(time, &record).unwrap();
                expected.push((time, record));
            }
            expected.sort_by_key(|(time, _)| *time);
            let mut sorted = sorter.finish().unwrap();
            for (time, record) in expected {
                assert_eq!(sorted.next(), Some((time, &record[..])));
            }
            assert_eq!(sorted.next(), None);
        }
    }

    #[test]
    fn the_temporary_file_is_in_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let push = |directory| RecordSorter::with_runs_of(1, Some(directory)).push(1, b"record");
        push(directory.path().to_owned()).unwrap();
        assert_eq!(push(missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
