//! JSON Lines of any program: read, written again, converted.

use std::fs;
use std::path::Path;

use crate::support::{Directory, ichnos};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Events of one id that look different stay what they are in JSON Lines, in CTF and with any number of threads.
#[test]
fn events_of_one_id_that_look_different() {
    let directory = Directory::new("json-lines");
    let lines = directory.join("lines.jsonl");
    let mut all = String::from("{\"type\":\"event-class\",\"id\":8,\"name\":\"described\"}\n");
    for time in 0..3_000 {
        let payload = ["1", "\"one\"", "[]", "[1]", "[1,2.5]", "{\"y\":true}"][time % 6];
        let (stream, id) = (time % 2, 7 + time % 3 % 2);
        all += &format!(
            "{{\"stream\":{stream},\"ts\":{time},\"id\":{id},\"name\":\"a\",\"payload\":{{\"x\":{payload}}}}}\n"
        );
    }
    fs::write(&lines, all).unwrap();

    let shown = ichnos(["cat", text(&lines)]).expect(0, &[]).out;
    assert_eq!(shown.lines().count(), 3_000);
    let written = ichnos(["cat", "-fjsonl", text(&lines)]).expect(0, &[]).out;
    for threads in ["1", "2", "4"] {
        let run = ichnos(["cat", "-fjsonl", "-j", threads, text(&lines)]).expect(0, &[]);
        assert_eq!(run.out, written);
    }
    let again = directory.join("again.jsonl");
    fs::write(&again, &written).unwrap();
    assert_eq!(ichnos(["cat", text(&again)]).expect(0, &[]).out, shown);
    assert_eq!(ichnos(["cat", "-fjsonl", text(&again)]).expect(0, &[]).out, written);
    // What is cut out is what it was.
    let from = ichnos(["cat", "-fjsonl", "--begin", "0.000002500", text(&lines)]).expect(0, &[]).out;
    let events = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("\"type\":\"event\",")).map(str::to_owned).collect()
    };
    assert_eq!(events(&from), events(&written)[2_500..]);

    for dialect in ["ctf1.8", "spec2"] {
        let converted = directory.join(dialect);
        ichnos(["convert", "--dialect", dialect, "-o", text(&converted), text(&lines)]).expect(0, &[]);
        ichnos(["check", "--strict", text(&converted)]).expect(0, &[]);
        assert_eq!(ichnos(["cat", text(&converted)]).expect(0, &[]).out, shown, "{dialect}");
    }
}

/// A file is read as lines by name of the format, whatever its first line is.
#[test]
fn any_file_is_read_as_lines() {
    let directory = Directory::new("json-lines-forced");
    let lines = directory.join("lines.log");
    fs::write(&lines, "started\n{\"ts\":1,\"name\":\"a\"}\n").unwrap();
    ichnos(["cat", text(&lines)]).expect(2, &["no trace found"]);
    let run =
        ichnos(["cat", "--from", "jsonl", text(&lines)]).expect(3, &["byte 0: the line cannot be read"]);
    assert!(run.out.contains(" a: "), "{}", run.out);
    // Nothing is no trace.
    fs::write(&lines, "").unwrap();
    ichnos(["cat", "--from", "jsonl", text(&lines)]).expect(2, &["no trace found"]);
}
