//! Counts zero-size array elements, whose number per packet is limited.

use ichnos_model::Visitor;
use ichnos_model::class::Uuid;
use ichnos_model::field::{Field, Real, Text, Wide};

use super::field_encoder::FieldEncoder;

/// Zero-size array elements in a packet, counted in the same way as readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EmptyElements {
    count: u64,
    /// Maximum excess, at any element, over the number of bits before it.
    pub(super) excess: u64,
}

impl EmptyElements {
    fn add(&mut self, bits_before: u64) {
        self.count += 1;
        self.excess = self.excess.max(self.count.saturating_sub(bits_before));
    }
}

/// Encodes fields, and counts zero-size array elements.
pub(super) struct CountingEncoder<'c, 'e> {
    encoder: &'c mut FieldEncoder<'e>,
    elements: &'c mut EmptyElements,
    /// Enclosing fields: `true` for an array, and the bit where it begins.
    around: Vec<(bool, u64)>,
}

impl<'c, 'e> CountingEncoder<'c, 'e> {
    pub(super) fn new(encoder: &'c mut FieldEncoder<'e>, elements: &'c mut EmptyElements) -> Self {
        Self { encoder, elements, around: Vec::new() }
    }

    fn leaf(&mut self, put: impl FnOnce(&mut FieldEncoder<'e>)) {
        let begin = self.encoder.at();
        put(self.encoder);
        self.count(begin);
    }

    fn begin(&mut self, is_array: bool, put: impl FnOnce(&mut FieldEncoder<'e>)) {
        self.around.push((is_array, self.encoder.at()));
        put(self.encoder);
    }

    fn end(&mut self, put: impl FnOnce(&mut FieldEncoder<'e>)) {
        put(self.encoder);
        if let Some((_, begin)) = self.around.pop() {
            self.count(begin);
        }
    }

    /// Counts the field that has ended, if it is a zero-size element.
    fn count(&mut self, begin: u64) {
        if matches!(self.around.last(), Some((true, _)))
            && self.encoder.at() == begin
            && !self.encoder.is_muted()
        {
            self.elements.add(begin);
        }
    }
}

macro_rules! leaves {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name(&mut self, field: Field<'_> $(, $argument: $kind)*) {
            self.leaf(|encoder| encoder.$name(field $(, $argument)*));
        })*
    };
}

macro_rules! ends {
    ($($name:ident)*) => {
        $(fn $name(&mut self, field: Field<'_>) {
            self.end(|encoder| encoder.$name(field));
        })*
    };
}

impl Visitor for CountingEncoder<'_, '_> {
    leaves! {
        unsigned(value: u64);
        signed(value: i64);
        wide(value: Wide<'_>);
        boolean(value: bool, bits: u64);
        bit_array(bits: u64);
        bit_map(bits: u64);
        real(value: Real<'_>);
        text(value: Text<'_>);
        blob(bytes: &[u8]);
        guid(value: Uuid);
        null();
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(false, |encoder| encoder.begin_structure(field));
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.begin(true, |encoder| encoder.begin_array(field, length));
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, selector: i128) {
        self.begin(false, |encoder| encoder.begin_optional(field, present, selector));
    }

    fn begin_variant(&mut self, field: Field<'_>, option: usize, selector: i128) {
        self.begin(false, |encoder| encoder.begin_variant(field, option, selector));
    }

    fn begin_union(&mut self, field: Field<'_>) {
        self.begin(false, |encoder| encoder.begin_union(field));
    }

    ends! { end_structure end_array end_optional end_variant end_union }
}
