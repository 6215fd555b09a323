//! A value with its type.

use super::class::ValueType;
use super::program::Code;
use super::value::Constant;

/// Value with its type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) code: Code,
    pub(super) kind: ValueType,
}

impl Typed {
    pub(super) fn constant(constant: Constant, kind: ValueType) -> Self {
        Self { code: Code::Constant(constant), kind }
    }
}
