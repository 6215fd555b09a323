//! Descriptions of event record classes, as constants.

use crate::field_order::FieldOrder;

/// Name of an integer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingDescription {
    /// Name.
    pub name: &'static str,
    /// Value.
    pub value: i128,
}

/// Name of some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagDescription {
    /// Name.
    pub name: &'static str,
    /// First bit. Bit 0 is the least significant one.
    pub first: u8,
    /// Last bit.
    pub last: u8,
}

/// Field class.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FieldDescription {
    /// Integer.
    Integer {
        /// Number of bits: a multiple of 8.
        bits: u8,
        /// `true` if it has a sign.
        is_signed: bool,
        /// Names of values.
        mappings: &'static [MappingDescription],
    },
    /// Integer in LEB128, with as few bytes as its value needs. Only events without a type of their own have it: the
    /// fixed part of others has a constant size.
    VariableInteger {
        /// `true` if it has a sign.
        is_signed: bool,
    },
    /// Floating-point number.
    Float {
        /// 32 or 64.
        bits: u8,
    },
    /// Byte that is 0 or 1.
    Boolean,
    /// Bits with names.
    Flags {
        /// Number of bits: a multiple of 8.
        bits: u8,
        /// Names of bits.
        flags: &'static [FlagDescription],
    },
    /// Array with a constant length.
    Array {
        /// Number of elements.
        length: usize,
        /// Class of the elements.
        element: &'static FieldDescription,
    },
    /// BLOB with a constant length.
    ArrayBlob {
        /// Number of bytes.
        length: usize,
        /// Media type.
        media_type: Option<&'static str>,
    },
    /// String in UTF-8, after its length in bytes.
    String,
    /// String in UTF-8 with a zero after it. Only events without a type of their own have it.
    TerminatedString,
    /// Array after its length.
    Slice {
        /// Class of the elements.
        element: &'static FieldDescription,
    },
    /// BLOB after its length.
    SliceBlob {
        /// Media type.
        media_type: Option<&'static str>,
    },
    /// Structure.
    Structure {
        /// Its members.
        members: &'static [MemberDescription<'static>],
    },
    /// Value that can be absent.
    Optional {
        /// Class of the value.
        value: &'static FieldDescription,
    },
}

impl FieldDescription {
    /// Returns an unsigned integer class.
    #[must_use]
    pub const fn unsigned(bits: u8) -> Self {
        Self::Integer { bits, is_signed: false, mappings: &[] }
    }

    /// Returns a signed integer class.
    #[must_use]
    pub const fn signed(bits: u8) -> Self {
        Self::Integer { bits, is_signed: true, mappings: &[] }
    }

    /// Names values of an integer. A constant with another class does not compile.
    #[must_use]
    pub const fn with_mappings(self, mappings: &'static [MappingDescription]) -> Self {
        match self {
            Self::Integer { bits, is_signed, .. } => Self::Integer { bits, is_signed, mappings },
            _ => refuse("mappings need an integer"),
        }
    }

    /// Names bits of an unsigned integer. A constant with another class, or with bits that the integer lacks, does not
    /// compile.
    ///
    /// ```compile_fail
    /// #[derive(ichnos_tracer::TraceEvent)]
    /// struct Changed {
    ///     #[trace(flags(BUSY = 8))]
    ///     state: u8,
    /// }
    /// ```
    #[must_use]
    pub const fn with_flags(self, flags: &'static [FlagDescription]) -> Self {
        match self {
            Self::Integer { bits, is_signed: false, .. } => {
                let mut rest = flags;
                while let [flag, others @ ..] = rest {
                    if flag.last >= bits {
                        refuse("a flag has a bit that its integer lacks");
                    }
                    rest = others;
                }
                Self::Flags { bits, flags }
            }
            _ => refuse("`flags` needs an unsigned integer"),
        }
    }

    /// Makes bytes a BLOB. A constant with another class does not compile.
    #[must_use]
    pub const fn as_blob(self, media_type: Option<&'static str>) -> Self {
        match self {
            Self::Array { length, element: Self::Integer { bits: 8, .. } } => {
                Self::ArrayBlob { length, media_type }
            }
            Self::Slice { element: Self::Integer { bits: 8, .. } } => Self::SliceBlob { media_type },
            _ => refuse("a BLOB needs an array or a slice of bytes"),
        }
    }

    /// Returns `true` for an integer, and for arrays, slices and options of integers.
    const fn has_integers(&self) -> bool {
        match self {
            Self::Integer { .. } | Self::VariableInteger { .. } => true,
            Self::Array { element: inner, .. }
            | Self::Slice { element: inner }
            | Self::Optional { value: inner } => inner.has_integers(),
            _ => false,
        }
    }

    /// Returns `true` if numbers use the byte order of the member. Structures declare it for each of their members.
    const fn has_order(&self) -> bool {
        match self {
            Self::Structure { .. } => false,
            Self::Array { element: inner, .. }
            | Self::Slice { element: inner }
            | Self::Optional { value: inner } => inner.has_order(),
            _ => true,
        }
    }

    /// Returns `true` if the field is in the variable part.
    pub(crate) const fn is_variable(&self) -> bool {
        match self {
            Self::Optional { .. } => true,
            _ if self.has_length() => true,
            Self::Array { element, .. } => element.is_variable(),
            Self::Structure { members } => {
                let mut rest: &[MemberDescription<'_>] = members;
                while let [first, others @ ..] = rest {
                    if first.field.is_variable() {
                        return true;
                    }
                    rest = others;
                }
                false
            }
            _ => false,
        }
    }

    /// Returns `true` if a length is in the fixed part.
    #[must_use]
    pub(crate) const fn has_length(&self) -> bool {
        matches!(self, Self::String | Self::Slice { .. } | Self::SliceBlob { .. })
    }
}

/// Stops the compiler: descriptions are evaluated at compile time.
#[allow(clippy::panic)]
const fn refuse(problem: &'static str) -> ! {
    panic!("{}", problem)
}

/// Member of an event's payload or of the context that all events have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberDescription<'a> {
    pub(crate) name: &'a str,
    pub(crate) field: FieldDescription,
    pub(crate) order: FieldOrder,
    /// Alignment of the fixed part in bytes.
    pub(crate) alignment: usize,
    /// Preferred base of integers.
    pub(crate) base: u8,
    pub(crate) meaning: Option<&'static str>,
}

impl<'a> MemberDescription<'a> {
    /// Describes a member in little-endian byte order, aligned to bytes.
    #[must_use]
    pub const fn new(name: &'a str, field: FieldDescription) -> Self {
        Self { name, field, order: FieldOrder::Little, alignment: 1, base: 10, meaning: None }
    }

    /// Makes its numbers big-endian. A constant with a structure does not compile: its members have their own order.
    #[must_use]
    pub const fn big_endian(mut self) -> Self {
        if !self.field.has_order() {
            refuse("members of a structure have their own byte order");
        }
        self.order = FieldOrder::Big;
        self
    }

    /// Aligns it to 1, 2, 4 or 8 bytes. Of a string or a slice, this is the alignment of the length. A BLOB in the
    /// fixed part has no alignment: such a constant does not compile.
    #[must_use]
    pub const fn aligned(mut self, bytes: usize) -> Self {
        if bytes > 1 && matches!(self.field, FieldDescription::ArrayBlob { .. }) {
            refuse("a BLOB has no alignment");
        }
        self.alignment = bytes;
        self
    }

    /// Sets the preferred base of its integers: 2, 8, 10 or 16. A constant without integers does not compile.
    #[must_use]
    pub const fn with_base(mut self, base: u8) -> Self {
        if !self.field.has_integers() {
            refuse("`base` needs an integer");
        }
        self.base = base;
        self
    }

    /// Sets what the member means, as ichnos calls it.
    #[must_use]
    pub const fn with_meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = Some(meaning);
        self
    }
}

/// Log level, with the number that LTTng and barectf use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventLevel {
    /// The system is unusable.
    Emergency,
    /// Somebody must act now.
    Alert,
    /// A critical condition.
    Critical,
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// Normal, but significant.
    Notice,
    /// Information.
    Info,
    /// For developers.
    Debug,
}

impl EventLevel {
    /// Returns the name in metadata.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Emergency => "emergency",
            Self::Alert => "alert",
            Self::Critical => "critical",
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Event record class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventDescription<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) level: Option<EventLevel>,
    pub(crate) emf_uri: Option<&'a str>,
    pub(crate) role: Option<&'a str>,
    pub(crate) span_name: Option<&'a str>,
    /// Further attributes: names and texts.
    pub(crate) facts: &'a [(&'a str, &'a str)],
    pub(crate) members: &'a [MemberDescription<'a>],
}

impl<'a> EventDescription<'a> {
    /// Describes events with a name and members.
    #[must_use]
    pub const fn new(name: &'a str, members: &'a [MemberDescription<'a>]) -> Self {
        Self {
            name,
            namespace: None,
            level: None,
            emf_uri: None,
            role: None,
            span_name: None,
            facts: &[],
            members,
        }
    }

    /// Sets the namespace.
    #[must_use]
    pub const fn with_namespace(mut self, namespace: &'a str) -> Self {
        self.namespace = Some(namespace);
        self
    }

    /// Sets the log level.
    #[must_use]
    pub const fn with_level(mut self, level: EventLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Sets the URI of an EMF model.
    #[must_use]
    pub const fn with_emf_uri(mut self, uri: &'a str) -> Self {
        self.emf_uri = Some(uri);
        self
    }

    /// Sets the role of the events in viewers, as ichnos calls it: `begin`, `end`, `sample`, `counter` and others.
    #[must_use]
    pub const fn with_role(mut self, role: &'a str) -> Self {
        self.role = Some(role);
        self
    }

    /// Sets the name of the spans that the events begin or end.
    #[must_use]
    pub const fn with_span_name(mut self, name: &'a str) -> Self {
        self.span_name = Some(name);
        self
    }

    /// Sets further attributes, which describe the place in the program.
    #[must_use]
    pub const fn with_facts(mut self, facts: &'a [(&'a str, &'a str)]) -> Self {
        self.facts = facts;
        self
    }
}
