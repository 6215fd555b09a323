//! Complete output of the command for examples, for damaged examples, and about itself.

use std::fs;
use std::path::Path;

use crate::support::{Directory, ichnos, ichnos_in, root};
use crate::transcript::transcript;

const VERBS: [&str; 7] = ["info", "cat", "check", "schema", "formats", "completions", "man"];

#[test]
fn short_help() {
    let _transcript = transcript!();
    ichnos(["-h"]);
    for verb in VERBS {
        ichnos([verb, "-h"]);
    }
}

#[test]
fn long_help() {
    let _transcript = transcript!();
    ichnos(["--help"]);
    for verb in VERBS {
        ichnos([verb, "--help"]);
    }
}

#[test]
#[cfg_attr(not(feature = "table"), ignore = "the formats are those with tables")]
fn topics_of_help() {
    let _transcript = transcript!();
    ichnos(["help", "limits"]);
    ichnos(["help", "nonsense"]);
    ichnos(["task", "nonsense"]);
    ichnos(["--version"]);
    ichnos(["formats"]);
    ichnos(["formats", "--json"]);
}

/// Prints the output of each verb and each sink for a trace in a directory.
fn print_all(directory: &Path, path: &str, more: &[&str]) {
    let run = |arguments: &[&str]| {
        ichnos_in(directory, [&arguments[..1], &[path], &arguments[1..]].concat());
    };
    for format in ["pretty", "details", "jsonl", "log", "log-json", "null"] {
        run(&[&["cat", "--format", format][..], more].concat());
    }
    run(&["cat", "--format=null", "--stats"]);
    for options in [&[][..], &["--count"], &["--json"], &["--json", "--count"]] {
        run(&[&["info"][..], options].concat());
    }
    for options in [&[][..], &["-v"], &["--json"], &["--strict"]] {
        run(&[&["check"][..], options].concat());
    }
    run(&["schema"]);
}

#[test]
fn lttng() {
    let _transcript = transcript!();
    print_all(root(), "examples/hello-lttng", &["--max-events=5"]);
}

#[test]
fn ctf_2() {
    let _transcript = transcript!();
    print_all(root(), "examples/hello-ctf2", &[]);
    ichnos_in(root(), ["schema", "--json", "examples/hello-ctf2"]);
}

#[test]
fn fuchsia() {
    let _transcript = transcript!();
    print_all(root(), "examples/hello-fuchsia", &[]);
    ichnos_in(root(), ["schema", "--json", "examples/hello-fuchsia"]);
}

#[test]
fn xtrace() {
    let _transcript = transcript!();
    print_all(root(), "examples/hello-xtrace", &[]);
}

#[test]
fn several_families() {
    let _transcript = transcript!();
    let paths = ["examples/hello-ctf2", "examples/hello-fuchsia"];
    let run = |arguments: &[&str]| {
        ichnos_in(root(), [arguments, &paths].concat());
    };
    run(&["cat"]);
    for format in ["pretty", "jsonl", "log"] {
        run(&["cat", "--assume-correlated", "--format", format]);
    }
    run(&["info"]);
    run(&["check"]);
}

/// Copies an example.
fn copy(name: &str, files: &[&str]) -> Directory {
    let directory = Directory::new(name);
    for file in files {
        let target = directory.join(file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, fs::read(root().join("examples").join(file)).unwrap()).unwrap();
    }
    directory
}

#[test]
fn damaged_ctf() {
    let _transcript = transcript!();
    let directory = copy("damaged-ctf", &["hello-ctf2/trace/metadata", "hello-ctf2/trace/thermometer"]);
    let stream = directory.join("hello-ctf2/trace/thermometer");
    let mut bytes = fs::read(&stream).unwrap();
    // The total size of the second packet is wrong, and the end is missing.
    let magic = bytes[..4].to_vec();
    let second = bytes[4..].windows(4).position(|window| window == magic).unwrap() + 4;
    bytes[second] ^= 0xff;
    bytes.truncate(bytes.len() - 3);
    fs::write(&stream, bytes).unwrap();
    print_all(&directory, "hello-ctf2", &[]);
}

#[test]
fn damaged_metadata() {
    let _transcript = transcript!();
    let directory = copy("damaged-metadata", &["hello-ctf2/trace/metadata", "hello-ctf2/trace/thermometer"]);
    let path = directory.join("hello-ctf2/trace/metadata");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("structure", "strukture", 1)).unwrap();
    print_all(&directory, "hello-ctf2", &[]);
}

#[test]
fn damaged_log() {
    let _transcript = transcript!();
    let directory = copy("damaged-log", &["hello-fuchsia/boot.log"]);
    let log = directory.join("hello-fuchsia/boot.log");
    let mut bytes = fs::read(&log).unwrap();
    // The type of the first argument in the first record, reserved bits in the second record, and the end.
    bytes[16] |= 0xf;
    let second = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]) >> 4) * 8;
    bytes[second + 6] = 1;
    bytes.truncate(bytes.len() - 5);
    fs::write(&log, bytes).unwrap();
    print_all(&directory, "hello-fuchsia", &[]);
}
