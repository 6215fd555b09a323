//! Several paths of which one is unreadable, and files that are not traces.

use std::ffi::{OsStr, OsString};
use std::fs;

use crate::support::{Directory, Run, ichnos, packet, trace};
use crate::transcript::transcript;

fn run(verb: &str, paths: &[&OsStr], options: &[&str]) -> Run {
    let paths = paths.iter().copied();
    ichnos([OsStr::new(verb)].into_iter().chain(paths).chain(options.iter().map(OsStr::new)))
}

/// Unreadable paths are reported, and the other paths are read.
#[test]
fn one_of_several() {
    let directory = trace("one-of-several");
    let others = Directory::new("one-of-several-others");
    let missing = others.join("missing").into_os_string();
    let text = others.join("text").into_os_string();
    fs::write(&text, "hello").unwrap();
    let archive = others.join("broken.zip").into_os_string();
    fs::write(&archive, b"PK\x03\x04nonsense").unwrap();
    let empty = others.join("empty").into_os_string();
    fs::create_dir(&empty).unwrap();
    let good = directory.as_os_str();
    let alone = run("cat", &[good], &[]).expect(0, &[]).out;
    for (bad, expected) in [
        (&missing, "missing: no such file or directory"),
        (&text, "text: no trace found: this is a text file"),
        (&archive, "broken.zip: this looks like a zip archive, but it cannot be read"),
        (&empty, "empty: no trace found: it is empty"),
    ] {
        for paths in [[good, bad], [bad, good]] {
            assert_eq!(run("cat", &paths, &[]).expect(3, &["error: ", expected]).out, alone);
            run("info", &paths, &[]).expect(3, &["error: ", expected]).prints(&["data stream"]);
            run("schema", &paths, &[]).expect(3, &["error: ", expected]).prints(&["demo:tick"]);
            // A check prints its findings.
            run("check", &paths, &[]).expect(3, &[]).prints(&[expected, "1 error, 0 warnings", "10 events"]);
            for verb in ["cat", "info", "schema", "check"] {
                let run = run(verb, &paths, &["--strict"]).expect(2, &[expected]);
                assert_eq!(run.out, "");
            }
        }
        let info = run("info", &[good, bad], &["--json"]).expect(3, &[]).json();
        assert!(info["problems"][0].as_str().unwrap().contains(expected), "{info:#}");
        let check = run("check", &[good, bad], &["--json"]).expect(3, &[]).json();
        assert_eq!((&check["errors"], &check["findings"][0]["kind"]), (&1.into(), &"input".into()));
    }
    // Nothing was read: an error for each path.
    for verb in ["cat", "info", "schema", "check"] {
        let run = run(verb, &[&missing, &text, &empty], &[]);
        let run = run.expect(2, &["missing: no such", "text: no trace found", "empty: no trace found"]);
        assert_eq!(run.err.matches("error: ").count(), 3, "{}", run.err);
    }
}

/// The output does not depend on the order of paths.
#[test]
fn paths_in_any_order() {
    let examples = crate::support::root().join("examples");
    let [first, second] = ["hello-lttng", "hello-ctf2"].map(|name| examples.join(name).into_os_string());
    for options in [&["--format=pretty"][..], &["--format=details"], &["--format=jsonl"], &["--format=log"]] {
        let out = run("cat", &[&first, &second], options).expect(0, &[]).out;
        assert_eq!(run("cat", &[&second, &first], options).expect(0, &[]).out, out, "{options:?}");
        assert!(out.contains("hello:tick") && out.contains("sample"), "{options:?}");
    }
    let info = run("info", &[&first, &second], &["--count"]).expect(0, &[]).out;
    assert_eq!(run("info", &[&second, &first], &["--count"]).expect(0, &[]).out, info);
}

/// An unreadable trace next to a missing path.
#[test]
fn refused_and_missing() {
    let _transcript = transcript!();
    let directory = Directory::new("refused-and-missing");
    fs::write(directory.join("metadata"), "/* CTF 1.8 */ nonsense").unwrap();
    let missing = directory.join("missing").into_os_string();
    let paths = [directory.as_os_str(), &missing];
    run("cat", &paths, &[]);
    run("check", &paths, &[]);
}

/// Well-known file types are named.
#[test]
fn known_files() {
    let _transcript = transcript!();
    let directory = Directory::new("known-files");
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    let mut core = elf.clone();
    core[16] = 4;
    let mut etl = vec![0; 256];
    (etl[2], etl[0x48], etl[0x4a], etl[0x4b]) = (1, 2, 2, 0xc0);
    for (name, bytes, what) in [
        (
            "perf.data",
            &b"PERFILE2rest"[..],
            "a perf.data file, which ichnos does not read; `perf data convert",
        ),
        ("pcap", b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "a pcap file"),
        ("pcapng", b"\n\r\r\n\x1c\0\0\0", "a pcapng file"),
        ("perfetto", b"\x0a\x04\x40\x01\x50\x02\x0a\x04\x40\x02\x50\x02", "a Perfetto trace"),
        ("chrome", b"{\"traceEvents\":[]}", "a trace in Chrome's JSON format"),
        ("elf", &elf, "a program or library (ELF)"),
        ("core", &core, "a core dump (ELF)"),
        ("text", b"some text\n", "a text file"),
        ("journal", b"LPKSHHRH\0\0", "a systemd journal"),
        ("etl", &etl, "an ETL file"),
        ("strace", b"brk(NULL) = 0x5581\n", "strace output"),
        ("trace.dat", b"\x17\x08\x44tracing6", "a trace.dat file"),
        ("sqlite", b"SQLite format 3\0", "a SQLite database"),
        ("pdf", b"%PDF-1.7", "a PDF document"),
        ("zeros", &[0; 64], "a file that begins with zeros"),
    ] {
        let path = directory.join(name);
        fs::write(&path, bytes).unwrap();
        for verb in ["info", "cat"] {
            let run = run(verb, &[path.as_os_str()], &[]);
            run.expect(2, &[&format!("no trace found: this is {what}"), "which ichnos does not read"]);
        }
    }
    fs::write(directory.join("nothing"), b"").unwrap();
    run("info", &[directory.join("nothing").as_os_str()], &[]);
    fs::write(directory.join("stream"), packet(&[1, 2], 0)).unwrap();
    // Among other files, a recording is mentioned. Compressed files are unpacked for this.
    let among = Directory::new("known-among");
    fs::write(among.join("readme"), "text").unwrap();
    fs::write(among.join("x.pcap"), b"\xd4\xc3\xb2\xa1\x02\0\x04\0").unwrap();
    run("info", &[among.as_os_str()], &[]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, b"PERFILE2rest").unwrap();
    let packed = among.join("perf.data.gz");
    fs::write(&packed, encoder.finish().unwrap()).unwrap();
    run("info", &[packed.as_os_str()], &[]);
}

/// With `--strict`, an error in a directory also stops the command.
#[cfg(unix)]
#[test]
fn problems_of_directories() {
    let _transcript = transcript!();
    let directory = trace("problems-of-directories");
    let mut deep = directory.to_path_buf();
    for _ in 0..3 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    let path: OsString = directory.as_os_str().to_owned();
    let options = ["--resource-limit", "directories=1"];
    run("cat", &[&path], &options);
    run("cat", &[&path], &[&options[..], &["--strict"]].concat());
}
