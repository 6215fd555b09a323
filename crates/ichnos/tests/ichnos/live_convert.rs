//! Conversions of several live inputs.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ichnos::convert::{ConvertError, ConvertOptions, target};
use ichnos::live::follow::{FollowFeed, FollowOptions};
use ichnos::model::live::LiveOptions;
use ichnos::otlp::receiver::{OtlpReceiver, ReceiverOptions};
use ichnos::{OpenOptions, Pass, Session};

/// Receives nothing.
fn receive(live: &LiveOptions) -> Session {
    let options = OpenOptions::default();
    let receiver = ReceiverOptions::from_address("otlp://127.0.0.1:0").unwrap();
    let receiver = OtlpReceiver::bind(&receiver, &options.reading_at("otlp"), live.arrivals.clone()).unwrap();
    Session::of_live(vec![Box::new(receiver.into_trace(live.clone()))], &options)
}

fn follow(path: &Path, live: &LiveOptions) -> Session {
    let mut follow = FollowOptions::default();
    follow.interval = Duration::from_millis(1);
    let options = OpenOptions::default();
    let feed = FollowFeed::open(vec![path.to_path_buf()], &options, &follow, live).unwrap();
    Session::of_live(vec![Box::new(feed.into_trace(live.clone()))], &options)
}

fn write_lines(path: &Path) {
    let line = |time: u32| format!("{{\"ts\": {time}, \"name\": \"work\", \"payload\": {{}}}}\n");
    fs::write(path, (1..100).map(line).collect::<String>()).unwrap();
}

/// The error of one input ends the others, and is the one that is reported, whatever the order.
#[test]
fn the_error_of_an_input_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.jsonl");
    write_lines(&file);
    for order in [false, true] {
        let live = LiveOptions::default();
        let mut sessions = vec![receive(&live), follow(&file, &live)];
        if order {
            sessions.reverse();
        }
        let session = Session::join(sessions, &OpenOptions::default()).0;
        let mut options = ConvertOptions::default();
        options.pass = Pass::default().live().map(|_, builder| builder.set("unknown", 0u64));
        let out = directory.path().join(format!("out-{order}"));
        let writer = target(Some("ctf"), &out, None).unwrap().writer;
        let error = session.reader().unwrap().convert(writer, Some(out), &options).unwrap_err();
        assert!(!matches!(error, ConvertError::Stopped), "{error:?}");
    }
}

/// Files beside live inputs end with them.
#[test]
fn files_end_with_live_inputs() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.jsonl");
    write_lines(&file);
    let mut live = LiveOptions::default();
    live.stop = Some(&STOP);
    let open = OpenOptions::default();
    let session = Session::join([ichnos::open([&file], &open).unwrap(), receive(&live)], &open).0;
    let mut options = ConvertOptions::default();
    options.pass = Pass::default().live();
    let out = directory.path().join("out");
    let writer = target(Some("ctf"), &out, None).unwrap().writer;
    let report = session.reader().unwrap().convert(writer, Some(out), &options).unwrap();
    assert_eq!(report.events, 0);
}
