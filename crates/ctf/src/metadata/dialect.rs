//! CTF metadata dialects, and their detection.

ichnos_model::named_enum! {
    /// CTF metadata dialect, with its command-line name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Dialect: "CTF dialect" {
        /// CTF 1.8: TSDL text.
        Ctf18 = "ctf1.8",
        /// CTF2-PROP-1.0: a JSON array that begins with the string "CTF 2".
        Prop1 = "prop1",
        /// CTF2-PROP-2.0: a JSON array of fragments.
        Prop2 = "prop2",
        /// CTF2-SPEC-2.0 and its release candidates: a JSON text sequence of fragments.
        Spec2 = "spec2",
    }
}

impl Dialect {
    /// Returns the title in texts, for example `CTF 1.8`.
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
