use super::*;
use crate::command::ComponentClass;
use crate::paint::Paint;

/// Finds one source for all inputs that begin with `t`, and one for each input that begins with `d`, below it. Other
/// source classes are found for `x`.
fn find(inputs: &[String]) -> Result<Vec<FoundSource>, Failure> {
    let source = |plugin: &str, name: &str, inputs: Vec<String>, original_inputs| FoundSource {
        class: ComponentClass {
            kind: ComponentKind::Source,
            plugin: plugin.to_owned(),
            name: name.to_owned(),
        },
        inputs: inputs.into_iter().map(ParameterValue::Text).collect(),
        original_inputs,
    };
    let mut found = Vec::new();
    let starting = |first: char| {
        let all = inputs.iter().enumerate().filter(move |(_, path)| path.starts_with(first));
        all.map(|(index, path)| (index, path.clone()))
    };
    let (indexes, together): (Vec<_>, Vec<_>) = starting('t').unzip();
    if !together.is_empty() {
        found.push(source("ctf", "fs", together, indexes));
    }
    for (index, path) in starting('d') {
        found.push(source("ctf", "fs", vec![format!("{path}//a/b")], vec![index]));
    }
    for (index, path) in starting('x') {
        found.push(source("other", "thing", vec![path], vec![index]));
    }
    Ok(found)
}

fn parse_line(line: &str) -> Result<Action, Failure> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let environment = Environment { variable: &|_| None, paint: Paint::off(), print_warning: &|_| {} };
    parse(&words, 0, &mut None, &environment, &find)
}

fn run_args(line: &str) -> String {
    match parse_line(&format!("{line} --run-args")) {
        Ok(Action::Print(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

const SOURCE: &str = "--component auto-disc-source-ctf-fs:source.ctf.fs --params 'inputs=[\"t\"]'";
const MUXER: &str = "--component muxer:filter.utils.muxer";
const TO_MUXER: &str = "--connect auto-disc-source-ctf-fs:muxer";

/// Implicit sink for each option.
#[test]
fn options_of_the_sink() {
    let cases = [
        ("", "pretty:sink.text.pretty"),
        ("-o text", "pretty:sink.text.pretty"),
        ("--omit-home-plugin-path --omit-system-plugin-path", "pretty:sink.text.pretty"),
        ("--clock-cycles", "pretty:sink.text.pretty --params clock-cycles=yes"),
        ("--clock-date", "pretty:sink.text.pretty --params clock-date=yes"),
        ("--clock-gmt", "pretty:sink.text.pretty --params clock-gmt=yes"),
        ("--clock-seconds", "pretty:sink.text.pretty --params clock-seconds=yes"),
        ("--clock-seconds --no-delta", "pretty:sink.text.pretty --params clock-seconds=yes,no-delta=yes"),
        ("--color=never", "pretty:sink.text.pretty --params 'color=\"never\"'"),
        ("-f trace,emf", "pretty:sink.text.pretty --params field-trace=yes,field-emf=yes,field-default=hide"),
        ("--fields=all", "pretty:sink.text.pretty --params field-default=show"),
        ("-n none", "pretty:sink.text.pretty --params name-default=hide"),
        ("--names all -w a", "pretty:sink.text.pretty --params name-default=show --params 'path=\"a\"'"),
        ("--output /o", "pretty:sink.text.pretty --params 'path=\"/o\"'"),
        ("-w a\"\\b", "pretty:sink.text.pretty --params 'path=\"a\\\"\\\\b\"'"),
        ("-o ctf -w /o", "sink-ctf-fs:sink.ctf.fs --params 'path=\"/o\"'"),
        ("--output-format=dummy", "dummy:sink.utils.dummy"),
        ("-o dummy -w a", "dummy:sink.utils.dummy"),
        ("-i ctf", "pretty:sink.text.pretty"),
        ("-v", "pretty:sink.text.pretty --params verbose=yes"),
    ];
    for (options, sink) in cases {
        let (name, _) = sink.split_once(':').unwrap();
        let expected = format!("{SOURCE} --component {sink} {MUXER} {TO_MUXER} --connect muxer:{name}");
        assert_eq!(run_args(&format!("t {options}")), expected, "{options}");
        assert_eq!(run_args(&format!("{options} t")), expected, "{options}");
    }
}

#[test]
fn options_of_filters() {
    let trimmer = "trimmer:filter.utils.trimmer";
    let debug_info = "debug-info:filter.lttng-utils.debug-info";
    let cases = [
        ("-b 1", format!("{trimmer} --params 'begin=\"1\"'")),
        ("--end=1 --begin=2", format!("{trimmer} --params 'end=\"1\"' --params 'begin=\"2\"'")),
        ("-t [a,b]", format!("{trimmer} --params 'begin=\"a\"' --params 'end=\"b\"'")),
        ("--timerange a,b]c", format!("{trimmer} --params 'begin=\"a\"' --params 'end=\"b\"'")),
        ("--debug-info", debug_info.to_owned()),
        ("--debug-info-dir=/d", format!("{debug_info} --params 'debug-info-dir=\"/d\"'")),
        ("--debug-info-full-path", format!("{debug_info} --params full-path=yes")),
        ("--debug-info-target-prefix=/d", format!("{debug_info} --params 'target-prefix=\"/d\"'")),
    ];
    for (options, filter) in cases {
        let (name, _) = filter.split_once(':').unwrap();
        let expected = format!(
            "{SOURCE} --component pretty:sink.text.pretty {MUXER} --component {filter} {TO_MUXER} --connect muxer:{name} \
             --connect {name}:pretty"
        );
        assert_eq!(run_args(&format!("t {options}")), expected, "{options}");
    }
    let all = run_args("t --debug-info -b 1 --clock-gmt -c flt.a.b");
    let expected = "--component trimmer:filter.utils.trimmer --params gmt=yes --params 'begin=\"1\"' --component \
                    debug-info:filter.lttng-utils.debug-info --connect auto-disc-source-ctf-fs:muxer --connect \
                    muxer:trimmer --connect trimmer:debug-info --connect 'debug-info:flt\\.a\\.b' --connect \
                    'flt\\.a\\.b:pretty'";
    assert!(all.ends_with(expected), "{all}");
}

#[test]
fn sources() {
    let sources = |line: &str| {
        let all = run_args(line);
        all.split_once(" --component pretty").unwrap().0.to_owned()
    };
    let first = "--component auto-disc-source-ctf-fs:source.ctf.fs";
    let second = "--component auto-disc-source-ctf-fs-0:source.ctf.fs";
    let cases = [
        ("t", format!("{first} --params 'inputs=[\"t\"]'")),
        ("t1 t2", format!("{first} --params 'inputs=[\"t1\", \"t2\"]'")),
        (
            "t1 -p a=1 -p b=2 -lD t2 --params c=3 --log-level=I",
            format!(
                "{first} --params a=1 --params b=2 --log-level D --params c=3 --log-level I --params 'inputs=[\"t1\", \"t2\"]'"
            ),
        ),
        ("d", format!("{first} --params 'trace-name=\"a/b\"' --params 'inputs=[\"d//a/b\"]'")),
        (
            "t -l W d1 -p a=1",
            format!(
                "{first} --log-level W --params 'inputs=[\"t\"]' {second} --params a=1 --params 'trace-name=\"a/b\"' --params \
                 'inputs=[\"d1//a/b\"]'"
            ),
        ),
        (
            "t --clock-offset=5 --clock-offset-ns -6 --clock-force-correlate",
            format!(
                "{first} --params force-clock-class-origin-unix-epoch=yes,clock-class-offset-s=5,clock-class-offset-ns=-6 \
                 --params 'inputs=[\"t\"]'"
            ),
        ),
        (
            "x",
            "--component auto-disc-source-other-thing:source.other.thing --params 'inputs=[\"x\"]'"
                .to_owned(),
        ),
        ("x t -i ctf", format!("{first} --params 'inputs=[\"t\"]'")),
        (
            "-c ZZ:src.a.b -p c=yes t",
            format!("--component ZZ:src.a.b --params c=yes {first} --params 'inputs=[\"t\"]'"),
        ),
        (
            "-c auto-disc-source-ctf-fs:src.a.b t",
            format!("--component auto-disc-source-ctf-fs:src.a.b {second} --params 'inputs=[\"t\"]'"),
        ),
        ("-c src.a.b -c src.a.b", "--component src.a.b:src.a.b --component src.a.b-0:src.a.b".to_owned()),
        (
            "-m 1 --retry-duration 5 t",
            format!("--allowed-mip-versions 1 --retry-duration 5 {first} --params 'inputs=[\"t\"]'"),
        ),
        (
            "-i lttng-live net://h/host/a/b",
            "--component lttng-live:source.ctf.lttng-live --params 'inputs=[\"net://h/host/a/b\"]' --params \
             'session-not-found-action=\"end\"'"
                .to_owned(),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(sources(line), expected, "{line}");
    }
    let sink = run_args("t -c sink.a.b -lW");
    assert!(sink.starts_with("--component sink.a.b:sink.a.b --log-level W --component auto-disc"), "{sink}");
    assert!(sink.ends_with(r"--connect 'muxer:sink\.a\.b'"), "{sink}");
    let zero = parse_line("t --run-args-0").unwrap();
    let Action::Print(zero) = zero else { panic!("{zero:?}") };
    assert_eq!(zero.split('\0').nth(3), Some("inputs=[\"t\"]"));
}

#[test]
fn other_actions() {
    let path = "t".to_owned();
    let url = "net://h:5".to_owned();
    let cases = [
        ("t -o ctf-metadata", Action::PrintMetadata { path: path.clone(), output: None }),
        ("t -o ctf-metadata -w o", Action::PrintMetadata { path, output: Some("o".to_owned()) }),
        ("-i lttng-live net://h:5", Action::PrintLiveSessions { url: url.clone(), output: None }),
        ("-i lttng-live net://h:5 -w o", Action::PrintLiveSessions { url, output: Some("o".to_owned()) }),
    ];
    for (line, expected) in cases {
        assert_eq!(parse_line(line), Ok(expected), "{line}");
    }
    for line in ["t --stream-intersection", "t"] {
        let Ok(Action::Run(graph)) = parse_line(line) else { panic!("{line}") };
        assert_eq!(graph.is_intersected, line.contains("intersection"));
        let names: Vec<&str> = graph.components.iter().map(|component| component.name.as_str()).collect();
        assert_eq!(names, ["auto-disc-source-ctf-fs", "pretty", "muxer"]);
        assert_eq!(graph.connections.len(), 2);
    }
}

#[test]
fn errors() {
    let cases = [
        ("--component salut", "Invalid format for --component option's argument:\n    salut"),
        (
            "--component name:source.plugin.comp.cls",
            "Invalid format for --component option's argument:\n    name:source.plugin.comp.cls",
        ),
        ("--component a:sink.a.b --component a:src.c.d", "Duplicate component instance name:\n    a"),
        (
            "--component a:sink.a.b --salut",
            "While parsing `convert` command's command-line arguments: While parsing argument #3 (`--salut`): Unknown \
             option `--salut`",
        ),
        (
            "--params lol=23",
            "No current component (--component option) or non-option argument of which to set parameters:\n    lol=23",
        ),
        (
            "-l W",
            "No current component (--component option) or non-option argument to assign a log level to:\n    W",
        ),
        ("-b a --begin b", "At --begin option: --begin or --timerange option already specified\n    b\n"),
        ("-e a --end b", "At --end option: --end or --timerange option already specified\n    b\n"),
        (
            "-b a -t a,b",
            "At --timerange option: --begin, --end, or --timerange option already specified\n    a,b\n",
        ),
        (
            "-e a -t a,b",
            "At --timerange option: --begin, --end, or --timerange option already specified\n    a,b\n",
        ),
        ("-t abc", "Invalid --timerange option's argument: expecting BEGIN,END or [BEGIN,END]:\n    abc"),
        ("-t abc,", "Invalid --timerange option's argument: expecting BEGIN,END or [BEGIN,END]:\n    abc,"),
        ("-t ,abc", "Invalid --timerange option's argument: expecting BEGIN,END or [BEGIN,END]:\n    ,abc"),
        (
            "-t [abc,]",
            "Invalid --timerange option's argument: expecting BEGIN,END or [BEGIN,END]:\n    [abc,]",
        ),
        ("--fields salut", "Unknown field: `salut`."),
        ("--names salut", "Unknown name: `salut`."),
        ("-i lol", "Unknown legacy input format:\n    lol"),
        ("-i ctf -i ctf", "Duplicate --input-format option."),
        ("-o lol", "Unknown legacy output format:\n    lol"),
        ("-o dummy -o text", "Duplicate --output-format option."),
        ("t -w a -w b", "Duplicate --output option"),
        ("t --clock-offset 1 --clock-offset 1", "Duplicate --clock-offset option\n"),
        ("t --clock-offset-ns 1 --clock-offset-ns 1", "Duplicate --clock-offset-ns option\n"),
        ("t --run-args --run-args-0", "Cannot specify --run-args and --run-args-0."),
        ("t --run-args-0 --run-args", "Cannot specify --run-args and --run-args-0."),
        ("-o ctf-metadata", "--output-format=ctf-metadata specified without a path."),
        ("-o ctf-metadata t t", "Too many paths specified for --output-format=ctf-metadata."),
        ("--clock-offset=23", "--clock-offset specified, but no source.ctf.fs component instantiated."),
        (
            "x --clock-offset-ns=23",
            "--clock-offset-ns specified, but no source.ctf.fs component instantiated.",
        ),
        (
            "-i lttng-live net://h/host/a/b --clock-force-correlate",
            "--clock-force-correlate specified, but no source.ctf.fs component instantiated.",
        ),
        ("-i lttng-live", "Missing URL for implicit `source.ctf.lttng-live` component."),
        ("-i lttng-live a b", "Too many URLs specified for --input-format=lttng-live."),
        ("-i lttng-live http://a", "Invalid LTTng live URL format: Unknown protocol: `http`."),
        ("-o text", "No source component."),
        ("nothing", "No source component."),
        ("t -o ctf", "--output-format=ctf specified without --output (trace output path)."),
        (
            "t -o ctf -w a --no-delta",
            "Ambiguous --output option: --output-format=ctf specified but another option implies --output-format=text.",
        ),
        (
            "t --stream-intersection --run-args",
            "Cannot specify --stream-intersection with --run-args or --run-args-0.",
        ),
        ("t -o dummy --clock-seconds", "More than one sink component specified."),
        ("t -c sink.a.b -o text", "More than one sink component specified."),
        ("t -m 5", "--allowed-mip-versions option's argument must be 0 or 1: 5"),
        (
            "t -p a=",
            "Invalid format for --params option's argument:\n    Expecting value:\n\n    a=\n      ^",
        ),
    ];
    for (line, expected) in cases {
        let failure = parse_line(line).unwrap_err();
        assert_eq!(failure.causes[0], expected, "{line}");
    }
}
