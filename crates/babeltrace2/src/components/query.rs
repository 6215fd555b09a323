//! Queries of component classes.

use std::path::Path;

use ichnos::model::trace::StreamSummary;

use crate::command::{ComponentClass, ComponentKind, Failure};
use crate::component_list::{ClassInfo, ParameterInfo, ParameterKind, class_info, missing_class};
use crate::components::live_url::is_session_address;
use crate::components::parameter_values::Parameters;
use crate::components::source::{OpenedSource, Port};
use crate::components::{ctf_fs, ctf_identity::TraceIdentity, ctf_metadata, lttng_live};
use crate::native_text::path_of;
use crate::parameter_check::check_parameters;
use crate::value::{Map, ParameterValue};

/// Parameters of queries.
static METADATA_INFO: ClassInfo = query_object("metadata-info", &[text("path")]);
static SESSIONS: ClassInfo = query_object("sessions", &[text("url")]);
static SUPPORT_INFO: ClassInfo = query_object("babeltrace.support-info", &[text("type"), text("input")]);

const fn query_object(name: &'static str, parameters: &'static [ParameterInfo]) -> ClassInfo {
    ClassInfo { kind: ComponentKind::Source, name, description: "", parameters }
}

const fn text(name: &'static str) -> ParameterInfo {
    ParameterInfo { name, kind: ParameterKind::Text, is_required: true, description: "" }
}

/// Confidence that a directory with valid metadata is a CTF trace.
const CTF_WEIGHT: f64 = 0.75;

/// Answers a query.
///
/// # Errors
/// If the component class or the object is unknown, or if a parameter is invalid.
pub(crate) fn query(
    class: &ComponentClass,
    object: &str,
    parameters: &Map,
) -> Result<ParameterValue, Failure> {
    let Some(info) = class_info(class) else { return Err(Failure::from_cause(missing_class(class))) };
    let is_source = class.kind == ComponentKind::Source;
    let answer = match (class.plugin.as_str(), class.name.as_str(), object) {
        ("ctf", "fs", "metadata-info") if is_source => metadata_info(parameters),
        ("ctf", "fs", "babeltrace.trace-infos") if is_source => trace_infos(info, parameters),
        ("ctf", "fs", "babeltrace.support-info") if is_source => support_info(parameters),
        ("ctf", "lttng-live", "babeltrace.support-info") if is_source => live_support_info(parameters),
        ("ctf", "lttng-live", "sessions") if is_source => live_sessions(parameters),
        _ => Err(Failure::from_cause(format!("Unknown query object `{object}`"))),
    };
    answer.map_err(|failure| {
        let ComponentClass { plugin, name, .. } = class;
        let kind = match class.kind {
            ComponentKind::Source => "SOURCE",
            ComponentKind::Filter => "FILTER",
            ComponentKind::Sink => "SINK",
        };
        failure.in_context(format!(
            "Failed to query component class: plugin-name=\"{plugin}\", comp-cls-name=\"{name}\", \
            comp-cls-type={kind} object=\"{object}\""
        ))
    })
}

fn metadata_info(parameters: &Map) -> Result<ParameterValue, Failure> {
    check_parameters(&METADATA_INFO, parameters).map_err(Failure::from_cause)?;
    let parameters = Parameters(parameters);
    let path = ctf_fs::normalized(&path_of(parameters.text("path").unwrap_or_default()));
    let metadata = ctf_metadata::metadata_text(&path)?;
    let mut answer = Map::default();
    answer.insert("text", ParameterValue::Text(String::from_utf8_lossy(&metadata.text).into_owned()));
    answer.insert("is-packetized", ParameterValue::Boolean(metadata.is_packetized));
    Ok(ParameterValue::Map(answer))
}

fn support_info(parameters: &Map) -> Result<ParameterValue, Failure> {
    check_parameters(&SUPPORT_INFO, parameters).map_err(Failure::from_cause)?;
    let parameters = Parameters(parameters);
    if parameters.text("type") != Some("directory") {
        return Ok(weight(0.0));
    }
    let support = ctf_support(&path_of(parameters.text("input").unwrap_or_default()))?;
    let Some(group) = support else { return Ok(weight(0.0)) };
    let mut answer = Map::default();
    answer.insert("weight", ParameterValue::Real(CTF_WEIGHT));
    if let Some(group) = group {
        answer.insert("group", ParameterValue::Text(group));
    }
    Ok(ParameterValue::Map(answer))
}

/// Returns the group of the trace in a directory, if it has an identity. Returns `None` without a trace.
///
/// # Errors
/// If the metadata is invalid.
pub(crate) fn ctf_support(directory: &Path) -> Result<Option<Option<String>>, Failure> {
    let metadata = ctf_metadata::parse_metadata(directory)?;
    Ok(metadata.map(|metadata| TraceIdentity::of_class(&metadata.trace).map(|identity| identity.group())))
}

fn live_support_info(parameters: &Map) -> Result<ParameterValue, Failure> {
    check_parameters(&SUPPORT_INFO, parameters).map_err(Failure::from_cause)?;
    let parameters = Parameters(parameters);
    let input = parameters.text("input").unwrap_or_default();
    let is_address = parameters.text("type") == Some("string") && is_session_address(input);
    // Unlike for `source.ctf.fs`, the answer is only the weight.
    Ok(ParameterValue::Real(if is_address { CTF_WEIGHT } else { 0.0 }))
}

fn live_sessions(parameters: &Map) -> Result<ParameterValue, Failure> {
    check_parameters(&SESSIONS, parameters).map_err(Failure::from_cause)?;
    lttng_live::sessions_value(Parameters(parameters).text("url").unwrap_or_default())
}

fn weight(weight: f64) -> ParameterValue {
    let mut answer = Map::default();
    answer.insert("weight", ParameterValue::Real(weight));
    ParameterValue::Map(answer)
}

fn trace_infos(class: &ClassInfo, parameters: &Map) -> Result<ParameterValue, Failure> {
    check_parameters(class, parameters).map_err(Failure::from_cause)?;
    let source = ctf_fs::open(parameters, None, &|_| {})?;
    Ok(ParameterValue::Array(vec![ParameterValue::Map(trace_info(&source)?)]))
}

fn trace_info(source: &OpenedSource) -> Result<Map, Failure> {
    let summaries: Vec<Vec<StreamSummary>> =
        source.session.traces().iter().map(|trace| trace.streams()).collect();
    let summary = |port: &Port| summaries.get(port.trace).and_then(|streams| streams.get(port.stream));
    if source.ports.is_empty() {
        return Err(no_streams(source));
    }
    let streams = source.ports.iter().map(|port| {
        let mut info = Map::default();
        if let Some((begin, end)) = summary(port).and_then(packet_range) {
            let mut range = Map::default();
            range.insert("begin", ParameterValue::Signed(begin));
            range.insert("end", ParameterValue::Signed(end));
            info.insert("range-ns", ParameterValue::Map(range));
        }
        info.insert("port-name", ParameterValue::Text(port.name.clone()));
        ParameterValue::Map(info)
    });
    let mut info = Map::default();
    info.insert("stream-infos", ParameterValue::Array(streams.collect()));
    Ok(info)
}

/// Returns the time range of a data stream, if its packets have times.
fn packet_range(summary: &StreamSummary) -> Option<(i64, i64)> {
    let (begin, end) = summary.active_range?;
    Some((i64::try_from(begin).ok()?, i64::try_from(end).ok()?))
}

/// Returns the failure for a trace without data streams.
pub(crate) fn no_streams(source: &OpenedSource) -> Failure {
    let path = source.session.traces().first().map(|trace| trace.path()).unwrap_or_default();
    Failure::from_cause(format!("Trace has no streams: trace-path={path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LTTNG: &str = "hello-lttng/trace/ust/uid/65534/64-bit";

    fn class(name: &str) -> ComponentClass {
        ComponentClass { kind: ComponentKind::Source, plugin: "ctf".to_owned(), name: name.to_owned() }
    }

    fn example(name: &str) -> ParameterValue {
        ParameterValue::Text(format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR")))
    }

    fn ask(object: &str, parameters: &[(&str, ParameterValue)]) -> Result<ParameterValue, Failure> {
        let mut map = Map::default();
        parameters.iter().for_each(|(name, value)| map.insert(*name, value.clone()));
        query(&class("fs"), object, &map)
    }

    fn member<'a>(value: &'a ParameterValue, name: &str) -> Option<&'a ParameterValue> {
        let ParameterValue::Map(map) = value else { panic!("{value:?}") };
        map.get(name)
    }

    #[test]
    fn support_depends_on_metadata() {
        let kind = |kind: &str| ParameterValue::Text(kind.to_owned());
        let weight_of = |input: &str, of: &str| {
            let answer =
                ask("babeltrace.support-info", &[("input", example(input)), ("type", kind(of))]).unwrap();
            member(&answer, "weight").cloned()
        };
        assert_eq!(weight_of(LTTNG, "directory"), Some(ParameterValue::Real(0.75)));
        assert_eq!(weight_of(LTTNG, "file"), Some(ParameterValue::Real(0.0)));
        assert_eq!(weight_of("", "directory"), Some(ParameterValue::Real(0.0)));
        let failure = ask("babeltrace.support-info", &[]).unwrap_err();
        assert!(failure.causes[1].contains("missing mandatory entry `type`"), "{failure:?}");
    }

    #[test]
    fn traces_have_streams_with_ports() {
        let answer =
            ask("babeltrace.trace-infos", &[("inputs", ParameterValue::Array(vec![example(LTTNG)]))]);
        let ParameterValue::Array(traces) = answer.unwrap() else { panic!("expected an array") };
        let Some(ParameterValue::Array(streams)) = member(&traces[0], "stream-infos") else {
            panic!("{traces:?}")
        };
        for stream in streams {
            assert!(matches!(member(stream, "port-name"), Some(ParameterValue::Text(_))));
            assert!(matches!(member(stream, "range-ns"), Some(ParameterValue::Map(_))));
        }
        assert!(!streams.is_empty());
    }

    #[test]
    fn unknown_objects_and_classes_are_refused() {
        let failure = ask("sundial", &[]).unwrap_err();
        assert_eq!(failure.causes[1], "Unknown query object `sundial`");
        let failure = query(&class("sundial"), "babeltrace.trace-infos", &Map::default()).unwrap_err();
        assert!(failure.causes[0].starts_with("Cannot find component class"), "{failure:?}");
        let answer = ask("metadata-info", &[("path", example(LTTNG))]).unwrap();
        assert!(matches!(member(&answer, "is-packetized"), Some(ParameterValue::Boolean(_))));
    }
}
