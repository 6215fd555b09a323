//! Bad usage and bad input of every kind: the right exit code and an error that helps.

use std::ffi::OsStr;
use std::fs;

use crate::support::{Folder, METADATA, ichnos, ichnos_with, packet, trace};

#[test]
fn usage() {
    ichnos::<&str>([]).expect(2, &["Usage: ichnos"]);
    ichnos(["nonsense"]).expect(2, &["nonsense"]);
    ichnos(["info"]).expect(2, &["<PATH>"]);
    ichnos(["cat", "x", "--begin", "yesterday"]).expect(2, &["`yesterday` is no time", "+3s"]);
    ichnos(["cat", "x", "--timerange", "1,2", "--begin", "1"]).expect(2, &["cannot be used with"]);
    ichnos(["cat", "x", "--event", "["]).expect(2, &["the pattern of --event cannot be used", "help: "]);
    ichnos(["info", "-", "-"]).expect(2, &["can be read only once"]);
    ichnos(["man", "nonsense"]).expect(2, &["unknown command `nonsense`", "info, cat, check"]);
    ichnos(["convert", "x"]).expect(2, &["unrecognized subcommand", "`ichnos cat --format jsonl`"]);
    ichnos(["merge", "a", "b"]).expect(2, &["tip: ", "takes several traces"]);
    ichnos(["cut", "a"]).expect(2, &["--begin TIME --end TIME"]);
    ichnos(["chekc", "a"]).expect(2, &["did you mean `check`?"]);
    ichnos(["man", "cat"]).expect(0, &[]).prints(&[".TH ichnos-cat 1", "\"ichnos 0."]);
    ichnos(["check", "--help"]).expect(0, &[]).prints(&["Exit codes:\n  0  no problems"]);
    ichnos(["--help"]).expect(0, &[]).prints(&["Exit codes:"]);
    ichnos(["--version"]).expect(0, &[]).prints(&["ichnos 0."]);
}

#[test]
fn nothing_there() {
    let folder = trace("nothing-there");
    let typo = folder.join("stream_c");
    ichnos([OsStr::new("info"), typo.as_os_str()])
        .expect(2, &["there is no such file or folder", "did you mean", "stream_a"]);
    for verb in ["info", "cat", "check", "schema"] {
        ichnos([verb, "/does/not/exist"]).expect(2, &["/does/not/exist: there is no such file or folder"]);
    }
}

#[test]
fn no_trace() {
    let folder = Folder::new("no-trace");
    let run = |name: &str| ichnos([OsStr::new("info"), folder.join(name).as_os_str()]);
    fs::create_dir(folder.join("empty-folder")).unwrap();
    run("empty-folder").expect(2, &["no trace found", "it is empty", "a file called `metadata`"]);
    fs::write(folder.join("empty-file"), b"").unwrap();
    run("empty-file").expect(2, &["an empty file"]);
    fs::write(folder.join("text"), b"hello").unwrap();
    run("text").expect(2, &["this is a text file, which ichnos does not read", "ichnos formats"]);
    fs::write(folder.join("bytes"), [0xc3; 64]).unwrap();
    run("bytes").expect(2, &["none of the formats", "ichnos formats"]);
    fs::create_dir(folder.join("other")).unwrap();
    fs::write(folder.join("other/metadata.txt"), METADATA).unwrap();
    run("other").expect(2, &["called exactly `metadata`", "metadata.txt"]);
    let trace = trace("no-trace-stream");
    fs::create_dir(trace.join("below")).unwrap();
    ichnos([OsStr::new("cat"), trace.join("below").as_os_str()]).expect(2, &["did you mean"]);
    fs::remove_file(trace.join("metadata")).unwrap();
    ichnos([OsStr::new("cat"), trace.join("stream_a").as_os_str()]).expect(2, &["--metadata FILE"]);
}

#[test]
fn limits_and_dialects() {
    let folder = trace("limits");
    let run = |option: &str, value: &str| {
        ichnos([OsStr::new("info"), folder.as_os_str(), OsStr::new(option), OsStr::new(value)])
    };
    run("--max", "metadata=16").expect(2, &["more than the limit of 16"]);
    run("--max", "metadata=1M").expect(0, &[]);
    run("--max", "metadata=much").expect(2, &["expected a number of bytes"]);
    run("--max", "depth=1").expect(2, &["nested"]);
    run("--max", "field-classes=3").expect(2, &["more than 3 field classes"]);
    run("--max", "event-classes=1").expect(2, &["more than 1"]);
    run("--max", "integer=8").expect(2, &["wider than the limit of 8"]);
    run("--dialect", "ctf1.8").expect(0, &[]);
    run("--dialect", "prop1").expect(2, &["metadata:1:1", "without --dialect"]);
    run("--dialect", "ctf3").expect(2, &["possible values"]);
}

#[test]
fn metadata_of_its_own() {
    let folder = trace("own-metadata");
    let metadata = folder.join("metadata");
    let run = |path: &OsStr, metadata: &OsStr| {
        ichnos([OsStr::new("info"), path, OsStr::new("--metadata"), metadata])
    };
    run(folder.as_os_str(), metadata.as_os_str()).expect(2, &["has metadata of its own"]);
    // Deeper down, in an archive, or the file itself.
    let above = Folder::new("own-metadata-above");
    fs::create_dir(above.join("below")).unwrap();
    fs::write(above.join("below/metadata"), METADATA).unwrap();
    run(above.as_os_str(), metadata.as_os_str()).expect(2, &["(`below/metadata`)", "leave out --metadata"]);
    run(metadata.as_os_str(), metadata.as_os_str()).expect(2, &["has metadata of its own"]);
    let archive = above.join("trace.tar");
    let made =
        std::process::Command::new("tar").arg("cf").arg(&archive).arg("-C").arg(&*folder).arg(".").status();
    if made.is_ok_and(|status| status.success()) {
        run(archive.as_os_str(), metadata.as_os_str()).expect(2, &["has metadata of its own"]);
    }
    let stream = folder.join("stream_a");
    run(stream.as_os_str(), OsStr::new("/does/not/exist")).expect(2, &["the metadata cannot be read"]);
    run(stream.as_os_str(), folder.as_os_str()).expect(2, &["the metadata cannot be read"]);
    run(stream.as_os_str(), stream.as_os_str()).expect(2, &["stream_a"]);
}

#[test]
fn damaged_archives() {
    let folder = Folder::new("archives");
    fs::write(folder.join("a.gz"), b"\x1f\x8b\x08\x00").unwrap();
    ichnos([OsStr::new("info"), folder.join("a.gz").as_os_str()])
        .expect(2, &["this looks like gzip data, but it cannot be read"]);
    fs::write(folder.join("a.zip"), b"PK\x03\x04nonsense").unwrap();
    ichnos([OsStr::new("info"), folder.join("a.zip").as_os_str()]).expect(2, &["a zip archive"]);
    ichnos_with(["info", "-"], b"").expect(2, &["no trace found"]);
    ichnos_with(["info", "-"], &[0xc1; 1000]).expect(2, &["no trace found"]);
}

#[test]
fn bad_metadata() {
    let folder = Folder::new("bad-metadata");
    let run = |verb: &str| ichnos([OsStr::new(verb), folder.as_os_str()]);
    fs::write(folder.join("metadata"), b"").unwrap();
    run("info").expect(2, &["metadata"]);
    run("check").expect(1, &[]).prints(&["error", "remedy"]);
    fs::write(folder.join("metadata"), b"/* CTF 1.8 */\ntrace {\n  nonsense\n").unwrap();
    run("cat").expect(2, &["metadata:", "ichnos check"]);
    fs::write(folder.join("metadata"), b"\x1e{\"type\": \"preamble\", \"version\": 2}\n\x1e{").unwrap();
    run("schema").expect(2, &["metadata"]);
    let twice = format!("{METADATA}event {{ id = 1; name = \"again\"; stream_id = 0; }};\n");
    fs::write(folder.join("metadata"), twice).unwrap();
    run("check").expect(1, &[]).prints(&["1"]);
    fs::remove_file(folder.join("metadata")).unwrap();
    fs::create_dir(folder.join("metadata")).unwrap();
    run("info").expect(2, &["no trace found"]);
}

#[test]
fn damaged_streams() {
    let folder = trace("damaged");
    let path = folder.as_os_str();
    // Cut off, a wrong magic number, a packet of another kind: the rest is read all the same.
    let whole = fs::read(folder.join("stream_a")).unwrap();
    fs::write(folder.join("stream_a"), &whole[..whole.len() - 5]).unwrap();
    let run = ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--stats")]);
    run.expect(3, &["warning:", "stream_a: byte", "cut off", "events in"]);
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--strict")])
        .expect(2, &["error:", "without --strict"]);
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("-q")]).expect(3, &[]);
    ichnos([OsStr::new("check"), path]).expect(1, &[]).prints(&[
        "error",
        "cut off",
        "remedy: the file ends early",
    ]);
    ichnos([OsStr::new("check"), path, OsStr::new("--metadata-only")])
        .expect(0, &[])
        .prints(&["no problems"]);
    let mut wrong = packet(&[1], 0);
    wrong[0] = 0;
    fs::write(folder.join("stream_a"), wrong).unwrap();
    ichnos([OsStr::new("check"), path]).expect(1, &[]).prints(&["magic"]);
    let json = ichnos([OsStr::new("check"), path, OsStr::new("--json")]).expect(1, &[]).json();
    assert_eq!(json["errors"], 1);
    assert_eq!(json["findings"][0]["kind"], "damage");
    assert_eq!(json["findings"][0]["byte"], 0);
    fs::write(folder.join("stream_a"), b"").unwrap();
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null")]).expect(0, &[]);
}

/// Metadata alone are a trace, too.
#[test]
fn no_data_streams() {
    let folder = trace("no-data-streams");
    let alone = Folder::new("no-data-streams-alone");
    let metadata = alone.join("metadata");
    fs::write(&metadata, METADATA).unwrap();
    for verb in ["info", "cat", "check"] {
        ichnos([OsStr::new(verb), metadata.as_os_str()]).expect(0, &["note: ", "no data streams"]);
        assert_eq!(ichnos([OsStr::new(verb), OsStr::new("-q"), metadata.as_os_str()]).expect(0, &[]).err, "");
    }
    // What is there but cannot be read is reported as that.
    fs::remove_file(folder.join("stream_a")).unwrap();
    fs::write(folder.join("stream_b"), [0x55; 64]).unwrap();
    let run = ichnos([OsStr::new("cat"), folder.as_os_str()]).expect(3, &["magic"]);
    assert!(!run.err.contains("no data streams"), "{}", run.err);
}

/// Clocks that nothing relates, and data streams without any.
#[test]
fn clocks_apart() {
    let folder = Folder::new("clocks-apart");
    let clock = METADATA.lines().find(|line| line.starts_with("clock {")).unwrap();
    let clockless =
        METADATA.replace(clock, "").replace("map = clock.mono.value;", "").replace("timestamp", "stamp");
    let other = METADATA.replace("absolute = true", "absolute = false");
    for (name, metadata) in [("a", METADATA), ("b", &other), ("c", &clockless)] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("metadata"), metadata).unwrap();
        fs::write(folder.join(name).join("stream"), packet(&[1, 2, 3], 0)).unwrap();
    }
    let run = |verb: &str, names: &[&str], more: &[&str]| {
        let paths = names.iter().map(|name| folder.join(name).into_os_string());
        let more = more.iter().map(|option| OsStr::new(option).to_owned());
        ichnos([OsStr::new(verb).to_owned()].into_iter().chain(paths).chain(more))
    };
    run("cat", &["a", "b"], &[]).expect(2, &["the clock `mono` of", "--assume-correlated"]);
    run("check", &["a", "b"], &[]).expect(1, &[]).prints(&["error: the clock `mono`", "--assume-correlated"]);
    run("check", &["a", "b"], &["--assume-correlated"]).expect(0, &[]).prints(&["no problems"]);
    run("cat", &["a", "b"], &["--assume-correlated", "-q"]).expect(0, &[]);
    // Those of data streams that are not wanted do not matter.
    run("cat", &["a", "b"], &["--stream", "*/a/*"]).expect(0, &[]);
    run("cat", &["a", "c"], &[]).expect(0, &["note: the data stream", "c/stream has no clock"]);
    assert_eq!(run("cat", &["c"], &[]).expect(0, &[]).err, "");
}

#[cfg(unix)]
#[test]
fn no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = trace("permission");
    let forbidden = folder.join("stream_a");
    fs::set_permissions(&forbidden, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&forbidden).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    ichnos([OsStr::new("cat"), folder.as_os_str(), OsStr::new("--format=null")])
        .expect(3, &["stream_a", "ermission denied"]);
    ichnos([OsStr::new("info"), forbidden.as_os_str()]).expect(2, &["no permission to read"]);
}

#[cfg(unix)]
#[test]
fn special_files() {
    let folder = trace("special");
    ichnos(["info", "/dev/null"]).expect(2, &["found a device"]);
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo is missing");
        return;
    }
    // A pipe among the data streams is reported, and never waited for.
    ichnos([OsStr::new("cat"), folder.as_os_str(), OsStr::new("--format=null")]).expect(3, &["a pipe"]);
}

#[test]
fn outputs() {
    let folder = trace("outputs");
    let to = |path: &OsStr| ichnos([OsStr::new("cat"), folder.as_os_str(), OsStr::new("--output"), path]);
    to(folder.as_os_str()).expect(2, &["the output cannot be opened", "found a folder"]);
    to(OsStr::new("/does/not/exist/out")).expect(2, &["the output cannot be opened"]);
}
