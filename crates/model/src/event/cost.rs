//! Upper bounds for the work that a few bits can cause: fields without bits, and names printed with each of them.
//!
//! An event record takes at least one bit, but can have thousands of empty fields: empty structures, empty arrays,
//! absent optionals. Printing a small file full of them would take hours. Real records have many bits for each field.

use std::collections::HashMap;
use std::sync::Arc;

use crate::class::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerProperties, IntegerRange, Length,
    Mappings, TraceClass, WideInteger,
};

/// Upper bound for the number of fields in an instance of a class. With `b` bits, it is `fields`, plus `per_bit` for
/// each 1/256 of `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Fields that any instance may have, and other work that takes as long as a field.
    fields: u64,
    /// Additional fields, in 256ths of a field per bit.
    per_bit: u64,
    /// Minimum instance size in bits.
    bits: u64,
    /// Fields in an array element without bits, if such elements are possible. They are counted while reading: each
    /// packet may have one for each bit, and `Limits::zero_size_elements` more.
    empty: u64,
}

/// Name length that takes about as much time and space to print as a field.
const NAME: usize = 32;
/// Number of ranges that take about as long to search as a field.
const RANGES: usize = 128;
/// Unit of [`Cost::per_bit`]: fractions of a field.
const SCALE: u64 = 256;

impl Cost {
    /// Returns the cost for a packet in a data stream class: header and context.
    #[must_use]
    pub fn for_packet(trace: &TraceClass, stream: &DataStreamClass) -> Self {
        let cost = CostCounter::default().roots([&trace.packet_header, &stream.packet_context]);
        // A packet takes at least one byte.
        Self { bits: cost.bits.max(8), ..cost }
    }

    /// Returns the cost for the event records in each class of a data stream class.
    #[must_use]
    pub fn for_event_records(trace: &TraceClass, stream: &DataStreamClass) -> Vec<Self> {
        let mut counter = CostCounter::default();
        let common = counter.roots([&stream.event_record_header, &stream.common_context]);
        // Text sinks print these before each event.
        let prefix = ["hostname", "domain", "procname"].iter();
        let prefix = prefix.filter_map(|name| trace.environment(name)?.as_text()).map(name_cost);
        let prefix: u64 = prefix.sum();
        // Other clocks are printed, too.
        let clocks = stream.other_clocks.iter().filter_map(|clock| trace.clocks.get(usize::from(*clock)));
        let clocks: u64 = clocks.map(|clock| 1 + name_cost(&clock.id)).sum();
        let mut of = |class: &EventRecordClass| {
            let own = counter.roots([&class.specific_context, &class.payload]);
            let names = [&trace.name, &stream.name, &class.name, &class.emf_uri];
            let names: u64 = names.iter().filter_map(|name| name.as_deref()).map(name_cost).sum();
            common.and(own).and(Self::fields(1 + names + prefix + clocks))
        };
        stream.event_records.iter().map(|class| of(class)).collect()
    }

    /// Returns `true` if fields of a class can contain array elements without bits.
    #[must_use]
    pub fn has_empty_elements(class: &Arc<FieldClass>) -> bool {
        CostCounter::default().cost(class).empty > 0
    }

    /// Returns the maximum number of fields in all instances within `bits` bits. An instance has at least one bit.
    #[must_use]
    pub fn fields_in(self, bits: u64) -> u64 {
        let of_each = u128::from(self.fields) * u128::from(bits) / u128::from(self.bits.max(1));
        let further = u128::from(self.per_bit) * u128::from(bits) / u128::from(SCALE);
        u64::try_from(of_each.saturating_add(further)).unwrap_or(u64::MAX)
    }

    /// Returns the maximum number of instances in `bits` bits.
    #[must_use]
    pub fn instances_in(self, bits: u64) -> u64 {
        bits / self.bits.max(1)
    }

    /// Returns the number of array elements without bits that have this many fields.
    #[must_use]
    pub fn empty_elements(self, fields: u64) -> u64 {
        fields / self.empty.max(1)
    }

    const fn fields(fields: u64) -> Self {
        Self { fields, per_bit: 0, bits: 0, empty: 0 }
    }

    const fn field_of(bits: u64) -> Self {
        Self { bits, ..Self::fields(1) }
    }

    fn and(self, next: Self) -> Self {
        Self {
            fields: self.fields.saturating_add(next.fields),
            per_bit: self.per_bit.max(next.per_bit),
            bits: self.bits.saturating_add(next.bits),
            empty: self.empty.max(next.empty),
        }
    }

    /// Removes the bit bound: more fields take more bits.
    fn repeated(self) -> Self {
        let per_bit = self.fields.saturating_mul(SCALE).div_ceil(self.bits.max(1));
        let empty = if self.bits == 0 { self.empty.max(self.fields) } else { self.empty };
        Self { fields: 0, per_bit: self.per_bit.saturating_add(per_bit), bits: 0, empty }
    }

    /// Cost for an optional class.
    fn possible(self) -> Self {
        if self.bits == 0 { self } else { self.repeated() }
    }
}

fn name_cost(name: &str) -> u64 {
    // JSON escapes a control character as six characters.
    let escaped = name.bytes().filter(u8::is_ascii_control).count();
    ((name.len() + 5 * escaped) / NAME) as u64
}

fn longest<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    names.map(name_cost).max().unwrap_or(0)
}

/// Cost for a value's names.
fn names_cost(class: &FieldClass) -> u64 {
    match (class.integer(), class.mappings()) {
        (Some(integer), Some(mappings)) => mapping_cost(mappings).saturating_add(wide_cost(integer)),
        // Any number of bits in a bit map can be set.
        (None, Some(flags)) => {
            (flags.len() as u64).saturating_mul(1 + longest(flags.iter().map(|flag| flag.name)))
        }
        _ => 0,
    }
}

/// Cost for mapping names: one value can have all of them.
fn mapping_cost(mappings: &Mappings) -> u64 {
    let most = most_at_once(mappings);
    let longest = longest(mappings.iter().map(|mapping| mapping.name));
    let names = most.saturating_mul(1 + longest);
    // A number without names has a cost, too.
    names.saturating_sub(1).saturating_add((mappings.ranges() / RANGES) as u64)
}

/// Maximum number of names for a single value.
fn most_at_once(mappings: &Mappings) -> u64 {
    let ranges = || mappings.iter().flat_map(|mapping| mapping.ranges.iter());
    // Ranges are usually sorted, and each value has one name. There can be millions.
    let mut last = None;
    let in_order = |range: IntegerRange| last.replace(range.upper).is_none_or(|last| last < range.lower);
    if ranges().all(in_order) {
        return u64::from(mappings.ranges() > 0);
    }
    if let Some(mut ends) = ends(ranges(), mappings.ranges(), |bound| i64::try_from(bound).ok()) {
        return widest(&mut ends);
    }
    ends(ranges(), mappings.ranges(), Some).map_or(0, |mut ends| widest(&mut ends))
}

/// Lower bounds (`true`) and upper bounds (`false`) of ranges; `None` if a bound does not fit.
fn ends<T>(
    ranges: impl Iterator<Item = IntegerRange>,
    count: usize,
    bound: impl Fn(i128) -> Option<T>,
) -> Option<Vec<(T, bool)>> {
    let mut ends = Vec::with_capacity(count.saturating_mul(2));
    for range in ranges {
        ends.push((bound(range.lower)?, true));
        ends.push((bound(range.upper.saturating_add(1))?, false));
    }
    Some(ends)
}

/// Maximum number of ranges that overlap at one value.
fn widest<T: Ord>(ends: &mut [(T, bool)]) -> u64 {
    // At the same value, one range ends before the other begins.
    ends.sort_unstable();
    let mut open = 0i64;
    let most = ends.iter().map(|(_, begins)| {
        open += if *begins { 1 } else { -1 };
        open
    });
    most.max().unwrap_or(0).unsigned_abs()
}

/// Cost for the names in wide ranges.
fn wide_cost(integer: &IntegerProperties) -> u64 {
    let (Some(mappings), ranges) = (&integer.mappings, integer.wide_ranges()) else { return 0 };
    let mut begins: Vec<&WideInteger> = ranges.iter().map(|range| &range.lower).collect();
    let mut ends: Vec<&WideInteger> = ranges.iter().map(|range| &range.upper).collect();
    begins.sort_unstable();
    ends.sort_unstable();
    // Before each lower bound, count the upper bounds below it.
    let mut ended = 0;
    let mut most = 0;
    for (begun, begin) in begins.iter().enumerate() {
        ended += ends[ended..].iter().take_while(|end| end < &begin).count();
        most = most.max(begun + 1 - ended);
    }
    let longest = longest(mappings.iter().map(|mapping| mapping.name));
    (most as u64).saturating_mul(1 + longest).saturating_add((ranges.len() / RANGES) as u64)
}

#[derive(Default)]
struct CostCounter {
    /// Known costs. A shared class is computed once, however often it is used.
    known: HashMap<*const FieldClass, Cost>,
}

impl CostCounter {
    fn roots(&mut self, roots: [&Option<Arc<FieldClass>>; 2]) -> Cost {
        let mut sum = Cost::default();
        for root in roots.into_iter().flatten() {
            sum = sum.and(self.cost(root));
        }
        sum
    }

    fn cost(&mut self, class: &Arc<FieldClass>) -> Cost {
        // Most classes are plain, and too many to list.
        if !class.is_compound() && class.mappings().is_none() {
            return Cost::field_of(class.own_bits());
        }
        if let Some(known) = self.known.get(&Arc::as_ptr(class)) {
            return *known;
        }
        let cost = match class.is_compound() {
            true => self.compound_cost(class),
            false => Cost::field_of(class.own_bits()).and(Cost::fields(names_cost(class))),
        };
        self.known.insert(Arc::as_ptr(class), cost);
        cost
    }

    fn compound_cost(&mut self, class: &FieldClass) -> Cost {
        let children = class.children().map(|child| {
            (self.cost(child.class()), Cost::fields(name_cost(child.name().unwrap_or_default())))
        });
        match &class.kind {
            FieldKind::Array { length, .. } => children.fold(Cost::default(), |_, (element, _)| {
                let bits = match length {
                    Length::Static(count) => element.bits.saturating_mul(*count),
                    Length::Dynamic(_) => 0,
                };
                Cost::field_of(bits).and(element.repeated())
            }),
            FieldKind::Optional { .. } => {
                children.fold(Cost::fields(1), |sum, (field, _)| sum.and(field.possible()))
            }
            FieldKind::Variant { options, .. } => {
                let mut all = Cost { bits: u64::MAX, ..Cost::default() };
                for (of_class, name) in children {
                    let one = of_class.possible().and(name);
                    all.fields = all.fields.max(one.fields);
                    all.per_bit = all.per_bit.max(one.per_bit);
                    all.bits = all.bits.min(of_class.bits);
                    all.empty = all.empty.max(one.empty);
                }
                let bits = if options.is_empty() { 0 } else { all.bits };
                Cost::fields(1).and(Cost { bits, ..all })
            }
            FieldKind::Union { .. } => children.fold(Cost::fields(1), |all, (one, name)| Cost {
                fields: all.fields.saturating_add(one.fields).saturating_add(name.fields),
                // All options read the same bits.
                per_bit: all.per_bit.saturating_add(one.per_bit),
                bits: all.bits.max(one.bits),
                empty: all.empty.max(one.empty),
            }),
            // Structure: one member after the other.
            _ => children.fold(Cost::fields(1), |sum, (member, name)| sum.and(member).and(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{BitField, ByteOrder, FieldLocation, IntegerProperties, Member, RangeSet};
    use crate::trace::DeclaredAt;

    fn nowhere() -> FieldLocation {
        FieldLocation {
            origin: None,
            path: Vec::new(),
            any_option: false,
            declared_at: DeclaredAt::default(),
        }
    }

    fn integer(bits: u64, ranges: &[(i128, i128)]) -> Arc<FieldClass> {
        let range = |(lower, upper): &(i128, i128)| IntegerRange { lower: *lower, upper: *upper };
        let mappings = ranges.iter().map(|bounds| ("x", RangeSet(vec![range(bounds)])));
        let mappings = Some(mappings.collect());
        let integer = IntegerProperties { mappings, ..IntegerProperties::default() };
        let bits = BitField::new(bits, ByteOrder::LittleEndian, 1);
        Arc::new(FieldClass::new(FieldKind::Integer { bits, integer }))
    }

    fn structure(members: &[&Arc<FieldClass>]) -> Arc<FieldClass> {
        let members = members.iter().map(|class| Member::new("m", Arc::clone(class))).collect();
        Arc::new(FieldClass::new(FieldKind::Structure { members, minimum_alignment: 1 }))
    }

    fn array(element: &Arc<FieldClass>, length: Option<u64>) -> Arc<FieldClass> {
        let length = match length {
            Some(length) => Length::Static(length),
            None => Length::Dynamic(Box::new(nowhere())),
        };
        let element = Arc::clone(element);
        Arc::new(FieldClass::new(FieldKind::Array {
            element,
            length,
            minimum_alignment: 1,
            element_aligns: true,
        }))
    }

    fn fields_in(class: &Arc<FieldClass>, bits: u64) -> u64 {
        CostCounter::default().cost(class).fields_in(bits)
    }

    #[test]
    fn counts_fields() {
        let bit = integer(1, &[]);
        let byte = integer(8, &[]);
        assert_eq!(fields_in(&bit, 1000), 1000);
        assert_eq!(fields_in(&byte, 800), 100);
        // The structure itself is a field.
        assert_eq!(fields_in(&structure(&[&byte, &byte]), 160), 30);
        let empty = structure(&[]);
        assert_eq!(fields_in(&structure(&[&bit, &empty, &empty]), 1000), 4000);
        // Elements without bits: one for each bit. More elements are counted while reading.
        for length in [Some(1 << 60), Some(3), None] {
            assert_eq!(fields_in(&array(&empty, length), 1), 2);
        }
        let costly = CostCounter::default().cost(&array(&structure(&[&empty, &empty]), None));
        assert_eq!(costly.empty_elements(1000), 333);
        assert_eq!(fields_in(&array(&bit, Some(1000)), 1000), 1001);
        assert_eq!(fields_in(&array(&bit, None), 1000), 2000);
        // Two levels, and the bit; the structure and the outer array.
        let matrix = array(&array(&array(&byte, None), None), None);
        assert_eq!(fields_in(&structure(&[&matrix, &bit]), 80), 3 * 80 + 80 * 2 + 80 / 8);
    }

    #[test]
    fn names_of_values_count_where_a_value_has_many() {
        let one_each: Vec<(i128, i128)> = (0..100).map(|value| (value, value)).collect();
        assert_eq!(fields_in(&integer(8, &one_each), 8), 1);
        let all: Vec<(i128, i128)> = vec![(0, i128::MAX); 100];
        assert_eq!(fields_in(&integer(8, &all), 8), 100);
    }

    #[test]
    fn long_names_count() {
        let named = |name: &str| {
            let members = vec![Member::new(name, integer(8, &[]))];
            let class = Arc::new(FieldClass::new(FieldKind::Structure { members, minimum_alignment: 1 }));
            fields_in(&class, 8)
        };
        assert_eq!((named("a"), named(&"a".repeat(31)), named(&"a".repeat(32))), (2, 2, 3));
        assert_eq!(named(&"\u{1}".repeat(31)), 2 + 31 * 6 / 32);
    }

    #[test]
    fn nesting_adds_little() {
        let mut class = structure(&[&integer(64, &[]), &integer(32, &[])]);
        for _ in 0..20 {
            class = Arc::new(FieldClass::new(FieldKind::Optional {
                field: structure(&[&class]),
                selector: Box::new(nowhere()),
                ranges: None,
            }));
        }
        assert!(fields_in(&structure(&[&integer(64, &[]), &class]), 6400) < 6400);
    }

    #[test]
    fn many_ways_to_a_class_are_looked_at_once() {
        let mut class = integer(1, &[]);
        for _ in 0..60 {
            class = structure(&[&class, &class]);
        }
        assert!(fields_in(&class, 1) < 10);
    }
}
