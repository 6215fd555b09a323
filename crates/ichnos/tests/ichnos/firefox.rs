//! Firefox Profiler profiles, compared with the original traces as other programs read them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ichnos::convert::ConvertOptions;
use ichnos::{OpenOptions, Session};
use ichnos_flow::pump;
use ichnos_model::meaning::{ClassMap, EventDisplay, EventRole, EventRule, Meaning};
use ichnos_model::{Message, Sink, Window};
use ichnos_testing::TraceProcessor;
use serde_json::Value as Json;

use crate::viewers::{examples, open, own_name, writer};

fn convert(session: &Session, path: &Path) {
    let mut options = ConvertOptions::default();
    options.write.existing = ichnos_io::ExistingOutput::Replace;
    let reader = session.reader().unwrap();
    reader.convert(writer("firefox"), Some(path.to_owned()), &options).unwrap();
}

/// Marker: start and end in nanoseconds, name, fields.
type Marker = (Option<i64>, Option<i64>, String, Json);

/// Returns the markers and the number of samples in a profile.
fn read(path: &Path) -> (Vec<Marker>, usize) {
    let profile: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (mut markers, mut samples) = (Vec::new(), 0);
    for thread in profile["threads"].as_array().unwrap() {
        let table = &thread["markers"];
        let time = |column: &str, index: usize| {
            table[column][index].as_f64().map(|milliseconds| (milliseconds * 1e6).round() as i64)
        };
        for index in 0..table["length"].as_u64().unwrap() as usize {
            let name = &thread["stringArray"][table["name"][index].as_u64().unwrap() as usize];
            let name = name.as_str().unwrap().to_owned();
            let data = table["data"][index].clone();
            markers.push((time("startTime", index), time("endTime", index), name, data));
        }
        // Two samples without a stack complete the time range.
        let stacks = thread["samples"]["stack"].as_array().unwrap();
        samples += stacks.iter().filter(|stack| !stack.is_null()).count();
    }
    (markers, samples)
}

/// Number of events by role and name, without span ends.
#[derive(Default)]
struct Counts {
    markers: BTreeMap<String, usize>,
    samples: usize,
}

impl Sink for Counts {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if let Message::Event(event) = message {
            let own = own_name(event);
            let name = own.as_deref().unwrap_or_else(|| event.category_and_name().1);
            match event.class.role {
                EventRole::End | EventRole::Counter => {}
                EventRole::Sample => self.samples += 1,
                EventRole::Begin => {
                    let without = ["Begin", "Start"].into_iter().find_map(|end| name.strip_suffix(end));
                    *self.markers.entry(without.unwrap_or(name).to_owned()).or_default() += 1;
                }
                _ => *self.markers.entry(name.to_owned()).or_default() += 1,
            }
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

#[test]
fn every_event_is_a_marker_or_a_sample() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.profile.json");
    for example in
        ["hello-lttng", "hello-ctf2", "hello-dotnet/hello.nettrace.zst", "hello-jsonl", "hello-xtrace"]
    {
        let session = open(&examples().join(example));
        let mut counts = Counts::default();
        pump(&mut session.cursor(Window::default()).unwrap(), &mut counts).unwrap();
        convert(&session, &path);
        let (markers, samples) = read(&path);
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for (_, _, name, _) in markers {
            *found.entry(name).or_default() += 1;
        }
        assert_eq!(found, counts.markers, "{example}");
        assert_eq!(samples, counts.samples, "{example}");
    }
}

/// Intervals have the same starts, durations and names as the slices that Google's trace processor reads from the
/// original.
#[test]
fn fxt_intervals_equal_trace_processor_slices() {
    let test = "fxt_intervals_equal_trace_processor_slices";
    let Some(processor) = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.profile.json");
    let original = examples().join("hello-fxt/frames.fxt");
    convert(&open(&original), &path);
    let intervals = read(&path).0.into_iter();
    let intervals = intervals.filter_map(|(begin, end, name, _)| Some((begin?, end? - begin?, name)));
    let mut found: Vec<(i64, i64, String)> = intervals.filter(|(_, duration, _)| *duration > 0).collect();
    let answer = processor.query(&original, &["select ts, dur, name from slice where dur > 0"]);
    let mut wanted: Vec<(i64, i64, String)> = answer
        .lines()
        .map(|row| {
            let row: Json = serde_json::from_str(row).unwrap();
            let name = row["name"].as_str().unwrap().to_owned();
            (row["ts"].as_i64().unwrap(), row["dur"].as_i64().unwrap(), name)
        })
        .collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

/// Samples, in nanoseconds since the first sample: time, thread, number of frames.
#[derive(Default)]
pub(crate) struct Samples(pub(crate) Vec<(i128, u64, usize)>);

impl Sink for Samples {
    fn message(&mut self, message: &Message<'_>) -> std::io::Result<std::ops::ControlFlow<()>> {
        if let Message::Event(event) = message
            && event.class.role == EventRole::Sample
        {
            let number = |meaning| event.meaning(meaning).unwrap().as_u64().unwrap();
            let stack = u32::try_from(number(Meaning::Stack)).unwrap();
            let frames = event.stream.trace.frames(stack, None).len();
            self.0.push((event.nanoseconds().unwrap(), number(Meaning::Thread), frames));
        }
        Ok(std::ops::ControlFlow::Continue(()))
    }
}

/// Google's trace processor reads the samples with their threads and stacks if they have absolute times. It does not
/// accept time differences, which the format also allows.
#[test]
fn the_trace_processor_reads_the_samples() {
    const SAMPLES: &str = "select s.ts, t.tid, c.depth from cpu_profile_stack_sample s join thread t using (utid) \
                           join stack_profile_callsite c on c.id = s.callsite_id";
    let test = "the_trace_processor_reads_the_samples";
    let Some(processor) = TraceProcessor::find(test, Path::new(env!("CARGO_TARGET_TMPDIR"))) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.profile.json");
    let session = open(&examples().join("hello-dotnet/hello.nettrace.zst"));
    convert(&session, &path);
    let mut profile: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for thread in profile["threads"].as_array_mut().unwrap() {
        let mut time = 0.0;
        let times = thread["samples"]["timeDeltas"].as_array().unwrap().iter().map(|difference| {
            time += difference.as_f64().unwrap();
            time
        });
        thread["samples"]["time"] = times.collect();
    }
    std::fs::write(&path, profile.to_string()).unwrap();
    let mut wanted = Samples::default();
    pump(&mut session.cursor(Window::default()).unwrap(), &mut wanted).unwrap();
    let answer = processor.query(&path, &[SAMPLES]);
    let mut found: Vec<(i128, u64, usize)> = answer
        .lines()
        .map(|row| {
            let row: Json = serde_json::from_str(row).unwrap();
            let number = |name: &str| row[name].as_u64().unwrap();
            (number("ts").into(), number("tid"), number("depth") as usize + 1)
        })
        .collect();
    found.sort();
    wanted.0.sort();
    assert!(found.len() > 50);
    for samples in [&mut found, &mut wanted.0] {
        let first = samples[0].0;
        samples.iter_mut().for_each(|sample| sample.0 -= first);
    }
    let is_near = |(found, wanted): (&(i128, u64, usize), &(i128, u64, usize))| {
        // Fractional milliseconds are added and rounded.
        (found.0 - wanted.0).abs() <= 2 && (found.1, found.2) == (wanted.1, wanted.2)
    };
    assert_eq!(found.len(), wanted.0.len());
    let different = found.iter().zip(&wanted.0).find(|pair| !is_near(*pair));
    assert_eq!(different, None);
}

/// Difficult fields: nested fields, names that viewers use themselves, integers beyond 53 bits.
const HARD: &str = r#"{"ts":1700000000123456789,"name":"a\"b\u0001","payload":{"mixed":[1,"two",{"x":[null,true]},[[],[2.5]]],"type":"own","cause":1,"a.b":2,"a_b":3}}
{"ts":1700000000123456790,"name":"b","payload":{"big":18446744073709551615,"exact":9007199254740992,"object":{},"text":"</script>"}}
"#;

#[test]
fn fields_are_values_of_markers() {
    let directory = tempfile::tempdir().unwrap();
    let (hard, path) = (directory.path().join("hard.jsonl"), directory.path().join("hard.profile.json"));
    std::fs::write(&hard, HARD).unwrap();
    convert(&open(&hard), &path);
    let profile: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(profile["meta"]["startTime"].as_f64(), Some(1_700_000_000_123.0));
    let (markers, _) = read(&path);
    assert_eq!(markers[0].0, Some(456_789));
    assert_eq!(markers[0].2, "a\"b\u{1}");
    let text = |value: &Json| match value.as_u64() {
        Some(index) => profile["threads"][0]["stringArray"][index as usize].as_str().unwrap().to_owned(),
        None => String::new(),
    };
    let fields = &markers[0].3;
    // In JSON Lines, mixed arrays are texts.
    assert_eq!(text(&fields["mixed"]), r#"["1","two","{\"x\":[null,true]}","[[],[2.5]]"]"#);
    assert_eq!(text(&fields["type_2"]), "own");
    assert_eq!((fields["cause_2"].as_f64(), fields["a_b"].as_f64()), (Some(1.0), Some(2.0)));
    assert_eq!(fields["a_b_2"].as_f64(), Some(3.0));
    let fields = &markers[1].3;
    assert_eq!(fields["exact"].as_f64(), Some(9_007_199_254_740_992.0));
    assert_eq!(text(&fields["object"]), "{}");
    assert_eq!(text(&fields["text"]), "</script>");
}

/// Category colors come from the map.
#[test]
fn categories_have_the_colors_of_a_map() {
    let directory = tempfile::tempdir().unwrap();
    let (lines, path) = (directory.path().join("a.jsonl"), directory.path().join("a.profile.json"));
    let line = |name| format!("{{\"ts\":1700000000123456789,\"name\":\"{name}\",\"payload\":{{}}}}\n");
    std::fs::write(&lines, ["app:a", "app:b", "app:c", "d"].map(line).concat()).unwrap();
    let mut options = OpenOptions::default();
    options.read.class_map = Some(ClassMap::new(|class, stream| {
        let color = match class.name.as_deref() {
            Some("app:a") => "#e00000",
            Some("app:b") => "Gold",
            Some("d") => "none",
            _ => return,
        };
        let display = EventDisplay { color: Some(color.to_owned()), ..EventDisplay::default() };
        assert_eq!(EventRule::new(EventRole::Instant).shown(display).apply(class, stream), [0; 0]);
    }));
    convert(&ichnos::open([&lines], &options).unwrap(), &path);
    let profile: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let (categories, markers) = (&profile["meta"]["categories"], &profile["threads"][0]["markers"]);
    let category = |index: usize| &categories[markers["category"][index].as_u64().unwrap() as usize];
    let found = [0, 1, 2, 3].map(|index| [&category(index)["name"], &category(index)["color"]]);
    assert_eq!(found, [["app", "red"], ["app", "yellow"], ["app", "orange"], ["Other", "grey"]]);
}

/// Mozilla's command reads the markers. `ICHNOS_PROFILER_CLI` is the program with its first arguments.
#[test]
fn mozilla_reads_profiles() {
    let Ok(command) = std::env::var("ICHNOS_PROFILER_CLI") else {
        println!(
            "skipped: mozilla_reads_profiles: ICHNOS_PROFILER_CLI does not name @firefox-devtools/profiler-cli"
        );
        return;
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(arguments).env("HOME", directory.path());
        let output = command.output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let path = directory.path().join("a.profile.json.gz");
    for example in ["hello-lttng", "hello-dotnet/hello.nettrace.zst", "hello-fxt"] {
        let session = open(&examples().join(example));
        convert(&session, &path);
        let plain = directory.path().join("a.profile.json");
        convert(&session, &plain);
        let wanted = read(&plain).0.len() as u64;
        // On a busy machine, the command takes longer than its own time limit.
        let is_loaded = (0..10).any(|_| {
            let is_loaded = run(&["load", path.to_str().unwrap()]).is_some();
            std::thread::sleep(std::time::Duration::from_millis(200));
            is_loaded
        });
        assert!(is_loaded, "{example}");
        let found = run(&["profile", "markers", "--limit", "100000", "--json"]).unwrap();
        run(&["stop", "--all"]);
        let found: Json = serde_json::from_str(&found).unwrap();
        assert_eq!(found["totalCount"].as_u64(), Some(wanted), "{example}");
    }
}
