//! Failed conversions: existing files stay, nothing else is left behind, and the error says what went wrong.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Directory, METADATA, command, ichnos, packet, trace};

/// Returns the names in a directory, and the file contents of its trace.
fn content(directory: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    fn add(directory: &Path, prefix: &str, found: &mut Vec<(String, Option<Vec<u8>>)>) {
        for item in std::fs::read_dir(directory).unwrap() {
            let item = item.unwrap();
            let name = format!("{prefix}{}", item.file_name().to_string_lossy());
            if item.path().is_dir() {
                found.push((name.clone(), None));
                add(&item.path(), &format!("{name}/"), found);
            } else {
                found.push((name, Some(std::fs::read(item.path()).unwrap())));
            }
        }
    }
    let mut found = Vec::new();
    add(directory, "", &mut found);
    found.sort();
    found
}

/// Runs a conversion that must fail, and checks that the directory with the output stays unchanged.
#[track_caller]
fn fails(around: &Path, arguments: &[&str], parts: &[&str]) {
    let before = content(around);
    ichnos([&["convert", "--color=never"], arguments].concat()).expect(2, parts);
    assert_eq!(content(around), before);
}

/// The extension selects the format, even if `--to-dialect` belongs to another format.
#[test]
fn a_dialect_of_another_format_is_refused() {
    let (input, around) = (trace("failures-dialect"), Directory::new("failures-dialect-out"));
    let (input, output) = (input.to_str().unwrap(), around.join("out.jsonl"));
    let output = output.to_str().unwrap();
    let parts = ["names the format jsonl", "the dialect `prop1` belongs to ctf", "write it with `--to ctf`"];
    fails(&around, &[input, "-o", output, "--to-dialect=prop1"], &parts);
    fails(&around, &[input, "-o", output, "--to-dialect=nothing"], &["unknown dialect `nothing`"]);
    ichnos(["convert", input, "-o", output, "--to-dialect=prop1", "--to=ctf"]).expect(0, &[]);
    assert!(around.join("out.jsonl/metadata").exists());
}

#[test]
fn only_traces_are_replaced() {
    let (input, around) = (trace("failures-input"), Directory::new("failures"));
    let input = input.to_str().unwrap();
    std::fs::write(around.join("file.ctf"), "mine").unwrap();
    std::fs::create_dir(around.join("photos")).unwrap();
    std::fs::write(around.join("photos/cat.jpg"), "mine").unwrap();
    let path = |name: &str| around.join(name).to_str().unwrap().to_owned();
    fails(&around, &[input, "-o", &path("file.ctf")], &["file.ctf", "the file exists"]);
    fails(&around, &[input, "-o", &path("photos")], &["photos", "is not empty"]);
    fails(&around, &[input, "-o", &path("none/trace")], &["none"]);
    fails(&around, &[input, "-o", &path("file.ctf/trace")], &["file.ctf"]);
    // Not even root can create a file there.
    if cfg!(target_os = "linux") {
        fails(&around, &[input, "-o", "/proc/ichnos-trace"], &["/proc/ichnos-trace"]);
    }
}

#[test]
fn only_a_complete_trace_replaces_a_trace() {
    let (input, around) = (trace("failures-input"), Directory::new("failures"));
    let call_site = "callsite { name = \"e\"; func = \"f\"; file = \"f.c\"; line = 1; };\n";
    std::fs::write(input.join("metadata"), format!("{METADATA}{call_site}")).unwrap();
    let input = input.to_str().unwrap();
    let output = around.join("trace");
    let output = output.to_str().unwrap();
    ichnos(["convert", input, "-o", output]).expect(0, &[]);
    let first = content(&around);
    fails(&around, &[input, "-o", output], &["exists and is not empty", "--force"]);
    fails(&around, &["/nowhere", "-o", output, "--force"], &["/nowhere"]);
    fails(&around, &[input, "-o", output, "--force", "--to-dialect=ctf3"], &["ctf3"]);
    // PROP-1.0 lacks call sites.
    fails(
        &around,
        &[input, "-o", output, "--force", "--to-dialect=prop1", "--strict"],
        &["nothing was written"],
    );
    let dry = ichnos(["convert", input, "-o", output, "--dry-run", "--to-dialect=ctf1.8"]);
    dry.expect(0, &[]);
    assert_eq!(content(&around), first);
    // Replacing an output leaves nothing else behind.
    ichnos(["convert", input, "-o", output, "--force", "--to-dialect=ctf1.8"]).expect(0, &[]);
    let second = content(&around);
    assert_ne!(second, first);
    let names =
        |all: &[(String, Option<Vec<u8>>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&second), names(&first));
}

/// Writes a trace with this number of packets, each with many events.
fn large(packets: u64) -> Directory {
    let directory = Directory::new("failures-large");
    std::fs::write(directory.join("metadata"), METADATA).unwrap();
    let mut file = std::fs::File::create(directory.join("stream")).unwrap();
    for index in 0..packets {
        let times: Vec<u64> = (0..1000).map(|event| index * 100_000 + event * 10).collect();
        file.write_all(&packet(&times, 0)).unwrap();
    }
    directory
}

/// No room for the output: a file size limit acts like a full disk.
#[test]
fn without_room_the_old_trace_stays() {
    let (small, input, around) = (trace("failures-input"), large(40), Directory::new("failures"));
    let output = around.join("trace");
    ichnos(["convert", small.to_str().unwrap(), "-o", output.to_str().unwrap()]).expect(0, &[]);
    let before = content(&around);
    for options in [&[][..], &["--packet-size=4096"], &["--threads=1"]] {
        let run = Command::new("sh")
            // Without a signal handler, the signal would end the program.
            .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_ichnos"))
            .args(["convert", "--force", "-o"])
            .arg(&output)
            .args(options)
            .arg(&*input)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{error}");
        assert!(error.contains("File too large") && error.contains("stream"), "{error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(content(&around), before, "{options:?}");
    }
}

#[test]
fn a_signal_leaves_the_old_trace() {
    let (small, input, around) = (trace("failures-input"), large(3000), Directory::new("failures"));
    let output = around.join("trace");
    ichnos(["convert", small.to_str().unwrap(), "-o", output.to_str().unwrap()]).expect(0, &[]);
    let before = content(&around);
    for signal in ["TERM", "INT"] {
        let mut child = command()
            .args(["convert", "-q", "--force", "--packet-size=4096", "-o"])
            .arg(&output)
            .arg(&*input)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Writing starts when the directory appears.
        let begin = Instant::now();
        while std::fs::read_dir(&*around).unwrap().count() < 2 {
            assert!(begin.elapsed() < Duration::from_secs(60), "it does not begin");
            assert!(child.try_wait().unwrap().is_none(), "it was too fast");
            std::thread::sleep(Duration::from_millis(1));
        }
        let kill = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
        assert!(kill.unwrap().success());
        let status = child.wait().unwrap();
        let ended = status.code().or(status.signal().map(|signal| 128 + signal));
        assert_eq!(ended, Some(if signal == "TERM" { 143 } else { 130 }));
        assert_eq!(content(&around), before, "{signal}");
    }
}
