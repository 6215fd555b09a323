//! Values during the evaluation of an expression.

use std::cmp::Ordering;

use ichnos_model::class::{IntegerRange, Uuid};
use ichnos_model::log::LogLevel;

use super::syntax::{ArithmeticOp, CompareOp};

/// Value, borrowed from the expression or from the fetched fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum FilterValue<'v> {
    /// Missing field, or failed computation.
    Unknown,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    /// UTF-8 text.
    Text(&'v [u8]),
    Blob(&'v [u8]),
    Guid(Uuid),
    /// Time in nanoseconds from the origin.
    Time(i128),
    Level(LogLevel),
}

/// Constant in an expression.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    Unknown,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(Box<[u8]>),
    Blob(Box<[u8]>),
    Guid(Uuid),
    Time(i128),
    Level(LogLevel),
}

impl Constant {
    pub(super) fn value(&self) -> FilterValue<'_> {
        match self {
            Self::Unknown => FilterValue::Unknown,
            Self::Boolean(value) => FilterValue::Boolean(*value),
            Self::Integer(value) => FilterValue::Integer(*value),
            Self::Float(value) => FilterValue::Float(*value),
            Self::Text(text) => FilterValue::Text(text),
            Self::Blob(bytes) => FilterValue::Blob(bytes),
            Self::Guid(value) => FilterValue::Guid(*value),
            Self::Time(value) => FilterValue::Time(*value),
            Self::Level(value) => FilterValue::Level(*value),
        }
    }
}

impl From<FilterValue<'_>> for Constant {
    fn from(value: FilterValue<'_>) -> Self {
        match value {
            FilterValue::Unknown => Self::Unknown,
            FilterValue::Boolean(value) => Self::Boolean(value),
            FilterValue::Integer(value) => Self::Integer(value),
            FilterValue::Float(value) => Self::Float(value),
            FilterValue::Text(text) => Self::Text(text.into()),
            FilterValue::Blob(bytes) => Self::Blob(bytes.into()),
            FilterValue::Guid(value) => Self::Guid(value),
            FilterValue::Time(value) => Self::Time(value),
            FilterValue::Level(value) => Self::Level(value),
        }
    }
}

/// Integer or time ranges. They are sorted, disjoint and not adjacent.
#[derive(Clone, Debug)]
pub(super) struct SortedRanges(Box<[IntegerRange]>);

impl SortedRanges {
    /// Creates a set from ranges. Empty ranges are dropped.
    pub(super) fn new(mut ranges: Vec<IntegerRange>) -> Self {
        ranges.retain(|range| range.lower <= range.upper);
        ranges.sort_unstable_by_key(|range| range.lower);
        let mut merged: Vec<IntegerRange> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.lower <= last.upper.saturating_add(1) => {
                    last.upper = last.upper.max(range.upper);
                }
                _ => merged.push(range),
            }
        }
        Self(merged.into())
    }

    #[inline]
    pub(super) fn contains(&self, value: i128) -> bool {
        let after = self.0.partition_point(|range| range.lower <= value);
        after.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|range| value <= range.upper)
    }
}

/// Returns the result of a comparison. `None` if it is unknown.
#[inline]
pub(super) fn compare(op: CompareOp, a: FilterValue<'_>, b: FilterValue<'_>) -> Option<bool> {
    let ordering = match (a, b) {
        (FilterValue::Integer(a), FilterValue::Integer(b)) | (FilterValue::Time(a), FilterValue::Time(b)) => {
            a.cmp(&b)
        }
        (FilterValue::Text(a), FilterValue::Text(b)) | (FilterValue::Blob(a), FilterValue::Blob(b)) => {
            a.cmp(b)
        }
        (FilterValue::Boolean(a), FilterValue::Boolean(b)) => a.cmp(&b),
        (FilterValue::Guid(a), FilterValue::Guid(b)) => a.cmp(&b),
        (FilterValue::Level(a), FilterValue::Level(b)) => a.cmp(&b),
        (FilterValue::Float(a), FilterValue::Float(b)) => return Some(is_ordered(op, a.partial_cmp(&b))),
        (FilterValue::Integer(a), FilterValue::Float(b)) => return Some(is_ordered(op, compare_mixed(a, b))),
        (FilterValue::Float(a), FilterValue::Integer(b)) => {
            return Some(is_ordered(op, compare_mixed(b, a).map(Ordering::reverse)));
        }
        _ => return None,
    };
    Some(is_ordered(op, Some(ordering)))
}

/// Tests an ordering. It is `None` if a value is not a number.
#[inline]
pub(super) fn is_ordered(op: CompareOp, ordering: Option<Ordering>) -> bool {
    match op {
        CompareOp::Equal => ordering == Some(Ordering::Equal),
        CompareOp::NotEqual => ordering != Some(Ordering::Equal),
        CompareOp::Less => ordering == Some(Ordering::Less),
        CompareOp::LessOrEqual => ordering.is_some_and(Ordering::is_le),
        CompareOp::Greater => ordering == Some(Ordering::Greater),
        CompareOp::GreaterOrEqual => ordering.is_some_and(Ordering::is_ge),
    }
}

/// Compares an integer with a floating-point number without rounding.
fn compare_mixed(integer: i128, float: f64) -> Option<Ordering> {
    /// 2 to the power of 127.
    const END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float.is_nan() {
        return None;
    }
    if float >= END {
        return Some(Ordering::Less);
    }
    if float < -END {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    // The float is whole and in range, so the conversion is exact.
    Some(
        integer
            .cmp(&(whole as i128))
            .then_with(|| 0.0.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal)),
    )
}

/// Returns the result of an operator. Unknown if the type cannot represent it.
#[inline]
pub(super) fn calculate<'v>(op: ArithmeticOp, a: FilterValue<'_>, b: FilterValue<'_>) -> FilterValue<'v> {
    match (a, b) {
        (FilterValue::Integer(a), FilterValue::Integer(b)) => {
            integer(op, a, b).map_or(FilterValue::Unknown, FilterValue::Integer)
        }
        (FilterValue::Float(a), FilterValue::Float(b)) => float(op, a, b),
        (FilterValue::Integer(a), FilterValue::Float(b)) => float(op, a as f64, b),
        (FilterValue::Float(a), FilterValue::Integer(b)) => float(op, a, b as f64),
        (FilterValue::Time(a), FilterValue::Time(b)) if op == ArithmeticOp::Subtract => {
            a.checked_sub(b).map_or(FilterValue::Unknown, FilterValue::Integer)
        }
        (FilterValue::Time(a), FilterValue::Integer(b)) => match op {
            ArithmeticOp::Add => a.checked_add(b).map_or(FilterValue::Unknown, FilterValue::Time),
            ArithmeticOp::Subtract => a.checked_sub(b).map_or(FilterValue::Unknown, FilterValue::Time),
            _ => FilterValue::Unknown,
        },
        (FilterValue::Integer(a), FilterValue::Time(b)) if op == ArithmeticOp::Add => {
            a.checked_add(b).map_or(FilterValue::Unknown, FilterValue::Time)
        }
        _ => FilterValue::Unknown,
    }
}

fn integer(op: ArithmeticOp, a: i128, b: i128) -> Option<i128> {
    match op {
        ArithmeticOp::Add => a.checked_add(b),
        ArithmeticOp::Subtract => a.checked_sub(b),
        ArithmeticOp::Multiply => a.checked_mul(b),
        ArithmeticOp::Divide => a.checked_div(b),
        ArithmeticOp::Remainder => a.checked_rem(b),
        ArithmeticOp::And => Some(a & b),
        ArithmeticOp::Or => Some(a | b),
        ArithmeticOp::ExclusiveOr => Some(a ^ b),
        ArithmeticOp::ShiftLeft => {
            let bits = u32::try_from(b).ok().filter(|bits| *bits < i128::BITS)?;
            Some(a << bits).filter(|shifted| shifted >> bits == a)
        }
        ArithmeticOp::ShiftRight => u32::try_from(b).ok().and_then(|bits| a.checked_shr(bits)),
    }
}

fn float<'v>(op: ArithmeticOp, a: f64, b: f64) -> FilterValue<'v> {
    FilterValue::Float(match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Subtract => a - b,
        ArithmeticOp::Multiply => a * b,
        // As for integers, a division by zero is unknown.
        ArithmeticOp::Divide if b != 0.0 => a / b,
        ArithmeticOp::Remainder if b != 0.0 => a % b,
        _ => return FilterValue::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floating_point_numbers_are_compared_exactly() {
        let order = |a: i128, b: f64| compare_mixed(a, b);
        assert_eq!(order(9_007_199_254_740_993, 9_007_199_254_740_992.0), Some(Ordering::Greater));
        assert_eq!(order(1, 1.5), Some(Ordering::Less));
        assert_eq!(order(-1, -1.5), Some(Ordering::Greater));
        assert_eq!(order(-2, -1.5), Some(Ordering::Less));
        assert_eq!(order(0, -0.0), Some(Ordering::Equal));
        assert_eq!(order(i128::MAX, 1.8e38), Some(Ordering::Less));
        assert_eq!(
            order(i128::MIN, -170_141_183_460_469_231_731_687_303_715_884_105_728.0),
            Some(Ordering::Equal)
        );
        assert_eq!(order(i128::MIN, f64::NEG_INFINITY), Some(Ordering::Greater));
        assert_eq!(order(5, f64::NAN), None);
        let is = |op, a, b| compare(op, FilterValue::Float(a), FilterValue::Float(b));
        assert_eq!(is(CompareOp::NotEqual, f64::NAN, f64::NAN), Some(true));
        assert_eq!(is(CompareOp::LessOrEqual, f64::NAN, 1.0), Some(false));
    }

    #[test]
    fn ranges_are_sorted_and_merged() {
        let range = |(lower, upper)| IntegerRange { lower, upper };
        let sorted = |ranges: &[(i128, i128)]| SortedRanges::new(ranges.iter().copied().map(range).collect());
        let all = |ranges: SortedRanges| -> Vec<_> {
            ranges.0.iter().map(|range| (range.lower, range.upper)).collect()
        };
        let (least, most) = (i128::MIN, i128::MAX);
        assert_eq!(all(sorted(&[(7, 9), (1, 3), (2, 5), (6, 6), (12, 11), (12, 12)])), [(1, 9), (12, 12)]);
        assert_eq!(all(sorted(&[(5, most), (1, most), (least, -5), (most, most)])), [(least, -5), (1, most)]);
        assert_eq!(all(sorted(&[(least, most), (0, 0)])), [(least, most)]);
        let random = &mut ichnos_testing::Random::new(7);
        for _ in 0..200 {
            let end = |random: &mut ichnos_testing::Random| random.index(40) as i128;
            let ranges: Vec<_> = (0..random.index(12)).map(|_| (end(random), end(random))).collect();
            let sorted = sorted(&ranges);
            for value in -1..41 {
                let expected = ranges.iter().any(|(lower, upper)| (lower..=upper).contains(&&value));
                assert_eq!(sorted.contains(value), expected, "{value} in {ranges:?}");
            }
        }
    }

    #[test]
    fn values_that_are_not_numbers_are_unknown() {
        use ArithmeticOp::{Add, Divide, Multiply, Remainder, ShiftLeft, ShiftRight};
        assert_eq!(integer(Divide, -7, 2), Some(-3));
        assert_eq!(integer(Remainder, -7, 2), Some(-1));
        assert_eq!(integer(ShiftLeft, -1, 127), Some(i128::MIN));
        assert_eq!(integer(ShiftRight, -5, 1), Some(-3));
        let unknown = [
            (Divide, 1, 0),
            (Remainder, 1, 0),
            (Divide, i128::MIN, -1),
            (Add, i128::MAX, 1),
            (Multiply, i128::MAX, 2),
            (ShiftLeft, 1, 127),
            (ShiftLeft, 1, 128),
            (ShiftLeft, 1, -1),
            (ShiftRight, 1, 128),
        ];
        for (op, a, b) in unknown {
            assert_eq!(integer(op, a, b), None, "{a} {} {b}", op.name());
        }
        assert!(matches!(
            calculate(Divide, FilterValue::Float(1.0), FilterValue::Integer(0)),
            FilterValue::Unknown
        ));
    }
}
