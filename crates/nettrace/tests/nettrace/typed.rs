//! Which events have fields with names and types, and whether payloads are longer than their fields.

use std::collections::{BTreeMap, BTreeSet};

use ichnos_model::{Message, Scope};
use ichnos_nettrace::OpenOptions;

use crate::support::{Opened, Shown, fields, find, traces};

/// Classes whose payloads are shown as bytes, with how many bytes the first one has.
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
    let Some(traces) = traces("events_have_fields") else { return };
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
        // The provider says that these have no fields, but they have a payload: EventSource can describe neither an
        // array of bytes nor an anonymous type with an array.
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

/// What a check says of payloads.
fn payload_faults(traces: &std::path::Path, name: &str) -> BTreeSet<String> {
    let mut options = OpenOptions::default();
    options.check = true;
    let opened = Opened::with(&find(traces, name), &options);
    let mut faults = BTreeSet::new();
    opened.each(|message| {
        if let Message::Damage(damage) = message {
            faults.insert(damage.to_string());
        }
    });
    faults
}

#[test]
fn payloads_end_with_their_fields() {
    let Some(traces) = traces("payloads_end_with_their_fields") else { return };
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
        assert_eq!(payload_faults(&traces, name), BTreeSet::new(), "{name}");
    }
}
