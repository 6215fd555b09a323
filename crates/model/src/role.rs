//! Special fields: what a field means to the decoding of the packets around it.

use std::fmt;

/// What a field is for, beyond its value (CTF2-SPEC-2.0, "Roles"; CTF 1.8 has special names and
/// clock maps, PROP-1.0 has tags, for the same).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// Packet header: the magic number 0xc1fc1fc1.
    PacketMagicNumber,
    /// Packet header: the UUID of the metadata stream (of the trace class in PROP-2.0, of the
    /// trace in CTF 1.8 and PROP-1.0).
    MetadataStreamUuid,
    /// Packet header: which data stream class the packet is an instance of.
    DataStreamClassId,
    /// Packet header: which data stream the packet belongs to.
    DataStreamId,
    /// Packet context: size of the whole packet in bits, padding included.
    PacketTotalLength,
    /// Packet context: size of the packet in bits without the padding at its end.
    PacketContentLength,
    /// Packet context: value of the clock when the packet ends.
    PacketEndTimestamp,
    /// Packet context: snapshot of the counter of discarded event records when the packet ends.
    DiscardedEventCounter,
    /// Packet context: index of the packet in its data stream.
    PacketSequenceNumber,
    /// Event record header: which event record class the record is an instance of.
    EventRecordClassId,
    /// Packet context (beginning of the packet) and event record header: value of the clock, or
    /// its lower bits.
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

    /// The name of CTF2-SPEC-2.0.
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

/// The bit of [`Roles`] that no role has: the field class has [`ClockUpdate`]s.
const FURTHER_CLOCKS: u16 = 1 << 15;

/// A clock that a field brings up to date besides the one of its [`Roles`]: in PROP-1.0, one field
/// can be tagged for several clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockUpdate {
    /// [`Role::Timestamp`], or [`Role::PacketEndTimestamp`]: when the packet ends.
    pub role: Role,
    /// The clock class, as an index into the clock classes of the trace.
    pub clock: u16,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The roles of a field class, and which clock its timestamp roles are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles {
    bits: u16,
    /// The clock class, as an index into the clock classes of the trace, that
    /// [`Role::Timestamp`] and [`Role::PacketEndTimestamp`] are about. None: the default clock of
    /// the data stream. Only CTF 1.8 and PROP-1.0 can name a clock per field.
    pub clock: Option<u16>,
}

impl Roles {
    /// No role.
    pub const NONE: Self = Self { bits: 0, clock: None };

    /// Just this role.
    #[must_use]
    pub const fn only(role: Role) -> Self {
        Self { bits: role.bit(), clock: None }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Whether `role` is one of them.
    #[must_use]
    pub const fn has(self, role: Role) -> bool {
        self.bits & role.bit() != 0
    }

    /// Adds a role.
    pub const fn insert(&mut self, role: Role) {
        self.bits |= role.bit();
    }

    /// Whether the field class has further clock updates; see
    /// [`FieldClass::clock_updates`](crate::FieldClass::clock_updates).
    #[inline]
    #[must_use]
    pub const fn has_further_clocks(self) -> bool {
        self.bits & FURTHER_CLOCKS != 0
    }

    /// Notes that the field class has further clock updates.
    pub(crate) const fn note_further_clocks(&mut self) {
        self.bits |= FURTHER_CLOCKS;
    }

    /// Takes a role away.
    pub const fn remove(&mut self, role: Role) {
        self.bits &= !role.bit();
    }

    /// The roles in the order of [`Role::ALL`].
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
