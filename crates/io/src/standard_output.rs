//! Detects a standard output that was closed before the program started (`>&-`).
//!
//! The Rust runtime opens `/dev/null` in place of closed standard streams before `main`, so that output would be lost
//! without an error. Therefore, this is checked earlier.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if the standard output was closed when the program started. `false` on systems without detection.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// Called by the program loader before the Rust runtime starts.
#[cfg(unix)]
#[used]
// SAFETY: these sections contain addresses of functions with the C calling convention that return nothing, and may be
// called with any arguments. The function does not use the Rust runtime.
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: this only queries the flags of a file descriptor, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}
