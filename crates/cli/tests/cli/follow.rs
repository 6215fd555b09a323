//! `--follow`: what is printed while files grow, and how it ends.
#![cfg(unix)]

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::{Directory, command, ichnos, text};

/// Command that follows files.
struct Following {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Following {
    fn start(words: &[&str]) -> Self {
        let mut command = command();
        command.args(words).args(["--follow", "--interval", "5ms"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    /// Sends a signal, and returns the exit code, the rest of the output, and the messages.
    fn end(mut self, signal: &str) -> (Option<i32>, String, String) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let (mut rest, mut messages) = (String::new(), String::new());
        self.out.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        (self.child.wait().unwrap().code(), rest, messages)
    }
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn tick(time: u64) -> String {
    format!("{{\"ts\": {time}, \"name\": \"tick\", \"payload\": {{\"n\": {time}}}}}\n")
}

#[test]
fn lines_are_printed_when_they_are_whole() {
    let directory = Directory::new("follow");
    let path = directory.join("log.jsonl");
    append(&path, &tick(1));
    let mut following = Following::start(&["cat", text(&path)]);
    let mut printed = following.line();
    for time in 2..20 {
        let line = tick(time);
        let (first, second) = line.split_at(7);
        append(&path, first);
        append(&path, second);
        printed += &following.line();
    }
    append(&path, "{\"ts\": 21");
    let (code, rest, messages) = following.end("-INT");
    let finished = ichnos(["cat", text(&path)]);
    assert_eq!(printed + &rest, finished.out);
    // The incomplete line is damage, as in the finished file.
    assert_eq!(code, Some(3), "{messages}");
    assert!(messages.contains("log.jsonl: byte"), "{messages}");
}

#[test]
fn a_path_that_does_not_exist_yet() {
    let directory = Directory::new("follow-later");
    let path = directory.join("traces");
    let mut following = Following::start(&["cat", text(&path)]);
    fs::create_dir(&path).unwrap();
    append(&path.join("a.jsonl"), "");
    append(&path.join("a.jsonl"), &tick(1));
    assert!(following.line().contains("tick"));
    append(&path.join("b.jsonl"), &tick(2));
    assert!(following.line().contains("n = 2"));
    let (code, rest, messages) = following.end("-INT");
    assert_eq!((code, rest.as_str()), (Some(0), ""), "{messages}");
    // On a busy machine, the path can be there first.
    assert!(messages.is_empty() || messages.contains("waiting: "), "{messages}");
    // Without any trace, nothing is printed.
    let following = Following::start(&["cat", text(&directory.join("missing"))]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(following.end("-TERM").0, Some(143));
}

#[test]
fn selections_apply() {
    let directory = Directory::new("follow-selection");
    for name in ["a", "b"] {
        append(&directory.join(format!("{name}.jsonl")), &tick(1));
    }
    let words = ["cat", text(&directory), "--stream", "b.jsonl", "--filter", "n > 1", "--event", "t*"];
    let mut following = Following::start(&words);
    for time in 2..5 {
        append(&directory.join("a.jsonl"), &tick(time));
        append(&directory.join("b.jsonl"), &tick(time));
        assert!(following.line().contains(&format!("n = {time}")));
    }
    assert_eq!(following.end("-INT").1, "");
    // The last event ends the command.
    let mut following = Following::start(&["cat", text(&directory), "-n", "3"]);
    let lines = [following.line(), following.line(), following.line()];
    assert!(lines.iter().all(|line| line.contains("tick")), "{lines:?}");
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

#[test]
fn statistics_at_the_end() {
    let directory = Directory::new("follow-stats");
    let path = directory.join("log.jsonl");
    append(&path, &tick(1));
    let following = Following::start(&["stats", text(&path)]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    append(&path, &tick(2));
    let (code, text, messages) = following.end("-INT");
    assert_eq!(code, Some(0), "{messages}");
    assert!(text.contains("tick") && text.contains('2'), "{text}");
}

#[test]
fn what_cannot_be_followed() {
    ichnos(["cat", "--follow", "-"]).expect(2, &["--follow: - is a pipe"]);
    ichnos(["cat", "--interval", "1s", "x"]).expect(2, &["--follow"]);
    ichnos(["cat", "--follow", "--tail", "3", "x"]).expect(2, &["cannot be used with"]);
}
