//! Statistics about generated events, compared with a simple computation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, Member};
use ichnos_model::clock::ClockClass;
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::source::{NextRecord, Record, RecordTrace};
use ichnos_model::trace::Limits;
use ichnos_model::{OpenedTrace as _, Scope, Source, Trace, TraceClass, Window};
use ichnos_testing::{Random, cases};

use super::pairs::Unpaired;
use super::*;

/// Event of class `a` or `b`. Only `a` has a member `text`.
#[derive(Clone, Debug)]
struct Made {
    class: usize,
    time: u64,
    number: i64,
    text: &'static str,
    real: f64,
}

struct Events {
    events: Arc<[Made]>,
    next: usize,
}

impl Source for Events {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        let Some(event) = self.events.get(self.next) else { return NextRecord::End };
        self.next += 1;
        record.set_class(event.class);
        record.set_cycles(event.time);
        let values = &mut record.values;
        values.begin(Scope::Payload);
        values.push(event.number);
        values.push(event.real);
        if event.class == 0 {
            values.push(event.text);
        }
        NextRecord::Event
    }
}

/// Trace with these events.
struct Fixture {
    trace: Arc<Trace>,
    events: Vec<Made>,
}

impl Fixture {
    fn new(events: Vec<Made>) -> Self {
        let members = || {
            [
                Member::new("number", FieldClass::signed(64)),
                Member::new("real", FieldClass::float(64)),
                Member::new("text", FieldClass::string()),
            ]
        };
        let mut a = EventRecordClass::new("a", members());
        a.meanings.insert(Scope::Payload, 0, Meaning::Process);
        let b = EventRecordClass::new("b", members().into_iter().take(2));
        let class = TraceClass::new(
            "made",
            [ClockClass::since_unix_epoch("wall")],
            [DataStreamClass::new(Some(0), [a, b])],
        );
        Self { trace: Arc::new(Trace::new(class, "made", &Limits::default()).unwrap()), events }
    }

    /// Sends all messages to `part`, in batches of `size` events.
    fn parts<P>(
        &self,
        size: usize,
        mut part: impl FnMut(&mut dyn FnMut(&mut dyn FnMut(&ichnos_model::Message<'_>))) -> P,
    ) -> Vec<P> {
        let events: Arc<[Made]> = self.events.clone().into();
        let trace = RecordTrace::new("made", Arc::clone(&self.trace), &Limits::default());
        let trace =
            trace.with_stream(0, "events", 0, move || Events { events: Arc::clone(&events), next: 0 });
        let mut cursors = trace.cursors(Window::default());
        let cursor = &mut cursors[0];
        let mut parts = Vec::new();
        let mut is_over = false;
        while !is_over {
            parts.push(part(&mut |take: &mut dyn FnMut(&ichnos_model::Message<'_>)| {
                for _ in 0..size {
                    is_over = !cursor.advance();
                    match cursor.current() {
                        Some(message) if !is_over => take(&message),
                        _ => break,
                    }
                }
            }));
        }
        parts
    }

    fn stats(&self, options: &StatsOptions, size: usize) -> Stats {
        let mut all = Stats::new(options);
        let parts = self.parts(size, |feed| {
            let mut collector = StatsCollector::new(Arc::new(options.clone()));
            feed(&mut |message| collector.message(message));
            collector.finish()
        });
        parts.into_iter().for_each(|part| all.merge(part));
        all
    }

    fn pairs(&self, options: &PairOptions, size: usize) -> Pairs {
        let mut pairs = Pairs::new(options);
        self.parts(size, |feed| {
            let mut reader = PairReader::new(Arc::new(options.clone()));
            feed(&mut |message| {
                reader.message(message);
            });
            pairs.take(&reader.take_records());
        });
        pairs
    }
}

fn random_events(random: &mut Random) -> Vec<Made> {
    let mut time = 1_000;
    let count = random.index(120);
    let mut make = |random: &mut Random| {
        // Clocks in some formats may go back.
        time = if random.is_one_in(20) { time - random.below(50) } else { time + random.below(100) };
        Made {
            class: random.index(2),
            time,
            number: random.below(7) as i64 - 3,
            text: ["", "x", "yy"][random.index(3)],
            real: [0.5, 3.0, -1e300, f64::NAN, f64::INFINITY][random.index(5)],
        }
    };
    (0..count).map(|_| make(random)).collect()
}

/// Expected row: event count, time range, longest gap with its start.
type Expected = (u64, Option<(i128, i128)>, Option<(i128, i128)>);

fn expected<'e>(events: impl Iterator<Item = &'e Made>) -> Expected {
    let times: Vec<i128> = events.map(|event| event.time.into()).collect();
    let range = times.iter().min().copied().zip(times.iter().max().copied());
    let mut gap: Option<(i128, i128)> = None;
    for pair in times.windows(2) {
        let length = pair[1] - pair[0];
        if gap.is_none_or(|gap| length > gap.0) {
            gap = Some((length, pair[0]));
        }
    }
    (times.len() as u64, range, gap)
}

fn found(row: &StatsRow) -> Expected {
    let totals = &row.totals;
    (totals.events, totals.times(), totals.largest_gap().map(|gap| (gap.length, gap.begin)))
}

/// Returns an event's group key.
fn key(event: &Made, by: &[GroupBy]) -> Vec<GroupValue> {
    let text = |text: &str| GroupValue::Text(text.to_owned());
    let part = |by: &GroupBy| match by {
        GroupBy::Event => text(["a", "b"][event.class]),
        GroupBy::Stream => text("events"),
        GroupBy::Field(name) => match name.as_str() {
            "number" => GroupValue::Integer(event.number.into(), None),
            "process" if event.class == 0 => GroupValue::Integer(event.number.into(), None),
            "payload.text" if event.class == 0 => text(event.text),
            "real" => GroupValue::Real(event.real),
            _ => GroupValue::None,
        },
        _ => GroupValue::None,
    };
    by.iter().map(part).collect()
}

/// Compares with a simple loop, for any batches and any rows.
#[test]
fn rows_equal_a_simple_loop() {
    cases(400, |random| {
        let fixture = Fixture::new(random_events(random));
        let field = |name: &str| GroupBy::Field(name.to_owned());
        let all = [
            GroupBy::Event,
            GroupBy::Stream,
            GroupBy::Host,
            field("number"),
            field("process"),
            field("payload.text"),
            field("real"),
            field("nothing"),
        ];
        let by: Vec<GroupBy> = (0..random.index(4)).map(|_| all[random.index(all.len())].clone()).collect();
        let histogram = [None, Some("number"), Some("real")][random.index(3)];
        let options = StatsOptions {
            by: by.clone(),
            histogram: histogram.map(str::to_owned),
            timeline: random.is_one_in(2),
            ..StatsOptions::default()
        };
        let stats = fixture.stats(&options, 1 + random.index(60));
        assert_eq!(stats.missed(), 0);
        assert_eq!(found(stats.all()), expected(fixture.events.iter()));
        // NaNs are equal as text.
        let shown = |key: Vec<GroupValue>| format!("{key:?}");
        let mut keys: BTreeSet<String> = BTreeSet::new();
        for group in stats.groups() {
            let own = shown(group.key);
            let of_group = || fixture.events.iter().filter(|event| shown(key(event, &by)) == own);
            assert_eq!(found(group.row), expected(of_group()), "{own}");
            let numbers = |event: &Made| match histogram {
                Some("number") => Some(event.number as f64),
                Some(_) if !event.real.is_nan() => Some(event.real),
                _ => None,
            };
            let mut numbers: Vec<f64> = of_group().filter_map(numbers).collect();
            numbers.sort_by(f64::total_cmp);
            let row = group.row.numbers.as_deref();
            assert_eq!(row.map_or(0, Distribution::count), numbers.len() as u64);
            if let (Some(row), false) = (row, numbers.is_empty()) {
                let median = row.quantiles(&[500])[0].to_f64();
                assert_eq!(median, numbers[numbers.len().div_ceil(2) - 1]);
            }
            if let Some(timeline) = &group.row.timeline {
                assert_eq!(timeline.counts().sum::<u64>(), of_group().count() as u64);
                let first = of_group().map(|event| i128::from(event.time)).min().unwrap();
                assert_eq!(timeline.begin(), first.div_euclid(timeline.width()) * timeline.width());
            }
            assert!(keys.insert(own));
        }
        let expected: BTreeSet<String> = fixture.events.iter().map(|event| shown(key(event, &by))).collect();
        assert_eq!(keys, if by.is_empty() { BTreeSet::new() } else { expected });
        let has_fields = !fixture.events.is_empty() && by.contains(&field("number"));
        assert_eq!(
            stats.knows_field("number"),
            has_fields || (histogram == Some("number") && !fixture.events.is_empty())
        );
        assert!(!stats.knows_field("nothing"));
    });
}

/// Start and end events are paired by thread, or by processor. Other events are paired only by explicit keys.
#[test]
fn pairs_have_a_default_key() {
    let key = |classes: &[(&str, EventRole, Option<Meaning>)], cpu_id: bool| {
        let events = classes.iter().map(|(name, role, meaning)| {
            let mut class = EventRecordClass::new(*name, [Member::new("number", FieldClass::unsigned(64))]);
            class.role = *role;
            if let Some(meaning) = meaning {
                class.meanings.insert(Scope::Payload, 0, *meaning);
            }
            class
        });
        let mut stream = DataStreamClass::new(Some(0), events);
        if cpu_id {
            let context = FieldClass::structure([Member::new("cpu_id", FieldClass::unsigned(32))]);
            stream.packet_context = Some(Arc::new(context));
        }
        let mut options = PairOptions::new(|name| name == "a" || name == "a2", |name| name == "b");
        let is_used = options.use_default_key(stream.event_records.iter().map(|class| (&stream, &**class)));
        assert_eq!([options.within_traces, !options.keys.is_empty()], [is_used; 2]);
        is_used.then(|| options.keys.join(","))
    };

    let (begin, end) = (EventRole::Begin, EventRole::End);
    let (thread, cpu) = (Some(Meaning::Thread), Some(Meaning::Processor));
    assert_eq!(
        key(&[("a", begin, thread), ("b", end, thread), ("c", end, None)], false),
        Some("thread".to_owned())
    );
    assert_eq!(key(&[("a", begin, cpu), ("b", end, cpu)], false), Some("cpu".to_owned()));
    assert_eq!(key(&[("a", begin, thread), ("b", end, None)], true), Some("cpu".to_owned()));
    assert_eq!(key(&[("a", begin, thread), ("b", end, None)], false), None);
    // One of several classes has another role, or one side is empty.
    assert_eq!(
        key(&[("a", begin, thread), ("a2", EventRole::Sample, thread), ("b", end, thread)], false),
        None
    );
    assert_eq!(key(&[("a", end, thread), ("b", begin, thread)], false), None);
    assert_eq!(key(&[("a", begin, thread)], false), None);
    assert_eq!(key(&[("b", end, thread)], false), None);
}

/// Threads in different traces, and in different processes, are independent.
#[test]
fn default_keys_do_not_pair_events_of_different_traces() {
    let fixture = || {
        let class = |name: &str, role| {
            let members = ["process", "thread"].map(|name| Member::new(name, FieldClass::unsigned(8)));
            let mut class = EventRecordClass::new(name, members);
            class.role = role;
            class.meanings.insert(Scope::Payload, 0, Meaning::Process);
            class.meanings.insert(Scope::Payload, 1, Meaning::Thread);
            Arc::new(class)
        };
        crate::testing::Fixture::with(crate::testing::structure(vec![]), |trace| {
            trace.data_streams[0].event_records =
                vec![class("a", EventRole::Begin), class("b", EventRole::End)];
        })
    };
    let traces = [fixture(), fixture()];
    let mut options = PairOptions::new(|name| name == "a", |name| name == "b");
    let classes = traces.iter().flat_map(|trace| {
        let stream = trace.stream.class();
        stream.event_records.iter().map(move |class| (stream, &**class))
    });
    assert!(options.use_default_key(classes));
    assert_eq!(options.keys, ["process", "thread"]);
    struct Sink(PairReader);
    impl ichnos_model::Sink for Sink {
        fn message(
            &mut self,
            message: &ichnos_model::Message<'_>,
        ) -> std::io::Result<std::ops::ControlFlow<()>> {
            self.0.message(message);
            Ok(std::ops::ControlFlow::Continue(()))
        }
    }
    let mut reader = Sink(PairReader::new(Arc::new(options.clone())));
    // Trace, class, time, process and thread.
    for (trace, class, time, process, thread) in [
        (0, 0, 10, 1, 7),
        (1, 1, 11, 1, 7),
        (0, 1, 12, 2, 7),
        (1, 0, 20, 1, 7),
        (0, 1, 40, 1, 7),
        (1, 1, 60, 1, 7),
    ] {
        traces[trace].event_of_at(&mut reader, class, time, &[process, thread]);
    }
    let mut pairs = Pairs::new(&options);
    pairs.take(&reader.0.take_records());
    let slowest: Vec<_> = pairs.slowest().into_iter().map(|pair| (pair.begin, pair.end, pair.key)).collect();
    let key = || vec![GroupValue::Integer(1, None), GroupValue::Integer(7, None)];
    assert_eq!(slowest, [(20, 60, key()), (10, 40, key())]);
    assert_eq!(pairs.unpaired().without_begin, 2);
}

/// Compares pairs with a simple loop, for any batches, with few and with many open pairs.
#[test]
fn pairs_equal_a_simple_loop() {
    let mut given_up = 0;
    cases(400, |random| {
        let fixture = Fixture::new(random_events(random));
        let (begin, end) = [("a", "b"), ("b", "a"), ("a", "a")][random.index(3)];
        let mut options = PairOptions::new(move |name| name == begin, move |name| name == end);
        options.open = [3, 1_000][random.index(2)];
        options.slowest = random.index(5);
        options.by = if random.is_one_in(2) { vec![GroupBy::Event] } else { Vec::new() };
        let keys = [&[][..], &["number"], &["number", "real"], &["payload.text"]][random.index(4)];
        options.keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let pairs = fixture.pairs(&options, 1 + random.index(60));
        // Open pairs by key: index and time of the start event.
        let mut open: BTreeMap<String, (usize, i128)> = BTreeMap::new();
        let mut latencies: Vec<(i128, i128)> = Vec::new();
        let mut unpaired = Unpaired::default();
        for (place, event) in fixture.events.iter().enumerate() {
            let (name, time) = (["a", "b"][event.class], i128::from(event.time));
            if name != begin && name != end {
                continue;
            }
            let by: Vec<GroupBy> = keys.iter().map(|key| GroupBy::Field((*key).to_owned())).collect();
            let key = key(event, &by);
            if key.contains(&GroupValue::None) {
                unpaired.without_key += 1;
                continue;
            }
            let key = format!("{key:?}");
            if name == end {
                match open.remove(&key) {
                    Some((_, begin)) => latencies.push((time - begin, begin)),
                    None => unpaired.without_begin += u64::from(name != begin),
                }
            }
            if name == begin {
                if open.contains_key(&key) {
                    unpaired.begun_again += 1;
                } else if open.len() == options.open {
                    let oldest = open.iter().min_by_key(|(_, (place, _))| *place).unwrap().0.clone();
                    open.remove(&oldest);
                    unpaired.given_up += 1;
                }
                open.insert(key, (place, time));
            }
        }
        unpaired.without_end = open.len() as u64;
        given_up += unpaired.given_up;
        assert_eq!(pairs.unpaired(), unpaired);
        let slowest: Vec<(i128, i128)> =
            pairs.slowest().iter().map(|pair| (pair.end - pair.begin, pair.begin)).collect();
        // Of equal lengths, the earlier pairs.
        let mut sorted = latencies.clone();
        sorted.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        sorted.truncate(options.slowest);
        assert_eq!(slowest, sorted);
        let mut lengths: Vec<i128> = latencies.iter().map(|latency| latency.0).collect();
        lengths.sort_unstable();
        assert_eq!(pairs.latencies().count(), lengths.len() as u64);
        if !lengths.is_empty() {
            let p90 = lengths[(9 * lengths.len()).div_ceil(10) - 1];
            assert_eq!(pairs.latencies().quantiles(&[900]), [Number::Integer(p90)]);
        }
        let rows: u64 = pairs.groups().map(|group| group.latencies.count()).sum();
        assert_eq!(rows, if options.by.is_empty() { 0 } else { lengths.len() as u64 });
    });
    assert!(given_up > 0);
}

/// Equal batches give equal results, even if they are approximate.
#[test]
fn approximate_rows_depend_only_on_the_batches() {
    cases(60, |random| {
        let events = (0..2_000).map(|time| Made {
            class: 0,
            time,
            number: (random.below(400) * random.below(400) / 400) as i64,
            text: "",
            real: 0.0,
        });
        let fixture = Fixture::new(events.collect());
        let options = StatsOptions {
            by: vec![GroupBy::Field("number".to_owned())],
            groups: 50,
            ..StatsOptions::default()
        };
        let size = 100 + random.index(900);
        let rows = || {
            let stats = fixture.stats(&options, size);
            assert!(stats.missed() > 0);
            let rows =
                stats.groups().map(|group| (format!("{:?}", group.key), group.missed, found(group.row)));
            rows.collect::<Vec<_>>()
        };
        assert_eq!(rows(), rows());
    });
}
