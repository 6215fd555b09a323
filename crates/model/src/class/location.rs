//! Field locations: references from a class to the field it needs for decoding.

use std::fmt;

use crate::trace::DeclaredAt;

crate::named_enum! {
    /// Root fields of packets and event records: six that are decoded, in this order, and one that is always a value.
    ///
    /// Scope names are from CTF2-SPEC-2.0 (`origin` of a field location).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum Scope {
        /// Packet header.
        PacketHeader = "packet-header",
        /// Packet context.
        PacketContext = "packet-context",
        /// Event record header.
        EventRecordHeader = "event-record-header",
        /// Event record common context: described by the data stream class.
        CommonContext = "event-record-common-context",
        /// Event record specific context: described by the event record class.
        SpecificContext = "event-record-specific-context",
        /// Event record payload.
        Payload = "event-record-payload",
        /// Data about the origin of an event record, for example a component or a process, that is not in the record
        /// itself. A reader looks it up in earlier data. The data stream class describes it. Its fields are always
        /// [values](crate::event::EventValues). An event without them lacks this scope.
        Resource = "resource",
    }
}

impl Scope {
    /// Scopes that can be decoded, in decoding order.
    pub const DECODED: [Self; 6] = [
        Self::PacketHeader,
        Self::PacketContext,
        Self::EventRecordHeader,
        Self::CommonContext,
        Self::SpecificContext,
        Self::Payload,
    ];

    /// Scopes that are searched for a field name, in this order.
    pub const SEARCHED: [Self; 6] = [
        Self::Payload,
        Self::SpecificContext,
        Self::CommonContext,
        Self::EventRecordHeader,
        Self::PacketContext,
        Self::Resource,
    ];

    /// Returns a short name for display, for example before the name of a lost field. Both event contexts have the same
    /// name.
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

    /// Returns the prefix of field paths in this scope. Both event contexts have the same prefix.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::PacketHeader | Self::PacketContext => "packet",
            _ => self.short_name(),
        }
    }

    /// Returns the [searched](Self::SEARCHED) scopes with that [prefix](Self::prefix), which may also be written
    /// `context`. Empty for other words.
    #[must_use]
    pub fn with_prefix(prefix: &str) -> &'static [Self] {
        const SEARCHED: &[Scope] = &Scope::SEARCHED;
        match prefix {
            "payload" => &SEARCHED[..1],
            "ctx" | "context" => &SEARCHED[1..3],
            "header" => &SEARCHED[3..4],
            "packet" => &SEARCHED[4..5],
            "resource" => &SEARCHED[5..],
            _ => &[],
        }
    }

    /// Returns the decoded scope with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::DECODED.into_iter().find(|scope| scope.name() == name)
    }
}

/// A step of a field location.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LocationStep {
    /// To the member with this name.
    Member(String),
    /// To the structure that contains the current one.
    Parent,
}

/// Location of a field that a class needs (CTF2-SPEC-2.0, "Field location").
///
/// The path continues through arrays, optionals and variants without a step: in the current element, the present field,
/// the selected option.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldLocation {
    /// Root field at the start; `None` for the structure that immediately contains the field.
    pub origin: Option<Scope>,
    /// Steps from there, at least one. The last step leads to a member. Only PROP-1.0 allows an empty path: the
    /// location is then the root field itself.
    pub path: Vec<LocationStep>,
    /// `true` under the PROP-1.0 rules, which differ from all other documents. The path must fit only one option of the
    /// variants on it, and decoding ends if another option is selected. A length may be signed. If the selector of a
    /// variant can be one of several enumerations, each selects by its own labels.
    pub any_option: bool,
    /// Declaration position.
    pub declared_at: DeclaredAt,
}

impl FieldLocation {
    /// Creates the location for classes in value scopes, where only the values determine lengths and presence. Such
    /// fields cannot be decoded from bits.
    #[must_use]
    pub fn by_values() -> Self {
        Self { origin: None, path: Vec::new(), any_option: false, declared_at: DeclaredAt::default() }
    }

    /// Returns `true` for [`FieldLocation::by_values`].
    #[must_use]
    pub fn is_by_values(&self) -> bool {
        self.origin.is_none() && self.path.is_empty() && !self.any_option
    }

    /// Creates the location of a member, starting at a root field.
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
