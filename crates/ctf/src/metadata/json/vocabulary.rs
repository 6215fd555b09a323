//! Names that differ between PROP-2.0 and SPEC-2.0.

/// Document that a metadata stream follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metadata) enum Vocabulary {
    /// CTF2-PROP-2.0.
    Prop2,
    /// CTF2-SPEC-2.0 and its release candidates.
    Spec2,
}

impl Vocabulary {
    /// Property for attributes.
    pub(in crate::metadata) const fn attributes(self) -> &'static str {
        match self {
            Self::Prop2 => "user-attributes",
            Self::Spec2 => "attributes",
        }
    }

    /// Property for a structure's member classes.
    pub(in crate::metadata) const fn members(self) -> &'static str {
        match self {
            Self::Prop2 => "members",
            Self::Spec2 => "member-classes",
        }
    }

    /// Property of a data stream class that refers to a clock class.
    pub(in crate::metadata) const fn default_clock(self) -> &'static str {
        match self {
            Self::Prop2 => "default-clock-class-name",
            Self::Spec2 => "default-clock-class-id",
        }
    }
}
