//! Recorded traces, where they are there.

use std::ffi::OsStr;

use crate::support::{ichnos, recorded};

#[test]
fn loss_is_told() {
    let Some(path) = recorded("ctf/real/lttng-ust/discard") else { return };
    let json = ichnos([OsStr::new("info"), OsStr::new("--json"), OsStr::new("--count"), path.as_os_str()])
        .expect(0, &[])
        .json();
    assert!(json["discarded_events"].as_u64().unwrap() > 0);
    assert!(json["events"].as_u64().unwrap() > 0);
}

#[test]
fn many_traces_at_once() {
    let Some(path) = recorded("ctf/real/lttng-ust") else { return };
    ichnos([OsStr::new("cat"), path.as_os_str(), OsStr::new("--format=null"), OsStr::new("--stats")])
        .expect(0, &["events in"]);
    ichnos([OsStr::new("schema"), OsStr::new("--json"), path.as_os_str()]).expect(0, &[]).json();
}

/// Whatever the trace: an answer, an exit code that is documented, no panic.
#[test]
fn every_verdict_has_an_exit_code() {
    let Some(path) = recorded("ctf/real") else { return };
    for kind in
        ["babeltrace/1/fail", "babeltrace/1/succeed", "babeltrace/2/fail", "babeltrace/2/succeed", "barectf"]
    {
        let Ok(list) = std::fs::read_dir(path.join(kind)) else { continue };
        for trace in list.flatten() {
            let run = ichnos([OsStr::new("check"), trace.path().as_os_str()]);
            assert!([0, 1, 2].contains(&run.code), "{}: {}\n{}", trace.path().display(), run.code, run.err);
            assert!(!run.err.contains("panicked"), "{}", run.err);
        }
    }
}
