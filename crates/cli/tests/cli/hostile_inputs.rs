//! Effects of hostile inputs on the command, with memory and time. They are the source of the table in
//! `docs/robustness.md`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use ichnos_testing::compare_table;
use serde_json::{Value, json};

use crate::support::{Directory, Files, METADATA, gzip, overlapping_zip, packet, spec2, tar, trace, tsdl};
use crate::{archives, logs, terminal, threads, trees};

/// Table row.
struct Case {
    name: &'static str,
    /// Function that writes the files into a directory.
    make: fn(&Path),
    /// Shell command.
    line: &'static str,
    place: Place,
    code: i32,
    /// Part of the expected message, on either output.
    says: &'static str,
    /// Upper bounds for an optimized build: processor time in ms, and private memory in MB (10^6 bytes). They are at
    /// least twice the measured values.
    most: (u32, u32),
}

/// Environment for a command.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Outputs are pipes.
    Pipes,
    /// Outputs are a terminal. Control sequences must not arrive there.
    Terminal,
    /// A user without other processes.
    OtherUser,
}

use Place::{OtherUser, Pipes, Terminal};

fn case(
    name: &'static str,
    make: fn(&Path),
    (place, line): (Place, &'static str),
    (code, says): (i32, &'static str),
    most: (u32, u32),
) -> Case {
    Case { name, make, line, place, code, says, most }
}

fn write(directory: &Path, files: &[(&str, Vec<u8>)]) {
    for (name, bytes) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A trace with two data streams and ten events in total.
fn ten_events() -> Files {
    let directory = trace("hostile-ten");
    ["metadata", "stream_a", "stream_b"].map(|name| (name, fs::read(directory.join(name)).unwrap())).to_vec()
}

/// A trace with one data stream.
fn stream(bytes: &[u8]) -> Files {
    vec![("metadata", METADATA.into()), ("stream", bytes.to_vec())]
}

/// Returns gzip bytes that unpack to these texts, with the middle text repeated `count` times. A gzip file may contain
/// several members.
fn packed(first: &[u8], middle: &[u8], count: usize, last: &[u8]) -> Vec<u8> {
    [gzip(first), gzip(middle).repeat(count), gzip(last)].concat()
}

/// Returns a file header for a tar archive.
fn header(name: &str, len: usize) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_size(len as u64);
    header.set_mode(0o644);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// An archive with a trace whose metadata repeats a block many times.
fn metadata(first: &str, middle: &str, count: usize, last: &str) -> Files {
    let len = first.len() + middle.len() * count + last.len();
    let begin = [&header("t/metadata", len)[..], first.as_bytes()].concat();
    let padding = vec![0; len.next_multiple_of(512) - len];
    let data = tar(&[("t/s", vec![1; 8])]);
    let end = [last.as_bytes(), &padding, &data].concat();
    vec![("t.tar.gz", packed(&begin, middle.as_bytes(), count, &end))]
}

/// Returns `count` consecutive packets with this number of events each.
fn packets(count: u64, events: u64) -> Vec<u8> {
    let times = |i: u64| (i * events..(i + 1) * events).collect::<Vec<_>>();
    (0..count).flat_map(|i| packet(&times(i), 0)).collect()
}

/// An archive with a trace of one packet, most of it padding, with this size in MiB.
fn padded(directory: &Path, mebibytes: usize) {
    const BLOCK: usize = 16 << 10;
    let len = mebibytes << 20;
    let mut stream = packet(&[1, 2, 3], 0);
    stream[32..40].copy_from_slice(&(len as u64 * 8).to_le_bytes());
    stream.resize(BLOCK, 0);
    let mut text = METADATA.as_bytes().to_vec();
    text.resize(text.len().next_multiple_of(512), b' ');
    let first = [header("t/metadata", text.len()), text, header("t/stream", len), stream].concat();
    write(directory, &[("t.tar.gz", packed(&first, &[0; BLOCK], len / BLOCK - 1, &[0; 1024]))]);
}

/// Returns parts with five-letter names.
fn names(count: usize, part: impl Fn(&str) -> String) -> String {
    let name =
        |n: usize| [26 * 26 * 26, 26 * 26, 26, 1].map(|place| char::from(b'a' + (n / place % 26) as u8));
    (0..count).map(|n| part(&format!("x{}", String::from_iter(name(n))))).collect()
}

/// A trace with a sparse file of a terabyte, which has packets at these places. If files cannot have holes, not even
/// the directory is created.
fn terabyte(directory: &Path, places: &[u64]) {
    write(directory, &[("metadata", METADATA.into())]);
    if trees::sparse(&directory.join("stream"), places, TERABYTE).is_none() {
        fs::remove_dir_all(directory).unwrap();
    }
}

const TERABYTE: u64 = 1 << 40;
const HEAD: &str = "/* CTF 1.8 */\ntrace{major=1;minor=8;byte_order=le;};typealias integer{size=64;}:=u;";
/// Magic number in Fuchsia traces.
const FXT: [u8; 8] = [0x10, 0, 4, 0x46, 0x78, 0x54, 0x16, 0];
const EVENTS: &str = "ichnos cat --format=null --stats .";

/// A .NET trace (version 4) that ends in an event block with this size.
fn nettrace(size: i32) -> Vec<u8> {
    let object = |name: &str, version: i32| {
        let numbers = [version, version, name.len() as i32].map(i32::to_le_bytes).concat();
        [&[5, 5, 1], &numbers[..], name.as_bytes(), &[6]].concat()
    };
    let date = [2026u16, 1, 4, 1, 0, 0, 0, 0].map(u16::to_le_bytes).concat();
    let ticks = [0u64, 1_000_000_000].map(u64::to_le_bytes).concat();
    let numbers = [8u32, 1, 1, 1].map(u32::to_le_bytes).concat();
    let head = [&b"Nettrace"[..], &20u32.to_le_bytes(), b"!FastSerialization.1"].concat();
    let trace = [object("Trace", 4), date, ticks, numbers, vec![6]].concat();
    [head, trace, object("EventBlock", 2), size.to_le_bytes().to_vec(), vec![0; 70]].concat()
}

/// A trace with 60,000 events.
fn many_events(directory: &Path) {
    write(&directory.join("t"), &stream(&packets(60, 1_000)));
}

/// Cases for one output format each: a name and the options.
macro_rules! outputs {
    ($($what:literal, $options:literal;)*) => {
        vec![$(
            case(concat!("a full disk while ", $what, " is written"), many_events,
                (Pipes, concat!("ichnos convert -q --to=", $options, " t -o /dev/full")),
                (2, "/dev/full: No space left on device"), (200, 24)),
            case(concat!("files of at most 4 kB while ", $what, " is written"), many_events,
                (Pipes, concat!("trap '' XFSZ; ulimit -f 8; ichnos convert -q --to=", $options, " t -o out")),
                (2, "out: File too large"), (200, 24)),
            case(concat!("a program that is killed while ", $what, " is written"), many_events,
                (Pipes, concat!("(ulimit -c 0; ulimit -f 8; ichnos convert -q --to=", $options, " t -o out); code=$?; rm .out.*.tmp; exit $code")),
                (153, ""), (200, 24)),
            case(concat!("a pipe that is closed while ", $what, " is written"), |directory| {
                many_events(directory);
                assert!(Command::new("mkfifo").arg(directory.join("pipe")).status().unwrap().success());
            }, (Pipes, concat!("ichnos convert -q --to=", $options, " t -o pipe & exec 3<pipe; exec 3<&-; wait $!")),
                (2, "pipe: Broken pipe"), (200, 24)),
            case(concat!("another user's directory as the place for ", $what), many_events,
                (OtherUser, concat!("prlimit --nproc=1 ichnos convert -q --threads=1 --to=", $options, " t -o out")),
                (2, "out: Permission denied"), (200, 24)),
        )*]
    };
}

/// Writing each single-file format.
#[rustfmt::skip]
fn outputs() -> Vec<Case> {
    outputs! {
        "a .NET trace", "nettrace";
        "a Fuchsia trace", "fxt";
        "a report file", "xtrace --orphans=chain";
        "a JSON report file", "xtrace --to-dialect=json --orphans=chain";
    }
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let mut cases = vec![
        // Archives.
        case("134 MB of zeros in 130 kB of gzip", |directory| {
            let zeros = vec![0; 4 << 20];
            write(directory, &[("t.gz", packed(&[], &zeros, 32, &[]))]);
        }, (Pipes, "ichnos cat t.gz"), (2, "packed bytes unpack to more than the limit of"), (200, 80)),
        case("a packet of 200 MB in 600 kB of gzip", |directory| padded(directory, 200),
            (Pipes, "ichnos cat --format=null --stats t.tar.gz"), (0, "3 events in"), (1000, 150)),
        case("320 MB of zeros in 10 kB of Zstandard", |directory| {
            let block = [2, 0, 16, 0].repeat(2_500);
            write(directory, &[("t.zst", [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x50][..], &block].concat())]);
        }, (Pipes, "ichnos cat t.zst"), (2, "packed bytes unpack to more than the limit of"), (200, 140)),
        case("300 MB of zeros in 60 kB of xz", |directory| {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
            encoder.write_all(&vec![0; 5 << 20]).unwrap();
            write(directory, &[("t.tar.xz", encoder.finish().unwrap().repeat(60))]);
        }, (Pipes, "ichnos cat t.tar.xz"), (2, "packed bytes unpack to more than the limit of"), (500, 120)),
        case("a zip archive whose members are the same bytes", |directory| {
            write(directory, &[("t.zip", overlapping_zip(30_000_000))]);
        }, (Pipes, "ichnos cat t.zip"), (2, "packed bytes unpack to more than the limit of"), (500, 140)),
        case("an archive in an archive in an archive", |directory| {
            let inner = gzip(&tar(&ten_events()));
            let middle = gzip(&tar(&[("inner.tar.gz", inner)]));
            write(directory, &[("t.tar.gz", gzip(&tar(&[("middle.tar.gz", middle)])))]);
        }, (Pipes, "ichnos cat t.tar.gz"), (2, "no trace found"), (100, 16)),
        case("a truncated `tar.gz`", |directory| {
            let bytes = gzip(&tar(&stream(&packets(300, 3))));
            write(directory, &[("t.tar.gz", bytes[..bytes.len() / 2].to_vec())]);
        }, (Pipes, "ichnos cat t.tar.gz"), (3, "the file is truncated at byte"), (100, 16)),
        case("2,000 data stream files in an archive", |directory| {
            let mut archive = tar::Builder::new(Vec::new());
            archives::add(&mut archive, "t/metadata", METADATA.as_bytes());
            (0..2_000).for_each(|i| archives::add(&mut archive, &format!("t/stream_{i}"), &packet(&[i, i + 9], 0)));
            write(directory, &[("t.tar", archive.into_inner().unwrap())]);
        }, (Pipes, "ichnos cat --format=null --stats t.tar"), (0, "4,000 events in"), (100, 24)),
        case("links in an archive that lead out of it", |directory| {
            let mut archive = tar::Builder::new(Vec::new());
            archives::add(&mut archive, "t/metadata", METADATA.as_bytes());
            archives::link(&mut archive, "t/stream", "../../../etc/passwd");
            archives::add(&mut archive, "t/stream_a", &packet(&[1, 2], 0));
            write(directory, &[("t.tar", archive.into_inner().unwrap())]);
        }, (Pipes, "ichnos cat t.tar"), (3, "it leads out of the archive"), (100, 16)),
        // Metadata.
        case("450,000 environment entries", |directory| {
            let entries = names(450_000, |name| format!("{name}=1;"));
            write(directory, &tsdl(&format!("env{{{entries}}};stream{{}};event{{}};"), &[]));
        }, (Pipes, "ichnos check ."), (1, "the description takes more than"), (500, 80)),
        case("2 MB of enumeration labels in a 20 kB archive", |directory| {
            let labels = names(1_000, |name| format!("{name},"));
            let first = format!("{HEAD}stream{{}};event{{fields:=struct{{enum:u{{");
            write(directory, &metadata(&first, &labels, 350, "x}e;};};"));
        }, (Pipes, "ichnos check t.tar.gz"), (0, "no problems"), (500, 64)),
        case("10 MB of JSON object members in an archive", |directory| {
            let first = "\u{1e}{\"type\":\"preamble\",\"version\":2,\"attributes\":{\"a\":[";
            write(directory, &metadata(first, &names(1_000, |name| format!("{{\"{name}\":1}},")), 700, "0]}}\n"));
        }, (Pipes, "ichnos info t.tar.gz"), (2, "the description takes more than"), (500, 200)),
        case("a byte order mark before the metadata", |directory| {
            write(directory, &[("metadata", format!("\u{feff}{METADATA}").into()), ("stream", packet(&[1, 2], 0))]);
        }, (Pipes, "ichnos check ."), (0, "skipped a byte order mark (U+FEFF) before the metadata"), (100, 16)),
        case("integers of 65,536 bits", |directory| {
            write(directory, &tsdl("stream{};event{fields:=struct{integer{size=65536;align=1;}a;};};", &[0xa5; 1 << 16]));
        }, (Pipes, EVENTS), (0, "8 events in"), (100, 16)),
        case("an integer of 2^60 bits", |directory| {
            let class = r#"{"type":"fixed-length-unsigned-integer","length":1152921504606846976,"byte-order":"little-endian"}"#;
            write(directory, &spec2(&format!(r#"{{"type":"structure","member-classes":[{{"name":"a","field-class":{class}}}]}}"#), &[7]));
        }, (Pipes, "ichnos cat ."), (2, "--resource-limit integer"), (100, 16)),
        case("a label for all 128-bit numbers", |directory| {
            let class = format!(r#"{{"field-type": "enum", "size": 128, "members": {{"most": [{{"lower": 2, "upper": {}}}]}}}}"#, u128::MAX);
            let text = format!(
                r#"["CTF 2", {{"fragment": "trace-class", "default-byte-order": "le"}}, {{"fragment": "data-stream-class"}},
                {{"fragment": "event-record-class", "payload-field-type": {{"field-type": "struct", "fields": [
                {{"name": "e", "field-type": {class}}}]}}}}]"#
            );
            write(directory, &[("metadata", text.into()), ("stream", vec![0xff; 16])]);
        }, (Pipes, "ichnos schema ."), (0, "most = 2..340282366920938463463374607431768211455"), (100, 16)),
        case("structures in structures, 100,000 deep", |directory| {
            write(directory, &tsdl(&format!("stream{{}};event{{fields:={}", "struct{".repeat(100_000)), &[7]));
        }, (Pipes, "ichnos cat ."), (2, "--resource-limit depth"), (100, 16)),
        // Data.
        case("a string without its NUL", |directory| {
            write(directory, &tsdl("stream{};event{fields:=struct{string s;};};", &b"abc".repeat(100_000)));
        }, (Pipes, "ichnos cat ."), (3, "the string is not terminated within its packet"), (100, 16)),
        case("a length of 2^64 - 1", |directory| {
            write(directory, &tsdl("stream{};event{fields:=struct{integer{size=64;}n;integer{size=8;}q[n];};};", &[0xff; 10]));
        }, (Pipes, "ichnos cat ."), (3, "a length of 18446744073709551615 elements does not fit in the 16 bits left"), (100, 16)),
        case("a packet that is copied after itself", |directory| {
            write(directory, &stream(&[packet(&[1, 2], 0), packet(&[3, 4], 0), packet(&[3, 4], 0), packet(&[5, 6], 0)].concat()));
        }, (Pipes, EVENTS), (3, "the packet is a copy of the packet at byte"), (100, 16)),
        case("one byte of 500 log records removed", |directory| {
            let mut bytes = logs::records(500).concat();
            bytes.remove(12_345);
            write(directory, &[("a.log", bytes)]);
        }, (Pipes, "ichnos cat --format=null --stats a.log"), (3, "499 events in"), (100, 16)),
        case("a sparse file of 1 TB, a hole after the packets", |directory| terabyte(directory, &[0]),
            (Pipes, EVENTS), (3, "3 events in"), (100, 16)),
        case("a sparse file of 1 TB, holes between the packets", |directory| terabyte(directory, &[0, TERABYTE / 2, TERABYTE - 4096]),
            (Pipes, EVENTS), (3, "9 events in"), (100, 16)),
        case("a sparse file of 1 TB, a hole before the packets", |directory| terabyte(directory, &[TERABYTE / 4 + 77]),
            (Pipes, EVENTS), (3, "3 events in"), (100, 16)),
        case("a sparse file of 1 TB, a hole in a packet", |directory| {
            terabyte(directory, &[0, TERABYTE - 4096]);
            let Ok(mut file) = File::options().write(true).open(directory.join("stream")) else { return };
            file.seek(SeekFrom::Start(8 + 3 * 8)).unwrap();
            file.write_all(&((TERABYTE - 4096) * 8).to_le_bytes()).unwrap();
        }, (Pipes, EVENTS), (3, "6 events in"), (100, 16)),
        // Directories.
        case("directories that are links to directories above them", |directory| {
            write(directory, &ten_events());
            fs::create_dir_all(directory.join("a/b")).unwrap();
            for (target, name) in [(".", "here"), ("..", "a/up"), ("../..", "a/b/up")] {
                symlink(target, directory.join(name)).unwrap();
            }
        }, (Pipes, EVENTS), (0, "10 events in"), (100, 16)),
        case("links to themselves and to each other", |directory| {
            write(directory, &ten_events());
            for (target, name) in [("self", "self"), ("b", "a"), ("a", "b")] {
                symlink(target, directory.join(name)).unwrap();
            }
        }, (Pipes, EVENTS), (3, "broken symbolic link: Too many levels of symbolic links"), (100, 16)),
        case("40 directories, each with links to all of them", |directory| {
            write(directory, &ten_events());
            for from in 0..40 {
                fs::create_dir(directory.join(format!("d{from}"))).unwrap();
                (0..40).for_each(|to| symlink(format!("../d{to}"), directory.join(format!("d{from}/l{to}"))).unwrap());
            }
        }, (Pipes, EVENTS), (0, "10 events in"), (100, 16)),
        case("a data stream file that is a link to a file next to the trace", |directory| {
            write(directory, &ten_events());
            fs::create_dir(directory.join("real")).unwrap();
            fs::rename(directory.join("stream_a"), directory.join("real/stream_a")).unwrap();
            symlink("real/stream_a", directory.join("stream_a")).unwrap();
        }, (Pipes, EVENTS), (0, "10 events in"), (100, 16)),
        case("a trace in a hidden directory", |directory| {
            for (name, bytes) in ten_events() {
                write(directory, &[(&format!(".hidden/t/{name}"), bytes)]);
            }
        }, (Pipes, EVENTS), (0, "10 events in"), (100, 16)),
        case("directories 100 deep", |directory| {
            write(directory, &ten_events());
            fs::create_dir_all(directory.join("d/".repeat(100))).unwrap();
        }, (Pipes, EVENTS), (3, "more than 64 directories deep"), (100, 16)),
        case("a pipe in a trace", |directory| {
            write(directory, &ten_events());
            assert!(Command::new("mkfifo").arg(directory.join("pipe")).status().unwrap().success());
        }, (Pipes, EVENTS), (3, "skipped a pipe: not a file"), (100, 16)),
        // Resources that the system refuses.
        case("no further threads", |directory| write(directory, &stream(&packets(200, 3))),
            (OtherUser, "prlimit --nproc=1 ichnos cat -v --threads=8 --chunk-size=500 ."),
            (0, "the system refuses further threads"), (100, 16)),
        case("70 MB to unpack, and less memory", |directory| padded(directory, 70),
            (Pipes, "ulimit -v 80000; ichnos info t.tar.gz"), (2, "not enough memory to hold"), (500, 80)),
        case("a million environment entries, and less memory", |directory| {
            let entries = names(1_000_000, |name| format!("{name}=1;"));
            write(directory, &tsdl(&format!("env{{{entries}}};stream{{}};event{{}};"), &[]));
        }, (Pipes, "ulimit -v 100000; ichnos info ."), (2, "not enough memory for the description"), (500, 80)),
        case("70 MB to unpack, and a full disk", |directory| padded(directory, 70),
            (Pipes, "trap '' XFSZ; ulimit -f 100; ichnos info t.tar.gz"), (2, "unpacked data cannot be kept in a temporary file in"), (500, 150)),
        case("70 MB to unpack, and no directory for it", |directory| padded(directory, 70),
            (Pipes, "ichnos info --temp-dir=/dev/null t.tar.gz"), (2, "unpacked data cannot be kept in a temporary file in /dev/null"), (500, 150)),
        case("a standard output that is closed", |directory| write(directory, &ten_events()),
            (Pipes, "ichnos cat . >&-"), (2, "the standard output is closed"), (100, 16)),
        case("a standard output that is full", |directory| write(directory, &ten_events()),
            (Pipes, "ichnos cat . >/dev/full"), (2, "No space left on device"), (100, 16)),
        case("SIGTERM while a file is written", |directory| write(&directory.join("t"), &stream(&packets(300, 1_000))),
            (Pipes, "ichnos cat -q --format=jsonl -o out t & until test -n \"$(find . -name '*out*')\"; do :; done; kill $!; wait $!"),
            (143, ""), (200, 24)),
        // Files in other formats.
        case("an FXT record of 0 words", |directory| {
            write(directory, &[("a.fxt", [FXT, [0; 8], FXT].concat())]);
        }, (Pipes, "ichnos cat --format=null --stats a.fxt"), (3, "expected at least 1 words, found 0"), (100, 16)),
        case("a 32 kB FXT record at the end of a file", |directory| {
            let header = 2u64 | 4095 << 4 | 1 << 16 | 0x7fff << 32;
            write(directory, &[("a.fxt", [FXT, header.to_le_bytes()].concat())]);
        }, (Pipes, "ichnos cat --format=null --stats a.fxt"), (3, "expected at least 32760 bytes, found 8"), (100, 16)),
        case("a 2 GB block in a 200-byte .NET trace", |directory| {
            write(directory, &[("a.nettrace", nettrace(i32::MAX))]);
        }, (Pipes, "ichnos cat --format=null --stats a.nettrace"), (3, "0 events in"), (100, 16)),
        case("a 20 MB X-Trace report before another report", |directory| {
            let report = |label: &str| format!("X-Trace Report ver 1.0\nX-Trace: 10CAFEBABE01020304\nLabel: {label}\n\n");
            write(directory, &[("a.reports", (report(&"a".repeat(20 << 20)) + &report("b")).into_bytes())]);
        }, (Pipes, "ichnos cat --format=null --stats a.reports"), (3, "a report has at most 16 MiB"), (200, 24)),
        // Terminals.
        case("escape sequences in names and values", |directory| { terminal::ctf_2(directory); },
            (Terminal, "ichnos cat ."), (3, r"\x1b]0;title\x07\nFORGED"), (100, 16)),
        case("escape sequences and new lines in a log", |directory| { terminal::ctf_2(directory); },
            (Pipes, "ichnos cat --format=log ."), (3, r"\x1b]0;title\x07\nFORGED"), (100, 16)),
    ];
    cases.extend(outputs());
    cases
}

/// Returns the names in a directory.
fn contents(directory: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|item| item.unwrap().file_name()).collect();
    names.sort();
    names
}

const MEASURED: &str = "ICHNOS_TEST_HOSTILE_INPUT";

/// Runs one case in a separate process, which is small and without other children. `None` if the machine does not
/// support the case.
fn run(case: &Case, directory: &Path, bin: &Path) -> Option<Value> {
    let input = directory.join("input");
    fs::create_dir_all(&input).unwrap();
    (case.make)(&input);
    if !input.exists() {
        return None;
    }
    let before = contents(&input);
    let mut paths = vec![bin.to_owned()];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile_inputs::measured", "--nocapture"])
        .env(MEASURED, case.name)
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("TZ", "UTC")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .current_dir(&input)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success(), "{}", case.name);
    assert_eq!(contents(&input), before, "{}: files are left behind", case.name);
    let result = fs::read(directory.join("result.json")).ok()?;
    Some(serde_json::from_slice(&result).unwrap())
}

/// Runs the case that [`MEASURED`] names, in the current directory.
#[test]
fn measured() {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeVal;

    let Ok(name) = std::env::var(MEASURED) else { return };
    let case = cases().into_iter().find(|case| case.name == name).unwrap();
    let memory = ichnos_testing::PrivateMemory::for_children(std::process::id());
    let mut command = Command::new("sh");
    if case.place == OtherUser {
        command = threads::other_user();
        command.args(["sh", "-c", &format!("exec {}", case.line)]);
    } else {
        command.args(["-c", case.line]);
    }
    let (code, text) = if case.place == Terminal {
        let (code, bytes) = terminal::with_terminal(command);
        terminal::check(&bytes, true);
        (Some(code), String::from_utf8(bytes).unwrap())
    } else {
        let Ok(output) = command.stdin(Stdio::null()).output() else {
            eprintln!("skipped: {name}: `{}` is not installed", command.get_program().display());
            return;
        };
        (
            output.status.code(),
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat(),
        )
    };
    if case.place == OtherUser && (text.contains("setpriv:") || text.contains("prlimit:")) {
        eprintln!("skipped: {name}: {}", text.trim());
        return;
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let milliseconds = |time: TimeVal| time.tv_sec() * 1000 + time.tv_usec() / 1000;
    let result = json!({
        "code": code,
        "text": text,
        "milliseconds": milliseconds(usage.user_time()) + milliseconds(usage.system_time()),
        "bytes": memory.peak(),
    });
    fs::write("../result.json", result.to_string()).unwrap();
}

/// Each row is true: the command ends as described, and does not cost more.
#[test]
fn hostile_inputs_behave_as_documented() {
    let bin = Directory::new("hostile-bin");
    let program = bin.join("ichnos");
    if fs::hard_link(env!("CARGO_BIN_EXE_ichnos"), &program).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_ichnos"), &program).unwrap();
    }
    fs::set_permissions(&*bin, fs::Permissions::from_mode(0o755)).unwrap();
    let has_sanitizer = std::env::var_os("ASAN_OPTIONS").is_some();
    let is_shown = std::env::var_os("ICHNOS_COSTS").is_some();
    // Without optimization, the command takes about twenty times as long.
    let slower = if cfg!(debug_assertions) { 20 } else { 1 };
    let mut wrong = String::new();
    let mut table = String::from(
        "| input | command | exit code | message | at most |\n\
         |---|---|---|---|---|\n",
    );
    for case in cases() {
        let (time, memory) = case.most;
        let says = if case.says.is_empty() { String::new() } else { format!("`{}`", case.says) };
        let place = match case.place {
            Pipes => "",
            Terminal => ", on a terminal",
            OtherUser => ", as a user without other processes",
        };
        let seconds = f64::from(time) / 1000.0;
        writeln!(
            table,
            "| {} | `{}`{place} | {} | {says} | {seconds} s, {memory} MB |",
            case.name, case.line, case.code
        )
        .unwrap();
        let directory = match case.name.contains("sparse file") {
            true => Directory::on_disk("hostile-input"),
            false => Directory::new("hostile-input"),
        };
        if has_sanitizer && case.line.contains("ulimit -v") {
            eprintln!("skipped: {}: the address sanitizer takes memory for itself", case.name);
            continue;
        }
        let Some(result) = run(&case, &directory, &bin) else { continue };
        let text = result["text"].as_str().unwrap();
        // A count must match the whole number, not the end of a larger number.
        let is_said = match case.says.starts_with(|c: char| c.is_ascii_digit()) {
            true => text.lines().any(|line| line.starts_with(case.says)),
            false => text.contains(case.says),
        };
        let (milliseconds, kilobytes) =
            (result["milliseconds"].as_u64().unwrap(), result["bytes"].as_u64().unwrap() / 1000);
        if is_shown {
            let message = text.lines().find(|line| line.contains("error: ")).or(text.lines().last());
            println!(
                "{milliseconds} ms, {kilobytes} kB: {}\n    {}: {}",
                case.name,
                result["code"],
                message.unwrap_or("")
            );
        }
        let mut fail = |what: String| writeln!(wrong, "{}: {what}\n{text:.2000}", case.name).unwrap();
        if result["code"] != case.code {
            fail(format!("exit code {}, not {}", result["code"], case.code));
        } else if !is_said || text.contains("panicked") {
            fail(format!("`{}` is not said", case.says));
        }
        if milliseconds > u64::from(time) * slower {
            fail(format!("{milliseconds} ms, more than {slower} times {time}"));
        }
        if !has_sanitizer && kilobytes > u64::from(memory) * 1000 {
            fail(format!("{kilobytes} kB, more than {memory} MB"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    compare_table("robustness.md", "hostile inputs", &table);
}
