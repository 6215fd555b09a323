//! Event record headers of the shapes that tracers write, decoded without going through their
//! plan node by node.
//!
//! Two shapes: unsigned integers at fixed places; and those of LTTng, one integer (the id, or 31
//! or 65535 for "the id follows") that selects a structure of unsigned integers at fixed places.
//! Whatever else a header is, and whatever does not fit the packet, is left to the plan, which
//! knows everything and tells what is wrong where.

use ichnos_model::plan::{Plan, align};
use ichnos_model::walk::{PacketBits, Position, Slots, Word, read_bits};
use ichnos_model::{ByteOrder, FieldClass, FieldKind, Role, Roles, Selectors, VariantOption};

use crate::packet::Clocks;

/// How to decode the event record headers of a data stream class.
#[derive(Debug)]
pub(crate) struct EventHeader {
    alignment: u64,
    fields: Fields,
    selection: Option<Selection>,
}

/// Unsigned integers at fixed places.
#[derive(Debug, Default)]
struct Fields {
    /// The bit of a byte that they begin with.
    begin: u64,
    /// Size in bits, from the beginning of that byte on.
    size: u64,
    /// The last field with the role of the id.
    id: Option<Place>,
    /// The fields with the role of a timestamp, in order.
    timestamps: Vec<(Place, Roles)>,
    /// Byte order of the fields, if they do not fill bytes.
    open_byte: Option<ByteOrder>,
    /// Byte order of the first field.
    first_order: Option<ByteOrder>,
    /// Whether a field has another byte order.
    mixed: bool,
}

/// Where an integer is, from the byte on in which the fields begin.
#[derive(Clone, Copy, Debug)]
struct Place {
    byte: u32,
    /// None: it is big-endian.
    word: Option<Word>,
    bit: u8,
    length: u8,
}

/// What follows the fields: which fields depends on a selector among them.
#[derive(Debug)]
struct Selection {
    selector: Place,
    /// Where the selector's value is needed by other fields.
    slots: Vec<usize>,
    selectors: Selectors,
    /// The alignment and the fields of each option.
    options: Vec<(u64, Fields)>,
}

impl Place {
    #[inline(always)]
    fn read(self, data: &[u8], begin: usize) -> u64 {
        let byte = begin + self.byte as usize;
        match self.word {
            Some(word) => word.unsigned(data, byte),
            None => read_bits(data, byte as u64 * 8 + u64::from(self.bit), self.length.into(), true),
        }
    }
}

impl Fields {
    /// The fields of a structure, if all are unsigned integers of up to 64 bits in their natural
    /// bit order, and none is needed by others.
    fn of(class: &FieldClass, begin: u64) -> Option<Self> {
        let FieldKind::Structure { members, .. } = &class.kind else { return None };
        let mut fields = Self { begin, size: begin, ..Self::default() };
        members.iter().try_for_each(|member| fields.add(&member.class).map(|_| ()))?;
        Some(fields)
    }

    fn add(&mut self, class: &FieldClass) -> Option<Place> {
        let FieldKind::Integer { bits, integer } = &class.kind else { return None };
        let fits = !integer.signed && (1..=64).contains(&bits.length) && !bits.is_reversed();
        let offset = self.size.checked_next_multiple_of(bits.alignment)?;
        let opens = !offset.is_multiple_of(8) || !bits.length.is_multiple_of(8);
        if !fits || (opens && self.open_byte.is_some_and(|order| order != bits.byte_order)) {
            return None;
        }
        if opens {
            self.open_byte = Some(bits.byte_order);
        }
        self.mixed |= *self.first_order.get_or_insert(bits.byte_order) != bits.byte_order;
        let (bit, length) = (offset % 8, bits.length);
        let word = match bits.byte_order {
            ByteOrder::LittleEndian => Some(Word::new(bit, length)?),
            ByteOrder::BigEndian => None,
        };
        let place =
            Place { byte: u32::try_from(offset / 8).ok()?, word, bit: bit as u8, length: length as u8 };
        self.size = offset + bits.length;
        if class.roles.has(Role::EventRecordClassId) {
            self.id = Some(place);
        }
        if class.roles.has(Role::Timestamp) {
            self.timestamps.push((place, class.roles));
        }
        Some(place)
    }

    #[inline(always)]
    fn decode(&self, data: &[u8], begin: usize, id: &mut Option<u64>, clocks: &mut Clocks) {
        if let Some(place) = self.id {
            *id = Some(place.read(data, begin));
        }
        for (place, roles) in &self.timestamps {
            clocks.update(*roles, place.read(data, begin), place.length.into());
        }
    }
}

impl EventHeader {
    /// For a plan, if its header is of one of the shapes.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let root = plan.root();
        let FieldKind::Structure { members, .. } = &root.class.kind else { return None };
        let alignment = root.alignment();
        let mut fields = Fields::default();
        let mut selection = None;
        match members.as_slice() {
            [first, variant] if matches!(variant.class.kind, FieldKind::Variant { .. }) => {
                let selector = fields.add(&first.class)?;
                let FieldKind::Variant { options, alignment: 1, .. } = &variant.class.kind else {
                    return None;
                };
                // The variant must be selected by the field before it, and by nothing else.
                let mut saving = plan.nodes().filter(|node| !node.saved_in().is_empty());
                let saved = saving.next()?;
                let is_first = plan.nodes().nth(1).is_some_and(|node| std::ptr::eq(node, saved));
                if !is_first || saving.next().is_some() {
                    return None;
                }
                let option = |option: &VariantOption| {
                    let alignment = option.class.alignment();
                    // The header begins at a byte.
                    let begin = align(fields.size, alignment.min(8))?;
                    Some((alignment, Fields::of(&option.class, begin % 8)?))
                };
                selection = Some(Selection {
                    selector,
                    slots: saved.saved_in().iter().map(|slot| usize::from(*slot)).collect(),
                    selectors: Selectors::new(options.iter().map(|option| &option.ranges)),
                    options: options.iter().map(option).collect::<Option<_>>()?,
                });
            }
            members => {
                members.iter().try_for_each(|member| fields.add(&member.class).map(|_| ()))?;
                if plan.nodes().any(|node| !node.saved_in().is_empty()) {
                    return None;
                }
            }
        }
        Some(Self { alignment, fields, selection })
    }

    /// Decodes the header at a position, if it fits the packet: moves the position behind it,
    /// brings the clocks up to date and gives the id. None: nothing was done.
    #[inline]
    pub(crate) fn decode(
        &self,
        bits: PacketBits<'_>,
        at: &mut Position,
        slots: &Slots,
        clocks: &mut Clocks,
    ) -> Option<Option<u64>> {
        let end = bits.end();
        let base = align(at.bit, self.alignment)?;
        if !base.is_multiple_of(8) || self.fields.size > end.checked_sub(base)? {
            return None;
        }
        let byte = (base / 8) as usize;
        let mut id = None;
        let mut after = base + self.fields.size;
        let mut open_byte = self.fields.open_byte;
        if let Some(selection) = &self.selection {
            let selector = selection.selector.read(bits.data, byte);
            let option = selection.selectors.select_unsigned(selector)?;
            let (alignment, fields) = selection.options.get(option)?;
            let begin = align(after, *alignment)? & !7;
            // Within a byte, all fields must have the byte order of the one before.
            if fields.size > end.checked_sub(begin)?
                || (fields.begin != 0
                    && (fields.mixed || open_byte.zip(fields.first_order).is_some_and(|(a, b)| a != b)))
            {
                return None;
            }
            self.fields.decode(bits.data, byte, &mut id, clocks);
            fields.decode(bits.data, (begin / 8) as usize, &mut id, clocks);
            for slot in &selection.slots {
                if let Some(slot) = slots.get(*slot) {
                    slot.set(i128::from(selector));
                }
            }
            after = begin + fields.size;
            open_byte = fields.open_byte.or(open_byte);
        } else {
            self.fields.decode(bits.data, byte, &mut id, clocks);
        }
        *at = Position { bit: after, open_byte: open_byte.filter(|_| !after.is_multiple_of(8)) };
        Some(id)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use ichnos_model::plan::TracePlans;
    use ichnos_model::walk::{UNKNOWN, WalkLimits};
    use ichnos_model::{
        BitField, ClockClass, DataStreamClass, FieldLocation, IntegerProperties, IntegerRange, Limits,
        Member, RangeSet, Scope, TraceClass,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::packet::EventVisitor;

    /// Length, log2 of the alignment, big-endian, role.
    type Integer = (u64, u32, bool, u8);

    fn integer(name: usize, (length, alignment, big, role): Integer) -> Member {
        let order = if big { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
        let bits = BitField::new(length, order, 1 << alignment);
        let integer = IntegerProperties::default();
        let mut class = FieldClass::new(FieldKind::Integer { bits, integer });
        match role {
            0 => class.roles.insert(Role::EventRecordClassId),
            1 => class.roles.insert(Role::Timestamp),
            2 => {
                class.roles.insert(Role::Timestamp);
                class.roles.clock = Some(1);
            }
            _ => {}
        }
        Member::new(format!("f{name}"), Arc::new(class))
    }

    fn structure(minimum: u32, fields: &[Integer]) -> Arc<FieldClass> {
        let members = fields.iter().enumerate().map(|(i, field)| integer(i, *field)).collect();
        let kind = FieldKind::Structure { members, minimum_alignment: 1 << minimum };
        Arc::new(FieldClass::new(kind))
    }

    fn integers() -> impl Strategy<Value = Vec<Integer>> {
        let length = prop_oneof![Just(8u64), Just(16), Just(32), Just(64), 1u64..=64];
        // Mostly one byte order, or there are too many headers that nobody can decode.
        let big = prop_oneof![4 => Just(false), 1 => Just(true)];
        proptest::collection::vec((length, 0u32..6, big, 0u8..5), 0..4)
    }

    fn compiled(header: Arc<FieldClass>) -> TracePlans {
        let stream = DataStreamClass {
            event_record_header: Some(header),
            default_clock: Some(0),
            ..DataStreamClass::default()
        };
        let clocks = vec![ClockClass::new("a", 1), ClockClass::new("b", 1)];
        let trace = TraceClass { data_streams: vec![stream], clocks, ..TraceClass::default() };
        TracePlans::compile(&trace, &Limits::default()).unwrap()
    }

    /// What is fast must do what the plan does, or nothing.
    fn compare(
        header: Arc<FieldClass>,
        data: &[u8],
        content: u64,
        begin: u64,
    ) -> Result<bool, TestCaseError> {
        let plans = compiled(header);
        let plan = plans.data_streams[0].event_record_header.as_ref().unwrap();
        let Some(fast) = EventHeader::new(plan) else { return Ok(false) };
        let bits = PacketBits { data, content };
        let begin = Position { bit: begin, open_byte: None };
        let slots = || vec![Cell::new(UNKNOWN); plans.slots()];
        let mut clocks = Clocks::of(&TraceClass {
            clocks: vec![ClockClass::new("a", 1), ClockClass::new("b", 1)],
            ..TraceClass::default()
        });
        clocks.default = Some(0);
        clocks.set_default(0x1234_5678);
        let before = clocks.clone();
        let fast_slots = slots();
        let mut at = begin;
        let id = fast.decode(bits, &mut at, &fast_slots, &mut clocks);
        let Some(id) = id else {
            prop_assert_eq!(at, begin);
            prop_assert_eq!(&clocks, &before);
            return Ok(false);
        };
        let mut plan_clocks = before;
        let plan_slots = slots();
        let mut visitor = EventVisitor { clocks: &mut plan_clocks, class_id: None };
        let mut plan_at = begin;
        let limits = WalkLimits::from(&Limits::default());
        let result = plan.walk(bits, &mut plan_at, &plan_slots, limits, &mut visitor);
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(visitor.class_id, id);
        prop_assert_eq!(plan_at, at);
        prop_assert_eq!(plan_clocks, clocks);
        prop_assert_eq!(plan_slots, fast_slots);
        Ok(true)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn flat_headers(fields in integers(), minimum in 0u32..6, data: Vec<u8>, content in 0u64..600, begin in 0u64..40) {
            compare(structure(minimum, &fields), &data, content, begin)?;
        }

        #[test]
        fn headers_with_a_selection(
            first in (1u64..=16, 0u32..5, any::<bool>(), 0u8..5),
            options in proptest::collection::vec((0u32..6, integers()), 1..4),
            minimum in 0u32..5,
            step in 1i128..40,
            mut data: Vec<u8>,
            selector: u8,
            begin in 0u64..40,
        ) {
            let options = options.iter().enumerate().map(|(i, (minimum, fields))| VariantOption {
                name: None,
                class: structure(*minimum, fields),
                ranges: RangeSet(vec![IntegerRange { lower: i as i128 * step, upper: i as i128 * step + step - 1 }]),
                attributes: Default::default(),
            });
            let selection = FieldKind::Variant {
                options: options.collect(),
                selector: FieldLocation::absolute(Scope::EventRecordHeader, ["f0"]),
                alignment: 1,
            };
            let members = vec![integer(0, first), Member::new("v", Arc::new(FieldClass::new(selection)))];
            let kind = FieldKind::Structure { members, minimum_alignment: 1 << minimum };
            data.iter_mut().take(16).for_each(|byte| *byte = selector);
            let content = data.len() as u64 * 8;
            compare(Arc::new(FieldClass::new(kind)), &data, content, begin)?;
        }
    }

    #[test]
    fn byte_orders_within_a_byte_are_left_to_the_plan() {
        let options = vec![VariantOption {
            name: None,
            class: structure(0, &[(32, 0, true, 1)]),
            ranges: RangeSet(vec![IntegerRange { lower: 0, upper: 31 }]),
            attributes: Default::default(),
        }];
        let selection = FieldKind::Variant {
            options,
            selector: FieldLocation::absolute(Scope::EventRecordHeader, ["f0"]),
            alignment: 1,
        };
        let members =
            vec![integer(0, (5, 0, false, 0)), Member::new("v", Arc::new(FieldClass::new(selection)))];
        let kind = FieldKind::Structure { members, minimum_alignment: 8 };
        // The big-endian field begins behind five little-endian bits: the plan refuses that.
        assert!(!compare(Arc::new(FieldClass::new(kind)), &[0; 16], 128, 0).unwrap());
    }
}
