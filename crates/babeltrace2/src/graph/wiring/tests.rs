use super::*;
use crate::command::ComponentClass;
use crate::value::Map;

fn component(name: &str, class: &str) -> Component {
    let parts: Vec<&str> = class.split('.').collect();
    let kind = match parts[0] {
        "src" => ComponentKind::Source,
        "flt" => ComponentKind::Filter,
        _ => ComponentKind::Sink,
    };
    let class = ComponentClass { kind, plugin: parts[1].to_owned(), name: parts[2].to_owned() };
    Component { name: name.to_owned(), class, parameters: Map::default(), log_level: None }
}

fn connection(text: &str) -> Connection {
    let (upstream, downstream) = text.split_once(':').unwrap();
    let side = |text: &str| match text.split_once('.') {
        Some((name, port)) => (name.to_owned(), port.to_owned()),
        None => (text.to_owned(), "*".to_owned()),
    };
    let ((upstream, upstream_port), (downstream, downstream_port)) = (side(upstream), side(downstream));
    Connection { upstream, upstream_port, downstream, downstream_port }
}

/// Two sources `a` (ports `one`, `two`) and `b` (port `three`), filters `trim` and `mux`, sinks `x` and `y`.
fn wire(names: &[&str], connections: &[&str]) -> Result<String, String> {
    let all = [
        ("a", "src.ctf.fs"),
        ("b", "src.ctf.fs"),
        ("trim", "flt.utils.trimmer"),
        ("mux", "flt.utils.muxer"),
        ("x", "sink.text.pretty"),
        ("y", "sink.utils.dummy"),
    ];
    let used = all.iter().filter(|(name, _)| names.contains(name));
    let components: Vec<Component> = used.map(|(name, class)| component(name, class)).collect();
    let ports = components.iter().map(|component| match component.name.as_str() {
        "a" => vec!["one".to_owned(), "two".to_owned()],
        "b" => vec!["three".to_owned()],
        _ => Vec::new(),
    });
    let ports: Vec<Vec<String>> = ports.collect();
    let graph = Graph {
        connections: connections.iter().map(|text| connection(text)).collect(),
        components,
        retry_duration: 0,
        protocol_versions: None,
        is_intersected: false,
    };
    let name = |index: usize| graph.components[index].name.clone();
    let sinks = connect(&graph, &ports).map_err(|failure| failure.causes.join(" / "))?;
    let text = sinks.iter().map(|sink| {
        let inputs = sink.inputs.iter().map(|input| {
            let filters: Vec<String> = input.filters.iter().map(|filter| name(*filter)).collect();
            let port = &ports[input.source][input.port];
            [vec![format!("{}.{port}", name(input.source))], filters].concat().join(">")
        });
        format!("{}<{}", name(sink.sink), inputs.collect::<Vec<_>>().join(","))
    });
    Ok(text.collect::<Vec<_>>().join(" "))
}

#[test]
fn ports_are_connected_once() {
    let cases: [(&[&str], &[&str], &str); 6] = [
        (&["a", "mux", "x"], &["a:mux", "mux:x"], "x<a.one>mux,a.two>mux"),
        (&["b", "x"], &["b:x"], "x<b.three"),
        // A filter before one of several sources.
        (
            &["a", "b", "trim", "mux", "x"],
            &["b:trim", "trim:mux", "a:mux", "mux:x"],
            "x<a.one>mux,a.two>mux,b.three>trim>mux",
        ),
        // Two sinks.
        (&["a", "x", "y"], &["a.t*:y", "a:x"], "x<a.one y<a.two"),
        (&["b", "mux", "x"], &["*:mux.in0", "mux:x"], "error"),
        (&["b", "mux", "x"], &["b:mux.in*", "mux.out:x.in"], "x<b.three>mux"),
    ];
    for (names, connections, expected) in cases {
        let found = wire(names, connections).unwrap_or_else(|_| "error".to_owned());
        assert_eq!(found, expected, "{connections:?}");
    }
}

#[test]
fn wrong_connections_are_refused() {
    let cases: [(&[&str], &[&str], &str); 6] = [
        (&["a", "mux", "x"], &["a.one:mux", "mux:x"], "port does not match any connection argument"),
        (&["b", "x"], &["b:z"], "Cannot find downstream component: comp-name=\"z\""),
        (&["a", "x"], &["a:x"], "cannot find a matching downstream port"),
        (&["b", "x", "y"], &["b:x"], "Single input port is not connected: comp-name=\"y\""),
        (&["b", "trim", "x"], &["b:x", "trim:x"], "cannot find a matching downstream port"),
        (&["b", "trim", "mux", "x"], &["b:x", "mux:trim", "trim:mux"], ""),
    ];
    for (names, connections, expected) in cases {
        match wire(names, connections) {
            Ok(found) => assert_eq!(found, "x<b.three", "{connections:?}"),
            Err(error) => assert!(error.contains(expected), "{connections:?}: {error}"),
        }
    }
}

#[test]
fn filters_after_a_port_are_found() {
    let all = [
        ("live", "src.ctf.lttng-live"),
        ("mux", "flt.utils.muxer"),
        ("info", "flt.lttng-utils.debug-info"),
        ("x", "sink.text.pretty"),
    ];
    let found = |connections: &[&str]| {
        let graph = Graph {
            components: all.iter().map(|(name, class)| component(name, class)).collect(),
            connections: connections.iter().map(|text| connection(text)).collect(),
            retry_duration: 0,
            protocol_versions: None,
            is_intersected: false,
        };
        filters_after(&graph, 0, "out")
    };
    assert_eq!(found(&["live:mux", "mux:info", "info:x"]), [1, 2]);
    assert_eq!(found(&["live:info", "info:mux", "mux:x"]), [2, 1]);
    assert_eq!(found(&["live:x", "mux:info"]), [0; 0]);
    assert_eq!(found(&["live:mux", "mux:info", "info:mux"]), [1, 2]);
    assert_eq!(found(&[]), [0; 0]);
}
