//! The earlier files of a flight recorder.

use std::collections::VecDeque;

use super::earlier_file::EarlierFile;

/// Most earlier files of a thread.
const MOST: usize = 1 << 16;

/// The earlier files of a data stream that are still there, if old files are removed. All memory is taken at first, so
/// that a signal handler can add a file.
#[derive(Debug)]
pub(super) struct EarlierFiles {
    /// Number of bytes to keep, if there is a limit.
    kept: Option<u64>,
    /// From the oldest one.
    files: VecDeque<EarlierFile>,
    /// Bytes of all files.
    bytes: u64,
}

impl EarlierFiles {
    /// Takes memory for files of at least `smallest` bytes, of which so many bytes are kept.
    pub(super) fn new(kept: Option<u64>, smallest: u64) -> Self {
        // One of them may be too much, and another one beside it.
        let most = kept.map_or(0, |kept| (kept / smallest.max(1)).saturating_add(2));
        let most = usize::try_from(most).unwrap_or(MOST).min(MOST);
        Self { kept, files: VecDeque::with_capacity(most), bytes: 0 }
    }

    /// Returns the oldest file.
    pub(super) fn oldest(&self) -> Option<&EarlierFile> {
        self.files.front()
    }

    /// Takes the oldest file.
    pub(super) fn take_oldest(&mut self) -> Option<EarlierFile> {
        let oldest = self.files.pop_front()?;
        self.bytes = self.bytes.saturating_sub(oldest.size);
        Some(oldest)
    }

    /// Adds the newest file, if old files are removed. Returns the oldest one if there are too many: it must go.
    #[must_use]
    pub(super) fn add(&mut self, file: EarlierFile) -> Option<EarlierFile> {
        self.kept?;
        let is_full = self.files.len() == self.files.capacity();
        let oldest = is_full.then(|| self.take_oldest()).flatten();
        self.bytes = self.bytes.saturating_add(file.size);
        self.files.push_back(file);
        oldest
    }

    /// Returns `true` if the oldest file must go when there are so many bytes besides the earlier files.
    pub(super) fn is_too_much(&self, bytes: u64) -> bool {
        self.kept.is_some_and(|kept| bytes.saturating_add(self.bytes) > kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::file_name::FileName;
    use super::*;

    fn file(number: u32) -> EarlierFile {
        EarlierFile::new(FileName::new(0, number), 10, None)
    }

    #[test]
    fn the_oldest_file_goes_when_there_are_too_many() {
        let mut files = EarlierFiles::new(Some(100), 20);
        let room = files.files.capacity();
        assert!(room >= 7, "{room}");
        let gone: Vec<_> = (0..100).filter_map(|number| files.add(file(number))).collect();
        assert_eq!((files.files.capacity(), gone.len()), (room, 100 - room));
        assert_eq!(files.oldest().unwrap().name.shown(), FileName::new(0, gone.len() as u32).shown());
        assert_eq!(files.bytes, 10 * room as u64);
        assert!(files.is_too_much(101 - files.bytes) && !files.is_too_much(100 - files.bytes));
        while files.take_oldest().is_some() {}
        assert_eq!(files.bytes, 0);
        assert_eq!(EarlierFiles::new(Some(u64::MAX), 0).files.capacity(), MOST);
    }

    #[test]
    fn nothing_is_remembered_without_a_limit() {
        let mut files = EarlierFiles::new(None, 20);
        assert!((0..100).all(|number| files.add(file(number)).is_none()));
        assert_eq!((files.files.capacity(), files.is_too_much(u64::MAX)), (0, false));
    }
}
