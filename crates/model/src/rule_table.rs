//! Rule tables for formats.

/// Declares an enum of rules that data can break.
///
/// A row is a variant with three values: its name in lists and filters; `true` if breaking the rule makes data
/// unreadable or unreliable; and the remedy for the owner of the trace, as a phrase. An enum without data is also a
/// [`named_enum!`](crate::named_enum!).
///
/// ```
/// ichnos_model::rules! {
///     /// Rule of a format.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub enum Rule {
///         /// A file has a header.
///         Header: "header", true, "copy the file again";
///         /// Records are sorted by time.
///         Order { time: u64 }: "order", false, "correct the program that wrote the file";
///     }
/// }
///
/// assert_eq!(Rule::Order { time: 3 }.name(), "order");
/// assert!(Rule::Header.broken("expected a header").fatal);
/// ```
#[macro_export]
macro_rules! rules {
    (@effects $vis:vis $Rule:ident $($variant:ident, $fatal:literal, $remedy:expr;)*) => {
        impl $Rule {
            /// Returns `true` if breaking the rule makes data unreadable or unreliable.
            #[must_use]
            $vis const fn is_fatal(&self) -> bool {
                match self { $(Self::$variant { .. } => $fatal,)* }
            }

            /// Reports the rule as broken. `statement` contains the expected and the actual data.
            #[must_use]
            $vis fn broken(&self, statement: impl Into<String>) -> $crate::message::BrokenRule {
                let remedy = match self { $(Self::$variant { .. } => $remedy,)* };
                let (name, fatal) = (self.name(), self.is_fatal());
                $crate::message::BrokenRule { name, statement: statement.into(), remedy, record: None, fatal }
            }
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis enum $Rule:ident {
            $($(#[$about_rule:meta])* $variant:ident: $name:literal, $fatal:literal, $remedy:expr;)*
        }
    ) => {
        $crate::named_enum! {
            $(#[$about])*
            $vis enum $Rule { $($(#[$about_rule])* $variant = $name,)* }
        }

        $crate::rules! { @effects $vis $Rule $($variant, $fatal, $remedy;)* }
    };
    (
        $(#[$about:meta])*
        $vis:vis enum $Rule:ident {
            $(
                $(#[$about_rule:meta])*
                $variant:ident
                $(($($part:ty),*))?
                $({ $($(#[$about_field:meta])* $field:ident: $Field:ty),* $(,)? })?
                : $name:literal, $fatal:literal, $remedy:expr;
            )*
        }
    ) => {
        $(#[$about])*
        $vis enum $Rule {
            $(
                $(#[$about_rule])*
                $variant $(($($part),*))? $({ $($(#[$about_field])* $field: $Field),* })?,
            )*
        }

        impl $Rule {
            /// Returns the rule name, in lower case with `-` between words.
            #[must_use]
            $vis const fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)* }
            }
        }

        $crate::rules! { @effects $vis $Rule $($variant, $fatal, $remedy;)* }
    };
}
