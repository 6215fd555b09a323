//! Field roles in packet decoding.

crate::named_enum! {
    /// Purpose of a field beyond its value (CTF2-SPEC-2.0, "Roles"). CTF 1.8 uses special names and clock maps for the
    /// same, PROP-1.0 uses tags. Names are from CTF2-SPEC-2.0.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Role {
        /// Packet header: the magic number 0xc1fc1fc1.
        PacketMagicNumber = "packet-magic-number",
        /// Packet header: the UUID of the metadata stream (PROP-2.0: of the trace class; CTF 1.8 and PROP-1.0: of the
        /// trace).
        MetadataStreamUuid = "metadata-stream-uuid",
        /// Packet header: data stream class id.
        DataStreamClassId = "data-stream-class-id",
        /// Packet header: data stream id.
        DataStreamId = "data-stream-id",
        /// Packet context: whole packet size in bits, including padding.
        PacketTotalLength = "packet-total-length",
        /// Packet context: packet size in bits without the padding at its end.
        PacketContentLength = "packet-content-length",
        /// Packet context: clock value at the end of the packet.
        PacketEndTimestamp = "packet-end-default-clock-timestamp",
        /// Packet context: discarded event counter at the end of the packet.
        DiscardedEventCounter = "discarded-event-record-counter-snapshot",
        /// Packet context: packet index in its data stream.
        PacketSequenceNumber = "packet-sequence-number",
        /// Event record header: event record class id.
        EventRecordClassId = "event-record-class-id",
        /// Packet context (start of the packet) and event record header: clock value, or its lower bits.
        Timestamp = "default-clock-timestamp",
    }
}

impl Role {
    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// Bit in [`Roles`] that is set if the field class has [`ClockUpdate`]s. It is not a role.
const FURTHER_CLOCKS: u16 = 1 << 15;

/// A clock that a field updates in addition to the clock in its [`Roles`]: in PROP-1.0, one field can be tagged for
/// several clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockUpdate {
    /// [`Role::Timestamp`], or [`Role::PacketEndTimestamp`] for the end of the packet.
    pub role: Role,
    /// Index into the trace's clock classes.
    pub clock: u16,
}

/// A field class's roles, and the clock for its timestamp roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roles {
    bits: u16,
    /// Clock for [`Role::Timestamp`] and [`Role::PacketEndTimestamp`]: an index into the clock classes of the trace.
    /// `None` for the default clock of the data stream. Only CTF 1.8 and PROP-1.0 can name a clock per field.
    pub clock: Option<u16>,
}

impl Roles {
    /// Empty set.
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

    /// Returns `true` if the set contains `role`.
    #[must_use]
    pub const fn has(self, role: Role) -> bool {
        self.bits & role.bit() != 0
    }

    /// Adds a role.
    pub const fn insert(&mut self, role: Role) {
        self.bits |= role.bit();
    }

    /// Returns `true` if the field class has further clock updates; see
    /// [`FieldClass::clock_updates`](crate::class::FieldClass::clock_updates).
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

    /// Returns the roles in [`Role::ALL`] order.
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
