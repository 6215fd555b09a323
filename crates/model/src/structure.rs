//! Walking over structures, part by part.
//!
//! Nearly all parts of nearly all packets are whole bytes that are there, and need no more than to
//! be loaded. What a part takes beyond that - a part that does not fit, to begin with - is left to
//! [`Walk::node`], field by field, which knows everything and tells what is wrong where.

use crate::bits::{first_zero, read_bits, reverse};
use crate::decode_error::DecodeError;
use crate::part::{ElementKind, Elements, Load, Part, Run, RunField};
use crate::plan::{Op, Plan, align};
use crate::visitor::{Field, Visitor};
use crate::walk::{Position, Walk, is_known, real};
use crate::{ByteOrder, StringEncoding, Text};

impl<'a, V: Visitor> Walk<'a, V> {
    #[inline]
    pub(crate) fn structure(&mut self, field: Field<'a>, parts: &'a [Part]) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_structure(field);
        }
        // The next byte: here, rather than in the walk, it need not be stored for each part.
        let mut at = self.at.bit.div_ceil(8) as usize;
        let mut has_moved = false;
        for part in parts {
            if let Some(after) = self.sound_part(part, at) {
                at = after;
                has_moved = true;
                continue;
            }
            if has_moved {
                self.at = Position { bit: at as u64 * 8, open_byte: None, ..self.at };
                has_moved = false;
            }
            self.any_part(part)?;
            at = self.at.bit.div_ceil(8) as usize;
        }
        if has_moved {
            self.at = Position { bit: at as u64 * 8, open_byte: None, ..self.at };
        }
        if V::WANTS_VALUES {
            self.visitor.end_structure(field.with_offset(self.at.bit));
        }
        Ok(())
    }

    #[inline(never)]
    fn any_part(&mut self, part: &'a Part) -> Result<(), DecodeError> {
        match part {
            Part::Run(run) => self.any_run(run, None),
            Part::OpenRun(run, open_byte) => self.any_run(run, *open_byte),
            Part::Text(id)
            | Part::DynamicText(id, _)
            | Part::PrefixedText(id, _)
            | Part::Array(id, ..)
            | Part::Field(id) => self.node(*id),
        }
    }

    /// A part that begins at byte `at` or behind it, if it is made of bytes that are all there; gives
    /// the byte behind it. None: nothing was done.
    #[inline(always)]
    fn sound_part(&mut self, part: &'a Part, at: usize) -> Option<usize> {
        match part {
            Part::Run(run) => {
                let begin = (at + run.mask) & !run.mask;
                let bytes = self.bytes.get(begin..)?;
                if run.bytes > bytes.len() {
                    return None;
                }
                let fields = if V::WANTS_VALUES { &run.fields } else { &run.saving };
                let mut left = self.plain_fields(fields, begin as u64 * 8, bytes);
                while let Some((field, rest)) = left.split_first() {
                    self.other_run_field(field, begin as u64 * 8, bytes);
                    left = self.plain_fields(rest, begin as u64 * 8, bytes);
                }
                Some(begin + run.bytes)
            }
            Part::Text(id) => {
                let rest = self.bytes.get(at..)?;
                let length = first_zero(rest)?;
                if V::WANTS_VALUES {
                    let (bytes, raw) = (&rest[..length], &rest[..=length]);
                    let text = Text { bytes, raw, encoding: StringEncoding::Utf8 };
                    self.visitor.text(self.field(*id, at as u64 * 8), text);
                }
                Some(at + length + 1)
            }
            Part::DynamicText(id, slot) => {
                let raw = self.bytes.get(at..)?.get(..self.known_length(*slot)?)?;
                if V::WANTS_VALUES {
                    self.visitor.text(self.field(*id, at as u64 * 8), static_text(raw));
                }
                Some(at + raw.len())
            }
            Part::PrefixedText(id, prefix) => {
                let length = usize::try_from(prefix.word.unsigned(self.bytes, at)).ok()?;
                let begin = at + prefix.text as usize;
                let raw = self.bytes.get(begin..)?.get(..length)?;
                if V::WANTS_VALUES {
                    let text = Text { bytes: raw, raw, encoding: StringEncoding::Utf8 };
                    self.visitor.text(self.field(*id, at as u64 * 8), text);
                }
                Some(begin + length)
            }
            Part::Array(id, slot, elements) => {
                let length = self.known_length(*slot)?;
                let size = length.checked_mul(usize::from(elements.size))?;
                let bytes = self.bytes.get(at..)?.get(..size)?;
                if V::WANTS_VALUES {
                    let field = self.field(*id, at as u64 * 8);
                    self.visitor.begin_array(field, length as u64);
                    self.elements(*elements, field.offset, bytes);
                    self.visitor.end_array(field.with_offset(field.offset + size as u64 * 8));
                }
                Some(at + size)
            }
            Part::OpenRun(..) | Part::Field(_) => None,
        }
    }

    /// A length that is in a slot, if it is one that can be.
    #[inline(always)]
    fn known_length(&self, slot: u16) -> Option<usize> {
        let value = self.slots.get(usize::from(slot))?.get();
        if is_known(value) { usize::try_from(value).ok() } else { None }
    }

    /// A run of any kind.
    fn any_run(&mut self, run: &'a Run, open_byte: Option<ByteOrder>) -> Result<(), DecodeError> {
        let begin = align(self.at.bit, run.alignment).unwrap_or(u64::MAX);
        let after = begin.wrapping_add(run.size);
        if after > self.end || after < begin {
            if run.has_padding {
                self.at = Position { bit: begin, open_byte: None, ..self.at };
                return self.beyond(run.size);
            }
            // One by one, to tell how far the fields fit.
            for field in &run.fields {
                self.node(field.node)?;
            }
            return Ok(());
        }
        let fields = if V::WANTS_VALUES { &run.fields } else { &run.saving };
        let bytes = self.data.get((begin / 8) as usize..).unwrap_or_default();
        let mut left = self.plain_fields(fields, begin, bytes);
        while let Some((field, rest)) = left.split_first() {
            if field.load == Load::Any {
                self.at = Position { bit: begin + field.offset(), open_byte: None, ..self.at };
                self.node(field.node)?;
            } else {
                self.other_run_field(field, begin, bytes);
            }
            left = self.plain_fields(rest, begin, bytes);
        }
        self.at = Position { bit: after, open_byte, ..self.at };
        Ok(())
    }

    /// Tells the plain integers that the rest of a run begins with; gives what is behind them.
    #[inline(always)]
    fn plain_fields(&mut self, fields: &'a [RunField], begin: u64, bytes: &'a [u8]) -> &'a [RunField] {
        if V::WANTS_VALUES { plain_fields(self.visitor, self.plan, fields, begin, bytes) } else { fields }
    }

    /// A field, but for [`Load::Any`], of a run that begins at bit `begin`, where `bytes` begin; all
    /// of the run is there.
    #[inline(always)]
    fn other_run_field(&mut self, part: &RunField, begin: u64, bytes: &'a [u8]) {
        let (at, plan) = (part.byte as usize, self.plan);
        // A comparison is better foreseen than a jump, and lengths are most of what is left.
        if part.load == Load::Saved {
            let value = part.word.unsigned(bytes, at);
            if let Some(cell) = self.slots.get(part.more as usize) {
                cell.set(value.into());
            }
            if V::WANTS_VALUES {
                self.visitor.unsigned(part.field(plan, begin), value);
            }
        } else if V::WANTS_VALUES {
            self.told_run_field(part, begin, bytes);
        } else {
            // A saved value that takes more than to be loaded.
            self.run_bits(part.field(plan, begin));
        }
    }

    /// A field of a run that is no plain integer.
    #[inline(always)]
    fn told_run_field(&mut self, part: &RunField, begin: u64, bytes: &'a [u8]) {
        let (at, plan) = (part.byte as usize, self.plan);
        match part.load {
            Load::Text => {
                let raw = bytes.get(at..).and_then(|bytes| bytes.get(..part.more as usize));
                let field = part.field(plan, begin).with_length(0);
                self.visitor.text(field, static_text(raw.unwrap_or_default()));
            }
            Load::Real => {
                let bits = part.word.unsigned(bytes, at);
                self.visitor.real(part.field(plan, begin), real(bits, part.word.length()));
            }
            Load::Array => self.run_array(part, begin),
            Load::Bits | Load::Saved | Load::Unsigned | Load::Signed | Load::Any => {
                self.run_bits(part.field(plan, begin));
            }
        }
    }

    /// An array of plain elements in a run.
    #[inline(never)]
    fn run_array(&mut self, part: &RunField, begin: u64) {
        let field = part.field(self.plan, begin).with_length(0);
        let Op::StaticArray { length, elements: Some(elements), .. } = field.node().op else { return };
        let size = length as usize * usize::from(elements.size);
        let begin = (field.offset / 8) as usize;
        let bytes = self.data.get(begin..).and_then(|bytes| bytes.get(..size)).unwrap_or_default();
        self.visitor.begin_array(field, length);
        self.elements(elements, field.offset, bytes);
        self.visitor.end_array(field.with_offset(field.offset + size as u64 * 8));
    }

    /// Bits of a run: they are there, and their byte order was looked at.
    #[inline(never)]
    fn run_bits(&mut self, field: Field<'a>) {
        let Op::Bits(bits) = field.node().op else { return };
        let value = read_bits(self.data, field.offset, bits.length, bits.big_endian);
        let value = if bits.reversed { reverse(value, bits.length) } else { value };
        self.narrow(field.with_length(bits.length), bits, value);
    }

    /// Tells the elements of an array one after the other from bit `begin` on: `bytes` is all of
    /// them.
    #[inline]
    pub(crate) fn elements(&mut self, elements: Elements, begin: u64, bytes: &'a [u8]) {
        let mut field = Field::new(self.plan, elements.node, begin, u64::from(elements.size) * 8);
        macro_rules! each {
            ($method:ident, $type:ty) => {
                for element in bytes.as_chunks().0 {
                    self.visitor.$method(field, <$type>::from_le_bytes(*element).into());
                    field.offset += field.length;
                }
            };
        }
        match elements.kind {
            ElementKind::U8 => each!(unsigned, u8),
            ElementKind::U16 => each!(unsigned, u16),
            ElementKind::U32 => each!(unsigned, u32),
            ElementKind::U64 => each!(unsigned, u64),
            ElementKind::I8 => each!(signed, i8),
            ElementKind::I16 => each!(signed, i16),
            ElementKind::I32 => each!(signed, i32),
            ElementKind::I64 => each!(signed, i64),
            ElementKind::Bits => {
                for _ in 0..bytes.len() / usize::from(elements.size.max(1)) {
                    self.run_bits(field);
                    field.offset += field.length;
                }
            }
        }
    }
}

/// See [`Walk::plain_fields`]. With nothing but these at hand, the compiler can keep a small visitor
/// in registers.
#[inline(always)]
fn plain_fields<'f, V: Visitor>(
    visitor: &mut V,
    plan: &Plan,
    mut fields: &'f [RunField],
    begin: u64,
    bytes: &[u8],
) -> &'f [RunField] {
    while let Some((part, rest)) = fields.split_first() {
        let at = part.byte as usize;
        match part.load {
            Load::Unsigned => visitor.unsigned(part.field(plan, begin), part.word.unsigned(bytes, at)),
            Load::Signed => visitor.signed(part.field(plan, begin), part.word.signed(bytes, at)),
            _ => break,
        }
        fields = rest;
    }
    fields
}

/// A text of code units of one byte, which ends with the first zero if there is one.
#[inline(always)]
fn static_text(raw: &[u8]) -> Text<'_> {
    let length = first_zero(raw).unwrap_or(raw.len());
    Text { bytes: &raw[..length], raw, encoding: StringEncoding::Utf8 }
}
