//! Passes: selected, skipped, counted and rejected data.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "fxt")]
use ichnos::StreamMessages;
use ichnos::convert::{ConvertError, ConvertOptions};
use ichnos::export::{Pretty, PrettyOptions};
use ichnos::filter::FilterScope;
use ichnos::model::class::{DataStreamClass, EventRecordClass};
use ichnos::model::clock::ClockClass;
#[cfg(feature = "fxt")]
use ichnos::model::event::EventCounts;
use ichnos::model::source::{NextRecord, Record, RecordTrace};
use ichnos::model::trace::Limits;
use ichnos::model::{Event, Message, Sink, Source, Trace, TraceClass, Window};
use ichnos::{Expression, Filter, OpenOptions, Pass, PassEnd, Selection, Session, TextOutput};

use crate::render::trace;

/// Sink that keeps its messages.
#[derive(Default)]
struct RecordingSink {
    events: Vec<(String, i128)>,
    begun: usize,
    damages: usize,
    preceding: Option<i128>,
    /// Number of events before the sink stops the pass, and the flag to stop it.
    stops_after: Option<(usize, &'static AtomicBool)>,
}

impl Sink for RecordingSink {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match message {
            Message::Event(event) => {
                self.events.push((event.name().to_owned(), event.nanoseconds().unwrap()));
                if let Some((most, stop)) = self.stops_after {
                    stop.store(self.events.len() >= most, Ordering::Relaxed);
                }
            }
            Message::StreamBegin(_) => self.begun += 1,
            Message::Damage(_) => self.damages += 1,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn precede(&mut self, event: &Event<'_>) {
        self.preceding = event.nanoseconds();
    }
}

/// Returns all events without a pass.
fn all(session: &Session) -> Vec<(String, i128)> {
    let mut events = session.events().unwrap();
    let mut all = Vec::new();
    while let Some(event) = events.next_event() {
        all.push((event.name().to_owned(), event.nanoseconds().unwrap()));
    }
    all
}

fn run(
    session: &Session,
    pass: &Pass,
    selection: &Selection,
    mut kept: RecordingSink,
) -> (RecordingSink, PassEnd, u64) {
    let reader = selection.reader(session, Window::default()).unwrap();
    let summary = reader.pass().with(pass.clone()).run(&mut kept).unwrap();
    (kept, summary.end, summary.counts.events)
}

#[test]
fn selected_events() {
    let directory = trace();
    let session = ichnos::open([directory.path()], &OpenOptions::default()).unwrap();
    let all = all(&session);
    assert_eq!(all.len(), 120);
    let filter = Expression::parse("name == \"odd\"").unwrap();
    let traces: Vec<_> = session.traces().iter().map(|trace| Arc::clone(trace.trace())).collect();
    let scope = FilterScope { traces: &traces, has_dynamic_classes: false };
    let filter = Filter::new(&filter, scope, &|text| text.parse().map_err(|_| text.to_owned())).unwrap();
    type Wants = fn(&(String, i128)) -> bool;
    let cases: [(Selection, Wants); 5] = [
        (Selection::default(), |_| true),
        (Selection::default().events(|name| name == "odd"), |(name, _)| name == "odd"),
        (Selection::default().streams(|name| name.ends_with("stream_1")), |(_, time)| time % 100 == 1),
        (Selection::default().condition(|event| event.nanoseconds() < Some(5_000)), |(_, time)| {
            *time < 5_000
        }),
        (Selection::default().filter(&filter), |(name, _)| name == "odd"),
    ];
    for (selection, wants) in cases {
        let expected: Vec<_> = all.iter().filter(|event| wants(event)).cloned().collect();
        let pass = Pass::new(selection.clone());
        let (kept, _, count) = run(&session, &pass, &selection, RecordingSink::default());
        assert_eq!((kept.events, count), (expected.clone(), expected.len() as u64), "{selection:?}");
        let (kept, ..) = run(&session, &pass.clone().limit(3), &selection, RecordingSink::default());
        assert_eq!(kept.events, expected[..3]);
        // The last event is one of the selected events.
        let time = expected[2].1;
        let third = Selection::default().condition(move |event| event.nanoseconds() >= Some(time));
        let (kept, end, count) =
            run(&session, &pass.clone().until(third), &selection, RecordingSink::default());
        assert!(matches!(end, PassEnd::Reached));
        assert_eq!((&kept.events[..], count), (&expected[..3], 3));
        let (kept, _, count) =
            run(&session, &pass.skip(expected.len() as u64 - 2), &selection, RecordingSink::default());
        assert_eq!((kept.events, count, kept.begun), (expected[expected.len() - 2..].to_vec(), 2, 0));
        assert_eq!(kept.preceding, Some(expected[expected.len() - 3].1));
    }
}

#[test]
fn ends() {
    let directory = trace();
    let path = directory.path().join("stream_1");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let session = ichnos::open([directory.path()], &OpenOptions::default()).unwrap();
    let everything = Selection::default();
    let pass = Pass::new(everything.clone());
    let (kept, end, _) = run(&session, &pass, &everything, RecordingSink::default());
    assert!(matches!(end, PassEnd::Over) && kept.damages > 0);
    let (_, end, _) = run(&session, &pass.clone().strict(true), &everything, RecordingSink::default());
    assert!(matches!(end, PassEnd::Refused(damage) if damage.file.ends_with("stream_1")));
    let outputs = tempfile::tempdir().unwrap();
    let target = outputs.path().join("target");
    for name in ["ctf", "jsonl"] {
        let Some(known) = ichnos::convert::target(Some(name), &target, None) else { continue };
        let mut options = ConvertOptions::default();
        options.pass = pass.clone().strict(true);
        let reader = everything.reader(&session, Window::default()).unwrap();
        let converted = reader.convert(known.writer, Some(target.clone()), &options);
        assert!(matches!(converted, Err(ConvertError::Refused(damage)) if damage.file.ends_with("stream_1")));
        assert!(!target.exists());
    }
    static STOP: AtomicBool = AtomicBool::new(false);
    let stopping = RecordingSink { stops_after: Some((7, &STOP)), ..RecordingSink::default() };
    let (kept, end, count) = run(&session, &pass.stop(&STOP).live(), &everything, stopping);
    assert!(matches!(end, PassEnd::Interrupted));
    assert_eq!((kept.events.len(), count), (7, 7));
}

/// Observer that stops a conversion after 1000 events.
#[cfg(feature = "jsonl")]
struct StoppingObserver {
    stop: &'static AtomicBool,
    events: std::sync::atomic::AtomicU64,
}

#[cfg(feature = "jsonl")]
impl ichnos::PassObserver for StoppingObserver {
    fn progress(&self, _: Option<i128>, events: u64) {
        let before = self.events.fetch_add(events, Ordering::Relaxed);
        self.stop.store(before + events >= 1000, Ordering::Relaxed);
    }
}

/// A conversion stops within a data stream without packets, even if no event is selected. Nothing is left behind.
#[cfg(feature = "jsonl")]
#[test]
fn conversions_stop_within_a_data_stream() {
    let directory = tempfile::tempdir().unwrap();
    let lines = directory.path().join("lines.jsonl");
    let line = |number: u32| format!("{{\"ts\":{number},\"name\":\"e\",\"payload\":{{\"v\":{number}}}}}\n");
    std::fs::write(&lines, (0..50_000).map(line).collect::<String>()).unwrap();
    let session = ichnos::open([&lines], &OpenOptions::default()).unwrap();
    for (format, selection) in [
        ("ctf", Selection::default()),
        ("ctf", Selection::default().condition(|_| false)),
        ("jsonl", Selection::default()),
    ] {
        let outputs = tempfile::tempdir().unwrap();
        let path = outputs.path().join("out");
        let target = ichnos::convert::target(Some(format), &path, None).unwrap();
        let observer = StoppingObserver { stop: Box::leak(Box::default()), events: Default::default() };
        let mut options = ConvertOptions::default();
        options.pass = Pass::new(selection.clone()).stop(observer.stop);
        options.observer = &observer;
        let reader = selection.reader(&session, Window::default()).unwrap();
        let converted = reader.convert(target.writer, Some(path), &options);
        assert!(matches!(converted, Err(ConvertError::Stopped)), "{format} {selection:?}: {converted:?}");
        let events = observer.events.load(Ordering::Relaxed);
        assert!((1000..5000).contains(&events), "{format} {selection:?}: {events}");
        assert_eq!(std::fs::read_dir(outputs.path()).unwrap().count(), 0, "{format} {selection:?}");
    }
}

/// Delivers two events with a loss between them.
struct Lossy(u64);

impl Source for Lossy {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        self.0 += 1;
        match self.0 {
            1 | 3 => {
                record.set_cycles(self.0);
                NextRecord::Event
            }
            2 => NextRecord::Discarded(Some(7)),
            _ => NextRecord::End,
        }
    }
}

#[test]
fn changed_losses() {
    let stream = DataStreamClass::new(Some(0), [EventRecordClass::new("tick", [])]);
    let class = TraceClass::new("lossy", [ClockClass::since_unix_epoch("c")], [stream]);
    let trace = Trace::new(class, "t", &Limits::default()).unwrap();
    let trace = RecordTrace::new("lossy", trace, &Limits::default()).with_stream(0, "s", 4, || Lossy(0));
    let session = Session::of_trace(Box::new(trace), &OpenOptions::default());
    let reader = session.reader().unwrap();
    let halved = Pass::default().map_losses(|loss| {
        loss.count = loss.count.map(|count| count / 2);
        true
    });
    for (pass, expected) in [(Pass::default(), 7), (halved, 3), (Pass::default().map_losses(|_| false), 0)] {
        let mut passed = 0;
        let summary = reader.pass().with(pass.clone()).run(&mut |message: &Message<'_>| {
            if let Message::DiscardedEvents(loss) = message {
                passed += loss.count.unwrap();
            }
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!((passed, summary.unwrap().counts.discarded_events), (expected, expected));
        let output = TextOutput::new(io::sink(), |writer| Pretty::new(writer, PrettyOptions::default()))
            .warnings_to(io::sink());
        let summary = reader.pass().with(pass).write(&output).unwrap();
        assert_eq!((summary.counts.events, summary.counts.discarded_events), (2, expected));
    }
}

/// Dynamic classes are in memory only while they are in use, so others can take their place.
#[cfg(feature = "fxt")]
#[test]
fn names_select_the_same_events_in_each_data_stream() {
    let path = "../../examples/hello-fxt/frames.fxt";
    let session = ichnos::open([path], &OpenOptions::default()).unwrap();
    let mut selection = Selection::default().events(|name| name == "gfx:Present:flow_end");
    let mut sum = 0;
    for stream in StreamMessages::of_trace(session.traces()[0].as_ref(), Window::default()) {
        let mut counts = EventCounts::default();
        stream.count(&mut selection, &mut counts, |_, _, _| {});
        sum += counts.sum();
    }
    assert_eq!(sum, 2);
}
