//! Source components of a graph.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use ichnos::debug_info::DebugInfo;
use ichnos::export::printable;

use crate::command::{Component, Failure, Graph, LogLevel};
use crate::components::source::OpenedSource;
use crate::components::{ctf_fs, debug_info, dmesg, lttng_live};

/// Sources by their index in [`Graph::components`]. A sink that merges several sources closes them.
pub(crate) struct Sources<'g> {
    graph: &'g Graph,
    log_level: LogLevel,
    opened: HashMap<usize, OpenedSource>,
    /// Debug information of the graph's `filter.lttng-utils.debug-info`. Events of all sources get it, because it is
    /// known only later which of them reach the filter. Sinks without the filter do not show it.
    debug_info: Option<Arc<DebugInfo>>,
}

impl<'g> Sources<'g> {
    /// Creates the list without sources.
    pub(crate) fn new(graph: &'g Graph, log_level: LogLevel) -> Self {
        let filter = graph.components.iter().find(|component| debug_info::is_filter(component));
        let debug_info = filter.map(|component| debug_info::create(&component.parameters));
        Self { graph, log_level, opened: HashMap::new(), debug_info }
    }

    /// Opens a source, and reports warnings.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn add(&mut self, index: usize) -> Result<(), Failure> {
        let source = self.open(index, true)?;
        self.opened.insert(index, source);
        Ok(())
    }

    /// Returns the open source with this index.
    pub(crate) fn get(&self, index: usize) -> Option<&OpenedSource> {
        self.opened.get(&index)
    }

    /// Returns the open sources with their indexes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &OpenedSource)> {
        self.opened.iter().map(|(index, source)| (*index, source))
    }

    /// Removes a source for a sink that closes it. Opens it again if an earlier sink has closed it.
    ///
    /// # Errors
    /// If it cannot be read again.
    pub(crate) fn take(&mut self, index: usize) -> Result<OpenedSource, Failure> {
        match self.opened.remove(&index) {
            Some(source) => Ok(source),
            None => self.open(index, false),
        }
    }

    /// Keeps a source for later sinks.
    pub(crate) fn keep(&mut self, index: usize, source: OpenedSource) {
        self.opened.insert(index, source);
    }

    fn open(&self, index: usize, warns: bool) -> Result<OpenedSource, Failure> {
        let Some(component) = self.graph.components.get(index) else {
            return Err(Failure::from_cause("Cannot find the source component"));
        };
        let Component { class, parameters, log_level, .. } = component;
        let warns = warns && log_level.unwrap_or(self.log_level) <= LogLevel::Warning;
        let warn = |text: &str| {
            if warns {
                // Nobody may read warnings.
                let _ = writeln!(io::stderr(), "WARNING: {}", printable(text));
            }
        };
        match class.name.as_str() {
            "fs" => ctf_fs::open(parameters, self.debug_info.as_ref(), &warn),
            "dmesg" => dmesg::open(parameters),
            _ => Err(lttng_live::refusal()),
        }
    }
}
