//! Named rules of a format, and the statements of errors.

use core::fmt;

/// Unit of a rule's numbers in reports.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Plain(&'static str),
    AtLeast(&'static str),
    AtMost(&'static str),
    Bits,
    /// No expected value to report.
    Found(&'static str),
}

macro_rules! rules {
    ($($variant:ident, $name:literal, $fatal:literal, $unit:expr, $statement:literal;)*) => {
        /// A rule of the format.
        ///
        /// Each rule has a stable name, for lists and filters: [`Rule::name`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`: ", $statement, ".")] $variant,)*
        }

        impl Rule {
            /// All rules, in the order in which they are checked.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name: lowercase words joined by `-`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the text of the rule.
            #[must_use]
            pub const fn statement(self) -> &'static str {
                match self { $(Self::$variant => $statement,)* }
            }

            /// Returns `true` if breaking the rule makes the item unreadable. Violations of other rules are
            /// only reported by a check.
            #[must_use]
            pub const fn is_fatal(self) -> bool {
                match self { $(Self::$variant => $fatal,)* }
            }

            const fn unit(self) -> Unit {
                match self { $(Self::$variant => $unit,)* }
            }
        }
    };
}

pub(crate) use rules;

/// Writes a rule with the expected and the found number.
pub(crate) fn write_statement(
    f: &mut fmt::Formatter<'_>,
    statement: &str,
    unit: Unit,
    expected: u64,
    found: u64,
) -> fmt::Result {
    write!(f, "{statement}: ")?;
    let space = |unit: &str| if unit.is_empty() { "" } else { " " };
    match unit {
        Unit::Plain(unit) => write!(f, "expected {expected}{}{unit}, found {found}", space(unit)),
        Unit::AtLeast(unit) => write!(f, "expected at least {expected} {unit}, found {found}"),
        Unit::AtMost(unit) => write!(f, "expected at most {expected} {unit}, found {found}"),
        Unit::Bits => write!(f, "expected {expected:#x}, found {found:#x}"),
        Unit::Found(what) => write!(f, "found {what} {found:#x}"),
    }
}
