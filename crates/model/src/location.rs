//! Field locations: how a class says which other field it needs to be decoded.

use std::fmt;

use crate::DeclaredAt;

/// The root fields of packets and event records: six that are decoded, in that order, and one that never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scope {
    /// Packet header.
    PacketHeader,
    /// Packet context.
    PacketContext,
    /// Event record header.
    EventRecordHeader,
    /// Event record common context: described by the data stream class.
    CommonContext,
    /// Event record specific context: described by the event record class.
    SpecificContext,
    /// Event record payload.
    Payload,
    /// What is known of the resource that an event record comes from - a component, a process - and is in none
    /// of its fields: a reader looks it up in what came before. Described by the data stream class. Its fields
    /// are always [values](crate::EventValues); an event without them does not have this scope.
    Resource,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 7] = [
        Self::PacketHeader,
        Self::PacketContext,
        Self::EventRecordHeader,
        Self::CommonContext,
        Self::SpecificContext,
        Self::Payload,
        Self::Resource,
    ];

    /// The scopes that can be decoded, in that order.
    pub const DECODED: [Self; 6] = [
        Self::PacketHeader,
        Self::PacketContext,
        Self::EventRecordHeader,
        Self::CommonContext,
        Self::SpecificContext,
        Self::Payload,
    ];

    /// The name: of a decoded scope that of CTF2-SPEC-2.0 (`origin` of a field location).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketHeader => "packet-header",
            Self::PacketContext => "packet-context",
            Self::EventRecordHeader => "event-record-header",
            Self::CommonContext => "event-record-common-context",
            Self::SpecificContext => "event-record-specific-context",
            Self::Payload => "event-record-payload",
            Self::Resource => "resource",
        }
    }

    /// A short name for people, for instance before the name of a field that was lost; both contexts of events
    /// have the same.
    #[must_use]
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::PacketHeader => "packet.header",
            Self::PacketContext => "packet.context",
            Self::EventRecordHeader => "header",
            Self::CommonContext | Self::SpecificContext => "ctx",
            Self::Payload => "payload",
            Self::Resource => "resource",
        }
    }

    /// The decoded scope of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::DECODED.into_iter().find(|scope| scope.name() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A step of a field location.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LocationStep {
    /// To the member of this name.
    Member(String),
    /// To the structure that contains the current one.
    Parent,
}

/// Which field a class needs (CTF2-SPEC-2.0, "Field location").
///
/// Arrays, optionals and variants on the way are passed through: to the element that is being
/// decoded, to the field that is there, to the field that is selected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldLocation {
    /// Where to start; None: in the structure that immediately contains the field.
    pub origin: Option<Scope>,
    /// Steps from there, at least one, the last one to a member; only PROP-1.0 allows none
    /// (then the location is the root field itself).
    pub path: Vec<LocationStep>,
    /// Whether the rules of PROP-1.0 hold, and of no other document: the path need not fit all
    /// options of the variants it leads through, but at least one (if another one is selected,
    /// decoding ends there); a length may be signed; and if the selector of a variant can be one of
    /// several enumerations, each selects by its own labels.
    pub any_option: bool,
    /// Where it is written.
    pub declared_at: DeclaredAt,
}

impl FieldLocation {
    /// Of classes in scopes of values: there the values alone say how many elements there are and which fields are
    /// there. Fields of such a class cannot be decoded from bits.
    #[must_use]
    pub fn of_values() -> Self {
        Self { origin: None, path: Vec::new(), any_option: false, declared_at: DeclaredAt::default() }
    }

    /// Whether it is [`FieldLocation::of_values`].
    #[must_use]
    pub fn is_of_values(&self) -> bool {
        self.origin.is_none() && self.path.is_empty() && !self.any_option
    }

    /// The location of a member from a root field on.
    pub fn absolute<S: Into<String>>(origin: Scope, path: impl IntoIterator<Item = S>) -> Self {
        Self {
            origin: Some(origin),
            path: path.into_iter().map(|name| LocationStep::Member(name.into())).collect(),
            any_option: false,
            declared_at: DeclaredAt::default(),
        }
    }
}

impl fmt::Display for FieldLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = self.origin {
            write!(f, "{origin}")?;
        }
        for (i, step) in self.path.iter().enumerate() {
            if i > 0 || self.origin.is_some() {
                f.write_str("/")?;
            }
            match step {
                LocationStep::Member(name) => f.write_str(name)?,
                LocationStep::Parent => f.write_str("..")?,
            }
        }
        Ok(())
    }
}
