use super::*;
use crate::command::LogLevel;
use crate::parameters::parse_parameters;

fn parse_line(line: &str) -> Result<Action, Failure> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words, 2)
}

fn graph(line: &str) -> Graph {
    match parse_line(line) {
        Ok(Action::Run(graph)) => graph,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn components_have_parameters_and_log_levels() {
    let graph = graph(
        "-b a=1,b=2 -c s:src.a.b -p b=3 --params c=4 -lD -r --component=k:sink.x.y --base-params z=1 \
         -x s:k -m 1 --retry-duration 5",
    );
    let described: Vec<_> = graph
        .components
        .iter()
        .map(|component| (component.name.as_str(), component.parameters.clone(), component.log_level))
        .collect();
    let parameters = |text| parse_parameters(text).unwrap();
    let expected =
        [("s", parameters("a=1,b=3,c=4"), Some(LogLevel::Debug)), ("k", Map::default(), None)].to_vec();
    assert_eq!(described, expected);
    assert_eq!(graph.connections.len(), 1);
    assert_eq!(graph.retry_duration, 5);
    assert_eq!(graph.protocol_versions, Some(vec![1]));
    assert!(!graph.is_intersected);
}

#[test]
fn defaults() {
    let graph = graph("-c s:src.a.b -c k:sink.x.y --connect s:k --log-level NONE");
    assert_eq!(graph.retry_duration, RETRY_DURATION);
    assert_eq!(graph.protocol_versions, None);
    assert_eq!(graph.components[1].log_level, Some(LogLevel::None));
}

#[test]
fn help_needs_nothing_else() {
    for line in ["", "--help", "-h", "-c s:src.a.b -h --nothing"] {
        assert_eq!(parse_line(line), Ok(Action::Print(usage::RUN.to_owned())), "{line}");
    }
}

#[test]
fn errors() {
    let cases = [
        ("x", "Unexpected argument: `x`"),
        ("-c a", "Invalid format for --component option's argument:\n    a"),
        ("-c sink.a.b", "Found an unnamed component."),
        ("-c a:sink.a.b -c a:src.c.d", "Duplicate component instance name:\n    a"),
        ("-p a=1", "Cannot add parameters to unavailable component:\n    a=1"),
        (
            "-c a:sink.a.b -p a=",
            "Invalid format for --params option's argument:\n    Expecting value:\n\n    a=\n      ^",
        ),
        ("-b a", "Invalid format for --base-params option's argument:\n    Expecting `=`:\n\n    a\n     ^"),
        ("-l W", "Cannot set the log level of unavailable component:\n    W"),
        ("-c a:sink.a.b -l X", "Invalid argument for --log-level option:\n    X"),
        (
            "--retry-duration 5s",
            "Could not parse --retry-duration option's argument as an unsigned integer: `5s`",
        ),
        ("--retry-duration -5", "--retry-duration option's argument must be positive or 0: -5"),
        ("-m x", "Could not parse --allowed-mip-versions option's argument as an unsigned integer: `x`"),
        ("-m 2", "--allowed-mip-versions option's argument must be 0 or 1: 2"),
        ("-c k:sink.a.b", "Incomplete graph: no source component."),
        ("-c s:src.a.b", "Incomplete graph: no sink component."),
        ("-c s:src.a.b -c k:sink.a.b", "Cannot create connections:\nComponent `s` is not connected\n"),
        (
            "-r --nothing",
            "While parsing `run` command's command-line arguments: While parsing argument #4 (`--nothing`): Unknown \
             option `--nothing`",
        ),
    ];
    for (line, expected) in cases {
        let failure = parse_line(line).unwrap_err();
        assert_eq!(failure.causes.first().map(String::as_str), Some(expected), "{line}");
    }
    let inner = parse_line("-c a").unwrap_err().causes.pop();
    assert_eq!(inner.as_deref(), Some("Missing component class type (`source`, `filter`, or `sink`)."));
}
