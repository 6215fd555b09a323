//! Capabilities of the dialects.

use ichnos_model::StringEncoding;
use ichnos_model::lower::{Capabilities, Environment, RolePlaces, VariantSelection};

use crate::metadata::write::attributes::{repeat_class, repeat_event};
use crate::metadata::write::tsdl_name_of_role;
use crate::metadata::{Dialect, tsdl};

/// Returns the capabilities of a dialect.
pub(super) const fn capabilities(dialect: Dialect) -> Capabilities {
    let none = Capabilities {
        guids: false,
        padding: false,
        prefixed_strings: false,
        wall_clocks: false,
        packets: true,
        aux_streams: matches!(dialect, Dialect::Prop2),
        ..Capabilities::all(dialect.title())
    };
    match dialect {
        Dialect::Spec2 => Capabilities {
            variable_length_bit_arrays: false,
            variable_length_booleans: false,
            sub_byte_strings: false,
            wide_string_alignment: false,
            nulls: false,
            unused_names: false,
            unions: false,
            variant_alignment: false,
            any_roots: false,
            any_option_locations: false,
            loose_array_alignment: false,
            several_clocks: false,
            environment: Environment::Scalars,
            clock_uuids: false,
            call_sites: false,
            timestamps_anywhere: false,
            empty_bit_maps: false,
            user_header_fields: false,
            header_counters: false,
            ..none
        },
        Dialect::Prop2 => Capabilities {
            bit_maps: false,
            empty_mappings: false,
            empty_bit_maps: false,
            bit_orders: false,
            variable_length_booleans: false,
            encodings: &[StringEncoding::Utf8],
            sub_byte_strings: false,
            wide_string_alignment: false,
            nulls: false,
            unused_names: false,
            unions: false,
            lengths_before_optionals: false,
            outer_locations: false,
            user_header_fields: false,
            header_counters: false,
            variant_alignment: false,
            any_roots: false,
            any_option_locations: false,
            loose_array_alignment: false,
            array_alignment: false,
            several_clocks: false,
            trace_names: false,
            uids: false,
            clock_identities: false,
            call_sites: false,
            timestamps_anywhere: false,
            named_origins: false,
            ..none
        },
        Dialect::Prop1 => Capabilities {
            bit_maps: false,
            empty_bit_maps: false,
            bit_orders: false,
            encodings: &[StringEncoding::Utf8],
            blobs: false,
            optionals: false,
            role_places: RolePlaces::Paths,
            several_begins: false,
            variants: VariantSelection::Labels,
            trace_names: false,
            uids: false,
            clock_identities: false,
            clock_descriptions: false,
            call_sites: false,
            clocks_without_timestamps: false,
            named_origins: false,
            uuid_blobs: false,
            ..none
        },
        Dialect::Ctf18 => Capabilities {
            bit_arrays: false,
            bit_maps: false,
            empty_mappings: false,
            mappings_beyond_bits: false,
            empty_bit_maps: false,
            booleans: false,
            // Babeltrace 2 refuses traces with longer ones.
            integer_bits: 64,
            bit_orders: false,
            variable_length_integers: false,
            variable_length_bit_arrays: false,
            variable_length_booleans: false,
            encodings: &[StringEncoding::Utf8],
            sub_byte_strings: false,
            wide_string_alignment: false,
            blobs: false,
            nulls: false,
            unused_names: false,
            unions: false,
            optionals: false,
            variants: VariantSelection::Labels,
            variant_alignment: false,
            any_roots: false,
            any_option_locations: false,
            loose_array_alignment: false,
            array_alignment: false,
            attributes: false,
            repeats_event: repeat_event,
            repeats_field: repeat_class,
            // Babeltrace 2 ignores such fields, and refuses these locations.
            user_header_fields: false,
            header_counters: false,
            locations_through_variants: false,
            distant_selectors: false,
            identifiers_only: true,
            is_reserved,
            role_places: RolePlaces::Names { name: role_name, is_direct: is_direct_role },
            // The default clock is that of the first field that has one.
            several_clocks: false,
            several_updates: false,
            trace_names: false,
            environment: Environment::Simple,
            stream_names: false,
            namespaces: false,
            uids: false,
            clock_identities: false,
            clocks_without_timestamps: false,
            named_origins: false,
            uuid_blobs: false,
            // Babeltrace 2 refuses events without a name. It aborts if a field depends on one in the specific
            // context, and confuses classes whose ids have the same last 32 bits.
            unnamed_events: false,
            context_dependencies: false,
            class_id_bits: 32,
            ..none
        },
    }
}

fn is_direct_role(role: ichnos_model::Role, scope: ichnos_model::Scope) -> bool {
    tsdl_name_of_role(role, scope).is_some_and(|(_, is_direct)| is_direct)
}

fn role_name(role: ichnos_model::Role, scope: ichnos_model::Scope) -> Option<&'static str> {
    tsdl_name_of_role(role, scope).map(|(name, _)| name)
}

/// Returns `true` if a word is a keyword of TSDL or of C.
fn is_reserved(word: &str) -> bool {
    tsdl::is_reserved(word) || tsdl::is_c_type_word(word)
}
