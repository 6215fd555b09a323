//! `ichnos index`: packet indexes next to the trace files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, ichnos, recorded, root};

/// Copies a directory and makes the copy writable.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(item.file_name());
        if item.path().is_dir() {
            copy(&item.path(), &target);
        } else {
            fs::write(target, fs::read(item.path()).unwrap()).unwrap();
        }
    }
}

/// Adds the indexes below a directory.
fn indexes(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut items: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().flatten().map(|item| item.path()).collect();
    items.sort();
    for item in items {
        if item.is_dir() {
            indexes(&item, found);
        } else if item.extension().is_some_and(|extension| extension == "idx") {
            found.push(item);
        }
    }
}

fn indexes_of(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    indexes(directory, &mut found);
    found
}

fn cat(directory: &Path) -> (i32, String, String) {
    let run = ichnos(["cat", directory.to_str().unwrap()]);
    (run.code, run.out, run.err)
}

#[test]
fn lttng_would_have_written_the_same() {
    let directory = Directory::new("indexes");
    let trace = directory.join("t");
    copy(&root().join("examples/hello-lttng"), &trace);
    let path = trace.to_str().unwrap();
    let before = cat(&trace);
    // LTTng's own indexes are the reference.
    ichnos(["index", "-v", path]).expect(0, &["note: 0 index files written, 2 unchanged"]);
    let files = indexes_of(&trace);
    assert_eq!(files.len(), 2);
    let recorded: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    fs::remove_dir_all(files[0].parent().unwrap()).unwrap();
    assert_eq!(cat(&trace), before);
    ichnos(["index", "-v", path]).expect(0, &["note: 2 index files written, 0 unchanged"]);
    let written: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(written == recorded);
    // A wrong index is replaced.
    let mut wrong = recorded[0].clone();
    wrong.truncate(20);
    fs::write(&files[0], wrong).unwrap();
    ichnos(["index", "-v", path]).expect(0, &["note: 1 index file written, 1 unchanged"]);
    assert!(fs::read(&files[0]).unwrap() == recorded[0]);
    assert_eq!(cat(&trace), before);
}

#[test]
fn packets_without_an_index() {
    let directory = Directory::new("no-indexes");
    let trace = directory.join("t");
    copy(&root().join("examples/hello-lttng"), &trace);
    let index = indexes_of(&trace).remove(0);
    let data = index.parent().unwrap().parent().unwrap().join(index.file_stem().unwrap());
    fs::remove_dir_all(index.parent().unwrap()).unwrap();
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[..bytes.len() - 1]).unwrap();
    let path = trace.to_str().unwrap();
    ichnos(["index", "-v", path]).expect(3, &["chan_0: damaged at byte ", "1 index file written"]);
    assert!(!index.exists());
    // A path that cannot be a directory.
    fs::remove_dir_all(index.parent().unwrap()).unwrap();
    fs::write(index.parent().unwrap(), b"").unwrap();
    let parent = index.with_file_name("chan_1.idx");
    ichnos(["index", path]).expect(2, &["error: ", parent.to_str().unwrap()]);
    let file = data.to_str().unwrap();
    ichnos(["index", file]).expect(2, &["expected the directory of a trace"]);
    ichnos(["index", directory.join("none").to_str().unwrap()]).expect(2, &["no such file or directory"]);
    let logs = root().join("examples/hello-dotnet");
    ichnos(["index", logs.to_str().unwrap()]).expect(2, &["this trace format does not have packet indexes"]);
}

/// `convert --index` and `index` write the same indexes, and readers use them.
#[test]
fn converted_traces_have_the_same_indexes() {
    let directory = Directory::new("converted-indexes");
    let sources = ["examples/hello-lttng", "examples/hello-ctf2", "examples/hello-dotnet/hello.nettrace.zst"];
    for (number, source) in sources.into_iter().enumerate() {
        for dialect in ["spec2", "ctf1.8"] {
            let source = root().join(source);
            let out = directory.join(format!("{number}-{dialect}"));
            let (source, path) = (source.to_str().unwrap(), out.to_str().unwrap());
            ichnos([
                "convert",
                source,
                "--to=ctf",
                "--index",
                "--to-dialect",
                dialect,
                "--force",
                "-o",
                path,
            ])
            .expect(0, &[]);
            assert!(!indexes_of(&out).is_empty());
            let run = ichnos(["index", "-v", path]).expect(0, &["note: 0 index files written, "]);
            assert!(!run.err.contains(" 0 unchanged"), "{}", run.err);
            ichnos(["check", "--strict", path]).expect(0, &[]);
        }
    }
}

/// Recorded LTTng traces with indexes: the same indexes are written, unless the trace is damaged or its index has the
/// layout from before LTTng 2.3.
#[test]
fn recorded_indexes() {
    let Some(real) = recorded("ctf/real") else { return };
    let directory = Directory::new("recorded-indexes");
    let (mut same, mut others) = (0, 0);
    for index in indexes_of(&real) {
        let bytes = fs::read(&index).unwrap();
        let trace = index.parent().unwrap().parent().unwrap();
        let data = trace.join(index.file_stem().unwrap());
        if bytes.first_chunk() != Some(&[0xc1, 0xf1, 0xdc, 0xc1]) || !data.exists() {
            others += 1;
            continue;
        }
        let copied = directory.join("t");
        let written = copied.join("index").join(index.file_name().unwrap());
        fs::create_dir_all(copied.join("index")).unwrap();
        let name = index.file_stem().unwrap();
        for (from, to) in [(data, name), (trace.join("metadata"), "metadata".as_ref())] {
            fs::copy(from, copied.join(to)).unwrap();
        }
        // Keep only the start of the existing index: its version determines the version to write.
        fs::write(&written, &bytes[..16]).unwrap();
        let run = ichnos(["index", copied.to_str().unwrap()]);
        if run.code == 0 {
            assert!(fs::read(&written).unwrap() == bytes, "{}", index.display());
            same += 1;
        } else {
            // Damaged, or with unreadable metadata.
            run.expect(3, &[]);
            others += 1;
        }
        fs::remove_dir_all(&copied).unwrap();
    }
    assert!(same >= 60 && others <= 24, "{same} {others}");
}

/// A packet without a size field fills its file, and needs no index.
#[test]
fn packets_without_a_size_need_no_index() {
    let directory = Directory::new("index-no-size");
    let (source, out) = (directory.join("source"), directory.join("out"));
    fs::create_dir(&source).unwrap();
    let metadata = "\u{1e}{\"type\": \"preamble\", \"version\": 2}\u{1e}{\"type\": \"data-stream-class\"}\u{1e}\
        {\"type\": \"event-record-class\", \"name\": \"e\", \"payload-field-class\": {\"type\": \"structure\", \
        \"member-classes\": [{\"name\": \"v\", \"field-class\": {\"type\": \"fixed-length-unsigned-integer\", \
        \"length\": 8, \"byte-order\": \"little-endian\"}}]}}";
    fs::write(source.join("metadata"), metadata).unwrap();
    fs::write(source.join("stream"), [1, 2, 3]).unwrap();
    let path = out.to_str().unwrap();
    ichnos(["convert", "--index", source.to_str().unwrap(), "--force", "-o", path]).expect(0, &[]);
    assert_eq!(indexes_of(&out), Vec::<PathBuf>::new());
    ichnos(["check", "--strict", path]).expect(0, &[]).prints(&["3 events"]);
    // An existing index is not used, and is not an error.
    let mut index: Vec<u8> = [0xc1f1_dcc1u32, 1, 1, 72].iter().flat_map(|word| word.to_be_bytes()).collect();
    index.extend([0, 24, 24, 0, 0, 0, 0, u64::MAX, u64::MAX].iter().flat_map(|field| field.to_be_bytes()));
    fs::create_dir(out.join("index")).unwrap();
    fs::write(out.join("index/stream.idx"), index).unwrap();
    ichnos(["check", "--strict", path]).expect(0, &[]).prints(&["no problems"]);
}
