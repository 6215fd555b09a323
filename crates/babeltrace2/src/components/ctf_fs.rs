//! `source.ctf.fs`: CTF traces on disk.

use std::path::{Component as PathPart, Path, PathBuf};
use std::sync::Arc;

use ichnos::debug_info::DebugInfo;
use ichnos::io::BabeltraceRules;
use ichnos::model::OpenedTrace;
use ichnos::model::class::Role;
use ichnos::model::clock::ClockArithmetic;
use ichnos::model::message::{Damage, DamageKind};
use ichnos::model::trace::{FileDiagnostic, Severity};
use ichnos::{OpenError, OpenOptions, Session};

use crate::command::Failure;
use crate::components::ctf_errors::{self, damage_cause, is_refused, metadata_causes};
use crate::components::ctf_identity::TraceIdentity;
use crate::components::parameter_values::Parameters;
use crate::components::source::{OpenedSource, Port};
use crate::native_text::{path_of, readable};
use crate::value::Map;

/// Nanoseconds in a second.
const BILLION: i128 = 1_000_000_000;

/// Opens the traces of a component. Events get the debug information, if any. `warn` receives warnings.
///
/// # Errors
/// If a trace cannot be read.
pub(crate) fn open(
    parameters: &Map,
    debug_info: Option<&Arc<DebugInfo>>,
    warn: &dyn Fn(&str),
) -> Result<OpenedSource, Failure> {
    let parameters = Parameters(parameters);
    let mut inputs: Vec<PathBuf> =
        parameters.texts("inputs").into_iter().map(|input| normalized(&path_of(input))).collect();
    inputs.sort();
    for input in &inputs {
        if !input.join("metadata").is_file() {
            let path = input.display();
            return Err(Failure::from_cause(format!(
                "Path is not a CTF trace (does not contain a metadata file): `{path}`."
            )));
        }
    }
    let session = open_session(&inputs, options(parameters, debug_info))?;
    for trace in session.traces() {
        check(trace.as_ref(), warn)?;
    }
    check_identities(&session, &inputs)?;
    let ports = ports(&session);
    Ok(OpenedSource { session, ports })
}

/// Returns the options for traces of a component.
pub(crate) fn options(parameters: Parameters<'_>, debug_info: Option<&Arc<DebugInfo>>) -> OpenOptions {
    let mut options = OpenOptions::default();
    options.debug_info = debug_info.cloned();
    let offset = |name| i128::from(parameters.signed(name).unwrap_or(0));
    options.read.clock_offsets.all =
        offset("clock-class-offset-s") * BILLION + offset("clock-class-offset-ns");
    options.read.clock_offsets.from_unix_epoch = parameters.is_set("force-clock-class-origin-unix-epoch");
    options.read.clock_arithmetic = ClockArithmetic::Double;
    let mut rules = BabeltraceRules::default();
    rules.trace_name = parameters.text("trace-name").map(|name| readable(name).into_owned());
    options.read.babeltrace = Some(rules);
    options.format = Some("ctf".to_owned());
    options.require_all = true;
    // All inputs are parts of one trace, even if its clock was set between them.
    options.assume_correlated = true;
    options
}

fn open_session(inputs: &[PathBuf], options: OpenOptions) -> Result<Session, Failure> {
    let cannot = || {
        let paths: Vec<String> = inputs.iter().map(|input| input.display().to_string()).collect();
        format!("Cannot create trace for `{}`.", paths.join("`, `"))
    };
    let refused = |causes: Vec<String>| Failure { causes, exit_code: 1 }.in_context(cannot());
    // The path of the metadata means its trace alone, without traces in directories below.
    let metadata = inputs.iter().map(|input| input.join("metadata"));
    let session = match ichnos::open(metadata, &options) {
        Ok(session) => session,
        Err(OpenError::Refused(traces)) => {
            return Err(refused(
                traces.iter().flat_map(|trace| metadata_causes(&trace.diagnostics)).collect(),
            ));
        }
        Err(error) => return Err(Failure::from_cause(error.to_string()).in_context(cannot())),
    };
    match session.refused() {
        [] => Ok(session),
        traces => Err(refused(traces.iter().flat_map(|trace| metadata_causes(&trace.diagnostics)).collect())),
    }
}

/// Refuses a trace that Babeltrace does not open, and reports its other problems.
fn check(trace: &dyn OpenedTrace, warn: &dyn Fn(&str)) -> Result<(), Failure> {
    let class = &trace.trace().class;
    if trace.dialect() != Some(CTF_1)
        && trace.dialect() != Some(CTF_1_PACKETS)
        && class.data_streams.is_empty()
    {
        let cause = "Missing data stream class fragment in metadata stream.";
        return Err(Failure::from_cause(cause).in_context(cannot_create(trace)));
    }
    let is_warning = |problem: &&FileDiagnostic| problem.diagnostic.severity == Severity::Warning;
    for problem in trace.diagnostics().iter().filter(is_warning) {
        warn(&ctf_errors::warning(problem));
    }
    // Babeltrace believes the sizes in an index until it reads the packets.
    let is_late = |damage: &Damage| {
        matches!(damage.kind, DamageKind::PacketWithin { .. }) && has_index(Path::new(&damage.file))
    };
    let is_found = |damage: &&Damage| is_refused(damage) && !is_late(damage);
    let mut damage = trace.damage().iter().find(is_found).cloned();
    trace.for_each_stream(&mut |summary| {
        if damage.is_none() {
            damage = summary.damage.iter().find(is_found).cloned();
        }
    });
    let Some(damage) = damage else { return Ok(()) };
    let file = &damage.file;
    Err(Failure::from_cause(damage_cause(&damage))
        .in_context(format!("Failed to index CTF stream file '{file}'"))
        .in_context(format!("Cannot add stream file `{file}` to stream file group"))
        .in_context(cannot_create(trace)))
}

/// Returns `true` for a file with an LTTng index.
fn has_index(file: &Path) -> bool {
    let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else { return false };
    let mut name = name.to_owned();
    name.push(".idx");
    directory.join("index").join(name).is_file()
}

/// Names of the dialects of CTF 1.8.
const CTF_1: &str = "ctf1.8";
const CTF_1_PACKETS: &str = "ctf1.8-packetized";

/// Returns `true` if no trace is CTF 2.
pub(crate) fn is_plain(session: &Session) -> bool {
    session.traces().iter().all(|trace| matches!(trace.dialect(), None | Some(CTF_1 | CTF_1_PACKETS)))
}

fn cannot_create(trace: &dyn OpenedTrace) -> String {
    format!("Cannot create trace for `{}`.", trace.path())
}

/// Checks that all inputs are parts of the same trace. Inputs without an identity are not, even if they are equal.
fn check_identities(session: &Session, inputs: &[PathBuf]) -> Result<(), Failure> {
    let mut identities = session
        .traces()
        .iter()
        .map(|trace| (Path::new(trace.path()), TraceIdentity::of_class(&trace.trace().class)));
    let Some((path, first)) = identities.next() else { return Ok(()) };
    let other = match &first {
        Some(_) => identities.find(|(_, other)| *other != first).map(|(path, _)| path),
        None => Some(path).filter(|_| inputs.len() > 1),
    };
    match other {
        Some(path) => Err(Failure::from_cause(format!(
            "Multiple traces given, but identities don't match: trace-path={}",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Returns a port for each data stream.
fn ports(session: &Session) -> Vec<Port> {
    let mut ports = Vec::new();
    for (trace, opened) in session.traces().iter().enumerate() {
        let class = &opened.trace().class;
        let of_trace = match TraceIdentity::of_class(class) {
            Some(identity) => identity.port_name(),
            None => opened.path().to_owned(),
        };
        let has_ids =
            class.packet_header.as_deref().is_some_and(|header| header.has_role(Role::DataStreamId));
        let mut found: Vec<(Port, String)> = Vec::new();
        for (stream, data) in opened.data_streams().into_iter().enumerate() {
            let id = match data.id.filter(|_| has_ids) {
                Some(id) => id.to_string(),
                None => data.name.to_string(),
            };
            let name = format!("{of_trace} | {} | {id}", data.class().id);
            found.push((Port { name, trace, stream }, data.name.to_string()));
        }
        // Ports are in the order of the first files of their data streams.
        found.sort_by(|(_, a), (_, b)| a.cmp(b));
        ports.extend(found.into_iter().map(|(port, _)| port));
    }
    ports
}

/// Returns an absolute path without `.`, `..` and repeated separators. Links are not followed.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut parts = PathBuf::new();
    for part in absolute.components() {
        match part {
            PathPart::CurDir => {}
            PathPart::ParentDir => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ParameterValue;

    const LTTNG: &str = "hello-lttng/trace/ust/uid/65534/64-bit";

    pub(super) fn example(name: &str) -> String {
        format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    fn parameters(input: &str) -> Map {
        let mut map = Map::default();
        map.insert("inputs", ParameterValue::Array(vec![ParameterValue::Text(input.to_owned())]));
        map
    }

    #[test]
    fn traces_are_opened() {
        let source = open(&parameters(&example(LTTNG)), None, &|_| {}).unwrap();
        assert_eq!(source.session.traces().len(), 1);
        assert_eq!(source.ports.len(), source.session.traces()[0].data_streams().len());
        let trace = source.session.traces()[0].path();
        assert!(trace.ends_with(LTTNG) && !trace.contains(".."), "{trace}");
        for port in &source.ports {
            assert!(port.name.contains(" | 0 | "), "{}", port.name);
        }
    }

    #[test]
    fn other_directories_are_refused() {
        let failure = open(&parameters(&example("")), None, &|_| {}).err().unwrap();
        assert!(failure.causes[0].starts_with("Path is not a CTF trace"), "{failure:?}");
    }

    #[test]
    fn paths_are_normalized() {
        let cases = [("/a//b/./c", "/a/b/c"), ("/a/../../b/", "/b"), ("/", "/")];
        for (path, expected) in cases {
            assert_eq!(normalized(Path::new(path)), Path::new(expected));
        }
        assert!(normalized(Path::new("a")).is_absolute());
    }
}
