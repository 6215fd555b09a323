//! Containers around the fields that a visitor receives.

use std::mem;

/// Container around the field that a [`Visitor`](crate::Visitor) writes.
///
/// A visitor keeps the innermost container, and a list of the outer containers that is reused for all scopes.
///
/// ```
/// use ichnos_model::field::FieldContainer;
///
/// let (mut container, mut outer) = (FieldContainer::Root, Vec::new());
/// container.enter(FieldContainer::Array(0), &mut outer);
/// assert_eq!(container, FieldContainer::Array(0));
/// assert_eq!(container.leave(&mut outer), Some(FieldContainer::Array(0)));
/// assert_eq!(container, FieldContainer::Root);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldContainer {
    /// The scope.
    #[default]
    Root,
    /// An optional or a variant: only its content is written.
    Wrapper,
    /// A structure, with the number of members so far.
    Structure(u64),
    /// An array, with the number of elements so far.
    Array(u64),
}

impl FieldContainer {
    /// Enters an inner container.
    #[inline]
    pub fn enter(&mut self, inner: Self, outer: &mut Vec<Self>) {
        outer.push(mem::replace(self, inner));
    }

    /// Returns to the next outer container. Returns the inner container, or `None` if it is the outermost.
    #[inline]
    pub fn leave(&mut self, outer: &mut Vec<Self>) -> Option<Self> {
        outer.pop().map(|container| mem::replace(self, container))
    }
}
