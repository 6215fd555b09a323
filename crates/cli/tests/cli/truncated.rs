//! A data stream file that another program truncates while it is printed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::support::{Directory, METADATA, command, packet};

/// 2,000 packets with 1,000 events: the text is much larger than the pipe and all buffers. When the test has read the
/// first line, the command still has to read most of the file.
const PACKETS: u64 = 2_000;

fn trace(name: &str) -> Directory {
    let directory = Directory::new(name);
    fs::write(directory.join("metadata"), METADATA).unwrap();
    let mut bytes = Vec::new();
    for i in 0..PACKETS {
        let times: Vec<u64> = (i * 1_000..(i + 1) * 1_000).collect();
        bytes.extend(packet(&times, 0));
    }
    fs::write(directory.join("stream_a"), bytes).unwrap();
    directory
}

/// Truncates the file to `len` bytes after the first line of output. Returns the number of printed events, and the
/// messages.
fn print(directory: &Directory, options: &[&str], len: u64) -> (u64, String) {
    let mut child = command()
        .arg("cat")
        .args(options)
        .arg(&**directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    File::options().write(true).open(directory.join("stream_a")).unwrap().set_len(len).unwrap();
    let mut events = 1;
    let mut line = String::new();
    while out.read_line(&mut line).unwrap() > 0 {
        events += u64::from(line.contains("demo:t"));
        line.clear();
    }
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{options:?}: {err}");
    (events, err)
}

#[test]
fn is_damage() {
    for (options, len) in [
        (&["--threads", "1"][..], 1 << 20),
        (&["--threads", "2"], 1 << 20),
        (&["--threads", "2"], 0),
        (&["--threads", "1", "--format", "jsonl"], 5_000),
        (&["--threads", "1", "--format", "details"], 5_000),
    ] {
        let directory = trace("truncated");
        let (events, err) = print(&directory, options, len);
        let lost: Vec<&str> =
            err.lines().filter(|line| line.contains("has become shorter since it was opened")).collect();
        assert!((1..=4).contains(&lost.len()), "{options:?}: {err}");
        assert!(lost.iter().all(|line| line.contains("stream_a: byte ")), "{options:?}: {err}");
        // Most of the file had not been read, and no events are made up.
        assert!(events < 1_000 * PACKETS * 9 / 10, "{options:?}: {events} events: {err}");
    }
}
