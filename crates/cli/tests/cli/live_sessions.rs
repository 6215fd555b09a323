//! Live sessions of LTTng that become traces.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ichnos_testing::Lttng;

use crate::support::{Directory, command, ichnos, text};

/// Returns the events of a trace, without what depends on its files.
fn events(path: &str) -> Vec<String> {
    let out = ichnos(["cat", "--clock-seconds", "--no-delta", path]).expect(0, &[]).out;
    let mut events: Vec<String> = out.lines().map(str::to_owned).collect();
    events.sort_unstable();
    events
}

/// The written trace has the events that the relay daemon has written. Classes that come later become part of it.
#[test]
fn sessions_become_traces() {
    let Some(lttng) = Lttng::start() else { return };
    lttng.create("kept", 100_000);
    lttng.lttng("enable-event --userspace hello:tick");
    lttng.lttng("start");
    lttng.hello(20, 1);
    let directory = Directory::new("live-session");
    let target = directory.join("trace");
    let mut command = command();
    command.args(["convert", "--to-dialect", "ctf1.8", &lttng.address("kept"), "-o", text(&target)]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // What is written can be read.
    let begin = Instant::now();
    let is_written = || std::fs::read_dir(&target).is_ok_and(|mut traces| traces.next().is_some());
    while !is_written() {
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing is written");
        std::thread::sleep(Duration::from_millis(10));
    }
    lttng.lttng("enable-event --userspace hello:greeting");
    lttng.hello(300, 3);
    lttng.lttng("destroy kept");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = events(text(&lttng.traces()));
    let has = |name: &str| expected.iter().any(|event| event.contains(name));
    assert!(expected.len() > 800 && has("hello:tick") && has("hello:greeting"), "{expected:?}");
    assert_eq!(events(text(&target)), expected);
    let info = ichnos(["info", "--json", text(&target)]).json();
    assert_eq!(info["traces"].as_array().unwrap().len(), 1, "{info}");
    ichnos(["check", text(&target)]).expect(0, &[]);
    let repaired = directory.join("repaired");
    ichnos(["repair", text(&target), "-o", text(&repaired)]).expect(0, &[]);
    assert_eq!(events(text(&repaired)), expected);
    if let Ok(output) = Command::new("babeltrace2").arg(&target).output() {
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert_eq!((lines, output.status.success()), (expected.len(), true));
    }
}
