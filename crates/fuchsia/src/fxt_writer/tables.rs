//! Tables of strings and threads of a provider that is being written.

use std::collections::HashMap;

use crate::fxt::{EncodeError, RecordWriter, StringRecord, ThreadRecord};
use crate::key_hash::KeyState;

/// Maximum numbers of strings and threads.
const MOST_STRINGS: usize = 0x7fff;
const MOST_THREADS: usize = 0xff;

/// Numbers of strings and threads that a record can have at most.
const STRINGS_OF_RECORD: usize = 64;
const THREADS_OF_RECORD: usize = 2;

/// Maximum size of a string in the table.
const LONGEST: usize = 255;

/// Maximum size of a string in a record, which references have bits for.
pub(super) const LONGEST_STRING: usize = 0x7fff;

/// Strings and threads registered so far. A full table begins anew.
#[derive(Debug, Default)]
pub(super) struct WrittenTables {
    strings: HashMap<Box<[u8]>, u16, KeyState>,
    threads: HashMap<(u64, u64), u8, KeyState>,
    /// Thread of the last record, and its index.
    last_thread: Option<((u64, u64), u8)>,
    /// Number of times that the strings began anew.
    renewals: u64,
}

impl WrittenTables {
    /// Returns a number that changes when indexes of strings change; never 0.
    #[inline(always)]
    pub(super) fn generation(&self) -> u64 {
        self.renewals + 1
    }

    /// Makes room for the strings and threads of a record: these must not replace each other.
    pub(super) fn begin_record(&mut self) {
        if self.strings.len() + STRINGS_OF_RECORD > MOST_STRINGS {
            self.strings.clear();
            self.renewals += 1;
        }
        if self.threads.len() + THREADS_OF_RECORD > MOST_THREADS {
            self.threads.clear();
            self.last_thread = None;
        }
    }

    /// Returns the number of bytes of a string in a record that refers to it.
    pub(super) fn inline_size(length: usize) -> usize {
        if length > LONGEST { length.next_multiple_of(8) } else { 0 }
    }

    /// Returns the reference to a string, and registers it in `out` if it is new. Of long strings, the reference says
    /// that they are in the record.
    pub(super) fn string(&mut self, text: &[u8], out: &mut Vec<u8>) -> u64 {
        if text.len() > LONGEST {
            return 0x8000 | text.len() as u64;
        }
        self.index(text, out).unwrap_or(0).into()
    }

    /// Returns the index of a string, and registers it in `out` if it is new. `None` for long strings, which must be in
    /// the record.
    pub(super) fn index(&mut self, text: &[u8], out: &mut Vec<u8>) -> Option<u16> {
        if text.is_empty() {
            return Some(0);
        }
        if text.len() > LONGEST {
            return None;
        }
        if let Some(index) = self.strings.get(text) {
            return Some(*index);
        }
        let index = self.strings.len() as u16 + 1;
        self.strings.insert(text.into(), index);
        let bytes = 8 + text.len().next_multiple_of(8);
        append(out, bytes, |writer| writer.string(&StringRecord { index, string: text }));
        Some(index)
    }

    /// Returns the reference to a thread, and registers it in `out` if it is new.
    pub(super) fn thread(&mut self, process: u64, thread: u64, out: &mut Vec<u8>) -> u8 {
        let ids = (process, thread);
        if let Some((last, index)) = self.last_thread
            && last == ids
        {
            return index;
        }
        if let Some(index) = self.threads.get(&ids) {
            self.last_thread = Some((ids, *index));
            return *index;
        }
        let index = self.threads.len() as u8 + 1;
        self.threads.insert(ids, index);
        self.last_thread = Some((ids, index));
        append(out, 24, |writer| writer.thread(&ThreadRecord { index, process, thread }));
        index
    }
}

/// Appends records of this size.
pub(super) fn append(
    out: &mut Vec<u8>,
    bytes: usize,
    write: impl FnOnce(&mut RecordWriter<'_>) -> Result<(), EncodeError>,
) {
    let begin = out.len();
    out.resize(begin + bytes, 0);
    let mut writer = RecordWriter::new(out.get_mut(begin..).unwrap_or_default());
    // Cannot fail: it has the size.
    let _ = write(&mut writer);
}

/// Appends a word.
pub(super) fn push_word(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// Appends bytes, padded to words.
pub(super) fn push_stream(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
}
