//! Dialect capabilities.

use ichnos_model::field::StringEncoding;
use ichnos_model::lower::Feature::*;
use ichnos_model::lower::{Capabilities, Environment, Features, RolePlaces};

use crate::metadata::write::attributes::{repeat_class, repeat_event};
use crate::metadata::write::tsdl_name_of_role;
use crate::metadata::{Dialect, tsdl};

/// Returns a dialect's capabilities.
pub(super) const fn capabilities(dialect: Dialect) -> Capabilities {
    let all = Capabilities::all(dialect.title());
    match dialect {
        Dialect::Spec2 => Capabilities { features: SPEC2, environment: Environment::Scalars, ..all },
        Dialect::Prop2 => Capabilities { features: PROP2, encodings: &[StringEncoding::Utf8], ..all },
        Dialect::Prop1 => Capabilities {
            features: PROP1,
            encodings: &[StringEncoding::Utf8],
            role_places: RolePlaces::Paths,
            ..all
        },
        Dialect::Ctf18 => Capabilities {
            features: CTF18,
            // Babeltrace 2 refuses traces with longer integers, and confuses classes whose ids have the same last 32
            // bits.
            integer_bits: 64,
            class_id_bits: 32,
            encodings: &[StringEncoding::Utf8],
            role_places: RolePlaces::Names { name: role_name, is_direct: is_direct_role },
            environment: Environment::Simple,
            is_reserved,
            repeats_event: repeat_event,
            repeats_field: repeat_class,
            ..all
        },
    }
}

/// Features common to all CTF 2 dialects.
const CTF2: Features = Features::NONE.with(&[
    BitArrays,
    Booleans,
    VariableLengthIntegers,
    MappingsBeyondBits,
    LocationsThroughVariants,
    DistantSelectors,
    ContextDependencies,
    Attributes,
    AnyNames,
    StreamNames,
    UnnamedEvents,
    SeveralUpdates,
]);

const SPEC2: Features = CTF2.with(&[
    BitMaps,
    BitOrders,
    EmptyMappings,
    Blobs,
    Optionals,
    RangeSelectors,
    ArrayAlignments,
    OuterLocations,
    Identities,
    SeveralStartTimes,
    ClockDescriptions,
]);

const PROP2: Features = CTF2.with(&[
    VariableLengthBitArrays,
    Blobs,
    Optionals,
    RangeSelectors,
    AuxStreams,
    SeveralStartTimes,
    ClockUuids,
    ClockDescriptions,
]);

const PROP1: Features = CTF2.with(&[
    VariableLengthBitArrays,
    VariableLengthBooleans,
    EmptyMappings,
    UnusedNames,
    StringAlignments,
    Nulls,
    Unions,
    VariantAlignments,
    ArrayAlignments,
    LooseArrays,
    AnyRoots,
    OuterLocations,
    AnyOptionLocations,
    UserHeaderFields,
    HeaderCounters,
    TimestampsAnywhere,
    SeveralClocks,
    ClockUuids,
]);

/// CTF 1.8 features that readers support. Babeltrace 2 ignores header fields without a role. It refuses distant selectors,
/// locations through variants, and events without a name. It aborts if a field depends on a specific context field. It
/// assumes that a data stream's clock is the first clock of its fields.
const CTF18: Features = Features::NONE.with(&[
    OuterLocations,
    CallSites,
    SeveralStartTimes,
    TimestampsAnywhere,
    ClockUuids,
    ClockDescriptions,
]);

fn is_direct_role(role: ichnos_model::class::Role, scope: ichnos_model::Scope) -> bool {
    tsdl_name_of_role(role, scope).is_some_and(|(_, is_direct)| is_direct)
}

fn role_name(role: ichnos_model::class::Role, scope: ichnos_model::Scope) -> Option<&'static str> {
    tsdl_name_of_role(role, scope).map(|(name, _)| name)
}

/// Returns `true` for TSDL and C keywords.
fn is_reserved(word: &str) -> bool {
    tsdl::is_reserved(word) || tsdl::is_c_type_word(word)
}
