//! Integer ranges, and the names that map onto them.

use std::fmt;

/// A closed range of integers (CTF2-SPEC-2.0, "Integer range set").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerRange {
    /// The smallest value.
    pub lower: i128,
    /// The greatest value, at least `lower`.
    pub upper: i128,
}

impl IntegerRange {
    /// The range of a single value.
    #[must_use]
    pub const fn single(value: i128) -> Self {
        Self { lower: value, upper: value }
    }

    /// Whether `value` lies within.
    #[must_use]
    pub const fn contains(self, value: i128) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// Whether the two have a value in common.
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

/// A set of ranges, in the order they were written; they may overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RangeSet(pub Vec<IntegerRange>);

impl RangeSet {
    /// Whether `value` lies in any of the ranges.
    #[must_use]
    pub fn contains(&self, value: i128) -> bool {
        self.0.iter().any(|range| range.contains(value))
    }

    /// Whether the two sets have a value in common.
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

/// A name for a set of values: a mapping of an integer field class, or a flag of a bit map
/// (then the ranges are of bit indexes).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// The name.
    pub name: String,
    /// The values, or bit indexes, that it names.
    pub ranges: RangeSet,
}

/// The mappings of an integer field class, or the flags of a bit map, in the order they were
/// written. Those of two names may overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mappings(pub Vec<Mapping>);

impl Mappings {
    /// The names of `value`, in order.
    pub fn names_of(&self, value: i128) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |mapping| mapping.ranges.contains(value))
            .map(|mapping| mapping.name.as_str())
    }

    /// The names of the flags that are set in `bits` (bit 0 is the least significant one): a flag
    /// is set if any of its bits is (CTF2-SPEC-2.0, "Fixed-length bit map field class").
    pub fn flags_of(&self, bits: u64) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |flag| {
                flag.ranges.0.iter().any(|range| {
                    let lower = range.lower.clamp(0, 64) as u32;
                    let upper = range.upper.clamp(-1, 63);
                    if upper < i128::from(lower) {
                        return false;
                    }
                    let width = upper as u32 - lower + 1;
                    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
                    (bits >> lower) & mask != 0
                })
            })
            .map(|flag| flag.name.as_str())
    }

    /// The ranges of the mapping called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RangeSet> {
        self.0.iter().find(|mapping| mapping.name == name).map(|mapping| &mapping.ranges)
    }
}
