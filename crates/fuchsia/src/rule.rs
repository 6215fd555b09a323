//! Named format rules, and error texts.

use core::fmt;

/// Unit for the numbers of a rule in reports.
#[derive(Clone, Copy)]
pub(crate) enum RuleUnit {
    Plain(&'static str),
    AtLeast(&'static str),
    AtMost(&'static str),
    Bits,
    /// Only the found value is reported.
    Found(&'static str),
}

macro_rules! rules {
    ($($variant:ident, $name:literal, $fatal:literal, $unit:expr, $statement:literal;)*) => {
        /// A format rule.
        ///
        /// Each rule has a stable name for lists and filters: [`Rule::name`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = concat!("`", $name, "`: ", $statement, ".")] $variant,)*
        }

        impl Rule {
            /// All rules, in checking order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name, as lowercase words joined by `-`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the rule text.
            #[must_use]
            pub const fn statement(self) -> &'static str {
                match self { $(Self::$variant => $statement,)* }
            }

            /// Returns `true` if breaking the rule makes the item unreadable. Only a check reports violations of other
            /// rules.
            #[must_use]
            pub const fn is_fatal(self) -> bool {
                match self { $(Self::$variant => $fatal,)* }
            }

            const fn unit(self) -> RuleUnit {
                match self { $(Self::$variant => $unit,)* }
            }
        }
    };
}

pub(crate) use rules;

/// Writes a rule with the expected and found numbers.
pub(crate) fn write_statement(
    f: &mut fmt::Formatter<'_>,
    statement: &str,
    unit: RuleUnit,
    expected: u64,
    found: u64,
) -> fmt::Result {
    write!(f, "{statement}: ")?;
    let space = |unit: &str| if unit.is_empty() { "" } else { " " };
    match unit {
        RuleUnit::Plain(unit) => write!(f, "expected {expected}{}{unit}, found {found}", space(unit)),
        RuleUnit::AtLeast(unit) => write!(f, "expected at least {expected} {unit}, found {found}"),
        RuleUnit::AtMost(unit) => write!(f, "expected at most {expected} {unit}, found {found}"),
        RuleUnit::Bits => write!(f, "expected {expected:#x}, found {found:#x}"),
        RuleUnit::Found(what) => write!(f, "found {what} {found:#x}"),
    }
}
