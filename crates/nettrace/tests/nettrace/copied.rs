//! Parts of files with copied segments must be equal to parts whose events are all encoded anew.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_io::{Lane, MessageOrder, Verify, WriteOptions, WriteSource, WriteTarget, WriterFactory as _};
use ichnos_model::digest::ClassDigest;
use ichnos_model::message::Discarded;
use ichnos_model::{Message, OpenedTrace as _, Scope, Window};
use ichnos_nettrace::{
    BlockKind, Container, FileItem, NettraceOptions, NettraceWriter, SequencePoint, Version,
};
use ichnos_testing::{Random, cases};

use crate::builder::{self, Event, File, Form, Metadata, field, kind};
use crate::generated::{FileShape, random_file_of};
use crate::reading;
use crate::support::{Opened, bytes_of, fields, find};
use crate::trace_event::dump_with_lost;
use crate::workload::runtimes;
use crate::writing::{Lost, add_loss, check, encoding, events, opened};

/// Written part of a file.
struct WrittenPart {
    opened: Opened,
    bytes: Vec<u8>,
    /// Number of events according to the output.
    events: u64,
    /// Number of segments that were passed as a whole, of copied segments, and of all segments.
    passed: usize,
    copied: usize,
    segments: usize,
}

/// First and last tick of a part.
type Ticks = (u64, u64);

/// Returns `true` if an event is selected: by its time, or because it names something.
fn wants(event: &ichnos_model::Event<'_>, (begin, end): Ticks) -> bool {
    event.class.is_rundown || event.clock.is_some_and(|clock| (begin..=end).contains(&clock.cycles))
}

/// Returns `true` if a loss overlaps a part.
fn wants_loss(loss: &Discarded<'_>, (begin, end): Ticks) -> bool {
    loss.end.is_none_or(|last| last.cycles >= begin) && loss.begin.is_none_or(|first| first.cycles <= end)
}

/// Writes a part of a file whose events are in the promised order, with output options.
fn write(source: &Opened, ticks: Ticks, options: &WriteOptions) -> WrittenPart {
    try_write(source, ticks, options).unwrap()
}

/// Writes a part of a damaged file. Events in a wrong order are sorted.
fn write_damaged(source: &Opened, ticks: Ticks, options: &WriteOptions) -> WrittenPart {
    try_write(source, ticks, options).unwrap_or_else(|error| {
        assert!(error.to_string().contains("not sorted by time"), "{error}");
        let mut options = options.clone();
        options.sorts = true;
        try_write(source, ticks, &options).unwrap()
    })
}

/// Writes a part of a file, with output options. Segments are passed as a whole if the output takes them.
fn try_write(source: &Opened, ticks: Ticks, options: &WriteOptions) -> std::io::Result<WrittenPart> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.nettrace");
    let sources = vec![WriteSource {
        trace: Arc::clone(source.file.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: source.file.data_streams(),
    }];
    let mut options = options.clone();
    // Everything is taken as soon as it is written.
    options.packet_size = Some(1);
    let output = NettraceWriter.create(WriteTarget::Complete(path.clone()), sources, &options).unwrap();
    let takes_segments = output.order() == MessageOrder::Segments;
    let mut cursor = match takes_segments {
        true => source.file.segment_cursor(0, Window::default()).unwrap(),
        false => source.file.cursor(0, Window::default()).unwrap(),
    };
    let mut worker = output.worker(Lane::All);
    let (mut count, mut passed, mut copied, mut segments) = (0, 0, 0, 0);
    let mut has_message = cursor.next_head().is_some();
    while has_message {
        let mut is_passed = false;
        let message = cursor.current().unwrap();
        match &message {
            Message::PacketBegin(packet) => {
                segments += 1;
                is_passed = worker.copy_packet(packet)?;
            }
            Message::Event(event) if !wants(event, ticks) => {}
            Message::DiscardedEvents(loss) if !wants_loss(loss, ticks) => {}
            message => drop(worker.message(message)?),
        }
        if is_passed {
            passed += 1;
            if options.verify.is_some() {
                cursor.drain_all(&mut |message| {
                    worker.copied_message(message);
                    match message {
                        Message::PacketEnd(_) => ControlFlow::Break(()),
                        _ => ControlFlow::Continue(()),
                    }
                });
            } else {
                assert!(cursor.skip_packet());
                cursor.next_head();
            }
            assert!(matches!(cursor.current(), Some(Message::PacketEnd(_))));
        }
        let mut has_bytes = false;
        while let Some(block) = worker.take() {
            has_bytes = true;
            count += block.events;
            output.join(block).unwrap();
        }
        copied += usize::from(is_passed && has_bytes);
        has_message = cursor.next_head().is_some();
    }
    worker.finish()?;
    while let Some(block) = worker.take() {
        count += block.events;
        output.join(block).unwrap();
    }
    drop(worker);
    assert_eq!(output.finish().unwrap().events, count);
    let bytes = std::fs::read(path).unwrap();
    Ok(WrittenPart { opened: opened("cut", bytes.clone()), bytes, events: count, passed, copied, segments })
}

/// Returns the time window in nanoseconds for a range of ticks.
fn window(source: &Opened, (begin, end): Ticks) -> Window {
    let clock = &source.file.trace().class.clocks[0];
    Window { begin: Some(clock.nanoseconds(begin)), end: Some(clock.nanoseconds(end)) }
}

/// Compares a part with copied segments to the same events encoded anew. Returns the part with copied segments.
fn compare(name: &str, source: &Opened, ticks: Ticks) -> WrittenPart {
    let encoded = write(source, ticks, &encoding(None));
    let mut options = encoding(None);
    options.cut = Some(window(source, ticks));
    let cut = write(source, ticks, &options);
    assert_eq!((encoded.passed, cut.segments > 0), (0, true), "{name}: {ticks:?}");
    let name = format!("{name}: {ticks:?}");
    assert!(write(source, ticks, &options).bytes == cut.bytes, "{name}: written again, it differs");
    match cut.bytes.len() > 2 << 20 {
        true => assert!(outline(&encoded.opened) == outline(&cut.opened), "{name}"),
        false => check(&name, &encoded.opened, &cut.opened),
    }
    assert_eq!(encoded.events, cut.events, "{name}");
    assert_eq!(cut.events as usize, times(&cut.opened).len(), "{name}");
    cut
}

/// Returns the times in ticks of all events in a large file, hashes of their names, contexts and payloads, and the
/// losses.
fn outline(opened: &Opened) -> (Vec<(u64, u64)>, Lost) {
    let (mut events, mut lost) = (Vec::new(), Lost::new());
    opened.each(|message| match message {
        Message::Event(event) => {
            let mut hasher = DefaultHasher::new();
            (event.name(), event.scopes.bits.bytes()).hash(&mut hasher);
            for (name, value) in fields(event, Scope::CommonContext) {
                match value.integer().filter(|_| name == "stack") {
                    Some(stack) => {
                        let frames = opened.file.trace().stacks.frames(stack.value as u32);
                        frames.iter().for_each(|frame| frame.address.hash(&mut hasher));
                    }
                    None => format!("{name} {value:?}").hash(&mut hasher),
                }
            }
            events.push((event.clock.unwrap().cycles, hasher.finish()));
        }
        Message::DiscardedEvents(loss) => add_loss(&mut lost, loss),
        _ => {}
    });
    (events, lost)
}

/// Returns the sorted times of all events in a file, in ticks.
fn times(source: &Opened) -> Vec<u64> {
    let mut times = Vec::new();
    source.each(|message| {
        if let Message::Event(event) = message {
            times.push(event.clock.unwrap().cycles);
        }
    });
    times.sort_unstable();
    times
}

/// Creates a version 4 file with up to eight segments. Most segments have compressed blocks only.
fn random(random: &mut Random) -> Opened {
    let compressed = random.pick(&[50, 100, 100]);
    let shape = FileShape { phases: 8, compressed, has_rundown: random.is_one_in(2) };
    opened("source", random_file_of(random, Form::V4, shape))
}

/// Returns parts of a file: all, its start and end, and some ranges in between.
fn parts(random: &mut Random, times: &[u64]) -> Vec<Ticks> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
    let point = |random: &mut Random| match random.below(3) {
        0 => random.below(last + 1_000),
        1 => 1_000 * random.below(9) + 600,
        _ => times[random.index(times.len())],
    };
    let (one, two) = (point(random), point(random));
    let all = [(0, u64::MAX), (0, one), (two, u64::MAX), (*first, *last), (last + 1, last + 2), (5, 4)];
    all.into_iter().chain([(one.min(two), one.max(two)), (one, one)]).collect()
}

#[test]
fn parts_of_random_files() {
    let (mut passed, mut copied) = (0, 0);
    cases(60, |random| {
        let source = self::random(random);
        for ticks in parts(random, &times(&source)) {
            let cut = compare("random", &source, ticks);
            passed += cut.passed;
            copied += usize::from(cut.copied > 0);
        }
    });
    println!("{passed} segments were passed, of {copied} files some were copied");
    assert!(passed > 300 && copied > 100, "{passed}, {copied}");
}

/// Recorded files with several segments.
const FILES: &[&str] = &[
    "net10.0-drops.nettrace",
    "mixed_managed_external_samples.nettrace",
    "dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
    "eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
];

/// Returns the times of a file's sequence points, and the contents of the other blocks that events need.
fn blocks(bytes: &[u8]) -> (Vec<u64>, Vec<&[u8]>) {
    let mut container = Container::open(bytes, true).unwrap().unwrap();
    let (mut points, mut blocks) = (Vec::new(), Vec::new());
    loop {
        match container.next(bytes, 0, true) {
            FileItem::Block(block) => {
                let content = &bytes[block.content.start as usize..block.content.end as usize];
                match block.kind {
                    BlockKind::SequencePoint => {
                        points.push(SequencePoint::read(content, Version::V4).unwrap().timestamp);
                    }
                    BlockKind::Event | BlockKind::Stack => blocks.push(content),
                    _ => {}
                }
            }
            FileItem::Fault(_) => {}
            FileItem::More | FileItem::End => return (points, blocks),
        }
    }
}

/// Returns parts of a recorded file: between sequence points, and between events.
fn recorded_parts(source: &Opened, bytes: &[u8]) -> Vec<Ticks> {
    let (points, times) = (blocks(bytes).0, times(source));
    let (first, last) = (points[0], points[points.len() - 1]);
    let at = |part: usize| times[times.len() * part / 100];
    vec![
        (0, u64::MAX),
        (0, last),
        (first, last),
        (points[points.len() / 2], points[points.len() / 2 + 1..].first().copied().unwrap_or(u64::MAX)),
        (first, u64::MAX),
        (at(10), at(90)),
        (at(33), at(34)),
        (0, at(50)),
        (at(50), u64::MAX),
        (at(40), at(40)),
        (0, 1),
    ]
}

#[test]
fn parts_of_recorded_files() {
    let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
    for name in FILES {
        let bytes = bytes_of(&find(&traces, name));
        let source = Opened::of_bytes(name, bytes.clone(), &NettraceOptions::default());
        let (mut passed, mut copied) = (0, 0);
        let parts = recorded_parts(&source, &bytes);
        // A full comparison of all values takes long.
        let parts = if bytes.len() > 1 << 20 { &parts[4..6] } else { &parts[3..8] };
        for ticks in parts {
            let cut = compare(name, &source, *ticks);
            passed += cut.passed;
            copied += cut.copied;
        }
        println!("{name}: {passed} segments were passed, {copied} of them copied");
        assert!(copied > 0, "{name}");
    }
}

/// For the reference reader, a part with copied segments has the same events and as many lost events as an encoded
/// part.
#[test]
fn parts_as_the_reference_reads_them() {
    let test = "parts_as_the_reference_reads_them";
    let (Some(traces), Some((tools, runtimes))) = (ichnos_testing::recorded("nettrace"), runtimes(test))
    else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for name in &FILES[..3] {
        let bytes = bytes_of(&find(&traces, name));
        let source = Opened::of_bytes(name, bytes.clone(), &NettraceOptions::default());
        let all = recorded_parts(&source, &bytes);
        // The reference's texts take long.
        let parts = if name.contains("drops") { &all[4..6] } else { &all[5..6] };
        for ticks in parts.iter().copied() {
            let mut options = encoding(None);
            let encoded = write(&source, ticks, &options);
            options.cut = Some(window(&source, ticks));
            let cut = write(&source, ticks, &options);
            let [expected, found] = [encoded, cut].map(|cut| {
                let path = directory.path().join("cut.nettrace");
                std::fs::write(&path, &cut.bytes).unwrap();
                let (events, lost) = dump_with_lost(&tools, &runtimes, &path);
                // Events with equal times have no order.
                let mut lines: Vec<String> = events.iter().map(ToString::to_string).collect();
                lines.sort();
                (lines, lost)
            });
            assert_eq!((expected.0.len(), expected.1), (found.0.len(), found.1), "{name}: {ticks:?}");
            let differing: Vec<_> = expected.0.iter().zip(&found.0).filter(|(a, b)| a != b).take(3).collect();
            assert!(differing.is_empty(), "{name}: {ticks:?}: {differing:#?}");
            println!("{name}: {ticks:?}: {} events and {} lost ones are the same", found.0.len(), found.1);
        }
    }
}

/// The events of a truncated file are encoded anew, because events in copied segments may break rules.
#[test]
fn repaired_files_have_no_faults() {
    cases(40, |random| {
        let shape = FileShape { phases: 8, compressed: 50, has_rundown: false };
        let bytes = random_file_of(random, Form::V4, shape);
        let cut = &bytes[..bytes.len() / 3 + random.index(bytes.len() * 2 / 3)];
        let Some(source) = Opened::try_of_bytes("source", cut.to_vec()) else { return };
        let mut options = WriteOptions::default();
        options.repair = true;
        let repaired = write(&source, (0, u64::MAX), &options);
        // Invalid texts are repaired.
        assert_eq!(times(&source), times(&repaired.opened));
        assert_eq!((repaired.opened.file.damage().len(), repaired.copied), (0, 0));
        assert_eq!(reading::check(&repaired.bytes).damage, Vec::<serde_json::Value>::new());
    });
}

/// Creates a version 4 file with segments of ten events, 1,000 ticks apart. Block headers have the given times, if any.
fn regular(segments: u32, times: Option<Ticks>) -> Vec<u8> {
    let mut file = File::new(Form::V4);
    file.metadata(&[Metadata::new(1, "Number", [field(Form::V4, 12, "number")])]);
    for segment in 0..segments {
        let first = u64::from(1_000 * segment);
        let event = |number: u32| {
            let event = Event::new(1, 7, 10 * segment + number + 1, first + 10 * u64::from(number));
            event.with(builder::Bytes::new().u64(number.into()))
        };
        let events: Vec<Event> = (0..10).map(event).collect();
        let rows = builder::rows(Form::V4, true, &events);
        let times = times.unwrap_or((first, first + 90));
        file.block(kind::EVENT, &builder::block_header(true, times, 0).raw(&rows.0).0);
        file.sequence_point(first + 500, 0, &[(7, 10 * segment + 10)]);
    }
    file.end()
}

/// If another program truncates the file while segments are copied, writing fails. The output must not contain zeros.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_becomes_shorter() {
    ichnos_io::handle_bus_errors().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("source.nettrace");
    std::fs::write(&path, regular(5_000, None)).unwrap();
    let source = Opened::new(&path);
    let part = (1_000, 4_000_000);
    let mut options = encoding(None);
    options.cut = Some(window(&source, part));
    assert!(write(&source, part, &options).copied > 3_900);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(200_000).unwrap();
    let error = try_write(&source, part, &options).map(|cut| cut.copied).unwrap_err();
    assert!(error.to_string().contains("was truncated during the copy"), "{error}");
}

/// Wrong times in block headers change nothing, because event times decide.
#[test]
fn wrong_times_in_headers() {
    for wrong in [(0, u64::MAX), (0, 0), (5_000, 5_000), (2_000, 2_999), (u64::MAX, 0)] {
        let source = opened("source", regular(4, Some(wrong)));
        for ticks in [(0, 5_000), (1_000, 2_999), (1_050, 2_040), (1_050, 1_060), (9_000, 9_000)] {
            let cut = compare("wrong times", &source, ticks);
            let inside = times(&source).iter().filter(|time| (ticks.0..=ticks.1).contains(*time)).count();
            assert_eq!(cut.events as usize, inside, "{wrong:?}: {ticks:?}");
        }
    }
}

/// Returns the losses in a part of a file, by thread.
fn lost(source: &Opened, ticks: Ticks) -> Lost {
    let mut lost = Lost::new();
    source.each(|message| match message {
        Message::DiscardedEvents(loss) if wants_loss(loss, ticks) => add_loss(&mut lost, loss),
        _ => {}
    });
    lost
}

/// Damaged files have the same events, whether these are copied or encoded.
#[test]
fn parts_of_damaged_files() {
    let mut passed = 0;
    cases(100, |random| {
        let shape = FileShape { phases: 8, compressed: 100, has_rundown: random.is_one_in(2) };
        let mut bytes = random_file_of(random, Form::V4, shape);
        for _ in 0..1 + random.below(3) {
            let at = 100 + random.index(bytes.len() - 100);
            bytes[at] = random.byte();
        }
        let Some(source) = Opened::try_of_bytes("source", bytes) else { return };
        for ticks in [(0, u64::MAX), (1_500, 4_500), (0, 2_000), (3_000, u64::MAX)] {
            let encoded = write_damaged(&source, ticks, &encoding(None));
            let mut options = encoding(None);
            options.cut = Some(window(&source, ticks));
            let cut = write_damaged(&source, ticks, &options);
            passed += cut.passed;
            let sorted = |cut: &WrittenPart| {
                let (mut events, lost) = events(&cut.opened);
                events.sort();
                (events, lost)
            };
            let (expected, found) = (sorted(&encoded), sorted(&cut));
            assert_eq!(expected.0, found.0, "{ticks:?}");
            // Encoders cannot write every loss, but segments keep all losses.
            assert!([expected.1, lost(&source, ticks)].contains(&found.1), "{ticks:?}: {:?}", found.1);
        }
    });
    assert!(passed > 300, "{passed}");
}

/// For `--verify`, digests of the encoder's output equal digests of the written file.
#[test]
fn copied_events_are_verified() {
    cases(40, |random| {
        let source = self::random(random);
        for ticks in parts(random, &times(&source)) {
            let mut options = encoding(None);
            options.cut = Some(window(&source, ticks));
            options.verify = Some(Verify::new(|path, written| {
                let opened = Opened::of_bytes("cut", bytes_of(path), &NettraceOptions::default());
                let mut read = ClassDigest::default();
                opened.each(|message| {
                    if let Message::Event(event) = message {
                        let (ticks, hash) = written.event_hash.unwrap()(event);
                        read.add(ticks, hash);
                    }
                });
                assert_eq!(written.total(), read);
                Ok(())
            }));
            write(&source, ticks, &options);
        }
    });
}
