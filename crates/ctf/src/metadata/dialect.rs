//! The dialects of CTF metadata, and how to distinguish them.

use std::fmt;
use std::str::FromStr;

/// A dialect of CTF metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// CTF 1.8: TSDL text.
    Ctf18,
    /// CTF2-PROP-1.0: a JSON array that begins with the string "CTF 2".
    Prop1,
    /// CTF2-PROP-2.0: a JSON array of fragments.
    Prop2,
    /// CTF2-SPEC-2.0 and its release candidates: a JSON text sequence of fragments.
    Spec2,
}

impl Dialect {
    /// All dialects, from the oldest to the newest.
    pub const ALL: [Self; 4] = [Self::Ctf18, Self::Prop1, Self::Prop2, Self::Spec2];

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ctf18 => "ctf1.8",
            Self::Prop1 => "prop1",
            Self::Prop2 => "prop2",
            Self::Spec2 => "spec2",
        }
    }

    /// Name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Ctf18 => "CTF 1.8",
            Self::Prop1 => "CTF 2 (PROP-1.0)",
            Self::Prop2 => "CTF 2 (PROP-2.0)",
            Self::Spec2 => "CTF 2 (SPEC-2.0)",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| format!("`{name}` is not a CTF dialect: expected ctf1.8, prop1, prop2 or spec2"))
    }
}
