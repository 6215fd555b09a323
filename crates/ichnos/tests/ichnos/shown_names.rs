//! Event, process, thread, counter and object names in viewers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::{OpenOptions, Session};
use ichnos_flow::pump;
use ichnos_model::Window;
use ichnos_testing::recorded;
use ichnos_viewers::{Timeline, TimelineTrackKind};
use serde_json::Value as Json;

use crate::missing::check_otlp;
use crate::otlp::{elements, spans};
use crate::viewers::{ERRORS, all_rows, convert, examples, open, processor};

fn timeline(session: &Session) -> Timeline {
    let mut timeline = Timeline::new(1 << 28).with_flows();
    pump(&mut session.cursor(Window::default()).unwrap(), &mut timeline).unwrap();
    timeline.finish();
    timeline
}

/// Returns the names of a kind's tracks.
fn tracks(timeline: &Timeline, kind: TimelineTrackKind) -> BTreeSet<String> {
    let tracks = timeline.tracks().iter().filter(|track| track.kind == kind);
    tracks.map(|track| track.name.to_string()).collect()
}

/// Returns the events with a phase in Chrome's JSON.
fn chrome(path: &Path, phase: &str) -> Vec<Json> {
    let file: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = file["traceEvents"].as_array().unwrap().iter();
    events.filter(|event| event["ph"] == phase).cloned().collect()
}

/// Returns the column `row` in an answer.
fn column(rows: &[String]) -> BTreeSet<String> {
    let text = |row: &String| serde_json::from_str::<Json>(row).unwrap()["row"].as_str().map(str::to_owned);
    rows.iter().filter_map(text).collect()
}

/// .NET counters are in an object in the payload, and their names are UTF-16.
#[test]
fn counters_of_dotnet_are_counters() {
    let test = "counters_of_dotnet_are_counters";
    let Some(path) = recorded("reports/use/dotnet-counters.nettrace") else { return };
    let directory = tempfile::tempdir().unwrap();
    let session = open(&path);
    let events = chrome(&convert(&session, "chrome", directory.path()), "C");
    let of = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
    let names: BTreeSet<_> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert!(names.len() > 10 && names.iter().all(|name| !name.contains('\0')), "{names:?}");
    assert!((of("working-set")[0]["args"]["Mean"].as_f64().unwrap() - 35.434_496).abs() < 1e-9);
    assert_eq!(of("gen-0-gc-count")[0]["args"]["Increment"], 0.0);
    let shown = timeline(&session);
    let counters = shown.tracks().iter().filter(|track| track.kind == TimelineTrackKind::Counter);
    let units: BTreeMap<&str, Option<&str>> =
        counters.map(|track| (&*track.name, track.unit.as_deref())).collect();
    assert_eq!(units.keys().copied().collect::<BTreeSet<_>>(), names);
    assert_eq!(units["working-set"], Some("MB"));
    let path = convert(&session, "otlp", directory.path());
    check_otlp(&path);
    let metrics = elements(&path, ["resourceMetrics", "scopeMetrics", "metrics"]);
    let written: BTreeSet<_> = metrics.iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    assert_eq!(written, names);
    assert!(metrics.iter().any(|metric| metric["name"] == "cpu-usage" && metric["unit"] == "%"));
    let Some(processor) = processor(test) else { return };
    let path = convert(&session, "perfetto", directory.path());
    const COUNTERS: &str =
        "select distinct t.name as row from counter c join counter_track t on t.id = c.track_id";
    let [counters, errors] = all_rows(&processor, &path, &[COUNTERS, ERRORS]).try_into().unwrap();
    assert_eq!(errors, [""; 0]);
    assert_eq!(column(&counters), names.iter().map(|name| (*name).to_owned()).collect());
}

/// A .NET process is named after its program, and a thread after its use by the runtime.
#[test]
fn processes_and_threads_of_dotnet_have_names() {
    let test = "processes_and_threads_of_dotnet_have_names";
    let Some(path) = recorded("nettrace/runtime/net10.0-small.nettrace") else { return };
    let session = open(&path);
    let shown = timeline(&session);
    let processes = tracks(&shown, TimelineTrackKind::Process);
    assert_eq!(processes, BTreeSet::from(["dosai-linux-amd64 (15541)".to_owned()]));
    let threads = tracks(&shown, TimelineTrackKind::Thread);
    assert!(threads.iter().any(|name| name.starts_with("thread pool worker (")), "{threads:?}");
    let directory = tempfile::tempdir().unwrap();
    let Some(processor) = processor(test) else { return };
    let path = convert(&session, "perfetto", directory.path());
    const NAMES: &str =
        "select distinct p.name || ' ' || t.name as row from thread t join process p using (upid)";
    let [names, errors] = all_rows(&processor, &path, &[NAMES, ERRORS]).try_into().unwrap();
    assert_eq!(errors, [""; 0]);
    assert!(column(&names).contains("dosai-linux-amd64 thread pool worker"), "{names:?}");
}

/// X-Trace reports are named after their labels, and their processes after their agents.
#[test]
fn reports_are_called_by_their_labels() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(&examples().join("hello-xtrace"));
    let path = convert(&session, "chrome", directory.path());
    let labels: Vec<_> = chrome(&path, "i").iter().map(|event| event["name"].clone()).collect();
    assert_eq!(labels.len(), 9);
    assert!(labels.contains(&"GET http://example.com/".into()) && !labels.contains(&"report".into()));
    let named = chrome(&path, "M").into_iter().filter(|event| event["name"] == "process_name");
    let processes: BTreeSet<_> = named.map(|event| event["args"]["name"].to_string()).collect();
    assert!(processes.contains("\"HTTP client\""), "{processes:?}");
    let shown = timeline(&session);
    assert!(tracks(&shown, TimelineTrackKind::Process).contains("HTTP client"));
    assert!(shown.tracks().iter().all(|track| track.kind != TimelineTrackKind::Stream));
}

/// ROS 2 callbacks are named after topics and functions, and messages go from writers to readers.
#[test]
fn ros_callbacks_are_named_after_topics() {
    let Some(path) = recorded("ctf/real/ctf2/tc-ros2") else { return };
    let session = open(&path);
    let shown = timeline(&session);
    let names: Vec<&str> = (0..shown.names()).map(|number| shown.name(number)).collect();
    assert!(names.iter().any(|name| name.starts_with("/parameter_events ")), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("callback 0x")), "{names:?}");
    assert!(shown.flows().len() > 1_000, "{}", shown.flows().len());
}

/// Returns the events in a trace as JSON lines.
fn lines(session: &Session) -> Vec<Json> {
    let mut lines = JsonLines::new(Vec::new(), JsonLinesOptions::default());
    pump(&mut session.cursor(Window::default()).unwrap(), &mut lines).unwrap();
    lines.flush().unwrap();
    let lines = lines.writer().split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice::<Json>(line).unwrap());
    lines.filter(|line| line["type"] == "event").collect()
}

/// Spans that publish a message or wait for one are named after the topic, if the trace contains it.
#[test]
fn messages_of_ros_have_topics() {
    let Some(path) = recorded("ctf/real/ctf2/tc-ros2") else { return };
    let session = open(&path);
    // Topics by process and address, and messages in transit.
    let (mut topics, mut messages) = (HashMap::new(), HashMap::new());
    let mut expected: BTreeMap<String, usize> = BTreeMap::new();
    for event in lines(&session) {
        let payload = &event["payload"];
        let key = |name: &str| (event["common_context"]["vpid"].as_u64(), payload[name].as_u64());
        let topic = match event["name"].as_str().unwrap() {
            "dds:create_writer" => topics.insert(key("writer"), payload["topic_name"].clone()).and(None),
            "ros2:rcl_publisher_init" => {
                topics.insert(key("publisher_handle"), payload["topic_name"].clone()).and(None)
            }
            "ros2:rcl_publish" => {
                let topic = topics.get(&key("publisher_handle")).cloned();
                messages.insert(key("message"), topic.clone());
                topic
            }
            "ros2:rmw_publish" => messages.remove(&key("message")).flatten(),
            "dds:write" => topics.get(&key("writer")).cloned(),
            _ => continue,
        };
        if let Some(topic) = topic {
            let (_, name) = event["name"].as_str().unwrap().split_once(':').unwrap();
            *expected.entry(format!("{name} {}", topic.as_str().unwrap())).or_default() += 1;
        }
    }
    let of = |name: &str| expected.get(name).copied().unwrap_or_default();
    assert_eq!(of("rcl_publish /topic_a"), of("rmw_publish /topic_a"));
    assert!(of("rmw_publish /topic_a") > 1_000 && of("write rt/topic_a") > 1_000, "{expected:?}");
    let mut shown = timeline(&session);
    let (begin, end) = shown.range().unwrap();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for track in 0..shown.tracks().len() as u32 {
        for (_, item) in shown.spans(track, begin, end, u64::MAX) {
            let name = shown.name(item.name);
            if ["rcl_publish ", "rmw_publish ", "write "].iter().any(|begin| name.starts_with(begin)) {
                *found.entry(name.to_owned()).or_default() += item.count as usize;
            }
        }
    }
    assert_eq!(found, expected);
    // The executor runs what a subscription or a timer wakes up.
    let names: BTreeSet<&str> = (0..shown.names()).map(|number| shown.name(number)).collect();
    for name in ["rclcpp_executor_execute source every 5.000 ms", "rclcpp_executor_execute /topic_a"] {
        assert!(names.contains(name), "{names:?}");
    }
}

/// A request through four tracers is one OpenTelemetry trace: parents contain their spans, and other causes are links.
#[test]
fn one_request_is_one_trace() {
    let directory = tempfile::tempdir().unwrap();
    let root = examples().join("one-request/trace");
    let paths = ["prices.nettrace.zst", "shop.reports", "stock"].map(|name| root.join(name));
    let session = ichnos::open(&paths, &OpenOptions::default()).unwrap();
    let path = convert(&session, "otlp", directory.path());
    check_otlp(&path);
    let spans = spans(&path);
    let of = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
    let order = of("order 7: two rolls");
    for span in &spans {
        assert_eq!(span["traceId"], order["traceId"], "{span}");
    }
    let time = |span: &Json, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    let find = |id: &Json| spans.iter().find(|span| span["spanId"] == *id);
    let mut parents = 0;
    for span in &spans {
        if let Some(parent) = span.get("parentSpanId") {
            let parent = find(parent).unwrap();
            assert!(time(parent, "startTimeUnixNano") <= time(span, "startTimeUnixNano"), "{span}");
            assert!(time(parent, "endTimeUnixNano") >= time(span, "endTimeUnixNano"), "{span}");
            parents += 1;
        }
        for link in span["links"].as_array().into_iter().flatten() {
            assert!(find(&link["spanId"]).is_some(), "{link}");
        }
        let has_cause = span.get("parentSpanId").is_some() || !span["links"].is_null();
        assert_eq!(has_cause, span["spanId"] != order["spanId"], "{span}");
    }
    assert!(parents > 0);
    assert_eq!(of("Request")["parentSpanId"], of("look up prices")["spanId"]);
}
