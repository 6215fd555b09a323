//! Events selected by expressions.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use ichnos_testing::{Random, is_like_another, is_turn};

use crate::support::{Run, command, ichnos, recorded, root, trace};
use crate::transcript::transcript;

fn cat(path: &Path, options: &[&str]) -> Run {
    ichnos([OsStr::new("cat"), path.as_os_str()].into_iter().chain(options.iter().map(OsStr::new)))
}

#[test]
fn selects_events() {
    let _transcript = transcript!();
    let directory = trace("filter");
    for expression in [
        "value == 2",
        "event == \"*tock\" && small in [1, 5]",
        "text =~ 'hel+o' and time > +5us",
        "stream == \"stream_b\" || time >= 01:46:42",
        "host == \"box\" && env.answer == 42 && time - @1000000000000000000 < 3us",
    ] {
        cat(&directory, &["--clock-gmt", "--no-delta", "--filter", expression]).expect(0, &[]);
    }
    // In combination with other options.
    cat(&directory, &["--event", "*tick", "--filter", "value >= 0", "--max-events", "2"]).expect(0, &[]);
    cat(&directory, &["--begin", "+1s", "--filter", "time < +2.9s", "--stats", "-f", "null"]).expect(0, &[]);
    cat(&directory, &["--filter", "value == 2 && value == 3"]).expect(1, &[]);
    cat(&directory, &["--filter", "time > 2100-01-01"]).expect(1, &[]);
    cat(&directory, &["--filter", "ts >= +2s AND name ENDSWITH \"tick\" AND NOT value IN [3..]"])
        .expect(0, &[]);
    cat(&directory, &["--filter", "text contains \"b\" or value in [..0, 2..2]"]).expect(0, &[]);
    cat(&directory, &["--filter", "event == \"demo:tik\""]).expect(1, &["did you mean `demo:tick`"]);
}

#[test]
fn reports_mistakes() {
    let _transcript = transcript!();
    let directory = trace("filter-mistakes");
    for expression in [
        "valeu == 2",
        "ctx.value == 2",
        "event == \"demo:tock\" && value == 2",
        "text == 5",
        "value == \"x\"",
        "time >= 5",
        "time >= 25:00",
        "value = 2",
        "value == 2 and\n  small ==",
        "text =~ \"(\"",
        "level >= warn",
        "value in text",
        "\u{1b}[31m",
        "event == demo:tick",
        "event == demo:*",
        "text == hello",
        "value in {1..5}",
        "value in [5..1]",
        "value contains 2",
        "text like \"x\"",
        "comm == \"x\"",
        "text matches x.*",
    ] {
        cat(&directory, &["--filter", expression]).expect(2, &["error: --filter: "]);
    }
}

/// If classes are known only after reading, unknown names and types that never fit are reported at the end.
#[test]
fn names_of_dynamic_classes() {
    let _transcript = transcript!();
    let fuchsia = root().join("examples/hello-fuchsia");
    let xtrace = root().join("examples/hello-xtrace");
    let run = |verb: &[&str], filter: &str, path: &Path| {
        let options = verb.iter().copied().chain(["--filter", filter]).map(OsStr::new);
        ichnos(options.chain([path.as_os_str()]))
    };
    run(&["cat"], "severty >= warn", &fuchsia).expect(1, &["no event has a field `severty`", "`severity`"]);
    run(&["cat"], "message contains boot", &fuchsia).expect(1, &["put it in quotes: `\"boot\"`"]);
    run(&["stats"], "Agent contains 5", &xtrace).expect(1, &["`Agent` is a string, but `5` is an integer"]);
    run(&["task", "list"], "Agnt == \"x\"", &xtrace).expect(1, &["did you mean `Agent`"]);
    run(&["info"], "event == \"reprot\"", &xtrace).expect(1, &["did you mean `report`"]);
    // Known names are not reported, and neither are unknown names if the input was not read completely.
    run(&["cat", "--max-events", "1"], "severity < 0 || nothing == 1", &fuchsia).expect(1, &[]);
    let found = run(&["cat"], "severity >= 0", &fuchsia).expect(0, &[]);
    assert!(!found.err.contains("--filter"), "{}", found.err);
}

#[test]
fn counts_selected_events() {
    let directory = trace("filter-count");
    for expression in ["value == 2", "text == \"*\"", "time >= +1s"] {
        let printed = cat(&directory, &["--filter", expression]).out.lines().count();
        let options = ["info", "--count", "--json", "--filter", expression].map(OsStr::new);
        let info = ichnos(options.into_iter().chain([directory.as_os_str()])).expect(0, &[]).json();
        assert_eq!(info["events"], printed, "{expression}");
    }
}

/// The first data stream has lost events. They are reported for any selection.
#[test]
fn losses_are_reported_whatever_is_selected() {
    let directory = trace("filter-loss");
    cat(&directory, &["--filter", "value == 2"]).expect(0, &["Tracer discarded 7 events"]);
}

#[test]
fn the_output_is_the_same_for_any_number_of_threads() {
    let trace = root().join("examples/hello-lttng");
    for expression in
        ["number % 7 == 0", "time >= +3ms && text =~ \"thread\"", "vtid == 11296 || mood == \"B*\""]
    {
        let run = |options: &[&str]| {
            let run = cat(&trace, &[&["--filter", expression], options].concat()).expect(0, &[]);
            (run.out, run.err)
        };
        let one = run(&["-j1"]);
        assert!(!one.0.is_empty());
        for threads in ["-j2", "-j5"] {
            assert_eq!(run(&[threads, "--chunk-size=1"]), one, "{expression}");
        }
    }
}

/// Classes excluded by the filter are skipped while reading. Other lines and damage reports are the same as without a
/// filter, also in a time window and with several threads. Of the small traces with a single construct, every third is
/// read.
#[test]
fn skipped_classes_do_not_change_the_rest() {
    let Some(root) = recorded("ctf") else { return };
    let list = std::fs::read_to_string(root.join("real.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let mut compared = 0;
    for (number, entry) in list.iter().enumerate() {
        let Some(name) = entry["trace"].as_str() else { continue };
        let is_in_turn = !name.starts_with("barectf/") || is_turn(number, 0, 3);
        let is_short = entry["pretty"]["lines"].as_u64().is_some_and(|lines| lines <= 700);
        if !is_in_turn || !is_short || is_like_another(name) {
            continue;
        }
        let path = root.join("real").join(name);
        let read = |options: &[&str]| cat(&path, &[&["-f", "jsonl"], options].concat());
        let all = read(&[]);
        let event = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["type"] == "event").then(|| line["name"].as_str().map(str::to_owned)).flatten()
        };
        let names: BTreeSet<String> = all.out.lines().filter_map(event).collect();
        for name in names.iter().filter(|name| !name.contains(['"', '\\', '*', '?', '['])).take(1) {
            let of_name = |text: &str| -> Vec<String> {
                let is_wanted = |line: &&str| line.contains(&**name) && event(line).as_ref() == Some(name);
                text.lines().filter(is_wanted).map(str::to_owned).collect()
            };
            let filter = format!("event == \"{name}\"");
            let window: &[&str] = &["--begin", "+1us", "--end", "-1us"];
            for (window, expected) in [(&[][..], &all), (window, &read(window))] {
                let options = [&["--filter", &filter], window].concat();
                let one = read(&options);
                assert_eq!(
                    of_name(&one.out),
                    of_name(&expected.out),
                    "{filter} {window:?} {}",
                    path.display()
                );
                let without_hints = |text: &str| {
                    let hints = ["--filter", "no event matches", "no event is", "help: "];
                    let is_hint = |line: &&str| hints.iter().any(|hint| line.contains(hint));
                    text.lines().filter(|line| !is_hint(line)).map(str::to_owned).collect::<Vec<_>>()
                };
                if expected.code != 2 {
                    assert_eq!(without_hints(&one.err), without_hints(&expected.err), "{filter} {window:?}");
                }
                let several = read(&[&options[..], &["-j3", "--chunk-size=1"]].concat());
                assert_eq!((several.out, several.err), (one.out, one.err), "{filter} {window:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 60, "{compared}");
}

/// `stacks` and `task` apply a filter.
#[test]
fn other_verbs_select_events_too() {
    let file = root().join("examples/hello-dotnet/hello.nettrace.zst");
    let folded = |expression: &str| {
        let options = ["stacks", "--filter", expression].map(OsStr::new);
        let run = ichnos(options.into_iter().chain([file.as_os_str()]));
        (
            run.code,
            run.out.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>(),
        )
    };
    let (code, all) = folded("time >= @0");
    assert!(code == 0 && all > 0, "{code} {all}");
    let (code, some) = folded("event =~ \"Sample\" && time >= +0.1s");
    assert!(code <= 1 && some < all, "{code} {some} {all}");
}

/// Parses a Babeltrace line: event name and payload pairs.
fn parts(line: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    // The end of a name, which may contain spaces.
    let (head, scopes) = line.split_once(": { ")?;
    let name = head.rsplit(' ').next()?;
    // Scope ends and pair ends.
    let (mut depth, mut is_text, mut is_escaped) = (1, false, false);
    let mut pairs = vec![Vec::new()];
    let mut begin = 0;
    for (at, c) in scopes.char_indices() {
        let was_escaped = std::mem::take(&mut is_escaped);
        match c {
            '\\' if is_text && !was_escaped => is_escaped = true,
            '"' if !was_escaped => is_text = !is_text,
            _ if is_text => {}
            '{' | '[' | '(' => {
                depth += 1;
                if depth == 1 {
                    begin = at + 2;
                }
            }
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
        let is_end = c == '}' && !is_text && depth == 0;
        if is_end || c == ',' && !is_text && depth == 1 {
            let pair = scopes.get(begin..at)?.trim();
            if let Some(pair) = pair.split_once(" = ") {
                pairs.last_mut()?.push(pair);
            }
            begin = at + 2;
        }
        if is_end {
            pairs.push(Vec::new());
        }
    }
    pairs.pop();
    Some((name, pairs.pop()?))
}

/// Returns an expression for lines with this pair, and the common part of these lines.
fn condition(name: &str, value: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if !name.chars().all(is_word) {
        return None;
    }
    // Without a payload, the name is in a context.
    let is_reserved = ["event", "time", "stream", "trace", "host", "level", "env"].contains(&name);
    let scope = if is_reserved { "payload." } else { "" };
    if let Some(label) = value.strip_prefix("( \"") {
        // Some values have two labels.
        let (label, rest) = label.split_once('"')?;
        let is_plain = rest.starts_with(" : container = ") && label.chars().all(is_word);
        return is_plain.then(|| format!("{scope}`{name}` == \"{label}\""));
    }
    if let Some(text) = value.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        let is_plain = text.chars().all(|c| is_word(c) || " ./:-%".contains(c));
        return is_plain.then(|| format!("{scope}`{name}` == \"{text}\""));
    }
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    is_number.then(|| format!("{scope}`{name}` == {value}"))
}

/// From each recorded trace, the test takes some of Babeltrace's lines. An expression with the event name and a payload
/// value must select exactly the lines with both.
#[test]
fn selected_recorded_events_equal_babeltrace_lines() {
    let Some(root) = recorded("ctf") else { return };
    let list = std::fs::read_to_string(root.join("real.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let mut random = Random::new(18);
    let (mut checked, mut traces) = (0, 0);
    for entry in &list {
        let (Some(path), Some(file)) = (entry["trace"].as_str(), entry["pretty"]["file"].as_str()) else {
            continue;
        };
        if entry["pretty"]["rc"] != 0 || entry["pretty"]["lines"].as_u64().is_none_or(|lines| lines > 20_000)
        {
            continue;
        }
        let mut text = String::new();
        let packed = std::fs::File::open(root.join(file)).unwrap();
        if flate2::read::GzDecoder::new(packed).read_to_string(&mut text).is_err() {
            continue;
        }
        // The time since the previous line depends on the printed lines.
        let without_delta = |line: &str| match (line.find(" (+"), line.find(") ")) {
            (Some(begin), Some(end)) => format!("{}{}", &line[..begin], &line[end + 1..]),
            _ => line.to_owned(),
        };
        let lines: Vec<String> = text.lines().map(without_delta).collect();
        let known: Vec<_> = lines.iter().map(|line| parts(line)).collect();
        let mut here = 0;
        for _ in 0..20 {
            if known.is_empty() || here == 3 {
                break;
            }
            let Some((name, pairs)) = &known[random.index(known.len())] else { continue };
            if pairs.is_empty() {
                continue;
            }
            let pair = pairs[random.index(pairs.len())];
            let Some(condition) = condition(pair.0, pair.1) else { continue };
            let expression = format!("event == \"*{name}\" && {condition}");
            // Several values in an enumeration can have the label.
            let begin = pair.1.split_once(" : ").map_or(pair.1, |(begin, _)| begin);
            let has_pair = |(other, pairs): &(&str, Vec<(&str, &str)>)| {
                let is_it = |(key, value): &(&str, &str)| {
                    *key == pair.0
                        && if begin.len() < pair.1.len() {
                            value.starts_with(begin)
                        } else {
                            *value == pair.1
                        }
                };
                other == name && pairs.iter().any(is_it)
            };
            let expected: Vec<&String> = lines
                .iter()
                .zip(&known)
                .filter(|(_, parts)| parts.as_ref().is_some_and(has_pair))
                .map(|(line, _)| line)
                .collect();
            let output = command()
                .args(["cat", "-q", "--clock-gmt", "--filter", &expression])
                .arg(root.join("real").join(path))
                .output()
                .unwrap();
            let found = String::from_utf8_lossy(&output.stdout);
            let found: Vec<String> = found.lines().map(without_delta).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{path}: {expression}");
            here += 1;
        }
        checked += here;
        traces += usize::from(here > 0);
    }
    assert!(traces >= 50 && checked >= 150, "{traces} traces, {checked} expressions");
}

/// Returns the event record class names in the output of `schema`.
fn classes(arguments: &[&str]) -> Vec<String> {
    let run = ichnos(["schema", "--json", "-q"].iter().chain(arguments));
    let traces = run.json()["traces"].as_array().unwrap().clone();
    let of = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let streams = traces.iter().flat_map(|trace| of(trace, "data_stream_classes"));
    let records = streams.flat_map(|stream| of(&stream, "event_record_classes"));
    records.map(|record| record["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// `schema` lists the classes of which an expression can select events.
#[test]
fn selectable_classes() {
    let lttng = root().join("examples/hello-lttng");
    let lttng = lttng.to_str().unwrap();
    let of = |filter: &str| classes(&[lttng, "--filter", filter]);
    assert_eq!(classes(&[lttng]), ["hello:tick", "hello:greeting"]);
    assert_eq!(of("event == \"hello:tick\""), ["hello:tick"]);
    assert_eq!(of("event =~ \"hello\""), ["hello:tick", "hello:greeting"]);
    // Only one class has the field, whatever its value is.
    assert_eq!(of("number > 1000000"), ["hello:tick"]);
    assert_eq!(of("has(mood)"), ["hello:greeting"]);
    assert_eq!(of("ctx.vpid == 1"), ["hello:tick", "hello:greeting"]);
    let both = "event == \"hello:tick\" && event == \"hello:greeting\"";
    ichnos(["schema", lttng, "--filter", both]).expect(1, &[]);
    // Dynamic classes are listed if their events are selected.
    let fuchsia = root().join("examples/hello-fuchsia");
    let fuchsia = fuchsia.to_str().unwrap();
    let all = classes(&[fuchsia]).len();
    let some = classes(&[fuchsia, "--filter", "has(celsius)"]).len();
    assert!(0 < some && some < all, "{some} of {all}");
}
