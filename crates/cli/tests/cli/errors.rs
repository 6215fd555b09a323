//! Invalid usage and invalid input: the right exit code, and a helpful error.

use std::ffi::OsStr;
use std::fs;

use crate::support::{Directory, METADATA, command, ichnos, ichnos_with, packet, root, trace};
use crate::transcript::transcript;

#[test]
fn usage() {
    let _transcript = transcript!();
    ichnos::<&str>([]);
    ichnos(["nonsense"]);
    ichnos(["info"]);
    ichnos(["cat", "x", "--begin", "yesterday"]);
    ichnos(["cat", "x", "--timerange", "1,2", "--begin", "1"]);
    ichnos(["cat", "x", "--event", "["]);
    ichnos(["info", "-", "-"]);
    ichnos(["man", "nonsense"]);
    ichnos(["convert", "x"]);
    ichnos(["merge", "a", "b"]);
    ichnos(["cut", "a"]);
    ichnos(["chekc", "a"]);
}

#[test]
fn missing_inputs() {
    let _transcript = transcript!();
    let directory = trace("nothing-there");
    let typo = directory.join("stream_c");
    ichnos([OsStr::new("info"), typo.as_os_str()]);
    for verb in ["info", "cat", "check", "schema"] {
        ichnos([verb, "/does/not/exist"]);
    }
}

#[test]
fn no_trace() {
    let _transcript = transcript!();
    let directory = Directory::new("no-trace");
    let run = |name: &str| ichnos([OsStr::new("info"), directory.join(name).as_os_str()]);
    fs::create_dir(directory.join("empty-directory")).unwrap();
    run("empty-directory");
    fs::write(directory.join("empty-file"), b"").unwrap();
    run("empty-file");
    fs::write(directory.join("text"), b"hello").unwrap();
    run("text");
    fs::write(directory.join("bytes"), [0xc3; 64]).unwrap();
    run("bytes");
    fs::create_dir(directory.join("other")).unwrap();
    fs::write(directory.join("other/metadata.txt"), METADATA).unwrap();
    run("other");
    let trace = trace("no-trace-stream");
    fs::create_dir(trace.join("below")).unwrap();
    ichnos([OsStr::new("cat"), trace.join("below").as_os_str()]);
    fs::remove_file(trace.join("metadata")).unwrap();
    ichnos([OsStr::new("cat"), trace.join("stream_a").as_os_str()]);
}

#[test]
fn limits_and_dialects() {
    let _transcript = transcript!();
    let directory = trace("limits");
    let run = |option: &str, value: &str| {
        ichnos([OsStr::new("info"), directory.as_os_str(), OsStr::new(option), OsStr::new(value)])
    };
    run("--resource-limit", "metadata=16");
    run("--resource-limit", "metadata=1M");
    run("--resource-limit", "metadata=much");
    run("--resource-limit", "depth=1");
    run("--resource-limit", "field-classes=3");
    run("--resource-limit", "event-classes=1");
    run("--resource-limit", "integer=8");
    run("--from-dialect", "ctf1.8");
    run("--from-dialect", "prop1");
    run("--from-dialect", "ctf3");
}

#[test]
fn metadata_of_its_own() {
    let _transcript = transcript!();
    let directory = trace("own-metadata");
    let metadata = directory.join("metadata");
    let run = |path: &OsStr, metadata: &OsStr| {
        ichnos([OsStr::new("info"), path, OsStr::new("--metadata"), metadata])
    };
    run(directory.as_os_str(), metadata.as_os_str());
    // In a subdirectory, in an archive, or the file itself.
    let above = Directory::new("own-metadata-above");
    fs::create_dir(above.join("below")).unwrap();
    fs::write(above.join("below/metadata"), METADATA).unwrap();
    run(above.as_os_str(), metadata.as_os_str());
    run(metadata.as_os_str(), metadata.as_os_str());
    let archive = above.join("trace.tar");
    let made = std::process::Command::new("tar")
        .arg("cf")
        .arg(&archive)
        .arg("-C")
        .arg(&*directory)
        .arg(".")
        .status();
    if made.is_ok_and(|status| status.success()) {
        run(archive.as_os_str(), metadata.as_os_str());
    }
    let stream = directory.join("stream_a");
    run(stream.as_os_str(), OsStr::new("/does/not/exist"));
    run(stream.as_os_str(), directory.as_os_str());
    run(stream.as_os_str(), stream.as_os_str());
}

#[test]
fn damaged_archives() {
    let _transcript = transcript!();
    let directory = Directory::new("archives");
    fs::write(directory.join("a.gz"), b"\x1f\x8b\x08\x00").unwrap();
    ichnos([OsStr::new("info"), directory.join("a.gz").as_os_str()]);
    fs::write(directory.join("a.zip"), b"PK\x03\x04nonsense").unwrap();
    ichnos([OsStr::new("info"), directory.join("a.zip").as_os_str()]);
    ichnos_with(["info", "-"], b"");
    ichnos_with(["info", "-"], &[0xc1; 1000]);
}

#[test]
fn bad_metadata() {
    let _transcript = transcript!();
    let directory = Directory::new("bad-metadata");
    let run = |verb: &str| ichnos([OsStr::new(verb), directory.as_os_str()]);
    fs::write(directory.join("metadata"), b"").unwrap();
    run("info");
    run("check");
    fs::write(directory.join("metadata"), b"/* CTF 1.8 */\ntrace {\n  nonsense\n").unwrap();
    run("cat");
    fs::write(directory.join("metadata"), b"\x1e{\"type\": \"preamble\", \"version\": 2}\n\x1e{").unwrap();
    run("schema");
    let twice = format!("{METADATA}event {{ id = 1; name = \"again\"; stream_id = 0; }};\n");
    fs::write(directory.join("metadata"), twice).unwrap();
    run("check");
    fs::remove_file(directory.join("metadata")).unwrap();
    fs::create_dir(directory.join("metadata")).unwrap();
    run("info");
}

#[test]
fn damaged_streams() {
    let _transcript = transcript!();
    let directory = trace("damaged");
    let path = directory.as_os_str();
    // Truncated, wrong magic number, unknown packet kind: the rest is still read.
    let whole = fs::read(directory.join("stream_a")).unwrap();
    fs::write(directory.join("stream_a"), &whole[..whole.len() - 5]).unwrap();
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--stats")]);
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--strict")]);
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("-q")]);
    ichnos([OsStr::new("check"), path]);
    ichnos([OsStr::new("check"), path, OsStr::new("--metadata-only")]);
    let mut wrong = packet(&[1], 0);
    wrong[0] = 0;
    fs::write(directory.join("stream_a"), wrong).unwrap();
    ichnos([OsStr::new("check"), path]);
    let json = ichnos([OsStr::new("check"), path, OsStr::new("--json")]).json();
    assert_eq!(json["errors"], 1);
    assert_eq!(json["findings"][0]["kind"], "damage");
    assert_eq!(json["findings"][0]["byte"], 0);
    fs::write(directory.join("stream_a"), b"").unwrap();
    ichnos([OsStr::new("cat"), path, OsStr::new("--format=null")]);
}

/// Metadata alone is also a trace.
#[test]
fn no_data_streams() {
    let _transcript = transcript!();
    let directory = trace("no-data-streams");
    let alone = Directory::new("no-data-streams-alone");
    let metadata = alone.join("metadata");
    fs::write(&metadata, METADATA).unwrap();
    for verb in ["info", "cat", "check"] {
        ichnos([OsStr::new(verb), metadata.as_os_str()]);
        assert_eq!(ichnos([OsStr::new(verb), OsStr::new("-q"), metadata.as_os_str()]).err, "");
    }
    // Existing but unreadable files are reported as such.
    fs::remove_file(directory.join("stream_a")).unwrap();
    fs::write(directory.join("stream_b"), [0x55; 64]).unwrap();
    let run = ichnos([OsStr::new("cat"), directory.as_os_str()]);
    assert!(!run.err.contains("no data streams"), "{}", run.err);
}

/// Unrelated clocks, and data streams without a clock.
#[test]
fn clocks_apart() {
    let _transcript = transcript!();
    let directory = Directory::new("clocks-apart");
    let clock = METADATA.lines().find(|line| line.starts_with("clock {")).unwrap();
    let clockless =
        METADATA.replace(clock, "").replace("map = clock.mono.value;", "").replace("timestamp", "stamp");
    let other = METADATA.replace("absolute = true", "absolute = false");
    for (name, metadata) in [("a", METADATA), ("b", &other), ("c", &clockless)] {
        fs::create_dir(directory.join(name)).unwrap();
        fs::write(directory.join(name).join("metadata"), metadata).unwrap();
        fs::write(directory.join(name).join("stream"), packet(&[1, 2, 3], 0)).unwrap();
    }
    let run = |verb: &str, names: &[&str], more: &[&str]| {
        let paths = names.iter().map(|name| directory.join(name).into_os_string());
        let more = more.iter().map(|option| OsStr::new(option).to_owned());
        ichnos([OsStr::new(verb).to_owned()].into_iter().chain(paths).chain(more))
    };
    run("cat", &["a", "b"], &[]);
    run("check", &["a", "b"], &[]);
    run("check", &["a", "b"], &["--assume-correlated"]);
    run("cat", &["a", "b"], &["--assume-correlated", "-q"]);
    // Problems in data streams that are not selected do not matter.
    run("cat", &["a", "b"], &["--stream", "*/a/*"]);
    run("cat", &["a", "c"], &[]);
    assert_eq!(run("cat", &["c"], &[]).err, "");
}

#[cfg(unix)]
#[test]
fn no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let directory = trace("permission");
    let forbidden = directory.join("stream_a");
    fs::set_permissions(&forbidden, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&forbidden).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    ichnos([OsStr::new("cat"), directory.as_os_str(), OsStr::new("--format=null")])
        .expect(3, &["stream_a", "ermission denied"]);
    ichnos([OsStr::new("info"), forbidden.as_os_str()]).expect(2, &["no permission to read"]);
}

#[cfg(unix)]
#[test]
fn special_files() {
    let directory = trace("special");
    ichnos(["info", "/dev/null"]).expect(2, &["found a device"]);
    let made = std::process::Command::new("mkfifo").arg(directory.join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo is missing");
        return;
    }
    // A pipe among the data streams is reported. The command never waits for it.
    ichnos([OsStr::new("cat"), directory.as_os_str(), OsStr::new("--format=null")]).expect(3, &["a pipe"]);
}

#[test]
fn outputs() {
    let _transcript = transcript!();
    let directory = trace("outputs");
    let to = |path: &OsStr| ichnos([OsStr::new("cat"), directory.as_os_str(), OsStr::new("--output"), path]);
    to(directory.as_os_str());
    let empty = Directory::new("outputs-empty");
    to(empty.as_os_str());
    to(OsStr::new("/does/not/exist/out"));
}

/// Messages for mistakes say what was probably meant, or what the input is.
#[test]
fn mistakes_with_a_helpful_message() {
    let _transcript = transcript!();
    let example = |name: &str| format!("{}/examples/{name}", root().display());
    let (lttng, fuchsia, dotnet) =
        (example("hello-lttng"), example("hello-fuchsia"), example("hello-dotnet"));
    let run = |words: &[&str], path: &str| ichnos(words.iter().copied().chain([path]));
    // The requested format differs from the actual format.
    run(&["cat", "--from", "nettrace"], &lttng).expect(2, &["found ctf", "`--from ctf`"]);
    run(&["cat", "--from", "ctf"], &fuchsia).expect(2, &["found fuchsia-log"]);
    // Fields.
    run(&["stacks", "--samples", "Typ=Managed"], &dotnet).expect(2, &["did you mean `Type`"]);
    run(&["stacks", "--weight", "Typ"], &dotnet).expect(2, &["did you mean `Type`"]);
    run(&["stats", "--histogram", "text"], &lttng).expect(2, &["is a string, not a number", "`--by text`"]);
    run(&["stats", "--histogram", "message"], &fuchsia).expect(2, &["is a string, not a number"]);
    run(&["stats", "--histogram", "samples"], &lttng).expect(2, &["is an array, not a number"]);
    run(&["cat", "-f", "number"], &lttng).expect(2, &["--format csv --fields time,event,number"]);
    run(&["cat", "-f", "prety"], &lttng).expect(2, &["pretty"]);
    // An unsupported format is not mistaken for a field.
    let yaml = run(&["cat", "-f", "yaml"], &lttng).expect(2, &["possible values", "if `yaml` is a field"]);
    assert!(!yaml.err.contains("name table columns"), "{}", yaml.err);
    run(&["cat", "-f", "number,text"], &lttng).expect(2, &["name table columns with `--fields`"]);
    // Missing and misplaced words.
    run(&["stats", "--pair", "hello:tick"], &lttng).expect(2, &["the name of the end event is missing"]);
    run(&["convert", "-o", "text"], &lttng).expect(2, &["`ichnos cat PATH` prints text", "`-o ./text`"]);
}

/// An unknown time zone is not silently replaced with UTC.
#[test]
fn an_unknown_time_zone_is_reported() {
    let run = |zone: &str, options: &[&str]| {
        let example = format!("{}/examples/hello-lttng", root().display());
        let output = command().env("TZ", zone).args(["cat", "-n1", &example]).args(options).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run("Nowhere/City", &[]).contains("unknown time zone `Nowhere/City`, so times are in UTC"));
    for (zone, options) in [
        ("Nowhere/City", &["--clock-gmt"][..]),
        ("Nowhere/City", &["-q"]),
        ("UTC", &[]),
        ("CET-1CEST,M3.5.0,M10.5.0/3", &[]),
    ] {
        assert!(!run(zone, options).contains("time zone"), "{zone} {options:?}");
    }
    // Without local times, the time zone does not matter.
    for options in [&["-f", "jsonl"][..], &["-f", "csv"], &["--clock-seconds"], &["--clock-cycles"]] {
        assert!(!run("Nowhere/City", options).contains("time zone"), "{options:?}");
    }
    let verb = |words: &[&str]| {
        let example = format!("{}/examples/hello-lttng", root().display());
        let output = command().env("TZ", "Nowhere/City").args(words).arg(&example).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    for words in [&["schema"][..], &["check"], &["info", "--json"], &["stats", "--json"], &["stats", "--csv"]]
    {
        assert!(!verb(words).contains("time zone"), "{words:?}");
    }
    for words in [
        &["info"][..],
        &["stats"],
        &["cat", "-f", "jsonl", "--begin", "09:22"],
        &["cat", "-f", "null", "--filter", "time > 09:22"],
    ] {
        assert_eq!(verb(words).matches("unknown time zone `Nowhere/City`").count(), 1, "{words:?}");
    }
}
