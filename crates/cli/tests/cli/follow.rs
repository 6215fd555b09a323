//! `--follow`: what is printed while files grow, and how it ends.
#![cfg(unix)]

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::{Directory, command, ichnos, root, text};

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

    /// Returns the next line of the messages.
    fn message(&mut self) -> String {
        let (mut line, mut byte) = (Vec::new(), [0]);
        let messages = self.child.stderr.as_mut().unwrap();
        // Without a buffer: the rest is read at the end.
        while !line.ends_with(b"\n") && messages.read(&mut byte).unwrap() > 0 {
            line.extend(byte);
        }
        String::from_utf8(line).unwrap()
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
    ichnos(["cat", "--interval", "1s", "x"]).expect(2, &["--follow"]);
    ichnos(["cat", "--follow", "--tail", "3", "x"]).expect(2, &["cannot be used with"]);
}

/// Other content with the length of the former content.
#[test]
fn files_that_are_written_again() {
    let directory = Directory::new("follow-again");
    let path = directory.join("log.jsonl");
    append(&path, &tick(1));
    let mut following = Following::start(&["cat", text(&path)]);
    assert!(following.line().contains("n = 1"));
    for time in 2..4 {
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(tick(time).as_bytes()).unwrap();
        assert!(following.line().contains(&format!("n = {time}")));
    }
    let (code, rest, messages) = following.end("-INT");
    assert_eq!((code, rest.as_str()), (Some(0), ""), "{messages}");
}

/// .NET files are recognized by their content when they appear, and by their number when they get another name.
#[test]
fn dotnet_files_with_any_name() {
    let directory = Directory::new("follow-dotnet");
    let packed = root().join("examples/hello-dotnet/hello.nettrace.zst");
    let expected = ichnos(["cat", text(&packed)]).out.lines().count();
    let plain = directory.join("plain");
    fs::write(&plain, zstd::decode_all(&*fs::read(&packed).unwrap()).unwrap()).unwrap();
    for source in [&packed, &plain] {
        let path = directory.join("later");
        let mut following = Following::start(&["cat", text(&path)]);
        assert!(following.message().contains("waiting: "));
        fs::copy(source, &path).unwrap();
        following.line();
        let (code, rest, messages) = following.end("-INT");
        assert_eq!((code, rest.lines().count() + 1), (Some(0), expected), "{messages}");
        fs::remove_file(&path).unwrap();
    }
    let below = directory.join("below");
    fs::create_dir(&below).unwrap();
    let (first, second) = (below.join("a.nettrace"), below.join("b.nettrace"));
    let bytes = fs::read(&plain).unwrap();
    let (begin, end) = bytes.split_at(bytes.len() / 2);
    fs::write(&first, begin).unwrap();
    let mut following = Following::start(&["cat", text(&below)]);
    following.line();
    fs::rename(&first, &second).unwrap();
    OpenOptions::new().append(true).open(&second).unwrap().write_all(end).unwrap();
    let (code, rest, messages) = following.end("-INT");
    assert_eq!((code, rest.lines().count() + 1), (Some(0), expected), "{messages}");
    // Other content of the same length.
    let mut following = Following::start(&["cat", text(&plain)]);
    (0..expected).for_each(|_| drop(following.line()));
    let mut changed = bytes.clone();
    // The start time, in the trace object.
    let place = bytes.windows(5).position(|window| window == b"Trace").unwrap() + 20;
    changed[place] ^= 1;
    fs::write(directory.join("changed"), &changed).unwrap();
    OpenOptions::new().write(true).open(&plain).unwrap().write_all(&changed).unwrap();
    following.line();
    let (code, rest, messages) = following.end("-INT");
    assert_eq!((code, rest.lines().count() + 1), (Some(0), expected), "{messages}");
    // A missing file is not waited for in silence.
    let mut following = Following::start(&["cat", text(&directory.join("no.nettrace"))]);
    assert!(following.message().contains("waiting: "));
    assert_eq!(following.end("-INT").0, Some(0));
    // Its name does not decide what it is.
    let other = directory.join("other.nettrace");
    let mut following = Following::start(&["cat", text(&other)]);
    assert!(following.message().contains("waiting: "));
    append(&other, &tick(1));
    assert!(following.line().contains("n = 1"));
    assert_eq!(following.end("-INT").0, Some(0));
}

/// Traces of a whole machine in version 6, in pieces.
#[test]
fn dotnet_files_of_version_6() {
    let Some(traces) = ichnos_testing::recorded("nettrace/runtime") else { return };
    let bytes = fs::read(traces.join("perl-cpu-v6.nettrace")).unwrap();
    let directory = Directory::new("follow-v6");
    let path = directory.join("machine.nettrace");
    fs::write(&path, &bytes).unwrap();
    let expected = ichnos(["cat", text(&path)]).out;
    fs::remove_file(&path).unwrap();
    let mut following = Following::start(&["cat", text(&path)]);
    for piece in bytes.chunks(10_000) {
        OpenOptions::new().create(true).append(true).open(&path).unwrap().write_all(piece).unwrap();
    }
    let mut found = following.line();
    while found.len() < expected.len() {
        let line = following.line();
        assert!(!line.is_empty() && expected.starts_with(&found), "{found}");
        found.push_str(&line);
    }
    let (code, rest, messages) = following.end("-INT");
    found.push_str(&rest);
    assert!(found == expected, "{code:?}: {messages}");
}

/// The command ends with the reader of its output, even if nothing happens.
#[test]
fn a_reader_that_is_gone() {
    let directory = Directory::new("follow-reader");
    let path = directory.join("log.jsonl");
    append(&path, &tick(1));
    let mut following = Following::start(&["cat", text(&path)]);
    assert!(following.line().contains("n = 1"));
    let Following { mut child, out } = following;
    drop(out);
    let code = child.wait().unwrap();
    assert_eq!(code.code(), Some(0), "{code}");
}

#[test]
fn unrelated_clocks_beside_live_inputs() {
    let log = root().join("examples/hello-fuchsia/boot.log");
    let mut following = Following::start(&["cat", text(&log), "--listen", "otlp://127.0.0.1:0"]);
    while !following.message().contains("--assume-correlated") {
        assert_eq!(following.child.try_wait().unwrap(), None);
    }
    following.end("-INT");
}

/// Lines that were appended just before a file vanished.
#[test]
fn files_that_vanish() {
    let directory = Directory::new("follow-vanish");
    let elsewhere = Directory::new("follow-elsewhere");
    let path = directory.join("log.jsonl");
    append(&path, &tick(1));
    let mut following = Following::start(&["cat", text(&path)]);
    assert!(following.line().contains("n = 1"));
    let rotated = elsewhere.join("log.1.jsonl");
    append(&path, &tick(2));
    fs::rename(&path, &rotated).unwrap();
    assert!(following.line().contains("n = 2"));
    // The writer does not know yet that its file has another name.
    append(&rotated, &tick(3));
    assert!(following.line().contains("n = 3"));
    append(&path, &tick(4));
    assert!(following.line().contains("n = 4"));
    append(&path, &tick(5));
    fs::remove_file(&path).unwrap();
    assert!(following.line().contains("n = 5"));
    let (code, rest, messages) = following.end("-INT");
    assert_eq!((code, rest.as_str()), (Some(0), ""), "{messages}");
}

#[test]
fn pipes() {
    let directory = Directory::new("follow-pipes");
    let path = directory.join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut following = Following::start(&["cat", text(&path)]);
    let mut pipe = OpenOptions::new().write(true).open(&path).unwrap();
    for time in 1..4 {
        pipe.write_all(tick(time).as_bytes()).unwrap();
        assert!(following.line().contains(&format!("n = {time}")));
    }
    // The end of the pipe ends the command, with an incomplete line.
    pipe.write_all(tick(4).trim_end().as_bytes()).unwrap();
    drop(pipe);
    assert!(following.line().contains("n = 4"));
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
    // What is no trace has the name of the standard input, not of its copy.
    let mut command = crate::support::command();
    command.args(["cat", "--follow", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"this is not a trace").unwrap();
    let messages = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(messages.contains("stdin: ") && !messages.contains("/stdin"), "{messages}");
    // The standard input, of a format that is read record by record.
    let file = fs::read(root().join("examples/hello-dotnet/hello.nettrace.zst")).unwrap();
    let bytes = zstd::decode_all(&*file).unwrap();
    let whole = directory.join("whole.nettrace");
    fs::write(&whole, &bytes).unwrap();
    let mut command = crate::support::command();
    command.args(["cat", "--follow", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || BufReader::new(out).lines().map_while(Result::ok).count());
    let (first, second) = bytes.split_at(bytes.len() / 2);
    input.write_all(first).unwrap();
    input.write_all(second).unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let expected = ichnos(["cat", text(&whole)]).out.lines().count();
    assert_eq!(reader.join().unwrap(), expected);
}

#[test]
fn fuchsia_traces_in_pipes() {
    let directory = Directory::new("follow-fxt");
    let path = directory.join("pipe.fxt");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let following = Following::start(&["cat", text(&path), "--no-delta"]);
    let mut pipe = OpenOptions::new().write(true).open(&path).unwrap();
    let whole = root().join("examples/hello-fxt/frames.fxt");
    for piece in fs::read(&whole).unwrap().chunks(300) {
        pipe.write_all(piece).unwrap();
    }
    drop(pipe);
    let Following { mut child, mut out } = following;
    let mut printed = String::new();
    out.read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&printed), sorted(&ichnos(["cat", text(&whole), "--no-delta"]).out));
}
