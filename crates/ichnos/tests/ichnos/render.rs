//! Sinks on several threads.

use ichnos::export::{Details, DetailsOptions, Pretty, PrettyOptions, ResumableSink};
use ichnos::{BlockWriter, OpenOptions, PassOptions, Reader, TextOutput};
use ichnos_jsonl::{JsonLines, JsonLinesOptions};

pub(crate) fn text<S: ResumableSink + Send + 'static>(
    reader: &Reader<'_>,
    threads: usize,
    sink: impl Fn(BlockWriter) -> S + Send + Sync,
) -> String {
    let mut options = PassOptions::default();
    options.threads = threads;
    options.chunk_bytes = Some(1);
    let mut text = Vec::new();
    let output = TextOutput::new(&mut text, sink);
    reader.pass().options(options).write(&output).unwrap();
    drop(output);
    String::from_utf8(text).unwrap()
}

const METADATA: &str = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; \
clock { name = c; freq = 1000000000; }; \
typealias integer { size = 64; align = 8; map = clock.c.value; } := time; \
stream { packet.context := struct { time timestamp_begin; time timestamp_end; integer { size = 64; align = 8; } \
content_size; }; event.header := struct { integer { size = 8; align = 8; } id; time timestamp; }; }; \
event { name = even; id = 0; }; event { name = odd; id = 1; };";

/// Creates two data streams with three events per packet.
pub(crate) fn trace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("metadata"), METADATA).unwrap();
    for stream in 0..2u64 {
        let mut bytes = Vec::new();
        for packet in 0..20u64 {
            let time = |event: u64| 1_000 * packet + 100 * event + stream;
            for value in [time(0), time(2), 8 * (24 + 27)] {
                bytes.extend(value.to_le_bytes());
            }
            for event in 0..3 {
                bytes.push(u8::from(packet > 7 && event == 1));
                bytes.extend(time(event).to_le_bytes());
            }
        }
        std::fs::write(directory.path().join(format!("stream_{stream}")), bytes).unwrap();
    }
    directory
}

#[test]
fn any_number_of_threads_writes_the_same() {
    let trace = trace();
    let session = ichnos::open([trace.path()], &OpenOptions::default()).unwrap();
    let reader = session.reader().unwrap();
    assert!(!reader.chunks(1).is_empty());
    let json = |writer| JsonLines::new(writer, JsonLinesOptions::default());
    let pretty = |writer| Pretty::new(writer, PrettyOptions::default());
    let details = |writer| Details::new(writer, DetailsOptions::default());
    let one = [text(&reader, 1, json), text(&reader, 1, pretty), text(&reader, 1, details)];
    assert!(one[0].starts_with(r#"{"type":"stream-begin","stream":0,"#));
    for threads in [2, 5] {
        let many =
            [text(&reader, threads, json), text(&reader, threads, pretty), text(&reader, threads, details)];
        assert_eq!(many, one, "{threads}");
    }
}

/// EventPipe files can be read from any sequence point. It contains the state and the losses up to there.
#[cfg(feature = "nettrace")]
#[test]
fn any_number_of_threads_writes_the_same_eventpipe_text() {
    use ichnos_testing::nettrace_file::{
        Bytes, File, FileEvent as Event, FileMetadata as Metadata, FileVersion as Form, field,
    };
    for form in [Form::V4, Form::V6] {
        let mut file = File::new(form);
        file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number"), field(form, 18, "text")])]);
        if form == Form::V6 {
            file.threads(&[(1, 11, "one"), (2, 12, "two")]);
        }
        for phase in 0..12u32 {
            file.stacks(1, &[&[u64::from(phase), 5], &[7]]);
            let event = |thread: u64, i: u32| {
                // Every hundredth event is lost.
                let sequence = 100 * phase + i + i / 99 + 1;
                let time = u64::from(10_000 * phase + 20 * i) + thread + 5;
                let text = "x".repeat(400);
                let payload = Bytes::new().u32(i).utf16(&text);
                Event { stack: i % 3, ..Event::new(1, thread, sequence, time).with(payload) }
            };
            for thread in 1..3 {
                file.events(true, &(0..98).map(|i| event(thread, i)).collect::<Vec<_>>());
            }
            let last = 100 * phase + 100;
            file.sequence_point(u64::from(10_000 * phase) + 9_000, 0, &[(1, last), (2, last)]);
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.nettrace");
        std::fs::write(&path, file.end()).unwrap();
        let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
        let reader = session.reader().unwrap();
        assert!(reader.chunks(1).len() > 4, "{}", reader.chunks(1).len());
        let json = |writer| JsonLines::new(writer, JsonLinesOptions::default());
        let pretty = |writer| Pretty::new(writer, PrettyOptions::default());
        let one = [text(&reader, 1, json), text(&reader, 1, pretty)];
        assert_eq!(one[0].matches(r#""type":"event","#).count(), 2 * 98 * 12);
        assert!(one[0].contains("discarded-events"));
        for threads in [2, 5] {
            assert!([text(&reader, threads, json), text(&reader, threads, pretty)] == one, "{threads}");
        }
    }
}
