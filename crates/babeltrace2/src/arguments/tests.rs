use super::*;
use crate::command::{ComponentClass, ComponentKind, FoundSource};
use crate::paint::Paint;
use crate::value::ParameterValue;

/// Parses a line with words between spaces. Sources are found below inputs whose names begin with `t`.
fn parse_in(line: &str, variables: &[(&str, &str)]) -> Result<Command, Refusal> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let variable = |name: &str| {
        let mut values = variables.iter().filter(|(known, _)| *known == name).map(|(_, value)| *value);
        values.next().map(str::to_owned)
    };
    let environment = Environment { variable: &variable, paint: Paint::off(), print_warning: &|_| {} };
    parse(&words, &environment, &|inputs| {
        let class = || ComponentClass {
            kind: ComponentKind::Source,
            plugin: "ctf".to_owned(),
            name: "fs".to_owned(),
        };
        let found = inputs.iter().enumerate().filter(|(_, path)| path.starts_with('t'));
        let source = |(index, path): (usize, &String)| FoundSource {
            class: class(),
            inputs: vec![ParameterValue::Text(path.clone())],
            original_inputs: vec![index],
        };
        Ok(found.map(source).collect())
    })
}

fn parse_line(line: &str) -> Result<Command, Refusal> {
    parse_in(line, &[])
}

fn printed(line: &str) -> String {
    match parse_line(line) {
        Ok(Command { action: Action::Print(text), .. }) => text,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn help_and_version() {
    let cases = [
        ("--help", usage::GENERAL),
        ("-h", usage::GENERAL),
        ("-dv", usage::GENERAL),
        ("-l W", usage::GENERAL),
        ("--omit-home-plugin-path --omit-system-plugin-path --plugin-path=/a", usage::GENERAL),
        ("convert", usage::CONVERT),
        ("convert --help", usage::CONVERT),
        ("t --help", usage::CONVERT),
        ("--names=all -h", usage::CONVERT),
        ("run", usage::RUN),
        ("-v run -h", usage::RUN),
        ("query", usage::QUERY),
        ("list-plugins --help", usage::LIST_PLUGINS),
        ("help -h", usage::HELP),
        ("help help -h", usage::HELP),
    ];
    for (line, expected) in cases {
        assert_eq!(printed(line), expected, "{line}");
    }
    assert!(printed("").starts_with("Babeltrace 2."));
    assert!(printed("").ends_with(usage::GENERAL));
    for line in ["--version", "-V", "-dV x", "--version --help"] {
        assert_eq!(printed(line), version(), "{line}");
    }
    assert!(printed("list-plugins").contains("'sink.text.pretty'"));
    assert!(printed("help text").contains("Sink component classes: 2"));
}

#[test]
fn log_levels() {
    let level = |line: &str, variables: &[(&str, &str)]| parse_in(line, variables).unwrap().log_level;
    let run = "run -c s:src.a.b -c k:sink.a.b -x s:k";
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<LogLevel>);
    let cases: &[Case<'_>] = &[
        ("t", &[], None),
        ("-v t", &[], Some(LogLevel::Info)),
        ("t -v", &[], Some(LogLevel::Info)),
        ("t --debug", &[], Some(LogLevel::Trace)),
        ("-lE -lI t", &[], Some(LogLevel::Info)),
        ("--log-level=E t -v", &[], Some(LogLevel::Info)),
        ("t", &[("BABELTRACE_VERBOSE", "1")], Some(LogLevel::Info)),
        ("t", &[("BABELTRACE_VERBOSE", "0")], None),
        ("-lE convert t", &[("BABELTRACE_DEBUG", "1")], Some(LogLevel::Trace)),
        (run, &[("BABELTRACE_DEBUG", "1")], Some(LogLevel::Trace)),
        (run, &[], None),
    ];
    for (line, variables, expected) in cases {
        assert_eq!(level(line, variables), *expected, "{line} {variables:?}");
    }
    let text = |line: &str, variables: &[_]| match parse_in(line, variables).unwrap().action {
        Action::Print(text) => text,
        other => panic!("{other:?}"),
    };
    for (line, variables) in [
        ("-v t --run-args", &[][..]),
        ("t --run-args -v", &[]),
        ("t --run-args", &[("BABELTRACE_VERBOSE", "1")]),
    ] {
        assert!(text(line, variables).contains("pretty:sink.text.pretty --params verbose=yes "), "{line}");
    }
    assert!(!text("t --run-args -d", &[]).contains("verbose"));
}

#[test]
fn commands() {
    let words =
        |line: &str| match General::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            Ok(Top::Command(general)) => {
                format!("{:?} {} {}", general.name, general.words_before, general.words.join(" "))
            }
            Ok(Top::Print(_)) => "print".to_owned(),
            Err(failure) => failure.causes.join("|"),
        };
    let cases = [
        ("a b", "Convert 0 a b"),
        ("-v a", "Convert 1 a"),
        ("convert a", "Convert 1 a"),
        ("convert convert", "Convert 1 convert"),
        ("-d run a", "Run 2 a"),
        ("-l W query a b", "Query 3 a b"),
        ("list-plugins", "ListPlugins 1 "),
        ("help a", "Help 1 a"),
        ("Help", "Convert 0 Help"),
        ("--names=all x", "Convert 0 --names=all x"),
        ("-vn all x", "Convert 0 -vn all x"),
        ("-v -n all run", "Convert 1 -n all run"),
        ("-- run", "Convert 0 -- run"),
        (
            "-l",
            "While parsing command-line arguments: While parsing argument #1 (`-l`): Missing required argument for option `-l`",
        ),
        (
            "-v --debug=1 x",
            "While parsing command-line arguments: While parsing argument #2 (`--debug=1`): Unexpected argument for \
             option `--debug`",
        ),
        ("-l Q", "Invalid argument for --log-level option:\n    Q"),
        ("-l t", "Invalid argument for --log-level option:\n    t"),
    ];
    for (line, expected) in cases {
        assert_eq!(words(line), expected, "{line}");
    }
}

#[test]
fn failures_have_a_context() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("-l Q", "", &["Command-line error: retcode=1", "Invalid argument for --log-level option:\n    Q"]),
        ("x", "", &["Command-line error: retcode=1", "No source component."]),
        (
            "help",
            "",
            &["Command-line error: retcode=1", "Missing plugin name or component class descriptor."],
        ),
        (
            "query src.a b",
            "",
            &[
                "Command-line error: retcode=1",
                "Invalid format for component class specification:\n    src.a",
                "Missing plugin or component class name.",
            ],
        ),
        (
            "help src.ctf.bob",
            "ctf:\n",
            &[
                "Cannot find component class: plugin-name=\"ctf\", comp-cls-name=\"bob\", comp-cls-type=SOURCE",
            ],
        ),
        (
            "list-plugins x",
            "",
            &[
                "Command-line error: retcode=1",
                "Extraneous command-line argument specified to `list-plugins` command: `x`.",
            ],
        ),
    ];
    for (line, output, causes) in cases {
        let refusal = parse_line(line).unwrap_err();
        assert!(refusal.output.starts_with(output) && refusal.output.is_empty() == output.is_empty());
        assert_eq!(refusal.failure.causes, *causes, "{line}");
        assert_eq!(refusal.failure.exit_code, 1);
    }
}

/// Random command lines give a command or a failure.
#[test]
fn random_lines() {
    let words = [
        "-",
        "--",
        "-v",
        "-l",
        "W",
        "--log-level=D",
        "convert",
        "run",
        "query",
        "help",
        "list-plugins",
        "-c",
        "-csink.a.b",
        "a:src.ctf.fs",
        "b:sink.text.pretty",
        "flt.a.b",
        "-p",
        "a=1",
        "a=[",
        "--params=a={b=c}",
        "-x",
        "a:b",
        "a.*:b",
        "-b",
        "1",
        "-e2",
        "--timerange=[1,2]",
        "t",
        "--run-args",
        "--run-args-0",
        "-o",
        "ctf",
        "dummy",
        "ctf-metadata",
        "-w",
        "o",
        "-i",
        "lttng-live",
        "net://h/host/a/b",
        "-n",
        "all",
        "-f",
        "emf",
        "--clock-offset=5",
        "-m",
        "0",
        "--debug-info",
        "é",
        "-é",
        "",
        "--=",
        "-dvh",
        "--retry-duration=9",
        "-r",
        "--stream-intersection",
    ];
    let mut state = 5_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap() % limit
    };
    let environment = Environment { variable: &|_| None, paint: Paint::off(), print_warning: &|_| {} };
    let mut commands = 0;
    for _ in 0..20_000 {
        let length = next(9);
        let line: Vec<String> = (0..length).map(|_| words[next(words.len())].to_owned()).collect();
        match parse(&line, &environment, &|_| Ok(Vec::new())) {
            Ok(_) => commands += 1,
            Err(refusal) => assert!(!refusal.failure.causes.is_empty(), "{line:?}"),
        }
    }
    assert!(commands > 100, "{commands}");
}
