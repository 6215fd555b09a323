//! Written traces are read back by ichnos and by the trace processor.

use std::path::Path;

use ichnos_fuchsia::fxt::{Record, Records};
use ichnos_fuchsia::fxt_reader::{FxtOptions, FxtTrace};
use ichnos_fuchsia::fxt_writer::FxtWriter;
use ichnos_io::{
    CreateError, Lane, MessageOrder, Verify, WriteOptions, WriteSource, WriteTarget, WriterFactory,
};
use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Length, Member};
use ichnos_model::clock::ClockClass;
use ichnos_model::digest::{StreamDigest, TraceDigest};
use ichnos_model::lower::LossTable;
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::source::{NextRecord, Record as ModelRecord, RecordTrace};
use ichnos_model::trace::Limits;
use ichnos_model::{Cursor, OpenedTrace, Scope, Source, Trace, TraceClass, Window};
use ichnos_testing::Random;
use proptest::collection::vec;
use proptest::prelude::*;

use super::builder::{Builder, body, header, inline};
use super::document::everything;
use super::dump::{messages, open, open_with};
use super::properties::{add, parts, table};
use super::trace_processor::{find, make, tables};

/// Compares a trace with the written digest.
fn compare(path: &Path, written: &TraceDigest) -> Result<(), CreateError> {
    let bytes = std::fs::read(path).unwrap();
    let mut digest = StreamDigest::new(written.event_hash);
    for mut cursor in open(&bytes).cursors(Window::default()) {
        while cursor.advance() {
            digest.message(&cursor.current().unwrap());
        }
    }
    written.difference(&digest.finish()).map_or(Ok(()), |found| Err(CreateError::Mismatch(found)))
}

/// Writes a trace. Returns its bytes and losses.
pub fn write(trace: &dyn OpenedTrace) -> (Vec<u8>, LossTable) {
    write_in_blocks(trace, None)
}

fn write_in_blocks(trace: &dyn OpenedTrace, block: Option<u64>) -> (Vec<u8>, LossTable) {
    write_verified(trace, block, Verify::new(compare)).unwrap()
}

fn write_verified(
    trace: &dyn OpenedTrace,
    block: Option<u64>,
    verify: Verify,
) -> Result<(Vec<u8>, LossTable), CreateError> {
    let source = WriteSource {
        trace: trace.trace().clone(),
        format: trace.format(),
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: trace.data_streams(),
    };
    let mut options = WriteOptions::default();
    options.verify = Some(verify);
    options.packet_size = block;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.fxt");
    assert_eq!(FxtWriter.order(), MessageOrder::Merged);
    let output = FxtWriter.create(WriteTarget::Complete(path.clone()), vec![source], &options).unwrap();
    let mut worker = output.worker(Lane::All);
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            worker.message(&cursor.current().unwrap()).unwrap();
            while let Some(block) = worker.take() {
                output.join(block).unwrap();
            }
        }
    }
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        output.join(block).unwrap();
    }
    drop(worker);
    let report = output.finish()?;
    Ok((std::fs::read(&path).unwrap(), report.losses))
}

/// Checks that writing does not change a trace. Returns the written trace.
pub fn assert_same(bytes: &[u8]) -> Vec<u8> {
    let (written, losses) = assert_same_but_losses(bytes);
    assert!(losses.is_empty(), "{losses:?}");
    written
}

/// Like [`assert_same`], but also returns the losses.
fn assert_same_but_losses(bytes: &[u8]) -> (Vec<u8>, LossTable) {
    let trace = open(bytes);
    let expected = messages(&trace);
    let (written, losses) = write(&trace);
    assert_eq!(messages(&open(&written)), expected);
    // The output only breaks rules that the input already broke.
    let (before, after) =
        (open_with(bytes, &super::dump::checked()), open_with(&written, &super::dump::checked()));
    let damages = |trace: &FxtTrace| messages(trace).iter().filter(|line| line.starts_with("a.fxt:")).count();
    assert!(damages(&after) <= damages(&before), "{:?}", messages(&after));
    // The block size does not change the events.
    let (in_blocks, _) = write_in_blocks(&trace, Some(1));
    assert_eq!(messages(&open(&in_blocks)), expected);
    (written, losses)
}

#[test]
fn all_records_are_written_as_they_were() {
    let bytes = everything();
    let (written, losses) = assert_same_but_losses(&bytes);
    // In records with unknown types, the string and thread indexes are unknown.
    let losses: Vec<_> = losses.iter().map(|(loss, count)| (&*loss.class, &*loss.what, count)).collect();
    let what = "string and thread indexes: the tables differ";
    assert_eq!(losses, [("unknown_record", what, 2)]);
    let names = |bytes: &[u8]| -> Vec<String> {
        open(bytes).streams().iter().map(|summary| summary.stream.name.to_string()).collect()
    };
    assert_eq!(names(&written), names(&bytes));
    // Strings and threads are registered once.
    let count = |is: fn(&Record<'_>) -> bool| {
        Records::new(&written).filter(|found| is(&found.unwrap().record)).count()
    };
    assert_eq!(count(|record| matches!(record, Record::Thread(thread) if thread.thread == 2)), 2);
    assert_eq!(count(|record| matches!(record, Record::String(string) if string.string == b"name")), 1);
}

#[test]
fn writing_does_not_enlarge_the_capture() {
    let Some(path) = ichnos_testing::recorded("fuchsia/magic-trace/trace.fxt") else { return };
    let bytes = std::fs::read(path).unwrap();
    let trace = open(&bytes);
    let (written, losses) = write(&trace);
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(messages(&open(&written)), messages(&trace));
    assert!(written.len() <= bytes.len(), "{} of {} bytes", written.len(), bytes.len());
}

/// Full tables are cleared.
#[test]
fn more_strings_and_threads_than_tables_hold() {
    let mut builder = Builder::new();
    for number in 0..3_000 {
        let argument = |index: u64| {
            let text = format!("text {number} {index}");
            body().argument(6, "a", inline(&text), body().text(&text))
        };
        builder.event(0, number, ["c", "n"], (0..12).map(argument).collect(), &[]);
    }
    for number in 0..600 {
        let all = body().words(&[4_000 + number, number % 300, 1]).text("c");
        builder.record(header(4, &[(32, 0x8001)]), all);
    }
    assert_same(&builder.bytes);
}

/// Forgotten classes are created again.
#[test]
fn more_classes_than_are_kept() {
    let mut builder = Builder::new();
    for number in 0..20_000 {
        let argument = body().argument(4, "number", 0, body().word(number));
        builder.event(0, number, ["c", &format!("e{}", number % 9_000)], vec![argument], &[]);
    }
    assert_same(&builder.bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Random events stay the same after writing and reading twice.
    #[test]
    fn random_events_are_written_as_they_were(events in vec(parts(), 0..30)) {
        let mut builder = Builder::new();
        table(&mut builder);
        events.iter().for_each(|event| drop(add(&mut builder, event)));
        let written = assert_same(&builder.bytes);
        let (again, _) = write(&open(&written));
        prop_assert_eq!(again, written);
    }
}

#[test]
fn the_trace_processor_reads_what_is_written() {
    let Some(processor) = find("the_trace_processor_reads_what_is_written") else { return };
    let directory = tempfile::tempdir().unwrap();
    let [original, copy] = ["original.fxt", "copy.fxt"].map(|name| directory.path().join(name));
    let bytes = make(&mut Random::new(7));
    std::fs::write(&original, &bytes).unwrap();
    std::fs::write(&copy, write(&open(&bytes)).0).unwrap();
    let wanted = tables(&processor, &original);
    assert!(wanted.len() > 100);
    assert_eq!(tables(&processor, &copy), wanted);
}

// ---------------------------------------------------------------------------------------------
// Events of other formats

/// Events from another format, with number fields: start and end of a span, an instant, and a counter.
struct Others(u64);

impl Source for Others {
    fn next(&mut self, record: &mut ModelRecord) -> NextRecord {
        self.0 += 1;
        let index = match self.0 {
            1..=4 => self.0 as usize - 1,
            _ => return NextRecord::End,
        };
        record.set_class(index);
        record.set_cycles(self.0 * 10);
        let values = &mut record.values;
        values.begin(Scope::CommonContext);
        values.push(50u64);
        values.push(60u64);
        values.begin(Scope::Payload);
        match index {
            0 => {
                values.push("caf\u{e9}");
                values.begin_array();
                values.push(1u64);
                values.push(2u64);
                values.end();
                values.push_optional(false);
            }
            3 => (0..20).for_each(|value| values.push(value as u64)),
            _ => values.push(7u64),
        }
        NextRecord::Event
    }
}

fn others() -> RecordTrace {
    let unsigned = || FieldClass::unsigned(64);
    let array = FieldClass::new(FieldKind::Array {
        element: unsigned().into(),
        length: Length::Dynamic(Box::new(ichnos_model::class::FieldLocation::by_values())),
        minimum_alignment: 8,
        element_aligns: true,
    });
    let members = [
        Member::new("text", FieldClass::string()),
        Member::new("array", array),
        Member::new("absent", FieldClass::optional(unsigned())),
    ];
    let mut classes = vec![
        EventRecordClass { role: EventRole::Begin, ..EventRecordClass::new("app:work", members) },
        EventRecordClass {
            role: EventRole::Counter,
            ..EventRecordClass::new("Provider/Memory", [Member::new("used", unsigned())])
        },
        EventRecordClass {
            role: EventRole::End,
            ..EventRecordClass::new("app:work", [Member::new("result", unsigned())])
        },
        EventRecordClass::new("many", (0..20).map(|number| Member::new(format!("f{number}"), unsigned()))),
    ];
    for class in &mut classes {
        class.meanings.insert(Scope::CommonContext, 0, Meaning::Process);
        class.meanings.insert(Scope::CommonContext, 1, Meaning::Thread);
    }
    let mut clock = ClockClass::new("c", 1_000);
    clock.offset_seconds = 5;
    let context =
        FieldClass::structure([Member::new("process", unsigned()), Member::new("thread", unsigned())]);
    let stream =
        DataStreamClass { common_context: Some(context.into()), ..DataStreamClass::new(Some(0), classes) };
    let trace = Trace::new(TraceClass::new("others", [clock], [stream]), "t", &Limits::default()).unwrap();
    RecordTrace::new("others", trace, &Limits::default()).with_stream(0, "some/stream", 0, || Others(0))
}

#[test]
fn events_of_other_formats_have_arguments() {
    let (bytes, losses) = write(&others());
    let trace = open(&bytes);
    let many: String = (0..14).map(|number| format!("f{number}={number} ")).collect();
    assert_eq!(
        messages(&trace),
        [
            "5010 app:work:begin | pid=50 tid=60 |  | text='caf\\xc3\\xa9' array.0=1 array.1=2".to_owned(),
            "5020 Provider:Memory | pid=50 tid=60 | counter_id=0 | used=7".to_owned(),
            "5030 app:work:end | pid=50 tid=60 |  | result=7".to_owned(),
            format!("5040 many | pid=50 tid=60 |  | {many}more='f14=14 f15=15 f16=16 f17=17 f18=18 f19=19'"),
        ]
    );
    assert_eq!(trace.trace().class.clocks[0].frequency, 1_000);
    let losses: Vec<_> =
        losses.iter().map(|(loss, _)| format!("{} {} {}", loss.kind, loss.class, loss.what)).collect();
    assert!(losses.contains(&"lowered many more than 15 arguments -> text".to_owned()), "{losses:#?}");
    assert!(losses.contains(&"lowered  offset -> added to all times".to_owned()), "{losses:#?}");
    let _ = FxtOptions::default();
}

/// Equal ticks on another clock are different times.
#[test]
fn a_wrong_clock_is_noticed() {
    let mut builder = Builder::new();
    builder.record(1, body().words(&[1_000, 5, 1_700_000_000_000_000_000]));
    builder.event(0, 7, ["c", "n"], vec![], &[]);
    let shift = |path: &Path, written: &TraceDigest| {
        let mut bytes = std::fs::read(path).unwrap();
        // The time since 1970 in the initialization record after the magic number record.
        bytes[35] ^= 0x80;
        std::fs::write(path, bytes).unwrap();
        compare(path, written)
    };
    let error = write_verified(&open(&builder.bytes), None, Verify::new(shift)).unwrap_err();
    assert!(matches!(error, CreateError::Mismatch(_)), "{error}");
}
