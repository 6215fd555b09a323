//! Encodes record parts.

use super::class_losses::{ClassLoss, ClassLosses};
use super::record_parts::{PartArgument, RecordParts};
use super::tables::{LONGEST_STRING, WrittenTables, push_stream, push_word};
use crate::fxt::{
    ArgumentValue, MAX_ARGUMENTS, MAX_RECORD_WORDS, StringRef, argument_kind as kind, argument_words,
    record_kind, write_argument,
};
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// Maximum content size of a normal record in bytes, without its header.
const MOST_BYTES: usize = (MAX_RECORD_WORDS - 1) * 8;

/// Maximum size of message or BLOB data. The record has 15 bits for it.
const MOST_DATA: usize = 0x7fff;

/// Encodes a record.
#[derive(Debug, Default)]
pub(super) struct FxtRecordEncoder {
    /// Words after the header.
    body: Vec<u8>,
    /// Arguments dropped because the record lacks room.
    dropped: u64,
}

impl FxtRecordEncoder {
    /// Appends a record to `out`, after the strings and threads it refers to, and counts dropped arguments. Returns
    /// `false` if the record lacks room for the rest.
    pub(super) fn encode(
        &mut self,
        parts: &mut RecordParts,
        tables: &mut WrittenTables,
        losses: &mut ClassLosses,
        out: &mut Vec<u8>,
    ) -> bool {
        self.body.clear();
        self.dropped = 0;
        tables.begin_record();
        if parts.form.kind == RecordKind::Unknown {
            out.extend_from_slice(parts.text(&parts.data));
            return true;
        }
        fit_data(parts, losses);
        let Some(header) = self.body(parts, tables, out) else {
            losses.add(ClassLoss::Record, 1);
            return false;
        };
        losses.add(ClassLoss::Arguments, self.dropped);
        let words = 1 + self.body.len() as u64 / 8;
        let is_large = header & 0xf == record_kind::LARGE;
        if !is_large && words > MAX_RECORD_WORDS as u64 || words > u64::from(u32::MAX) {
            losses.add(ClassLoss::Record, 1);
            return false;
        }
        push_word(out, header | words << 4);
        out.extend_from_slice(&self.body);
        true
    }

    fn word(&mut self, word: u64) {
        push_word(&mut self.body, word);
    }

    /// Writes the bytes of an inline string.
    fn inline(&mut self, reference: u64, text: &[u8]) {
        if reference & 0x8000 != 0 {
            push_stream(&mut self.body, text);
        }
    }

    /// Writes the body of a record. Returns its header without the size.
    fn body(
        &mut self,
        parts: &mut RecordParts,
        tables: &mut WrittenTables,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        let [first, second, ..] = parts.words;
        let ticks = parts.ticks.unwrap_or(0);
        let (process, thread) = (parts.process, parts.thread);
        if parts.category.len() > LONGEST_STRING || parts.name.len() > LONGEST_STRING {
            return None;
        }
        let category = tables.string(parts.text(&parts.category), out);
        let name = match parts.form.kind {
            RecordKind::Module => 0,
            // Kernel object names may be invalid UTF-8, but table strings must be valid.
            RecordKind::KernelObject if std::str::from_utf8(parts.text(&parts.name)).is_err() => {
                0x8000 | parts.name.len() as u64
            }
            _ => tables.string(parts.text(&parts.name), out),
        };
        Some(match parts.form.kind {
            RecordKind::Event => {
                let thread = u64::from(tables.thread(process, thread, out));
                self.word(ticks);
                self.inline(category, parts.text(&parts.category));
                self.inline(name, parts.text(&parts.name));
                let has_word = parts.form.has_scope || !matches!(parts.form.event, 0 | 2 | 3);
                let count = self.arguments(parts, usize::from(has_word) * 8, tables, out);
                if has_word {
                    self.word(first);
                }
                let kind = u64::from(parts.form.event);
                record_kind::EVENT | kind << 16 | count << 20 | thread << 24 | category << 32 | name << 48
            }
            RecordKind::UserspaceObject => {
                // Thread references stand for their process here, and the tables lack entries for a process alone.
                self.word(first);
                self.word(process);
                self.inline(name, parts.text(&parts.name));
                let count = self.arguments(parts, 0, tables, out);
                record_kind::USERSPACE_OBJECT | name << 24 | count << 40
            }
            RecordKind::KernelObject => {
                self.word(first);
                self.inline(name, parts.text(&parts.name));
                let count = self.arguments(parts, 0, tables, out);
                record_kind::KERNEL_OBJECT | (second & 0xff) << 16 | name << 24 | count << 40
            }
            RecordKind::Switch | RecordKind::Wakeup | RecordKind::LegacySwitch => {
                self.scheduling(parts, tables, out)
            }
            RecordKind::Log | RecordKind::Blob => self.data(parts, name, tables, out),
            RecordKind::Module | RecordKind::Mapping | RecordKind::Backtrace => {
                self.profiler(parts, tables, out)?
            }
            RecordKind::LargeBlob | RecordKind::BareLargeBlob => {
                self.large_blob(parts, [category, name], tables, out)
            }
            RecordKind::Unknown | RecordKind::LargeUnknown => return None,
        })
    }

    fn scheduling(&mut self, parts: &mut RecordParts, tables: &mut WrittenTables, out: &mut Vec<u8>) -> u64 {
        let [first, second, third, fourth, fifth, sixth] = parts.words;
        let (process, thread) = (parts.process, parts.thread);
        self.word(parts.ticks.unwrap_or(0));
        record_kind::SCHEDULING
            | match parts.form.kind {
                RecordKind::Switch => {
                    [second, thread].into_iter().for_each(|word| self.word(word));
                    let count = self.arguments(parts, 0, tables, out);
                    count << 16 | (first & 0xffff) << 20 | (third & 0xf) << 36 | 1 << 60
                }
                RecordKind::Wakeup => {
                    self.word(thread);
                    let count = self.arguments(parts, 0, tables, out);
                    count << 16 | (first & 0xffff) << 20 | 2 << 60
                }
                _ => {
                    let incoming = u64::from(tables.thread(process, thread, out));
                    let outgoing = u64::from(tables.thread(second, third, out));
                    let priorities = (fifth & 0xff) << 44 | (sixth & 0xff) << 52;
                    (first & 0xff) << 16 | (fourth & 0xf) << 24 | outgoing << 28 | incoming << 36 | priorities
                }
            }
    }

    /// Writes a message or a BLOB.
    fn data(&mut self, parts: &RecordParts, name: u64, tables: &mut WrittenTables, out: &mut Vec<u8>) -> u64 {
        let data = parts.text(&parts.data);
        let length = data.len() as u64;
        if parts.form.kind == RecordKind::Log {
            let thread = u64::from(tables.thread(parts.process, parts.thread, out));
            self.word(parts.ticks.unwrap_or(0));
            push_stream(&mut self.body, data);
            return record_kind::LOG | length << 16 | thread << 32;
        }
        self.inline(name, parts.text(&parts.name));
        push_stream(&mut self.body, data);
        record_kind::BLOB | name << 16 | length << 32 | (parts.words[0] & 0xff) << 48
    }

    fn profiler(
        &mut self,
        parts: &RecordParts,
        tables: &mut WrittenTables,
        out: &mut Vec<u8>,
    ) -> Option<u64> {
        let [first, second, third, fourth, fifth, _] = parts.words;
        self.word(parts.ticks.unwrap_or(0));
        let data = parts.text(&parts.data);
        Some(match parts.form.kind {
            RecordKind::Module => {
                let name = parts.text(&parts.name);
                let (length, id_length) = (u8::try_from(name.len()).ok()?, u8::try_from(data.len()).ok()?);
                // Inline, because modules belong to all threads and "thread 0" should not take a table entry.
                [parts.process, parts.thread].into_iter().for_each(|word| self.word(word));
                push_stream(&mut self.body, name);
                push_stream(&mut self.body, data);
                let lengths = u64::from(length) << 44 | u64::from(id_length) << 52;
                record_kind::PROFILER | (first & 0xffff) << 28 | lengths
            }
            RecordKind::Mapping => {
                let words = [parts.process, parts.thread, third, fourth, fifth];
                words.into_iter().for_each(|word| self.word(word));
                record_kind::PROFILER | 1 << 16 | (first & 0xffff) << 28 | (second & 7) << 44
            }
            _ => {
                let thread = u64::from(tables.thread(parts.process, parts.thread, out));
                let count = (data.len() / 8) as u64;
                self.body.extend_from_slice(data);
                record_kind::PROFILER | 2 << 16 | thread << 20 | count << 28 | (first & 0xfff_ffff) << 36
            }
        })
    }

    fn large_blob(
        &mut self,
        parts: &mut RecordParts,
        [category, name]: [u64; 2],
        tables: &mut WrittenTables,
        out: &mut Vec<u8>,
    ) -> u64 {
        let is_bare = parts.form.kind == RecordKind::BareLargeBlob;
        // Placeholder until the argument count is known.
        self.word(0);
        self.inline(category, parts.text(&parts.category));
        self.inline(name, parts.text(&parts.name));
        let mut format = category | name << 16;
        if !is_bare {
            let thread = u64::from(tables.thread(parts.process, parts.thread, out));
            self.word(parts.ticks.unwrap_or(0));
            format |= self.arguments(parts, 0, tables, out) << 32 | thread << 36;
        }
        if let Some(word) = self.body.first_chunk_mut() {
            *word = format.to_le_bytes();
        }
        let data = parts.text(&parts.data);
        self.word(data.len() as u64);
        push_stream(&mut self.body, data);
        record_kind::LARGE | u64::from(is_bare) << 40
    }

    /// Writes arguments and leaves room for `after` further bytes. Drops arguments without room, and returns the
    /// argument count.
    fn arguments(
        &mut self,
        parts: &mut RecordParts,
        after: usize,
        tables: &mut WrittenTables,
        out: &mut Vec<u8>,
    ) -> u64 {
        let room = MOST_BYTES - after;
        let mut arguments = std::mem::take(&mut parts.arguments);
        let before = arguments.len();
        let mut count = 0;
        arguments.retain(|argument| {
            let is_text_long = argument.kind == kind::STRING && argument.data.len() > LONGEST_STRING;
            let fits = count < MAX_ARGUMENTS
                && argument.name.len() <= LONGEST_STRING
                && !is_text_long
                && self.body.len() + argument_size(argument) <= room;
            if fits {
                self.argument(argument, parts, tables, out);
                count += 1;
            }
            fits
        });
        self.dropped += (before - arguments.len()) as u64;
        parts.arguments = arguments;
        count as u64
    }

    fn argument(
        &mut self,
        argument: &PartArgument,
        parts: &RecordParts,
        tables: &mut WrittenTables,
        out: &mut Vec<u8>,
    ) {
        let (name, data) = (parts.text(&argument.name), parts.text(&argument.data));
        let name = reference(name, tables, out);
        let word = argument.word;
        let value = match argument.kind {
            kind::NULL => ArgumentValue::Null,
            kind::INT32 => ArgumentValue::Int32(word as i32),
            kind::UINT32 => ArgumentValue::Uint32(word as u32),
            kind::INT64 => ArgumentValue::Int64(word as i64),
            kind::UINT64 => ArgumentValue::Uint64(word),
            kind::DOUBLE => ArgumentValue::Double(f64::from_bits(word)),
            kind::STRING => ArgumentValue::String(reference(data, tables, out)),
            kind::POINTER => ArgumentValue::Pointer(word),
            kind::KOID => ArgumentValue::Koid(word),
            kind::BOOLEAN => ArgumentValue::Boolean(word & 1 != 0),
            kind::BLOB => ArgumentValue::Blob(data),
            // The rest of the header, then further words.
            kind => {
                let (low, bytes) = data.split_at(data.len().min(4));
                let low = low.first_chunk().map_or(0, |low| u32::from_le_bytes(*low));
                ArgumentValue::Unknown { kind, low, bytes }
            }
        };
        let begin = self.body.len();
        self.body.resize(begin + argument_words(name, &value) * 8, 0);
        write_argument(self.body.get_mut(begin..).unwrap_or_default().as_chunks_mut().0, name, value);
    }
}

/// Returns a string reference. Registers a new string in `out`. Long strings are inline.
fn reference<'a>(text: &'a [u8], tables: &mut WrittenTables, out: &mut Vec<u8>) -> StringRef<'a> {
    match tables.index(text, out) {
        None | Some(0) => StringRef::Inline(text),
        Some(index) => StringRef::Index(index),
    }
}

/// Shortens data that does not fit into its record kind.
fn fit_data(parts: &mut RecordParts, losses: &mut ClassLosses) {
    let most = |other: usize| MOST_DATA.min(MOST_BYTES - other);
    match parts.form.kind {
        RecordKind::Blob => {
            let name = WrittenTables::inline_size(parts.name.len());
            if parts.name.len() <= LONGEST_STRING && parts.data.len() > most(name.min(MOST_BYTES)) {
                losses.add(ClassLoss::LargerBlob, 1);
                parts.form = RecordForm::new(RecordKind::BareLargeBlob);
                parts.words[0] = 0;
            }
        }
        RecordKind::Log if parts.data.len() > most(8) => {
            losses.add(ClassLoss::Message, 1);
            let whole = parts.text(&parts.data);
            let length = std::str::from_utf8(whole).map_or(most(8), |text| text.floor_char_boundary(most(8)));
            parts.data.end = parts.data.start + length;
        }
        _ => {}
    }
}

/// Returns the size of an argument in bytes.
fn argument_size(argument: &PartArgument) -> usize {
    let value = match argument.kind {
        kind::NULL | kind::INT32 | kind::UINT32 | kind::BOOLEAN => 0,
        kind::STRING => WrittenTables::inline_size(argument.data.len()),
        kind::BLOB => argument.data.len().next_multiple_of(8),
        kind::INT64 | kind::UINT64 | kind::DOUBLE | kind::POINTER | kind::KOID => 8,
        // The header holds four bytes.
        _ => argument.data.len().saturating_sub(4).next_multiple_of(8),
    };
    8 + WrittenTables::inline_size(argument.name.len()) + value
}
