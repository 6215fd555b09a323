//! Events before the clock origin, and too far from it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ichnos::OpenOptions;
use ichnos_view::{ViewOptions, page_file};
use serde_json::Value;

use crate::client::Server;

static STOP: AtomicBool = AtomicBool::new(false);

/// Writes a trace with a span from -3,000 to -1,000, instants at -10 and 5, and an instant in the far future.
fn write(path: &Path) {
    let mut lines = String::from(
        r#"{"type":"stream-begin","stream":0,"name":"s","class":{"id":0},"clock":{"id":"c","frequency":1000000000}}"#,
    );
    for (id, name, role) in [(1, "call", r#""role":"begin","#), (2, "call", r#""role":"end","#), (3, "e", "")]
    {
        let number = r#"{"type":"integer","length":64}"#;
        let _ = write!(
            lines,
            "\n{}",
            format_args!(
                r#"{{"type":"event-class","stream":0,"id":{id},"name":"{name}",{role}"meanings":{{"payload":{{"tid":"thread"}}}},"fields":{{"payload":{{"type":"structure","members":[{{"name":"tid","class":{number}}}]}}}}}}"#
            )
        );
    }
    let events: [(i128, u32, &str); 5] = [
        (-3_000, 1, "call"),
        (-1_000, 2, "call"),
        (-10, 3, "e"),
        (5, 3, "e"),
        (99_999_999_999_999_999_999, 3, "e"),
    ];
    for (time, id, name) in events {
        let _ = write!(
            lines,
            "\n{}",
            format_args!(
                r#"{{"type":"event","stream":0,"ts":{time},"id":{id},"name":"{name}","payload":{{"tid":7}}}}"#
            )
        );
    }
    std::fs::write(path, lines + "\n").unwrap();
}

fn times(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["time"].as_str().unwrap()).collect()
}

#[test]
fn events_before_the_clock_origin_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("early.jsonl");
    write(&path);
    let server = Server::of(path.to_str().unwrap());
    let trace = server.json("api/trace");
    assert_eq!((&trace["begin"], &trace["end"]), (&"-3000".into(), &"5".into()), "{trace}");
    assert_eq!(trace["events"], 5);
    let warning = "1 event not shown: more than 292 years from the clock origin";
    assert!(trace["warnings"].as_array().unwrap().contains(&warning.into()), "{trace}");
    let thread = server.tracks().into_iter().find(|track| track["kind"] == "thread").unwrap();
    assert_eq!(thread["begin"], "-3000");
    let tiles = server.json(&format!("api/tiles?tracks={}&begin=-3000&end=5", thread["id"]));
    let items = tiles["tracks"][0]["items"].as_array().unwrap();
    let item = |index: usize| items[6 * index + 1..6 * index + 3].to_vec();
    assert_eq!([item(0), item(1), item(2)], [[0, 2_000], [2_990, 2_990], [3_005, 3_005]], "{tiles}");
    let found = server.json("api/events?begin=-3000&end=5");
    assert_eq!(times(&found["rows"]), ["-3000", "-1000", "-10", "5"]);
    let command = found["command"].as_str().unwrap();
    assert!(command.contains("--begin @-3000 --end @5"), "{command}");
    let some = server.json("api/events?begin=-1500&end=-5&limit=1");
    assert_eq!((times(&some["rows"]), &some["next"]), (vec!["-1000"], &"-10:0".into()));
    let rest = server.json("api/events?begin=-1500&end=-5&after=-10:0");
    assert_eq!(times(&rest["rows"]), ["-10"]);
    let event = server.json(&format!("api/event?id={}", found["rows"][0]["id"].as_str().unwrap()));
    assert_eq!((&event["time"], &event["spans"]["length"]), (&"-3000".into(), &2_000.into()), "{event}");
    let near = server.json(&format!("api/near?track={}&time=-10&direction=previous", thread["id"]));
    assert_eq!(near["time"], "-1000");
    let longest = server.json("api/longest?begin=-3000&end=5");
    assert_eq!(
        (&longest["spans"][0]["begin"], &longest["spans"][0]["length"]),
        (&"-3000".into(), &2_000.into())
    );
    assert_eq!(server.json("api/stacks?begin=-3000&end=5")["root"]["value"], 2_000);
    assert_eq!(server.json("api/search?q=call")["total"], 2);
    assert_eq!(server.ask("api/events?begin=x&end=5").0, 400);
    let session = Arc::new(ichnos::open([&path], &OpenOptions::default()).unwrap());
    let page = page_file(session, ViewOptions::new("early", &STOP)).unwrap();
    assert_eq!(page.not_shown, 1);
    assert!(String::from_utf8(page.html).unwrap().contains(warning));
}
