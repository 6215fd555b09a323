//! Output format capabilities.

use crate::class::{EventRecordClass, FieldClass, Role, Scope, Value};
use crate::field::StringEncoding;

/// Feature that a format has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Bit arrays.
    BitArrays,
    /// Bit maps: bits with names.
    BitMaps,
    /// Bit maps without names.
    EmptyBitMaps,
    /// Bit orders that differ from the byte order.
    BitOrders,
    /// Booleans.
    Booleans,
    /// Variable-length integers (LEB128).
    VariableLengthIntegers,
    /// Variable-length bit arrays.
    VariableLengthBitArrays,
    /// Variable-length booleans.
    VariableLengthBooleans,
    /// Names for values that an integer cannot have.
    MappingsBeyondBits,
    /// Integers with an empty mapping table.
    EmptyMappings,
    /// Names for mappings and variant options without values.
    UnusedNames,
    /// Integers that count from a known date.
    WallClocks,
    /// Strings, BLOBs and variable-length fields aligned to less or more than 8 bits.
    StringAlignments,
    /// Strings that start with their own length.
    PrefixedStrings,
    /// BLOBs, also for UUIDs. Otherwise they are byte arrays.
    Blobs,
    /// GUIDs.
    Guids,
    /// Fields without bits.
    Nulls,
    /// Bits that are not reported.
    Padding,
    /// Unions.
    Unions,
    /// Optional fields.
    Optionals,
    /// Variants with an integer selector. Otherwise, an enumeration label selects the option with the same name.
    RangeSelectors,
    /// Variant alignments.
    VariantAlignments,
    /// Arrays with a larger alignment than their elements.
    ArrayAlignments,
    /// Arrays with a smaller alignment than their elements, as in PROP-1.0.
    LooseArrays,
    /// Root fields that are not structures.
    AnyRoots,
    /// Fields in an array element or an optional that depend on a field outside of it.
    OuterLocations,
    /// Fields in variant options that a field outside depends on, if all options have such a field.
    LocationsThroughVariants,
    /// Variant selectors that are not members of a structure around the variant.
    DistantSelectors,
    /// Signed lengths, and locations that need not fit all variant options, as in PROP-1.0.
    AnyOptionLocations,
    /// Fields that depend on a field in the specific context, and fields of the specific context that depend on another
    /// field.
    ContextDependencies,
    /// Attributes of traces, classes and members.
    Attributes,
    /// Auxiliary streams: trace attributes outside the metadata.
    AuxStreams,
    /// Names that are not C identifiers.
    AnyNames,
    /// Unique identifiers of traces, classes and clocks. They include trace names, clock accuracies and named clock
    /// origins.
    Identities,
    /// Data stream class names, and namespaces of data stream and event record classes.
    StreamNames,
    /// Event record classes without a name.
    UnnamedEvents,
    /// Call sites.
    CallSites,
    /// Header fields without a role that no other field depends on.
    UserHeaderFields,
    /// Discarded event counters in packet headers.
    HeaderCounters,
    /// Several start times in a packet, of which the last counts. If the clock continues from packet to packet, an
    /// earlier value would look as if the clock had wrapped.
    SeveralStartTimes,
    /// Clock updates outside of packet contexts and event record headers.
    TimestampsAnywhere,
    /// Data streams with clocks in addition to their default clock.
    SeveralClocks,
    /// Fields that update several clocks.
    SeveralUpdates,
    /// Clock UUIDs in addition to another unique identifier.
    ClockUuids,
    /// Clock descriptions.
    ClockDescriptions,
}

impl Feature {
    const fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// Set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u64);

impl Features {
    /// All features of the model.
    pub const ALL: Self = Self(u64::MAX);

    /// Empty set.
    pub const NONE: Self = Self(0);

    /// Adds features.
    #[must_use]
    pub const fn with(mut self, features: &[Feature]) -> Self {
        let mut index = 0;
        // Constants cannot use iterators.
        while index < features.len() {
            self.0 |= features[index].bit();
            index += 1;
        }
        self
    }

    /// Removes features.
    #[must_use]
    pub const fn without(self, features: &[Feature]) -> Self {
        Self(self.0 & !Self::NONE.with(features).0)
    }

    /// Returns `true` if `feature` is in the set.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }
}

/// Capabilities of a format in one dialect.
///
/// Classes that exceed the capabilities are [lowered](super::LoweredTrace). Every decision is made once for each class.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Name of the format and its dialect, for example `CTF 1.8`.
    pub target: &'static str,
    /// Supported features.
    pub features: Features,
    /// Maximum number of bits in fixed-length integers.
    pub integer_bits: u64,
    /// Number of event record class id bits that readers distinguish.
    pub class_id_bits: u32,
    /// String encodings.
    pub encodings: &'static [StringEncoding],
    /// Allowed places for fields with roles.
    pub role_places: RolePlaces,
    /// Allowed environment values.
    pub environment: Environment,
    /// Returns `true` for an identifier that cannot be used as a name.
    pub is_reserved: fn(&str) -> bool,
    /// Returns `true` for an event record class attribute, with its namespace, that only repeats properties which the
    /// format also stores.
    pub repeats_event: fn(&EventRecordClass, &(String, Value)) -> bool,
    /// Returns `true` for a field class attribute that only repeats such properties.
    pub repeats_field: fn(&FieldClass, &(String, Value)) -> bool,
}

/// Allowed places for fields with roles.
#[derive(Clone, Copy, Debug)]
pub enum RolePlaces {
    /// Any place in the scope.
    Any,
    /// Any place with a path of names that passes through no array and no optional.
    Paths,
    /// Members named after the role.
    Names {
        /// Returns the name of a role in a scope.
        name: fn(Role, Scope) -> Option<&'static str>,
        /// Returns `true` if only members of the root field can have a role.
        is_direct: fn(Role, Scope) -> bool,
    },
}

/// Allowed environment values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Strings, and integers from -2^63 to 2^64 - 1. Names must be identifiers.
    Simple,
    /// Strings and integers.
    Scalars,
    /// Any values.
    Any,
}

impl Capabilities {
    /// Returns the required name for fields with a role in a scope, if roles depend on names.
    #[must_use]
    pub fn role_name(&self, role: Role, scope: Scope) -> Option<&'static str> {
        match self.role_places {
            RolePlaces::Names { name, .. } => name(role, scope),
            _ => None,
        }
    }

    /// Creates capabilities with all features of the model.
    #[must_use]
    pub const fn all(target: &'static str) -> Self {
        use StringEncoding::{Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le};
        Self {
            target,
            features: Features::ALL,
            integer_bits: u64::MAX,
            class_id_bits: 128,
            encodings: &[Utf8, Utf16Be, Utf16Le, Utf32Be, Utf32Le],
            role_places: RolePlaces::Any,
            environment: Environment::Any,
            is_reserved: never,
            repeats_event: |_, _| false,
            repeats_field: |_, _| false,
        }
    }

    /// Returns the capabilities without some features.
    #[must_use]
    pub const fn without(self, features: &[Feature]) -> Self {
        Self { features: self.features.without(features), ..self }
    }

    /// Returns `true` if the format has a feature.
    #[must_use]
    pub const fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }
}

const fn never(_: &str) -> bool {
    false
}
