//! Memory that all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory for requests, in bytes.
#[derive(Clone, Debug)]
pub(super) struct RequestMemory {
    used: Arc<AtomicUsize>,
    most: usize,
}

impl RequestMemory {
    pub(super) fn new(most: usize) -> Self {
        Self { used: Arc::default(), most }
    }

    /// Returns a share of the memory, which is empty at first.
    pub(super) fn share(&self) -> RequestShare {
        RequestShare { memory: self.clone(), bytes: 0 }
    }
}

/// Memory of a request, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestShare {
    memory: RequestMemory,
    bytes: usize,
}

impl RequestShare {
    /// Grows to at least a number of bytes. Returns `false` if there is too little memory.
    #[must_use]
    pub(crate) fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let add = |used: usize| used.checked_add(more).filter(|used| *used <= self.memory.most);
        let is_free = self.memory.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok();
        self.bytes += if is_free { more } else { 0 };
        is_free
    }

    /// Gives back what is beyond a number of bytes.
    pub(super) fn shrink_to(&mut self, bytes: usize) {
        let fewer = self.bytes.saturating_sub(bytes);
        self.memory.used.fetch_sub(fewer, Ordering::Relaxed);
        self.bytes -= fewer;
    }
}

impl Drop for RequestShare {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_given_back() {
        let memory = RequestMemory::new(10);
        let (mut a, mut b) = (memory.share(), memory.share());
        assert!(a.grow_to(6) && b.grow_to(4) && !b.grow_to(5) && b.grow_to(3));
        a.shrink_to(5);
        assert!(b.grow_to(5));
        drop(a);
        assert!(b.grow_to(10) && !memory.share().grow_to(1));
    }
}
