//! Fast decoding of common event record headers, without their plan.
//!
//! Two shapes are supported. The first is unsigned integers at fixed locations. The second is LTTng's: an integer
//! selects a structure of unsigned integers at fixed locations. The integer is the id, or 31 or 65535 for "the id
//! follows".
//!
//! The plan decodes all other headers, and headers too close to the packet's end. It also locates errors.

use ichnos_model::class::{ByteOrder, FieldClass, FieldKind, IntegerRange, Role, Selectors, VariantOption};
use ichnos_model::decode::{Position, Slots};
use ichnos_model::plan::{Plan, align};

use crate::packet::update_masked;

/// Minimum number of bytes left in the packet. With this many, fields do not need bounds checks.
const REACH: usize = 40;

/// Last header byte at which a field may begin.
const LAST_BYTE: u64 = (REACH - 8) as u64 - 1;

/// Decoder for the event record headers in a data stream class, if all fields have the same byte order.
#[derive(Debug)]
pub(crate) struct EventHeader<const BIG: bool> {
    /// Alignment in bits, minus 1.
    mask: u64,
    /// Event id if headers lack one.
    implied_id: u64,
    /// Header shape. If a field selects the shape, the most frequent shape.
    common: HeaderShape,
    selection: Option<ShapeSelector>,
}

/// Unsigned integers at fixed locations.
#[derive(Clone, Debug, Default)]
struct HeaderShape {
    /// Size in bits.
    size: u64,
    /// Last field with the id role.
    id: Option<IntegerLocation>,
    /// Timestamp field for the default clock.
    timestamp: Option<IntegerLocation>,
    /// Byte order, the same for all fields.
    order: Option<ByteOrder>,
}

/// Integer location, relative to the header's first byte.
#[derive(Clone, Copy, Debug)]
struct IntegerLocation {
    byte: u8,
    /// Right shift in bits for the eight bytes at this location.
    down: u8,
    /// Bit mask after shifting.
    mask: u64,
}

/// Field that selects the header shape.
#[derive(Debug)]
struct ShapeSelector {
    selector: IntegerLocation,
    /// Slot that saves the selector for other fields.
    slot: u16,
    /// Values that select the common shape: the smallest value, and how many follow it.
    common: (u64, u64),
    selectors: Selectors,
    /// Header shapes by option.
    shapes: Box<[HeaderShape]>,
}

/// Event record header values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedHeader {
    /// Id of the event record class.
    pub(crate) id: u64,
    /// Position after the header.
    pub(crate) end: Position,
    /// Default clock value after the header, or before it if the header lacks a timestamp.
    pub(crate) cycles: u64,
}

impl IntegerLocation {
    #[inline(always)]
    fn read<const BIG: bool>(self, header: &[u8; REACH]) -> u64 {
        let at = usize::from(self.byte) & (REACH - 9);
        let word = header[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let word = if BIG { word.swap_bytes() } else { word };
        word >> (self.down & 63) & self.mask
    }
}

impl HeaderShape {
    /// Appends an integer of up to 64 bits that has natural bit order, fits into eight bytes, and matches the byte
    /// order so far. Returns `None` for other fields.
    fn add(&mut self, class: &FieldClass, default_clock: Option<u16>) -> Option<IntegerLocation> {
        let FieldKind::Integer { bits, integer } = &class.kind else { return None };
        let offset = align(self.size, bits.alignment)?;
        let (byte, bit) = (offset / 8, offset % 8);
        let fits = !integer.signed
            && !class.roles.has_further_clocks()
            && (1..=64 - bit).contains(&bits.length)
            && !bits.is_reversed()
            && byte <= LAST_BYTE
            && *self.order.get_or_insert(bits.byte_order) == bits.byte_order;
        if !fits {
            return None;
        }
        let is_big = bits.byte_order == ByteOrder::BigEndian;
        let location = IntegerLocation {
            byte: byte as u8,
            down: (if is_big { 64 - bit - bits.length } else { bit }) as u8,
            mask: u64::MAX >> (64 - bits.length),
        };
        self.size = offset + bits.length;
        if class.roles.has(Role::EventRecordClassId) {
            self.id = Some(location);
        }
        if class.roles.has(Role::Timestamp) {
            let is_default = class.roles.clock.is_none() || class.roles.clock == default_clock;
            if !is_default || self.timestamp.replace(location).is_some() {
                return None;
            }
        }
        Some(location)
    }

    /// Returns the shape unless it ends within a byte, where the next field's byte order would matter.
    fn whole(self) -> Option<Self> {
        self.size.is_multiple_of(8).then_some(self)
    }

    fn is_of_order(&self, order: ByteOrder) -> bool {
        self.order.is_none_or(|own| own == order)
    }

    /// Appends a structure of such integers. Returns `None` if their locations depend on where the header begins, which
    /// must be a multiple of `alignment`.
    fn with(&self, class: &FieldClass, alignment: u64, default_clock: Option<u16>) -> Option<Self> {
        let FieldKind::Structure { members, .. } = &class.kind else { return None };
        if class.alignment() > alignment {
            return None;
        }
        let mut shape = self.clone();
        shape.size = align(self.size, class.alignment())?;
        members.iter().try_for_each(|member| shape.add(&member.class, default_clock).map(|_| ()))?;
        shape.whole()
    }
}

impl<const BIG: bool> EventHeader<BIG> {
    /// Creates a decoder for a plan, if its header has a supported shape and this byte order. `default_clock` is the
    /// clock for timestamps that do not name a clock. `implied_id` is the event id if headers lack one.
    pub(crate) fn new(plan: &Plan, default_clock: Option<u16>, implied_id: u64) -> Option<Self> {
        let root = plan.root();
        let mask = root.alignment() - 1;
        let FieldKind::Structure { members, .. } = &root.class.kind else { return None };
        let order = if BIG { ByteOrder::BigEndian } else { ByteOrder::LittleEndian };
        // With a smaller alignment, the plan decodes headers that do not begin at a byte.
        let alignment = root.alignment().max(8);
        let mut shape = HeaderShape::default();
        let mut saving = plan.nodes().filter(|node| !node.saved_in().is_empty());
        if let [first, variant] = members.as_slice()
            && let FieldKind::Variant { options, alignment: 1, .. } = &variant.class.kind
        {
            let selector = shape.add(&first.class, default_clock)?;
            // Only the field just before the variant may select it.
            let saved = saving.next()?;
            let is_first = plan.nodes().nth(1).is_some_and(|node| std::ptr::eq(node, saved));
            let [slot] = saved.saved_in() else { return None };
            if !is_first || saving.next().is_some() {
                return None;
            }
            let shape_of = |option: &VariantOption| {
                let shape = shape.with(&option.class, alignment, default_clock);
                shape.filter(|shape| shape.is_of_order(order))
            };
            let shapes: Box<[HeaderShape]> = options.iter().map(shape_of).collect::<Option<_>>()?;
            let (option, first, more) = widest_range(options)?;
            let selectors = Selectors::new(options.iter().map(|option| &option.ranges));
            return Some(Self {
                mask,
                implied_id,
                common: shapes.get(option)?.clone(),
                selection: Some(ShapeSelector {
                    selector,
                    slot: *slot,
                    common: (first, more),
                    selectors,
                    shapes,
                }),
            });
        }
        if saving.next().is_some() {
            return None;
        }
        members.iter().try_for_each(|member| shape.add(&member.class, default_clock).map(|_| ()))?;
        let common = shape.whole().filter(|shape| shape.is_of_order(order))?;
        Some(Self { mask, implied_id, common, selection: None })
    }

    /// Decodes the header at a position in a packet. `end` is the bit where the content ends, and `now` is the default
    /// clock value before the header. After `None`, the plan must decode the header: it repeats all side effects.
    #[inline(always)]
    pub(crate) fn decode(
        &self,
        data: &[u8],
        end: u64,
        at: Position,
        slots: &Slots,
        now: u64,
    ) -> Option<DecodedHeader> {
        let base = at.bit.checked_add(self.mask)? & !self.mask;
        if !base.is_multiple_of(8) {
            return None;
        }
        let header: &[u8; REACH] = data.get((base / 8) as usize..)?.first_chunk()?;
        let mut shape = &self.common;
        if let Some(selection) = &self.selection {
            let value = selection.selector.read::<BIG>(header);
            if value.wrapping_sub(selection.common.0) > selection.common.1 {
                shape = selection.shapes.get(selection.selectors.select(value.into())?)?;
            }
            slots.get(usize::from(selection.slot))?.set(i128::from(value));
        }
        let after = base + shape.size;
        if after > end {
            return None;
        }
        let time =
            |location: &IntegerLocation| update_masked(now, location.read::<BIG>(header), location.mask);
        Some(DecodedHeader {
            id: shape.id.as_ref().map_or(self.implied_id, |location| location.read::<BIG>(header)),
            end: at.at_byte(after),
            cycles: shape.timestamp.as_ref().map_or(now, time),
        })
    }
}

/// Maximum number of ranges searched for the widest range.
const MOST_RANGES: usize = 64;

/// Returns the option that most values from 0 on select: its index, its smallest value, and how many values follow.
fn widest_range(options: &[VariantOption]) -> Option<(usize, u64, u64)> {
    // Each range is compared with all ranges before it. If there are too many, only the first option counts.
    let count: usize = options.iter().map(|option| option.ranges.0.len()).sum();
    let options = if count > MOST_RANGES { options.get(..1)? } else { options };
    let ranges = options.iter().enumerate().flat_map(|(i, option)| {
        let range = move |range: &IntegerRange| {
            let first = u64::try_from(range.lower.max(0)).ok()?;
            let last = u64::try_from(range.upper.min(u64::MAX.into())).ok()?;
            // If ranges overlap, the first option wins.
            let overlaps = |other: &IntegerRange| other.intersects(*range);
            let is_first = !options[..i].iter().any(|before| before.ranges.0.iter().any(overlaps));
            Some((i, first, last.checked_sub(first)?)).filter(|_| is_first)
        };
        option.ranges.0.iter().filter_map(range)
    });
    ranges.max_by_key(|(_, _, more)| *more)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use ichnos_model::class::{
        BitField, DataStreamClass, FieldLocation, IntegerProperties, Member, RangeSet,
    };
    use ichnos_model::clock::ClockClass;
    use ichnos_model::decode::{DecodeLimits, PacketBits, UNKNOWN};
    use ichnos_model::plan::TracePlans;
    use ichnos_model::trace::Limits;
    use ichnos_model::{Scope, TraceClass};
    use proptest::prelude::*;

    use super::*;
    use crate::packet::{Clocks, EventVisitor};

    /// Length, log2 of the alignment, big-endian flag, role.
    type RandomInteger = (u64, u32, bool, u8);

    fn integer(name: usize, (length, alignment, big, role): RandomInteger) -> Member {
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

    fn structure(minimum: u32, fields: &[RandomInteger]) -> Arc<FieldClass> {
        let members = fields.iter().enumerate().map(|(i, field)| integer(i, *field)).collect();
        let kind = FieldKind::Structure { members, minimum_alignment: 1 << minimum };
        Arc::new(FieldClass::new(kind))
    }

    fn integers() -> impl Strategy<Value = Vec<RandomInteger>> {
        let length = prop_oneof![Just(8u64), Just(16), Just(32), Just(64), 1u64..=64];
        // Mostly a single byte order: otherwise most headers could not be decoded fast.
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

    /// Checks that fast decoding returns either the plan's result or `None`.
    fn compare(
        header: Arc<FieldClass>,
        data: &[u8],
        content: u64,
        begin: u64,
    ) -> Result<bool, TestCaseError> {
        let plans = compiled(header);
        let plan = plans.data_streams[0].event_record_header.as_ref().unwrap();
        let implied = 7;
        let little = EventHeader::<false>::new(plan, Some(0), implied);
        let big = EventHeader::<true>::new(plan, Some(0), implied);
        let bits = PacketBits { data, content };
        let begin = Position::at(begin);
        let slots = || vec![Cell::new(UNKNOWN); plans.slots()];
        let mut clocks = Clocks::for_trace(&TraceClass {
            clocks: vec![ClockClass::new("a", 1), ClockClass::new("b", 1)],
            ..TraceClass::default()
        });
        clocks.choose_default(Some(0));
        clocks.set_default(0x1234_5678);
        let before = clocks.clone();
        let fast_slots = slots();
        let now = clocks.value().unwrap();
        let little = little.and_then(|fast| fast.decode(data, bits.end(), begin, &fast_slots, now));
        let big = || big.and_then(|fast| fast.decode(data, bits.end(), begin, &fast_slots, now));
        let Some(DecodedHeader { id, end: at, cycles }) = little.or_else(big) else { return Ok(false) };
        clocks.set_default(cycles);
        let mut plan_clocks = before;
        let plan_slots = slots();
        let mut visitor = EventVisitor::new(&mut plan_clocks);
        let mut plan_at = begin;
        let limits = DecodeLimits::from(&Limits::default());
        let result = plan.decode(bits, &mut plan_at, &plan_slots, limits, &mut visitor);
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(visitor.class_id.unwrap_or(implied.into()), u128::from(id));
        prop_assert_eq!(plan_at, at);
        prop_assert_eq!(plan_clocks, clocks);
        prop_assert_eq!(plan_slots, fast_slots);
        Ok(true)
    }

    fn option(ranges: &[(i128, i128)]) -> VariantOption {
        let ranges = ranges.iter().map(|(lower, upper)| IntegerRange { lower: *lower, upper: *upper });
        let (class, attributes) = (structure(1, &[]), Default::default());
        VariantOption { name: None, class, ranges: RangeSet(ranges.collect()), attributes }
    }

    #[test]
    fn the_widest_range_is_that_of_one_option() {
        let found = |options: &[&[(i128, i128)]]| {
            widest_range(&options.iter().map(|ranges| option(ranges)).collect::<Vec<_>>())
        };
        assert_eq!(found(&[&[(0, 30)], &[(31, 31)]]), Some((0, 0, 30)));
        assert_eq!(found(&[&[(5, 5)], &[(0, 4), (6, 65534)]]), Some((1, 6, 65528)));
        // Overlapping values select the first option.
        assert_eq!(found(&[&[(7, 8)], &[(0, 100)]]), Some((0, 7, 1)));
        assert_eq!(found(&[&[(-9, 3)], &[(-30, -10)]]), Some((0, 0, 3)));
        assert_eq!(found(&[&[(4, 1 << 80)]]), Some((0, 4, u64::MAX - 4)));
        assert_eq!(found(&[&[(1 << 70, 1 << 80)], &[(-3, -1)]]), None);
        let many: Vec<(i128, i128)> = (0..100_000).map(|i| (10 * i, 10 * i + 3)).collect();
        assert_eq!(found(&[&[(5, 6)], &many, &[(7, 9)]]), Some((0, 5, 1)));
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
                selector: Box::new(FieldLocation::absolute(Scope::EventRecordHeader, ["f0"])),
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
            selector: Box::new(FieldLocation::absolute(Scope::EventRecordHeader, ["f0"])),
            alignment: 1,
        };
        let members =
            vec![integer(0, (5, 0, false, 0)), Member::new("v", Arc::new(FieldClass::new(selection)))];
        let kind = FieldKind::Structure { members, minimum_alignment: 8 };
        // The big-endian field begins after five little-endian bits: the plan refuses that.
        assert!(!compare(Arc::new(FieldClass::new(kind)), &[0; 16], 128, 0).unwrap());
    }
}
