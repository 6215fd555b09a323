//! An allocator that counts what a thread asks of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Number of calls of this thread, while they are counted.
    static CALLS: Cell<Option<u64>> = const { Cell::new(None) };
}

struct CountedMemory;

#[global_allocator]
static MEMORY: CountedMemory = CountedMemory;

fn count() {
    CALLS.set(CALLS.get().map(|calls| calls + 1));
}

// SAFETY: the system's allocator does all the work, and counting takes no memory.
unsafe impl GlobalAlloc for CountedMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the rules of this function, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count();
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Runs a function. Returns how often it took memory or gave it back, on this thread.
pub fn memory_calls(run: impl FnOnce()) -> u64 {
    CALLS.set(Some(0));
    run();
    CALLS.take().unwrap()
}

#[test]
fn calls_are_counted() {
    assert_eq!(memory_calls(|| ()), 0);
    assert_eq!(memory_calls(|| drop(std::hint::black_box(vec![1]))), 2);
}
