//! Integer ranges and their names.

use std::fmt;
use std::sync::Arc;

use crate::field::Wide;

/// A closed range of integers (CTF2-SPEC-2.0, "Integer range set").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerRange {
    /// Smallest value.
    pub lower: i128,
    /// Largest value, at least `lower`.
    pub upper: i128,
}

impl IntegerRange {
    /// Creates a range with a single value.
    #[must_use]
    pub const fn single(value: i128) -> Self {
        Self { lower: value, upper: value }
    }

    /// Returns `true` if the range contains `value`.
    #[must_use]
    pub const fn contains(self, value: i128) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// Returns `true` if both ranges share a value.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }
}

impl fmt::Display for IntegerRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lower == self.upper {
            write!(f, "{}", self.lower)
        } else {
            write!(f, "{}..{}", self.lower, self.upper)
        }
    }
}

/// A set of ranges, in file order. They may overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RangeSet(pub Vec<IntegerRange>);

impl RangeSet {
    /// Returns `true` if any range contains `value`.
    #[must_use]
    pub fn contains(&self, value: i128) -> bool {
        self.0.iter().any(|range| range.contains(value))
    }

    /// Returns `true` if both sets share a value.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().any(|a| other.0.iter().any(|b| a.intersects(*b)))
    }
}

impl fmt::Display for RangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{range}")?;
        }
        Ok(())
    }
}

/// A named set of values: a mapping of an integer field class, or a flag of a bit map, whose ranges contain bit
/// indexes.
#[derive(Clone, Copy, Debug)]
pub struct Mapping<'a> {
    /// Name.
    pub name: &'a str,
    /// Named values, or bit indexes.
    pub ranges: Ranges<'a>,
}

/// Ranges in a [`Mapping`], in file order. They may overlap.
#[derive(Clone, Copy, Debug)]
pub struct Ranges<'a>(Slice<'a>);

#[derive(Clone, Copy, Debug)]
enum Slice<'a> {
    Narrow(&'a [(i64, i64)]),
    Wide(&'a [IntegerRange]),
}

impl<'a> Ranges<'a> {
    /// Returns the ranges in order.
    pub fn iter(self) -> impl Iterator<Item = IntegerRange> + 'a {
        let (narrow, wide): (&[_], &[_]) = match self.0 {
            Slice::Narrow(ranges) => (ranges, &[]),
            Slice::Wide(ranges) => (&[], ranges),
        };
        let widened = |(lower, upper): &(i64, i64)| IntegerRange {
            lower: i128::from(*lower),
            upper: i128::from(*upper),
        };
        narrow.iter().map(widened).chain(wide.iter().copied())
    }

    /// Returns the number of ranges.
    #[must_use]
    pub fn len(self) -> usize {
        match self.0 {
            Slice::Narrow(ranges) => ranges.len(),
            Slice::Wide(ranges) => ranges.len(),
        }
    }

    /// Returns `true` if there are no ranges.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if any range contains `value`.
    #[inline]
    #[must_use]
    pub fn contains(self, value: i128) -> bool {
        match self.0 {
            Slice::Narrow(ranges) => i64::try_from(value)
                .is_ok_and(|value| ranges.iter().any(|(lower, upper)| *lower <= value && value <= *upper)),
            Slice::Wide(ranges) => ranges.iter().any(|range| range.contains(value)),
        }
    }

    /// Copies the ranges into a set.
    #[must_use]
    pub fn to_set(self) -> RangeSet {
        RangeSet(self.iter().collect())
    }
}

impl PartialEq for Ranges<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Ranges<'_> {}

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{range}")?;
        }
        Ok(())
    }
}

/// The mappings of an integer field class, or the flags of a bit map, in file order. Different names may have
/// overlapping ranges.
///
/// Clones share their memory. There can be millions of names: each takes its length and usually 24 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mappings(Arc<MappingTable>);

/// Concatenated names and ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct MappingTable {
    names: String,
    ends: Vec<MappingEnd>,
    ranges: RangeTable,
}

/// End of a mapping within names and ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct MappingEnd {
    name: u32,
    ranges: u32,
}

/// Ranges. They take half the memory if all bounds have 64 bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RangeTable {
    Narrow(Vec<(i64, i64)>),
    Wide(Vec<IntegerRange>),
}

impl Default for RangeTable {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl RangeTable {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(ranges) => ranges.len(),
            Self::Wide(ranges) => ranges.len(),
        }
    }

    fn push(&mut self, range: IntegerRange) {
        match self {
            Self::Narrow(ranges) => match (i64::try_from(range.lower), i64::try_from(range.upper)) {
                (Ok(lower), Ok(upper)) => ranges.push((lower, upper)),
                _ => {
                    let all = Ranges(Slice::Narrow(ranges)).iter().chain([range]).collect();
                    *self = Self::Wide(all);
                }
            },
            Self::Wide(ranges) => ranges.push(range),
        }
    }
}

impl Mappings {
    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// Returns `true` if there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// Returns the total number of ranges.
    #[must_use]
    pub fn ranges(&self) -> usize {
        self.0.ranges.len()
    }

    /// Returns the mapping with this index.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Mapping<'_>> {
        Some(Mapping { name: self.name_at(index)?, ranges: self.ranges_at(index)? })
    }

    fn name_at(&self, index: usize) -> Option<&str> {
        let [begin, end] = self.bounds(index)?;
        self.0.names.get(begin.name as usize..end.name as usize)
    }

    #[inline]
    fn ranges_at(&self, index: usize) -> Option<Ranges<'_>> {
        let [begin, end] = self.bounds(index)?;
        let ranges = begin.ranges as usize..end.ranges as usize;
        Some(Ranges(match &self.0.ranges {
            RangeTable::Narrow(all) => Slice::Narrow(all.get(ranges)?),
            RangeTable::Wide(all) => Slice::Wide(all.get(ranges)?),
        }))
    }

    /// Start and end of the mapping with this index.
    #[inline]
    fn bounds(&self, index: usize) -> Option<[MappingEnd; 2]> {
        let end = *self.0.ends.get(index)?;
        let begin = index.checked_sub(1).and_then(|before| self.0.ends.get(before));
        // The first mapping starts at 0, the default.
        Some([begin.copied().unwrap_or_default(), end])
    }

    /// Returns the mappings in order.
    pub fn iter(&self) -> impl Iterator<Item = Mapping<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns the names for `value`, in order.
    pub fn names_of(&self, value: i128) -> impl Iterator<Item = &str> {
        let MappingTable { names, ends, ranges } = &*self.0;
        let narrow = i64::try_from(value).ok();
        let contains = move |begin: MappingEnd, end: MappingEnd| {
            let within = begin.ranges as usize..end.ranges as usize;
            match (ranges, narrow) {
                (RangeTable::Narrow(all), Some(value)) => {
                    let is_of = |(lower, upper): &(i64, i64)| *lower <= value && value <= *upper;
                    all.get(within).is_some_and(|ranges| ranges.iter().any(is_of))
                }
                (RangeTable::Narrow(_), None) => false,
                (RangeTable::Wide(all), _) => {
                    all.get(within).is_some_and(|ranges| ranges.iter().any(|range| range.contains(value)))
                }
            }
        };
        let mut begin = MappingEnd::default();
        ends.iter().filter_map(move |end| {
            let begin = std::mem::replace(&mut begin, *end);
            contains(begin, *end).then(|| names.get(begin.name as usize..end.name as usize)).flatten()
        })
    }

    /// Returns the names of the flags set in `bits`. Bit 0 is the least significant. A flag is set if any of its bits
    /// is set (CTF2-SPEC-2.0, "Fixed-length bit map field class").
    pub fn flags_of(&self, bits: u64) -> impl Iterator<Item = &str> {
        let is_set = move |flag: &Mapping<'_>| flag.ranges.iter().any(|range| has_bit_in(bits, range, 0));
        self.iter().filter(is_set).map(|flag| flag.name)
    }

    /// Like [`flags_of`](Self::flags_of), for a bit map with more than 64 bits.
    pub fn flags_of_wide<'a>(&'a self, bits: Wide<'a>) -> impl Iterator<Item = &'a str> {
        let set = SetBits::from_words(bits.words);
        self.iter()
            .filter(move |flag| flag.ranges.iter().any(|range| set.has_any_in(range)))
            .map(|flag| flag.name)
    }

    /// Returns the ranges of the first mapping called `name`.
    #[must_use]
    pub fn ranges_of(&self, name: &str) -> Option<Ranges<'_>> {
        self.iter().find(|mapping| mapping.name == name).map(|mapping| mapping.ranges)
    }
}

impl<N: AsRef<str>> FromIterator<(N, RangeSet)> for Mappings {
    /// Creates a mapping for each name and its ranges.
    fn from_iter<I: IntoIterator<Item = (N, RangeSet)>>(mappings: I) -> Self {
        let mut builder = MappingsBuilder::default();
        for (name, ranges) in mappings {
            if builder.add_name(name.as_ref()) {
                ranges.0.into_iter().for_each(|range| builder.add_range(range));
            }
        }
        builder.finish()
    }
}

/// Builds [`Mappings`] name by name.
#[derive(Debug, Default)]
pub struct MappingsBuilder {
    table: MappingTable,
    /// Ranges added to earlier names, with the index of the name.
    late: Vec<(u32, IntegerRange)>,
}

impl MappingsBuilder {
    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.ends.len()
    }

    /// Returns `true` if there are no names yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.ends.is_empty()
    }

    /// Returns the name with this index.
    #[must_use]
    pub fn name(&self, index: usize) -> Option<&str> {
        let end = self.table.ends.get(index)?;
        let begin = index.checked_sub(1).and_then(|before| self.table.ends.get(before));
        self.table.names.get(begin.map_or(0, |begin| begin.name as usize)..end.name as usize)
    }

    /// Adds a name without ranges. Returns `false` if the names would exceed 4 GiB in total.
    pub fn add_name(&mut self, name: &str) -> bool {
        let end = self.table.names.len().checked_add(name.len()).and_then(|end| u32::try_from(end).ok());
        let (Some(end), Ok(ranges)) = (end, u32::try_from(self.table.ranges.len())) else { return false };
        self.table.names.push_str(name);
        self.table.ends.push(MappingEnd { name: end, ranges });
        true
    }

    /// Adds a range to the last name, if any.
    pub fn add_range(&mut self, range: IntegerRange) {
        if let Some(end) = self.table.ends.last_mut()
            && let Some(ranges) = end.ranges.checked_add(1)
        {
            self.table.ranges.push(range);
            end.ranges = ranges;
        }
    }

    /// Adds a range to the name with this index, after its other ranges.
    pub fn add_range_to(&mut self, index: usize, range: IntegerRange) {
        if index + 1 == self.len() {
            self.add_range(range);
        } else if let Ok(index) = u32::try_from(index) {
            self.late.push((index, range));
        }
    }

    /// Finishes the mappings.
    #[must_use]
    pub fn finish(mut self) -> Mappings {
        if !self.late.is_empty() {
            let mut late = std::mem::take(&mut self.late);
            // The sort is stable: the ranges of each name stay in order.
            late.sort_by_key(|(index, _)| *index);
            let mut late = late.into_iter().peekable();
            let before = Mappings(Arc::new(std::mem::take(&mut self.table)));
            for (index, mapping) in before.iter().enumerate() {
                self.add_name(mapping.name);
                mapping.ranges.iter().for_each(|range| self.add_range(range));
                while let Some((_, range)) = late.next_if(|(late, _)| *late as usize == index) {
                    self.add_range(range);
                }
            }
        }
        self.table.names.shrink_to_fit();
        self.table.ends.shrink_to_fit();
        match &mut self.table.ranges {
            RangeTable::Narrow(ranges) => ranges.shrink_to_fit(),
            RangeTable::Wide(ranges) => ranges.shrink_to_fit(),
        }
        Mappings(Arc::new(self.table))
    }
}

/// Set bits in a wide value. The index makes range lookups fast, since there can be many ranges for many bits.
struct SetBits<'w> {
    words: &'w [u64],
    /// One bit for each of the first words: 1 if the word is not 0.
    not_zero: [u64; 16],
}

impl<'w> SetBits<'w> {
    fn from_words(words: &'w [u64]) -> Self {
        let mut not_zero = [0; 16];
        for (mask, words) in not_zero.iter_mut().zip(words.chunks(64)) {
            *mask = words.iter().rev().fold(0, |mask, word| mask << 1 | u64::from(*word != 0));
        }
        Self { words, not_zero }
    }

    fn has_any_in(&self, range: IntegerRange) -> bool {
        let end = i128::try_from(self.words.len()).unwrap_or(i128::MAX).saturating_mul(64);
        let (lower, upper) = (range.lower.max(0), range.upper.min(end - 1));
        if lower > upper {
            return false;
        }
        let (first, last) = ((lower / 64) as usize, (upper / 64) as usize);
        let has = |index: usize| {
            self.words.get(index).is_some_and(|word| has_bit_in(*word, range, index as i128 * 64))
        };
        if has(first) || has(last) {
            return true;
        }
        // The range contains all bits in the words between.
        let known = self.not_zero.len() * 64;
        let between = IntegerRange { lower: first as i128 + 1, upper: last as i128 - 1 };
        let masks = self.not_zero.iter().enumerate().skip(first / 64).take(last / 64 + 1 - first / 64);
        let beyond = || self.words.get(known.max(first + 1)..last).unwrap_or_default();
        masks.into_iter().any(|(i, mask)| has_bit_in(*mask, between, i as i128 * 64))
            || beyond().iter().any(|word| *word != 0)
    }
}

/// Returns `true` if a set bit of a word is in the range. The first bit of the word has the number `begin`.
fn has_bit_in(word: u64, range: IntegerRange, begin: i128) -> bool {
    let lower = range.lower.saturating_sub(begin).clamp(0, 64) as u32;
    let upper = range.upper.saturating_sub(begin).clamp(-1, 63);
    if upper < i128::from(lower) {
        return false;
    }
    let width = upper as u32 - lower + 1;
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    (word >> lower) & mask != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(i128, i128)]) -> RangeSet {
        RangeSet(ranges.iter().map(|(lower, upper)| IntegerRange { lower: *lower, upper: *upper }).collect())
    }

    fn listed(mappings: &Mappings) -> Vec<String> {
        mappings.iter().map(|mapping| format!("{} = {}", mapping.name, mapping.ranges)).collect()
    }

    #[test]
    fn mappings_of_any_width_are_kept() {
        let narrow: Mappings =
            [("a", set(&[(1, 2), (4, 4)])), ("", set(&[])), ("b", set(&[(-1, 3)]))].into_iter().collect();
        assert_eq!(listed(&narrow), ["a = 1..2, 4", " = ", "b = -1..3"]);
        assert_eq!(narrow.names_of(2).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(narrow.names_of(1 << 64).count(), 0);
        assert_eq!(narrow.ranges_of("a").map(Ranges::to_set), Some(set(&[(1, 2), (4, 4)])));
        let wide: Mappings = [("a", set(&[(1, 2)])), ("b", set(&[(0, i128::MAX)])), ("c", set(&[(7, 7)]))]
            .into_iter()
            .collect();
        assert_eq!(
            listed(&wide),
            ["a = 1..2".to_owned(), format!("b = 0..{}", i128::MAX), "c = 7".to_owned()]
        );
        assert_eq!(wide.names_of(1 << 64).collect::<Vec<_>>(), ["b"]);
        assert_eq!(wide.names_of(7).collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn ranges_can_come_later() {
        let mut builder = MappingsBuilder::default();
        builder.add_range(IntegerRange::single(9));
        for (index, value) in [(0, 1), (1, 2), (0, 3), (2, 4), (1, 5), (0, 6), (2, 7)] {
            if index == builder.len() {
                assert!(builder.add_name(&format!("n{index}")));
            }
            builder.add_range_to(index, IntegerRange::single(value));
        }
        assert_eq!(builder.name(1), Some("n1"));
        assert_eq!(listed(&builder.finish()), ["n0 = 1, 3, 6", "n1 = 2, 5", "n2 = 4, 7"]);
    }

    #[test]
    fn flags_of_bits() {
        let flags: Mappings = [
            ("first", set(&[(0, 0)])),
            ("across", set(&[(60, 70)])),
            ("far", set(&[(128, i128::MAX)])),
            ("below", set(&[(i128::MIN, -1)])),
            ("from below", set(&[(-5, 1)])),
        ]
        .into_iter()
        .collect();
        let wide = |words: &[u64]| {
            let wide = Wide { words, length: words.len() as u64 * 64, signed: false };
            flags.flags_of_wide(wide).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(wide(&[1, 0, 0]), ["first", "from below"]);
        assert_eq!(wide(&[2, 0, 0]), ["from below"]);
        assert_eq!(wide(&[0, 1 << 6, 0]), ["across"]);
        assert_eq!(wide(&[0, 1 << 7, 0]), [""; 0]);
        assert_eq!(wide(&[1 << 60, 0, 1 << 63]), ["across", "far"]);
        // Both forms have the same flags.
        for bit in 0..64 {
            let bits = 1 << bit;
            assert_eq!(wide(&[bits]), flags.flags_of(bits).collect::<Vec<_>>(), "{bit}");
        }
    }

    #[test]
    fn flags_of_very_wide_bit_maps() {
        // More words than the masks cover.
        let length = 1200;
        let bounds = [
            0,
            1,
            63,
            64,
            65,
            4095,
            4096,
            4097,
            65_535,
            65_536,
            65_600,
            length * 64 - 1,
            length * 64,
            1 << 70,
        ];
        let mut words = vec![0; length as usize];
        for bit in [0, 64, 4096, 4200, 65_535, 65_536, 70_000, length * 64 - 1] {
            words[bit as usize / 64] |= 1 << (bit % 64);
            let set = SetBits::from_words(&words);
            for lower in bounds {
                for upper in bounds {
                    let is_set = |at: i128| words[at as usize / 64] >> (at % 64) & 1 == 1;
                    let expected = (lower..(upper + 1).min(length * 64)).any(is_set);
                    let range = IntegerRange { lower, upper };
                    assert_eq!(set.has_any_in(range), expected, "{lower}..={upper} with {bit}");
                }
            }
            words.fill(0);
        }
    }
}
