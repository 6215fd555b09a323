//! `info`, `schema`, `check`, `formats`, `completions`, `man` on a valid trace.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::support::{Directory, OFFSET, command, ichnos, ichnos_with, trace};
use crate::transcript::transcript;

#[test]
fn info_as_text() {
    let _transcript = transcript!();
    let directory = trace("info-text");
    ichnos([OsStr::new("info"), directory.as_os_str(), OsStr::new("--count")]);
}

#[test]
fn info_as_json() {
    let _transcript = transcript!();
    let directory = trace("info-json");
    let run = |more: &[&str]| {
        let arguments = [OsStr::new("info"), directory.as_os_str(), OsStr::new("--json")];
        ichnos(arguments.into_iter().chain(more.iter().map(OsStr::new))).json()
    };
    let json = run(&["--count"]);
    assert_eq!(json["ichnos"]["output"], "info");
    assert_eq!(json["events"], 10);
    assert_eq!(json["begin_ns"].as_i64(), Some(OFFSET + 1_000));
    assert_eq!(json["end_ns"].as_i64(), Some(OFFSET + 3_000_000_000));
    let trace = &json["traces"][0];
    assert_eq!(trace["environment"]["answer"], 42);
    assert_eq!(trace["data_streams"][0]["discarded_events"], 7);
    assert_eq!(trace["event_record_classes"][0]["count"], 6);
    let json = run(&[]);
    assert!(json.get("events").is_none());
    assert_eq!(json["packets"], 3);
}

#[test]
fn archives_and_pipes() {
    let directory = trace("archives");
    let tar = std::process::Command::new("tar").arg("-C").arg(&*directory).args(["-czf", "-", "."]).output();
    let Ok(tar) = tar else {
        eprintln!("skipped: tar is missing");
        return;
    };
    let json = ichnos_with(["info", "--json", "--count", "-"], &tar.stdout).expect(0, &[]).json();
    assert_eq!(json["events"], 10);
    let file = directory.join("trace.bin");
    fs::write(&file, &tar.stdout).unwrap();
    let json = ichnos([OsStr::new("info"), OsStr::new("--json"), file.as_os_str()]).expect(0, &[]).json();
    assert_eq!(json["packets"], 3);
}

#[test]
fn a_single_data_stream() {
    let _transcript = transcript!();
    let directory = trace("single");
    let run = ichnos([
        OsStr::new("info"),
        OsStr::new("--json"),
        OsStr::new("--count"),
        directory.join("stream_b").as_os_str(),
        OsStr::new("--metadata"),
        directory.join("metadata").as_os_str(),
    ]);
    assert_eq!(run.json()["events"], 4);
}

#[test]
fn schema() {
    let _transcript = transcript!();
    let directory = trace("schema");
    ichnos([OsStr::new("schema"), directory.as_os_str()]);
    let json = ichnos([OsStr::new("schema"), OsStr::new("--json"), directory.as_os_str()]).json();
    let payload = &json["traces"][0]["data_stream_classes"][0]["event_record_classes"][0]["payload"];
    assert_eq!(payload["members"][1]["class"]["length"], "null-terminated");
}

#[test]
fn check_finds_nothing() {
    let _transcript = transcript!();
    let directory = trace("check");
    ichnos([OsStr::new("check"), directory.as_os_str()]);
}

#[test]
fn the_program_itself() {
    ichnos(["formats"]).expect(0, &[]).prints(&["Common Trace Format", "SPEC-2.0"]);
    assert_eq!(ichnos(["formats", "--json"]).expect(0, &[]).json()["formats"][0]["name"], "ctf");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        ichnos(["completions", shell]).expect(0, &[]).prints(&["ichnos", "schema"]);
    }
    ichnos(["man"]).expect(0, &[]).prints(&[".TH ichnos 1"]);
    ichnos(["man", "cat"]).expect(0, &[]).prints(&[".TH ichnos-cat 1", "\"ichnos 0.", "\\-\\-begin"]);
    let directory = Directory::new("man");
    ichnos([OsStr::new("man"), OsStr::new("--directory"), directory.as_os_str()]).expect(0, &[]);
    let pages = std::fs::read_dir(&*directory).unwrap().map(|page| page.unwrap().file_name());
    let pages: BTreeSet<_> = pages.map(|page| page.into_string().unwrap()).collect();
    for page in ["ichnos.1", "ichnos-info.1", "ichnos-task-graph.1"] {
        assert!(pages.contains(page), "{pages:?}");
        let text = std::fs::read_to_string(directory.join(page)).unwrap();
        assert!(text.contains("\"ichnos 0."), "{text}");
    }
    assert!(!pages.iter().any(|page| page.contains("help")), "{pages:?}");
}

#[test]
fn colors() {
    let directory = trace("colors");
    let run = |arguments: &[&str], variable: Option<&str>| {
        let mut command = command();
        command.arg("info").arg(&*directory).args(arguments);
        if let Some(variable) = variable {
            command.env(variable, "1");
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains('\x1b')
    };
    assert!(!run(&[], None));
    assert!(run(&["--color=always"], None));
    assert!(run(&["--color=always"], Some("NO_COLOR")));
    assert!(run(&[], Some("CLICOLOR_FORCE")));
    assert!(!run(&["--color=never"], Some("CLICOLOR_FORCE")));
}

#[test]
fn broken_pipes_are_quiet() {
    let directory = trace("pipes");
    for arguments in [
        vec![OsStr::new("info"), directory.as_os_str()],
        vec![OsStr::new("schema"), directory.as_os_str()],
        vec![OsStr::new("check"), directory.as_os_str()],
        vec![OsStr::new("completions"), OsStr::new("zsh")],
        vec![OsStr::new("cat"), OsStr::new("-q"), directory.as_os_str()],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = command().args(&arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}
