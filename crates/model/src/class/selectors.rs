//! Fast selection of variant options.

use crate::class::RangeSet;

/// Variant options by selector value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selectors {
    /// All ranges with their options, sorted. If ranges overlap, the first option wins, and they are searched one by
    /// one.
    ranges: Vec<(i128, i128, u32)>,
    are_disjoint: bool,
}

impl Selectors {
    /// Indexes the options by their ranges.
    pub fn new<'a>(options: impl IntoIterator<Item = &'a RangeSet>) -> Self {
        let all = options.into_iter().zip(0u32..);
        let mut ranges: Vec<(i128, i128, u32)> = all
            .flat_map(|(set, option)| set.0.iter().map(move |range| (range.lower, range.upper, option)))
            .collect();
        ranges.sort_by_key(|(lower, _, _)| *lower);
        let are_disjoint = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        if !are_disjoint {
            ranges.sort_by_key(|(_, _, option)| *option);
        }
        Self { ranges, are_disjoint }
    }

    /// Returns the option that a value selects.
    #[must_use]
    pub fn select(&self, value: i128) -> Option<usize> {
        let contains = |(lower, upper, _): &&(i128, i128, u32)| *lower <= value && value <= *upper;
        let range = if self.are_disjoint {
            let after = self.ranges.partition_point(|(lower, _, _)| *lower <= value);
            self.ranges.get(after.checked_sub(1)?).filter(contains)
        } else {
            self.ranges.iter().find(contains)
        };
        range.map(|(_, _, option)| *option as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::IntegerRange;

    fn sets(options: &[&[(i128, i128)]]) -> Vec<RangeSet> {
        let range = |(lower, upper): &(i128, i128)| IntegerRange { lower: *lower, upper: *upper };
        options.iter().map(|ranges| RangeSet(ranges.iter().map(range).collect())).collect()
    }

    #[test]
    fn as_a_look_at_each_would() {
        let disjoint = sets(&[&[(5, 5), (100, 200)], &[(-12, -3), (1000, 1000)], &[(0, 4)]]);
        let overlapping = sets(&[&[(5, 70)], &[(-12, 300)], &[(0, i128::MAX)]]);
        for options in [disjoint, overlapping, Vec::new()] {
            let selectors = Selectors::new(&options);
            for value in (-20..1100).chain([i128::MIN, i128::MAX]) {
                let expected = options.iter().position(|ranges| ranges.contains(value));
                assert_eq!(selectors.select(value), expected, "{value} of {options:?}");
            }
        }
    }
}
