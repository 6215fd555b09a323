//! TCP protocol.

use crate::batch::{Batch, ReportChecker, SyncQuestion};
use crate::statistics::CollectorCounters;

/// Value that a client sends instead of a length to ask how many of its reports are on the disk.
///
/// The answer has 16 bytes: two 64-bit numbers, most significant byte first. The first number counts this connection's
/// reports on the disk, the second its refused reports. The sum is the number of reports sent before the question.
pub const SYNC: u32 = u32::MAX;

/// Size of the length in front of a report, in bytes.
const LENGTH: usize = size_of::<u32>();

/// Parser for a connection's reports, each preceded by its length in 32 bits, most significant byte first.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// An incomplete report with its length.
    partial: Vec<u8>,
    /// Number of accepted reports.
    reports: u64,
    /// Number of refused reports.
    refused: u64,
}

/// Length of 0 or above the limit. The data after it cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidLength;

/// Destination for a connection's reports.
#[derive(Debug)]
pub(crate) struct ReportTarget<'a> {
    pub(crate) connection: usize,
    pub(crate) longest: usize,
    pub(crate) checker: &'a ReportChecker,
    pub(crate) counters: &'a CollectorCounters,
    pub(crate) batch: &'a mut Batch,
}

impl Frames {
    /// Parses received data. Returns the number of questions in it.
    pub(crate) fn take(
        &mut self,
        mut input: &[u8],
        target: &mut ReportTarget<'_>,
    ) -> Result<u32, InvalidLength> {
        let mut syncs = 0;
        while !input.is_empty() {
            if self.partial.is_empty()
                && let Some((length, rest)) = input.split_first_chunk::<LENGTH>()
            {
                // Most reports arrive complete, and need not be copied.
                match u32::from_be_bytes(*length) {
                    SYNC => {
                        syncs += 1;
                        self.sync(target);
                        input = rest;
                        continue;
                    }
                    length => {
                        let length = checked(length, target.longest)?;
                        if let Some((report, rest)) = rest.split_at_checked(length) {
                            self.report(report, target);
                            input = rest;
                            continue;
                        }
                    }
                }
            }
            let wanted = match self.partial.first_chunk::<LENGTH>() {
                Some(length) => LENGTH + checked(u32::from_be_bytes(*length), target.longest)?,
                None => LENGTH,
            };
            let missing = wanted.saturating_sub(self.partial.len()).min(input.len());
            let (more, rest) = input.split_at(missing);
            self.partial.extend_from_slice(more);
            input = rest;
            let Some((length, report)) = self.partial.split_first_chunk::<LENGTH>() else { continue };
            match u32::from_be_bytes(*length) {
                SYNC => {
                    self.partial.clear();
                    syncs += 1;
                    self.sync(target);
                }
                length => {
                    if report.len() == checked(length, target.longest)? {
                        let partial = std::mem::take(&mut self.partial);
                        self.report(partial.get(LENGTH..).unwrap_or_default(), target);
                    }
                }
            }
        }
        Ok(syncs)
    }

    /// Returns the number of complete reports.
    pub(crate) fn complete_reports(&self) -> u64 {
        self.reports + self.refused
    }

    /// `true` if a report is incomplete.
    pub(crate) fn is_within_report(&self) -> bool {
        !self.partial.is_empty()
    }

    fn report(&mut self, report: &[u8], target: &mut ReportTarget<'_>) {
        let is_report = target.checker.take(report, target.batch, target.counters);
        *(if is_report { &mut self.reports } else { &mut self.refused }) += 1;
    }

    fn sync(&self, target: &mut ReportTarget<'_>) {
        let (reports, refused) = (self.reports, self.refused);
        let connection = target.connection;
        match target.batch.syncs.last_mut() {
            // Repeated questions take no additional memory.
            Some(last) if (last.connection, last.reports, last.refused) == (connection, reports, refused) => {
                last.count = last.count.saturating_add(1);
            }
            _ => target.batch.syncs.push(SyncQuestion { connection, reports, refused, count: 1 }),
        }
    }
}

fn checked(length: u32, longest: usize) -> Result<usize, InvalidLength> {
    let length = usize::try_from(length).map_err(|_| InvalidLength)?;
    if length == 0 || length > longest { Err(InvalidLength) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use ichnos_io::{CollectSettings, TaskKey};

    use super::*;

    fn store(report: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str> {
        if report.starts_with(b"no") {
            // Must be ignored.
            buffer.extend_from_slice(report);
            return Err("no report");
        }
        buffer.extend_from_slice(report);
        buffer.extend_from_slice(b"\n\n");
        TaskKey::new(b"task").ok_or("too long")
    }

    /// Parses bytes in chunks of `part` bytes. Returns the result, the text and the questions.
    fn take(bytes: &[u8], part: usize) -> (Result<u32, InvalidLength>, String, Vec<(u64, u64)>) {
        let checker = ReportChecker::new(CollectSettings::new(1, 8, store), RandomState::new());
        let (mut batch, counters) = (Batch::default(), CollectorCounters::default());
        let mut frames = Frames::default();
        let mut result = Ok(0);
        for part in bytes.chunks(part) {
            let mut target = ReportTarget {
                connection: 7,
                longest: 8,
                checker: &checker,
                counters: &counters,
                batch: &mut batch,
            };
            match (frames.take(part, &mut target), &mut result) {
                (Ok(more), Ok(syncs)) => *syncs += more,
                (error, _) => {
                    result = error;
                    break;
                }
            }
            assert!(frames.partial.len() <= 12);
        }
        assert_eq!(frames.reports, batch.hashes.len() as u64);
        assert_eq!(frames.refused, counters.refused.get());
        let repeated =
            |sync: &SyncQuestion| std::iter::repeat_n((sync.reports, sync.refused), sync.count as usize);
        let syncs = batch.syncs.iter().flat_map(repeated).collect();
        (result, String::from_utf8_lossy(&batch.text).into_owned(), syncs)
    }

    fn frame(text: &str) -> Vec<u8> {
        [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn in_parts_of_any_length() {
        let sync = SYNC.to_be_bytes().to_vec();
        let bytes =
            [frame("one"), sync.clone(), frame("no"), frame("12345678"), sync.clone(), sync, frame("x")]
                .concat();
        for part in 1..=bytes.len() {
            let expected = (Ok(3), "one\n\n12345678\n\nx\n\n".to_owned(), vec![(1, 0), (2, 1), (2, 1)]);
            assert_eq!(take(&bytes, part), expected, "{part}");
        }
    }

    #[test]
    fn lengths_that_are_wrong() {
        for bad in [frame(""), frame("123456789"), b"GET / HTTP/1.1\r\n\r\n".to_vec()] {
            let bytes = [frame("one"), bad, frame("two")].concat();
            for part in 1..=bytes.len() {
                assert_eq!(take(&bytes, part), (Err(InvalidLength), "one\n\n".to_owned(), vec![]), "{part}");
            }
        }
    }

    #[test]
    fn any_bytes() {
        ichnos_testing::cases(500, |random| {
            let bytes: Vec<u8> =
                (0..random.below(200)).map(|_| [0, 0, 0, 1, 3, 255, 255][random.below(7) as usize]).collect();
            let whole = take(&bytes, bytes.len().max(1));
            for part in [1, 2, 3, 7] {
                assert_eq!(take(&bytes, part), whole, "{bytes:?}");
            }
        });
    }
}
