//! Well-known events that are missing in all manifests.

use std::sync::Arc;

use super::KnownEvent;
use super::meaning::meaning;
use crate::{FieldType, PayloadField, ValueNames};

/// The .NET runtime.
const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// EventPipe's sample profiler.
const SAMPLE_PROFILER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// EventPipe's own events.
const EVENT_PIPE: &str = "Microsoft-DotNETCore-EventPipe";
/// `DiagnosticSource` and `Activity` events.
const DIAGNOSTIC_SOURCE: &str = "Microsoft-Diagnostics-DiagnosticSource";
/// System-wide processes, mappings and symbols.
const UNIVERSAL_SYSTEM: &str = "Universal.System";
/// System-wide samples.
const UNIVERSAL_EVENTS: &str = "Universal.Events";

/// Returns `true` if a provider's known fields replace the fields in the file.
///
/// one-collect declares strings as one UTF-8 byte, but writes a 16-bit length and then the bytes.
pub fn replaces_metadata(provider: &str) -> bool {
    provider == UNIVERSAL_SYSTEM
}

/// Adds the types for the field `Data` in the runtime's event `GCDynamicEvent`. The garbage collector can add such
/// events, identified by name, without a manifest change.
pub(super) fn name_data(provider: &str, event: &mut KnownEvent) {
    if provider != RUNTIME || event.name != "GCDynamicEvent" {
        return;
    }
    let sizes = [
        "TotalCommittedInUse",
        "TotalCommittedInGlobalDecommit",
        "TotalCommittedInFree",
        "TotalCommittedInGlobalFree",
        "TotalBookkeepingCommitted",
    ];
    let version = PayloadField::new("Version", FieldType::U16);
    let fields =
        [version].into_iter().chain(sizes.map(|name| PayloadField::new(name, FieldType::U64))).collect();
    for field in &mut event.fields {
        if let FieldType::Counted { count, .. } = field.kind {
            let kinds = vec![PayloadField::new("CommittedUsage", FieldType::Object(fields))];
            field.kind = FieldType::Named { count, kinds };
            return;
        }
    }
}

/// Splits the field `MethodFlags` in runtime events. Its upper bits are not flags, but contain the compiler tier and
/// the extent of the method. The manifest lacks their names. The runtime's `eventtrace.h` has them.
pub(super) fn split_method_flags(event: &mut KnownEvent) {
    let flags = event.fields.iter_mut().find(|field| field.name == "MethodFlags" && field.names.is_some());
    let Some(field) = flags else { return };
    let values = |names: &[(u64, &str)]| {
        let names = names.iter().map(|(value, name)| (*value, (*name).to_owned())).collect();
        Some(Arc::new(ValueNames { are_flags: false, names }))
    };
    let tiers = [
        "Unknown",
        "MinOptJitted",
        "Optimized",
        "QuickJitted",
        "OptimizedTier1",
        "OptimizedTier1OSR",
        "QuickJittedInstrumented",
        "OptimizedTier1Instrumented",
    ];
    let tiers: Vec<_> = (0..).zip(tiers).collect();
    let flags =
        PayloadField { names: field.names.take(), ..PayloadField::new("MethodFlags", FieldType::U32) };
    let tier =
        PayloadField { names: values(&tiers), ..PayloadField::new("OptimizationTier", FieldType::U32) };
    // The upper four of 32 bits. The bits below them are 0.
    let extents = [(0, "HotSection"), (1 << 18, "ColdSection")];
    let extent =
        PayloadField { names: values(&extents), ..PayloadField::new("MethodExtent", FieldType::U32) };
    field.kind = FieldType::Parts(vec![(flags, 7), (tier, 3), (extent, 22)]);
}

/// See [`super::find`].
pub(super) fn find(provider: &str, event_id: u32, version: u32, name: &str) -> Option<KnownEvent> {
    let (name, version, fields) = match provider {
        SAMPLE_PROFILER if event_id == 0 => ("ThreadSample", 0, vec![sample_type()]),
        EVENT_PIPE if event_id == 1 => {
            let mut fields = vec![utf16("CommandLine")];
            if version > 0 {
                fields.extend([utf16("OSInformation"), utf16("ArchInformation")]);
            }
            ("ProcessInfo", version.min(1), fields)
        }
        DIAGNOSTIC_SOURCE => (name, version, diagnostic_source(name)?),
        UNIVERSAL_EVENTS => (name, version, vec![PayloadField::new("Value", FieldType::VarUInt)]),
        UNIVERSAL_SYSTEM => (name, version, universal_system(name)?),
        _ => return None,
    };
    let (opcode, opcode_name) = match () {
        () if name.ends_with("Start") => (1, "Start"),
        () if name.ends_with("Stop") => (2, "Stop"),
        () => (0, "Info"),
    };
    let name = name.to_owned();
    let meaning = meaning(provider, &name, opcode, &fields);
    Some(KnownEvent {
        name,
        version,
        task: None,
        opcode,
        opcode_name: opcode_name.to_owned(),
        level: None,
        keywords: 0,
        fields,
        meaning,
    })
}

fn utf16(name: &str) -> PayloadField {
    PayloadField::new(name, FieldType::Utf16String)
}

/// Returns the field with a sampled thread's activity.
fn sample_type() -> PayloadField {
    let names = [(0, "Error"), (1, "External"), (2, "Managed")];
    let names = names.map(|(value, name)| (value, name.to_owned())).to_vec();
    PayloadField {
        names: Some(Arc::new(ValueNames { are_flags: false, names })),
        ..PayloadField::new("Type", FieldType::I32)
    }
}

fn diagnostic_source(name: &str) -> Option<Vec<PayloadField>> {
    // Metadata in version 4 cannot describe arguments.
    let with_arguments = |second: &str| {
        let pair = FieldType::Object(vec![utf16("Key"), utf16("Value")]);
        vec![
            utf16("SourceName"),
            utf16(second),
            PayloadField::new("Arguments", FieldType::Array(Box::new(pair))),
        ]
    };
    Some(match name {
        "Message" => vec![utf16("Message")],
        "Event"
        | "Activity1Start"
        | "Activity1Stop"
        | "Activity2Start"
        | "Activity2Stop"
        | "RecursiveActivity1Start"
        | "RecursiveActivity1Stop" => with_arguments("EventName"),
        "ActivityStart" | "ActivityStop" => with_arguments("ActivityName"),
        "EventJson" => vec![utf16("SourceName"), utf16("EventName"), utf16("ArgmentsJson")],
        "NewDiagnosticListener" => vec![utf16("SourceName")],
        _ => return None,
    })
}

fn universal_system(name: &str) -> Option<Vec<PayloadField>> {
    let number = |name| PayloadField::new(name, FieldType::VarUInt);
    let address = |name| PayloadField { is_hexadecimal: true, ..number(name) };
    let utf8 = || FieldType::Array(Box::new(FieldType::Utf8CodeUnit));
    let text = |name| PayloadField::new(name, utf8());
    let appended = |name| PayloadField::new(name, FieldType::Appended(Box::new(utf8())));
    Some(match name {
        "ExistingProcess" | "ProcessCreate" => {
            vec![number("NamespaceId"), text("Name"), text("NamespaceName")]
        }
        "ProcessExit" => Vec::new(),
        "ProcessMapping" => vec![
            number("Id"),
            address("StartAddress"),
            address("EndAddress"),
            address("FileOffset"),
            text("FileName"),
            number("MetadataId"),
            // one-collect repeats metadata texts here, without describing them.
            appended("SymbolMetadata"),
            appended("VersionMetadata"),
        ],
        "ProcessMappingMetadata" => vec![number("Id"), text("SymbolMetadata"), text("VersionMetadata")],
        "ProcessSymbol" => vec![
            number("Id"),
            number("MappingId"),
            address("StartAddress"),
            address("EndAddress"),
            text("Name"),
        ],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use ichnos_model::meaning::EventRole;

    fn names_of_fields(event: &KnownEvent) -> Vec<&str> {
        event.fields.iter().map(|field| field.name.as_str()).collect()
    }

    #[test]
    fn samples_of_event_pipe_say_what_a_thread_did() {
        let event = find(SAMPLE_PROFILER, 0, 0, "").expect("known");
        assert_eq!((event.name.as_str(), event.meaning.role), ("ThreadSample", EventRole::Sample));
        let [field] = event.fields.as_slice() else { panic!("one field") };
        assert_eq!(field.names.as_ref().map(|names| names.names[1].1.as_str()), Some("External"));
        assert_eq!(find(SAMPLE_PROFILER, 1, 0, ""), None);
    }

    #[test]
    fn information_of_a_process_grew() {
        let event = find(EVENT_PIPE, 1, 0, "ProcessInfo").expect("known");
        assert_eq!(names_of_fields(&event), ["CommandLine"]);
        let event = find(EVENT_PIPE, 1, 7, "").expect("known");
        assert_eq!((event.name.as_str(), event.version), ("ProcessInfo", 1));
        assert_eq!(names_of_fields(&event), ["CommandLine", "OSInformation", "ArchInformation"]);
    }

    #[test]
    fn diagnostic_sources_have_arguments() {
        let event = find(DIAGNOSTIC_SOURCE, 4, 0, "Activity1Start").expect("known");
        assert_eq!(names_of_fields(&event), ["SourceName", "EventName", "Arguments"]);
        let FieldType::Array(element) = &event.fields[2].kind else { panic!("an array") };
        assert_eq!(**element, FieldType::Object(vec![utf16("Key"), utf16("Value")]));
        assert_eq!(
            (event.meaning.role, event.meaning.span.as_deref()),
            (EventRole::Begin, Some("Activity1"))
        );
        assert_eq!(find(DIAGNOSTIC_SOURCE, 99, 0, "Other"), None);
        let event = find(DIAGNOSTIC_SOURCE, 1, 0, "Message").expect("known");
        assert_eq!(event.meaning.message, Some(vec![0]));
    }

    #[test]
    fn the_collector_names_events_of_its_own() {
        let event = find(RUNTIME, 39, 0, "").expect("known");
        assert_eq!(names_of_fields(&event), ["Name", "DataSize", "Data", "ClrInstanceID"]);
        let FieldType::Named { count: 1, kinds } = &event.fields[2].kind else { panic!("{event:?}") };
        let FieldType::Object(fields) = &kinds[0].kind else { panic!("{kinds:?}") };
        assert_eq!(
            (kinds[0].name.as_str(), fields[0].name.as_str(), fields.len()),
            ("CommittedUsage", "Version", 6)
        );
    }

    #[test]
    fn texts_of_one_collect_have_a_length() {
        assert!(replaces_metadata(UNIVERSAL_SYSTEM) && !replaces_metadata(UNIVERSAL_EVENTS));
        let event = find(UNIVERSAL_SYSTEM, 4, 1, "ProcessSymbol").expect("known");
        assert_eq!(names_of_fields(&event), ["Id", "MappingId", "StartAddress", "EndAddress", "Name"]);
        assert_eq!(event.fields[4].kind, FieldType::Array(Box::new(FieldType::Utf8CodeUnit)));
        let event = find(UNIVERSAL_EVENTS, 1, 1, "cpu").expect("known");
        assert_eq!((event.meaning.role, event.meaning.weight), (EventRole::Sample, Some(vec![0])));
    }
}
