//! Macro for rule tables.

/// Creates an enum of named rules, each with a property and a text.
macro_rules! rules {
    (
        $(#[$about:meta])*
        $Rules:ident, $(#[$about_property:meta])* $property:ident: $Property:ty;
        $($variant:ident, $name:literal, $value:literal, $statement:literal;)*
    ) => {
        $(#[$about])*
        ///
        /// Each rule has a stable name, for lists and filters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $Rules {
            $(#[doc = concat!("`", $name, "`: ", $statement, " (", stringify!($property), ": ", $value, ").")]
            $variant,)*
        }

        impl $Rules {
            /// All rules.
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

            $(#[$about_property])*
            #[must_use]
            pub const fn $property(self) -> $Property {
                match self { $(Self::$variant => $value,)* }
            }
        }
    };
}

pub(crate) use rules;
