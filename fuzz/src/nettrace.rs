//! EventPipe's files.

use std::path::PathBuf;
use std::sync::Arc;

use ichnos::io::{Lane, Worker, WriteOptions, WriteSource, WriteTarget, WriterFactory as _};
use ichnos::model::{Cursor as _, OpenedTrace, Window};
use ichnos_nettrace::{Feed, FeedItem, NettraceFile, NettraceOptions, NettraceWriter};
use ichnos_testing::nettrace_file::{
    Bytes, File, FileEvent as Event, FileMetadata as Metadata, FileVersion as Form, Trace, block_header,
    field, field_v2, field_v6, kind, tag_v5,
};

/// Version of the container.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Version {
    V3,
    V4,
    V6,
}

impl Version {
    fn form(self) -> Form {
        match self {
            Self::V3 => Form::V3,
            Self::V4 => Form::V4,
            Self::V6 => Form::V6,
        }
    }
}

/// Reads a file that begins like one of a version: sorted or not, with all checks or without, as the first byte says.
pub fn file(version: Version, bytes: &[u8]) {
    let form = version.form();
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let mut file = match choice & 4 {
        0 => File::new(form),
        // The trace block is random, too.
        _ => File::header(form),
    };
    file.bytes.extend_from_slice(bytes);
    let mut options = NettraceOptions::default();
    options.check = choice & 1 != 0;
    options.unsorted = choice & 2 != 0;
    let whole = feed(&file.bytes, usize::MAX);
    assert_eq!(feed(&file.bytes, 1 + usize::from(choice >> 3)), whole, "in pieces");
    let length = file.bytes.len() as u64;
    match NettraceFile::open("file", file.bytes.into(), &options) {
        Ok(trace) => {
            let reading = crate::read_all(&[&trace as &dyn OpenedTrace], length);
            assert!(reading.events <= length, "more events than bytes");
            written_again(&trace, choice & 8 != 0);
        }
        Err(error) => drop(error.to_string()),
    }
}

/// Writes a file again, in its own version or in the other one, and reads that.
fn written_again(trace: &NettraceFile, is_other: bool) {
    let bytes = rewrite(trace, is_other);
    let length = bytes.len() as u64;
    let mut options = NettraceOptions::default();
    options.check = true;
    let written = NettraceFile::open("written", bytes.into(), &options).expect("it was written");
    let reading = crate::read_all(&[&written as &dyn OpenedTrace], length);
    assert!(reading.events <= length, "more events than bytes");
}

fn rewrite(trace: &NettraceFile, is_other: bool) -> Vec<u8> {
    let source = WriteSource {
        trace: Arc::clone(trace.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: trace.data_streams(),
    };
    let mut options = WriteOptions::default();
    let is_v6 = trace.trace().class.dialect.starts_with("NetTrace 6");
    options.dialect = is_other.then(|| if is_v6 { "4" } else { "6" }.to_owned());
    // A whole file would be copied.
    options.leaves_out = true;
    let output = NettraceWriter.create(WriteTarget::Nowhere, vec![source], &options).expect("a writer");
    let mut worker = output.worker(Lane::All);
    let mut bytes = Vec::new();
    let mut take = |worker: &mut dyn Worker| {
        while let Some(block) = worker.take() {
            bytes.extend(block.bytes);
        }
    };
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(message) = cursor.current() {
                worker.message(&message).expect("nothing fails");
                take(&mut *worker);
            }
        }
    }
    worker.finish().expect("nothing fails");
    take(&mut *worker);
    bytes
}

/// What a file that is fed in pieces of a size has: how many items, how many events, bytes of their payloads, and all
/// else as text.
fn feed(mut bytes: &[u8], piece: usize) -> (usize, u64, String) {
    let mut feed = Feed::new();
    let (mut events, mut sum, mut others) = (0, 0u64, String::new());
    loop {
        while let Some(item) = feed.next_item() {
            match item {
                FeedItem::Event(event) => {
                    events += 1;
                    let bytes = event.payload.iter().map(|byte| u64::from(*byte)).sum::<u64>();
                    sum = sum.wrapping_mul(31) ^ event.offset ^ event.row.timestamp ^ bytes;
                }
                FeedItem::Stacks(stacks) => {
                    let first = stacks.first_id;
                    others.push_str(&format!("{first} {}", stacks.count()));
                }
                other => others.push_str(&format!("{other:?}")),
            }
        }
        if bytes.is_empty() {
            break;
        }
        let (next, rest) = bytes.split_at(piece.min(bytes.len()));
        feed.feed(next);
        bytes = rest;
        if bytes.is_empty() {
            feed.finish();
        }
    }
    assert!(feed.next_item().is_none());
    (events, sum, others)
}

/// Writes seeds to the directory of a corpus, if the program was called with one.
pub fn write_seeds(version: Version) {
    let form = version.form();
    let Some(directory) = corpus() else { return };
    for (number, seed) in seeds(form).into_iter().enumerate() {
        for choice in 0..3u8 {
            let seed = [&[choice][..], &seed].concat();
            let _ = std::fs::write(directory.join(format!("seed-{number}-{choice}")), seed);
        }
    }
    let whole = File::new(form).end();
    let header = File::header(form).bytes.len();
    let _ = std::fs::write(directory.join("seed-trace"), [&[4][..], &whole[header..]].concat());
}

/// Writes whole files as seeds, behind two bytes: `first`, and one of a few numbers.
pub fn write_seeds_of_files(first: u8) {
    let Some(directory) = corpus() else { return };
    for (version, form) in [Form::V4, Form::V6].into_iter().enumerate() {
        let begin = File::new(form).bytes;
        for (number, seed) in seeds(form).into_iter().enumerate() {
            for choice in 0..5u8 {
                let seed = [&[first, choice][..], &begin, &seed].concat();
                let _ = std::fs::write(directory.join(format!("nettrace-{version}-{number}-{choice}")), seed);
            }
        }
    }
}

/// The directory of a corpus, if the program was called with one.
fn corpus() -> Option<PathBuf> {
    let directory = std::env::args().skip(1).map(PathBuf::from).find(|path| path.is_dir())?;
    directory.to_string_lossy().contains("corpus").then_some(directory)
}

/// Small files without their header and trace block.
fn seeds(form: Form) -> Vec<Vec<u8>> {
    let begin = File::new(form).bytes.len();
    let mut seeds = Vec::new();
    for compressed in [true, false] {
        let mut file = File::new(form);
        file.metadata(&metadata(form));
        file.stacks(1, &[&[], &[1, 2, 3], &[9]]);
        file.threads(&[(1, 11, "main"), (2, 12, "")]);
        let labels = Bytes::new().u32(1).u32(2).u8(1).raw(&[7; 16]).u8(0x80 | 5).text("k").text("v");
        let labels = labels.u8(3).raw(&[8; 16]).u8(6).text("n").var(5).u8(0x87).u8(1);
        file.block(kind::LABEL_LIST, &labels.0);
        let payloads = [
            Bytes::new().u32(5).utf16("text").u32(1),
            Bytes::new().u16(2).u16(1).u16(2).u64(9),
            Bytes::new().raw(&[1, 2, 3, 4, 0x80, 1, 6, 0, 3, 0, 4, 0, 3, 0, b'a', b'b', b'c', b'd']),
            Bytes::new(),
        ];
        let events = (0..12u64).map(|i| {
            let metadata = 1 + (i % 4) as u32;
            let mut event = Event::new(metadata, 1 + i / 6, 1 + (i % 6) as u32, 1_000 + 7 * i);
            event.stack = (i % 3) as u32;
            event.labels = (i % 3) as u32;
            event.is_sorted = i % 5 == 0;
            event.activity[0] = (i / 4) as u8;
            event.with(payloads[(metadata - 1) as usize].clone())
        });
        let events: Vec<Event> = events.collect();
        file.events(compressed, &events[..7]);
        file.sequence_point(1_050, 0, &[(1, 6), (2, 9)]);
        file.block(kind::REMOVE_THREAD, &Bytes::new().var(2).var(20).0);
        file.events(compressed, &events[7..]);
        file.block((99, "Another"), &[1; 9]);
        seeds.push(file.end()[begin..].to_vec());
    }
    let mut file = File::with(form, &Trace::default());
    file.block(kind::EVENT, &block_header(true, (1, 2), 4).raw(&[0xff; 30]).0);
    seeds.push(file.bytes[begin..].to_vec());
    seeds
}

fn metadata(form: Form) -> Vec<Metadata> {
    let plain = [field(form, 9, "number"), field(form, 18, "text"), field(form, 3, "flag")];
    let plain = Metadata::new(1, "Plain", plain);
    let (arrays, wild) = match form {
        Form::V6 => {
            let object = Bytes::new().u8(1).u16(1).sized(field_v6("inner", &[12]));
            let arrays = [field_v6("list", &[19, 8]), field_v6("object", &object.0)];
            let wild = [
                field_v6("fixed", &[22, 6, 4, 0]),
                field_v6("packed", &[20]),
                field_v6("more", &[21]),
                field_v6("near", &[24, 23]),
                field_v6("far", &[25, 4]),
            ];
            (Metadata::new(2, "Arrays", arrays), Metadata::new(3, "Wild", wild))
        }
        _ => {
            let mut arrays = Metadata::new(2, "Arrays", []);
            let list = field_v2("list", Bytes::new().u32(19).u32(8));
            let inner = Bytes::new().u32(1).u32(1).raw(&field_v2("inner", Bytes::new().u32(12)).0);
            let fields = Bytes::new().u32(2).raw(&list.0).raw(&field_v2("object", inner).0);
            arrays.tags = tag_v5(1, Bytes::new().u8(2)).raw(&tag_v5(2, fields).0);
            (arrays, Metadata::new(3, "Wild", [field(form, 17, "guid")]))
        }
    };
    let mut known = Metadata::new(4, "", []);
    known.provider = "Microsoft-Windows-DotNETRuntime".to_owned();
    known.event_id = 80;
    vec![plain, arrays, wild, known]
}
