//! JSON Lines as output format: `convert --to jsonl` and the verbs that edit.

use std::fs;
use std::path::Path;

use ichnos_testing::is_turn;

use crate::support::{Directory, command, example, ichnos, recorded, text, trace};

const EXAMPLES: [&str; 8] = [
    "hello-ctf2",
    "hello-lttng",
    "hello-dotnet/hello.nettrace.zst",
    "hello-fuchsia",
    "hello-fuchsia/boot.log",
    "hello-jsonl",
    "hello-xtrace",
    "one-request/trace/stock",
];

const RECORDED: [&str; 12] = [
    "ctf/real/babeltrace/2/succeed/smalltrace",
    "ctf/real/babeltrace/2/succeed/session-rotation",
    "ctf/real/babeltrace/1/intersection/onestream",
    "ctf/real/babeltrace/1/succeed/lttng-crash",
    "ctf/real/barectf/assembled/basic__static-array__of-static-array-of-str",
    "ctf/real/tracecompass/CTF2-vl-ints",
    "ctf/decode/ctf-1/pass-vars",
    "nettrace/runtime/net10.0-nostacks.nettrace",
    "nettrace/perfview/eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf",
    "fuchsia/vectors/log_cpp_dropped.bin",
    "fuchsia/vectors/log_tagged.bin",
    "xtrace/brown/text/small.txt",
];

/// Recorded traces whose lines change in a second conversion: packet fields select their fields.
const CHANGED: &[&str] = &["pass-vars"];

fn cat(path: &Path, options: &[&str]) -> String {
    ichnos([&["cat", "-q", "--format=jsonl", text(path)], options].concat()).out
}

/// Converts with verification, as `ichnos` does in all tests.
fn convert(path: &Path, out: &Path) -> i32 {
    ichnos(["convert", "-q", "--to=jsonl", text(path), "-o", text(out)]).code
}

#[test]
fn lines_equal_those_of_cat() {
    let directory = Directory::new("written-lines");
    let [once, twice] = ["once", "twice"].map(|name| directory.join(name));
    let traces = EXAMPLES.into_iter().map(example).chain(RECORDED.into_iter().filter_map(recorded));
    for path in traces {
        let name = path.display();
        let expected = cat(&path, &[]);
        let code = convert(&path, &once);
        assert_eq!(code, ichnos(["cat", "-q", text(&path)]).code, "{name}");
        assert!(expected.lines().count() > 2, "{name}");
        assert!(fs::read_to_string(&once).unwrap() == expected, "{name}");
        let printed = ichnos(["convert", "-q", "--to=jsonl", text(&path), "-o", "-"]);
        assert!(printed.out == expected, "{name}, on standard output");
        convert(&once, &twice);
        let is_changed = CHANGED.iter().any(|changed| path.ends_with(changed));
        assert_eq!(fs::read_to_string(&twice).unwrap() != expected, is_changed, "{name}, once more");
        fs::remove_file(&once).unwrap();
        fs::remove_file(&twice).unwrap();
    }
}

/// A part of a trace equals the output of `cat` with the same options.
#[test]
fn parts_equal_those_of_cat() {
    let directory = Directory::new("written-parts");
    let out = directory.join("part.jsonl");
    let lttng = example("hello-lttng");
    for (verb, options) in [
        ("cut", &["--begin=+20us", "--end=+60us"][..]),
        ("cut", &["--begin=+1ms"]),
        ("convert", &["--event=hello:tick", "--stream=*"]),
        ("merge", &["--filter=number > 7"]),
    ] {
        let written = ichnos([&[verb, "-q", text(&lttng), "-o", text(&out)], options].concat());
        assert_eq!(written.code, ichnos([&["cat", "-q", text(&lttng)], options].concat()).code, "{verb}");
        assert_eq!(fs::read_to_string(&out).unwrap(), cat(&lttng, options), "{verb} {options:?}");
        fs::remove_file(&out).unwrap();
    }
}

/// Lines become CTF 2, and then lines with the same events.
#[test]
fn events_come_back_from_ctf() {
    let directory = Directory::new("written-lines-of-ctf");
    let [ctf, back] = ["ctf", "back.jsonl"].map(|name| directory.join(name));
    for name in ["hello-jsonl/requests.jsonl", "hello-xtrace", "hello-ctf2"] {
        let lines = directory.join("lines.jsonl");
        convert(&example(name), &lines);
        ichnos(["convert", "-q", text(&lines), "-o", text(&ctf)]).expect(0, &[]);
        ichnos(["convert", "-q", text(&ctf), "-o", text(&back)]).expect(0, &[]);
        let events = |path: &Path| -> Vec<(serde_json::Value, serde_json::Value, serde_json::Value)> {
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            let events = lines.filter(|line| line["type"] == "event");
            events.map(|line| (line["ts"].clone(), line["name"].clone(), line["payload"].clone())).collect()
        };
        assert!(events(&lines).len() > 4, "{name}");
        assert_eq!(events(&lines), events(&back), "{name}");
        fs::remove_dir_all(&ctf).unwrap();
        fs::remove_file(&lines).unwrap();
        fs::remove_file(&back).unwrap();
    }
}

/// Packet data are lost, and so is an option that a packet field selects.
#[test]
fn losses_are_listed() {
    let directory = Directory::new("written-lines-losses");
    let out = directory.join("out");
    let losses = |path: &Path, more: &[&str]| {
        let words = ["convert", "--to=jsonl", "--losses", text(path), "-o", text(&out), "--force"];
        ichnos([&words, more].concat())
    };
    let lttng = example("hello-lttng");
    losses(&lttng, &[]).expect(0, &[]).prints(&["dropped", "packet.context.cpu_id"]);
    fs::remove_file(&out).unwrap();
    losses(&lttng, &["--strict"]).expect(2, &["some data would be lost"]);
    losses(&lttng, &["--dry-run"]).expect(0, &[]).prints(&["cpu_id"]);
    assert!(!out.exists());
    let none = losses(&example("hello-dotnet/hello.nettrace.zst"), &["--strict"]).expect(0, &[]);
    assert_eq!(none.out, "");
    if let Some(path) = recorded("ctf/decode/ctf-1/pass-vars") {
        losses(&path, &[]).prints(&["selector or length in a scope that lines lack"]);
    }
    let nan = r#"{"ts":1,"name":"n","payload":{"v":{"$float":"NaN"}}}"#;
    let lines = directory.join("nan.jsonl");
    fs::write(&lines, format!("{nan}\n")).unwrap();
    assert_eq!(losses(&lines, &[]).expect(0, &[]).out, "");
}

/// Losses and damage in the input become lines, but `repair` omits damage.
#[test]
fn losses_and_damage_of_the_input() {
    let damaged = trace("written-lines-damaged");
    let whole = fs::read(damaged.join("stream_a")).unwrap();
    fs::write(damaged.join("stream_a"), &whole[..whole.len() - 5]).unwrap();
    let directory = Directory::new("written-lines-damaged-out");
    let [converted, repaired] = ["converted.jsonl", "repaired.jsonl"].map(|name| directory.join(name));
    assert_eq!(convert(&damaged, &converted), 3);
    let lines = fs::read_to_string(&converted).unwrap();
    assert_eq!(lines, cat(&damaged, &[]));
    assert!(lines.contains("{\"type\":\"damage\""));
    ichnos(["repair", "-q", text(&damaged), "-o", text(&repaired)]).expect(0, &[]);
    ichnos(["check", "--strict", text(&repaired)]).expect(0, &[]);
    let without: String = lines.split_inclusive('\n').filter(|line| !line.contains("\"damage\"")).collect();
    assert_eq!(fs::read_to_string(&repaired).unwrap(), without);
}

/// A full device, a directory, and a dialect are errors.
#[test]
fn impossible_outputs() {
    let lttng = example("hello-lttng");
    let directory = Directory::new("written-lines-impossible");
    let write = |out: &str, more: &[&str]| {
        ichnos([&["convert", "--to=jsonl", text(&lttng), "-o", out], more].concat())
    };
    if Path::new("/dev/full").exists() {
        write("/dev/full", &[]).expect(2, &["/dev/full", "No space left on device"]);
    }
    write(text(&directory.join("")), &[]).expect(2, &["expected the name of a file"]);
    write(text(&directory.join("x")), &["--to-dialect=spec2"]).expect(2, &["unknown dialect `spec2`"]);
    assert_eq!(fs::read_dir(&*directory).unwrap().count(), 0);
    // The output cannot be the input.
    let lines = directory.join("lines.jsonl");
    convert(&lttng, &lines);
    let before = fs::read(&lines).unwrap();
    let words = ["filter", "event == \"hello:tick\"", text(&lines), "--force", "-o", text(&lines)];
    ichnos(words).expect(2, &["choose a name outside the input"]);
    assert_eq!(fs::read(&lines).unwrap(), before);
}

/// Many parts are written even if few files can be open.
#[cfg(unix)]
#[test]
fn many_parts() {
    let directory = Directory::new("written-lines-parts");
    let [lines, out] = ["lines.jsonl", "parts"].map(|name| directory.join(name));
    let line =
        |number: u32| format!("{{\"ts\":{number},\"name\":\"e\",\"payload\":{{\"v\":{}}}}}\n", number % 300);
    fs::write(&lines, (0..3_000).map(line).collect::<String>()).unwrap();
    let mut shell = std::process::Command::new("sh");
    let script = "ulimit -n 40; \"$0\" split -q --verify --by v \"$1\" -o \"$2\"";
    let status = shell
        .args(["-c", script, text(Path::new(command().get_program())), text(&lines), text(&out)])
        .status();
    assert!(status.unwrap().success());
    let mut events = 0;
    for (number, part) in fs::read_dir(&out).unwrap().enumerate() {
        let part = part.unwrap().path();
        assert!(part.extension().is_some_and(|extension| extension == "jsonl"));
        let text = fs::read_to_string(&part).unwrap();
        assert!(text.ends_with("{\"type\":\"stream-end\",\"stream\":0}\n"), "{text}");
        if is_turn(number, 0, 5) {
            assert_eq!(text, cat(&part, &[]));
        }
        events += text.lines().filter(|line| line.starts_with("{\"type\":\"event\"")).count();
    }
    assert_eq!((events, fs::read_dir(&out).unwrap().count()), (3_000, 300));
}
