//! Lowering options.

use crate::class::{Roles, Scope};
use crate::trace::Limits;

/// Options for lowering a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Write the reader's additional knowledge about classes - meanings, roles, log roles - into
    /// [annotations](super::annotate), for formats whose reader would not know it.
    pub annotates: bool,
    /// Assign event record class ids that the format [distinguishes](super::Capabilities::class_id_bits), if event
    /// record headers are not copied.
    pub numbers_classes: bool,
    /// Assign data stream class ids with at most 64 bits, unless packet headers contain the source ids.
    pub numbers_streams: bool,
    /// Scopes with additional members.
    pub extended: ExtendedScopes,
    /// Make fields independent of other scopes, because the source values may not match there.
    pub separates_scopes: bool,
    /// Roles of packet context members to drop, for example counters of discarded events.
    pub dropped_counters: Roles,
    /// Limits for compiling the lowered classes.
    pub limits: Limits,
}

/// Scopes to which a writer adds members. Their roots become structures.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtendedScopes {
    /// Packet headers.
    pub packet_header: bool,
    /// Packet contexts.
    pub packet_context: bool,
    /// Event record headers.
    pub event_record_header: bool,
}

impl ExtendedScopes {
    /// Returns `true` if a writer adds members to the scope.
    pub(super) fn has(self, scope: Scope) -> bool {
        match scope {
            Scope::PacketHeader => self.packet_header,
            Scope::PacketContext => self.packet_context,
            Scope::EventRecordHeader => self.event_record_header,
            _ => false,
        }
    }
}
