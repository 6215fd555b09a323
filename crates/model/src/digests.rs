//! Digests: comparison of two traces by counts and checksums of their events.

pub use crate::digest::{
    ChangeText, ClassDigest, EventHash, EventHashFn, ScopeVisitor, StreamDigest, TraceDigest, hash_of_packet,
};
pub use crate::value_hash::ValueHash;
