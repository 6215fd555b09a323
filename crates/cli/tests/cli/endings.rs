//! Ends of the command: output files, losses and exit codes.

use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Directory, METADATA, Run, command, ichnos, packet, recorded, root, trace};
use crate::transcript::transcript;

fn run(verb: &str, directory: &Directory, options: &[&str]) -> Run {
    ichnos([OsStr::new(verb), directory.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
}

fn names(directory: &Directory) -> Vec<String> {
    let items = fs::read_dir(&**directory).unwrap();
    items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
}

/// Writes a trace with a damaged second packet.
fn damaged(name: &str) -> Directory {
    let directory = trace(name);
    let whole = fs::read(directory.join("stream_a")).unwrap();
    fs::write(directory.join("stream_a"), &whole[..whole.len() - 5]).unwrap();
    directory
}

/// A rejected input keeps the old output file. A damaged input replaces it, because there is output.
#[test]
fn files_of_refused_kinds() {
    let _transcript = transcript!();
    let directory = damaged("files-refused");
    let others = Directory::new("files-refused-out");
    let out = others.join("out");
    let option = format!("--output={}", out.display());
    for format in ["pretty", "jsonl", "details", "log"] {
        let format = format!("--format={format}");
        for threads in ["--threads=1", "--threads=3"] {
            fs::write(&out, "old").unwrap();
            run("cat", &directory, &[&option, "--force", "--strict", &format, threads]);
            assert_eq!(fs::read_to_string(&out).unwrap(), "old");
            assert_eq!(names(&others), ["out"]);
            fs::remove_file(&out).unwrap();
            run("cat", &directory, &[&option, "--strict", &format, threads]);
            assert!(names(&others).is_empty());
            fs::write(&out, "old").unwrap();
            run("cat", &directory, &[&option, "--force", &format, threads]);
            assert!(fs::read_to_string(&out).unwrap().lines().count() >= 9);
        }
    }
    // The standard output contains everything before the damage.
    let run = run("cat", &directory, &["--strict"]);
    assert!(run.out.lines().count() > 5, "{}", run.out);
}

/// Without a standard output, printed text would be lost.
#[cfg(unix)]
#[test]
fn without_a_standard_output() {
    let directory = trace("without-output");
    let run = |line: &str| {
        let script = format!("\"$0\" {line} >&-");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_ichnos")]).current_dir(&*directory);
        let output = shell.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for line in [
        "cat .",
        "cat . --format jsonl",
        "cat . --threads 3",
        "info .",
        "info . --json --count",
        "check .",
        "schema .",
        "formats",
        "completions bash",
        "man",
        "--help",
        "--version",
        "help cat",
    ] {
        let (code, err) = run(line);
        assert_eq!(code, Some(2), "{line}: {err}");
        assert!(err.contains("the standard output is closed"), "{line}: {err}");
    }
    // These commands do not print to the standard output.
    for line in ["cat . --format null", "cat . -o ../without-output.txt"] {
        let (code, err) = run(line);
        assert_eq!(code, Some(0), "{line}: {err}");
    }
    let _ = fs::remove_file(directory.join("../without-output.txt"));
    // A full device is the same as no output.
    if std::path::Path::new("/dev/full").exists() {
        for verb in ["cat .", "info .", "--help"] {
            let script = format!("\"$0\" {verb} >/dev/full");
            let mut shell = Command::new("sh");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_ichnos")]).current_dir(&*directory);
            assert_eq!(shell.stderr(Stdio::null()).status().unwrap().code(), Some(2), "{verb}");
        }
    }
}

/// A reader that closes the pipe early causes no error message.
#[cfg(unix)]
#[test]
fn readers_that_stop_early() {
    let directory = trace("stop-early");
    let times: Vec<u64> = (0..20_000).collect();
    fs::write(directory.join("stream_a"), packet(&times, 0)).unwrap();
    for verb in ["cat", "cat --format=jsonl", "cat --threads=3 --chunk-size=4K", "schema", "info"] {
        let script = format!("(\"$0\" {verb} . ; echo code $? >&2) | head -n 1 >/dev/null");
        let mut shell = Command::new("sh");
        let output = shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_ichnos")])
            .current_dir(&*directory)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("error"), "{verb}: {err}");
        assert!(err.contains("code 0"), "{verb}: {err}");
    }
}

/// Each signal ends the command cleanly, with its own exit code.
#[cfg(unix)]
#[test]
fn signals() {
    use std::io::{BufRead, BufReader, Read};

    let ignored = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        ignored.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0").trim().to_owned();
    let ignores_hup = u64::from_str_radix(&ignored, 16).is_ok_and(|mask| mask & 1 != 0);
    let directory = trace("signals");
    let packet_at = |begin: u64| packet(&(begin..begin + 20_000).collect::<Vec<_>>(), 0);
    let packets: Vec<_> = (0..40).flat_map(|number| packet_at(number * 20_000)).collect();
    fs::write(directory.join("stream_a"), packets).unwrap();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && ignores_hup {
            eprintln!("skipped: SIGHUP is ignored here");
            continue;
        }
        let send = |child: &std::process::Child| {
            let status = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
            assert!(status.unwrap().success());
        };
        let start = |more: &[&OsStr]| {
            let mut command = command();
            command.args(["cat", "-q", "--format=jsonl"]).arg(&*directory).args(more);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        // The command waits until its output is read.
        let mut child = start(&[]);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        send(&child);
        out.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        // An existing file stays, and no other file is left next to it.
        let others = Directory::new("signals-out");
        let target = others.join("out.jsonl");
        let mut child = start(&[OsStr::new("-o"), target.as_os_str()]);
        while names(&others).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        send(&child);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(names(&others).is_empty(), "{signal}: {:?}", names(&others));
        // The same holds for traces and parts, with and without the final comparison.
        for words in [
            &["convert", "--packet-size=100"][..],
            &["convert", "--verify", "--to-dialect=prop1"],
            &["split", "--by=event", "--packet-size=100"],
            &["split", "--by=time=1ms", "--verify"],
        ] {
            let mut child = command();
            child.args(words).arg(&*directory).args([OsStr::new("-o"), others.join("out").as_os_str()]);
            let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            while names(&others).is_empty() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            send(&child);
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}: {words:?}");
            assert!(names(&others).is_empty(), "{signal}: {words:?}: {:?}", names(&others));
        }
        // A socket is removed. Ctrl-C is the expected end there.
        let socket = others.join("log.sock");
        let mut child = command();
        child.args(["cat", "--listen", &format!("unixgram:{}", socket.display())]);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !socket.exists() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        send(&child);
        let expected = if signal == "INT" { 0 } else { code };
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{signal}");
        assert!(!socket.exists());
    }
}

/// Commands started by `nohup` do not end with their terminal.
#[cfg(unix)]
#[test]
fn ignored_signals_stay_ignored() {
    let directory = Directory::new("nohup");
    let socket = directory.join("log.sock");
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_ichnos"), "cat", "--listen"])
        .arg(format!("unixgram:{}", socket.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !socket.exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let send = |signal: &str| {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    };
    send("-HUP");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(socket.exists());
    send("-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// Losses in the tracer are not faults in the trace, but they are reported.
#[test]
fn losses_in_checks() {
    let directory = trace("losses");
    let check = |options: &[&str]| run("check", &directory, options);
    let summary =
        "no problems in the recorded data, but 7 of 17 events were discarded by the tracer: 1 trace, ";
    check(&[]).expect(0, &[]).prints(&[summary]);
    check(&["--fail-on", "loss"]).expect(1, &[]).prints(&[summary]);
    check(&["--fail-on", "warning,loss"]).expect(1, &[]);
    check(&["--fail-on", "warning,damage"]).expect(0, &[]);
    let json = check(&["--json"]).expect(0, &[]).json();
    assert_eq!(
        (&json["discarded_events"], &json["discarded_packets"], &json["discarded_events_of_unknown_number"]),
        (&7.into(), &0.into(), &false.into())
    );
    check(&["--metadata-only"]).expect(0, &[]).prints(&["no problems: "]);
    check(&["--metadata-only", "--fail-on=loss"]).expect(2, &["`--metadata-only` skips"]);
    check(&["--fail-on=never,loss"]).expect(2, &["cannot be combined"]);
    check(&["--fail-on=nonsense"]).expect(2, &["possible values"]);
    // With errors, the summary still contains the loss.
    let directory = damaged("losses-damaged");
    let summary = "1 error, 0 warnings, 7 of 16 events were discarded by the tracer: ";
    run("check", &directory, &[]).expect(1, &[]).prints(&[summary]);
    run("check", &directory, &["--fail-on", "never"]).expect(0, &[]).prints(&[summary]);
    // Without losses, the summary does not mention them.
    fs::write(directory.join("stream_a"), packet(&[1, 2], 0)).unwrap();
    run("check", &directory, &["--fail-on", "loss"]).expect(0, &[]).prints(&["no problems: 1 trace"]);
    let Some(trace) = recorded("ctf/real/lttng-ust/discard") else { return };
    let check = |options: &[&str]| {
        ichnos([OsStr::new("check"), trace.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
    };
    let summary = "but 54,382 of 60,000 events were discarded by the tracer";
    check(&[]).expect(0, &[]).prints(&[summary]);
    check(&["--fail-on=loss"]).expect(1, &[]).prints(&[summary]);
}

/// On request, warnings fail a check.
#[test]
fn warnings_in_checks() {
    let _transcript = transcript!();
    let logs = root().join("examples/hello-fuchsia/boot.log");
    let mut bytes = fs::read(logs).unwrap();
    // Reserved bits of the second record.
    let second = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]) >> 4) * 8;
    bytes[second + 6] = 1;
    let directory = Directory::new("warnings");
    fs::write(directory.join("a.log"), bytes).unwrap();
    run("check", &directory, &[]);
    run("check", &directory, &["--fail-on=warning"]);
    run("check", &directory, &["--fail-on=damage"]);
    run("check", &directory, &["--strict"]);
}

/// Tracer faults are mentioned if they changed what was read, or on request.
#[test]
fn relevant_quirks() {
    let _transcript = transcript!();
    let lttng = METADATA.replace(
        "env {",
        "env { tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 13; tracer_patchlevel = 0;",
    );
    let make = |name: &str, end: u64| {
        let directory = Directory::new(name);
        fs::write(directory.join("metadata"), &lttng).unwrap();
        let mut bytes = packet(&[1_500, 2_500], 0);
        bytes[16..24].copy_from_slice(&end.to_le_bytes());
        fs::write(directory.join("stream"), bytes).unwrap();
        directory
    };
    let note = "note: lttng-crash-packet-end: ";
    let (whole, crashed) = (make("quirk-whole", 2_500), make("quirk-crashed", 0));
    let check = |directory: &Directory, options: &[&str]| run("check", directory, options);
    assert!(!check(&whole, &[]).out.contains(note));
    check(&whole, &["-v"]).prints(&[note]);
    check(&crashed, &[]).prints(&[note]);
    for (directory, applied) in [(&whole, false), (&crashed, true)] {
        let json = check(directory, &["--json"]).json();
        let finding = &json["findings"][0];
        assert_eq!((&finding["kind"], &finding["applied"]), (&"quirk".into(), &applied.into()));
        let run = run("cat", directory, &[]);
        assert_eq!(run.err.contains("lttng-crash-packet-end: "), applied, "{}", run.err);
        assert_eq!(ichnos([OsStr::new("cat"), directory.as_os_str(), OsStr::new("-q")]).err, "");
    }
}

/// A clock origin known only from the tracer's name matters only if there is another clock.
#[test]
fn relevant_clocks() {
    let check = |paths: &[&str]| {
        let output = command().arg("check").args(paths).current_dir(root()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let note = "note: lttng-monotonic-clock: ";
    assert!(!check(&["examples/hello-lttng"]).contains(note));
    assert!(check(&["examples/hello-lttng", "examples/hello-ctf2"]).contains(note));
    assert!(!check(&["examples/hello-lttng", "examples/hello-ctf2", "--assume-correlated"]).contains(note));
}

/// Ctrl-C ends a conversion within a data stream. It runs at that moment, because it waits until its output is read.
#[cfg(unix)]
#[test]
fn conversions_are_interrupted() {
    use std::io::{BufRead, BufReader, Read};

    let directory = Directory::new("interrupted-conversion");
    let lines = directory.join("lines.jsonl");
    let line = |number: u32| {
        format!(
            "{{\"type\": \"event\", \"stream\": 0, \"ts\": {number}, \"name\": \"e\", \"payload\": {{\"v\": {number}}}}}\n"
        )
    };
    fs::write(&lines, (0..150_000).map(line).collect::<String>()).unwrap();
    let words = ["convert", "-q", "--to=jsonl", lines.to_str().unwrap(), "-o", "-"];
    let whole = ichnos(words).expect(0, &[]).out.len();
    let mut child = command();
    child.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    // The conversion is no faster than its reader, so that the signal arrives before its end.
    let (mut block, mut total) = ([0; 4096], first.len());
    loop {
        match out.read(&mut block).unwrap() {
            0 => break,
            size => total += size,
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(total < whole / 2, "{total} of {whole} bytes");
}

/// All verbs report damage that is found without decoding events. Verbs that decode events report other damage. With
/// `--verify`, all verbs do.
#[test]
fn each_verb_reports_damage() {
    let truncated = damaged("verdict-truncated");
    let wrong = trace("verdict-wrong");
    let mut bytes = fs::read(wrong.join("stream_a")).unwrap();
    // The last event in the first packet has the id of another class.
    let size = packet(&[1, 2, 3], 0).len();
    bytes[size - 24] = 0xee;
    fs::write(wrong.join("stream_a"), bytes).unwrap();
    let out = Directory::new("verdict-out");
    let mut unread = 0;
    for (directory, is_seen_in_copies) in [(&truncated, true), (&wrong, false)] {
        let expected = run("cat", directory, &["--format=null"]).expect(3, &[]).err;
        let warnings = |text: &str| text.lines().filter(|line| line.starts_with("warning: ")).count();
        for (verb, options, copies) in [
            ("convert", &[][..], true),
            ("convert", &["--packet-size=64"], false),
            ("cut", &["--begin=+1ns"], false),
            ("filter", &["event.id >= 0"], false),
            ("split", &["--by=stream"], true),
            ("split", &["--by=time=1s"], true),
            ("split", &["--by=size=100"], true),
            ("split", &["--by=event"], false),
        ] {
            let path = out.join("t");
            let output = format!("--output={}", path.display());
            let (first, options) = match verb {
                "filter" => (&options[..1], &options[1..]),
                _ => (&options[..0], options),
            };
            let mut words = vec![verb];
            words.extend(first);
            words.push(directory.to_str().unwrap());
            words.extend(options);
            words.extend(["--force", &output]);
            let mut run = ichnos(&words);
            if copies && !is_seen_in_copies && run.code == 0 {
                run.expect(0, &["copied without reading their events"]);
                unread += 1;
                words.push("--verify");
                run = ichnos(&words);
            }
            assert_eq!(run.code, 3, "{words:?}: {}", run.err);
            assert_eq!(warnings(&run.err), warnings(&expected), "{words:?}: {}\n{expected}", run.err);
        }
    }
    assert!(unread >= 2, "{unread}");
}
