//! Events with named and typed fields, and payloads that are longer than their fields.

use std::collections::{BTreeMap, BTreeSet};

use ichnos_model::message::DamageKind;
use ichnos_model::{Message, Scope};
use ichnos_nettrace::NettraceOptions;

use crate::support::{Opened, Shown, bytes_of, fields, find};

/// Returns the classes whose payloads are shown as bytes, with the size of the first payload.
fn raw(opened: &Opened) -> BTreeMap<String, usize> {
    let mut raw = BTreeMap::new();
    opened.each(|message| {
        if let Message::Event(event) = message
            && let [(name, Shown::Blob(bytes))] = &fields(event, Scope::Payload)[..]
            && name == "payload"
        {
            raw.entry(event.name().to_owned()).or_insert(bytes.len());
        }
    });
    raw
}

#[test]
fn events_have_fields() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for name in [
        "net10.0-small.nettrace",
        "net3.1.2-small.nettrace",
        "eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
        "perl-cpu-v6.nettrace",
        "eventpipe-dotnetcore2.1-linux-x64-objver3.netperf",
        "eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
        "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace",
        "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints.nettrace",
        "mixed_managed_external_samples.nettrace",
        "dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
        "net10.0-ipc-netperfV3.netperf",
    ] {
        let raw = raw(&Opened::new(&find(&traces, name)));
        println!("{name}: {raw:?}");
        // The provider claims that these events lack fields, but they have a payload. EventSource cannot describe a
        // byte array or an anonymous type with an array.
        let expected = [("Toolkit-Dynamic/Nested", 34), ("Toolkit-Test/Blob", 304)];
        let expected = expected.map(|(name, length)| (name.to_owned(), length));
        let mut expected = match name.starts_with("net10.0") || name.starts_with("net3.1") {
            true => BTreeMap::from(expected),
            false => BTreeMap::new(),
        };
        if name == "net10.0-ipc-netperfV3.netperf" {
            // Recorded without that provider.
            expected.remove("Toolkit-Dynamic/Nested");
        }
        assert_eq!(raw, expected, "{name}");
    }
}

/// Returns the fault descriptions of a file.
fn faults(opened: &Opened) -> BTreeSet<String> {
    let mut faults = BTreeSet::new();
    opened.each(|message| {
        if let Message::Damage(damage) = message {
            faults.insert(damage.to_string());
        }
    });
    faults
}

fn check() -> NettraceOptions {
    let mut options = NettraceOptions::default();
    options.check = true;
    options
}

#[test]
fn payloads_end_with_their_fields() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for name in [
        "net10.0-small.nettrace",
        "net3.1.2-small.nettrace",
        "eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
        "perl-cpu-v6.nettrace",
        "eventpipe-dotnetcore2.1-linux-x64-objver3.netperf",
        "eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
        "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace",
        "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints.nettrace",
        "mixed_managed_external_samples.nettrace",
        "dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
        "net10.0-ipc-netperfV3.netperf",
    ] {
        assert_eq!(faults(&Opened::with(&find(&traces, name), &check())), BTreeSet::new(), "{name}");
    }
}

#[test]
fn mappings_repeat_the_texts_of_their_metadata() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    let opened = Opened::new(&find(&traces, "perl-cpu-v6.nettrace"));
    let (mut metadata, mut mappings) = (BTreeMap::new(), Vec::new());
    opened.each(|message| {
        let Message::Event(event) = message else { return };
        let fields = fields(event, Scope::Payload);
        let number = |name: &str| field(&fields, name).integer().unwrap().value;
        let texts = || ["SymbolMetadata", "VersionMetadata"].map(|name| field(&fields, name).clone());
        match event.name() {
            "Universal.System/ProcessMappingMetadata" => drop(metadata.insert(number("Id"), texts())),
            "Universal.System/ProcessMapping" => mappings.push((number("MetadataId"), texts())),
            _ => {}
        }
    });
    assert_eq!((metadata.len(), mappings.len()), (5, 8));
    let none = [(); 2].map(|()| Shown::Text(String::new()));
    for (id, texts) in mappings {
        assert_eq!(&texts, metadata.get(&id).unwrap_or(&none), "{id}");
    }
}

fn field<'f>(fields: &'f [(String, Shown)], name: &str) -> &'f Shown {
    &fields.iter().find(|field| field.0 == name).unwrap_or_else(|| panic!("{name}: {fields:?}")).1
}

#[test]
fn what_is_behind_the_fields_is_reported() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    // The provider is unknown, so the metadata counts. It describes less than is written.
    let bytes = bytes_of(&find(&traces, "perl-cpu-v6.nettrace"));
    let mut changed = bytes.to_vec();
    let known = b"Universal.System";
    for at in 0..bytes.len() - known.len() {
        if bytes[at..].starts_with(known) {
            changed[at + known.len() - 1] = b'n';
        }
    }
    // Once per event kind, even if not all rules are checked.
    for options in [NettraceOptions::default(), check()] {
        let opened = Opened::of_bytes("changed", changed.clone().into(), &options);
        let mut reported = BTreeMap::new();
        opened.each(|message| {
            let Message::Damage(damage) = message else { return };
            let DamageKind::Rule(rule) = &damage.kind else { panic!("{damage}") };
            assert_eq!((rule.name, rule.fatal, damage.skipped), ("payload", false, 0), "{damage}");
            let (_, name) = rule.statement.split_once('`').unwrap();
            *reported.entry(name.split_once('`').unwrap().0.to_owned()).or_insert(0) += 1;
        });
        let events = ["ExistingProcess", "ProcessMapping", "ProcessMappingMetadata", "ProcessSymbol"];
        assert_eq!(reported, events.map(|event| (format!("Universal.Systen/{event}"), 1)).into());
    }
}
