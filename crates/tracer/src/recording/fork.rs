//! Forked processes.
#![allow(unsafe_code)]

use std::sync::Once;

use super::switch::switch_off_silently;

/// Makes children of this process record nothing: their memory is that of the parent.
pub(super) fn switch_off_in_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function only stores to an atomic, which is allowed between `fork` and `exec`.
        let result = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        // It fails only without memory, and then a child that records is rare. Nothing can be done about it here.
        let _ = result;
    });
}

unsafe extern "C" fn in_child() {
    switch_off_silently();
}
