//! How the reference presents what is in a file otherwise than we do.

use crate::comparison::{OwnEvent, is_same, number};
use crate::support::Shown;

/// A difference that is known.
pub struct Difference {
    /// Events that have it, by their names; none: all.
    pub events: &'static [&'static str],
    /// The field, as we call it; of what the reference computes, as it calls it.
    pub field: &'static str,
    pub kind: Kind,
    pub reason: &'static str,
}

/// What is different.
#[derive(Clone, Copy)]
pub enum Kind {
    /// It does not write the field.
    Drops,
    /// It does not write the field if that is zero or empty.
    DropsEmpty,
    /// It calls the field otherwise.
    Named(&'static str),
    /// It writes the value otherwise.
    Writes(fn(&Shown, &str) -> bool),
    /// The same, of fields of all names.
    WritesAll(fn(&Shown, &str) -> bool),
    /// It makes an attribute out of other fields.
    Computes(fn(&[(String, Shown)], &str) -> bool),
    /// It decodes what we give as bytes: the fields in its place.
    Decodes(fn(&OwnEvent) -> Option<Vec<(String, Shown)>>),
    /// It does not write the related activity.
    NoRelatedActivity,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Drops => "drops",
            Self::DropsEmpty => "drops empty",
            Self::Named(other) => return write!(f, "names {other}"),
            Self::Writes(_) | Self::WritesAll(_) => "writes otherwise",
            Self::Computes(_) => "computes",
            Self::Decodes(_) => "decodes",
            Self::NoRelatedActivity => "drops related activity",
        })
    }
}

impl Kind {
    /// Whether it is why a field of this value is not there.
    pub fn drops(&self, value: &Shown) -> bool {
        match self {
            Self::Drops => true,
            Self::DropsEmpty => match value {
                Shown::Integer(integer) => integer.value == 0,
                Shown::Text(text) => text.is_empty(),
                Shown::Guid(guid) => guid.is_nil(),
                Shown::Array(elements) => elements.is_empty(),
                _ => false,
            },
            _ => false,
        }
    }
}

pub const DIFFERENCES: &[Difference] = &[
    Difference {
        events: &[],
        field: "",
        kind: Kind::NoRelatedActivity,
        reason: "its XML does not have the related activity of EventPipe's events",
    },
    Difference {
        events: &[],
        field: "",
        kind: Kind::WritesAll(is_same_modulo),
        reason: "it takes unsigned numbers for signed ones",
    },
    Difference {
        events: &[],
        field: "",
        kind: Kind::WritesAll(is_rounded),
        reason: "it writes floating-point numbers of EventSources with three digits behind the point",
    },
];

/// The number is the same in the bits that the field has.
fn is_same_modulo(value: &Shown, text: &str) -> bool {
    let (Some(integer), Some(number)) = (value.integer(), number(text)) else { return false };
    integer.name.is_none() && integer.flags.is_none() && (integer.value - number) % (1 << integer.bits) == 0
}

fn is_rounded(value: &Shown, text: &str) -> bool {
    let Shown::Real(value, _) = value else { return false };
    format!("{value:.3}") == text
}

#[allow(dead_code)]
fn unused(value: &Shown, text: &str) -> bool {
    is_same(value, text)
}
