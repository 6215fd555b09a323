//! Word operators, ranges, and property names in other tools.

use super::*;

#[test]
fn parts_of_strings() {
    check(&[
        ("next_comm contains \"ker*1\"", "1.. .. ..."),
        ("next_comm contains \"KER\"", "... .. ..."),
        ("next_comm contains ''", "111 .. ..."),
        ("next_comm not contains \"2\"", "1.1 .. ..."),
        ("next_comm startswith \"work\"", "111 .. ..."),
        ("next_comm startswith \"orker\"", "... .. ..."),
        ("next_comm endswith \"-3\"", "..1 .. ..."),
        ("next_comm NOT ENDSWITH \"-3\"", "11. .. ..."),
        ("next_comm CONTAINS \"2\" OR what CONTAINS \"timed\"", ".1. 11 ..."),
        ("procname startswith next_comm or next_comm endswith next_comm", "111 .. ..."),
        ("what startswith \"it\" && what contains what", "... 11 ..."),
        ("event contains \"_sw\"", "111 .. ..."),
        ("message endswith \"out\"", "... 11 ..."),
        ("name contains \"é\"", "... .. 111"),
        ("any contains \"vent\"", "... .. .1."),
        ("any startswith \"SLEEP\"", "... .. ..1"),
        ("\"haystack\" contains \"st\" && \"haystack\" endswith \"ck\"", "111 11 111"),
    ]);
}

#[test]
fn parts_of_bytes_labels_arrays_and_flags() {
    check(&[
        ("bytes contains \"CA\"", "... .. 111"),
        ("bytes startswith \"ca01\"", "... .. .1."),
        ("bytes endswith \"02\"", "... .. ..1"),
        ("bytes contains bytes", "... .. 111"),
        ("bytes matches \"(?-u)\\xca\\x01\"", "... .. .1."),
        ("prev_state contains \"ING\"", "111 .. ..."),
        ("prev_state endswith \"D\"", ".1. .. ..."),
        ("prev_state not startswith \"S\"", "1.. .. ..."),
        ("a contains 12", "... .. .1."),
        ("a not contains 12", "... .. 1.1"),
        ("a contains big - big + 10", "... .. .1."),
        ("states contains \"SLEEPING\"", "... .. .11"),
        ("flags contains \"*R*\"", "... .. .11"),
        ("flags not contains \"READ\"", "... .. 1.1"),
    ]);
}

#[test]
fn regular_expressions_by_name() {
    check(&[
        ("next_comm matches \"\\*\\d$\"", "11. .. ..."),
        ("next_comm not matches '^worker.[12]$'", "..1 .. ..."),
        ("next_comm MATCHES \"(?i)WORKER\"", "111 .. ..."),
        ("prev_state matches \"^R\"", "1.. .. ..."),
    ]);
    let parsed = |text: &str| Expression::parse(text).unwrap();
    assert_eq!(parsed("a matches \"x\" and b not matches 'y'"), parsed("a =~ \"x\" && b !~ \"y\""));
}

#[test]
fn ranges() {
    check(&[
        ("next_tid in [1..5]", "11. .. ..."),
        ("next_tid in [..1]", "1.1 .. ..."),
        ("next_tid in [2..]", ".1. .. ..."),
        ("next_tid in [-5..-3, 2]", ".11 .. ..."),
        ("next_tid not in [1..1]", ".11 .. ..."),
        ("next_tid in [1..next_tid]", "11. .. ..."),
        ("next_tid in [1ns..1us]", "11. .. ..."),
        ("big in [18446744073709551614..]", "... .. 11."),
        ("ratio in [0.5..0.75, 1..]", "... .. .11"),
        ("prev_state in [1..2, \"RUNNING\"]", "11. .. ..."),
        ("next_comm in [\"worker*1\"..\"worker*2\"]", "11. .. ..."),
        ("any in [2..17, \"s\"..]", "... .. 111"),
        ("time in [@1000..@1500]", "... 11 ..."),
        ("time in [..+999, -8000ns..]", "111 .. 111"),
        ("at in [5001..5001]", "... .. .1."),
        ("at in [@5001000000..]", "... .. .11"),
        ("level in [warn..]", "... .1 ..."),
        ("maybe in [0..9]", "... .. ..1"),
        ("maybe not in [0..8]", "... .. ..1"),
        ("a[0] in [5..15]", "... .. .1."),
        ("id in [\"00000000-0000-0000-0000-000000000001\"..]", "... .. .11"),
    ]);
}

#[test]
fn a_range_equals_two_comparisons() {
    // Compared with equivalent operators, for random numbers.
    let traces = [trace()];
    let scope = FilterScope { traces: &traces, has_dynamic_classes: false };
    cases(300, |random| {
        let name = random.pick(&["next_tid", "ratio", "big", "maybe", "prev_state", "at", "a[-1]", "any"]);
        let (first, more) = (random.below(6) as i128 - 3, random.below(4) as i128);
        let range = format!("{name} in [{first}..{}, {}..]", first + more, 12);
        let other = format!("{name} >= {first} && {name} <= {} || {name} >= 12", first + more);
        let new = |text: &str| Filter::new(&text.parse().unwrap(), scope, &resolve).unwrap().selector();
        for not in ["", "not "] {
            let (mut range, mut other) = (new(&format!("{not}({range})")), new(&format!("{not}({other})")));
            for_each_event(&traces[0], &mut |event| {
                assert_eq!(range.selects(event), other.selects(event), "{not}{name} {first} {more}");
            });
        }
    });
}

#[test]
fn keywords_in_capitals() {
    check(&[
        ("next_tid == 1 OR NOT next_tid IN [1, 2]", "1.1 .. ..."),
        ("is_on == TRUE AND NOT FALSE", "... .. .1."),
        ("next_tid NOT IN [1, -3]", ".1. .. ..."),
    ]);
    let parsed = |text: &str| Expression::parse(text).unwrap();
    assert_eq!(parsed("a AND b or not c IN [1]"), parsed("a and b OR NOT c in [1]"));
    // Operator words are names in other positions. Keywords need back quotes as names.
    assert_eq!(parsed("contains contains matches").to_string(), "contains contains matches");
    assert_eq!(parsed("`AND` == x.NOT").to_string(), "`AND` == x.`NOT`");
    for wrong in ["a And b", "NOT", "a AND", "AND == 1", "a not startswith", "a contains", "a matches b"] {
        assert_eq!(Expression::parse(wrong).unwrap_err().kind, FilterErrorKind::Syntax, "{wrong}");
    }
}

#[test]
fn names_of_other_tools() {
    check(&[
        // A class has a field with this name, so it is not an alias.
        ("name == \"né\"", "... .. 111"),
        ("has(name)", "... .. 111"),
        ("$name == \"log\"", "... 11 ..."),
        ("ts >= @1000", "... 11 111"),
        ("ts in [@0..@999] || ts == @1000 || ts > @1000", "111 11 111"),
        ("pid == 41 && $pid == 41", "... 11 ..."),
    ]);
    // The trace lacks the thread and the process name.
    assert!(matches!(filter("tid == 1").unwrap_err().kind, FilterErrorKind::UnknownName { .. }));
    assert!(matches!(filter("comm == \"x\"").unwrap_err().kind, FilterErrorKind::UnknownName { .. }));
    let class = EventRecordClass::new("tick", [Member::new("n", FieldClass::unsigned(8))]);
    let mut stream = DataStreamClass::new(None, [class]);
    let cpu = Member::new("cpu_id", FieldClass::unsigned(8));
    stream.packet_context = Some(Arc::new(FieldClass::structure([cpu])));
    let trace = TraceClass::new("test", [], [stream]);
    let trace = Arc::new(Trace::new(trace, "", &Limits::default()).unwrap());
    let scope = FilterScope { traces: &[Arc::clone(&trace)], has_dynamic_classes: false };
    let new = |text: &str| Filter::new(&text.parse().unwrap(), scope, &resolve).unwrap();
    assert!(new("name == \"tick\"").warnings().is_empty());
    // As in tables, without a field of this meaning.
    assert!(new("cpu == 1").warnings().is_empty());
    for unknown in ["n.label == 1", "n.flags == 1", "operation == 1"] {
        assert!(
            matches!(filter(unknown).unwrap_err().kind, FilterErrorKind::UnknownName { .. }),
            "{unknown}"
        );
    }
    assert_eq!(new("name == \"tack\"").warnings()[0].message, "no event record class is called `tack`");
}

#[test]
fn strings_without_quotes() {
    let help = |text: &str| {
        let error = Expression::parse(text).map_or_else(|error| error, |_| filter(text).unwrap_err());
        (text[error.span.clone()].to_owned(), error.help.unwrap_or_default().to_string())
    };
    for (text, word) in [
        ("event == sched_switch", "sched_switch"),
        ("is_on && event != sched-switch", "sched-switch"),
        ("lttng:tick == event", "lttng:tick"),
        ("event == sched_*", "sched_*"),
        ("event in [log, \"kinds\"]", "log"),
        ("(event == *switch) && is_on", "*switch"),
        ("prev_state == RUNNING", "RUNNING"),
        ("READ in flags", "READ"),
        ("next_comm startswith wor", "wor"),
        ("SLEEPING in states", "SLEEPING"),
    ] {
        assert_eq!(help(text), (word.to_owned(), format!("put it in quotes: `\"{word}\"`")), "{text}");
    }
    assert_eq!(help("next_comm =~ wor.*k").1, "put it in quotes: `\"wor.*k\"`");
    assert_eq!(help("level >= warnn").1, "log levels are trace, debug, info, warn, error and fatal");
    assert!(help("big == nxt_tid").1.is_empty() && help("nxt_comm == \"x\"").1.is_empty());
    assert!(help("next_tid in {1..5}").1.contains("in brackets"));
    assert!(help("next_tid in 1..5").1.contains("in brackets"));
    assert!(help("startswith(next_comm, \"a\")").1.contains("x startswith"));
    assert!(help("next_comm like \"a\"").1.contains("contains"));
}

#[test]
fn wrong_parts_and_ranges() {
    for wrong in [
        "big contains 1",
        "next_comm contains 1",
        "name contains big",
        "bytes contains \"x\"",
        "bytes contains name || name contains bytes",
        "a startswith 1",
        "id contains \"0f\"",
        "prev_state contains next_comm",
        "flags contains 1",
        "next_comm in [1..2]",
        "big in [\"a\"..]",
        "big in [1..\"z\"]",
        "prev_state in [\"RUNNING\"..]",
        "is_on matches \"x\"",
    ] {
        assert_eq!(filter(wrong).unwrap_err().kind, FilterErrorKind::Type, "{wrong}");
    }
    for wrong in [
        "big in [5..1]",
        "big in [..]",
        "big in [1..2..3]",
        "big in [1.5..1]",
        "big == 1..2",
        "[1..2] == big",
    ] {
        assert_eq!(filter(wrong).unwrap_err().kind, FilterErrorKind::Syntax, "{wrong}");
    }
    let FilterErrorKind::UnknownLabel { candidates, .. } =
        filter("prev_state contains \"X\"").unwrap_err().kind
    else {
        panic!()
    };
    assert_eq!(candidates, ["ODD", "RUNNING", "SLEEPING"]);
}

#[test]
fn regular_expressions_have_a_limit_together() {
    // Each takes some hundred kilobytes.
    let many = |pattern: &str, count: usize| vec![format!("a =~ \"{pattern}\""); count].join("||");
    assert!(Expression::parse(&many("\\w{20}", 20)).is_ok());
    let error = Expression::parse(&many("\\w{20}", 2_000)).unwrap_err();
    assert_eq!(&*error.message, "the regular expression cannot be used: it would take too much memory");
    assert!(Expression::parse(&many("thread [0-9]+$", 200)).is_ok());
}
