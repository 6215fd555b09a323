//! Errors in provider texts.

use std::fmt;

/// Error in the text of a provider, or unknown profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The name is empty.
    #[error("provider without name")]
    NoName,
    /// The name is a GUID. The protocol has only names.
    #[error("provider `{name}` is a GUID: use the provider name")]
    Guid {
        /// The GUID.
        name: String,
    },
    /// Keywords are neither hexadecimal nor keyword names.
    #[error(
        "provider `{}`: keywords `{}` are not hexadecimal{}",
        name.escape_debug(), keywords.escape_debug(), OrNames(*has_names)
    )]
    Keywords {
        /// Provider name.
        name: String,
        /// Text of the keywords.
        keywords: String,
        /// The provider has keyword names.
        has_names: bool,
    },
    /// The level is unknown.
    #[error("unknown level `{}`", level.escape_debug())]
    Level {
        /// Text of the level.
        level: String,
    },
    /// An argument is not `key=value`.
    #[error("provider `{}`: argument `{}` is not `key=value`", name.escape_debug(), argument.escape_debug())]
    Argument {
        /// Provider name.
        name: String,
        /// Text of the argument.
        argument: String,
    },
    /// A quote is not closed.
    #[error("provider `{}`: missing quote `\"`", name.escape_debug())]
    Quote {
        /// Provider name.
        name: String,
    },
    /// A backslash is followed by an unknown letter.
    #[error("provider `{}`: unknown escape sequence `\\{}`", name.escape_debug(), letter.escape_debug())]
    Escape {
        /// Provider name.
        name: String,
        /// Letter after the backslash.
        letter: String,
    },
    /// An argument has two values.
    #[error("provider `{}`: two values for the argument `{}`", name.escape_debug(), argument.escape_debug())]
    Values {
        /// Provider name.
        name: String,
        /// Argument name.
        argument: String,
    },
    /// The profile does not exist.
    #[error("unknown profile `{}`", name.escape_debug())]
    Profile {
        /// Profile name.
        name: String,
    },
}

struct OrNames(bool);

impl fmt::Display for OrNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0 { ", and not keyword names like `gc+exception`" } else { "" })
    }
}
