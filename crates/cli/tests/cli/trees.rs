//! Files in a directory: links, hidden names, special files, holes, and paths within a trace.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::time::Duration;

use crate::support::{Directory, METADATA, Run, ichnos, packet, recorded, trace};
use crate::transcript::transcript;

/// Counts a path's events, and checks the exit code.
#[track_caller]
fn count(path: &Path, code: i32) -> (u64, Run) {
    let path = path.as_os_str();
    let run = ichnos([OsStr::new("cat"), path, OsStr::new("--format=null"), OsStr::new("--stats")]);
    let run = run.expect(code, &["events in"]);
    let line = run.err.lines().find(|line| line.contains(" events in ")).unwrap();
    (line.split(' ').next().unwrap().replace(',', "").parse().unwrap(), run)
}

fn notes(run: &Run) -> Vec<&str> {
    run.err.lines().filter(|line| line.starts_with("note: ")).collect()
}

/// Creates `t` with `metadata` and `stream_b`, and `real` with `stream_a`: ten events in total.
fn parted(name: &str) -> Directory {
    let whole = trace(name);
    for (from, to) in [("metadata", "t/metadata"), ("stream_b", "t/stream_b"), ("stream_a", "real/stream_a")]
    {
        fs::create_dir_all(whole.join(to).parent().unwrap()).unwrap();
        fs::rename(whole.join(from), whole.join(to)).unwrap();
    }
    whole
}

#[cfg(unix)]
#[test]
fn a_linked_stream_file_belongs_where_the_link_stands() {
    use std::os::unix::fs::symlink;
    let directory = parted("tree-link");
    symlink("../real/stream_a", directory.join("t/stream_a")).unwrap();
    for path in [directory.join("."), directory.join("t")] {
        let (events, run) = count(&path, 0);
        assert_eq!((events, notes(&run).len()), (10, 0), "{}", run.err);
    }
    // As a real tracer writes it.
    let Some(recorded) = recorded("ctf/real/lttng-ust/discard/ust/uid/0/64-bit") else { return };
    let directory = Directory::new("tree-link-recorded");
    fs::create_dir(directory.join("t")).unwrap();
    fs::create_dir(directory.join("real")).unwrap();
    for (from, to) in [("metadata", "t/metadata"), ("chan_1", "t/chan_1"), ("chan_0", "real/chan_0")] {
        fs::copy(recorded.join(from), directory.join(to)).unwrap();
    }
    symlink("../real/chan_0", directory.join("t/chan_0")).unwrap();
    assert_eq!(count(&directory, 0).0, 5_618);
    // Its index is also used if the index directory is a link.
    fs::create_dir(directory.join("elsewhere")).unwrap();
    fs::copy(recorded.join("index/chan_0.idx"), directory.join("elsewhere/chan_0.idx")).unwrap();
    symlink("../elsewhere", directory.join("t/index")).unwrap();
    assert_eq!(count(&directory, 0).0, 5_618);
    fs::write(directory.join("elsewhere/chan_0.idx"), b"no index").unwrap();
    let run = ichnos([OsStr::new("info"), directory.as_os_str()]).expect(0, &[]);
    run.prints(&["elsewhere/chan_0.idx: ", "the packet index is not used"]);
}

#[cfg(unix)]
#[test]
fn duplicates_are_read_once_and_reported() {
    let _transcript = transcript!();
    use std::os::unix::fs::symlink;
    let directory = trace("tree-twice");
    fs::create_dir(directory.join("t")).unwrap();
    for name in ["metadata", "stream_a", "stream_b"] {
        fs::rename(directory.join(name), directory.join("t").join(name)).unwrap();
    }
    // A loop is ignored silently.
    symlink("..", directory.join("t/up")).unwrap();
    let (events, run) = count(&directory, 0);
    assert_eq!((events, notes(&run).len()), (10, 0), "{}", run.err);
    let once = |name: &str, sentence: &str| {
        let (events, run) = count(&directory, 0);
        assert_eq!(events, 10, "{}", run.err);
        assert_eq!(notes(&run).len(), 1, "{}", run.err);
        assert!(run.err.contains(sentence), "{}", run.err);
        let quiet = ichnos([OsStr::new("check"), OsStr::new("-q"), directory.as_os_str()]);
        assert_eq!(quiet.err, "");
        let path = directory.join(name);
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    };
    symlink("t", directory.join("again")).unwrap();
    once("again", "again: leads to the same directory as");
    symlink("stream_b", directory.join("t/stream_c")).unwrap();
    once("t/stream_c", "stream_c: same file as");
    fs::hard_link(directory.join("t/stream_b"), directory.join("t/stream_d")).unwrap();
    once("t/stream_d", "stream_d: same file as");
    // A trace that consists only of links.
    fs::create_dir(directory.join("copy")).unwrap();
    for name in ["metadata", "stream_a"] {
        symlink(Path::new("../t").join(name), directory.join("copy").join(name)).unwrap();
    }
    once("copy", "copy: same trace as");
    // One metadata file shared by several recordings is not a duplicate.
    fs::create_dir(directory.join("other")).unwrap();
    symlink("../t/metadata", directory.join("other/metadata")).unwrap();
    fs::write(directory.join("other/stream_a"), packet(&[7_000, 8_000], 0)).unwrap();
    let (events, run) = count(&directory, 0);
    assert_eq!((events, notes(&run).len()), (12, 0), "{}", run.err);
}

/// A link to a directory elsewhere, for example `/proc/self/root`, is followed only on request.
#[cfg(unix)]
#[test]
fn links_to_directories_elsewhere_are_followed_on_request() {
    use std::os::unix::fs::symlink;
    let elsewhere = trace("tree-elsewhere");
    let directory = trace("tree-leads-out");
    symlink(&*elsewhere, directory.join("link")).unwrap();
    let of = |option: &[&str]| {
        let mut arguments = vec![OsStr::new("cat"), directory.as_os_str(), OsStr::new("--format=null")];
        arguments.extend([OsStr::new("--stats")].into_iter().chain(option.iter().map(OsStr::new)));
        ichnos(arguments)
    };
    of(&["--follow-links"]).expect(0, &["20 events in"]);
    of(&[])
        .expect(0, &["link: a link to a directory elsewhere, not followed; `--follow-links` follows them"]);
}

#[test]
fn a_hidden_directory_may_hold_a_trace() {
    let _transcript = transcript!();
    let directory = trace("tree-hidden");
    fs::create_dir_all(directory.join(".git/objects")).unwrap();
    fs::write(directory.join(".git/config"), b"[core]\n").unwrap();
    fs::write(directory.join(".gitignore"), b"*.o\n").unwrap();
    let (events, run) = count(&directory, 0);
    assert_eq!((events, notes(&run).len()), (10, 0), "{}", run.err);
    fs::create_dir_all(directory.join(".old/t")).unwrap();
    fs::write(directory.join(".old/t/metadata"), METADATA).unwrap();
    fs::write(directory.join(".old/t/stream_a"), packet(&[7_000, 8_000], 0)).unwrap();
    assert_eq!(count(&directory, 0).0, 12);
    // Hidden files are not part of a trace. If they look like one, a message mentions them.
    fs::write(directory.join(".stream_c"), packet(&[9_000], 0)).unwrap();
    let (events, run) = count(&directory, 0);
    assert_eq!(events, 12);
    assert!(run.err.contains(".stream_c: skipped what looks like a data stream file"), "{}", run.err);
}

/// A path to a part of a trace means the whole trace.
#[test]
fn a_part_of_a_trace_stands_for_it() {
    let _transcript = transcript!();
    let directory = trace("tree-part");
    // Another trace below does not belong to it.
    fs::create_dir_all(directory.join("index/deep")).unwrap();
    fs::create_dir(directory.join("below")).unwrap();
    for name in ["metadata", "stream_a"] {
        fs::copy(directory.join(name), directory.join("below").join(name)).unwrap();
    }
    fs::write(directory.join("index/stream_a.idx"), b"no index").unwrap();
    for (path, sentence) in [
        ("metadata", "metadata of the trace"),
        ("index", "packet index of the trace"),
        ("index/stream_a.idx", "packet index of the trace"),
        ("stream_a", "reading the whole trace"),
    ] {
        let (events, run) = count(&directory.join(path), 0);
        assert_eq!((events, notes(&run).len()), (10, 1), "{path}: {}", run.err);
        assert!(run.err.contains(sentence) && !run.err.contains("no data streams"), "{path}: {}", run.err);
    }
    // No other format claims a file in the trace.
    let named = ichnos([
        OsStr::new("info"),
        OsStr::new("--count"),
        OsStr::new("--from=ctf"),
        directory.join("stream_a").as_os_str(),
    ]);
    assert!(named.out.contains("10 events"));
    // As typed from within the index directory.
    for path in [".", "stream_a.idx", "../index"] {
        let mut within = crate::support::command();
        within.args(["info", "--count", path]).current_dir(directory.join("index"));
        let output = within.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{path}: {err}");
        assert!(err.contains("packet index of the trace .."), "{path}: {err}");
    }
    // Several parts are the same trace as the directory.
    let cat = |paths: &[&str], more: &[&OsStr]| {
        let paths = paths.iter().map(|path| directory.join(path).into_os_string());
        let options = ["cat", "--format=null", "--stats"].map(Into::into);
        ichnos(options.into_iter().chain(paths).chain(more.iter().map(|&option| option.into())))
    };
    cat(&["stream_a", "stream_b", "metadata"], &[]);
    cat(&["stream_a", "below"], &[]);
    // From within the index.
    for path in [".", "stream_a.idx"] {
        let run =
            crate::support::command().current_dir(directory.join("index")).args(["info", path]).output();
        let run = run.unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{path}: {stderr}");
        assert!(stderr.contains("packet index of the trace ..; reading that trace"), "{path}: {stderr}");
    }
    // Only this file, as the note suggests.
    let metadata = directory.join("metadata");
    let run = cat(&["stream_b"], &[OsStr::new("--metadata"), metadata.as_os_str()]);
    assert_eq!(notes(&run).len(), 0);
    // An offset for a part applies to the trace.
    let line = |more: &[&str]| {
        let path = directory.join("stream_a").into_os_string();
        let options = ["cat", "--clock-seconds", "--max-events=1"].map(Into::into);
        let run = ichnos(options.into_iter().chain([path]).chain(more.iter().map(Into::into)));
        run.out
    };
    let offset = format!("--offset={}=5", directory.join("stream_a").display());
    assert!(line(&[]).starts_with("[1000000000.000001000]"), "{}", line(&[]));
    assert!(line(&[&offset]).starts_with("[1000000005.000001000]"), "{}", line(&[&offset]));
}

#[cfg(unix)]
#[test]
fn special_files_are_named_by_type() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    let directory = trace("tree-special");
    let _socket = UnixListener::bind(directory.join("socket")).unwrap();
    symlink("/dev/null", directory.join("device")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(directory.join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo is missing");
        return;
    }
    let (events, run) = count(&directory, 3);
    assert_eq!(events, 10);
    for found in ["a pipe", "a socket", "a device"] {
        assert!(run.err.contains(&format!("skipped {found}: not a file")), "{}", run.err);
    }
    let run = ichnos([OsStr::new("check"), directory.as_os_str()]).expect(1, &[]);
    assert!(!run.out.contains("mode") && run.out.contains("remove it from the directory"), "{}", run.out);
}

/// Writes packets at places in a sparse file. Returns the packet size, or `None` without support for holes. The file
/// must be [on a disk](Directory::on_disk).
pub fn sparse(path: &Path, places: &[u64], len: u64) -> Option<u64> {
    let mut file = File::create(path).unwrap();
    for at in places {
        file.seek(SeekFrom::Start(*at)).unwrap();
        file.write_all(&packet(&[1_000 + at, 2_000 + at, 3_000 + at], 0)).unwrap();
    }
    if let Err(error) = file.set_len(len) {
        eprintln!("skipped: no sparse file of {len} bytes: {error}");
        return None;
    }
    drop(file);
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).unwrap()) > 10_000 {
        eprintln!("skipped: the file system has no holes");
        return None;
    }
    Some(packet(&[1, 2, 3], 0).len() as u64)
}

/// Returns the CPU time of all child processes.
#[cfg(target_os = "linux")]
fn cpu_time_of_children() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let time = |time: nix::sys::time::TimeVal| {
        Duration::from_micros(time.tv_sec().unsigned_abs() * 1_000_000 + time.tv_usec().unsigned_abs())
    };
    time(usage.user_time()) + time(usage.system_time())
}

#[cfg(target_os = "linux")]
#[test]
fn a_terabyte_hole_is_one_damaged_place() {
    const TERABYTE: u64 = 1 << 40;
    for (name, places, events) in [
        ("behind", &[0][..], 3),
        ("between", &[0, TERABYTE / 2, TERABYTE - 4096], 9),
        ("before", &[TERABYTE / 4 + 77], 3),
    ] {
        let directory = Directory::on_disk("tree-sparse");
        fs::write(directory.join("metadata"), METADATA).unwrap();
        let Some(size) = sparse(&directory.join("stream"), places, TERABYTE) else { return };
        let before = cpu_time_of_children();
        let path = directory.as_os_str();
        let first = ichnos([OsStr::new("cat"), path, OsStr::new("--max-events=1")]);
        assert_eq!(first.out.lines().count(), 1, "{name}: {}", first.err);
        let (found, run) = count(&directory, 3);
        assert_eq!(found, events, "{name}: {}", run.err);
        let holes: Vec<&str> = run.err.lines().filter(|line| line.contains("never written")).collect();
        // The rest of the last block is not a hole.
        let expected = if name == "behind" { 1 } else { 2 };
        assert_eq!(holes.len(), expected, "{name}: {}", run.err);
        let info = ichnos([OsStr::new("info"), path]).expect(3, &[]);
        assert!(info.out.contains("bytes of the file were never written"), "{name}: {}", info.out);
        if name == "behind" {
            assert!(info.out.contains(&format!("stream: byte {size}: zeros where a packet")), "{}", info.out);
        }
        // Four runs: far less time than reading the bytes once would take.
        let taken = cpu_time_of_children() - before;
        assert!(taken < Duration::from_secs(60), "{name}: {taken:?}");
    }
}

/// Zeros within a packet belong to it, with or without holes.
#[cfg(target_os = "linux")]
#[test]
fn a_hole_within_a_packet_is_not_damage() {
    let directory = Directory::on_disk("tree-padding");
    fs::write(directory.join("metadata"), METADATA).unwrap();
    // A packet with 64 MiB, most of it padding, and a packet after it.
    const SIZE: u64 = 64 << 20;
    let Some(content) = sparse(&directory.join("stream"), &[0, SIZE], SIZE + 4096) else { return };
    let mut file = File::options().write(true).open(directory.join("stream")).unwrap();
    file.seek(SeekFrom::Start(8 + 3 * 8)).unwrap();
    file.write_all(&(SIZE * 8).to_le_bytes()).unwrap();
    file.set_len(SIZE + content).unwrap();
    drop(file);
    let (events, run) = count(&directory, 0);
    assert_eq!(events, 6, "{}", run.err);
}

/// Returns a file in a tar archive (POSIX.1-1988, "ustar").
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(124, &format!("{:011o}", content.len()));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header.extend(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// 12,000 data streams that are read at the same time: events are sorted by time, and each data stream needs little
/// memory.
#[test]
fn very_many_data_streams() {
    const COUNT: u64 = 12_000;
    let directory = Directory::new("tree-many");
    let path = directory.join("many.tar");
    let mut archive = member("t/metadata", METADATA.as_bytes());
    for i in 0..COUNT {
        let times = [i * 10, COUNT * 10 + i * 10];
        archive.extend(member(&format!("t/stream_{i:06}"), &packet(&times, 0)));
    }
    archive.extend([0; 1024]);
    fs::write(&path, archive).unwrap();
    let run = ichnos([
        OsStr::new("cat"),
        OsStr::new("--clock-seconds"),
        OsStr::new("--no-delta"),
        path.as_os_str(),
    ]);
    let run = run.expect(0, &[]);
    let times: Vec<&str> = run.out.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(times.len() as u64, 2 * COUNT);
    assert!(times.is_sorted());
    let info = |options: &[&str]| {
        let options = options.iter().map(OsStr::new);
        ichnos([OsStr::new("info"), path.as_os_str()].into_iter().chain(options)).expect(0, &[])
    };
    let parts =
        ["12,000 data streams, 12,000 packets", "2,000 more data streams: `ichnos info --json` lists all"];
    info(&[]).prints(&parts);
    info(&["--count"]).prints(&["size: 24,000 events, 12,000 data streams", "demo:tick: 12,000 events"]);
    let all = info(&["--json"]).json();
    assert_eq!(all["traces"][0]["data_streams"].as_array().map(Vec::len), Some(COUNT as usize));
    #[cfg(target_os = "linux")]
    for verb in ["info", "cat"] {
        // Twice the memory for 900,000 data streams and the program itself, about 600 MB.
        let most = 2 * (600 * COUNT / 900 + 10_000);
        let peak = peak_memory(&[OsStr::new(verb), OsStr::new("--threads=1"), path.as_os_str()][..]);
        eprintln!("{verb}: {peak} kB");
        assert!(peak < most, "{verb}: {peak} kB, more than {most}");
    }
}

/// Returns the command's peak private memory in kB.
#[cfg(target_os = "linux")]
pub fn peak_memory(arguments: &[&OsStr]) -> u64 {
    use std::process::Stdio;
    let arguments = arguments.iter().filter(|option| arguments[0] != "info" || **option != "--threads=1");
    let mut command = crate::support::command();
    let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let memory = ichnos_testing::PrivateMemory::for_process(child.id());
    child.wait().unwrap();
    memory.peak() / 1000
}
