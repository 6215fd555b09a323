//! Encodes FXT events while visiting them. All other records, and events with texts outside of the tables, are first
//! split into [`RecordParts`](super::record_parts::RecordParts).

use std::slice::IterMut;

use ichnos_model::field::{Field, FieldValue, Real, StringEncoding, Text};
use ichnos_model::{Event, Scope, Visitor};

use super::own::OwnClass;
use super::record_parts::FxtRecordHash;
use super::tables::WrittenTables;
use crate::fxt::{
    ArgumentValue, EventKind, EventRecordWriter, MAX_ARGUMENTS, MAX_RECORD_WORDS, RecordWriter, StringRef,
    ThreadRef, argument_kind as kind,
};

/// String table references for the events of a class.
#[derive(Debug, Default)]
pub(super) struct EventReferences {
    /// Table generation of these references.
    generation: u64,
    category: u16,
    name: u16,
    arguments: Vec<ArgumentReferences>,
}

/// References for an argument.
#[derive(Debug)]
struct ArgumentReferences {
    kind: u8,
    name: u16,
    /// Text of the last event and its index. Most texts are the same in consecutive events.
    text: Vec<u8>,
    reference: Option<u16>,
}

impl EventReferences {
    /// Registers the names of a class if needed. Returns `None` if there are too many for a record, or if one is too
    /// long for the tables.
    fn renew(&mut self, class: &OwnClass, tables: &mut WrittenTables, out: &mut Vec<u8>) -> Option<()> {
        if self.generation == tables.generation() {
            return Some(());
        }
        if class.arguments.len() > MAX_ARGUMENTS {
            return None;
        }
        let mut index = |name: &[u8]| tables.index(name, out);
        self.category = index(&class.category)?;
        self.name = index(&class.name)?;
        self.arguments.clear();
        for (name, kind) in &class.arguments {
            let (kind, name) = (*kind, index(name)?);
            self.arguments.push(ArgumentReferences { kind, name, text: Vec::new(), reference: None });
        }
        self.generation = tables.generation();
        Some(())
    }
}

/// Returns the string reference for an index. Index 0 is the empty string.
fn string(index: u16) -> StringRef<'static> {
    match index {
        0 => StringRef::Inline(b""),
        index => StringRef::Index(index),
    }
}

/// Encodes FXT events.
#[derive(Debug)]
pub(super) struct EventEncoder {
    record: Box<[u8]>,
}

impl EventEncoder {
    pub(super) fn new() -> Self {
        Self { record: vec![0; MAX_RECORD_WORDS * 8].into() }
    }

    /// Appends an event record to `out`, after the strings and the thread it refers to. Returns the record hash, or 0
    /// without `is_compared`.
    ///
    /// Returns `None` if the event must be split into parts. Only strings and threads are then written.
    #[inline]
    pub(super) fn encode(
        &mut self,
        event: &Event<'_>,
        (class, references): (&OwnClass, &mut EventReferences),
        ticks: u64,
        (tables, out): (&mut WrittenTables, &mut Vec<u8>),
        is_compared: bool,
    ) -> Option<u64> {
        tables.begin_record();
        references.renew(class, tables, out)?;
        let mut ids = LastNumbers::default();
        event.visit(Scope::CommonContext, &mut ids).ok()?;
        let ids = ids.0;
        let word = match class.has_word() {
            true => Some(class.word(ticks, first_number(event)?)),
            false => None,
        };
        let thread = ThreadRef::Index(tables.thread(ids[0], ids[1], out));
        let names = [string(references.category), string(references.name)];
        let kind = EventKind::from_number(class.form.event.into(), word)?;
        let hash = is_compared.then(|| {
            let mut hash = FxtRecordHash::new(class.form, ids, [word.unwrap_or(0), 0, 0, 0, 0, 0]);
            hash.texts([&class.category, &class.name, b""]);
            hash
        });
        let mut writer = RecordWriter::new(&mut self.record);
        let record = writer.begin_event(kind, ticks, thread, names).ok()?;
        let mut visitor = ArgumentVisitor {
            record,
            left: references.arguments.iter_mut(),
            names: class.arguments.iter(),
            tables,
            out,
            hash,
            has_failed: false,
        };
        event.visit(Scope::Payload, &mut visitor).ok()?;
        let ArgumentVisitor { record, left, hash, has_failed, .. } = visitor;
        if has_failed || left.len() > 0 {
            return None;
        }
        record.finish();
        out.extend_from_slice(writer.written());
        Some(hash.map_or(0, FxtRecordHash::finish))
    }
}

/// Visitor for the last two fields. Missing and non-numeric fields count as 0.
#[derive(Default)]
struct LastNumbers([u64; 2]);

impl LastNumbers {
    fn push(&mut self, number: u64) {
        self.0 = [self.0[1], number];
    }
}

impl Visitor for LastNumbers {
    #[inline]
    fn value(&mut self, _: Field<'_>, value: FieldValue<'_>) {
        match value {
            FieldValue::Unsigned(value) | FieldValue::Bits(value) => self.push(value),
            _ => self.push(0),
        }
    }

    #[inline]
    fn begin_optional(&mut self, _: Field<'_>, present: bool, _: i128) {
        if !present {
            self.push(0);
        }
    }
}

/// Returns the first field of the specific context, or `None` if it is not a number.
fn first_number(event: &Event<'_>) -> Option<u64> {
    /// Visitor for the first field. The outer `None` means no field yet, the inner `None` a non-numeric field.
    #[derive(Default)]
    struct FirstValue(Option<Option<u64>>);

    impl Visitor for FirstValue {
        fn value(&mut self, _: Field<'_>, value: FieldValue<'_>) {
            self.0.get_or_insert(match value {
                FieldValue::Unsigned(value) | FieldValue::Bits(value) => Some(value),
                FieldValue::Signed(value) => Some(value as u64),
                _ => None,
            });
        }

        fn begin_optional(&mut self, _: Field<'_>, _: bool, _: i128) {
            self.0.get_or_insert(None);
        }
    }

    let mut first = FirstValue::default();
    event.visit(Scope::SpecificContext, &mut first).ok()?;
    first.0?
}

/// Writes fields as arguments.
struct ArgumentVisitor<'v, 'e> {
    record: EventRecordWriter<'e>,
    /// Remaining arguments.
    left: IterMut<'v, ArgumentReferences>,
    /// Argument names for the hash.
    names: std::slice::Iter<'v, (Vec<u8>, u8)>,
    tables: &'v mut WrittenTables,
    out: &'v mut Vec<u8>,
    hash: Option<FxtRecordHash>,
    /// `true` if the event must be split into parts.
    has_failed: bool,
}

impl ArgumentVisitor<'_, '_> {
    /// Writes the next argument. `value` returns the value for the argument type, or `None` for an unexpected type.
    #[inline(always)]
    fn number<'v>(&mut self, word: u64, value: impl FnOnce(u8) -> Option<ArgumentValue<'v>>) {
        let Some(argument) = self.left.next() else { return self.fail() };
        let (kind, name) = (argument.kind, argument.name);
        match value(kind) {
            Some(value) => self.write(kind, name, word, value, b""),
            None => self.fail(),
        }
    }

    #[inline(always)]
    fn write(&mut self, kind: u8, name: u16, word: u64, value: ArgumentValue<'_>, data: &[u8]) {
        self.has_failed |= self.record.argument(string(name), value).is_err();
        if let Some(hash) = &mut self.hash {
            let name = self.names.next().map(|(name, _)| name.as_slice()).unwrap_or_default();
            hash.argument(kind, word, name, data);
        }
    }

    #[cold]
    fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl Visitor for ArgumentVisitor<'_, '_> {
    #[inline]
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        let word = value;
        self.number(word, |kind| {
            Some(match kind {
                kind::UINT64 => ArgumentValue::Uint64(value),
                kind::POINTER => ArgumentValue::Pointer(value),
                kind::KOID => ArgumentValue::Koid(value),
                kind::UINT32 => ArgumentValue::Uint32(u32::try_from(value).ok()?),
                _ => return None,
            })
        });
    }

    #[inline]
    fn signed(&mut self, _: Field<'_>, value: i64) {
        let short = i32::try_from(value).ok();
        let is_short = self.left.as_slice().first().is_some_and(|argument| argument.kind == kind::INT32);
        let word = if is_short { value as u64 & 0xffff_ffff } else { value as u64 };
        self.number(word, |kind| match kind {
            kind::INT64 => Some(ArgumentValue::Int64(value)),
            kind::INT32 => short.map(ArgumentValue::Int32),
            _ => None,
        });
    }

    fn boolean(&mut self, _: Field<'_>, value: bool, _: u64) {
        self.number(value.into(), |kind| (kind == kind::BOOLEAN).then_some(ArgumentValue::Boolean(value)));
    }

    fn real(&mut self, _: Field<'_>, value: Real<'_>) {
        let value = value.to_f64();
        self.number(value.to_bits(), |kind| (kind == kind::DOUBLE).then_some(ArgumentValue::Double(value)));
    }

    fn null(&mut self, _: Field<'_>) {
        self.number(0, |kind| (kind == kind::NULL).then_some(ArgumentValue::Null));
    }

    #[inline]
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        let bytes = value.bytes;
        let Some(argument) = self.left.next() else { return self.fail() };
        if argument.kind != kind::STRING || value.encoding != StringEncoding::Utf8 {
            return self.fail();
        }
        let reference = match argument.reference {
            Some(reference) if argument.text == bytes => reference,
            _ => {
                let Some(reference) = self.tables.index(bytes, self.out) else { return self.fail() };
                argument.text.clear();
                argument.text.extend_from_slice(bytes);
                argument.reference = Some(reference);
                reference
            }
        };
        let name = argument.name;
        self.write(kind::STRING, name, 0, ArgumentValue::String(string(reference)), bytes);
    }

    fn blob(&mut self, _: Field<'_>, bytes: &[u8]) {
        let Some(argument) = self.left.next() else { return self.fail() };
        // Unknown types also use BLOB fields.
        if argument.kind != kind::BLOB {
            return self.fail();
        }
        let name = argument.name;
        self.write(kind::BLOB, name, 0, ArgumentValue::Blob(bytes), bytes);
    }

    fn value(&mut self, _: Field<'_>, _: FieldValue<'_>) {
        self.fail();
    }

    #[inline]
    fn begin_structure(&mut self, field: Field<'_>) {
        if field.index() != 0 {
            self.fail();
        }
    }

    fn begin_array(&mut self, _: Field<'_>, _: u64) {
        self.fail();
    }

    fn begin_optional(&mut self, _: Field<'_>, _: bool, _: i128) {
        self.fail();
    }

    fn begin_variant(&mut self, _: Field<'_>, _: usize, _: i128) {
        self.fail();
    }
}
