//! Random values, recorded with both layers and read by ichnos and by Babeltrace.

use std::path::Path;

use ichnos_tracer::{
    ClockDescription, InEventSet, Platform, Recording, RecordingOptions, StreamOptions, TraceDescription,
    TraceEvent, Tracer,
};
use proptest::prelude::*;

use crate::family::{Family, Random, Recorder, random};
use crate::{BABELTRACE_2_1, alone, convert, output_of, read};

struct OfProcess;

impl Recorder for OfProcess {
    fn record<E: TraceEvent + InEventSet<Family>>(&mut self, event: &E) {
        ichnos_tracer::record(event);
    }
}

struct OfCore<'b>(Tracer<'b, Collector, Family>);

#[derive(Default)]
struct Collector {
    cycles: u64,
    packets: Vec<u8>,
}

impl Platform for Collector {
    fn now(&mut self) -> u64 {
        self.cycles += 7;
        self.cycles
    }

    fn take(&mut self, packet: &[u8]) -> bool {
        self.packets.extend_from_slice(packet);
        true
    }
}

impl Recorder for OfCore<'_> {
    fn record<E: TraceEvent + InEventSet<Family>>(&mut self, event: &E) {
        assert!(self.0.record(event));
    }
}

fn record_with_core(events: &[Random], path: &Path) {
    std::fs::create_dir(path).unwrap();
    let mut buffer = vec![0xaa; 6000];
    let options = StreamOptions::new(9);
    let mut core = OfCore(Tracer::new(Collector::default(), &mut buffer, 2000, options));
    events.iter().for_each(|event| event.record(&mut core));
    assert!(core.0.flush());
    std::fs::write(path.join("stream"), &core.0.platform().packets).unwrap();
    let mut metadata = String::new();
    TraceDescription::new(ClockDescription::new("c", 32_768)).write::<Family>(&mut metadata).unwrap();
    std::fs::write(path.join("metadata"), metadata).unwrap();
}

fn record_with_process(events: &[Random], path: &Path) {
    let mut options = RecordingOptions::new(path);
    options.packet_size = 2000;
    let recording = Recording::start(options).unwrap();
    events.iter().for_each(|event| event.record(&mut OfProcess));
    assert_eq!(recording.finish().discarded, 0);
}

fn check(events: &[Random], path: &Path) {
    let found = read(path, false);
    let expected: Vec<_> = events.iter().map(Random::json).collect();
    for (found, (name, payload)) in found.iter().zip(&expected) {
        assert_eq!((&found["name"], &found["payload"]), (&(*name).into(), payload));
    }
    assert_eq!(found.len(), expected.len());
    let converted = path.with_extension("1.8");
    convert(path, &converted, false);
    compare(BABELTRACE_2_1, path, str::to_owned);
    compare("babeltrace2", &converted, as_ctf_1_8);
}

/// Compares what Babeltrace and ichnos print.
fn compare(program: &str, path: &Path, change: fn(&str) -> String) {
    let Some(text) = output_of(program, path) else { return };
    let expected = pretty(path);
    assert_eq!(text.lines().count(), expected.lines().count());
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(without_added(found), change(expected));
    }
}

/// Changes what only CTF 2 has: ichnos reads the converted trace as it was before.
fn as_ctf_1_8(line: &str) -> String {
    let flags = regex::Regex::new(r#"((?:flags|access|\[\d\]) = 0x[0-9A-F]+) \{[^}]*\}"#).unwrap();
    let blob = regex::Regex::new(r"(image|digest) = \{ ((?:[0-9a-f]{2} )+)\}").unwrap();
    let bytes = |found: &regex::Captures<'_>| {
        let bytes = found[2].split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap());
        let bytes: Vec<_> =
            bytes.enumerate().map(|(index, byte)| format!("[{index}] = 0x{byte:X}")).collect();
        format!("{} = [ {} ]", &found[1], bytes.join(", "))
    };
    let line = line.replace("<none>", "{ { } }").replace("= false", "= 0").replace("= true", "= 1");
    blob.replace_all(&flags.replace_all(&line, "$1"), bytes).into_owned()
}

/// Returns what ichnos prints in place of Babeltrace.
fn pretty(path: &Path) -> String {
    use ichnos::export::{Pretty, PrettyOptions};

    let session = ichnos::open([path], &ichnos::OpenOptions::default()).unwrap();
    let mut options = PrettyOptions::default();
    (options.no_delta, options.clock_gmt) = (true, true);
    let mut out = Vec::new();
    session.reader().unwrap().pass().run(&mut Pretty::new(&mut out, options)).unwrap();
    String::from_utf8(out).unwrap()
}

/// Leaves out the lengths and presences, which ichnos does not show.
fn without_added(line: &str) -> String {
    let added = regex::Regex::new(r#" \w+[._](length|present) = (\d+|\( [^()]* \)),?"#).unwrap();
    added.replace_all(line, "").replace(", }", " }")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn values_are_read_as_they_were_recorded(events in proptest::collection::vec(random(), 1..60)) {
        let _alone = alone();
        let directory = tempfile::tempdir().unwrap();
        for (name, record) in [("core", record_with_core as fn(&[Random], &Path)), ("process", record_with_process)] {
            let path = directory.path().join(name);
            record(&events, &path);
            check(&events, &path);
        }
    }
}
