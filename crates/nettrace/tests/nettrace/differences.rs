//! Known differences between the reference's output and ours.

use crate::comparison::{OwnEvent, number};
use crate::support::Shown;

/// Fields by name.
pub type Fields = Vec<(String, Shown)>;

/// Known difference.
pub struct Difference {
    /// Names of the affected events. Empty for all events.
    pub events: &'static [&'static str],
    /// Our name of the field. For values that the reference computes, its name.
    pub field: &'static str,
    pub kind: Kind,
    pub reason: &'static str,
    /// `true` if only TraceEvent itself shows the difference, and not its stored output.
    pub is_live: bool,
}

/// Kind of difference.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The reference omits the field.
    Drops,
    /// The reference omits the field if it is zero or empty.
    DropsEmpty,
    /// The reference gives the field another name.
    Named(&'static str),
    /// The reference formats the value differently.
    Writes(fn(&Shown, &str) -> bool),
    /// Like `Writes`, depending on other fields of the event.
    WritesWith(fn(&[(String, Shown)], &str) -> bool),
    /// Like `Writes`, for fields with any name.
    WritesAll(fn(&Shown, &str) -> bool),
    /// The reference computes an attribute from other fields.
    Computes(fn(&[(String, Shown)], &str) -> bool),
    /// The reference writes other fields instead of this field.
    Decodes(fn(&OwnEvent) -> Option<Fields>),
    /// The reference omits the related activity.
    NoRelatedActivity,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Drops => "drops",
            Self::DropsEmpty => "drops empty",
            Self::Named(other) => return write!(f, "names {other}"),
            Self::Writes(_) | Self::WritesWith(_) | Self::WritesAll(_) => "writes otherwise",
            Self::Computes(_) => "computes",
            Self::Decodes(_) => "decodes",
            Self::NoRelatedActivity => "drops related activity",
        })
    }
}

impl Kind {
    /// Returns `true` if this explains a missing field with this value.
    pub fn drops(&self, value: &Shown) -> bool {
        match self {
            Self::Drops => true,
            Self::DropsEmpty => match value {
                Shown::Integer(integer) => integer.value == 0,
                Shown::Text(text) => text.is_empty(),
                Shown::Guid(guid) => guid.is_nil(),
                Shown::Array(elements) => elements.is_empty(),
                _ => false,
            },
            _ => false,
        }
    }
}

const fn difference(
    events: &'static [&'static str],
    field: &'static str,
    kind: Kind,
    reason: &'static str,
) -> Difference {
    Difference { events, field, kind, reason, is_live: false }
}

const fn live(
    events: &'static [&'static str],
    field: &'static str,
    kind: Kind,
    reason: &'static str,
) -> Difference {
    Difference { events, field, kind, reason, is_live: true }
}

const ALL: &[&str] = &[];
const METHODS: &[&str] = &["MethodLoadVerbose", "MethodUnloadVerbose", "MethodDCEndVerbose"];
const MAPS: &[&str] = &["MethodILToNativeMap", "MethodDCEndILToNativeMap"];
const MODULES: &[&str] = &["ModuleLoad", "ModuleUnload", "ModuleDCEnd"];
const DOMAIN_MODULES: &[&str] =
    &["ModuleLoad", "ModuleUnload", "ModuleDCEnd", "DomainModuleLoad", "DomainModuleDCEnd"];
const PER_HEAP: &[&str] = &["GCPerHeapHistory"];
const MACHINE: &[&str] = &["ExistingProcess", "ProcessMapping", "ProcessMappingMetadata", "ProcessSymbol"];

pub const DIFFERENCES: &[Difference] = &[
    difference(ALL, "", Kind::NoRelatedActivity, "its XML does not have the related activity"),
    difference(ALL, "", Kind::WritesAll(is_same_modulo), "it takes unsigned numbers for signed ones"),
    difference(ALL, "", Kind::WritesAll(is_rounded), "it rounds numbers of EventSources to three digits"),
    difference(ALL, "", Kind::WritesAll(is_joined), "it writes an array of characters as a text"),
    // Payloads that the provider does not describe.
    difference(&["Blob", "Nested"], "payload", Kind::Drops, "it does not write what is not described"),
    // Methods and modules.
    difference(
        METHODS,
        "OptimizationTier",
        Kind::WritesWith(|fields, text| text == "Unknown" && !is_jitted(fields)),
        "it takes the tier only of methods that were compiled at run time",
    ),
    difference(METHODS, "MethodExtent", Kind::DropsEmpty, "it does not write the upper bits of MethodFlags"),
    difference(METHODS, "ReJITID", Kind::Computes(is_zero), "0 before version 2"),
    difference(MAPS, "ILVersionID", Kind::Drops, "it does not know this field of version 1"),
    difference(DOMAIN_MODULES, "Reserved1", Kind::Drops, "it does not write fields without a meaning"),
    difference(MODULES, "ClrInstanceID", Kind::Drops, "its writer leaves it out"),
    difference(MODULES, "ManagedPdbSignature", Kind::DropsEmpty, "there is no such file"),
    difference(MODULES, "ManagedPdbAge", Kind::DropsEmpty, "there is no such file"),
    difference(MODULES, "ManagedPdbBuildPath", Kind::DropsEmpty, "there is no such file"),
    difference(MODULES, "NativePdbSignature", Kind::DropsEmpty, "there is no such file"),
    difference(MODULES, "NativePdbAge", Kind::DropsEmpty, "there is no such file"),
    difference(MODULES, "NativePdbBuildPath", Kind::DropsEmpty, "there is no such file"),
    difference(&["ThreadCreated"], "Flags", Kind::Writes(is_number), "it has no names for these bits"),
    difference(&["BulkType"], "Name", Kind::Named("TypeName"), "its own name"),
    // The garbage collector.
    difference(&["GCMarkWithType"], "Bytes", Kind::Named("Promoted"), "its own name"),
    difference(&["GCMarkWithType"], "Type", Kind::Writes(is_number), "it has no names for these values"),
    difference(
        &["GCDynamicEvent"],
        "CommittedUsage",
        Kind::Decodes(dynamic_data),
        "it writes the fields of the data as those of the event",
    ),
    difference(&["GCDynamicEvent"], "Name", Kind::Drops, "it is part of the name of the event"),
    difference(&["GCDynamicEvent"], "DataSize", Kind::Drops, "it knows what is in the data"),
    difference(&["GCDynamicEvent"], "ClrInstanceID", Kind::Drops, "its writer leaves it out"),
    difference(&["GCGlobalHeapHistory"], "Values", Kind::Named("Times"), "its own name"),
    difference(&["GCGlobalHeapHistory"], "Values", Kind::Writes(are_times), "the one member of each element"),
    difference(&["GCGlobalHeapHistory"], "PauseMode", Kind::Drops, "its writer leaves it out"),
    difference(&["GCGlobalHeapHistory"], "MemoryPressure", Kind::Drops, "its writer leaves it out"),
    difference(&["GCGlobalHeapHistory"], "CondemnReasons0", Kind::Drops, "its writer leaves it out"),
    difference(&["GCGlobalHeapHistory"], "CondemnReasons1", Kind::Drops, "its writer leaves it out"),
    difference(
        &["GCHeapStats"],
        "TotalHeapSize",
        Kind::Computes(|fields, text| is_sum_of(fields, "GenerationSize", text)),
        "the sum of the generations",
    ),
    difference(
        &["GCHeapStats"],
        "TotalPromoted",
        Kind::Computes(|fields, text| is_sum_of(fields, "TotalPromotedSize", text)),
        "the sum of the generations",
    ),
    difference(
        &["GCHeapStats"],
        "Depth",
        Kind::Computes(|fields, text| number(text) == Some(oldest_promoted(fields))),
        "the oldest generation of which something was promoted",
    ),
    difference(&["GCHeapStats"], "GenerationSize4", Kind::Computes(is_zero), "0 before version 2"),
    difference(&["GCHeapStats"], "TotalPromotedSize4", Kind::Computes(is_zero), "0 before version 2"),
    difference(&["ContentionStart"], "LockID", Kind::Computes(is_zero), "0 before version 2"),
    difference(&["ContentionStart"], "AssociatedObjectID", Kind::Computes(is_zero), "0 before version 2"),
    difference(&["ContentionStart"], "LockOwnerThreadID", Kind::Computes(is_zero), "0 before version 2"),
    difference(PER_HEAP, "CompactMechanisms", Kind::Writes(is_mechanism), "its own names"),
    difference(PER_HEAP, "ExpandMechanisms", Kind::Writes(is_mechanism), "its own names"),
    difference(PER_HEAP, "FreeListBefore", Kind::Named("FreeListSpaceBefore"), "its own name"),
    difference(PER_HEAP, "FreeListAfter", Kind::Named("FreeListSpaceAfter"), "its own name"),
    difference(PER_HEAP, "FreeObjBefore", Kind::Named("FreeObjSpaceBefore"), "its own name"),
    difference(PER_HEAP, "FreeObjAfter", Kind::Named("FreeObjSpaceAfter"), "its own name"),
    difference(
        PER_HEAP,
        "Name",
        Kind::Computes(|_, text| ["Gen0", "Gen1", "Gen2", "GenLargeObj", "GenPinObj"].contains(&text)),
        "the generation, which is the place in the array",
    ),
    difference(
        PER_HEAP,
        "ObjSpaceBefore",
        Kind::Computes(|fields, text| number(text) == Some(space_before(fields))),
        "SizeBefore - FreeListBefore - FreeObjBefore",
    ),
    difference(
        PER_HEAP,
        "Fragmentation",
        Kind::Computes(|fields, text| {
            number(text) == Some(of(fields, "FreeListAfter") + of(fields, "FreeObjAfter"))
        }),
        "FreeListAfter + FreeObjAfter",
    ),
    difference(
        PER_HEAP,
        "ObjSizeAfter",
        Kind::Computes(|fields, text| {
            let free = of(fields, "FreeListAfter") + of(fields, "FreeObjAfter");
            number(text) == Some(of(fields, "SizeAfter") - free)
        }),
        "SizeAfter - FreeListAfter - FreeObjAfter",
    ),
    difference(
        PER_HEAP,
        "Out",
        Kind::Computes(|fields, text| number(text) == Some(survived(fields))),
        "PinnedSurv + NonePinnedSurv",
    ),
    difference(
        PER_HEAP,
        "SurvRate",
        Kind::Computes(|fields, text| {
            let rate = (100 * survived(fields)).checked_div(space_before(fields)).unwrap_or(0);
            number(text) == Some(rate)
        }),
        "Out in percent of ObjSpaceBefore",
    ),
    difference(
        &["GCSettingsRundown"],
        "BitSettings",
        Kind::Writes(are_settings),
        "it has names for its bits",
    ),
    // The reference's event table lacks these, so it writes nothing.
    difference(
        &["IncreaseMemoryPressure"],
        "FormattedMessage",
        Kind::Computes(|_, text| text.starts_with("BytesAllocated=")),
        "made of the other fields, as the manifest of Windows says",
    ),
    difference(&["IncreaseMemoryPressure"], "BytesAllocated", Kind::Drops, "it does not know the event"),
    difference(&["IncreaseMemoryPressure"], "ClrInstanceID", Kind::Drops, "it does not know the event"),
    live(&["DecreaseMemoryPressure"], "BytesFreed", Kind::Drops, "it does not know the event"),
    live(&["DecreaseMemoryPressure"], "ClrInstanceID", Kind::Drops, "it does not know the event"),
    live(&["GCAllocationTick"], "ObjectSize", Kind::Computes(is_zero), "0 before version 4"),
    // one-collect describes texts as one byte. The reference believes this, and is wrong.
    difference(
        MACHINE,
        "Name",
        Kind::Writes(is_length),
        "it takes the first byte of the length for the text",
    ),
    difference(
        MACHINE,
        "FileName",
        Kind::Writes(is_length),
        "it takes the first byte of the length for the text",
    ),
    difference(
        MACHINE,
        "SymbolMetadata",
        Kind::Writes(is_length),
        "it takes the first byte of the length for the text",
    ),
    difference(&["ProcessMapping"], "SymbolMetadata", Kind::Drops, "no field that is described"),
    difference(&["ProcessMapping"], "VersionMetadata", Kind::Drops, "no field that is described"),
    difference(MACHINE, "NamespaceName", Kind::Writes(is_misplaced), "it reads on in the text before"),
    difference(MACHINE, "VersionMetadata", Kind::Writes(is_misplaced), "it reads on in the text before"),
    difference(MACHINE, "MetadataId", Kind::Writes(is_misplaced), "it reads on in the text before"),
];

/// Returns `true` if the numbers are equal within the field's bits.
fn is_same_modulo(value: &Shown, text: &str) -> bool {
    let (Some(integer), Some(number)) = (value.integer(), number(text)) else { return false };
    integer.name.is_none() && integer.flags.is_none() && (integer.value - number) % (1 << integer.bits) == 0
}

fn is_rounded(value: &Shown, text: &str) -> bool {
    let Shown::Real(value, _) = value else { return false };
    format!("{value:.3}") == text
}

fn is_joined(value: &Shown, text: &str) -> bool {
    let characters: Option<Vec<&str>> = value.elements().iter().map(Shown::text).collect();
    characters.is_some_and(|characters| !characters.is_empty() && characters.concat() == text)
}

/// Returns `true` if the text is the number, although we know a name for it.
fn is_number(value: &Shown, text: &str) -> bool {
    value.integer().is_some_and(|integer| number(text) == Some(integer.value))
}

fn is_jitted(fields: &[(String, Shown)]) -> bool {
    of(fields, "MethodFlags") & 8 != 0
}

fn is_zero(_: &[(String, Shown)], text: &str) -> bool {
    number(text) == Some(0)
}

fn of(fields: &[(String, Shown)], name: &str) -> i128 {
    let value = fields.iter().find(|field| field.0 == name).and_then(|field| field.1.integer());
    value.unwrap_or_else(|| panic!("{name}: expected a number")).value
}

fn is_sum_of(fields: &[(String, Shown)], prefix: &str, text: &str) -> bool {
    let parts = fields.iter().filter(|field| field.0.starts_with(prefix));
    number(text) == Some(parts.map(|field| field.1.integer().unwrap().value).sum())
}

fn space_before(fields: &[(String, Shown)]) -> i128 {
    of(fields, "SizeBefore") - of(fields, "FreeListBefore") - of(fields, "FreeObjBefore")
}

/// Returns the oldest generation, 0 to 2, with promoted objects.
fn oldest_promoted(fields: &[(String, Shown)]) -> i128 {
    let is_promoted = |generation: &i128| of(fields, &format!("TotalPromotedSize{generation}")) != 0;
    [2, 1].into_iter().find(is_promoted).unwrap_or(0)
}

fn survived(fields: &[(String, Shown)]) -> i128 {
    of(fields, "PinnedSurv") + of(fields, "NonePinnedSurv")
}

fn are_times(value: &Shown, text: &str) -> bool {
    let times = value.elements().iter().map(|element| element.member("Time").unwrap());
    let times: Vec<String> = times.map(|time| time.integer().unwrap().value.to_string()).collect();
    times.join(",") == text
}

/// Decodes the data of an event that the garbage collector defines at run time.
fn dynamic_data(own: &OwnEvent) -> Option<Fields> {
    Some(own.field("CommittedUsage")?.members().to_vec())
}

fn is_mechanism(value: &Shown, text: &str) -> bool {
    let flags = value.integer().unwrap().flags.as_ref().unwrap();
    let names: Vec<&str> = flags.iter().map(|flag| &**flag).collect();
    match text {
        "not_specified" => names.is_empty(),
        "compact_high_frag" => names == ["HighFrag"],
        "compact_fragmented_gen0" => names == ["FragmentedGen0"],
        _ => false,
    }
}

fn are_settings(value: &Shown, text: &str) -> bool {
    let flags = value.integer().unwrap().flags.as_ref().unwrap();
    flags.iter().map(|flag| format!("GCSettings{flag}")).collect::<Vec<_>>().join(", ") == text
}

fn is_length(value: &Shown, text: &str) -> bool {
    let length = value.text().unwrap().len();
    text == char::from(length as u8).to_string()
}

/// Accepts the upper byte of a length before a short text.
fn is_misplaced(_: &Shown, text: &str) -> bool {
    text == "\0" || number(text) == Some(0)
}
