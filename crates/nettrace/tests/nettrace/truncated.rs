//! Files that end too early: everything complete is read, and one message reports the end.

use ichnos_model::cursor::MessageKind;
use ichnos_model::{Cursor, OpenedTrace, Window};
use ichnos_nettrace::{
    BlockKind, Container, EventRows, FileItem, NettraceFile, NettraceOptions, RowEncoding, Version,
};
use ichnos_testing::Random;

use crate::builder::{Bytes, Event, File, Form, Metadata, field, kind};
use crate::reading::read;

/// Returns a recorded file. Prints a line and returns `None` if it is missing.
pub(crate) fn recorded(path: &str) -> Option<Vec<u8>> {
    let path = ichnos_testing::recorded(format!("nettrace/{path}"))?;
    let bytes = std::fs::read(&path).unwrap();
    match path.extension().is_some_and(|extension| extension == "zst") {
        true => Some(zstd::decode_all(&*bytes).unwrap()),
        false => Some(bytes),
    }
}

/// Returns the event times, in file order or sorted, and the number of damage messages.
pub(crate) fn skim(bytes: ichnos_io::Bytes, unsorted: bool) -> Option<(Vec<i128>, usize)> {
    let mut options = NettraceOptions::default();
    options.unsorted = unsorted;
    let file = NettraceFile::open("file", bytes, &options).ok()?;
    let mut times = Vec::new();
    let mut damage = file.damage().len();
    for mut cursor in file.cursors(Window::default()) {
        let cursor: &mut dyn Cursor = &mut *cursor;
        while cursor.advance() {
            let head = cursor.head().unwrap();
            match head.kind {
                MessageKind::Event => times.push(head.nanoseconds().unwrap()),
                MessageKind::Damage => damage += 1,
                _ => {}
            }
        }
    }
    Some((times, damage))
}

/// Returns the sorted ends of all payloads in a file. In version 3, the ends of the stacks.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let mut container = Container::open(bytes, true).unwrap().unwrap();
    let version = container.version();
    let mut ends = Vec::new();
    loop {
        match container.next(bytes, 0, true) {
            FileItem::Block(block) if block.kind == BlockKind::Event => {
                let range = block.content.start as usize..block.content.end as usize;
                let (flags, header) = match version {
                    Version::V3 => (0, 0),
                    _ => (bytes[range.start + 2].into(), usize::from(bytes[range.start])),
                };
                let encoding = RowEncoding::new(version, flags);
                let mut rows = EventRows::new(encoding, range.start + header..range.end, 0);
                while let Some(row) = rows.next(bytes) {
                    if row.metadata_id != 0 {
                        ends.push(row.payload.end.max(row.stack.end));
                    }
                }
            }
            FileItem::Block(_) | FileItem::Fault(_) => {}
            FileItem::End | FileItem::More => return ends,
        }
    }
}

/// Cuts a file at these places.
fn cut(bytes: &[u8], places: impl IntoIterator<Item = usize>) {
    let ends = ends(bytes);
    let (whole, damage) = skim(bytes.to_vec().into(), true).unwrap();
    assert_eq!((whole.len(), damage), (ends.len(), 0));
    for place in places {
        let expected = ends.partition_point(|end| *end <= place);
        let Some((times, damage)) = skim(bytes[..place].to_vec().into(), true) else {
            assert_eq!(expected, 0, "refused, cut at {place}");
            continue;
        };
        assert!(times == whole[..expected], "cut at {place}: {} events, not {expected}", times.len());
        assert_eq!(damage, 1, "cut at {place}: {:?}", read(&bytes[..place]).damage);
        // No waiting event is lost.
        let (mut sorted, damage) = skim(bytes[..place].to_vec().into(), false).unwrap();
        let mut times = times;
        times.sort_unstable();
        sorted.sort_unstable();
        assert!(times == sorted && damage == 1, "cut at {place}, sorted: {} of {expected}", sorted.len());
    }
}

#[test]
fn at_every_byte_of_a_small_file() {
    for form in [Form::V3, Form::V4, Form::V6] {
        for compressed in [true, false] {
            let mut file = File::new(form);
            file.metadata(&[Metadata::new(1, "Number", [field(form, 12, "number")])]);
            let events = |first: u32| -> Vec<Event> {
                let event =
                    |i: u32| Event::new(1, 1 + u64::from(i) % 2, 1 + i / 2, u64::from(100 + i * 10 % 55));
                (first..first + 8).map(|i| event(i).with(Bytes::new().u64(i.into()))).collect()
            };
            if form != Form::V3 {
                threads_of_version_6(&mut file);
                file.stacks(1, &[&[1, 2], &[3]]);
                file.events(compressed, &events(0));
                file.sequence_point(200, 0, &[(1, 4), (2, 4)]);
                file.block((20, "NewBlock"), &[7; 30]);
            }
            file.events(compressed, &events(8)).events(compressed, &events(16));
            let bytes = file.end();
            cut(&bytes, 1..bytes.len());
        }
    }
}

fn threads_of_version_6(file: &mut File) {
    if file.form == Form::V6 {
        file.threads(&[(1, 11, "a"), (2, 12, "b")]);
        file.block(kind::LABEL_LIST, &Bytes::new().u32(1).u32(1).u8(0x87).u8(1).0);
    }
}

/// Returns the start of each block after the trace block, and the end of the last block.
fn block_begins(bytes: &[u8]) -> Vec<usize> {
    let mut container = Container::open(bytes, true).unwrap().unwrap();
    let mut begins = Vec::new();
    loop {
        match container.next(bytes, 0, true) {
            FileItem::Block(block) if block.kind != BlockKind::Trace => begins.push(block.begin as usize),
            FileItem::Block(_) => {}
            _ => {
                begins.push(bytes.len() - if container.version() < Version::V6(0) { 1 } else { 4 });
                return begins;
            }
        }
    }
}

/// In a file without its start and its end, one whole block is enough. Version 6 also needs the size of the next block.
#[test]
fn at_both_ends_of_a_small_file() {
    for form in [Form::V3, Form::V4, Form::V6] {
        for more in 0..4 {
            let mut file = File::new(form);
            // An unknown block that moves the next blocks.
            file.block((20, "NewBlock"), &[7; 30][more..]);
            file.metadata(&[Metadata::new(1, "Number", [field(form, 12, "number")])]);
            for first in (0..12).step_by(3) {
                let event = |i: u32| Event::new(1, 1, i, (100 + i).into()).with(Bytes::new().u64(i.into()));
                file.events(false, &(first..first + 3).map(event).collect::<Vec<_>>());
            }
            let bytes = file.end();
            let (begins, ends) = (block_begins(&bytes), ends(&bytes));
            let (whole, _) = skim(bytes.clone().into(), true).unwrap();
            // Starts of a block with rows, and of the next two blocks.
            for range in begins[1..].windows(3) {
                let cuts = match form {
                    // The second block has its size, and its event header.
                    Form::V6 => range[1] + 24..=bytes.len(),
                    _ => range[1]..=bytes.len(),
                };
                for (end, before) in cuts.flat_map(|end| (0..4).map(move |before| (end, before))) {
                    let rest = &bytes[range[0] - before..end];
                    let place = format!("{form:?}: {before} bytes before {} to {end}", range[0]);
                    let Some((times, _)) = skim(rest.to_vec().into(), true) else {
                        panic!("refused: {place}")
                    };
                    let within = |places: std::ops::RangeInclusive<usize>| -> Vec<i128> {
                        let events = std::iter::zip(&whole, &ends).filter(|(_, end)| places.contains(end));
                        events.map(|(time, _)| *time).collect()
                    };
                    let (most, block) =
                        (within(range[0] + 1..=end), begins.partition_point(|begin| *begin <= end));
                    // Rows without metadata in a cut block do not prove that there are events.
                    let least = match range[0] == begins[1] {
                        true => most.len(),
                        false => within(range[0] + 1..=begins[block - 1]).len(),
                    };
                    assert!((least..=most.len()).contains(&times.len()), "{place}: {} events", times.len());
                    let since_first =
                        |times: &[i128]| -> Vec<i128> { times.iter().map(|time| time - times[0]).collect() };
                    assert_eq!(since_first(&times), since_first(&most[..times.len()]), "{place}");
                }
            }
        }
    }
}

#[test]
fn at_every_byte_of_a_recorded_file() {
    let Some(bytes) = recorded("runtime/net10.0-custom-only-norundown.nettrace") else { return };
    // All positions take minutes without optimizations.
    cut(&bytes, (1..bytes.len()).step_by(if cfg!(debug_assertions) { 37 } else { 1 }));
}

#[test]
fn at_random_places_of_large_files() {
    let mut random = Random::new(7);
    for (path, count) in [
        ("perfview/eventpipe-dotnetcore3.0-win-x64-objver4.nettrace", 30),
        ("runtime/perl-cpu-v6.nettrace", 60),
        ("perfview/eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf", 60),
        ("runtime/net10.0-nostacks.nettrace", 60),
    ] {
        let Some(bytes) = recorded(path) else { continue };
        let count = if cfg!(debug_assertions) { count } else { 1_000 };
        let places: Vec<usize> = (0..count).map(|_| random.index(bytes.len())).collect();
        cut(&bytes, places);
    }
}

/// The process was killed during the recording.
#[test]
fn a_file_of_a_process_that_was_killed() {
    let Some(bytes) = recorded("runtime/net10.0-killed-truncated.nettrace.zst") else { return };
    let (times, damage) = skim(bytes.into(), false).unwrap();
    // As many events as a scan of the block rows finds.
    assert_eq!((times.len(), damage), (304_344, 1));
}

/// Description of the end.
#[test]
fn the_message_says_where_the_file_ends() {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 9, "number")])]);
    file.events(true, &[Event::new(1, 7, 1, 1).with(Bytes::new().u32(5))]);
    let bytes = file.end();
    let damage = |bytes: &[u8]| read(bytes).damage.remove(0);
    let end = bytes.len() - 1;
    let unfinished = damage(&bytes[..end]);
    assert!(unfinished["message"].as_str().unwrap().contains("the end mark"), "{unfinished}");
    assert_eq!(unfinished["bit"], 8 * end);
    let within = damage(&bytes[..end - 2]);
    assert!(within["message"].as_str().unwrap().contains("ends after"), "{within}");
}
