//! Output to a terminal: no control sequences and no invisible characters, whatever a trace, a path or the command line
//! contains.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use crate::support::{Directory, METADATA, command, ichnos, packet};

/// Hostile names and values: a color, a window title, a forged line, C1 controls, direction changes, and characters
/// without width.
const HOSTILE: &str =
    "x\x1b[31;47;5mred\x1b]0;title\x07\nFORGED\r\t\u{9b}31m\u{85}\u{202e}\u{2066}\u{200b}\u{feff}y";

/// Mark after the output of a command. No output contains it.
const END_OF_OUTPUT: &[u8] = b"\x00end of the output\x00";

/// Runs the command with both outputs on a terminal. Returns the exit code and the terminal's input.
fn on_terminal<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> (i32, Vec<u8>) {
    let mut command = command();
    command.args(arguments);
    with_terminal(command)
}

/// Runs any command on a terminal.
pub fn with_terminal(mut command: Command) -> (i32, Vec<u8>) {
    let terminal = openpty(None, None).unwrap();
    let mut settings = tcgetattr(&terminal.slave).unwrap();
    cfmakeraw(&mut settings);
    tcsetattr(&terminal.slave, SetArg::TCSANOW, &settings).unwrap();
    let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
    command.env("TERM", "xterm").stdin(Stdio::null());
    command.stdout(end(&terminal.slave)).stderr(end(&terminal.slave));
    let mut child = command.spawn().unwrap();
    drop(command);
    // A terminal can lose unread data when its last user closes it. Therefore, it stays open here until a mark is read
    // that is written after the command has ended.
    let mut master = fs::File::from(terminal.master);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut block = [0; 4096];
        while !bytes.ends_with(END_OF_OUTPUT) {
            let length = master.read(&mut block).unwrap();
            bytes.extend_from_slice(&block[..length]);
        }
        bytes.truncate(bytes.len() - END_OF_OUTPUT.len());
        bytes
    });
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let mut slave = fs::File::from(terminal.slave);
    slave.write_all(END_OF_OUTPUT).unwrap();
    let bytes = reader.join().unwrap();
    (code, bytes)
}

/// Checks that text on a terminal consists of lines, our colors and printable characters. Returns the text without
/// colors.
#[track_caller]
pub fn check(bytes: &[u8], has_colors: bool) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("\x1b[").filter(|_| has_colors) {
        plain.push_str(before);
        let (code, behind) = from.split_once('m').unwrap_or((from, ""));
        assert!(code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{code:?} in {text:?}");
        assert_ne!(code, "31;47;5", "{text:?}");
        rest = behind;
    }
    plain.push_str(rest);
    let odd = plain.chars().find(|c| *c != '\n' && (c.is_control() || HOSTILE.contains(*c) && !c.is_ascii()));
    assert_eq!(odd, None, "{plain:?}");
    let is_forged = |line: &str| line.trim_start_matches(['│', '├', '└', '─', ' ']).starts_with("FORGED");
    assert!(!plain.lines().any(is_forged), "{plain}");
    plain
}

/// Runs the command on a terminal, with and without colors. Returns the displayed text.
#[track_caller]
fn shown(code: i32, arguments: &[&str]) -> String {
    let show = |color: &str| {
        let (ended, bytes) = on_terminal(arguments.iter().copied().chain(["--color", color]));
        let text = check(&bytes, color != "never");
        assert_eq!(ended, code, "{arguments:?}: {text}");
        text
    };
    let never = show("never");
    assert_eq!(show("always"), never);
    never
}

/// Writes a CTF 2 trace with hostile names and texts, and a string that is not UTF-8.
pub fn ctf_2(directory: &Path) -> PathBuf {
    let path = directory.join(format!("trace {}", HOSTILE.replace('/', "")));
    fs::create_dir(&path).unwrap();
    let name = serde_json::to_string(HOSTILE).unwrap();
    let class =
        r#"{"type":"fixed-length-unsigned-integer","length":8,"alignment":8,"byte-order":"little-endian""#;
    let fragments = [
        r#"{"type":"preamble","version":2}"#.to_owned(),
        r#"{"type":"trace-class","name":NAME,"namespace":NAME,"uid":NAME,"attributes":{NAME:{NAME:[NAME]}},
            "environment":{"hostname":NAME,"procname":NAME,NAME:NAME}}"#
            .to_owned(),
        r#"{"type":"clock-class","id":NAME,"name":NAME,"description":NAME,"frequency":1000000000,
            "origin":{"namespace":NAME,"name":NAME,"uid":NAME}}"#
            .to_owned(),
        format!(
            r#"{{"type":"data-stream-class","id":0,"name":NAME,"default-clock-class-id":NAME,
            "event-record-header-field-class":{{"type":"structure","member-classes":[
              {{"name":"id","field-class":{class},"roles":["event-record-class-id"]}}}},
              {{"name":"time","field-class":{{"type":"fixed-length-unsigned-integer","length":64,"alignment":8,
                "byte-order":"little-endian","roles":["default-clock-timestamp"]}}}}]}}}}"#
        ),
        format!(
            r#"{{"type":"event-record-class","id":0,"data-stream-class-id":0,"name":NAME,"namespace":NAME,
            "attributes":{{"lttng.org,2009":{{"emf-uri":NAME,"log-level":"warning"}},NAME:NAME}},
            "payload-field-class":{{"type":"structure","member-classes":[
              {{"name":NAME,"field-class":{{"type":"null-terminated-string"}}}},
              {{"name":"b","field-class":{{"type":"null-terminated-string"}}}},
              {{"name":"c","field-class":{class},"mappings":{{NAME:[[0,9]],"other":[[0,9]]}}}}}}]}}}}"#
        ),
    ];
    let metadata: String = fragments.iter().map(|fragment| format!("\x1e{fragment}\n")).collect();
    fs::write(path.join("metadata"), metadata.replace("NAME", &name)).unwrap();
    let mut stream = vec![0];
    stream.extend(1_000u64.to_le_bytes());
    stream.extend(HOSTILE.as_bytes());
    stream.extend(b"\0broken \xff\xc3( \xe2\x80\0\x07");
    // A truncated event: damage.
    stream.extend([0, 1]);
    fs::write(path.join(format!("stream {HOSTILE}")), stream).unwrap();
    path
}

#[test]
fn every_verb_and_format_escapes_unprintable_characters() {
    let directory = Directory::new("terminal");
    let path = ctf_2(&directory);
    let path = path.to_str().unwrap();
    for format in ["pretty", "details", "log", "jsonl", "log-json", "null"] {
        let text = shown(3, &["cat", "--format", format, path]);
        // The damage warning and all names, at least.
        assert!(text.contains(r"\u{202e}"), "{text}");
        match format {
            "pretty" => assert!(text.contains(r#"b = "broken \xff\xc3( \xe2\x80""#), "{text}"),
            "details" => assert!(text.contains(r"b: broken \xff\xc3( \xe2\x80"), "{text}"),
            "log" => assert!(
                text.contains(r"[x\x1b[31;47;5mred\x1b]0;title\x07\nFORGED\r\t\u{9b}31m\u{85}")
                    && text.contains(r"b=broken \xff\xc3( \xe2\x80 c="),
                "{text}"
            ),
            "jsonl" | "log-json" => {
                let lines =
                    text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
                assert!(lines.into_iter().any(|line| line.to_string().contains('\u{202e}')), "{text}");
                assert!(text.contains(r"\u009b31m\u0085\u202e\u2066\u200b\ufeffy"), "{text}");
            }
            _ => {}
        }
    }
    shown(3, &["cat", "--fields", "all", "--names", "all", path]);
    shown(3, &["cat", "--format", "details", "--details", "compact=yes", path]);
    // A file that is a terminal counts as a terminal.
    assert_eq!(
        shown(3, &["cat", "--format", "jsonl", path]),
        shown(3, &["cat", "--format", "jsonl", "-o", "/dev/stdout", path])
    );
    shown(3, &["cat", "-o", "/dev/stdout", path]);
    shown(2, &["cat", "--strict", path]);
    let (code, bytes) = on_terminal(["cat", "--progress", "plain", "--stats", "-v", path]);
    assert_eq!(code, 3, "{}", check(&bytes, true));
    for (code, arguments) in
        [(0, ["info", "-v"]), (3, ["info", "--count"]), (1, ["check", "-v"]), (0, ["schema", "-v"])]
    {
        let text = shown(code, &[&arguments[..], &[path]].concat());
        assert!(
            text.contains(r"\x1b[31;47;5mred\x1b]0;title\x07\nFORGED\r\t\u{9b}31m\u{85}\u{202e}"),
            "{text}"
        );
        let text = shown(code, &[&arguments[..], &["--json", path]].concat());
        assert!(text.contains(r"\u0085\u202e\u2066\u200b\ufeffy"), "{text}");
    }
    shown(0, &["formats"]);
    shown(0, &["formats", "--json"]);
}

#[test]
fn messages_escape_unprintable_characters() {
    let directory = Directory::new("messages");
    let hostile = |name: &str| directory.join(format!("{name} {HOSTILE}")).to_str().unwrap().to_owned();
    // Discarded events and packets, in files with such names.
    let trace = hostile("lost");
    fs::create_dir(&trace).unwrap();
    fs::write(format!("{trace}/metadata"), METADATA).unwrap();
    let stream = [packet(&[1_000], 0), packet(&[2_000], 7)].concat();
    fs::write(format!("{trace}/{HOSTILE}"), stream).unwrap();
    for format in ["pretty", "details", "log", "jsonl"] {
        let text = shown(0, &["cat", "-v", "--format", format, &trace]);
        assert!(text.contains(r"\u{202e}") || text.contains(r"\u202e"), "{text}");
    }
    // On several threads, line parts are joined.
    let threads = |count: &str| shown(0, &["cat", "--threads", count, "--chunk-size", "64", &trace]);
    assert_eq!(threads("3"), threads("1"));
    // Invalid metadata, quoted in error messages.
    let wrong = hostile("wrong");
    fs::create_dir(&wrong).unwrap();
    fs::write(format!("{wrong}/metadata"), format!("/* CTF 1.8 */ trace {{ {HOSTILE} := \"{HOSTILE}\"; }};"))
        .unwrap();
    for verb in ["info", "cat", "schema", "check"] {
        shown(if verb == "check" { 1 } else { 2 }, &[verb, &wrong]);
    }
    // Member names in an archive.
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, format!("{HOSTILE}/{name}"), bytes).unwrap();
    };
    add("metadata", METADATA.as_bytes());
    add(HOSTILE, &packet(&[1_000, 2_000], 0)[..60]);
    let packed = hostile("packed.tar");
    fs::write(&packed, archive.into_inner().unwrap()).unwrap();
    shown(3, &["cat", &packed]);
    shown(1, &["check", &packed]);
    shown(3, &["info", "--count", &packed]);
    // Missing files, and texts from the command line.
    shown(2, &["info", &hostile("no such")]);
    let usage = |arguments: &[&str]| {
        let (code, bytes) = on_terminal(arguments);
        assert_eq!(code, 2);
        let text = check(&bytes, true);
        assert!(text.contains(r"\u{202e}"), "{text}");
    };
    usage(&[HOSTILE]);
    usage(&["cat", &format!("--{HOSTILE}"), "x"]);
    usage(&["cat", "--format", HOSTILE, "x"]);
    usage(&["cat", "--begin", HOSTILE, "x"]);
    usage(&["cat", "--stream", &format!("{{{HOSTILE}"), "x"]);
    usage(&["info", "--resource-limit", HOSTILE, "x"]);
    usage(&["cat", "--output", &hostile("no/such/directory"), &trace]);
}

/// Text is written unchanged to files and pipes, with or without colors. Only logs escape text that could forge lines.
#[test]
fn only_terminals_are_special() {
    let directory = Directory::new("pipes");
    let path = ctf_2(&directory);
    let path = path.to_str().unwrap();
    let raw = |arguments: &[&str]| {
        let output = command().args(arguments).arg(path).stdin(Stdio::null()).output().unwrap();
        output.stdout
    };
    let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|window| window == part);
    for color in ["always", "never", "auto"] {
        let file = directory.join("out");
        for format in ["pretty", "details"] {
            let text = raw(&["cat", "--format", format, "--color", color]);
            assert!(has(&text, HOSTILE.as_bytes()) && has(&text, b"broken \xff\xc3( \xe2\x80"));
            let written = ["cat", "--format", format, "--force", "-o", file.to_str().unwrap()];
            assert!(raw(&written).is_empty());
            assert_eq!(fs::read(&file).unwrap(), raw(&["cat", "--format", format]));
        }
        let log = String::from_utf8(raw(&["cat", "--format", "log", "--color", color])).unwrap();
        let escaped =
            "x\\x1b[31;47;5mred\\x1b]0;title\\x07\\nFORGED\\r\\t\\u{9b}31m\\u{85}\u{202e}\u{2066}\u{200b}";
        assert!(log.contains(escaped), "{log}");
        assert!(!log.contains('\u{9b}') && !log.lines().any(|line| line.starts_with("FORGED")), "{log}");
        let json = String::from_utf8(raw(&["cat", "--format", "jsonl", "--color", color])).unwrap();
        assert!(json.contains("\u{9b}31m\u{85}\u{202e}"), "{json}");
    }
    // People read these outputs, wherever they are written.
    let run = ichnos(["info", path]).expect(0, &[]);
    check(run.out.as_bytes(), false);
}
