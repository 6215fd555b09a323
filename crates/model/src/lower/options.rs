//! Lowering options.

use crate::{Limits, Scope};

/// Options for lowering a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerOptions {
    /// Write the reader's knowledge of classes beyond their own content - meanings, roles, log roles - into
    /// [annotations](super::annotate), for formats whose reader would not know it.
    pub annotates: bool,
    /// Give event record classes ids that the format [distinguishes](super::Capabilities::class_id_bits), if
    /// event record headers are not copied.
    pub numbers_classes: bool,
    /// Give data stream classes ids of 64 bits at most, if packet headers do not have the source's ids.
    pub numbers_streams: bool,
    /// Scopes of packets and event record headers that get further members.
    pub extended: ExtendedScopes,
    /// Make fields independent of other scopes, because the source's values may not agree there.
    pub separates_scopes: bool,
    /// Limits for compiling the lowered classes.
    pub limits: Limits,
}

/// Scopes to which a writer adds members: their roots become structures.
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
    /// Returns `true` if a scope gets further members.
    pub(super) fn has(self, scope: Scope) -> bool {
        match scope {
            Scope::PacketHeader => self.packet_header,
            Scope::PacketContext => self.packet_context,
            Scope::EventRecordHeader => self.event_record_header,
            _ => false,
        }
    }
}
