//! Traces in archives.

use std::io::Write;
use std::path::Path;

use crate::support::{Directory, METADATA, command, gzip, ichnos, packet};
use crate::transcript::transcript;

/// Appends a file to a tar archive.
pub fn add(archive: &mut tar::Builder<Vec<u8>>, path: &str, content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, path, content).unwrap();
}

/// Appends a symbolic link.
pub fn link(archive: &mut tar::Builder<Vec<u8>>, path: &str, target: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    archive.append_link(&mut header, path, target).unwrap();
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    files.iter().for_each(|(path, content)| add(&mut archive, path, content));
    archive.into_inner().unwrap()
}

/// Returns consecutive packets with three events each.
fn packets(count: u64) -> Vec<u8> {
    (0..count).flat_map(|i| packet(&[i * 1000 + 1, i * 1000 + 2, i * 1000 + 3], 0)).collect()
}

fn write(directory: &Directory, name: &str, bytes: &[u8]) -> String {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn links_in_an_archive_lead_to_its_members() {
    let _transcript = transcript!();
    let directory = Directory::new("archive-links");
    let archive = |links: &[(&str, &str)]| {
        let mut archive = tar::Builder::new(Vec::new());
        add(&mut archive, "real/chan_0", &packet(&[1, 2, 3], 0));
        add(&mut archive, "t/metadata", METADATA.as_bytes());
        add(&mut archive, "t/chan_1", &packet(&[4, 5], 0));
        links.iter().for_each(|(path, target)| link(&mut archive, path, target));
        archive.into_inner().unwrap()
    };
    let inside = ("t/chan_0", "../real/chan_0");
    let path = write(&directory, "inside.tar", &archive(&[inside]));
    assert_eq!(ichnos(["cat", &path]).out.lines().count(), 5);
    let outside = ("t/chan_2", "../../elsewhere/chan_2");
    let path = write(&directory, "outside.tar", &archive(&[outside, inside]));
    let left_out = "skipped the link \"t/chan_2\" to \"../../elsewhere/chan_2\": it leads out of the archive";
    assert_eq!(ichnos(["cat", &path]).expect(3, &[left_out]).out.lines().count(), 5);
    // The same in strict mode, even if only one event is read.
    let path = write(&directory, "outside.tar.gz", &gzip(&archive(&[outside, inside])));
    for options in [&["--strict"][..], &["--strict", "--max-events=1"]] {
        let run = ichnos([&["cat", path.as_str()][..], options].concat()).expect(2, &["error: ", left_out]);
        assert_eq!((run.out.as_str(), run.err.contains("warning")), ("", false), "{}", run.err);
    }
}

/// Member names that differ only in invalid UTF-8 are different names.
#[cfg(unix)]
#[test]
fn invalid_utf_8_names_stay_different() {
    let _transcript = transcript!();
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let directory = Directory::new("archive-names");
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "t/metadata", METADATA.as_bytes());
    for (name, begin) in [(&b"t/canal_\xe8"[..], 1), (b"t/canal_\xe9", 10)] {
        let content = packet(&[begin, begin + 1], 0);
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, OsStr::from_bytes(name), content.as_slice()).unwrap();
    }
    let path = write(&directory, "t.tar", &archive.into_inner().unwrap());
    assert_eq!(ichnos(["cat", &path]).out.lines().count(), 4);
}

#[test]
fn files_repeated_by_links_are_read_once() {
    let _transcript = transcript!();
    let directory = Directory::new("archive-repeated");
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "a/metadata", METADATA.as_bytes());
    add(&mut archive, "a/stream", &packet(&[1, 2, 3], 0));
    for file in ["metadata", "stream"] {
        link(&mut archive, &format!("b/{file}"), &format!("../a/{file}"));
    }
    let archive = archive.into_inner().unwrap();
    for (name, bytes) in [("t.tar", archive.clone()), ("t.tar.gz", gzip(&archive))] {
        let path = write(&directory, name, &bytes);
        let note = "b: same trace as ";
        assert_eq!(ichnos(["cat", &path]).expect(0, &[note]).out.lines().count(), 3, "{name}");
        let few = ichnos(["cat", "--max-events=2", &path]).expect(0, &[note]).out;
        let all = ichnos(["cat", &path]).out;
        assert!(few.lines().count() == 2 && all.starts_with(&few), "{few}");
    }
    let log = std::fs::read(crate::support::root().join("examples/hello-fuchsia/boot.log")).unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, "boot.log", &log);
    link(&mut archive, "latest.log", "boot.log");
    let path = write(&directory, "logs.tar", &archive.into_inner().unwrap());
    ichnos(["cat", "-fnull", "--stats", &path]);
}

#[test]
fn a_truncated_archive_is_not_called_broken_metadata() {
    let directory = Directory::new("archive-truncated");
    let (stream, metadata) = (packets(100), METADATA.as_bytes());
    let last = tar(&[("t/stream", &stream), ("t/metadata", metadata)]);
    let begin = last.windows(9).rposition(|at| at == b"/* CTF 1.").unwrap();
    let cut = &last[..begin + 300];
    let path = write(&directory, "last.tar", cut);
    let whole = METADATA.len();
    let end = format!(
        "the archive is truncated at byte {}, within the member \"t/metadata\": {} bytes are missing",
        cut.len(),
        whole - 300
    );
    let run = ichnos(["cat", &path]).expect(2, &[&end, "the metadata is truncated after 300 bytes"]);
    assert!(!run.err.contains("expected"), "{}", run.err);
    // No metadata at all.
    let path = write(&directory, "none.tar", &last[..begin - 2000]);
    ichnos(["cat", &path]).expect(2, &["no trace found", "truncated", "within the member \"t/stream\""]);
    // A truncated data stream is read up to the cut.
    let first = tar(&[("t/metadata", metadata), ("t/stream", &stream)]);
    let path = write(&directory, "first.tar", &first[..first.len() - 4000]);
    let run =
        ichnos(["cat", &path]).expect(3, &["the archive is truncated", "within the member \"t/stream\""]);
    assert!(run.out.lines().count() > 200, "{}", run.out.lines().count());
    for (name, bytes) in [("first.tar.gz", gzip(&first)), ("last.tar.gz", gzip(&last))] {
        let path = write(&directory, name, &bytes[..bytes.len() / 2]);
        let err = ichnos(["cat", &path]).err;
        assert!(err.contains("the file is truncated at byte"), "{err}");
    }
}

/// Writes a trace with one packet, most of it padding. It is larger than the memory limit.
fn large(directory: &Directory) -> String {
    const SIZE: usize = 70 << 20;
    let mut stream = packet(&[1, 2, 3], 0);
    stream[32..40].copy_from_slice(&(SIZE as u64 * 8).to_le_bytes());
    stream.resize(SIZE, 0);
    // Stored without compression: the ratio of packed zeros would be rejected.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&tar(&[("t/metadata", METADATA.as_bytes()), ("t/stream", &stream)])).unwrap();
    write(directory, "large.tar.gz", &encoder.finish().unwrap())
}

#[test]
fn temporary_files_go_to_the_given_directory() {
    let directory = Directory::new("archive-temporary");
    let path = large(&directory);
    let temporary = directory.join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let there = temporary.to_str().unwrap();
    let with = |variable: &str, arguments: &[&str]| {
        let mut command = command();
        command.args(["cat", &path]).args(arguments).env("TMPDIR", variable);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(with(there, &[]).0, Some(0));
    assert_eq!(with("/does/not/exist", &["--temp-dir", there]).0, Some(0));
    assert!(std::fs::read_dir(&temporary).unwrap().next().is_none());
    for (code, err) in [with("/does/not/exist", &[]), with(there, &["--temp-dir", "/does/not/exist"])] {
        assert_eq!(code, Some(2), "{err}");
        assert!(
            err.contains("temporary file in /does/not/exist: ") && err.contains("--temp-dir DIR"),
            "{err}"
        );
    }
    // A full disk.
    if cfg!(target_os = "linux") && Path::new("/dev/full").exists() {
        let err = with("/dev/full", &[]).1;
        assert!(err.contains("temporary file in /dev/full"), "{err}");
    }
}

/// Writes archives of a trace with two data streams, by name. A few events need only the start of the archive. Damaged
/// archives contain an error at the end of the first data stream.
fn long(directory: &Directory, is_damaged: bool) -> Vec<String> {
    // More than what is unpacked for a few events. Most of it is padding.
    const SIZE: usize = 64 << 10;
    let mut stream = Vec::new();
    for i in 0..100 {
        let mut packet = packet(&[i * 1000 + 1, i * 1000 + 2, i * 1000 + 3], 0);
        packet[32..40].copy_from_slice(&(SIZE as u64 * 8).to_le_bytes());
        packet.resize(SIZE, 0);
        stream.extend(packet);
    }
    if is_damaged {
        // The id of an event.
        stream[90 * SIZE + 48] = 0xff;
    }
    let files = [("t/metadata", METADATA.as_bytes()), ("t/a", &stream[..]), ("t/b", &stream[..])];
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, content) in files {
        zip.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    let metadata = write(directory, "metadata", METADATA.as_bytes());
    let single = write(directory, "stream.gz", &gzip(&stream));
    let archives = [("t.zip", zip), ("t.tar.gz", gzip(&tar(&files))), ("t.tar", tar(&files))];
    let mut paths: Vec<String> = archives.iter().map(|(name, bytes)| write(directory, name, bytes)).collect();
    paths.push(format!("--metadata={metadata} {single}"));
    paths
}

#[test]
fn a_few_events_equal_those_in_the_whole_trace() {
    for is_damaged in [false, true] {
        let directory = Directory::new("archive-beginning");
        for path in long(&directory, is_damaged) {
            let cat = |more: &[&str]| {
                let given = ["cat", "--resource-limit=ratio=100000", "--resource-limit=fields-per-bit=1000"]
                    .into_iter()
                    .chain(path.split(' '));
                ichnos(given.chain(more.iter().copied()))
            };
            let all = cat(&["--clock-gmt"]).expect(if is_damaged { 3 } else { 0 }, &[]).out;
            let lines: Vec<&str> = all.lines().collect();
            // More events than the start contains, and more than exist.
            for limit in [0, 1, 10, 100, 400, 1_000] {
                let few = cat(&["--clock-gmt", "--max-events", &limit.to_string()]).out;
                let expected = &lines[..lines.len().min(limit)];
                assert!(few.lines().eq(expected.iter().copied()), "{path}: {limit}");
            }
            let late = lines.last().unwrap().split(['[', ']']).nth(1).unwrap();
            let found = cat(&["--clock-gmt", "--max-events", "1", "--begin", late]).out;
            assert_eq!(found.lines().count(), 1, "{path}: {late}");
            let none = cat(&["--max-events", "1", "--event", "demo:none"]);
            none.expect(if is_damaged { 3 } else { 1 }, &[]);
        }
    }
}

const LIMITED: &str = "ICHNOS_TEST_LIMITED_MEMORY";

/// If there is not enough memory for an archive, an error says so. The process never ends by a signal.
#[cfg(target_os = "linux")]
#[test]
fn unavailable_memory_is_reported() {
    use nix::sys::resource::{Resource, setrlimit};

    if std::env::var_os("ASAN_OPTIONS").is_some() {
        eprintln!("skipped: the address sanitizer takes memory for itself");
        return;
    }
    // Limits apply to a process and all its children.
    if let Some(path) = std::env::var_os(LIMITED) {
        for mebibytes in [300, 200, 150] {
            setrlimit(Resource::RLIMIT_AS, mebibytes << 20, mebibytes << 20).unwrap();
            let run = ichnos([std::ffi::OsStr::new("info"), &path]);
            match run.code {
                0 => {}
                2 => assert!(run.err.contains("not enough memory to hold"), "{}", run.err),
                other => panic!("{mebibytes} MiB: {other}: {}", run.err),
            }
            // The archive and its unpacked content are 140 MiB.
            assert!(mebibytes > 150 || run.code == 2, "{mebibytes} MiB: {}", run.code);
        }
        return;
    }
    let directory = Directory::new("archive-memory");
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "archives::unavailable_memory_is_reported", "--nocapture"])
        .env(LIMITED, large(&directory))
        .status();
    assert!(status.unwrap().success());
}
