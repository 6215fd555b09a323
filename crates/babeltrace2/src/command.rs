//! Commands, as the command line describes them.

use crate::value::{Map, ParameterValue};

/// A whole command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Command {
    /// Log level of the program (`--log-level`, `--debug`, `--verbose`), if any.
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) action: Action,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Prints a text, and ends successfully: help, version, lists of plugins, `--run-args`.
    Print(String),
    /// Runs a graph of components.
    Run(Graph),
    /// Queries an object of a component class.
    Query { class: ComponentClass, object: String, parameters: Map },
    /// Prints the metadata text of a trace (`-o ctf-metadata`).
    PrintMetadata { path: String, output: Option<String> },
    /// Prints the sessions of a relay (an LTTng live address without a session).
    PrintLiveSessions { url: String, output: Option<String> },
}

/// Kind of a component class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComponentKind {
    Source,
    Filter,
    Sink,
}

/// Name of a component class: `source.ctf.fs` is the class `fs` of the plugin `ctf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComponentClass {
    pub(crate) kind: ComponentKind,
    pub(crate) plugin: String,
    pub(crate) name: String,
}

/// A component to create.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) class: ComponentClass,
    pub(crate) parameters: Map,
    pub(crate) log_level: Option<LogLevel>,
}

/// A connection from components that send messages to components that receive them. Each name is a glob pattern; without
/// a port pattern, it is `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) upstream: String,
    pub(crate) upstream_port: String,
    pub(crate) downstream: String,
    pub(crate) downstream_port: String,
}

/// A graph of components.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Graph {
    /// Components in the order of the command line.
    pub(crate) components: Vec<Component>,
    pub(crate) connections: Vec<Connection>,
    /// Microseconds to wait before another attempt if a component has nothing to do.
    pub(crate) retry_duration: u64,
    /// Allowed message interchange protocol versions, `None` for all.
    pub(crate) protocol_versions: Option<Vec<u64>>,
    /// `true` if sources only deliver the time range in which all data streams of a trace are active
    /// (`--stream-intersection`).
    pub(crate) is_intersected: bool,
}

/// Log level, the most detailed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    Trace,
    Debug,
    Info,
    Warning,
    Error,
    Fatal,
    None,
}

/// A source that was found for inputs of `convert`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundSource {
    pub(crate) class: ComponentClass,
    pub(crate) inputs: Vec<ParameterValue>,
    /// Indexes of the original inputs that contributed to it.
    pub(crate) original_inputs: Vec<usize>,
}

/// Failure of a command: the causes, the outermost first, and the exit code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) causes: Vec<String>,
    pub(crate) exit_code: u8,
}
