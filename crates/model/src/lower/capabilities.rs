//! Capabilities of output formats.

use crate::{EventRecordClass, FieldClass, Role, Scope, StringEncoding, Value};

/// The capabilities of a format in one of its dialects.
///
/// A boolean field is `true` if the format supports the feature. Classes that exceed the capabilities are [lowered](super::LoweredTrace): every decision is made once for each class.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Name of the format and its dialect, for instance `CTF 1.8`.
    pub target: &'static str,
    /// Bit arrays.
    pub bit_arrays: bool,
    /// Bit maps, bits with names.
    pub bit_maps: bool,
    /// Bit maps without any name.
    pub empty_bit_maps: bool,
    /// Booleans.
    pub booleans: bool,
    /// Maximum number of bits of integers of fixed length.
    pub integer_bits: u64,
    /// Variable-length integers (LEB128).
    pub variable_length_integers: bool,
    /// Variable-length bit arrays.
    pub variable_length_bit_arrays: bool,
    /// Variable-length booleans.
    pub variable_length_booleans: bool,
    /// Encodings of strings.
    pub encodings: &'static [StringEncoding],
    /// Strings and BLOBs that begin within a byte.
    pub sub_byte_strings: bool,
    /// Strings and BLOBs aligned to more than bytes.
    pub wide_string_alignment: bool,
    /// Bit order that differs from the byte order.
    pub bit_orders: bool,
    /// BLOBs; otherwise they are arrays of bytes.
    pub blobs: bool,
    /// GUIDs.
    pub guids: bool,
    /// Fields without bits.
    pub nulls: bool,
    /// Bits that are not reported.
    pub padding: bool,
    /// Strings that begin with their own length.
    pub prefixed_strings: bool,
    /// Unions.
    pub unions: bool,
    /// Optional fields.
    pub optionals: bool,
    /// Optionals whose inner field has its length before the optional.
    pub lengths_before_optionals: bool,
    /// Fields within an array or an optional that need one outside of the same element or optional.
    pub outer_locations: bool,
    /// Fields within an option of a variant that fields outside of it need, if all options have them.
    pub locations_through_variants: bool,
    /// Selectors of variants that are no members of a structure around the variant.
    pub distant_selectors: bool,
    /// Fields in packet headers and event record headers that have no role and that no other field needs.
    pub user_header_fields: bool,
    /// Selection of a variant's option.
    pub variants: VariantSelection,
    /// Alignments of variants.
    pub variant_alignment: bool,
    /// Root fields that are no structures.
    pub any_roots: bool,
    /// Signed lengths, and locations that need not fit all options of variants, as in PROP-1.0.
    pub any_option_locations: bool,
    /// Arrays with a smaller alignment than their elements, as in PROP-1.0.
    pub loose_array_alignment: bool,
    /// Arrays with a larger alignment than their elements.
    pub array_alignment: bool,
    /// Attributes of fields without members and elements.
    pub attributes: bool,
    /// Auxiliary streams, which contain attributes of the trace apart from its metadata.
    pub aux_streams: bool,
    /// Returns `true` for an attribute of an event record class, with its namespace, that only repeats what the format
    /// writes as properties of the class.
    pub repeats_event: fn(&EventRecordClass, &(String, Value)) -> bool,
    /// The same of a field class.
    pub repeats_field: fn(&FieldClass, &(String, Value)) -> bool,
    /// Preferred bases of integers other than 10.
    pub display_bases: bool,
    /// Names of values that the integer cannot have.
    pub mappings_beyond_bits: bool,
    /// Empty mappings of integers.
    pub empty_mappings: bool,
    /// Names of mappings and options of variants without values.
    pub unused_names: bool,
    /// Integers that count from a known date.
    pub wall_clocks: bool,
    /// `true` if names have to be identifiers of C.
    pub identifiers_only: bool,
    /// Returns `true` for an identifier that cannot be used as a name.
    pub is_reserved: fn(&str) -> bool,
    /// Places of fields with roles.
    pub role_places: RolePlaces,
    /// Counters of discarded event records in packet headers.
    pub header_counters: bool,
    /// Several begin times of a packet, of which the last one counts: not if the clock continues from packet to packet,
    /// and an earlier value looks as if it had wrapped.
    pub several_begins: bool,
    /// Data streams with other clocks than their default clock.
    pub several_clocks: bool,
    /// Fields that update several clocks.
    pub several_updates: bool,
    /// Names of traces.
    pub trace_names: bool,
    /// Content of the environment.
    pub environment: Environment,
    /// Names of data stream classes.
    pub stream_names: bool,
    /// Namespaces of the names of data stream classes and event record classes.
    pub namespaces: bool,
    /// Unique identifiers beside names.
    pub uids: bool,
    /// Namespaces, unique identifiers and accuracies of clocks.
    pub clock_identities: bool,
    /// UUIDs of clocks.
    pub clock_uuids: bool,
    /// Descriptions of clocks.
    pub clock_descriptions: bool,
    /// Call sites.
    pub call_sites: bool,
    /// Fields outside of packet contexts and event record headers that update clocks.
    pub timestamps_anywhere: bool,
    /// Data streams with a clock that no field updates.
    pub clocks_without_timestamps: bool,
    /// Named origins of clocks.
    pub named_origins: bool,
    /// BLOBs for UUID roles; otherwise arrays of bytes.
    pub uuid_blobs: bool,
    /// Event record classes without a name.
    pub unnamed_events: bool,
    /// Fields that need others in the specific context.
    pub context_dependencies: bool,
    /// Number of bits of event record class ids that readers distinguish.
    pub class_id_bits: u32,
    /// Packets, whose headers and contexts are fields.
    pub packets: bool,
}

/// Selection of a variant's option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantSelection {
    /// No variants.
    None,
    /// Enumeration labels that are the names of the options.
    Labels,
    /// Values of an integer.
    Ranges,
}

/// Places of fields with roles.
#[derive(Clone, Copy, Debug)]
pub enum RolePlaces {
    /// Any place of the scope.
    Any,
    /// Any place to which a path of names leads that passes no array and no optional.
    Paths,
    /// Members with the name of the role.
    Names {
        /// Returns the name of a role in a scope.
        name: fn(Role, Scope) -> Option<&'static str>,
        /// Returns `true` if only members of the root field can have a role.
        is_direct: fn(Role, Scope) -> bool,
    },
}

/// Content of a trace's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Strings, and integers from -2^63 to 2^64 - 1, under names that are identifiers.
    Simple,
    /// Strings and integers.
    Scalars,
    /// Values of any kind.
    Any,
}

impl Capabilities {
    /// Returns the required name of fields with a role in a scope, if roles depend on names.
    #[must_use]
    pub fn role_name(&self, role: Role, scope: Scope) -> Option<&'static str> {
        match self.role_places {
            RolePlaces::Names { name, .. } => name(role, scope),
            _ => None,
        }
    }

    /// Returns all capabilities of the model.
    #[must_use]
    pub const fn all(target: &'static str) -> Self {
        use StringEncoding::{Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le};
        Self {
            target,
            bit_arrays: true,
            bit_maps: true,
            empty_bit_maps: true,
            booleans: true,
            integer_bits: u64::MAX,
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
            locations_through_variants: true,
            distant_selectors: true,
            user_header_fields: true,
            variants: VariantSelection::Ranges,
            variant_alignment: true,
            any_roots: true,
            any_option_locations: true,
            loose_array_alignment: true,
            array_alignment: true,
            attributes: true,
            aux_streams: true,
            repeats_event: |_, _| false,
            repeats_field: |_, _| false,
            display_bases: true,
            mappings_beyond_bits: true,
            empty_mappings: true,
            unused_names: true,
            wall_clocks: true,
            identifiers_only: false,
            is_reserved: never,
            role_places: RolePlaces::Any,
            header_counters: true,
            several_begins: true,
            several_clocks: true,
            several_updates: true,
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
