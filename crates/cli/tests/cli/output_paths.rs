//! Outputs destroy nothing: they must be new and separate from the input, and appear or are replaced in one step.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Directory, Run, ichnos, trace};

/// Returns everything below a directory: files with contents, links and directories without.
fn content(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut next = vec![directory.to_owned()];
    while let Some(path) = next.pop() {
        for item in fs::read_dir(path).unwrap() {
            let item = item.unwrap();
            let relative = item.path().strip_prefix(directory).unwrap().to_owned();
            let kind = item.file_type().unwrap();
            found.insert(relative, kind.is_file().then(|| fs::read(item.path()).unwrap()));
            if kind.is_dir() {
                next.push(item.path());
            }
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        fs::copy(item.path(), to.join(item.file_name())).unwrap();
    }
}

/// Verbs that write, without `-o OUT`: to a file, and to a directory.
const TO_FILE: &[&[&str]] = &[
    &["cat"],
    &["cat", "--format=jsonl"],
    &["cat", "--format=csv"],
    &["convert", "--to=fuchsia-log"],
    &["convert", "--to=jsonl"],
];
const TO_DIRECTORY: &[&[&str]] = &[
    &["convert"],
    &["cut", "--begin=1970-01-01"],
    &["filter", "event == \"demo:tick\""],
    &["merge"],
    &["repair"],
    &["split", "--by=event"],
];

fn run(verb: &[&str], input: &Path, output: &Path, more: &[&str]) -> Run {
    let paths = [input.to_str().unwrap(), "-o", output.to_str().unwrap()];
    ichnos([verb, &paths, &["--color=never"], more].concat())
}

#[test]
fn outputs_are_new_or_forced() {
    let input = trace("outputs-new");
    let around = Directory::new("outputs-new-around");
    for (verbs, is_file) in [(TO_FILE, true), (TO_DIRECTORY, false)] {
        for (number, verb) in verbs.iter().enumerate() {
            let output = around.join(format!("{number}-{is_file}"));
            run(verb, &input, &output, &[]).expect(0, &[]);
            let first = content(&around);
            run(verb, &input, &output, &[]).expect(2, &["exists and is not empty", "--force"]);
            assert_eq!(content(&around), first, "{verb:?}");
            run(verb, &input, &output, &["--force"]).expect(0, &[]);
            assert_eq!(content(&around), first, "{verb:?}: the same output");
            // An empty file or directory counts as missing.
            let empty = around.join(format!("empty-{number}-{is_file}"));
            match is_file {
                true => fs::write(&empty, "").unwrap(),
                false => fs::create_dir(&empty).unwrap(),
            }
            run(verb, &input, &empty, &[]).expect(0, &[]);
            // A file cannot replace a directory, and vice versa.
            let other = around.join("other");
            match is_file {
                true => fs::create_dir(&other).unwrap(),
                false => fs::write(&other, "").unwrap(),
            }
            run(verb, &input, &other, &["--force"]).expect(2, &["expected the name of a"]);
            let _ = fs::remove_dir(&other).or_else(|_| fs::remove_file(&other));
        }
    }
    // Pipes, devices and the standard output are written directly.
    run(TO_FILE[0], &input, Path::new("/dev/null"), &[]).expect(0, &[]);
    run(TO_FILE[0], &input, Path::new("/dev/stdout"), &[]).expect(0, &[]).prints(&["demo:tick"]);
    run(TO_FILE[0], &input, Path::new("-"), &[]).expect(0, &[]).prints(&["demo:tick"]);
}

/// A missing directory is reported before anything is read, and is not created.
#[test]
fn directories_of_outputs_exist() {
    let input = trace("outputs-missing");
    let around = Directory::new("outputs-missing-around");
    let output = around.join("missing/out");
    for verb in [TO_FILE, TO_DIRECTORY].concat() {
        for more in [&[][..], &["--force"]] {
            run(verb, &input, &output, more).expect(2, &["missing` does not exist", "help: create it"]);
        }
    }
    assert!(content(&around).is_empty());
}

#[test]
fn force_deletes_only_files_of_traces() {
    let input = trace("outputs-force");
    let around = Directory::new("outputs-force-around");
    let output = around.join("t");
    run(TO_DIRECTORY[0], &input, &output, &["--index"]).expect(0, &[]);
    let refused = |verb: &[&str], named: &str| {
        let before = content(&around);
        run(verb, &input, &output, &["--force"]).expect(2, &["is not replaced", named]);
        assert_eq!(content(&around), before);
    };
    let with = |name: &str, bytes: &[u8], named: &str| {
        let path = output.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        for verb in TO_DIRECTORY {
            refused(verb, named);
        }
        fs::remove_file(path).unwrap();
        let _ = fs::remove_dir(output.join("mine"));
    };
    with("notes.txt", b"mine", "`notes.txt`");
    with("metadata.orig", b"mine", "`metadata.orig`");
    with("mine/notes.txt", b"mine", "`mine/notes.txt`");
    with(".hidden", b"mine", "`.hidden`");
    with("environment.json", b"{}", "`environment.json`");
    with("index/notes", b"mine", "`index/notes`");
    with("index/notes.idx", b"mine", "`index/notes.idx`");
    // A file that starts with the same bytes as a data stream can belong to another trace.
    with("stream_c", &[0xc1, 0x1f, 0xfc, 0xc1, 0, 0, 0, 0], "`stream_c`");
    fs::create_dir(output.join("mine")).unwrap();
    refused(TO_DIRECTORY[0], "`mine`");
    fs::remove_dir(output.join("mine")).unwrap();
    symlink("nowhere", output.join("link")).unwrap();
    refused(TO_DIRECTORY[0], "`link`");
    fs::remove_file(output.join("link")).unwrap();
    // Without metadata, the files are unknown.
    let metadata = fs::read(output.join("metadata")).unwrap();
    fs::write(output.join("metadata"), "mine").unwrap();
    refused(TO_DIRECTORY[0], "`metadata`");
    fs::write(output.join("metadata"), metadata).unwrap();
    // One trace can replace a directory with several traces, and vice versa.
    for verb in [TO_DIRECTORY[5], TO_DIRECTORY[0], TO_DIRECTORY[5]] {
        run(verb, &input, &output, &["--force"]).expect(0, &[]);
    }
    assert!(output.join("demo_tick").is_dir() || output.join("demo:tick").is_dir(), "{:?}", content(&output));
    fs::write(output.join("notes"), "mine").unwrap();
    refused(TO_DIRECTORY[0], "`notes`");
}

/// The same for a trace without a magic number in its packets. Any bytes could be its packet.
#[test]
fn files_without_a_magic_number_are_read_whole() {
    let (input, around) = (trace("outputs-magic"), Directory::new("outputs-magic-around"));
    let output = around.join("t");
    fs::create_dir(&output).unwrap();
    for (name, bytes) in crate::support::spec2(
        r#"{"type":"structure","member-classes":[{"name":"s","field-class":{"type":"null-terminated-string"}}]}"#,
        b"one\0two\0",
    ) {
        fs::write(output.join(name), bytes).unwrap();
    }
    fs::write(output.join("notes"), "mine").unwrap();
    run(TO_DIRECTORY[0], &input, &output, &["--force"]).expect(2, &["`notes`"]);
    fs::remove_file(output.join("notes")).unwrap();
    run(TO_DIRECTORY[0], &input, &output, &["--force"]).expect(0, &[]);
}

#[test]
fn inputs_stay_by_any_path() {
    let around = Directory::new("outputs-inputs");
    let input = around.join("dir/t");
    copy(&trace("outputs-inputs-trace"), &input);
    fs::create_dir(around.join("elsewhere")).unwrap();
    fs::rename(input.join("stream_b"), around.join("elsewhere/stream_b")).unwrap();
    symlink(around.join("elsewhere/stream_b"), input.join("stream_b")).unwrap();
    symlink(&input, around.join("link")).unwrap();
    fs::hard_link(input.join("stream_a"), around.join("hard")).unwrap();
    let before = content(&around);
    for verb in TO_FILE.iter().chain(TO_DIRECTORY) {
        for (from, to) in [
            ("dir/t", "dir/t"),
            ("dir/t", "link"),
            ("link", "dir/t"),
            ("dir/t", "dir"),
            ("dir/t/metadata", "dir/t"),
            ("dir/t/stream_a", "dir/t/stream_a"),
            ("dir/t", "dir/t/stream_a"),
            ("dir/t", "dir/t/metadata"),
            ("dir/t", "link/metadata"),
            ("link", "dir/t/new"),
            ("dir/t", "link/new"),
            ("dir/t", "link/../t/new"),
            ("dir/t", "hard"),
            ("dir/t", "elsewhere/stream_b"),
        ] {
            let run = run(verb, &around.join(from), &around.join(to), &["--force"]);
            run.expect(2, &["error: "]);
            assert_eq!(content(&around), before, "{verb:?} {from} -o {to}");
        }
        // An output trace cannot be inside a directory with traces.
        let is_text = *verb == TO_FILE[0] || *verb == TO_FILE[2];
        let output = around.join("dir/new");
        run(verb, &around.join("dir"), &output, &[]).expect(if is_text { 0 } else { 2 }, &[]);
        let _ = fs::remove_file(output);
        assert_eq!(content(&around), before, "{verb:?}");
    }
    // The metadata and the manifest are also inputs.
    let metadata = format!("--metadata={}", input.join("metadata").display());
    let data = around.join("elsewhere/stream_b");
    fs::copy(input.join("metadata"), around.join("given")).unwrap();
    let given = format!("--metadata={}", around.join("given").display());
    run(TO_FILE[0], &data, &around.join("given"), &[&given, "--force"]).expect(2, &["part of the input"]);
    run(TO_FILE[0], &data, &around.join("new"), &[&metadata]).expect(0, &[]);
    let manifest = around.join("manifest.toml");
    fs::write(&manifest, "[[trace]]\npath = \"dir/t\"\n").unwrap();
    let output = manifest.to_str().unwrap();
    ichnos(["cat", "--manifest", output, "-o", output, "--force"]).expect(2, &["part of the input"]);
}

/// `index` writes next to the data streams, and replaces only indexes.
#[test]
fn only_indexes_are_replaced_by_indexes() {
    let around = Directory::new("outputs-index");
    let input = around.join("t");
    copy(&trace("outputs-index-trace"), &input);
    fs::create_dir(input.join("index")).unwrap();
    fs::write(input.join("index/stream_a.idx"), "mine").unwrap();
    let index = || ichnos(["index", input.to_str().unwrap()]);
    index().expect(2, &["stream_a.idx", "not a packet index"]);
    assert_eq!(fs::read(input.join("index/stream_a.idx")).unwrap(), b"mine");
    fs::remove_file(input.join("index/stream_a.idx")).unwrap();
    index().expect(0, &[]);
}

/// Runs the command and kills it at a system call. Returns `false` if it ended before.
fn killed_at(arguments: &[&str], inject: &[String], kill: &str, at: usize) -> bool {
    let mut command = Command::new("strace");
    // `test.sh` preloads a library so that tests do not wait for the disk. Here, they must wait.
    command.env_remove("LD_PRELOAD").args(["-f", "-qq", "-o", "/dev/null"]);
    let kill = format!("{kill}:signal=KILL:when={at}");
    for injected in inject.iter().chain([&kill]) {
        command.arg("-e").arg(format!("inject={injected}"));
    }
    let run =
        command.arg(env!("CARGO_BIN_EXE_ichnos")).args(arguments).stdin(Stdio::null()).output().unwrap();
    if run.status.success() {
        return false;
    }
    assert!(!String::from_utf8_lossy(&run.stderr).contains("error"), "{run:?}");
    true
}

fn strace_works() -> bool {
    let run = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).output();
    let works = run.is_ok_and(|run| run.status.success());
    if !works {
        eprintln!("skipped: `strace` is not installed, or may not trace");
    }
    works
}

#[cfg(target_os = "linux")]
#[test]
fn killed_between_any_two_system_calls() {
    if !strace_works() {
        return;
    }
    let (old, new) = (trace("outputs-killed-old"), trace("outputs-killed-new"));
    fs::remove_file(new.join("stream_b")).unwrap();
    let around = Directory::new("outputs-killed");
    let output = around.join("t");
    let convert = |input: &Path, output: &Path, more: &[&str]| run(&["convert"], input, output, more);
    let (of_old, of_new) = (around.join("old"), around.join("new"));
    convert(&old, &of_old, &["--index"]).expect(0, &[]);
    convert(&new, &of_new, &[]).expect(0, &[]);
    let (of_old, of_new) = (content(&of_old), content(&of_new));
    // On a system that can exchange names, and on a system that cannot.
    for inject in [vec![], vec!["renameat2:error=EINVAL".to_owned()]] {
        let mut kills = 0;
        for call in ["rename", "renameat2", "fsync", "mkdir", "unlink", "rmdir"] {
            if call == "renameat2" && !inject.is_empty() {
                continue;
            }
            for at in 1.. {
                assert!(at < 100, "{call}: no end");
                let _ = fs::remove_dir_all(&output);
                convert(&old, &output, &["--index"]).expect(0, &[]);
                let arguments = [
                    "convert",
                    "-j1",
                    "-q",
                    "--force",
                    new.to_str().unwrap(),
                    "-o",
                    output.to_str().unwrap(),
                ];
                let was_killed = killed_at(&arguments, &inject, call, at);
                kills += usize::from(was_killed);
                let place = format!("{call} {at} {inject:?}");
                let is_there = output.exists();
                if is_there {
                    let found = content(&output);
                    assert!(found == of_new || found == of_old, "{place}: {:?}", found.keys());
                    assert!(was_killed || found == of_new, "{place}");
                } else {
                    assert!(!inject.is_empty(), "{place}: OUT is gone");
                    let run = ichnos(["cat", output.to_str().unwrap()]);
                    run.expect(2, &[".t.replaced"]);
                }
                // The next run completes or undoes the interrupted one, whatever it does itself.
                let before = is_there.then(|| content(&output));
                convert(&new, &output, &[]).expect(2, &["exists"]);
                assert_eq!(content(&output), before.unwrap_or_else(|| of_old.clone()), "{place}");
                assert!(!around.join(".t.replaced").exists(), "{place}");
                // A killed run leaves its files next to OUT, under a name that no reader accepts.
                for item in fs::read_dir(&*around).unwrap() {
                    let name = item.unwrap().file_name().into_string().unwrap();
                    if name.starts_with(".t.") && name.ends_with(".tmp") {
                        fs::remove_dir_all(around.join(name)).unwrap();
                    }
                }
                if !was_killed {
                    break;
                }
            }
        }
        assert!(kills > 10, "{kills}");
    }
}
