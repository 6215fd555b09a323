//! Storage of unpacked bytes.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::unpack_budget::UnpackBudget;
use crate::{Bytes, IoError};

/// Read size. Limits are checked after each read.
const STEP: usize = 64 << 10;
/// Write size for the temporary file.
const WRITTEN_AT_ONCE: usize = 1 << 20;

/// All unpacked bytes of one archive in sequence: in memory at first, in a temporary file if there are many. The file
/// is unnamed, so that it always disappears with the process. It is mapped: unlike for a vector, the system can reclaim
/// its memory at any time.
#[derive(Default)]
pub(crate) struct Store {
    /// All bytes, or those that are not in the file yet.
    memory: Vec<u8>,
    file: Option<File>,
    /// Number of bytes in the file.
    written: u64,
    /// `true` if the bytes are expected to be too many for memory. The first bytes are then already written to the
    /// file.
    is_large: bool,
}

impl Store {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.memory.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the expected number of bytes according to the packed data, which may be wrong.
    pub(crate) fn expect(&mut self, bytes: u64, budget: &UnpackBudget<'_>) {
        self.is_large = bytes > budget.in_memory();
    }

    /// Reads all of `reader`. A reader error is returned together with the data before it.
    pub(crate) fn read(
        &mut self,
        reader: impl Read,
        budget: &mut UnpackBudget<'_>,
    ) -> Result<Option<io::Error>, IoError> {
        self.read_counting(reader, budget, || None)
    }

    /// Reads the first `most` bytes of `reader`, or all bytes without `most`.
    pub(crate) fn read_beginning(
        &mut self,
        reader: impl Read,
        most: Option<u64>,
        budget: &mut UnpackBudget<'_>,
    ) -> Result<Option<io::Error>, IoError> {
        self.read(reader.take(most.unwrap_or(u64::MAX)), budget)
    }

    /// Reads all of `reader`, which unpacks the bytes counted by `consumed`.
    pub(crate) fn read_counting(
        &mut self,
        mut reader: impl Read,
        budget: &mut UnpackBudget<'_>,
        consumed: impl Fn() -> Option<u64>,
    ) -> Result<Option<io::Error>, IoError> {
        loop {
            self.reserve(budget)?;
            let before = self.memory.len();
            let result = reader.by_ref().take(STEP as u64).read_to_end(&mut self.memory);
            let grown = self.memory.len() - before;
            budget.arrived(consumed());
            budget.take(grown as u64)?;
            self.keep_within_memory(budget)?;
            match result {
                Err(error) => return Ok(Some(error)),
                Ok(_) if grown < STEP => return Ok(None),
                Ok(_) => {}
            }
        }
    }

    /// Makes room for one read.
    fn reserve(&mut self, budget: &UnpackBudget<'_>) -> Result<(), IoError> {
        if self.memory.try_reserve(STEP).is_ok() {
            return Ok(());
        }
        if !self.memory.is_empty() {
            self.write_out(budget)?;
            self.memory = Vec::new();
        }
        self.memory.try_reserve(STEP).map_err(|_| budget.no_memory(STEP as u64))
    }

    fn keep_within_memory(&mut self, budget: &UnpackBudget<'_>) -> Result<(), IoError> {
        let most = match self.file.is_some() || self.is_large {
            true => WRITTEN_AT_ONCE as u64,
            false => budget.in_memory(),
        };
        if self.memory.len() as u64 > most { self.write_out(budget) } else { Ok(()) }
    }

    /// Writes the bytes in memory to the temporary file.
    fn write_out(&mut self, budget: &UnpackBudget<'_>) -> Result<(), IoError> {
        let written = match &mut self.file {
            Some(file) => file.write_all(&self.memory),
            None => tempfile::tempfile_in(budget.temporary()).and_then(|file| {
                let file = self.file.insert(file);
                file.write_all(&self.memory)
            }),
        };
        written.map_err(|error| budget.temporary_failed(error))?;
        self.written += self.memory.len() as u64;
        self.memory.clear();
        self.memory.shrink_to(WRITTEN_AT_ONCE + STEP);
        Ok(())
    }

    /// Returns all bytes.
    pub(crate) fn finish(mut self, budget: &mut UnpackBudget<'_>) -> Result<Bytes, IoError> {
        if self.file.is_some() {
            self.write_out(budget)?;
        }
        match self.file {
            Some(file) => Bytes::from_temporary(&file).map_err(|error| match error.kind() {
                io::ErrorKind::OutOfMemory => budget.no_memory(self.written),
                _ => budget.temporary_failed(error),
            }),
            None => {
                budget.keep_in_memory(self.memory.len() as u64);
                self.memory.shrink_to_fit();
                Ok(self.memory.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TreeOptions;

    /// Data known to be too large for memory is never in memory as a whole.
    #[test]
    fn large_data_go_to_the_file_at_once() {
        let options = TreeOptions { memory_bytes: 8 << 20, ..TreeOptions::default() };
        let most_of = |expected: Option<u64>| {
            let mut budget = UnpackBudget::new("test", &options, None);
            let mut store = Store::default();
            if let Some(expected) = expected {
                store.expect(expected, &budget);
            }
            let mut most = 0;
            for _ in 0..12 {
                store.read(io::repeat(7).take(1 << 20), &mut budget).unwrap();
                most = most.max(store.memory.len());
            }
            let bytes = store.finish(&mut budget).unwrap();
            assert!(bytes.len() == 12 << 20 && bytes.iter().all(|byte| *byte == 7));
            most
        };
        assert!(most_of(Some(12 << 20)) <= 2 << 20);
        assert!(most_of(Some(8 << 20)) >= 7 << 20);
        assert!(most_of(None) >= 7 << 20);
    }
}
