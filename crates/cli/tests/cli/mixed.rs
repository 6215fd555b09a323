//! Directories with traces in several formats, and with compressed files.

use std::fs;
use std::path::Path;

use crate::support::{Directory, gzip, ichnos, root, text};

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let path = item.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// Returns the number of events that `check` counts, and its output.
fn check(path: &Path, code: i32) -> (u64, String) {
    let run = ichnos(["check", text(path)]).expect(code, &[]);
    let summary = run.out.lines().last().unwrap().to_owned();
    let events = summary.split(' ').rev().nth(1).unwrap().replace(',', "").parse().unwrap();
    (events, run.out)
}

/// A CTF trace, reports, lines and a log in one directory: each is read.
#[test]
fn all_formats_are_read() {
    let examples = root().join("examples");
    let directory = Directory::new("mixed");
    copy_all(&examples.join("hello-ctf2/trace"), &directory.join("a/ctf"));
    fs::copy(examples.join("hello-xtrace/proxy.reports"), directory.join("a/proxy.reports")).unwrap();
    fs::write(directory.join("app.jsonl"), "{\"ts\":1780000001000000000,\"name\":\"a\"}\n").unwrap();
    fs::write(directory.join("notes.txt"), "nothing that is known\n").unwrap();
    let (ctf, _) = check(&directory.join("a/ctf"), 0);
    let (reports, _) = check(&directory.join("a/proxy.reports"), 0);
    let (events, all) = check(&directory, 0);
    assert_eq!((events, ctf, reports > 0), (ctf + reports + 1, 18, true), "{all}");
    assert!(all.contains("no problems: 3 traces, "), "{all}");
    let lines = ichnos(["cat", "-q", "-fjsonl", text(&directory)]).expect(0, &[]).out;
    assert_eq!(lines.matches("\"type\":\"event\",").count() as u64, events);
    // The same in an archive.
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all("all", &*directory).unwrap();
    let archive = directory.join("all.tar");
    fs::write(&archive, builder.into_inner().unwrap()).unwrap();
    assert_eq!(check(&archive, 0).0, events);
    // Next to them, an archive is an unknown file.
    assert_eq!(check(&directory, 0).0, events);
}

/// Unrelated clocks are named after their files.
#[test]
fn clocks_are_named_by_their_files() {
    let trace = root().join("examples/one-request/trace");
    let parts = ["/printer.log", "the clock", "have unrelated origins"];
    ichnos(["cat", text(&trace)]).expect(2, &parts);
    let all = ichnos(["cat", "-q", "--assume-correlated", text(&trace)]).expect(0, &[]).out;
    let single =
        |name: &str| ichnos(["cat", "-q", text(&trace.join(name))]).expect(0, &[]).out.lines().count();
    let names = ["printer.log", "prices.nettrace.zst", "shop.reports", "stock"];
    assert_eq!(all.lines().count(), names.map(single).iter().sum::<usize>());
}

/// Compressed files are read like uncompressed files, and their errors are reported.
#[test]
fn compressed_files() {
    let directory = Directory::new("mixed-compressed");
    let lines: String = (0..5_000).map(|i| format!("{{\"ts\":{i},\"name\":\"a\"}}\n")).collect();
    fs::write(directory.join("app.jsonl.gz"), gzip(lines.as_bytes())).unwrap();
    fs::write(directory.join("other.gz"), gzip(b"no trace")).unwrap();
    assert_eq!(check(&directory, 0).0, 5_000);
    let copy = root().join("examples/hello-dotnet/hello.nettrace.zst");
    fs::copy(copy, directory.join("hello.nettrace.zst")).unwrap();
    let (events, all) = check(&directory, 0);
    assert!(events > 5_000 && all.contains("no problems: 2 traces, "), "{all}");
    // A second name for the file is not read again.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("app.jsonl.gz", directory.join("b.gz")).unwrap();
        assert_eq!(check(&directory, 0).0, events);
        fs::remove_file(directory.join("b.gz")).unwrap();
    }
    // A truncated file is read up to the cut.
    let packed = gzip(lines.as_bytes());
    fs::write(directory.join("app.jsonl.gz"), &packed[..packed.len() - 20]).unwrap();
    ichnos(["cat", "-fnull", text(&directory)]).expect(3, &["app.jsonl.gz: the file is truncated"]);
}

/// Files next to `metadata` belong to the trace, whatever they look like.
#[test]
fn files_of_a_trace_stay_in_it() {
    let directory = Directory::new("mixed-beside");
    copy_all(&root().join("examples/hello-ctf2/trace"), &directory);
    fs::write(directory.join("app.jsonl"), "{\"ts\":1,\"name\":\"a\"}\n").unwrap();
    let run = ichnos(["info", text(&directory)]);
    assert!(!run.out.contains("JSON Lines"), "{}", run.out);
}

/// Many unrecognized files cost little, and a note says how many were skipped.
#[test]
fn many_other_files() {
    let directory = Directory::new("mixed-many");
    copy_all(&root().join("examples/hello-ctf2/trace"), &directory.join("trace"));
    fs::create_dir(directory.join("others")).unwrap();
    for number in 0..10_100 {
        fs::write(directory.join(format!("others/{number}")), b"\x01\x00\x00\x00x").unwrap();
    }
    let run = ichnos(["check", text(&directory)]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.err.contains("10100 files outside its traces; searched 10000 of them"), "{}", run.err);
}
