//! Data point values.

/// Counter value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PointValue {
    Integer(i64),
    Double(f64),
}
