//! Whether this program was started without a standard output (`>&-`).
//!
//! The Rust runtime opens `/dev/null` in the place of standard streams that are closed, before `main`
//! begins: what is written there would be lost without an error. So it is looked at before that.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there was no standard output when the program began. False on systems where that cannot be
/// found out.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// Called by the loader of programs, before the Rust runtime begins.
#[cfg(unix)]
#[used]
// SAFETY: these sections hold addresses of functions of the C calling convention that return nothing,
// and may be called with any arguments. Nothing of the Rust runtime is used there.
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: this only asks for the flags of a file descriptor, whether it is open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}
