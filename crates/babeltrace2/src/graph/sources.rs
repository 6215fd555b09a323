//! Source components of a graph.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ichnos::OutputKind;
use ichnos::debug_info::DebugInfo;
use ichnos::export::printable;
use ichnos::model::Window;

use crate::command::{Component, ComponentKind, Failure, Graph, LogLevel};
use crate::components::lttng_live::LIVE_PORT;
use crate::components::source::OpenedSource;
use crate::components::{ctf_fs, debug_info, dmesg, lttng_live};
use crate::graph::wiring;
use crate::standard_output::print_warning;

/// Source as a sink reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourceUse {
    /// Index of the source in [`Graph::components`].
    pub(crate) source: usize,
    /// Index of the filter whose debug information its events get.
    pub(crate) debug_info: Option<usize>,
}

/// Open sources. A sink that merges several sources closes them.
pub(crate) struct Sources<'g> {
    graph: &'g Graph,
    log_level: LogLevel,
    opened: HashMap<SourceUse, OpenedSource>,
    /// Debug information of each `filter.lttng-utils.debug-info`, by its index.
    debug_info: HashMap<usize, Arc<DebugInfo>>,
}

impl<'g> Sources<'g> {
    /// Creates the list without sources.
    pub(crate) fn new(graph: &'g Graph, log_level: LogLevel) -> Self {
        let filters = graph.components.iter().enumerate();
        let filters = filters.filter(|(_, component)| debug_info::is_filter(component));
        let debug_info =
            filters.map(|(index, component)| (index, debug_info::create(&component.parameters))).collect();
        Self { graph, log_level, opened: HashMap::new(), debug_info }
    }

    /// Opens a source, and reports warnings.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn add(&mut self, source: usize) -> Result<(), Failure> {
        let debug_info =
            if self.is_live(source) { self.debug_info_of_live(source) } else { self.probable_debug_info() };
        let key = SourceUse { source, debug_info };
        let opened = self.open(key, true)?;
        self.opened.insert(key, opened);
        Ok(())
    }

    /// Returns the filter that the events of a live source reach. Its session is attached to only once, so the filter must
    /// be known before.
    fn debug_info_of_live(&self, source: usize) -> Option<usize> {
        wiring::filters_after(self.graph, source, LIVE_PORT)
            .into_iter()
            .find(|filter| self.debug_info.contains_key(filter))
    }

    fn is_live(&self, source: usize) -> bool {
        self.graph.components.get(source).is_some_and(|component| component.class.name == "lttng-live")
    }

    /// Returns the filter that all events of a usual graph reach: the only one, before the only sink. It is known later
    /// whether this is right.
    fn probable_debug_info(&self) -> Option<usize> {
        let is_sink = |component: &&Component| component.class.kind == ComponentKind::Sink;
        let mut filters = self.debug_info.keys();
        match (filters.next(), filters.next(), self.graph.components.iter().filter(is_sink).count()) {
            (Some(only), None, 1) => Some(*only),
            _ => None,
        }
    }

    /// Returns an open source.
    pub(crate) fn get(&self, source: usize) -> Option<&OpenedSource> {
        self.iter().find(|(index, _)| *index == source).map(|(_, opened)| opened)
    }

    /// Returns the open sources with their indexes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &OpenedSource)> {
        self.opened.iter().map(|(key, opened)| (key.source, opened))
    }

    /// Checks that an output does not change a source.
    ///
    /// # Errors
    /// If it does.
    pub(crate) fn check_output(&self, path: &Path, kind: OutputKind) -> Result<(), Failure> {
        let check = |source: &OpenedSource| source.session.check_output(path, kind);
        self.opened.values().try_for_each(check).map_err(|conflict| {
            Failure::from_cause(format!("Cannot write the output: {}", printable(&conflict.to_string())))
        })
    }

    /// Removes a source for a sink. Opens it if an earlier sink has closed it, or used it otherwise. A live session is not
    /// attached to again.
    ///
    /// # Errors
    /// If it cannot be read again.
    pub(crate) fn take(&mut self, key: SourceUse) -> Result<OpenedSource, Failure> {
        match self.opened.remove(&key) {
            Some(opened) => Ok(opened),
            None if self.is_live(key.source) => {
                Err(Failure::from_cause("The messages of a live session can be read only once, by one sink"))
            }
            None => self.open(key, false),
        }
    }

    /// Keeps a source for later sinks.
    pub(crate) fn keep(&mut self, key: SourceUse, opened: OpenedSource) {
        self.opened.insert(key, opened);
    }

    /// Hides events about binaries outside a time window from a filter that adds debug information.
    pub(crate) fn restrict_debug_info(&self, filter: usize, window: Window) {
        if let Some(debug_info) = self.debug_info.get(&filter) {
            debug_info.restrict(window);
        }
    }

    /// Warns if the names of some addresses are missing because of a limit.
    pub(crate) fn warn_of_incomplete_debug_info(&self) {
        for (filter, debug_info) in &self.debug_info {
            let limits = debug_info.problems().into_iter().filter(|problem| problem.is_limit());
            let mut texts: Vec<String> = limits.map(|problem| problem.to_string()).collect();
            if debug_info.is_incomplete() {
                texts.push("too many binaries in the trace: the last of them are unknown".to_owned());
            }
            let Some(component) = self.graph.components.get(*filter) else { continue };
            texts.iter().for_each(|text| self.warn(component, text));
        }
    }

    /// Prints a warning, unless the log level of the component excludes it.
    fn warn(&self, component: &Component, text: &str) {
        if component.log_level.unwrap_or(self.log_level) <= LogLevel::Warning {
            print_warning(text);
        }
    }

    fn open(&self, key: SourceUse, warns: bool) -> Result<OpenedSource, Failure> {
        let Some(component) = self.graph.components.get(key.source) else {
            return Err(Failure::from_cause("Cannot find the source component"));
        };
        let Component { class, parameters, .. } = component;
        let warn = |text: &str| {
            if warns {
                self.warn(component, text);
            }
        };
        let debug_info = key.debug_info.and_then(|filter| self.debug_info.get(&filter));
        match class.name.as_str() {
            "fs" => ctf_fs::open(parameters, debug_info, &warn),
            "dmesg" => dmesg::open(parameters),
            _ => lttng_live::open(parameters, debug_info),
        }
    }
}
