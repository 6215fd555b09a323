//! Event record headers of the shapes that tracers write, decoded without going through their
//! plan node by node.
//!
//! Two shapes: unsigned integers at fixed places; and those of LTTng, one integer (the id, or 31
//! or 65535 for "the id follows") that selects a structure of unsigned integers at fixed places.
//! Whatever else a header is, and whatever is too close to the end of the packet, is left to the
//! plan, which knows everything and tells what is wrong where.

use ichnos_model::plan::{Plan, align};
use ichnos_model::walk::{Position, Slots};
use ichnos_model::{ByteOrder, FieldClass, FieldKind, Role, Selectors, VariantOption};

use crate::packet::{Clocks, update_masked};

/// Headers are only decoded where so many bytes of the packet are left: then nothing has to be
/// asked of a single field.
const REACH: usize = 40;

/// The last byte of a header in which a field may begin.
const LAST_BYTE: u64 = (REACH - 8) as u64 - 1;

/// How to decode the event record headers of a data stream class.
#[derive(Debug)]
pub(crate) struct EventHeader {
    /// The alignment in bits, minus one.
    mask: u64,
    /// Whether all fields are big-endian; otherwise all are little-endian.
    is_big: bool,
    selection: Option<Selection>,
    /// What headers look like: one for each option of the selection, or one.
    shapes: Box<[Shape]>,
}

/// Unsigned integers at fixed places.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// Size in bits.
    size: u64,
    /// The last field with the role of the id.
    id: Option<Place>,
    /// The field with the role of a timestamp of the default clock.
    timestamp: Option<Place>,
    /// Byte order of the last field, if the header does not end with a byte.
    open_byte: Option<ByteOrder>,
    /// Byte order of all fields.
    order: Option<ByteOrder>,
}

/// Where an integer is, from the byte on in which the header begins.
#[derive(Clone, Copy, Debug)]
struct Place {
    byte: u8,
    /// By how many bits to shift up the eight bytes from there, and then down.
    up: u8,
    down: u8,
    /// The bits that the integer can have.
    mask: u64,
}

/// A field that says which shape the header has.
#[derive(Debug)]
struct Selection {
    selector: Place,
    /// Where the selector's value is kept for other fields.
    slot: u16,
    selectors: Selectors,
}

impl Place {
    #[inline(always)]
    fn read<const BIG: bool>(self, header: &[u8; REACH]) -> u64 {
        let at = usize::from(self.byte) & (REACH - 9);
        let word = header[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let word = if BIG { word.swap_bytes() } else { word };
        word << (self.up & 63) >> (self.down & 63)
    }
}

impl Shape {
    /// Appends an integer of up to 64 bits in its natural bit order which lies in eight bytes, and
    /// has the byte order of all others. None if the field is something else.
    fn add(&mut self, class: &FieldClass, default_clock: Option<u16>) -> Option<Place> {
        let FieldKind::Integer { bits, integer } = &class.kind else { return None };
        let offset = align(self.size, bits.alignment)?;
        let (byte, bit) = (offset / 8, offset % 8);
        let fits = !integer.signed
            && (1..=64 - bit).contains(&bits.length)
            && !bits.is_reversed()
            && byte <= LAST_BYTE
            && *self.order.get_or_insert(bits.byte_order) == bits.byte_order;
        if !fits {
            return None;
        }
        let is_big = bits.byte_order == ByteOrder::BigEndian;
        let place = Place {
            byte: byte as u8,
            up: (if is_big { bit } else { 64 - bit - bits.length }) as u8,
            down: (64 - bits.length) as u8,
            mask: u64::MAX >> (64 - bits.length),
        };
        self.size = offset + bits.length;
        self.open_byte = (!self.size.is_multiple_of(8)).then_some(bits.byte_order);
        if class.roles.has(Role::EventRecordClassId) {
            self.id = Some(place);
        }
        if class.roles.has(Role::Timestamp) {
            let is_default = class.roles.clock.is_none() || class.roles.clock == default_clock;
            if !is_default || self.timestamp.replace(place).is_some() {
                return None;
            }
        }
        Some(place)
    }

    fn is_big(&self) -> bool {
        self.order == Some(ByteOrder::BigEndian)
    }

    /// The same followed by a structure of such integers; None if where they are depends on where
    /// the header begins, which is known to be a multiple of `alignment`.
    fn with(&self, class: &FieldClass, alignment: u64, default_clock: Option<u16>) -> Option<Self> {
        let FieldKind::Structure { members, .. } = &class.kind else { return None };
        if class.alignment() > alignment {
            return None;
        }
        let mut shape = self.clone();
        shape.size = align(self.size, class.alignment())?;
        if shape.size.is_multiple_of(8) {
            shape.open_byte = None;
        }
        members.iter().try_for_each(|member| shape.add(&member.class, default_clock).map(|_| ()))?;
        Some(shape)
    }
}

impl EventHeader {
    /// For a plan, if its header is of one of the shapes. The default clock is the one that
    /// timestamps are of which name none.
    pub(crate) fn new(plan: &Plan, default_clock: Option<u16>) -> Option<Self> {
        let root = plan.root();
        let FieldKind::Structure { members, .. } = &root.class.kind else { return None };
        // Where it has less, a header that does not begin at a byte is left to the plan.
        let alignment = root.alignment().max(8);
        let mut shape = Shape::default();
        let mut saving = plan.nodes().filter(|node| !node.saved_in().is_empty());
        if let [first, variant] = members.as_slice()
            && let FieldKind::Variant { options, alignment: 1, .. } = &variant.class.kind
        {
            let selector = shape.add(&first.class, default_clock)?;
            // The variant must be selected by the field before it, and by nothing else.
            let saved = saving.next()?;
            let is_first = plan.nodes().nth(1).is_some_and(|node| std::ptr::eq(node, saved));
            let [slot] = saved.saved_in() else { return None };
            if !is_first || saving.next().is_some() {
                return None;
            }
            let shape_of = |option: &VariantOption| shape.with(&option.class, alignment, default_clock);
            return Some(Self {
                mask: root.alignment() - 1,
                is_big: shape.is_big(),
                selection: Some(Selection {
                    selector,
                    slot: *slot,
                    selectors: Selectors::new(options.iter().map(|option| &option.ranges)),
                }),
                shapes: options.iter().map(shape_of).collect::<Option<_>>()?,
            });
        }
        if saving.next().is_some() {
            return None;
        }
        members.iter().try_for_each(|member| shape.add(&member.class, default_clock).map(|_| ()))?;
        let is_big = shape.is_big();
        Some(Self { mask: root.alignment() - 1, is_big, selection: None, shapes: [shape].into() })
    }

    /// Decodes the header at a position in a packet, of which `data` is what is there and `end` the
    /// bit at which the content ends, if its fields are of this byte order: brings the clocks up to date,
    /// gives the id and the position behind it. None: nothing was done that carrying out the plan would
    /// not do.
    #[inline(always)]
    pub(crate) fn decode<const BIG: bool>(
        &self,
        data: &[u8],
        end: u64,
        at: Position,
        slots: &Slots,
        clocks: &mut Clocks,
    ) -> Option<(Option<u64>, Position)> {
        if self.is_big != BIG {
            return None;
        }
        let base = at.bit.checked_add(self.mask)? & !self.mask;
        if !base.is_multiple_of(8) {
            return None;
        }
        let header: &[u8; REACH] = data.get((base / 8) as usize..)?.first_chunk()?;
        let mut index = 0;
        if let Some(selection) = &self.selection {
            let value = selection.selector.read::<BIG>(header);
            index = selection.selectors.select_unsigned(value)?;
            slots.get(usize::from(selection.slot))?.set(i128::from(value));
        }
        let shape = self.shapes.get(index)?;
        let after = base + shape.size;
        if after > end {
            return None;
        }
        if let (Some(place), Some(now)) = (&shape.timestamp, clocks.value()) {
            clocks.set_default(update_masked(now, place.read::<BIG>(header), place.mask));
        }
        let at = at.behind(after, shape.open_byte);
        Some((shape.id.map(|place| place.read::<BIG>(header)), at))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use ichnos_model::plan::TracePlans;
    use ichnos_model::walk::{PacketBits, UNKNOWN, WalkLimits};
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

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..2 * REACH)
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
        let Some(fast) = EventHeader::new(plan, Some(0)) else { return Ok(false) };
        let bits = PacketBits { data, content };
        let begin = Position::at(begin);
        let slots = || vec![Cell::new(UNKNOWN); plans.slots()];
        let mut clocks = Clocks::of(&TraceClass {
            clocks: vec![ClockClass::new("a", 1), ClockClass::new("b", 1)],
            ..TraceClass::default()
        });
        clocks.choose_default(Some(0));
        clocks.set_default(0x1234_5678);
        let before = clocks.clone();
        let fast_slots = slots();
        let little = fast.decode::<false>(data, bits.end(), begin, &fast_slots, &mut clocks);
        let decoded =
            little.or_else(|| fast.decode::<true>(data, bits.end(), begin, &fast_slots, &mut clocks));
        let Some((id, at)) = decoded else {
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
        fn flat_headers(fields in integers(), minimum in 0u32..6, data in bytes(), content in 0u64..600, begin in 0u64..40) {
            compare(structure(minimum, &fields), &data, content, begin)?;
        }

        #[test]
        fn headers_with_a_selection(
            first in (1u64..=16, 0u32..5, any::<bool>(), 0u8..5),
            options in proptest::collection::vec((0u32..6, integers()), 1..4),
            minimum in 0u32..5,
            step in 1i128..40,
            mut data in bytes(),
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
