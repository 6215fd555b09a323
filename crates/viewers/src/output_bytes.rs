//! Bytes of a file that were not taken yet.

/// Maximum size of memory that is kept for further bytes.
const MOST_KEPT: usize = 1 << 20;

/// Takes the bytes, and makes room for about as many.
pub(super) fn take(out: &mut Vec<u8>) -> Vec<u8> {
    let capacity = out.capacity().min(MOST_KEPT);
    std::mem::replace(out, Vec::with_capacity(capacity))
}
