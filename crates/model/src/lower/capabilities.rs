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
    /// Whether the length of a field in an optional can be said before the optional.
    pub lengths_before_optionals: bool,
    /// True if a field within an array or an optional can need one that is not in the same element or optional.
    pub outer_locations: bool,
    /// True if packet headers and event record headers can have fields without a role that no other field needs.
    pub user_header_fields: bool,
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
    /// Whether values of an integer can have names that it cannot have.
    pub mappings_beyond_bits: bool,
    /// Whether an integer can have mappings of which there is none.
    pub empty_mappings: bool,
    /// Whether integers can count from a known date.
    pub wall_clocks: bool,
    /// Whether names have to be identifiers of C.
    pub identifiers_only: bool,
    /// Whether a name cannot be used, though it is an identifier.
    pub is_reserved: fn(&str) -> bool,
    /// The names that fields with roles must have in a scope, if roles go by names.
    pub role_name: Option<fn(Role, Scope) -> Option<&'static str>>,
    /// Whether a data stream can have other clocks than its default clock.
    pub several_clocks: bool,
    /// Whether traces have names.
    pub trace_names: bool,
    /// What the environment can have.
    pub environment: Environment,
    /// Whether data stream classes have names.
    pub stream_names: bool,
    /// Whether names of data stream classes and event record classes have namespaces.
    pub namespaces: bool,
    /// Whether there are unique identifiers beside names.
    pub uids: bool,
    /// Whether clocks have namespaces, unique identifiers and an accuracy.
    pub clock_identities: bool,
    /// Whether clocks have UUIDs.
    pub clock_uuids: bool,
    /// Whether clocks have descriptions.
    pub clock_descriptions: bool,
    /// Whether there are call sites.
    pub call_sites: bool,
    /// Whether fields outside of packet contexts and event record headers can bring clocks up to date.
    pub timestamps_anywhere: bool,
    /// Whether a data stream can have a clock that no field brings up to date.
    pub clocks_without_timestamps: bool,
    /// Whether clocks can count from a named origin.
    pub named_origins: bool,
    /// Whether UUIDs of UUID roles are BLOBs; otherwise they are arrays of bytes.
    pub uuid_blobs: bool,
    /// True if event record classes can be without a name.
    pub unnamed_events: bool,
    /// True if fields can need others that are in the specific context.
    pub context_dependencies: bool,
    /// Most bits of ids of event record classes that readers tell apart.
    pub class_id_bits: u32,
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

/// What the environment of a trace can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// There is none.
    None,
    /// Strings, and integers from -2^63 to 2^64 - 1, under names that are identifiers.
    Simple,
    /// Strings and integers.
    Scalars,
    /// Everything.
    Any,
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
            lengths_before_optionals: true,
            outer_locations: true,
            user_header_fields: true,
            variants: VariantSelection::Ranges,
            any_option_locations: true,
            loose_array_alignment: true,
            array_alignment: true,
            attributes: true,
            display_bases: true,
            mappings_beyond_bits: true,
            empty_mappings: true,
            wall_clocks: true,
            identifiers_only: false,
            is_reserved: never,
            role_name: None,
            several_clocks: true,
            trace_names: true,
            environment: Environment::Any,
            stream_names: true,
            namespaces: true,
            uids: true,
            clock_identities: true,
            clock_uuids: true,
            clock_descriptions: true,
            call_sites: true,
            timestamps_anywhere: true,
            clocks_without_timestamps: true,
            named_origins: true,
            uuid_blobs: true,
            unnamed_events: true,
            context_dependencies: true,
            class_id_bits: 128,
            packets: true,
        }
    }
}

const fn never(_: &str) -> bool {
    false
}
