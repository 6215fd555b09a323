//! Object names in statistics, compared with names in the event lines.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Directory, ichnos, recorded};

/// Number and total length of spans by name.
type Rows = BTreeMap<String, (u64, u64)>;

/// Returns the rows of `stats --spans`, computed in one part and in many.
fn rows(path: &Path) -> [Rows; 2] {
    ["1000000000", "500"].map(|chunk| {
        let path = path.to_str().unwrap();
        let options = ["--json", "--top", "100000", "--threads", "8", "--chunk-size", chunk];
        let found = ichnos([&["stats", "--spans", path][..], &options].concat()).expect(0, &[]).json();
        let row = |row: &Json| {
            let number = |name: &str| row["latency_ns"][name].as_u64().unwrap();
            (row["key"][0].as_str().unwrap().to_owned(), (number("count"), number("total")))
        };
        found["rows"].as_array().unwrap().iter().map(row).collect()
    })
}

/// Returns the events in a trace.
fn events(path: &Path) -> Vec<Json> {
    let lines = ichnos(["cat", "--format", "jsonl", path.to_str().unwrap()]).expect(0, &[]).out;
    let lines = lines.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines.filter(|line| line["type"] == "event").collect()
}

/// Texts and numbers in ROS 2 events, by process and address.
#[derive(Default)]
struct RecordedNames(HashMap<(&'static str, u64, u64), Json>);

impl RecordedNames {
    /// Names and owners, by event and members.
    const RULES: [(&str, &str, &str); 10] = [
        ("rclcpp_callback_register", "callback", "symbol"),
        ("rclcpp_subscription_callback_added", "callback", "subscription"),
        ("rclcpp_subscription_init", "subscription", "subscription_handle"),
        ("rcl_subscription_init", "subscription_handle", "topic_name"),
        ("rclcpp_service_callback_added", "callback", "service_handle"),
        ("rcl_service_init", "service_handle", "service_name"),
        ("rclcpp_timer_callback_added", "callback", "timer_handle"),
        ("rcl_timer_init", "timer_handle", "period"),
        ("rclcpp_timer_link_node", "timer_handle", "node_handle"),
        ("rcl_node_init", "node_handle", "node_name"),
    ];

    fn take(&mut self, event: &Json) {
        let payload = &event["payload"];
        let process = event["common_context"]["vpid"].as_u64().unwrap();
        for (name, object, value) in Self::RULES {
            if event["name"].as_str().unwrap().strip_prefix("ros2:") == Some(name) {
                self.0.insert((value, process, payload[object].as_u64().unwrap()), payload[value].clone());
            }
        }
    }

    fn get(&self, what: &'static str, process: u64, of: &Json) -> Json {
        let found = of.as_u64().and_then(|object| self.0.get(&(what, process, object)));
        found.cloned().unwrap_or_default()
    }

    /// Returns the object that calls a callback, and the callback's function.
    fn callback(&self, process: u64, callback: &Json) -> String {
        let get = |what, of: &Json| self.get(what, process, of);
        let subscription = get("subscription_handle", &get("subscription", callback));
        let timer = get("timer_handle", callback);
        let period = get("period", &timer).as_u64().map(|period| {
            assert_eq!(period % 1_000_000, 0);
            Json::from(format!("every {}.000 ms", period / 1_000_000))
        });
        let parts = [
            get("topic_name", &subscription),
            get("service_name", &get("service_handle", callback)),
            get("node_name", &get("node_handle", &timer)),
            period.unwrap_or_default(),
            get("symbol", callback),
        ];
        let parts: Vec<&str> = parts.iter().filter_map(Json::as_str).collect();
        let mut name = parts.join(" ");
        name.truncate(name.floor_char_boundary(256));
        name
    }
}

/// ROS 2 callbacks are named after their topics, services and timers, and their functions.
#[test]
fn ros_callbacks_have_separate_rows() {
    let Some(path) = recorded("ctf/real/ctf2/tc-ros2") else { return };
    let (mut recorded, mut expected) = (RecordedNames::default(), Rows::new());
    let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
    for event in events(&path) {
        let [process, thread] = ["vpid", "vtid"].map(|name| event["common_context"][name].as_u64().unwrap());
        let time = event["ts"].as_u64().unwrap();
        match event["name"].as_str().unwrap() {
            "ros2:callback_start" => {
                let name = recorded.callback(process, &event["payload"]["callback"]);
                open.entry(thread).or_default().push((name, time));
            }
            "ros2:callback_end" => {
                let (name, begin) = open.get_mut(&thread).unwrap().pop().unwrap();
                let row = expected.entry(name).or_default();
                *row = (row.0 + 1, row.1 + time - begin);
            }
            _ => recorded.take(&event),
        }
    }
    assert!(expected.keys().any(|name| name.starts_with("source every 5.000 ms ")), "{expected:?}");
    assert!(expected.keys().any(|name| name.starts_with("/topic_a ")), "{expected:?}");
    for rows in rows(&path) {
        assert_eq!(rows, expected);
    }
}

/// Lines for classes and events.
struct Lines {
    text: String,
    time: u64,
}

impl Lines {
    fn new() -> Self {
        let begin = r#"{"type":"stream-begin","stream":0,"name":"s","class":{"id":0},"trace":{"path":"t","format":"x"},"clock":{"frequency":1000000000,"offset_seconds":1700000000,"offset_cycles":0,"origin":"unix-epoch"}}"#;
        Self { text: format!("{begin}\n"), time: 1_700_000_000_000_000_000 }
    }

    /// Adds a class whose events have a process and a thread.
    fn class(&mut self, id: u64, name: &str, about: &str, meaning: &str, members: &[&str]) {
        let number = r#"{"type":"integer","length":64,"preferred_display_base":16}"#;
        let member = |name: &&str| {
            let class = if *name == "text" { r#"{"type":"string"}"# } else { number };
            format!(r#"{{"name":"{name}","class":{class}}}"#)
        };
        let members: Vec<_> = [&["pid", "tid"][..], members].concat().iter().map(member).collect();
        let _ = writeln!(
            self.text,
            r#"{{"type":"event-class","stream":0,"id":{id},"name":"{name}",{about}"meanings":{{"payload":{{"pid":"process","tid":"thread"{meaning}}}}},"fields":{{"payload":{{"type":"structure","members":[{}]}}}}}}"#,
            members.join(",")
        );
    }

    /// Adds an event. Returns its time.
    fn event(&mut self, id: u64, name: &str, process: u64, members: &str) -> u64 {
        let tid = process * 10;
        self.time += 7 + id;
        let (time, comma) = (self.time, if members.is_empty() { "" } else { "," });
        let _ = writeln!(
            self.text,
            r#"{{"type":"event","stream":0,"ts":{time},"id":{id},"name":"{name}","payload":{{"pid":{process},"tid":{tid}{comma}{members}}}}}"#
        );
        time
    }
}

/// Objects in two processes share numbers, are renamed, and end.
#[test]
fn rows_have_the_names_of_objects_at_their_time() {
    let mut lines = Lines::new();
    let named = r#""display":{"object":"payload.object","object-name":"payload.text"},"#;
    lines.class(1, "named", named, "", &["object", "text"]);
    let owned = r#""display":{"object":"payload.object","object-name":"payload.of"},"#;
    lines.class(2, "owned", owned, "", &["object", "of"]);
    lines.class(3, "gone", r#""display":{"object":"payload.object"},"#, "", &["object"]);
    let key = r#","object":"event-name""#;
    lines.class(4, "call_begin", r#""role":"begin","#, key, &["object"]);
    lines.class(5, "call_end", r#""role":"end","#, "", &[]);
    lines.class(6, "use_begin", r#""role":"begin","display":{"about":"payload.object"},"#, "", &["object"]);
    lines.class(7, "use_end", r#""role":"end","#, "", &[]);
    let mut expected = Rows::new();
    let mut names: HashMap<(u64, u64), String> = HashMap::new();
    for round in 0..300 {
        for process in [5, 6] {
            if round % 100 == process {
                lines.event(1, "named", process, &format!(r#""object":7,"text":"f{round}""#));
                lines.event(2, "owned", process, r#""object":7,"of":8"#);
                lines.event(1, "named", process, &format!(r#""object":8,"text":"of {process}""#));
                names.insert((process, 7), format!("of {process} f{round}"));
                names.insert((process, 8), format!("of {process}"));
            }
            if round % 100 == 90 {
                lines.event(3, "gone", process, r#""object":7"#);
                names.remove(&(process, 7));
            }
            for object in [7, 8, 9] {
                let name = names.get(&(process, object));
                let members = format!(r#""object":{object}"#);
                let begin = lines.event(4, "call_begin", process, &members);
                let inner = lines.event(6, "use_begin", process, &members);
                let inner = lines.event(7, "use_end", process, "") - inner;
                let outer = lines.event(5, "call_end", process, "") - begin;
                let call = name.map_or(format!("call {object:#x}"), Clone::clone);
                let used = name.map_or("use".to_owned(), |name| format!("use {name}"));
                for (name, length) in [(call, outer), (used, inner)] {
                    let row = expected.entry(name).or_default();
                    *row = (row.0 + 1, row.1 + length);
                }
            }
        }
    }
    let directory = Directory::new("object-names");
    let path = directory.join("t.jsonl");
    std::fs::write(&path, &lines.text).unwrap();
    assert!(expected.len() > 15, "{expected:?}");
    for rows in rows(&path) {
        assert_eq!(rows, expected);
    }
    let slowest = ["stats", "--spans", "--slowest", "5", path.to_str().unwrap()];
    let shown = ichnos(slowest).expect(0, &[]).out;
    assert!(shown.lines().any(|line| line.contains("slowest") && line.contains("name")), "{shown}");
}
