//! Call stacks after conversion to CTF, which lacks them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::is_turn;

use crate::archives;
use crate::support::{Directory, Run, ichnos, ichnos_with, recorded, root};

const FILE: &str = ".ichnos-stacks";

fn example() -> PathBuf {
    root().join("examples/hello-dotnet/hello.nettrace.zst")
}

fn run(arguments: &[&str], path: &Path) -> Run {
    let run = ichnos(arguments.iter().map(OsStr::new).chain([path.as_os_str()]));
    assert!(!run.err.contains("panicked"), "{}: {}", path.display(), run.err);
    run
}

/// Converts a trace. Returns the new path.
fn convert(from: &Path, to: PathBuf, options: &[&str]) -> PathBuf {
    let arguments = [&["convert", "-q", "--to=ctf", "--force", "-o", to.to_str().unwrap()], options].concat();
    run(&arguments, from).expect(0, &[]);
    to
}

fn stacks_of(path: &Path) -> String {
    run(&["stacks", "--color=never"], path).expect(0, &[]).out
}

/// Queries on traces with call stacks.
const QUESTIONS: [&[&str]; 7] = [
    &["stacks"],
    &["stacks", "--top", "30"],
    &["stacks", "--stack-roots=process"],
    &["stacks", "--weight=time", "--stack-roots=thread", "--frames=managed"],
    &["stacks", "--event=*"],
    &["stacks", "--format=speedscope"],
    &["cat", "--stacks", "--format=log"],
];

/// Returns the answer to a query, without file properties.
fn answer(question: &[&str], path: &Path) -> String {
    answer_of(question, &[path])
}

/// Returns the answer for several files.
fn answer_of(question: &[&str], paths: &[&Path]) -> String {
    let run = ichnos(question.iter().map(OsStr::new).chain(paths.iter().map(|path| path.as_os_str())));
    assert!(!run.err.contains("panicked"), "{paths:?}: {}", run.err);
    if question.contains(&"--format=speedscope") {
        let mut profile: serde_json::Value = serde_json::from_str(&run.out).unwrap_or_default();
        if let Some(profile) = profile.as_object_mut() {
            profile.remove("name");
        }
        return serde_json::to_string_pretty(&profile).unwrap();
    }
    format!("exit code {}\n{}{}", run.code, run.out, run.err)
}

/// Returns the frame lines, which are indented.
fn frames(path: &Path) -> Vec<String> {
    let lines = run(&["cat", "--stacks", "--color=never"], path).expect(0, &[]).out;
    lines.lines().filter(|line| line.starts_with(' ')).map(str::to_owned).collect()
}

#[track_caller]
fn same(expected: &str, found: &str, what: &str) {
    if expected != found {
        let differ = |(expected, found): &(&str, &str)| expected != found;
        let first = expected.lines().zip(found.lines()).find(differ);
        panic!("{what}: {first:?} ({} and {} bytes)", expected.len(), found.len());
    }
}

const DIALECTS: [&str; 2] = ["spec2", "ctf1.8"];

/// Checks that a trace gives the same answers in these dialects.
fn answers_survive(path: &Path, dialects: impl IntoIterator<Item = &'static str>) {
    let directory = Directory::new("converted-stacks");
    let expected = QUESTIONS.map(|question| answer(question, path));
    let expected_frames = frames(path);
    assert!(!expected_frames.is_empty(), "{}", path.display());
    for dialect in dialects {
        let option = format!("--to-dialect={dialect}");
        let converted = convert(path, directory.join(dialect), &[&option]);
        for (question, expected) in QUESTIONS.into_iter().zip(&expected) {
            let what = format!("{}, {dialect}, {question:?}", path.display());
            same(expected, &answer(question, &converted), &what);
        }
        same(&expected_frames.join("\n"), &frames(&converted).join("\n"), dialect);
    }
}

#[test]
fn stacks_survive_a_conversion() {
    answers_survive(&example(), DIALECTS);
}

#[test]
fn stacks_of_recorded_traces_survive_a_conversion() {
    let traces = [
        "nettrace/runtime/net10.0-small.nettrace",
        "nettrace/runtime/net3.1.2-small.nettrace",
        "nettrace/runtime/perl-cpu-v6.nettrace",
        "nettrace/perfview/mixed_managed_external_samples.nettrace",
        "nettrace/dotnetdiag/dotnet-5.0-SampleProfiler-single-thread.golden.nettrace",
    ];
    // The dialects take turns, because the same file has the stacks in each.
    for (number, path) in traces.into_iter().enumerate() {
        if let Some(path) = recorded(path) {
            let dialects = DIALECTS.into_iter().enumerate().filter(|(turn, _)| is_turn(number, *turn, 2));
            answers_survive(&path, dialects.map(|(_, dialect)| dialect));
        }
    }
}

/// Checks that traces merged in these dialects give the same answers as the separate traces. Returns the last merged
/// trace.
fn answers_survive_a_merge(
    paths: &[&Path],
    directory: &Path,
    dialects: &[&str],
    questions: &[&[&str]],
) -> PathBuf {
    let expected: Vec<String> = questions.iter().map(|question| answer_of(question, paths)).collect();
    let mut merged = PathBuf::new();
    for &dialect in dialects {
        merged = directory.join(dialect);
        let options =
            ["merge", "-q", "--losses", "--to-dialect", dialect, "--force", "-o", merged.to_str().unwrap()];
        let options = options.into_iter().map(OsStr::new);
        let run = ichnos(options.chain(paths.iter().map(|path| path.as_os_str()))).expect(0, &[]);
        assert!(!run.out.contains("call stacks"), "{}", run.out);
        for (question, expected) in questions.iter().zip(&expected) {
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                // Events at the same time are sorted by data stream.
                if question[0] == "cat" {
                    lines.sort_unstable();
                }
                lines.join("\n")
            };
            let what = format!("{paths:?}, {dialect}, {question:?}");
            same(&sorted(expected), &sorted(&answer(question, &merged)), &what);
        }
    }
    merged
}

/// Two traces with the same stack numbers and the same process addresses.
#[test]
fn stacks_survive_a_merge() {
    let Some(first) = recorded("nettrace/runtime/net10.0-small.nettrace") else { return };
    let Some(second) = recorded("nettrace/runtime/net3.1.2-small.nettrace") else { return };
    let example = example();
    let directory = Directory::new("merged-stacks");
    let part = |name: &str| {
        let part = directory.join(name);
        fs::create_dir(&part).unwrap();
        part
    };
    answers_survive_a_merge(&[&first, &second], &part("two"), &["ctf1.8", "spec2"], &QUESTIONS);
    // One question of each kind.
    let questions = &QUESTIONS[3..];
    // Original and converted.
    let converted = convert(&second, directory.join("converted"), &[]);
    let merged = answers_survive_a_merge(&[&first, &converted], &part("mixed"), &["spec2"], questions);
    let other = convert(&first, directory.join("other"), &["--to-dialect=ctf1.8"]);
    answers_survive_a_merge(&[&converted, &other], &part("converted-both"), &["ctf1.8"], questions);
    // Merging the result again.
    let three = answers_survive_a_merge(&[&merged, &example], &part("three"), &["spec2"], questions);
    let names = |path: &Path| -> Vec<String> {
        let items = fs::read_dir(path).unwrap().map(|item| item.unwrap().file_name());
        let mut names: Vec<String> = items.map(|name| name.to_string_lossy().into_owned()).collect();
        names.retain(|name| name.starts_with(FILE));
        names.sort();
        names
    };
    assert_eq!(names(&three), ["1", "2", "3"].map(|number| format!("{FILE}-{number}")));
    // Copied, cut, and converted there and back.
    let copied = convert(&three, directory.join("copied"), &[]);
    assert_eq!(names(&copied), names(&three));
    for name in names(&three) {
        assert!(fs::read(copied.join(&name)).unwrap() == fs::read(three.join(&name)).unwrap(), "{name}");
    }
    let back = convert(&three, directory.join("back"), &["--to-dialect=ctf1.8", "--packet-size=4096"]);
    for question in questions {
        let expected = answer(question, &three);
        for path in [&copied, &back] {
            same(&expected, &answer(question, path), &format!("{question:?}"));
        }
    }
    // JSON Lines contain the stacks, but not the symbols for their addresses.
    let lines = |paths: &[&Path], name: &str| {
        let words = ["cat", "-q", "-fjsonl"].map(OsStr::new).into_iter();
        let text = ichnos(words.chain(paths.iter().map(|path| path.as_os_str()))).expect(0, &[]).out;
        let file = directory.join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let both = lines(&[&first, &second], "both.jsonl");
    let together = lines(&[&merged], "merged.jsonl");
    same(&stacks_of(&both), &stacks_of(&together), "JSON Lines");
}

#[test]
fn stack_numbers_are_deterministic() {
    let directory = Directory::new("stack-numbers");
    let expected = stacks_of(&example());
    let spec2 = convert(&example(), directory.join("spec2"), &["--threads=1"]);
    let stacks = fs::read(spec2.join(FILE)).unwrap();
    let threads = convert(&example(), directory.join("threads"), &["--threads=4"]);
    assert_eq!(fs::read(threads.join(FILE)).unwrap(), stacks);
    // From CTF to CTF: copied, encoded again, and converted there and back.
    let ctf18 = convert(&spec2, directory.join("ctf1.8"), &["--to-dialect=ctf1.8"]);
    let back = convert(&ctf18, directory.join("back"), &["--to-dialect=spec2", "--packet-size=4096"]);
    for path in [&ctf18, &back] {
        assert_eq!(fs::read(path.join(FILE)).unwrap(), stacks);
        assert_eq!(stacks_of(path), expected);
    }
    // A part contains all stacks, so their numbers stay.
    let half = ["--begin=02:13:24.15"];
    let part = directory.join("part");
    run(&[&["cut", "-q", "--force", "-o", part.to_str().unwrap()], &half[..]].concat(), &spec2)
        .expect(0, &[]);
    assert_eq!(fs::read(part.join(FILE)).unwrap(), stacks);
    let expected = run(&[&["stacks"], &half[..]].concat(), &example()).out;
    assert!(!expected.is_empty() && run(&["stacks"], &part).out == expected);
}

#[test]
fn names_move_with_the_clock() {
    let directory = Directory::new("stack-clock");
    let converted = convert(&example(), directory.join("trace"), &[]);
    let option = "--clock-offset=1000";
    let moved = convert(&example(), directory.join("moved"), &[option]);
    let expected = stacks_of(&example());
    assert_eq!(run(&["stacks", option], &converted).expect(0, &[]).out, expected);
    assert_eq!(stacks_of(&moved), expected);
}

#[test]
fn archives_have_the_stacks_too() {
    let directory = Directory::new("stack-archive");
    let converted = convert(&example(), directory.join("trace"), &[]);
    let mut archive = tar::Builder::new(Vec::new());
    for item in fs::read_dir(&converted).unwrap() {
        let item = item.unwrap();
        let name = format!("a/{}", item.file_name().to_string_lossy());
        archives::add(&mut archive, &name, &fs::read(item.path()).unwrap());
    }
    let archive = archive.into_inner().unwrap();
    let expected = stacks_of(&example());
    assert_eq!(ichnos_with(["stacks", "-"], &archive).expect(0, &[]).out, expected);
    let file = directory.join("trace.tar");
    fs::write(&file, &archive).unwrap();
    assert_eq!(stacks_of(&file), expected);
}

#[test]
fn a_damaged_file_of_stacks_is_a_warning() {
    let directory = Directory::new("damaged-stacks");
    let converted = convert(&example(), directory.join("trace"), &[]);
    let stacks = fs::read(converted.join(FILE)).unwrap();
    let events = run(&["cat"], &converted).expect(0, &[]).out;
    let mut flipped = stacks.clone();
    let second = stacks.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    flipped[second + 2] ^= 0xff;
    for (content, message) in [
        (&stacks[..stacks.len() / 2], "the call stacks are truncated; the rest is missing"),
        (&flipped, "the call stacks are damaged, expected UTF-8; the rest is skipped"),
        (
            &b"{\"type\":\"call-stacks\",\"version\":99}\n"[..],
            "skipped call stacks with the unknown version 99",
        ),
        (&[][..], "this is not a call stack file: skipped"),
    ] {
        fs::write(converted.join(FILE), content).unwrap();
        run(&["check"], &converted).prints(&[message]);
        assert_eq!(run(&["cat"], &converted).out, events);
    }
    fs::remove_file(converted.join(FILE)).unwrap();
    assert_eq!(run(&["cat"], &converted).expect(0, &[]).out, events);
    run(&["check"], &converted).expect(0, &[]);
}

#[test]
fn traces_without_stacks_have_no_such_file() {
    let directory = Directory::new("no-stacks");
    let converted = convert(&root().join("examples/hello-fuchsia/boot.log"), directory.join("trace"), &[]);
    assert!(converted.join("metadata").exists() && !converted.join(FILE).exists());
}

#[test]
fn babeltrace_leaves_the_file_out() {
    let Ok(status) = Command::new("babeltrace2").arg("--version").stdout(Stdio::null()).status() else {
        eprintln!("skipped: `babeltrace2` is not installed");
        return;
    };
    assert!(status.success());
    let directory = Directory::new("stacks-babeltrace");
    let converted = convert(&example(), directory.join("trace"), &["--to-dialect=ctf1.8"]);
    assert!(converted.join(FILE).exists());
    let output = Command::new("babeltrace2").arg(&converted).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let events = run(&["cat"], &converted).out.lines().count();
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), events);
}
