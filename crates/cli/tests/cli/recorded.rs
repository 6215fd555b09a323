//! Recorded traces, if available.

use std::ffi::OsStr;

use crate::support::{ichnos, recorded};

#[test]
fn losses_are_mentioned() {
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

/// For any trace: an answer, a documented exit code, no panic.
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

/// The output does not depend on the number of threads and timeline chunks, even if clocks go back or packets are
/// damaged. Each format has a separate test, so that they run in parallel.
mod threads_and_chunks_do_not_show {
    use ichnos_testing::{is_like_another, is_turn};

    use super::{ichnos, recorded};

    /// Traces below this size, in bytes, have few packets. Each is read by one test, and each larger trace by every
    /// second test.
    const SMALL: u64 = 20_000;
    const TESTS: usize = 8;

    fn compare(test: usize, options: &[&str]) {
        let Some(root) = recorded("ctf") else { return };
        let list = std::fs::read_to_string(root.join("real.json")).unwrap();
        let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
        for (number, entry) in list.iter().enumerate() {
            let name = entry["trace"].as_str().unwrap();
            let is_in_turn = match entry["bytes"].as_u64().unwrap() {
                ..SMALL => is_turn(number, test, TESTS),
                _ => is_turn(number, test % 2, 2),
            };
            if is_like_another(name) || !is_in_turn {
                continue;
            }
            let path = root.join("real").join(name);
            let path = path.to_str().unwrap();
            let run = |threads: &[&str]| {
                let run = ichnos([&["cat", path], options, threads].concat());
                // The elapsed time varies.
                let lines = run.err.lines().filter(|line| !line.contains(" in "));
                (run.code, lines.map(str::to_owned).collect::<Vec<_>>(), run.out)
            };
            let one = run(&["--threads=1"]);
            for many in [["--threads=2", "--chunk-size=1"], ["--threads=5", "--chunk-size=20000"]] {
                assert!(run(&many) == one, "{path} {options:?} {many:?}");
            }
        }
    }

    #[test]
    fn of_pretty_text() {
        compare(0, &["-v"]);
    }

    #[test]
    fn of_statistics() {
        compare(1, &["--format=null", "--stats"]);
    }

    #[test]
    fn of_a_filter() {
        compare(2, &["--filter", "event =~ '[aeiou]r' && time >= +1ms && time < +2s"]);
    }

    #[test]
    fn of_a_window() {
        compare(3, &["--begin=+0.01s", "--end=+0.2s"]);
    }

    #[test]
    fn of_json_lines() {
        compare(4, &["--format=jsonl", "--packets"]);
    }

    #[test]
    fn of_json_lines_of_some_events() {
        compare(5, &["--format=jsonl", "--integers=auto", "--event=*[aeiou]*"]);
    }

    #[test]
    fn of_details() {
        compare(6, &["--format=details"]);
    }

    #[test]
    fn of_compact_details_of_a_window() {
        compare(7, &["--format=details", "--details=compact", "--begin=+0.01s"]);
    }
}

/// The output equals the reference for all recorded traces that it reads without errors.
#[test]
fn prints_the_same_as_the_reference() {
    let Some(root) = recorded("ctf") else { return };
    let list = std::fs::read_to_string(root.join("real.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let mut compared = 0;
    let mut different = Vec::new();
    for entry in &list {
        let trace = entry["trace"].as_str().unwrap();
        let formats = [
            ("pretty", "--clock-gmt", "-q"),
            ("details", "--details", "with-uuid=yes,with-trace-name=no,with-stream-name=no"),
        ];
        for (format, option, value) in formats {
            let expected = &entry[format];
            let Some(file) = expected["file"].as_str() else { continue };
            if expected["rc"] != 0 {
                continue;
            }
            let expected =
                ichnos::io::Tree::open(&root.join(file), &ichnos::io::IoLimits::default()).unwrap();
            let expected = expected.entries[0].read().unwrap();
            let path = root.join("real").join(trace);
            let path = path.to_str().unwrap();
            let run =
                ichnos(["cat", "--clock-arithmetic=babeltrace", "--format", format, option, value, path]);
            compared += 1;
            if run.out.as_bytes() != &*expected {
                different.push(format!("{trace} ({format})"));
            }
        }
    }
    eprintln!("compared {compared} texts");
    assert!(different.is_empty(), "{different:#?}");
}
