//! Metadata that is read, written in a dialect and read again must be the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos_ctf::metadata::{
    self, Dialect, MetadataOptions, Unsupported, add_auxiliary_streams, write_metadata,
};
use ichnos_model::TraceClass;
use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, FieldLocation,
    IntegerProperties, IntegerRange, Length, Member, RangeSet, StringLength, Value,
};
use ichnos_model::clock::{ClockClass, WallClock};
use ichnos_model::field::StringEncoding;
use ichnos_model::trace::Limits;

use crate::comparable::comparable;
use crate::random_class::ClassMaker;
use crate::support::traces;

/// Metadata with vocabulary that only occurs in release candidates of its dialect. The written metadata has the same
/// meaning, but the class differs in details.
const CANDIDATES: [&str; 1] = ["real/tracecompass/CTF2-7.0-debug-info"];

/// Adds the metadata files below a directory, sorted.
pub fn metadata_files(directory: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            metadata_files(&path, files);
        } else if path.file_name().is_some_and(|name| name == "metadata") {
            files.push(path);
        }
    }
}

fn read(text: &[u8]) -> Option<(TraceClass, Dialect)> {
    let read = metadata::parse(text, &MetadataOptions::default()).ok()?;
    // Writing drops everything outside the class.
    Some((TraceClass { unmodeled: Default::default(), ..read.trace }, read.dialect))
}

/// Writes a class and reads the text. Checks that writing it again produces the same text.
pub fn through(trace: &TraceClass, dialect: Dialect) -> Result<TraceClass, Vec<Unsupported>> {
    let written = write_metadata(trace, dialect, &Limits::default())?;
    let mut options = MetadataOptions::default();
    let (mut again, found) = read(written.text.as_bytes()).unwrap();
    assert_eq!(found, dialect);
    let streams: Vec<_> = written.aux_streams.iter().map(|stream| stream.text.as_bytes()).collect();
    let problems = add_auxiliary_streams(&mut again, &streams, &mut options);
    assert!(problems.is_empty(), "{problems:?}");
    let twice = write_metadata(&again, dialect, &Limits::default()).unwrap();
    assert_eq!(twice.text, written.text);
    assert_eq!(twice.aux_streams, written.aux_streams);
    Ok(again)
}

/// Checks that metadata, if readable, stays the same when it is written in its dialect.
pub fn assert_same(text: &[u8]) {
    let Some((trace, dialect)) = read(text) else { return };
    match through(&trace, dialect) {
        Ok(again) => assert_eq!(again, trace, "{}", String::from_utf8_lossy(text)),
        Err(unsupported) => panic!("{unsupported:?}: {}", String::from_utf8_lossy(text)),
    }
}

/// Returns all recorded metadata that can be read, by name.
fn recorded() -> Option<Vec<(String, TraceClass, Dialect)>> {
    let root = traces()?.join("ctf");
    let mut files = Vec::new();
    metadata_files(&root, &mut files);
    let one = |file: PathBuf| {
        let name = file.parent()?.strip_prefix(&root).ok()?.display().to_string();
        let (trace, dialect) = read(&fs::read(&file).ok()?)?;
        Some((name, trace, dialect))
    };
    Some(files.into_iter().filter_map(one).collect())
}

#[test]
fn every_recorded_metadata_in_its_dialect() {
    let Some(recorded) = recorded() else { return };
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, trace, dialect) in recorded {
        *count.entry(dialect.name()).or_default() += 1;
        let again = match through(&trace, dialect) {
            Ok(again) => again,
            Err(unsupported) => panic!("{name}: {}", unsupported[0]),
        };
        if CANDIDATES.contains(&&*name) {
            assert_ne!(again, trace, "{name}: no longer an exception");
            assert_eq!(comparable(&again), comparable(&trace), "{name}");
        } else {
            assert_eq!(again, trace, "{name}");
        }
    }
    println!("{count:?}");
    assert!(count["ctf1.8"] > 200 && count["spec2"] > 130, "{count:?}");
}

#[test]
fn every_recorded_metadata_in_all_dialects() {
    let Some(recorded) = recorded() else { return };
    let mut count: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for (name, trace, dialect) in recorded {
        for other in Dialect::ALL {
            let [written, refused] = count.entry((dialect.name(), other.name())).or_default();
            match through(&trace, other) {
                Ok(again) => {
                    *written += 1;
                    assert_eq!(comparable(&again), comparable(&trace), "{name} in {other}");
                }
                Err(unsupported) => {
                    *refused += 1;
                    println!("{name} in {other}: {}", unsupported[0]);
                }
            }
        }
    }
    for ((from, to), [written, refused]) in &count {
        println!("{from} in {to}: {written} written, {refused} refused");
    }
    // The later dialects except PROP-1.0 can express all of CTF 1.8. Otherwise, it depends on the constructs in use.
    for to in ["ctf1.8", "prop2", "spec2"] {
        assert_eq!(count[&("ctf1.8", to)][1], 0, "{to}");
    }
    assert_eq!(count[&("spec2", "spec2")][1], 0);
    for (from, to, least) in
        [("ctf1.8", "prop1", 110), ("spec2", "ctf1.8", 95), ("spec2", "prop1", 95), ("spec2", "prop2", 100)]
    {
        assert!(count[&(from, to)][0] >= least, "{from} in {to}");
    }
}

#[test]
fn random_classes_in_their_dialects_and_in_the_others() {
    let mut count: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    ichnos_testing::cases(40, |random| {
        for dialect in Dialect::ALL {
            let trace = ClassMaker::new(random.number(), dialect).trace();
            for other in Dialect::ALL {
                let [written, refused] = count.entry((dialect.name(), other.name())).or_default();
                let again = match through(&trace, other) {
                    Ok(again) => again,
                    Err(unsupported) if dialect == other => panic!("{other}: {}", unsupported[0]),
                    Err(_) => {
                        *refused += 1;
                        continue;
                    }
                };
                *written += 1;
                assert_eq!(comparable(&again), comparable(&trace), "{dialect} in {other}");
                if other == dialect {
                    assert_eq!(through(&again, other).unwrap(), again, "{dialect}");
                }
            }
        }
    });
    for ((from, to), [written, refused]) in &count {
        println!("{from} in {to}: {written} written, {refused} refused");
    }
}

/// Returns a trace class with a single event record class with one member.
fn of_member(name: &str, class: impl Into<Arc<FieldClass>>) -> TraceClass {
    let event = EventRecordClass::new("e", [Member::new(name, class)]);
    TraceClass::new("", [], [DataStreamClass::new(None, [event])])
}

fn refusals(trace: &TraceClass, dialect: Dialect) -> Vec<String> {
    let unsupported = write_metadata(trace, dialect, &Limits::default()).err().unwrap_or_default();
    unsupported.iter().map(ToString::to_string).collect()
}

#[test]
fn what_no_dialect_can_express_is_refused_where_it_is() {
    let prefixed = StringLength::Prefixed { length: BitField::new(16, ByteOrder::LittleEndian, 8), gap: 0 };
    let prefixed =
        FieldClass::new(FieldKind::String { encoding: StringEncoding::Utf8, length: prefixed, alignment: 8 });
    let of_values = Box::new(FieldLocation::by_values());
    let element = Arc::new(FieldClass::unsigned(8));
    let sequence = FieldClass::new(FieldKind::Array {
        element,
        length: Length::Dynamic(of_values),
        minimum_alignment: 1,
        element_aligns: true,
    });
    let bits = BitField::new(3, ByteOrder::LittleEndian, 1);
    for (class, what) in [
        (FieldClass::guid(), "a GUID"),
        (FieldClass::wall_clock(true, WallClock::FILETIME), "the epoch of an integer"),
        (prefixed, "a length-prefixed string"),
        (sequence, "a field without a length in the data: only its values determine it"),
        (FieldClass::new(FieldKind::Padding(bits)), "padding"),
    ] {
        let trace = of_member("m", class);
        for dialect in Dialect::ALL {
            let member = if dialect == Dialect::Prop1 { "field" } else { "member" };
            let expected = format!(
                "data stream class 0, event record class 0 `e`, event-record-payload, {member} `m`: {what}"
            );
            assert_eq!(refusals(&trace, dialect), [expected], "{dialect}");
        }
    }
}

#[test]
fn values_that_are_none_are_refused() {
    let mut trace = of_member("m", FieldClass::unsigned(8));
    let mut deep = Value::Null;
    for _ in 0..200 {
        deep = Value::Array(vec![deep]);
    }
    for (value, what) in [
        (Value::Number("1}".to_owned()), "an invalid number"),
        (deep, "values that nest deeper than 128 levels"),
    ] {
        trace.attributes = [("n".to_owned(), value)].into_iter().collect();
        assert_eq!(refusals(&trace, Dialect::Spec2), [format!("trace class, attributes `n`: {what}")]);
        assert_eq!(refusals(&trace, Dialect::Ctf18), ["trace class: attributes"]);
    }
    // Errors that only reading finds.
    let mut trace = of_member("m", FieldClass::float(24));
    for dialect in Dialect::ALL {
        assert_eq!(refusals(&trace, dialect).len(), 1, "{dialect}");
    }
    trace.clocks = vec![ClockClass::new("c", 0)];
    for dialect in Dialect::ALL {
        assert!(!refusals(&trace, dialect).is_empty(), "{dialect}");
    }
}

#[test]
fn shared_classes_are_written_once_where_that_is_possible() {
    let members = (0..50).map(|i| Member::new(format!("m{i}"), FieldClass::unsigned(8)));
    let shared = Arc::new(FieldClass::structure(members));
    let events = (0..50).map(|_| EventRecordClass::new("e", [Member::new("s", Arc::clone(&shared))]));
    let trace = TraceClass::new("", [], [DataStreamClass::new(None, events)]);
    for (dialect, most) in [(Dialect::Spec2, 30_000), (Dialect::Prop1, 30_000), (Dialect::Ctf18, 300_000)] {
        let written = write_metadata(&trace, dialect, &Limits::default()).unwrap();
        assert!(written.text.len() < most, "{dialect}: {}", written.text.len());
        assert_eq!(comparable(&through(&trace, dialect).unwrap()), comparable(&trace));
    }
}

#[test]
fn classes_that_multiply_are_refused() {
    let mut class = Arc::new(FieldClass::unsigned(8));
    for _ in 0..60 {
        let members = ["a", "b"].map(|name| Member::new(name, Arc::clone(&class)));
        class = Arc::new(FieldClass::structure(members));
    }
    let many = of_member("m", class);
    let mut class = Arc::new(FieldClass::unsigned(8));
    for _ in 0..100 {
        class = Arc::new(FieldClass::structure([Member::new("a", Arc::clone(&class))]));
    }
    let deep = of_member("m", class);
    for dialect in Dialect::ALL {
        crate::support::quick("classes that multiply", || {
            let refused = refusals(&many, dialect);
            assert!(refused[0].contains("the limit is 1048576"), "{refused:?}");
            assert_eq!(
                refusals(&deep, dialect),
                ["field classes that nest deeper than 64 levels, the limit"]
            );
        });
    }
}

#[test]
fn labels_that_multiply_are_written_once_or_refused() {
    let labels = (0..20_000).map(|i| (format!("l{i}"), RangeSet(vec![IntegerRange::single(i)])));
    let integer = IntegerProperties { mappings: Some(labels.collect()), ..IntegerProperties::default() };
    let bits = BitField::new(32, ByteOrder::LittleEndian, 8);
    let class = Arc::new(FieldClass::new(FieldKind::Integer { bits, integer }));
    let members = (0..3000).map(|i| Member::new(format!("m{i}"), Arc::clone(&class)));
    let trace = of_member("m", FieldClass::structure(members));
    for dialect in Dialect::ALL {
        crate::support::quick("labels that multiply", || match dialect {
            Dialect::Spec2 | Dialect::Prop1 => {
                let written = write_metadata(&trace, dialect, &Limits::default()).unwrap();
                assert!(written.text.len() < 2_000_000, "{dialect}: {}", written.text.len());
            }
            _ => assert!(refusals(&trace, dialect)[0].contains("bytes of memory, the limit"), "{dialect}"),
        });
    }
}

/// Changes bytes, and writes the metadata that can still be read.
#[test]
fn damaged_metadata_that_can_be_read() {
    let Some(traces) = traces() else { return };
    let mut files = Vec::new();
    metadata_files(&traces.join("ctf/metadata"), &mut files);
    let texts: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let texts: Vec<Vec<u8>> =
        texts.into_iter().filter(|text| text.len() < 4_000 && read(text).is_some()).collect();
    let mut count = 0;
    ichnos_testing::cases(300, |random| {
        let mut text = texts[random.index(texts.len())].clone();
        for _ in 0..=random.below(2) {
            let at = random.index(text.len());
            match random.below(4) {
                0 => text[at] = random.byte(),
                1 => text[at] = random.pick(b"_09az{}[]\";,=<>.:\\ \n"),
                2 => {
                    text.remove(at);
                }
                _ => {
                    let other = random.index(text.len());
                    let byte = text[other];
                    text.insert(at, byte);
                }
            }
        }
        let Some((trace, dialect)) = read(&text) else { return };
        count += 1;
        for other in Dialect::ALL {
            match through(&trace, other) {
                Ok(again) => assert_eq!(comparable(&again), comparable(&trace), "{dialect} in {other}"),
                Err(unsupported) if other == dialect => panic!("{}", unsupported[0]),
                Err(_) => {}
            }
        }
    });
    println!("{count} texts could be read");
    assert!(count > 0);
}
