//! Ctrl-C: what is begun is ended properly.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interruption does not end the program, but [`is_requested`] says so. The second
/// one ends it at once.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(set_handler);
}

fn set_handler() {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    // Whoever does not let handlers be set gets what the system does.
    let _ = ctrlc::set_handler(handler);
}

/// What is set when somebody wants the program to end, for those who wait.
pub(crate) fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Whether somebody wants the program to end.
#[inline]
pub(crate) fn is_requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
