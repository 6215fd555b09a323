//! Random bytes.

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::SystemTime;

use crate::id::OpId;

/// Number of bytes requested from the system at once. This costs little more than one byte.
const POOL: usize = 256;

/// Unused random bytes from the system.
struct RandomPool {
    bytes: [u8; POOL],
    used: usize,
}

thread_local! {
    static BYTES: RefCell<RandomPool> = const { RefCell::new(RandomPool::new()) };
}

impl RandomPool {
    const fn new() -> Self {
        Self { bytes: [0; POOL], used: POOL }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        if POOL - self.used < N {
            self.fill();
        }
        let taken = self.bytes[self.used..].first_chunk().copied();
        self.used += N;
        // Requests never exceed the pool size.
        taken.unwrap_or([0; N])
    }

    #[cold]
    fn fill(&mut self) {
        self.used = 0;
        if getrandom::fill(&mut self.bytes).is_ok() {
            return;
        }
        // Systems without randomness are rare. Identifiers must be unique, but not secret.
        let state = RandomState::new();
        for (index, place) in self.bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *place = state.hash_one((index, SystemTime::now())).to_ne_bytes();
        }
    }
}

/// Returns random bytes that are not all zeros.
#[inline]
pub(super) fn nonzero<const N: usize>() -> [u8; N] {
    loop {
        let bytes = any();
        if bytes != [0; N] {
            return bytes;
        }
    }
}

/// Returns random bytes.
#[inline]
pub(super) fn any<const N: usize>() -> [u8; N] {
    let bytes = BYTES.try_with(|pool| match pool.try_borrow_mut() {
        Ok(mut pool) => pool.take(),
        // Never borrowed during a call.
        Err(_) => [1; N],
    });
    // At thread exit, some systems have already dropped the pool.
    bytes.unwrap_or_else(|_| RandomPool::new().take())
}

/// Returns a random 8-byte identifier for [`ValidMetadata::advance`](crate::ValidMetadata::advance) and custom reports.
/// [`Context`](super::Context) generates an identifier for each event.
#[inline]
#[must_use]
pub fn random_op_id() -> OpId {
    OpId::from(nonzero::<8>())
}

/// Discards the random bytes that this thread has requested in advance.
///
/// After `fork` without `exec`, call this before creating identifiers. Otherwise the parent creates the same
/// identifiers.
pub fn forget_random_bytes() {
    let _ = BYTES.try_with(|pool| {
        if let Ok(mut pool) = pool.try_borrow_mut() {
            pool.used = POOL;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_comes_twice() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..10_000 {
            assert!(seen.insert(nonzero::<8>()));
        }
        forget_random_bytes();
        assert!(seen.insert(nonzero::<8>()));
        let other = std::thread::spawn(nonzero::<8>).join().unwrap();
        assert!(seen.insert(other));
    }
}
