//! Written .NET files: sorted by time, with function names and process properties.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Directory, Run, ichnos, ichnos_with, recorded, root, text};

fn example() -> PathBuf {
    root().join("examples/hello-dotnet/hello.nettrace.zst")
}

fn convert(from: &Path, to: &Path) -> Run {
    ichnos(["convert", "-q", "--force", "--verify", "--losses", text(from), "-o", text(to)])
}

/// Lines whose times go back, always or for every second line.
#[test]
fn events_in_any_order_are_sorted() {
    let directory = Directory::new("sorted-dotnet");
    let (source, out) = (directory.join("back.jsonl"), directory.join("out.nettrace"));
    let orders: [fn(u64) -> u64; 3] =
        [|number| 3_000_000 - number, |number| number ^ 1, |number| (number * 7_919) % 100_003];
    for order in orders {
        let event = |number: u64| {
            let time = 1_000 * order(number);
            format!("{{\"ts\":{time},\"name\":\"a{}\",\"payload\":{{\"t\":{time}}}}}\n", number % 3)
        };
        fs::write(&source, (0..3_000).map(event).collect::<String>()).unwrap();
        for dialect in ["4", "6"] {
            let words = [
                "convert",
                "-q",
                "--force",
                "--verify",
                "--to-dialect",
                dialect,
                text(&source),
                "-o",
                text(&out),
            ];
            ichnos(words).expect(0, &[]);
            ichnos(["check", "--strict", text(&out)]).expect(0, &[]).prints(&["3,000 events"]);
            let lines = ichnos(["cat", "-q", "-f", "csv", "--fields", "ts,t", text(&out)]).out;
            let times: Vec<u64> = lines
                .lines()
                .skip(1)
                .map(|line| {
                    let (time, field) = line.split_once(',').unwrap();
                    assert_eq!(time, field);
                    time.parse().unwrap()
                })
                .collect();
            assert!(times.len() == 3_000 && times.is_sorted(), "{dialect}");
        }
    }
}

/// Function names appended after sorted events are accepted by `--verify`.
#[test]
fn sorted_events_have_named_functions() {
    let directory = Directory::new("sorted-functions");
    let out = directory.join("out.nettrace");
    let words = ["filter", "-q", "--unsorted", r#"event =~ "Greeting""#];
    ichnos([&words[..], &[text(&example()), "-o", text(&out)]].concat()).expect(0, &[]);
    ichnos(["check", "--strict", text(&out)]).expect(0, &[]);
    ichnos(["cat", "-q", text(&out)]).expect(0, &[]).prints(&["Greeting", "MethodDCEndVerbose"]);
}

/// Data written to a pipe cannot be sorted, and `split` does not sort.
#[test]
fn events_in_any_order_are_refused_without_a_file() {
    let directory = Directory::new("unsorted-dotnet");
    let lines = b"{\"ts\":5,\"name\":\"a\"}\n{\"ts\":4,\"name\":\"a\"}\n";
    ichnos_with(["convert", "--to", "nettrace", "-o", "-", "-"], lines)
        .expect(2, &["not sorted by time", "write a file instead of a pipe"]);
    let source = directory.join("back.jsonl");
    fs::write(&source, lines).unwrap();
    let out = directory.join("parts");
    ichnos(["split", "--by", "event", "--to", "nettrace", text(&source), "-o", text(&out)])
        .expect(2, &["not sorted by time", "`ichnos convert`"]);
    assert!(!out.exists());
}

/// Times that do not fit in 64 bits relative to the first time are listed.
#[test]
fn times_that_do_not_fit_are_listed() {
    let directory = Directory::new("far-dotnet");
    let (source, out) = (directory.join("far.jsonl"), directory.join("far.nettrace"));
    let event = |time: i128| format!("{{\"ts\":{time},\"name\":\"a\"}}\n");
    let far = i128::from(u64::MAX);
    fs::write(&source, [event(i64::MIN.into()), event(1), event(far)].concat()).unwrap();
    convert(&source, &out).expect(0, &[]).prints(&["rounded         2  a  time before the first tick"]);
    fs::write(&source, [event(1), event(far)].concat()).unwrap();
    let run = convert(&source, &out).expect(0, &[]);
    assert!(!run.out.contains("rounded"), "{}", run.out);
    let times = ichnos(["cat", "-q", "-f", "csv", "--fields", "ts", text(&out)]).out;
    assert_eq!(times.lines().skip(1).collect::<Vec<_>>(), ["1", &far.to_string()]);
}

/// `filter` and `split` write the function names in stacks, even if the events with the names are not selected.
#[test]
fn parts_name_functions() {
    let directory = Directory::new("named-dotnet");
    let source = example();
    let stacks = |path: &Path, options: &[&str]| {
        let words = [&["stacks", "--color=never", "--top", "5"], options, &[text(path)]].concat();
        ichnos(words).expect(0, &[]).out
    };
    let thread = "21402";
    let filtered = directory.join("filtered.nettrace");
    let words = ["filter", "-q", "--verify", "thread == 21402", text(&source), "-o", text(&filtered)];
    ichnos(words).expect(0, &[]);
    assert_eq!(stacks(&filtered, &[]), stacks(&source, &["--thread", thread]));
    let parts = directory.join("parts");
    ichnos(["split", "-q", "--verify", "--by", "thread", text(&source), "-o", text(&parts)]).expect(0, &[]);
    let part = parts.join(format!("thread={thread}.nettrace"));
    assert_eq!(stacks(&part, &[]), stacks(&source, &["--thread", thread]));
    ichnos(["check", "--strict", text(&filtered), text(&part)]).expect(0, &[]);
}

/// Process properties, and payloads without a description, survive other formats.
#[test]
fn properties_survive_other_formats() {
    let Some(source) = recorded("nettrace/runtime/net10.0-custom-only-norundown.nettrace") else { return };
    let directory = Directory::new("round-dotnet");
    let back = directory.join("back.nettrace");
    let facts = |path: &Path| {
        let info = ichnos(["info", text(path)]).expect(0, &[]).out;
        let kept = ["process_id", "processors", "pointer_size", "sampling_interval_ns"];
        let is_kept = |line: &&str| kept.iter().any(|name| line.contains(&format!("─ {name} = ")));
        info.lines().filter(is_kept).map(str::to_owned).collect::<Vec<_>>()
    };
    let events = |path: &Path| {
        let words = ["cat", "-q", "--gmt", "--event", "Toolkit-*", text(path)];
        // Stack numbers depend on the table's order.
        let without_stack = |line: &str| match line.split_once(", stack = ") {
            Some((head, rest)) => {
                [head, rest.trim_start_matches(|digit: char| digit.is_ascii_digit())].concat()
            }
            None => line.to_owned(),
        };
        ichnos(words).expect(0, &[]).out.lines().map(without_stack).collect::<Vec<_>>()
    };
    assert_eq!(facts(&source).len(), 4);
    for name in ["between.jsonl", "between"] {
        let between = directory.join(name);
        convert(&source, &between).expect(0, &[]);
        let losses = convert(&between, &back).expect(0, &[]).out;
        assert!(!losses.contains("date -> integer") && !losses.contains("process  "), "{losses}");
        assert_eq!(facts(&back), facts(&source), "{name}");
        assert_eq!(events(&back), events(&source), "{name}");
    }
}

/// A file without its start: all its events are read, a message says what is missing, and it can be repaired.
#[test]
fn a_file_without_its_start() {
    let Some(bytes) = recorded("nettrace/runtime/net10.0-nostacks.nettrace") else { return };
    let directory = Directory::new("beginning-dotnet");
    let bytes = fs::read(bytes).unwrap();
    let rest = directory.join("rest.nettrace");
    // Within the trace block, at a position that is not a multiple of 4 bytes.
    fs::write(&rest, &bytes[83..]).unwrap();
    let whole = directory.join("whole.nettrace");
    fs::write(&whole, &bytes).unwrap();
    let fields = |path: &Path, options: &[&str]| {
        let words = ["cat", "-f", "csv", "--fields", "cycles,event,ctx.thread", text(path)];
        ichnos(words.iter().chain(options).copied())
    };
    let expected = fields(&whole, &[]).expect(0, &[]).out;
    let unnamed = directory.join("rest");
    fs::copy(&rest, &unnamed).unwrap();
    for (path, options) in [(&rest, &[][..]), (&unnamed, &["--from=nettrace"])] {
        let run = fields(path, options);
        assert_eq!(run.out, expected);
        run.expect(3, &["expected `Nettrace`, found a block at byte ", "expected a trace block, found none"]);
    }
    // Ticks with another frequency, and an address size.
    let options = ["-O", "nettrace.frequency=10000000", "-O", "nettrace.pointer-size=4"];
    let shown = ichnos(["info"].into_iter().chain(options).chain([text(&rest)])).out;
    assert!(shown.contains("10,000,000 Hz") && shown.contains("pointer_size = 4"), "{shown}");
    let run = ichnos(["info", "-O", "nettrace.frequency=fast", text(&rest)]);
    run.expect(2, &["invalid value `fast` for the option `nettrace.frequency`"]);
    let repaired = directory.join("repaired.nettrace");
    let losses = ichnos(["repair", "--losses", text(&rest), "-o", text(&repaired)]).expect(0, &[]).out;
    assert!(losses.contains("unknown origin -> 1970"), "{losses}");
    ichnos(["check", "--strict", text(&repaired)]).expect(0, &[]);
    assert_eq!(fields(&repaired, &[]).expect(0, &[]).out, expected);
}
