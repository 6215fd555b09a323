//! Enums with named variants.

/// Error: an enum lacks a variant with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {subject} `{name}`: expected one of {}", .known.join(", "))]
pub struct UnknownName {
    /// Enum subject, for example `role`.
    pub subject: &'static str,
    /// The unknown name.
    pub name: String,
    /// All variant names.
    pub known: &'static [&'static str],
}

/// Defines an enum with a name for each variant: `ALL`, `name()`, and the name as `Display`.
///
/// With a subject after the enum name, names can also be parsed: `from_name()`, and `FromStr`, which
/// [reports](crate::named_enum::UnknownName) unknown names.
///
/// ```
/// ichnos_model::named_enum! {
///     /// Side of a road.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Side: "side" {
///         /// On the left.
///         Left = "left",
///         /// On the right.
///         Right = "right",
///     }
/// }
///
/// assert_eq!(Side::ALL.map(Side::name), ["left", "right"]);
/// assert_eq!("left".parse(), Ok(Side::Left));
/// assert_eq!("up".parse::<Side>().unwrap_err().to_string(), "unknown side `up`: expected one of left, right");
/// ```
///
/// An enum with values in its variants is defined outside of the macro. `impl` in place of `enum` adds the names:
///
/// ```
/// #[derive(Clone, Copy)]
/// pub enum Light {
///     Off,
///     On(bool),
/// }
///
/// ichnos_model::named_enum! {
///     pub impl Light {
///         Off = "off",
///         On(false) = "dim",
///         On(true) = "bright",
///     }
/// }
///
/// assert_eq!(Light::On(true).to_string(), "bright");
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$about:meta])*
        $visibility:vis enum $Enum:ident $(: $subject:literal)? {
            $($(#[$about_variant:meta])* $Variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$about])*
        $visibility enum $Enum {
            $($(#[$about_variant])* $Variant,)*
        }

        $crate::named_enum! {
            $visibility impl $Enum $(: $subject)? { $($Variant = $name,)* }
        }
    };
    (
        $visibility:vis impl $Enum:ident: $subject:literal {
            $($Variant:ident $(($($value:tt)+))? = $name:literal,)*
        }
    ) => {
        $crate::named_enum! {
            $visibility impl $Enum { $($Variant $(($($value)+))? = $name,)* }
        }

        impl $Enum {
            /// Returns the variant with this name.
            #[must_use]
            $visibility fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$Variant $(($($value)+))?),)*
                    _ => None,
                }
            }
        }

        impl ::core::str::FromStr for $Enum {
            type Err = $crate::named_enum::UnknownName;

            fn from_str(name: &str) -> Result<Self, $crate::named_enum::UnknownName> {
                Self::from_name(name).ok_or_else(|| $crate::named_enum::UnknownName {
                    subject: $subject,
                    name: name.into(),
                    known: &[$($name),*],
                })
            }
        }
    };
    (
        $visibility:vis impl $Enum:ident {
            $($Variant:ident $(($($value:tt)+))? = $name:literal,)*
        }
    ) => {
        impl $Enum {
            /// All variants in order.
            // Some enums within a crate need only the names.
            #[allow(dead_code)]
            $visibility const ALL: [Self; [$($name),*].len()] = [$(Self::$Variant $(($($value)+))?),*];

            /// Returns the name.
            #[must_use]
            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant $(($($value)+))? => $name,)*
                }
            }
        }

        impl ::core::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::UnknownName;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Side {
        Left,
        Other(bool),
    }

    named_enum! {
        impl Side: "side" {
            Left = "left",
            Other(false) = "right",
            Other(true) = "middle",
        }
    }

    #[test]
    fn names_lead_back() {
        for side in Side::ALL {
            assert_eq!(side.name().parse(), Ok(side));
            assert_eq!(Side::from_name(&side.to_string()), Some(side));
        }
        assert_eq!(format!("{:>7}", Side::Left), "   left");
        let known = &["left", "right", "middle"];
        assert_eq!("up".parse::<Side>(), Err(UnknownName { subject: "side", name: "up".to_owned(), known }));
    }
}
