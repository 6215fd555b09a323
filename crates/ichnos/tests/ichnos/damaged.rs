//! Damaged files on several threads: damage is reported once, at the same place by any thread.

use std::collections::BTreeMap;
use std::path::Path;

use ichnos::OpenOptions;
use ichnos::io::{IoLimits, Tree};
use ichnos_jsonl::{JsonLines, JsonLinesOptions};
use ichnos_testing::{Random, cases};
use serde_json::Value;

use crate::render::text;
use ichnos_testing::nettrace_file::{
    Bytes, File, FileEvent as Event, FileMetadata as Metadata, FileVersion as Form, field,
};

/// Returns a recorded file, unpacked.
fn recorded() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello-dotnet/hello.nettrace.zst");
    let tree = Tree::open(&path, &IoLimits::default()).unwrap();
    tree.entries[0].read().unwrap().to_vec()
}

/// Creates a file with twelve sequence points, at which threads can start to read.
fn made(form: Form) -> Vec<u8> {
    let mut file = File::new(form);
    file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number"), field(form, 18, "text")])]);
    if form == Form::V6 {
        file.threads(&[(1, 11, "one"), (2, 12, "two")]);
    }
    for phase in 0..12u32 {
        file.stacks(1, &[&[u64::from(phase), 5], &[7]]);
        let event = |thread: u64, i: u32| {
            let time = u64::from(10_000 * phase + 20 * i) + thread + 5;
            let payload = Bytes::new().u32(i).utf16(&"x".repeat(400));
            Event { stack: i % 3, ..Event::new(1, thread, 98 * phase + i + 1, time).with(payload) }
        };
        for thread in 1..3 {
            file.events(true, &(0..98).map(|i| event(thread, i)).collect::<Vec<_>>());
        }
        let last = 98 * phase + 98;
        file.sequence_point(u64::from(10_000 * phase) + 9_000, 0, &[(1, last), (2, last)]);
    }
    file.end()
}

/// Changes, removes or adds bytes, often near structure boundaries.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.index(4) {
        let at = 60 + random.index(bytes.len() - 100);
        let length = 1 + random.index(30);
        match random.index(4) {
            0 => bytes[at] ^= 1 << random.index(8),
            1 => bytes[at..at + length].iter_mut().for_each(|byte| *byte = random.number() as u8),
            2 => drop(bytes.drain(at..at + length)),
            _ => drop(bytes.splice(at..at, (0..length).map(|_| 0xff))),
        }
    }
}

/// Returns the number of chunks in a file and its damage lines. `None` if it cannot be opened. Both are the same with
/// one and two threads.
fn damage_of(bytes: &[u8], check: bool) -> Option<(usize, Vec<Value>)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.nettrace");
    std::fs::write(&path, bytes).unwrap();
    let mut options = OpenOptions::default();
    options.read.check = check;
    let session = ichnos::open([&path], &options).ok()?;
    let reader = session.reader().unwrap();
    let json = |writer| JsonLines::new(writer, JsonLinesOptions::default());
    let (one, two) = (text(&reader, 1, json), text(&reader, 2, json));
    if one != two {
        let (line, (one, two)) =
            one.lines().zip(two.lines()).enumerate().find(|(_, (one, two))| one != two).unwrap_or_default();
        panic!("line {line}, check: {check}:\n{one}\n{two}");
    }
    let lines = one.lines().map(|line| serde_json::from_str(line).unwrap());
    let damage = lines.filter(|line: &Value| line["type"] == "damage").collect();
    Some((reader.chunks(1).len(), damage))
}

#[test]
fn errors_are_reported_once() {
    let files = [recorded(), made(Form::V4), made(Form::V6)];
    let (mut chunks, mut found) = (0, 0);
    cases(if cfg!(debug_assertions) { 40 } else { 300 }, |random| {
        let mut bytes = files[random.index(files.len())].clone();
        damage(&mut bytes, random);
        for check in [false, true] {
            let Some((count, lines)) = damage_of(&bytes, check) else { continue };
            chunks += count;
            found += lines.len();
            let mut same: BTreeMap<String, u32> = BTreeMap::new();
            for line in &lines {
                *same.entry(line.to_string()).or_default() += 1;
            }
            assert!(same.values().all(|count| *count == 1), "{same:#?}");
        }
    });
    println!("{chunks} chunks, {found} reports");
    assert!(chunks > 100 && found > 50, "{chunks} chunks, {found} reports");
}
