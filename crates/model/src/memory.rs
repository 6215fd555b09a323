//! Estimates of memory: what a description takes counts against
//! [`Limits::description_bytes`](crate::Limits::description_bytes).

/// The memory in bytes that an allocation of `bytes` takes: common allocators need 8 more for themselves,
/// round up to a multiple of 16, and give no less than 32.
#[must_use]
pub const fn allocated(bytes: usize) -> u64 {
    let rounded = bytes.saturating_add(8 + 15) as u64 & !15;
    if rounded < 32 { 32 } else { rounded }
}

/// The size of a type in bytes.
#[must_use]
pub const fn size<T>() -> usize {
    size_of::<T>()
}

/// Counts down how much memory may still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    most: u64,
    left: u64,
}

impl Budget {
    /// A budget of `most` bytes.
    #[must_use]
    pub const fn new(most: u64) -> Self {
        Self { most, left: most }
    }

    /// Takes bytes; false if fewer are left, and then none are left.
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

    /// Gives back bytes that were taken.
    pub fn give_back(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes).min(self.most);
    }

    /// How many bytes may be taken in all.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// How many bytes may still be taken.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }
}
