//! Profiles from generated traces: output in every format, and import by viewers.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerProperties,
    IntegerRange, MappingsBuilder, Member,
};
use ichnos_model::clock::ClockClass;
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::source::{NextRecord, Record, RecordTrace};
use ichnos_model::stack::{CodeKind, Frame, Symbol, Symbols};
use ichnos_model::trace::Limits;
use ichnos_model::{OpenedTrace as _, Scope, Sink as _, Source, Trace, TraceClass, Window};
use ichnos_testing::{Random, cases};
use prost::Message as _;
use serde_json::Value as Json;

use super::profile::ThreadSamples;
use super::*;

/// Event with a stack.
#[derive(Clone, Copy, Debug)]
struct Made {
    time: u64,
    process: u64,
    thread: u64,
    stack: u32,
    size: u64,
    /// 0: profiler sample, 1: other event with a stack, 2: sample with its size as weight.
    class: usize,
}

struct Events {
    events: Vec<Made>,
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
        [event.process, event.thread, u64::from(event.stack), event.size]
            .into_iter()
            .for_each(|value| values.push(value));
        NextRecord::Event
    }
}

fn class() -> TraceClass {
    let of = |name: &str, role| {
        let members = ["process", "thread", "stack", "size"];
        let members = members.map(|name| Member::new(name, FieldClass::unsigned(64)));
        let mut class = EventRecordClass::new(name, members);
        let meanings = [Meaning::Process, Meaning::Thread, Meaning::Stack];
        for (index, meaning) in meanings.into_iter().enumerate() {
            class.meanings.insert(Scope::Payload, index, meaning);
        }
        class.role = role;
        class
    };
    let mut garbage = of("garbage", EventRole::Sample);
    garbage.meanings.insert(Scope::Payload, 3, Meaning::Weight);
    let classes = [of("sample", EventRole::Sample), of("allocation", EventRole::Instant), garbage];
    TraceClass::new("made", [ClockClass::since_unix_epoch("wall")], [DataStreamClass::new(Some(0), classes)])
}

fn trace() -> Trace {
    Trace::new(class(), "made", &Limits::default()).unwrap()
}

/// Returns the profile for these events.
fn collect(trace: &Arc<Trace>, events: &[Made], collector: StackCollector) -> StackProfile {
    let events = events.to_vec();
    let trace = RecordTrace::new("made", Arc::clone(trace), &Limits::default()).with_stream(
        0,
        "events",
        0,
        move || Events { events: events.clone(), next: 0 },
    );
    let mut collector = collector;
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            if let Some(message) = cursor.current() {
                assert!(collector.message(&message).unwrap().is_continue());
            }
        }
    }
    collector.finish()
}

fn profile(trace: &Arc<Trace>, events: &[Made], options: StackOptions) -> StackProfile {
    collect(trace, events, StackCollector::new(options))
}

fn options(weight: StackWeight) -> StackOptions {
    StackOptions { weight, with_times: true, ..StackOptions::default() }
}

fn written(profile: &StackProfile, format: StackFormat) -> Vec<u8> {
    let mut out = Vec::new();
    profile.write(format, StackRoots::None, &mut out).unwrap();
    out
}

fn folded(profile: &StackProfile) -> String {
    String::from_utf8(written(profile, StackFormat::Folded)).unwrap()
}

fn event(time: u64, stack: u32) -> Made {
    Made { time, process: 7, thread: 1, stack, size: 0, class: 0 }
}

#[test]
fn samples_have_weights() {
    let trace = Arc::new(trace());
    let [main, a, b] = ["main", "a", "b"].map(Frame::named);
    let in_a = trace.stacks.intern([main.clone(), a.clone()]).unwrap();
    let in_b = trace.stacks.intern([main, a, b.with_module("lib")]).unwrap();
    let other = |event| Made { thread: 2, ..event };
    let events = [
        Made { size: 5, ..event(10, in_a) },
        Made { size: 1, ..event(13, in_b) },
        Made { size: 2, ..other(event(14, in_a)) },
        Made { size: 9, ..event(20, in_a) },
    ];
    let profile = |weight| profile(&trace, &events, options(weight));
    assert_eq!(folded(&profile(StackWeight::Samples)), "main;a 3\nmain;a;lib!b 1\n");
    let time = profile(StackWeight::Time);
    assert_eq!(folded(&time), "main;a 3\nmain;a;lib!b 7\n");
    assert_eq!((time.samples(), time.weight(), time.threads().count()), (4, 10, 2));
    assert_eq!(folded(&profile(StackWeight::Field("size".into()))), "main;a 16\nmain;a;lib!b 1\n");
    let missing = profile(StackWeight::Field("length".into()));
    assert_eq!((missing.samples(), missing.skipped().without_weight), (0, 4));
    let mut out = Vec::new();
    time.write(StackFormat::Folded, StackRoots::Thread, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "process 7;thread 1;main;a 3\nprocess 7;thread 1;main;a;lib!b 7\n"
    );
    let top = time.functions();
    let rows: Vec<_> = top.iter().map(|row| (&*row.label, row.exclusive, row.inclusive)).collect();
    assert_eq!(rows, [("lib!b", 7, 7), ("a", 3, 10), ("main", 0, 10)]);
}

/// Weights from different sample classes cannot be added.
#[test]
fn one_sample_class_counts() {
    let trace = Arc::new(trace());
    let stack = trace.stacks.intern([Frame::named("f")]).unwrap();
    let garbage = |time| Made { class: 2, size: 1_000, ..event(time, stack) };
    let events = [event(1, stack), garbage(2), event(6, stack)];
    let samples = profile(&trace, &events, StackOptions::default());
    assert_eq!((samples.weight(), samples.not_counted()), (2, &[("garbage".to_owned(), 1)][..]));
    assert_eq!(profile(&trace, &events, options(StackWeight::Time)).weight(), 5);
    // Samples without weights count before others, however many there are.
    let more_garbage = [garbage(1), garbage(2), event(3, stack)];
    let samples = profile(&trace, &more_garbage, StackOptions::default());
    assert_eq!((samples.weight(), samples.not_counted()), (1, &[("garbage".to_owned(), 2)][..]));
    // Only selected samples count.
    let only = vec![FieldValues { path: "size".to_owned(), values: vec!["1000".to_owned()] }];
    let garbage = profile(&trace, &more_garbage, StackOptions { only, ..StackOptions::default() });
    assert_eq!((garbage.weight(), garbage.samples(), garbage.not_counted()), (2_000, 2, &[][..]));
}

/// The time after an unselected sample does not count, with either weight direction.
#[test]
fn samples_are_selected_by_values_of_fields() {
    let trace = Arc::new(trace());
    let [a, b] = ["a", "b"].map(|name| trace.stacks.intern([Frame::named(name)]).unwrap());
    let sized = |time, stack, size| Made { size, ..event(time, stack) };
    let events = [sized(1, a, 2), sized(4, b, 2), sized(11, a, 1), sized(30, b, 2), sized(100, a, 2)];
    let of = |weight, values: &[&str]| {
        let values = values.iter().map(|value| value.to_string()).collect();
        let only = vec![FieldValues { path: "size".to_owned(), values }];
        folded(&profile(&trace, &events, StackOptions { only, ..options(weight) }))
    };
    assert_eq!(of(StackWeight::Samples, &["2"]), "a 2\nb 2\n");
    assert_eq!(of(StackWeight::Time, &["2"]), "a 3\nb 77\n");
    assert_eq!(of(StackWeight::TimeBefore, &["2"]), "a 77\nb 3\n");
    assert_eq!(of(StackWeight::TimeBefore, &["1", "2"]), "a 77\nb 22\n");
    assert_eq!(of(StackWeight::Samples, &["x"]), "");
}

#[test]
fn with_samples_other_events_do_not_count() {
    let trace = Arc::new(trace());
    let stack = trace.stacks.intern([Frame::named("f")]).unwrap();
    let allocation = |time| Made { class: 1, ..event(time, stack) };
    let both = [allocation(1), event(2, stack), allocation(3), event(4, stack)];
    let count = |events: &[Made], options| profile(&trace, events, options).samples();
    assert_eq!(count(&both, StackOptions::default()), 2);
    assert_eq!(count(&both, StackOptions { all_events: true, ..StackOptions::default() }), 4);
    assert_eq!(count(&both[..1], StackOptions::default()), 1);
    assert_eq!(profile(&trace, &both, StackOptions::default()).not_counted(), []);
    let first = StackCollector::new(StackOptions::default()).for_threads(|thread| thread.thread == Some(9));
    assert_eq!(collect(&trace, &both, first).samples(), 0);
}

/// With the option, the thread state is the innermost frame.
#[test]
fn running_threads_are_distinguished() {
    let made = |names: &[(&str, i128)], meaning| {
        let mut mappings = MappingsBuilder::default();
        for (name, value) in names {
            mappings.add_name(name);
            mappings.add_range(IntegerRange::single(*value));
        }
        let integer = IntegerProperties { mappings: Some(mappings.finish()), ..IntegerProperties::default() };
        let bits = BitField::new(64, ByteOrder::LittleEndian, 8);
        let mut class = class();
        let stream = &mut class.data_streams[0];
        let sample = Arc::make_mut(&mut stream.event_records[0]);
        let payload = Arc::make_mut(sample.payload.as_mut().unwrap());
        let FieldKind::Structure { members, .. } = &mut payload.kind else { panic!("a structure") };
        members[3].class = FieldClass::new(FieldKind::Integer { bits, integer }).into();
        sample.meanings.insert(Scope::Payload, 3, meaning);
        let trace = Arc::new(Trace::new(class, "made", &Limits::default()).unwrap());
        let stack = trace.stacks.intern([Frame::named("f")]).unwrap();
        let events = [(10, 2), (14, 1), (15, 0), (17, 2), (20, 2)];
        let events = events.map(|(time, size)| Made { size, ..event(time, stack) });
        let of = |with_states| {
            let options = StackOptions { with_states, ..options(StackWeight::Time) };
            let profile = profile(&trace, &events, options);
            (folded(&profile), profile.has_states())
        };
        (of(false), of(true))
    };
    let plain = ("f 10\n".to_owned(), false);
    let names = [("Error", 0), ("waiting", 1), ("running", 2)];
    let (without, with) = made(&names, Meaning::ThreadState);
    assert_eq!(without, plain);
    assert_eq!(with, ("f;CPU_TIME 7\nf;UNMANAGED_CODE_TIME 3\n".to_owned(), true));
    // Nothing is added for samples without a state.
    assert_eq!(made(&names, Meaning::Tag), (plain.clone(), plain));
}

#[test]
fn frames_are_named_at_the_sample_time() {
    let trace = trace();
    let stack = trace.stacks.intern_addresses(0, &[15, 150, 1_000]).unwrap();
    trace.set_symbols(|| {
        let symbol = |begin, from, name: &str, module: &str, kind| Symbol {
            begin,
            end: begin + 10,
            from,
            until: None,
            name: (!name.is_empty()).then(|| name.into()),
            module: Some(module.into()),
            kind,
        };
        Symbols::new(
            [
                symbol(10, i128::MIN, "old", "app", CodeKind::Managed),
                symbol(10, 100, "new", "app", CodeKind::Managed),
                symbol(145, i128::MIN, "", "libc", CodeKind::Native),
            ]
            .map(|symbol| (0, symbol)),
        )
    });
    let trace = Arc::new(trace);
    let events = [event(99, stack), event(100, stack), event(101, stack)];
    let of = |frames| {
        let profile = profile(&trace, &events, StackOptions { frames, ..StackOptions::default() });
        folded(&profile)
    };
    assert_eq!(of(StackFrames::All), "0x3e8;libc!?;app!new 2\n0x3e8;libc!?;app!old 1\n");
    assert_eq!(of(StackFrames::Named), "app!new 2\napp!old 1\n");
    assert_eq!(of(StackFrames::Managed), "app!new 2\napp!old 1\n");
}

/// Hostile trace: a new thread for each event.
#[test]
fn threads_beyond_the_limit_are_merged() {
    let trace = Arc::new(trace());
    let stack = trace.stacks.intern([Frame::named("f")]).unwrap();
    let events: Vec<Made> = (0..70_000).map(|i| Made { thread: i, ..event(i, stack) }).collect();
    let profile = profile(&trace, &events, StackOptions::default());
    assert_eq!((profile.threads().count(), profile.samples()), ((1 << 16) + 1, 70_000));
}

/// Hostile trace: a very deep stack, where every level is a separate stack.
#[test]
fn deep_stacks_are_cut() {
    let trace = Arc::new(trace());
    let addresses: Vec<u64> = (0..50_000).collect();
    trace.stacks.intern_addresses(0, &addresses).unwrap();
    let events: Vec<Made> = (0..50_000).map(|stack| event(stack.into(), stack)).collect();
    let profile = profile(&trace, &events, StackOptions::default());
    assert_eq!(profile.weight(), 50_000);
    let deepest = folded(&profile).lines().map(|line| line.matches(';').count() + 1).max();
    assert_eq!(deepest, Some(MOST_FRAMES as usize));
}

/// Names with characters that are special in some format.
const NAMES: [&str; 8] =
    ["main", "a;b", "<T>&\"x\"", "line\nfeed", "\u{202e}back\0", "Überschrift 7", "]]>", "back\\slash"];

/// Creates a trace with random stacks, and events with them.
fn random(random: &mut Random) -> (Arc<Trace>, Vec<Made>) {
    let trace = trace();
    let mut stacks = Vec::new();
    for _ in 0..=random.below(12) {
        let frames = (0..=random.below(6)).map(|_| match random.below(4) {
            0 => Frame::at(random.below(5)),
            1 => Frame::named(random.pick(&NAMES)).with_module("m;<"),
            _ => Frame::named(random.pick(&NAMES)),
        });
        let frames: Vec<Frame> = frames.collect();
        stacks.extend(trace.stacks.intern(frames));
    }
    let mut time = 1_700_000_000_000_000_000;
    let events = (0..random.below(40))
        .map(|_| {
            time += random.below(3_000_000);
            let stack = stacks[random.index(stacks.len())];
            let process = random.below(2);
            Made { time, process, thread: random.below(3), stack, size: random.below(9), class: 0 }
        })
        .collect();
    (Arc::new(trace), events)
}

fn weights() -> [StackWeight; 4] {
    [StackWeight::Samples, StackWeight::Time, StackWeight::TimeBefore, StackWeight::Field("size".into())]
}

#[test]
fn weights_add_up_in_every_format() {
    cases(100, |source: &mut Random| {
        let (trace, events) = random(source);
        for weight in weights() {
            let profile = profile(&trace, &events, options(weight.clone()));
            assert_eq!(profile.samples(), events.len() as u64);
            let expected = expected_weight(&events, &weight);
            assert_eq!(profile.weight(), expected);
            let sum: u64 = folded(&profile)
                .lines()
                .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
                .sum();
            assert_eq!(sum, expected);
            assert_eq!(check_speedscope(&written(&profile, StackFormat::Speedscope), &weight), expected);
            assert_eq!(check_pprof(&written(&profile, StackFormat::Pprof), &weight), expected);
            check_firefox(&written(&profile, StackFormat::Firefox), &weight, &profile);
            check_svg(&written(&profile, StackFormat::Svg(None)));
            let top = profile.functions();
            assert_eq!(top.iter().map(|function| function.exclusive).sum::<u64>(), expected);
            assert!(top.iter().all(|function| function.inclusive <= expected));
        }
    });
}

fn expected_weight(events: &[Made], weight: &StackWeight) -> u64 {
    match weight {
        StackWeight::Samples => events.len() as u64,
        StackWeight::Field(_) => events.iter().map(|event| event.size).sum(),
        StackWeight::Time | StackWeight::TimeBefore => {
            let mut last = HashMap::new();
            let mut sum = 0;
            for event in events {
                let before = last.insert((event.process, event.thread), event.time);
                sum += before.map_or(0, |before| event.time - before);
            }
            sum
        }
    }
}

/// Checks that calls start and end in order. Returns the total duration of the profiles.
fn check_speedscope(json: &[u8], weight: &StackWeight) -> u64 {
    let json: Json = serde_json::from_slice(json).unwrap();
    assert_eq!(json["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = json["shared"]["frames"].as_array().unwrap().len() as u64;
    let mut sum = 0;
    for profile in json["profiles"].as_array().unwrap() {
        assert_eq!(profile["type"], "evented");
        let unit = if weight.is_time() { "nanoseconds" } else { "none" };
        assert_eq!(profile["unit"], unit);
        let mut open = Vec::new();
        let mut last = profile["startValue"].as_u64().unwrap();
        let events = profile["events"].as_array().unwrap();
        assert!(!events.is_empty());
        for event in events {
            let (frame, at) = (event["frame"].as_u64().unwrap(), event["at"].as_u64().unwrap());
            assert!(frame < frames && last <= at);
            sum += if open.is_empty() { 0 } else { at - last };
            last = at;
            match event["type"].as_str().unwrap() {
                "O" => open.push(frame),
                "C" => assert_eq!(open.pop(), Some(frame)),
                other => panic!("{other}"),
            }
        }
        assert!(open.is_empty());
        assert_eq!(profile["endValue"].as_u64(), Some(last));
    }
    sum
}

fn check_pprof(bytes: &[u8], weight: &StackWeight) -> u64 {
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut message).unwrap();
    let profile = super::pprof::Profile::decode(&message[..]).unwrap();
    let text = |index: i64| &profile.string_table[index as usize];
    assert_eq!(text(0), "");
    assert_eq!(profile.sample_type.len(), if *weight == StackWeight::Samples { 1 } else { 2 });
    let locations: Vec<u64> = profile.location.iter().map(|location| location.id).collect();
    assert!(locations.iter().copied().eq(1..=profile.function.len() as u64));
    for sample in &profile.sample {
        assert!(!sample.location_id.is_empty() && sample.value.len() == profile.sample_type.len());
        assert!(sample.location_id.iter().all(|id| locations.contains(id)));
        assert!(sample.label.iter().all(|label| !text(label.str).is_empty()));
    }
    profile.sample.iter().map(|sample| *sample.value.last().unwrap() as u64).sum()
}

fn check_firefox(json: &[u8], weight: &StackWeight, profile: &StackProfile) {
    let json: Json = serde_json::from_slice(json).unwrap();
    let threads = json["threads"].as_array().unwrap();
    assert_eq!(threads.len(), profile.threads.len());
    let weights = |thread: &Json| -> u64 {
        match thread["samples"]["weight"].as_array() {
            Some(weights) => weights.iter().map(|weight| weight.as_u64().unwrap()).sum(),
            None => thread["samples"]["length"].as_u64().unwrap(),
        }
    };
    let unit = if weight.is_time() { 1_000_000 } else { 1 };
    let ours = |thread: &ThreadSamples| thread.totals.values().map(|total| total.weight).sum::<u64>() / unit;
    assert_eq!(threads.iter().map(weights).sum::<u64>(), profile.threads.iter().map(ours).sum::<u64>());
}

/// Checks that the image is well-formed.
fn check_svg(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap();
    let (before, rest) = text.split_once("<![CDATA[").unwrap();
    let (_, after) = rest.split_once("]]>").unwrap();
    let mut open = Vec::new();
    let markup = format!("{before}{after}");
    for part in markup.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{part}");
        let entities = ["amp;", "lt;", "gt;", "quot;"];
        assert!(
            text.split('&').skip(1).all(|rest| entities.iter().any(|name| rest.starts_with(name))),
            "{text}"
        );
        assert!(text.chars().all(|c| c == '\n' || c >= ' '), "{text:?}");
        match tag {
            _ if tag.starts_with('?') || tag.ends_with('/') => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(&tag[1..])),
            _ => open.push(tag.split(' ').next().unwrap()),
        }
    }
    assert!(open.is_empty());
}

/// Skips tests whose programs are not installed.
fn is_installed(program: &str) -> bool {
    let is =
        Command::new(program).arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !is {
        eprintln!("skipped: `{program}` is not installed");
    }
    is
}

/// Trace for all importers, with every kind of name and several threads.
fn example() -> (Arc<Trace>, Vec<Made>) {
    let trace = trace();
    let frames =
        |names: &[&str]| names.iter().map(|name| Frame::named(*name).with_module("app")).collect::<Vec<_>>();
    let stacks: Vec<u32> = [
        &["main", "parse", "read"][..],
        &["main", "parse"],
        &["main", "render", "<T>::draw;x", "draw"],
        &["idle"],
    ]
    .iter()
    .map(|names| trace.stacks.intern(frames(names)).unwrap())
    .collect();
    let events = (0..60_u64)
        .map(|i| Made {
            time: 1_700_000_000_000_000_000 + i * 1_000_000,
            process: 7,
            thread: 7 + i % 3,
            stack: stacks[(i * 7 / 5 % 4) as usize],
            size: i,
            class: 0,
        })
        .collect();
    (Arc::new(trace), events)
}

/// Compares examples with the documentation. `ICHNOS_WRITE_TABLES=1` updates them.
#[test]
fn the_page_shows_actual_profiles() {
    let (trace, events) = example();
    let profile = profile(&trace, &events, options(StackWeight::Samples));
    let all = profile.weight() as f64;
    let mut top = "exclusive          inclusive          function\n".to_owned();
    for row in profile.functions() {
        let part = |weight: u64| format!("{weight:>9}  {:>4.1} %", 100.0 * weight as f64 / all);
        top += &format!("{}  {}  {}\n", part(row.exclusive), part(row.inclusive), row.label);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stacks.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut expected = text.clone();
    for (name, block) in [("folded", folded(&profile)), ("top", top)] {
        let begin = format!("<!-- {name} -->\n```text\n");
        let (before, rest) = expected.split_once(&begin).unwrap();
        let (_, after) = rest.split_once("```\n").unwrap();
        expected = format!("{before}{begin}{block}```\n{after}");
    }
    if std::env::var_os("ICHNOS_WRITE_TABLES").is_some() {
        std::fs::write(path, expected).unwrap();
    } else {
        assert_eq!(text, expected);
    }
}

/// Writes a profile to a temporary file. Returns its path.
fn file(profile: &StackProfile, format: StackFormat, end: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ichnos-stacks-{}-{end}", std::process::id()));
    std::fs::write(&path, written(profile, format)).unwrap();
    path
}

#[test]
fn go_pprof_reads_written_profiles() {
    if !is_installed("go") {
        return;
    }
    let (trace, events) = example();
    for weight in weights() {
        let profile = profile(&trace, &events, options(weight.clone()));
        let path = file(&profile, StackFormat::Pprof, "go.pb.gz");
        let run = |arguments: &[&str]| {
            let output =
                Command::new("go").args(["tool", "pprof"]).args(arguments).arg(&path).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let raw = run(&["-raw"]);
        assert!(raw.contains("app!<T>::draw;x") && raw.contains("thread:[thread 8]"), "{raw}");
        // pprof's sums: a line per function, the cumulative value in the fourth column.
        let top = run(&["-top", "-nodecount=100", "-unit=ns"]);
        let of = |label: &str| {
            let line = top.lines().find(|line| line.ends_with(label)).unwrap_or_else(|| panic!("{top}"));
            let number = line.split_whitespace().nth(3).unwrap().trim_end_matches("ns");
            number.parse::<f64>().unwrap() as u64
        };
        for function in profile.functions() {
            assert_eq!(of(&format!(" {}", function.label)), function.inclusive, "{top}");
        }
        std::fs::remove_file(path).unwrap();
    }
}

/// Returns the directory of the npm package `speedscope`: `ICHNOS_SPEEDSCOPE`, or the global one.
fn speedscope() -> Option<PathBuf> {
    let global = || {
        let output = Command::new("npm").args(["root", "-g"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()).join("speedscope"))
    };
    let directory = std::env::var_os("ICHNOS_SPEEDSCOPE").map(PathBuf::from).or_else(global);
    let directory = directory.filter(|directory| directory.join("dist/release").is_dir());
    if directory.is_none() {
        eprintln!("skipped: the package `speedscope` of npm is not installed");
    }
    directory
}

#[test]
fn speedscope_reads_written_profiles() {
    if !is_installed("node") {
        return;
    }
    let Some(directory) = speedscope() else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/stacks/tests/speedscope_import.js");
    let (trace, events) = example();
    for weight in weights() {
        let profile = profile(&trace, &events, options(weight.clone()));
        let formats = [
            (StackFormat::Speedscope, "s.speedscope.json"),
            (StackFormat::Folded, "s.txt"),
            (StackFormat::Pprof, "s.pb.gz"),
        ];
        for (format, end) in formats {
            let path = file(&profile, format, end);
            let output = Command::new("node").arg(script).arg(&directory).arg(&path).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{end}: {error}");
            let profiles: Json = serde_json::from_slice(&output.stdout).unwrap();
            let mut totals: BTreeMap<String, f64> = BTreeMap::new();
            for profile in profiles.as_array().unwrap() {
                for (name, weights) in profile["weights"].as_object().unwrap() {
                    *totals.entry(name.clone()).or_default() += weights[1].as_f64().unwrap();
                }
            }
            let escaped = |name: &str| match format {
                StackFormat::Folded => name.replace(';', ":"),
                _ => name.to_owned(),
            };
            let expected: BTreeMap<String, f64> = profile
                .functions()
                .into_iter()
                .filter(|function| function.inclusive > 0)
                .map(|function| (escaped(&function.label), function.inclusive as f64))
                .collect();
            assert_eq!(totals, expected, "{end}");
            std::fs::remove_file(path).unwrap();
        }
    }
}
