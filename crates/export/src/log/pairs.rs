//! Pairs of names and values as text: ` name=value`.

use std::io::Write;

use ichnos_model::Visitor;
use ichnos_model::class::FieldKind;
use ichnos_model::field::{Field, FieldContainer, FieldValue, Real, Text, Wide};
use ichnos_model::plan::Plan;

use super::parts::push_utf8;
use crate::block::ShortText;
use crate::number;
use crate::printable::{Escaping, escape_from};
use crate::time::push_date;

/// Texts before the fields of a scope: ` name=`.
#[derive(Debug)]
pub(super) struct PairPrefixes {
    /// Texts by node index.
    names: Vec<ShortText>,
    /// Escaping in names and values.
    escaping: Escaping,
}

impl PairPrefixes {
    pub(super) fn for_plan(plan: Option<&Plan>, escaping: Escaping) -> Self {
        let fields =
            plan.into_iter().flat_map(|plan| (0..plan.nodes().count()).map(|index| plan.field_name(index)));
        let names = fields.map(|field| {
            let mut name = vec![b' '];
            push_text(&mut name, field.as_bytes(), escaping);
            name.push(b'=');
            ShortText::new(&name)
        });
        Self { names: names.collect(), escaping }
    }
}

/// Visitor that writes the pairs of a scope.
pub(super) struct PairWriter<'a> {
    out: &'a mut Vec<u8>,
    names: &'a PairPrefixes,
    container: FieldContainer,
    /// Enclosing containers.
    outer: &'a mut Vec<FieldContainer>,
}

impl<'a> PairWriter<'a> {
    /// Creates a visitor that writes to `out`. `outer` is a reused buffer.
    pub(super) fn new(
        out: &'a mut Vec<u8>,
        names: &'a PairPrefixes,
        outer: &'a mut Vec<FieldContainer>,
    ) -> Self {
        outer.clear();
        Self { out, names, container: FieldContainer::Root, outer }
    }

    /// Appends the text before a value.
    #[inline]
    fn push_prefix(&mut self, field: Field<'_>) {
        match &mut self.container {
            FieldContainer::Wrapper => {}
            FieldContainer::Root => {
                if let Some(name) = self.names.names.get(field.index()) {
                    name.push(self.out);
                }
            }
            FieldContainer::Structure(count) => {
                if *count > 0 {
                    self.out.push(b',');
                }
                *count += 1;
                let (begin, is_first) = (self.out.len(), self.out.ends_with(b"{"));
                if let Some(name) = self.names.names.get(field.index()) {
                    name.push(self.out);
                }
                if is_first && self.out.len() > begin {
                    // The space.
                    self.out.remove(begin);
                }
            }
            FieldContainer::Array(count) => {
                if *count > 0 {
                    self.out.extend_from_slice(b", ");
                }
                *count += 1;
            }
        }
    }

    fn enter(&mut self, container: FieldContainer) {
        self.container.enter(container, self.outer);
    }

    fn leave(&mut self) {
        self.container.leave(self.outer);
    }

    /// Appends names separated by `|`. Returns `false` without names.
    fn names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> bool {
        let mut any = false;
        for name in names {
            if std::mem::replace(&mut any, true) {
                self.out.push(b'|');
            }
            push_text(self.out, name.as_bytes(), self.names.escaping);
        }
        any
    }

    /// Appends the names or the date of an integer. Returns `false` without both.
    #[inline]
    fn label(&mut self, field: Field<'_>, value: i128) -> bool {
        match field.class().mappings() {
            Some(mappings) => self.names(mappings.names_of(value)),
            None => push_date(self.out, field.class().integer(), value),
        }
    }

    fn wide_number(&mut self, field: Field<'_>, value: Wide<'_>) {
        let is_named = self.names(field.class().labels(FieldValue::Wide(value)));
        match &field.class().kind {
            _ if is_named => {}
            FieldKind::BitMap { .. } | FieldKind::BitArray(_) => {
                self.out.extend_from_slice(b"0x");
                value.write_radix(4, self.out);
            }
            _ => value.write_decimal(self.out),
        }
    }
}

impl Visitor for PairWriter<'_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.push_prefix(field);
        if !self.label(field, value.into()) {
            number::push_unsigned(self.out, value);
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.push_prefix(field);
        if !self.label(field, value.into()) {
            number::push_signed(self.out, value);
        }
    }

    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        self.push_prefix(field);
        match value {
            FieldValue::Boolean(value) => {
                self.out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            FieldValue::Bits(bits) => {
                if !self.names(field.class().labels(value)) {
                    // Writing into memory cannot fail.
                    let _ = write!(self.out, "{bits:#x}");
                }
            }
            FieldValue::Wide(wide) => self.wide_number(field, wide),
            FieldValue::Real(Real::Single(single)) => drop(write!(self.out, "{single}")),
            FieldValue::Real(value) => drop(write!(self.out, "{}", value.to_f64())),
            FieldValue::Blob(bytes) => number::push_hex_bytes(self.out, bytes),
            FieldValue::Guid(value) => number::push_guid(self.out, &field, value),
            _ => self.out.extend_from_slice(b"null"),
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.push_prefix(field);
        let begin = self.out.len();
        push_utf8(self.out, value, self.names.escaping == Escaping::Unprintable);
        escape_from(self.out, begin, self.names.escaping);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.push_prefix(field);
        self.out.push(b'{');
        self.enter(FieldContainer::Structure(0));
    }

    fn end_structure(&mut self, _: Field<'_>) {
        self.out.push(b'}');
        self.leave();
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.push_prefix(field);
        self.out.push(b'[');
        self.enter(FieldContainer::Array(0));
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.out.push(b']');
        self.leave();
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        // An absent field is not a pair, but an absent element is written.
        if present || self.container != FieldContainer::Root {
            self.push_prefix(field);
        }
        if !present && self.container != FieldContainer::Root {
            self.out.extend_from_slice(b"none");
        }
        self.enter(FieldContainer::Wrapper);
    }

    fn end_optional(&mut self, _: Field<'_>) {
        self.leave();
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.push_prefix(field);
        self.enter(FieldContainer::Wrapper);
    }

    fn end_variant(&mut self, _: Field<'_>) {
        self.leave();
    }
}

/// Appends UTF-8 text, escaped to stay on its line.
#[inline(always)]
pub(super) fn push_text(out: &mut Vec<u8>, text: &[u8], escaping: Escaping) {
    let begin = out.len();
    out.extend_from_slice(text);
    escape_from(out, begin, escaping);
}
