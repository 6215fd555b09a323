//! Special fields: roles of fields in decoding packets.

use std::fmt;

/// Purpose of a field beyond its value (CTF2-SPEC-2.0, "Roles"; CTF 1.8 has special names and clock maps,
/// PROP-1.0 has tags for the same).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// Packet header: the magic number 0xc1fc1fc1.
    PacketMagicNumber,
    /// Packet header: the UUID of the metadata stream (of the trace class in PROP-2.0, of the trace in CTF
    /// 1.8 and PROP-1.0).
    MetadataStreamUuid,
    /// Packet header: id of the packet's data stream class.
    DataStreamClassId,
    /// Packet header: id of the packet's data stream.
    DataStreamId,
    /// Packet context: size of the whole packet in bits, including padding.
    PacketTotalLength,
    /// Packet context: size of the packet in bits without the padding at its end.
    PacketContentLength,
    /// Packet context: value of the clock at the end of the packet.
    PacketEndTimestamp,
    /// Packet context: snapshot of the counter of discarded event records at the end of the packet.
    DiscardedEventCounter,
    /// Packet context: index of the packet in its data stream.
    PacketSequenceNumber,
    /// Event record header: id of the record's event record class.
    EventRecordClassId,
    /// Packet context (beginning of the packet) and event record header: value of the clock, or its lower
    /// bits.
    Timestamp,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 11] = [
        Self::PacketMagicNumber,
        Self::MetadataStreamUuid,
        Self::DataStreamClassId,
        Self::DataStreamId,
        Self::PacketTotalLength,
        Self::PacketContentLength,
        Self::PacketEndTimestamp,
        Self::DiscardedEventCounter,
        Self::PacketSequenceNumber,
        Self::EventRecordClassId,
        Self::Timestamp,
    ];

    /// Returns the name in CTF2-SPEC-2.0.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketMagicNumber => "packet-magic-number",
            Self::MetadataStreamUuid => "metadata-stream-uuid",
            Self::DataStreamClassId => "data-stream-class-id",
            Self::DataStreamId => "data-stream-id",
            Self::PacketTotalLength => "packet-total-length",
            Self::PacketContentLength => "packet-content-length",
            Self::PacketEndTimestamp => "packet-end-default-clock-timestamp",
            Self::DiscardedEventCounter => "discarded-event-record-counter-snapshot",
            Self::PacketSequenceNumber => "packet-sequence-number",
            Self::EventRecordClassId => "event-record-class-id",
            Self::Timestamp => "default-clock-timestamp",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// Bit of [`Roles`] that is set if the field class has [`ClockUpdate`]s; no role has it.
const FURTHER_CLOCKS: u16 = 1 << 15;

/// A clock that a field updates besides the one of its [`Roles`]: in PROP-1.0, one field can be tagged for
/// several clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockUpdate {
    /// [`Role::Timestamp`], or [`Role::PacketEndTimestamp`] for the end of the packet.
    pub role: Role,
    /// Clock class: an index into the clock classes of the trace.
    pub clock: u16,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Roles of a field class, and the clock of its timestamp roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles {
    bits: u16,
    /// Clock class of [`Role::Timestamp`] and [`Role::PacketEndTimestamp`]: an index into the clock classes
    /// of the trace. `None` for the default clock of the data stream. Only CTF 1.8 and PROP-1.0 can name a
    /// clock per field.
    pub clock: Option<u16>,
}

impl Roles {
    /// No role.
    pub const NONE: Self = Self { bits: 0, clock: None };

    /// Only this role.
    #[must_use]
    pub const fn only(role: Role) -> Self {
        Self { bits: role.bit(), clock: None }
    }

    /// Returns `true` if there are no roles.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Returns `true` if `role` is one of them.
    #[must_use]
    pub const fn has(self, role: Role) -> bool {
        self.bits & role.bit() != 0
    }

    /// Adds a role.
    pub const fn insert(&mut self, role: Role) {
        self.bits |= role.bit();
    }

    /// Returns `true` if the field class has further clock updates; see
    /// [`FieldClass::clock_updates`](crate::FieldClass::clock_updates).
    #[inline]
    #[must_use]
    pub const fn has_further_clocks(self) -> bool {
        self.bits & FURTHER_CLOCKS != 0
    }

    /// Marks that the field class has further clock updates.
    pub(crate) const fn note_further_clocks(&mut self) {
        self.bits |= FURTHER_CLOCKS;
    }

    /// Removes a role.
    pub const fn remove(&mut self, role: Role) {
        self.bits &= !role.bit();
    }

    /// Returns the roles in the order of [`Role::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        let mut all = Self::NONE;
        for role in roles {
            all.insert(role);
        }
        all
    }
}
