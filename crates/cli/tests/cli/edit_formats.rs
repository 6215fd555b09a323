//! Verbs that edit keep the format and the dialect of their input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichnos_testing::cases;

use crate::support::{Directory, METADATA, Run, ichnos, root, text, trace};

const VERBS: [&[&str]; 5] =
    [&["cut", "--begin", "+1us"], &["filter", "true"], &["merge"], &["repair"], &["split", "--by", "event"]];

fn run(words: &[&str], input: &[&Path], out: &Path) -> Run {
    let paths = input.iter().map(|path| text(path));
    ichnos(words.iter().copied().chain(paths).chain(["-o", text(out)]))
}

/// Returns the written traces: OUT, or the directories in it.
fn written(out: &Path) -> Vec<PathBuf> {
    if out.is_file() || out.join("metadata").is_file() {
        return vec![out.to_owned()];
    }
    fs::read_dir(out).unwrap().map(|item| item.unwrap().path()).collect()
}

/// Returns the dialect of metadata, with the writer's name for it.
fn dialect(trace: &Path) -> &'static str {
    let metadata = fs::read(trace.join("metadata")).unwrap();
    let begins_with = |words: &[u8]| metadata.starts_with(words);
    match () {
        () if begins_with(b"/* CTF 1.8") => "ctf1.8",
        () if begins_with(&0x75d1_1d57u32.to_le_bytes()) => "ctf1.8-packetized",
        () if begins_with(b"\x1e") => "spec2",
        () if String::from_utf8(metadata.clone()).unwrap().contains("\"preamble\"") => "prop2",
        () => "prop1",
    }
}

#[track_caller]
fn babeltrace2_reads(trace: &Path) {
    let mut command = Command::new("babeltrace2");
    // Same environment as for `ichnos` in tests.
    command.env("TZ", "UTC").arg("--no-delta").arg(trace).stdin(Stdio::null());
    let Ok(output) = command.output() else {
        return eprintln!("skipped: `babeltrace2` is not installed");
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", trace.display());
    let ours = ichnos(["cat", "-q", "--no-delta", text(trace)]).expect(0, &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), ours.out);
}

#[test]
fn the_dialect_of_ctf_is_kept() {
    let source = trace("edit-dialects");
    let directory = Directory::new("edit-dialects-out");
    for from in ["spec2", "prop2", "prop1", "ctf1.8", "ctf1.8-packetized"] {
        // A dot would start an extension.
        let name = from.replace('.', "_");
        let input = directory.join(&name);
        run(&["convert", "-q", "--to-dialect", from], &[&source], &input).expect(0, &[]);
        assert_eq!(dialect(&input), from);
        for verb in VERBS {
            let out = directory.join(format!("{name}-{}", verb[0]));
            let edited = run(verb, &[&input], &out).expect(0, &[]);
            assert!(!edited.err.contains("kinds"), "{}", edited.err);
            for trace in written(&out) {
                assert_eq!(dialect(&trace), from, "{verb:?}");
                ichnos(["check", "--strict", text(&trace)]).expect(0, &[]);
                if from.starts_with("ctf1.8") {
                    babeltrace2_reads(&trace);
                }
            }
        }
        // `convert` writes the default dialect.
        let out = directory.join(format!("{name}-convert"));
        run(&["convert", "-q"], &[&input], &out).expect(0, &[]);
        assert_eq!(dialect(&out), "spec2");
    }
}

#[test]
fn options_and_extensions_name_another_dialect() {
    let source = trace("edit-named");
    let directory = Directory::new("edit-named-out");
    for (name, options, expected) in [
        ("a", &["--to-dialect", "prop2"][..], "prop2"),
        ("b", &["--to", "ctf"], "spec2"),
        ("c.ctf", &[], "spec2"),
        ("d", &["--to", "ctf", "--to-dialect", "ctf1.8-packetized"], "ctf1.8-packetized"),
    ] {
        let out = directory.join(name);
        run(&[&["filter", "-q", "true"], options].concat(), &[&source], &out).expect(0, &[]);
        assert_eq!(dialect(&out), expected, "{name}");
    }
    run(&["filter", "true"], &[&source], &directory.join("e.xyz"))
        .expect(2, &["cannot infer the output format"]);
}

#[test]
fn several_dialects_become_ctf_2_with_a_note() {
    let (a, b) = (trace("edit-kinds-a"), trace("edit-kinds-b"));
    let directory = Directory::new("edit-kinds-out");
    let (plain, packets, spec2) = (directory.join("plain"), directory.join("packets"), directory.join("two"));
    let convert = |dialect, from: &Path, to: &Path| {
        run(&["convert", "-q", "--to-dialect", dialect], &[from], to).expect(0, &[]);
    };
    convert("ctf1.8", &a, &plain);
    convert("ctf1.8-packetized", &b, &packets);
    convert("spec2", &b, &spec2);
    let out = directory.join("out-1");
    let merged = run(&["merge"], &[&plain, &spec2], &out);
    merged.expect(0, &["the traces have several dialects (ctf1.8, spec2): the output is spec2"]);
    assert_eq!(dialect(&out), "spec2");
    // Packetized metadata has the same dialect as plain metadata.
    let out = directory.join("out-2");
    let merged = run(&["merge"], &[&plain, &packets], &out).expect(0, &[]);
    assert!(!merged.err.contains("kinds"), "{}", merged.err);
    assert_eq!(dialect(&out), "ctf1.8");
    babeltrace2_reads(&out);
    // A log and a trace are also mixed formats, for every verb.
    let log = root().join("examples/hello-fuchsia/boot.log");
    let out = directory.join("out-3");
    run(&["filter", "true"], &[&plain, &log], &out)
        .expect(0, &["the traces have several dialects (ctf1.8, fuchsia-log): the output is spec2"]);
    assert!(written(&out).iter().all(|trace| dialect(trace) == "spec2"));
}

#[test]
fn logs_stay_logs() {
    let log = root().join("examples/hello-fuchsia/boot.log");
    let bytes = fs::read(&log).unwrap();
    let directory = Directory::new("edit-logs");
    for verb in VERBS {
        let out = directory.join(verb[0]);
        run(&[verb, &["-q"]].concat(), &[&log], &out).expect(0, &[]);
        for part in written(&out) {
            assert!(part.is_file(), "{verb:?}");
            assert!(verb[0] != "split" || part.extension().is_some_and(|name| name == "log"));
            ichnos(["check", "--strict", text(&part)]).expect(0, &[]);
            assert!(verb[0] == "cut" || fs::read(&part).unwrap() == bytes, "{verb:?}");
        }
    }
    // Also on the standard output.
    let printed = ichnos(["filter", "-q", "true", text(&log), "-o", "-"]).expect(0, &[]);
    assert_eq!(printed.out, String::from_utf8_lossy(&bytes));
    ichnos(["filter", "true", text(&trace("edit-stdout")), "-o", "-"]).expect(2, &["is a directory"]);
}

/// JSON Lines that ichnos wrote stay the same, byte for byte, if no event is selected or dropped.
#[test]
fn lines_stay_lines() {
    let directory = Directory::new("edit-lines");
    let lines = directory.join("lines.jsonl");
    let example = root().join("examples/hello-jsonl");
    run(&["convert", "-q", "--to", "jsonl"], &[&example], &lines).expect(0, &[]);
    let bytes = fs::read(&lines).unwrap();
    for verb in VERBS {
        let out = directory.join(verb[0]);
        run(&[verb, &["-q"]].concat(), &[&lines], &out).expect(0, &[]);
        let parts = written(&out);
        assert_eq!(parts.len() > 1, verb[0] == "split", "{verb:?}");
        for part in parts {
            assert!(part.is_file(), "{verb:?}");
            assert!(verb[0] != "split" || part.extension().is_some_and(|name| name == "jsonl"));
            ichnos(["check", "--strict", text(&part)]).expect(0, &[]);
            assert!(matches!(verb[0], "cut" | "split") || fs::read(&part).unwrap() == bytes, "{verb:?}");
        }
    }
    // Also on the standard output.
    let printed = ichnos(["filter", "-q", "true", text(&lines), "-o", "-"]).expect(0, &[]);
    assert_eq!(printed.out, String::from_utf8_lossy(&bytes));
    // Only parts that are JSON Lines traces can be replaced.
    let parts = directory.join("split");
    run(&[VERBS[4], &["--force"]].concat(), &[&lines], &parts).expect(0, &[]);
    fs::write(parts.join("notes.jsonl"), "{\"mine\":1}\n").unwrap();
    run(&[VERBS[4], &["--force"]].concat(), &[&lines], &parts)
        .expect(2, &["`notes.jsonl`", "it does not contain JSON Lines of a trace"]);
}

/// Whatever is damaged, the repaired log is valid.
#[test]
fn repaired_logs_are_sound() {
    let bytes = fs::read(root().join("examples/hello-fuchsia/boot.log")).unwrap();
    let directory = Directory::new("edit-repaired-logs");
    let log = directory.join("damaged.log");
    cases(40, |random| {
        let mut damaged = bytes.clone();
        // The first words stay, so that the format is recognized.
        for _ in 0..6 {
            let at = 16 + random.index(damaged.len() - 16);
            damaged[at] = random.number() as u8;
        }
        fs::write(&log, &damaged).unwrap();
        let out = directory.join("repaired");
        // Damage can change event times.
        let repaired = run(&["repair", "-q"], &[&log], &out);
        assert!([0, 3].contains(&repaired.code), "{}", repaired.err);
        ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
        fs::remove_file(&out).unwrap();
    });
}

/// Directories are parts of one trace. Only some have packetized metadata.
#[test]
fn metadata_of_all_parts_of_a_trace_decide() {
    let directory = Directory::new("edit-parts");
    let input = directory.join("in");
    let uuid = METADATA.replace("minor = 8;", "minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\";");
    let uuid = uuid.replace("u32 magic;", "u32 magic; u8 uuid[16];");
    let source = directory.join("source");
    fs::create_dir(&input).unwrap();
    fs::create_dir(&source).unwrap();
    fs::write(source.join("metadata"), uuid).unwrap();
    run(&["convert", "-q", "--to-dialect", "ctf1.8"], &[&source], &input.join("a")).expect(0, &[]);
    run(&["convert", "-q", "--to-dialect", "ctf1.8-packetized"], &[&source], &input.join("b")).expect(0, &[]);
    let out = directory.join("out");
    run(&["repair"], &[&input], &out).expect(0, &[]);
    assert!(written(&out).iter().all(|trace| dialect(trace) == "ctf1.8"));
}
