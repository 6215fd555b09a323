//! Record content before encoding.

use std::borrow::Cow;
use std::ops::Range;

use ichnos_model::digest::ValueHash;

use super::class_losses::{ClassLoss, ClassLosses};
use super::leaves::{Leaf, LeafValue, Leaves};
use crate::fxt::argument_kind as kind;
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// An argument in parts form.
#[derive(Clone, Debug)]
pub(super) struct PartArgument {
    pub(super) kind: u8,
    pub(super) name: Range<usize>,
    /// Number, or 0.
    pub(super) word: u64,
    /// Text or binary data.
    pub(super) data: Range<usize>,
}

/// Record content, with resolved strings and threads.
#[derive(Clone, Debug)]
pub(super) struct RecordParts {
    pub(super) form: RecordForm,
    /// Time in ticks. `None` for records without a time.
    pub(super) ticks: Option<u64>,
    pub(super) process: u64,
    pub(super) thread: u64,
    pub(super) category: Range<usize>,
    pub(super) name: Range<usize>,
    /// Numbers. The record kind determines their order.
    pub(super) words: [u64; 6],
    /// Binary data or a message.
    pub(super) data: Range<usize>,
    pub(super) arguments: Vec<PartArgument>,
    /// Texts and binary data.
    pub(super) bytes: Vec<u8>,
}

impl RecordParts {
    pub(super) fn new() -> Self {
        Self {
            form: RecordForm::new(RecordKind::Event),
            ticks: None,
            process: 0,
            thread: 0,
            category: 0..0,
            name: 0..0,
            words: [0; 6],
            data: 0..0,
            arguments: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Starts a record.
    pub(super) fn begin(&mut self, form: RecordForm, ticks: Option<u64>) {
        (self.form, self.ticks) = (form, ticks);
        (self.process, self.thread) = (0, 0);
        (self.category, self.name, self.data) = (0..0, 0..0, 0..0);
        self.words = [0; 6];
        self.arguments.clear();
        self.bytes.clear();
    }

    /// Appends a text or binary data to the byte buffer.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        begin..self.bytes.len()
    }

    pub(super) fn text(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Adds an argument with a leaf value.
    pub(super) fn argument(&mut self, name: &[u8], kind: u8, leaf: &Leaf, leaves: &Leaves) {
        let name = self.add(name);
        let data = self.add(leaves.bytes_of(leaf.value));
        let word = match leaf.value {
            LeafValue::Signed(value) => value as u64,
            LeafValue::Unsigned(value) => value,
            LeafValue::Double(value) => value.to_bits(),
            LeafValue::Boolean(value) => value.into(),
            _ => 0,
        };
        // Only the lower 32 bits are written for 32-bit types.
        let word = if matches!(kind, kind::INT32 | kind::UINT32) { word & 0xffff_ffff } else { word };
        self.arguments.push(PartArgument { kind, name, word, data });
    }

    /// Enforces rules that readers do not check: texts are UTF-8, and argument types are known.
    pub(super) fn repair(&mut self, losses: &mut ClassLosses) {
        let Self { bytes, arguments, .. } = self;
        let before = arguments.len();
        arguments.retain(|argument| argument.kind <= kind::BLOB);
        losses.add(ClassLoss::UnknownArgument, (before - arguments.len()) as u64);
        let mut texts = vec![&mut self.category];
        if self.form.kind != RecordKind::KernelObject {
            texts.push(&mut self.name);
        }
        if self.form.kind == RecordKind::Log {
            texts.push(&mut self.data);
        }
        for argument in arguments {
            texts.push(&mut argument.name);
            if argument.kind == kind::STRING {
                texts.push(&mut argument.data);
            }
        }
        for range in texts {
            let text = bytes.get(range.clone()).unwrap_or_default();
            if let Cow::Owned(valid) = String::from_utf8_lossy(text) {
                losses.add(ClassLoss::Encoding, 1);
                let begin = bytes.len();
                bytes.extend_from_slice(valid.as_bytes());
                *range = begin..bytes.len();
            }
        }
    }

    /// Returns the record hash, the same for equal records.
    pub(super) fn hash(&self) -> u64 {
        let Self { form, process, thread, words, .. } = self;
        let mut hash = FxtRecordHash::new(*form, [*process, *thread], *words);
        hash.texts([&self.category, &self.name, &self.data].map(|range| self.text(range)));
        for argument in &self.arguments {
            let PartArgument { kind, word, name, data } = argument;
            hash.argument(*kind, *word, self.text(name), self.text(data));
        }
        hash.finish()
    }
}

/// Hash state for [`RecordParts::hash`].
#[derive(Debug)]
pub(super) struct FxtRecordHash(ValueHash);

impl FxtRecordHash {
    /// Starts a record hash with process id, thread id and numbers.
    pub(super) fn new(form: RecordForm, ids: [u64; 2], words: [u64; 6]) -> Self {
        let mut hash = ValueHash::new(form.kind as u64);
        hash.add(form.event.into());
        hash.add(form.has_scope.into());
        ids.iter().chain(&words).for_each(|word| hash.add(*word));
        Self(hash)
    }

    /// Adds category, name and data.
    pub(super) fn texts(&mut self, texts: [&[u8]; 3]) {
        texts.into_iter().for_each(|text| self.0.bytes(text));
    }

    /// Adds an argument.
    pub(super) fn argument(&mut self, kind: u8, word: u64, name: &[u8], data: &[u8]) {
        self.0.add(kind.into());
        self.0.add(word);
        self.0.bytes(name);
        self.0.bytes(data);
    }

    pub(super) fn finish(self) -> u64 {
        self.0.finish()
    }
}
