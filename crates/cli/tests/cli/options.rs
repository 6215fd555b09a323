//! Options that do not apply are errors. The message says to what they apply.

use std::ffi::OsStr;

use crate::support::{Directory, Run, ichnos, root, trace};
use crate::transcript::transcript;

const FORMATS: [&str; 8] = ["pretty", "details", "jsonl", "log", "log-json", "csv", "tsv", "null"];

fn cat(directory: &Directory, options: &[&str]) -> Run {
    ichnos([OsStr::new("cat"), directory.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
}

/// Each option with each format: an option without effect is an error.
#[test]
fn each_with_each_format() {
    let directory = trace("each-option");
    let others = Directory::new("each-option-out");
    let file = others.join("out");
    let out = format!("--output={}", file.display());
    let all = &FORMATS[..];
    for (option, formats) in [
        ("--clock-cycles", &["pretty"][..]),
        ("--clock-date", &["pretty", "log"]),
        ("--clock-gmt", &["pretty", "log"]),
        ("--clock-seconds", &["pretty"]),
        ("--no-delta", &["pretty"]),
        ("--time=iso", &["jsonl", "log-json", "csv", "tsv"]),
        ("--names=none", &["pretty"]),
        ("--details=compact", &["details"]),
        ("--packets", &["jsonl"]),
        (&out, &["pretty", "details", "jsonl", "log", "log-json", "csv", "tsv"]),
        ("--begin=+0s", all),
        ("--end=+1h", all),
        ("--timerange=+0s,+1h", all),
        ("--stream=*", all),
        ("--event=*", all),
        ("--stream-intersection", all),
        ("--max-events=3", all),
        ("--tail=3", all),
        ("--threads=2", all),
        ("--chunk-size=1M", all),
        ("--stats", all),
    ] {
        for format in FORMATS {
            let _ = std::fs::remove_file(&file);
            let run = cat(&directory, &["--format", format, option]);
            if formats.contains(&format) {
                run.expect(0, &[]);
                continue;
            }
            let name = option.split('=').next().unwrap();
            let run = run.expect(2, &[&format!("error: `{name}` does not apply to the format `{format}`")]);
            for format in formats {
                assert!(run.err.contains(&format!("`{format}`")), "{}", run.err);
            }
            assert_eq!(run.out, "");
        }
    }
}

#[test]
fn time_zones_are_for_times() {
    let _transcript = transcript!();
    let directory = trace("zones");
    cat(&directory, &["--json", "--clock-gmt", "--begin=01:46"]);
    cat(&directory, &["--time=iso"]);
    cat(&directory, &["--json", "--clock-gmt"]);
    let info = |options: &[&str]| {
        ichnos([OsStr::new("info"), directory.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
    };
    info(&["--clock-gmt"]);
    info(&["--clock-gmt", "--json"]);
}

#[test]
fn all_inapplicable_options_are_named() {
    let _transcript = transcript!();
    let directory = trace("all-named");
    cat(&directory, &["--json", "--fields=all", "--clock-date", "--details=compact"]);
}

/// Messages about options for a format without traces.
#[test]
fn of_formats_of_traces() {
    let ctf = trace("of-formats");
    let logs = root().join("examples/hello-fuchsia");
    let run = |verb: &str, paths: &[&OsStr], options: &[&str]| {
        let paths = paths.iter().copied();
        ichnos([OsStr::new(verb)].into_iter().chain(paths).chain(options.iter().map(OsStr::new)))
    };
    let (ctf, logs) = (ctf.as_os_str(), logs.as_os_str());
    for verb in ["info", "cat", "check", "schema"] {
        let option = ["-O", "fuchsia-log.clock=boot"];
        let parts =
            ["`-O fuchsia-log.clock=boot` applies to traces in the format `fuchsia-log`", "are in `ctf`"];
        run(verb, &[ctf], &option).expect(2, &parts);
        run(verb, &[logs], &option).expect(0, &[]);
        run(verb, &[logs], &["--from-dialect", "spec2"])
            .expect(2, &["`--from-dialect` applies to traces in the format `ctf`"]);
        run(verb, &[ctf], &["--from-dialect", "ctf1.8"]).expect(0, &[]);
        // The option asks for the default behavior.
        run(verb, &[logs], &["--no-quirks"]).expect(0, &["note: `--no-quirks` has no effect"]);
        run(verb, &[logs], &["--no-quirk=lttng-monotonic-clock"])
            .expect(0, &["note: `--no-quirk` has no effect"]);
        run(verb, &[ctf], &["--unsorted"]).expect(0, &["note: `--unsorted` has no effect"]);
        assert_eq!(
            run(verb, &[ctf], &["--no-quirks"]).expect(0, &[]).err.matches("has no effect").count(),
            0
        );
    }
    // One matching input is enough.
    run("info", &[ctf, logs], &["-O", "fuchsia-log.clock=boot", "--from-dialect", "ctf1.8"]).expect(0, &[]);
}

/// Times in logs that do not fit in a 64-bit number of nanoseconds.
#[test]
fn offsets_beyond_the_range() {
    let _transcript = transcript!();
    let logs = root().join("examples/hello-fuchsia");
    let run = |options: &[&str]| {
        ichnos([OsStr::new("cat"), logs.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
    };
    run(&["--clock-offset=9223372036854775807"]);
    run(&["--clock-offset=9223372036854775807", "--clock-offset-ns=9223372036854775807"]);
    run(&["--clock-offset=-9223372037"]);
    run(&["--clock-offset=9223372036"]);
}
