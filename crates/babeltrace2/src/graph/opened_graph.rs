//! A graph whose components were created.

use std::collections::HashMap;

use ichnos::OutputKind;
use ichnos::model::Window;

use crate::command::{Component, ComponentKind, Failure, Graph, LogLevel};
use crate::components::ctf_fs_sink::CtfFsSink;
use crate::components::source::OpenedSource;
use crate::components::text_sinks::TextSink;
use crate::components::trimmer::Trimmer;
use crate::components::{ctf_fs, debug_info};
use crate::graph::sink_run::{PortInput, PreparedSink, run_sink};
use crate::graph::sources::{SourceUse, Sources};
use crate::graph::time_range::{TimeRanges, hull, intersection};
use crate::graph::wiring::{self, SinkInput};
use crate::graph_check::not_created;

/// Created components of a graph, by their index in [`Graph::components`].
pub(crate) struct OpenedGraph<'g> {
    graph: &'g Graph,
    sources: Sources<'g>,
    trimmers: HashMap<usize, Trimmer>,
    sinks: HashMap<usize, PreparedSink>,
}

/// Runs a graph. Returns the exit code.
///
/// # Errors
/// If a component cannot be created or connected, or if a trace cannot be read or an output cannot be written.
pub(crate) fn run(graph: &Graph, log_level: Option<LogLevel>) -> Result<u8, Failure> {
    let mut opened = OpenedGraph::new(graph, log_level.unwrap_or(LogLevel::Warning))?;
    opened.set_protocol_version()?;
    let windows = match graph.is_intersected {
        true => opened.intersections().map_err(|failure| failure.in_context("Cannot create components."))?,
        false => HashMap::new(),
    };
    let ports: Vec<Vec<String>> = (0..graph.components.len())
        .map(|index| opened.sources.get(index).map(OpenedSource::port_names).unwrap_or_default())
        .collect();
    let connected =
        wiring::connect(graph, &ports).map_err(|failure| failure.in_context("Cannot connect components."))?;
    // A sink can close sources, whose times later sinks need.
    let inputs: Result<Vec<Vec<PortInput>>, Failure> =
        connected.iter().map(|sink| opened.port_inputs(&sink.inputs, &windows)).collect();
    let inputs = inputs?;
    opened.restrict_debug_info(inputs.iter().flatten());
    for (sink, inputs) in connected.iter().zip(inputs) {
        let Some(mut prepared) = opened.sinks.remove(&sink.sink) else { continue };
        if let PreparedSink::Text(text) = &mut prepared
            && inputs.iter().any(|input| input.source.debug_info.is_some())
        {
            text.show_debug_info();
        }
        let failed = |failure: Failure| failure.in_context("Graph failed to complete successfully");
        let code = run_sink(&mut opened.sources, prepared, &inputs).map_err(failed)?;
        if code != 0 {
            return Ok(code);
        }
    }
    opened.sources.warn_of_incomplete_debug_info();
    Ok(0)
}

impl<'g> OpenedGraph<'g> {
    /// Creates the components.
    fn new(graph: &'g Graph, log_level: LogLevel) -> Result<Self, Failure> {
        let mut opened = Self {
            graph,
            sources: Sources::new(graph, log_level),
            trimmers: HashMap::new(),
            sinks: HashMap::new(),
        };
        for kind in [ComponentKind::Source, ComponentKind::Filter, ComponentKind::Sink] {
            for (index, component) in graph.components.iter().enumerate() {
                if component.class.kind == kind {
                    opened.create(index, component).map_err(|failure| {
                        failure.in_context(not_created(component)).in_context("Cannot create components.")
                    })?;
                }
            }
        }
        Ok(opened)
    }

    fn create(&mut self, index: usize, component: &Component) -> Result<(), Failure> {
        let (class, parameters) = (&component.class, &component.parameters);
        match (class.kind, class.name.as_str()) {
            (ComponentKind::Source, _) => self.sources.add(index)?,
            (ComponentKind::Filter, "trimmer") => {
                self.trimmers.insert(index, Trimmer::new(parameters)?);
            }
            // A muxer is the merge of the engine, and sources add debug information.
            (ComponentKind::Filter, _) => {}
            (ComponentKind::Sink, "pretty") => {
                let sink = TextSink::pretty(parameters);
                if let Some(path) = sink.path() {
                    self.sources.check_output(path, OutputKind::Other)?;
                }
                self.sinks.insert(index, PreparedSink::Text(sink));
            }
            (ComponentKind::Sink, "details") => {
                self.sinks.insert(index, PreparedSink::Text(TextSink::details(parameters)));
            }
            (ComponentKind::Sink, "fs") => {
                let sink = CtfFsSink::new(parameters)?;
                self.sources.check_output(&sink.new_place(), OutputKind::Trace)?;
                sink.prepare()?;
                self.sinks.insert(index, PreparedSink::CtfFs(sink));
            }
            (ComponentKind::Sink, "counter") => {
                self.sinks.insert(index, PreparedSink::counter(parameters)?);
            }
            (ComponentKind::Sink, _) => {
                self.sinks.insert(index, PreparedSink::Dummy);
            }
        }
        Ok(())
    }

    /// Finds the greatest version of the message interchange protocol that all components support. CTF 2 has properties
    /// that version 0 lacks. `sink.ctf.fs` writes any source in any version of CTF, unlike in Babeltrace.
    fn set_protocol_version(&mut self) -> Result<(), Failure> {
        let is_allowed = |version: u64| {
            self.graph.protocol_versions.as_ref().is_none_or(|allowed| allowed.contains(&version))
        };
        let has_ctf_2 = self.sources.iter().any(|(_, source)| !ctf_fs::is_plain(&source.session));
        let Some(version) =
            [1, 0].into_iter().find(|version| is_allowed(*version) && (*version == 1 || !has_ctf_2))
        else {
            return Err(Failure::from_cause(
                "Failed to find an operative message interchange protocol version to use to create the `run` \
                command's graph (components are not interoperable).",
            ));
        };
        for sink in self.sinks.values_mut() {
            if let PreparedSink::Text(sink) = sink {
                sink.set_protocol_version(version);
            }
        }
        Ok(())
    }

    /// Returns the time in which all data streams of a source are active, by source.
    fn intersections(&self) -> Result<HashMap<usize, Window>, Failure> {
        let mut windows = HashMap::new();
        for (index, source) in self.sources.iter() {
            windows.insert(index, intersection(source)?);
        }
        Ok(windows)
    }

    /// Hides events about binaries from filters that add debug information, if trimmers drop these events before.
    fn restrict_debug_info<'i>(&self, inputs: impl Iterator<Item = &'i PortInput>) {
        let mut windows: HashMap<usize, Window> = HashMap::new();
        for input in inputs {
            let Some(filter) = input.source.debug_info else { continue };
            let window = input.debug_info_window;
            windows.entry(filter).and_modify(|known| *known = hull(*known, window)).or_insert(window);
        }
        windows.into_iter().for_each(|(filter, window)| self.sources.restrict_debug_info(filter, window));
    }

    /// Returns the ports that reach a sink, with their time windows and debug information.
    fn port_inputs(
        &self,
        inputs: &[SinkInput],
        of_sources: &HashMap<usize, Window>,
    ) -> Result<Vec<PortInput>, Failure> {
        let (trimmers, sources) = (&self.trimmers, &self.sources);
        let (first_times, known) = Default::default();
        let ranges = TimeRanges { trimmers, sources, inputs, of_sources, first_times, known };
        let adds_debug_info =
            |filter: &&usize| self.graph.components.get(**filter).is_some_and(debug_info::is_filter);
        let port_input = |input: &SinkInput| {
            let filter = input.filters.iter().position(|filter| adds_debug_info(&filter));
            let debug_info = filter.and_then(|filter| input.filters.get(filter)).copied();
            let debug_info_window = ranges.before(input, filter.unwrap_or(0))?;
            let source = SourceUse { source: input.source, debug_info };
            let last = input.filters.iter().rfind(|filter| !adds_debug_info(filter));
            let ends_with_trimmer = last.is_some_and(|filter| self.trimmers.contains_key(filter));
            let window = ranges.of_port(input)?;
            Ok(PortInput { source, port: input.port, window, debug_info_window, ends_with_trimmer })
        };
        inputs.iter().map(port_input).collect()
    }
}
