//! Connections between the components of a graph.
//!
//! Babeltrace connects each output port once: to the first free input port of the component that the first matching
//! connection names. So the components upstream of a sink form a tree, whose leaves are output ports of sources.

use crate::command::{Component, ComponentKind, Connection, Failure, Graph};
use crate::graph::star_glob::matches_star_glob;

/// Output port of a source that reaches a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SinkInput {
    /// Index of the source in [`Graph::components`].
    pub(crate) source: usize,
    /// Index of the port of the source.
    pub(crate) port: usize,
    /// Indexes of the filters on the way, the first one first.
    pub(crate) filters: Vec<usize>,
}

/// Everything upstream of a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SinkInputs {
    /// Index of the sink in [`Graph::components`].
    pub(crate) sink: usize,
    pub(crate) inputs: Vec<SinkInput>,
}

/// Name of the output port of a filter.
const OUT: &str = "out";

/// Output port, and the component that it is connected to.
struct Link {
    upstream: usize,
    port: usize,
    downstream: usize,
}

/// Connects the components of a graph. `ports` has the names of the output ports of each source, by component.
///
/// # Errors
/// If an output port matches no connection, or if an input port is missing or not connected.
pub(crate) fn connect(graph: &Graph, ports: &[Vec<String>]) -> Result<Vec<SinkInputs>, Failure> {
    let mut links: Vec<Link> = Vec::new();
    for kind in [ComponentKind::Source, ComponentKind::Filter] {
        for (upstream, component) in graph.components.iter().enumerate() {
            if component.class.kind != kind {
                continue;
            }
            let out = [OUT.to_owned()];
            let of_source = ports.get(upstream).map(Vec::as_slice).unwrap_or_default();
            let names = if kind == ComponentKind::Source { of_source } else { &out };
            for (port, name) in names.iter().enumerate() {
                let downstream = downstream_of(graph, &links, component, name)?;
                links.push(Link { upstream, port, downstream });
            }
        }
    }
    check_inputs(graph, &links)?;
    let sinks = (0..graph.components.len()).filter(|index| kind_of(graph, *index) == ComponentKind::Sink);
    let mut found = Vec::new();
    for sink in sinks {
        let mut inputs = Vec::new();
        collect(graph, &links, sink, &mut Vec::new(), &mut inputs)?;
        inputs.sort_by_key(|input: &SinkInput| (input.source, input.port));
        found.push(SinkInputs { sink, inputs });
    }
    Ok(found)
}

/// Returns the filters that the messages of an output port reach, the first one first. Wrong connections end the list.
pub(crate) fn filters_after(graph: &Graph, source: usize, port: &str) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let (mut upstream, mut port) = (source, port);
    while let Some(component) = graph.components.get(upstream)
        && let Ok(downstream) = downstream_of(graph, &[], component, port)
        && kind_of(graph, downstream) == ComponentKind::Filter
        && !found.contains(&downstream)
    {
        found.push(downstream);
        (upstream, port) = (downstream, OUT);
    }
    found
}

fn kind_of(graph: &Graph, index: usize) -> ComponentKind {
    graph.components.get(index).map_or(ComponentKind::Sink, |component| component.class.kind)
}

/// Returns `true` for components that create an input port for each connection.
fn has_many_inputs(component: &Component) -> bool {
    component.class.plugin == "utils" && component.class.name == "muxer"
}

/// Finds the component to which an output port is connected.
fn downstream_of(graph: &Graph, links: &[Link], upstream: &Component, port: &str) -> Result<usize, Failure> {
    let fits = |connection: &&Connection| {
        matches_star_glob(&connection.upstream, &upstream.name)
            && matches_star_glob(&connection.upstream_port, port)
    };
    let cannot = || format!("Cannot connect upstream port: port-name=\"{port}\"");
    let Some(connection) = graph.connections.iter().find(fits) else {
        return Err(Failure::from_cause(format!(
            "Cannot connect upstream port: port does not match any connection argument: port-name=\"{port}\""
        ))
        .in_context(cannot()));
    };
    let mut candidates = graph.components.iter().enumerate().filter(|(_, component)| {
        component.class.kind != ComponentKind::Source
            && matches_star_glob(&connection.downstream, &component.name)
    });
    let Some((index, component)) = candidates.next() else {
        return Err(Failure::from_cause(format!(
            "Cannot find downstream component: comp-name=\"{}\"",
            connection.downstream
        ))
        .in_context(cannot()));
    };
    let before = links.iter().filter(|link| link.downstream == index).count();
    let (name, is_free) = match has_many_inputs(component) {
        true => (format!("in{before}"), true),
        false => ("in".to_owned(), before == 0),
    };
    if is_free && matches_star_glob(&connection.downstream_port, &name) {
        return Ok(index);
    }
    Err(Failure::from_cause(format!(
        "Cannot create connection: cannot find a matching downstream port for upstream port: \
        upstream-port-name=\"{port}\", downstream-comp-name=\"{}\"",
        connection.downstream
    ))
    .in_context(cannot()))
}

/// Checks that the input ports of filters and sinks are connected. A muxer without connections has no messages.
fn check_inputs(graph: &Graph, links: &[Link]) -> Result<(), Failure> {
    let is_open = |(index, component): &(usize, &Component)| {
        component.class.kind != ComponentKind::Source
            && !has_many_inputs(component)
            && links.iter().all(|link| link.downstream != *index)
    };
    let Some((_, component)) = graph.components.iter().enumerate().find(is_open) else { return Ok(()) };
    Err(Failure::from_cause(format!(
        "Single input port is not connected: comp-name=\"{}\", port-name=\"in\"",
        component.name
    ))
    .in_context("Cannot configure graph."))
}

/// Collects the ports of sources upstream of a component. `filters` are the filters between it and the sink, the last
/// one first.
fn collect(
    graph: &Graph,
    links: &[Link],
    component: usize,
    filters: &mut Vec<usize>,
    inputs: &mut Vec<SinkInput>,
) -> Result<(), Failure> {
    for link in links.iter().filter(|link| link.downstream == component) {
        if kind_of(graph, link.upstream) == ComponentKind::Source {
            let filters = filters.iter().rev().copied().collect();
            inputs.push(SinkInput { source: link.upstream, port: link.port, filters });
            continue;
        }
        if filters.contains(&link.upstream) {
            let cause =
                "Cannot create connection: graph refuses to connect ports: the components form a cycle";
            return Err(Failure::from_cause(cause));
        }
        filters.push(link.upstream);
        collect(graph, links, link.upstream, filters, inputs)?;
        filters.pop();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
