//! Helpers that run the command and write traces for it.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use ichnos_testing::recorded;
use tempfile::TempDir;

use crate::transcript;

/// Temporary directory, removed when dropped.
pub struct Directory(TempDir);

impl Directory {
    pub fn new(name: &str) -> Self {
        Self(tempfile::Builder::new().prefix(&format!("ichnos-cli-{name}-")).tempdir().unwrap())
    }

    /// Creates a directory in the target directory, for sparse files. In `tmpfs`, a mapped hole takes as much memory as
    /// data.
    pub fn on_disk(name: &str) -> Self {
        let prefix = format!("ichnos-cli-{name}-");
        Self(tempfile::Builder::new().prefix(&prefix).tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }
}

impl Deref for Directory {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

/// Result of a command.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// Checks the exit code, and that the standard error output contains all these parts.
    #[track_caller]
    pub fn expect(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not in stderr:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Checks that the standard output contains all these parts.
    #[track_caller]
    pub fn prints(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.out.contains(part), "`{part}` is not in stdout:\n{}", self.out);
        }
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}", self.out))
    }
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ichnos"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command.env_remove("LC_ALL").env_remove("LC_CTYPE").env_remove("LANG").env("TZ", "UTC");
    command
}

/// Runs the command with these arguments.
pub fn ichnos<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    run(Path::new("."), arguments, None)
}

/// Runs the command with these arguments in a directory.
pub fn ichnos_in<A: AsRef<OsStr>>(directory: &Path, arguments: impl IntoIterator<Item = A>) -> Run {
    run(directory, arguments, None)
}

/// Runs the command with bytes on its standard input.
pub fn ichnos_with<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Run {
    run(Path::new("."), arguments, Some(input))
}

fn run<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
    input: Option<&[u8]>,
) -> Run {
    let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().into()).collect();
    let mut command = command();
    command.args(&arguments).current_dir(directory);
    if can_be_verified(&arguments) {
        command.arg("--verify");
    }
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // The command may end before it has read everything.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    transcript::record(&arguments, &run);
    run
}

/// Returns `true` if a command writes traces that can be read again. All tests then verify the output.
fn can_be_verified(arguments: &[OsString]) -> bool {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let writes = ["convert", "cut", "filter", "merge", "repair", "split"];
    let output = words.iter().position(|word| *word == "-o").and_then(|at| words.get(at + 1));
    let has_options = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let is_text = |output: &str| {
        let extension = Path::new(output).extension().and_then(OsStr::to_str).unwrap_or_default();
        ["csv", "tsv", "txt", "parquet"].contains(&&*extension.to_lowercase())
            || has_options(&[
                "csv", "tsv", "pretty", "log", "log-json", "parquet", "perfetto", "chrome", "otlp",
            ])
            || output.ends_with(".otlp.jsonl")
            || output.contains("://")
    };
    // Tests can have their files in memory.
    let is_device = |output: &str| output.starts_with("/dev/") && !output.starts_with("/dev/shm/");
    words.first().is_some_and(|verb| writes.contains(verb))
        && output.is_some_and(|output| *output != "-" && !is_device(output) && !is_text(output))
        && !has_options(&["--dry-run", "--verify", "--listen", "--help", "-h"])
        && !words.iter().any(|word| word.starts_with("--shard"))
}

/// Returns a path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the path of an example.
pub fn example(name: &str) -> PathBuf {
    root().join("examples").join(name)
}

/// Returns the project's directory.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

pub const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace {
    major = 1;
    minor = 8;
    byte_order = le;
    packet.header := struct { u32 magic; u32 stream_id; };
};
env { hostname = "box"; answer = 42; };
clock { name = "mono"; freq = 1000000000; offset_s = 1000000000; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } := time;
stream {
    id = 0;
    packet.context := struct {
        time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; u64 events_discarded;
    };
    event.header := struct { u8 id; time timestamp; };
};
event { id = 0; name = "demo:tick"; stream_id = 0; fields := struct { u32 value; string text; }; };
event { id = 1; name = "demo:tock"; stream_id = 0; fields := struct { u8 small; }; };
"#;

/// Clock offset in [`METADATA`], in nanoseconds.
pub const OFFSET: i64 = 1_000_000_000_000_000_000;

/// Returns a packet for [`METADATA`], with events at these times (in ns): ticks and tocks in turn.
pub fn packet(times: &[u64], discarded: u64) -> Vec<u8> {
    let mut events = Vec::new();
    for (i, time) in times.iter().enumerate() {
        let id = (i % 2) as u8;
        events.push(id);
        events.extend(time.to_le_bytes());
        if id == 0 {
            events.extend((i as u32).to_le_bytes());
            events.extend(b"hello\x1b[31m\0");
        } else {
            events.push(i as u8);
        }
    }
    let size = (8 + 5 * 8 + events.len()) as u64 * 8;
    let mut packet = Vec::new();
    packet.extend(0xc1fc_1fc1u32.to_le_bytes());
    packet.extend(0u32.to_le_bytes());
    let (first, last) = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
    for value in [first, last, size, size, discarded] {
        packet.extend(value.to_le_bytes());
    }
    packet.extend(events);
    packet
}

/// Returns a directory with a trace: two data streams and ten events.
pub fn trace(name: &str) -> Directory {
    let directory = Directory::new(name);
    std::fs::write(directory.join("metadata"), METADATA).unwrap();
    let mut one = packet(&[1_000, 3_000, 5_000], 0);
    one.extend(packet(&[1_000_000_000, 2_000_000_000, 3_000_000_000], 7));
    std::fs::write(directory.join("stream_a"), one).unwrap();
    std::fs::write(directory.join("stream_b"), packet(&[2_000, 4_000, 6_000, 1_500_000_000], 0)).unwrap();
    directory
}

/// File names and contents.
pub type Files = Vec<(&'static str, Vec<u8>)>;

/// Returns a CTF 1.8 trace with this metadata text and data.
pub fn tsdl(metadata: &str, data: &[u8]) -> Files {
    let metadata = format!("/* CTF 1.8 */\ntrace{{major=1;minor=8;byte_order=le;}};{metadata}");
    vec![("metadata", metadata.into_bytes()), ("s", data.to_vec())]
}

/// Returns a tar archive.
pub fn tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &content[..]).unwrap();
    }
    archive.into_inner().unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a zip archive whose members all share one local file.
pub fn overlapping_zip(size: u32) -> Vec<u8> {
    let content = gzip(&vec![0; size as usize]);
    // Without gzip's header and trailer.
    let (content, crc) = (&content[10..content.len() - 8], &content[content.len() - 8..][..4]);
    let sizes = [&(content.len() as u32).to_le_bytes()[..], &size.to_le_bytes()].concat();
    let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0][..], crc, &sizes, &[1, 0, 0, 0]].concat();
    let mut zip = [b"PK\x03\x04", &common[..], b"a", content].concat();
    let (begin, count) = (zip.len() as u32, 10u8);
    for name in 0..count {
        zip.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 14], &[b'a' + name]].concat());
    }
    let size = zip.len() as u32 - begin;
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend([count, 0, count, 0]);
    zip.extend(size.to_le_bytes());
    zip.extend(begin.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// Returns a CTF 2 trace: a data stream class with one event record class.
pub fn spec2(payload: &str, data: &[u8]) -> Files {
    let fragments = [
        r#"{"type":"preamble","version":2}"#,
        r#"{"type":"data-stream-class"}"#,
        &format!(r#"{{"type":"event-record-class","payload-field-class":{payload}}}"#),
    ];
    let metadata: String = fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    vec![("metadata", metadata.into_bytes()), ("s", data.to_vec())]
}

/// Returns SPEC-2.0 metadata with a 1 GHz clock and an event class `e`. The arguments are the members of packet
/// contexts, event record headers and payloads.
pub fn metadata_of(context: &str, header: &str, payload: &str) -> String {
    let structure = |members: &str| format!(r#"{{"type": "structure", "member-classes": [{members}]}}"#);
    let fragments = [
        r#"{"type": "preamble", "version": 2}"#.to_owned(),
        r#"{"type": "clock-class", "id": "c", "frequency": 1000000000}"#.to_owned(),
        format!(
            r#"{{"type": "data-stream-class", "default-clock-class-id": "c",
            "packet-context-field-class": {}, "event-record-header-field-class": {}}}"#,
            structure(context),
            structure(header)
        ),
        format!(
            r#"{{"type": "event-record-class", "name": "e", "payload-field-class": {}}}"#,
            structure(payload)
        ),
    ];
    fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect()
}
