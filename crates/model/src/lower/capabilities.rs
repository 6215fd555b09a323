//! What a format can hold.

use crate::{Role, Scope, StringEncoding};

/// What a format, in one of its dialects, can hold.
///
/// A class that has something else is [lowered](super::LoweredTrace): all that is decided by it is decided
/// once for each class.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// What people call the format and its dialect, for instance `CTF 1.8`.
    pub target: &'static str,
    /// Whether there are fields of bits without a meaning.
    pub bit_arrays: bool,
    /// Whether there are bits with names.
    pub bit_maps: bool,
    /// Whether there are such of which no bit has a name.
    pub empty_bit_maps: bool,
    /// Whether there are booleans.
    pub booleans: bool,
    /// Whether there are integers of variable length (LEB128).
    pub variable_length_integers: bool,
    /// Whether there are bit arrays of variable length.
    pub variable_length_bit_arrays: bool,
    /// Whether there are booleans of variable length.
    pub variable_length_booleans: bool,
    /// Encodings of strings.
    pub encodings: &'static [StringEncoding],
    /// Whether strings and BLOBs can begin within a byte.
    pub sub_byte_strings: bool,
    /// Whether strings and BLOBs can be aligned to more than bytes.
    pub wide_string_alignment: bool,
    /// Whether the order of bits can differ from that of the bytes.
    pub bit_orders: bool,
    /// Whether there are BLOBs; otherwise they are arrays of bytes.
    pub blobs: bool,
    /// Whether there are GUIDs.
    pub guids: bool,
    /// Whether there are fields without bits.
    pub nulls: bool,
    /// Whether there are bits that are not reported.
    pub padding: bool,
    /// Whether there are strings that begin with their own length.
    pub prefixed_strings: bool,
    /// Whether there are unions.
    pub unions: bool,
    /// Whether there are optional fields.
    pub optionals: bool,
    /// What selects the option of a variant.
    pub variants: VariantSelection,
    /// Whether lengths can be signed and locations need not fit all options of variants, as in PROP-1.0.
    pub any_option_locations: bool,
    /// Whether an array can be aligned less than its elements, as in PROP-1.0.
    pub loose_array_alignment: bool,
    /// Whether an array can be aligned more than its elements.
    pub array_alignment: bool,
    /// Whether fields without members and elements can have attributes of their own.
    pub attributes: bool,
    /// Whether integers can have a preferred base other than 10.
    pub display_bases: bool,
    /// Whether names have to be identifiers of C.
    pub identifiers_only: bool,
    /// The names that fields with roles must have in a scope, if roles go by names.
    pub role_name: Option<fn(Role, Scope) -> Option<&'static str>>,
    /// Whether a data stream can have other clocks than its default clock.
    pub several_clocks: bool,
    /// Whether there are namespaces and unique identifiers of names.
    pub namespaces: bool,
    /// Whether event record classes have log levels and `model.emf.uri` other than as attributes.
    pub log_levels: bool,
    /// Whether clocks can count from a named origin.
    pub named_origins: bool,
    /// Whether UUIDs of UUID roles are BLOBs; otherwise they are arrays of bytes.
    pub uuid_blobs: bool,
    /// Whether there are packets, whose headers and contexts are fields.
    pub packets: bool,
}

/// What selects the option of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantSelection {
    /// There are no variants.
    None,
    /// The name of the option is a label of an enumeration.
    Labels,
    /// Values of an integer.
    Ranges,
}

impl Capabilities {
    /// Everything that there is in the model.
    #[must_use]
    pub const fn all(target: &'static str) -> Self {
        use StringEncoding::{Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le};
        Self {
            target,
            bit_arrays: true,
            bit_maps: true,
            empty_bit_maps: true,
            booleans: true,
            variable_length_integers: true,
            variable_length_bit_arrays: true,
            variable_length_booleans: true,
            encodings: &[Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le],
            sub_byte_strings: true,
            wide_string_alignment: true,
            bit_orders: true,
            blobs: true,
            guids: true,
            nulls: true,
            padding: true,
            prefixed_strings: true,
            unions: true,
            optionals: true,
            variants: VariantSelection::Ranges,
            any_option_locations: true,
            loose_array_alignment: true,
            array_alignment: true,
            attributes: true,
            display_bases: true,
            identifiers_only: false,
            role_name: None,
            several_clocks: true,
            namespaces: true,
            log_levels: true,
            named_origins: true,
            uuid_blobs: true,
            packets: true,
        }
    }
}
