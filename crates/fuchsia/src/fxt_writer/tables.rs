//! String and thread tables of a provider during writing.

use std::collections::HashMap;

use ichnos_model::key_hash::KeyState;

use crate::fxt::{EncodeError, RecordWriter, StringRecord, ThreadRecord};

/// Maximum string count and thread count.
const MOST_STRINGS: usize = 0x7fff;
const MOST_THREADS: usize = 0xff;

/// Maximum number of strings and threads that one record refers to.
const STRINGS_OF_RECORD: usize = 64;
const THREADS_OF_RECORD: usize = 2;

/// Maximum length of a table string in bytes.
const LONGEST: usize = 255;

/// Maximum length of an inline string in bytes, limited by the reference bits.
pub(super) const LONGEST_STRING: usize = 0x7fff;

/// Strings and threads registered so far. A full table is cleared.
#[derive(Debug, Default)]
pub(super) struct WrittenTables {
    strings: HashMap<Box<[u8]>, u16, KeyState>,
    threads: HashMap<(u64, u64), u8, KeyState>,
    /// Thread of the last record and its index.
    last_thread: Option<((u64, u64), u8)>,
    /// Number of times that the strings were cleared.
    renewals: u64,
}

impl WrittenTables {
    /// Returns a non-zero number that changes when string indexes change.
    #[inline(always)]
    pub(super) fn generation(&self) -> u64 {
        self.renewals + 1
    }

    /// Makes room for the strings and threads of one record, so that they do not replace each other.
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

    /// Returns the inline size of a string in a record, in bytes.
    pub(super) fn inline_size(length: usize) -> usize {
        if length > LONGEST { length.next_multiple_of(8) } else { 0 }
    }

    /// Returns a string reference, and registers a new string in `out`. The reference marks long strings as inline.
    pub(super) fn string(&mut self, text: &[u8], out: &mut Vec<u8>) -> u64 {
        if text.len() > LONGEST {
            return 0x8000 | text.len() as u64;
        }
        self.index(text, out).unwrap_or(0).into()
    }

    /// Returns a string index, and registers a new string in `out`. `None` for long strings, which must be inline.
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

    /// Returns a thread reference, and registers a new thread in `out`.
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

/// Appends records with this total size.
pub(super) fn append(
    out: &mut Vec<u8>,
    bytes: usize,
    write: impl FnOnce(&mut RecordWriter<'_>) -> Result<(), EncodeError>,
) {
    let begin = out.len();
    out.resize(begin + bytes, 0);
    let mut writer = RecordWriter::new(out.get_mut(begin..).unwrap_or_default());
    // Cannot fail: the buffer has the exact size.
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
