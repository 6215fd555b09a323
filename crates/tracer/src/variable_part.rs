//! The part of an event whose size depends on its values.

/// Room for the rest of an event. What does not fit is left out, which does not happen: the size is known before.
#[derive(Debug)]
pub struct VariablePart<'o> {
    rest: &'o mut [u8],
}

impl<'o> VariablePart<'o> {
    /// Starts at the first byte.
    #[inline]
    #[must_use]
    pub fn new(rest: &'o mut [u8]) -> Self {
        Self { rest }
    }

    /// Writes bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        let out = self.take(bytes.len());
        if out.len() == bytes.len() {
            out.copy_from_slice(bytes);
        }
    }

    /// Returns the next bytes, to be written by the caller, or nothing if there are fewer.
    #[inline]
    pub fn take(&mut self, length: usize) -> &'o mut [u8] {
        match core::mem::take(&mut self.rest).split_at_mut_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                taken
            }
            None => &mut [],
        }
    }
}
