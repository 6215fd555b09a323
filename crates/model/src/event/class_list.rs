//! Values for all event record classes.

/// A value for each event record class, by class index. Unlike [`EventClassTable`](crate::event::EventClassTable), it
/// never evicts values, so they can contain ids and counts.
#[derive(Clone, Debug)]
pub struct ClassList<E>(Vec<Option<Box<E>>>);

impl<E> Default for ClassList<E> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<E> ClassList<E> {
    /// Returns a class's value, if any.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&E> {
        self.0.get(index)?.as_deref()
    }

    /// Returns a class's value, if any.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        self.0.get_mut(index)?.as_deref_mut()
    }

    /// Returns the place for a class's value.
    #[inline]
    pub fn place(&mut self, index: usize) -> &mut Option<Box<E>> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        &mut self.0[index]
    }

    /// Removes all values for which a function returns `false`.
    pub fn retain(&mut self, keeps: impl Fn(&E) -> bool) {
        for place in &mut self.0 {
            if place.as_deref().is_some_and(|value| !keeps(value)) {
                *place = None;
            }
        }
    }

    /// Returns all values.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.0.iter_mut().flatten().map(|value| &mut **value)
    }
}
