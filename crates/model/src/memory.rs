//! Memory estimates. The size of a description counts against
//! [`Limits::description_bytes`](crate::trace::Limits::description_bytes).

/// Memory in bytes for an allocation of `bytes`. Common allocators add 8 bytes, round up to a multiple of 16, and
/// return at least 32.
#[must_use]
pub const fn allocated(bytes: usize) -> u64 {
    let rounded = bytes.saturating_add(8 + 15) as u64 & !15;
    if rounded < 32 { 32 } else { rounded }
}

/// Type size in bytes.
#[must_use]
pub const fn size<T>() -> usize {
    size_of::<T>()
}

/// Countdown of the remaining memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// Creates a budget with `most` bytes.
    #[must_use]
    pub const fn new(most: u64) -> Self {
        Self { most, left: most }
    }

    /// Takes bytes. If fewer are left, returns `false` and empties the budget.
    #[inline]
    pub fn take(&mut self, bytes: u64) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left = 0;
                false
            }
        }
    }

    /// Returns bytes to the budget.
    pub fn give_back(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes).min(self.most);
    }

    /// Returns the initial size in bytes.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Returns the number of remaining bytes.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }
}
