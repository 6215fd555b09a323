//! Stacks: call stacks of events, and symbols of their addresses.

pub use crate::stack::{Frame, StackTable, StackView};
pub use crate::symbols::{CodeKind, Resolved, Symbol, Symbols, Validity};
