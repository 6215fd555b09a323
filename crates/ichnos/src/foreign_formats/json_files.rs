//! Other programs' JSON files: documents and logger lines.

use super::first_object::FirstObject;
use super::{Advice, ForeignFormat, loggers};

/// Returns the type of a file that starts with `{` or `[`.
pub(super) fn recognize(text: &str) -> ForeignFormat {
    let first = FirstObject::from_text(text);
    if let Some(known) = document(&first) {
        return known;
    }
    if !first.is_element
        && let Some(known) = loggers::recognize(&first)
    {
        return known;
    }
    // Its events may come after other members.
    let has = |part: &str| text.contains(part);
    if has("\"traceEvents\"") || (has("\"ph\"") && has("\"ts\"")) {
        return CHROME;
    }
    if first.is_line {
        return ForeignFormat {
            advice: Some(Advice::Jq("{ts: .TIME, name: .NAME, payload: .}")),
            ..ForeignFormat::other("JSON Lines from another program")
        };
    }
    ForeignFormat::other("a JSON file")
}

const CHROME: ForeignFormat =
    ForeignFormat::trace("a trace in Chrome's JSON format").advising("https://ui.perfetto.dev shows it");

/// Recognizes a document by the members of its outermost object.
fn document(first: &FirstObject<'_>) -> Option<ForeignFormat> {
    const OTLP: [&str; 8] = [
        "resourceSpans",
        "resourceLogs",
        "resourceMetrics",
        "resourceProfiles",
        "resource_spans",
        "resource_logs",
        "resource_metrics",
        "resource_profiles",
    ];
    let has = |names: &[&str]| first.has(names);
    if first.is_element {
        return if has(&["traceId", "id"]) {
            Some(ForeignFormat::trace("Zipkin spans (JSON)"))
        } else if has(&["ph"]) && (has(&["ts"]) || has(&["name"])) {
            Some(CHROME)
        } else {
            None
        };
    }
    let speedscope = || first.value("$schema").is_some_and(|schema| schema.contains("speedscope"));
    Some(if has(&["traceEvents"]) || has(&["displayTimeUnit"]) {
        CHROME
    } else if OTLP.iter().any(|name| has(&[name])) {
        ForeignFormat::trace("OpenTelemetry data (OTLP in JSON)")
    } else if first.object("data").has(&["traceID"]) {
        ForeignFormat::trace("Jaeger spans (JSON)")
    } else if speedscope() || has(&["shared", "profiles"]) {
        ForeignFormat::trace("a speedscope profile").advising("https://www.speedscope.app shows it")
    } else if first.object("meta").has(&["interval"])
        || first.object("meta").has(&["preprocessedProfileVersion"])
    {
        ForeignFormat::trace("a Firefox profile").advising("https://profiler.firefox.com shows it")
    } else if first.object("log").has(&["version", "creator"]) || first.object("log").has(&["entries"]) {
        ForeignFormat::trace("a HAR file (requests of a browser)")
    } else if first.object("nodes").has(&["callFrame"]) {
        ForeignFormat::trace("a V8 CPU profile (.cpuprofile)").advising("https://www.speedscope.app shows it")
    } else if first.object("head").has(&["callFrame"]) {
        ForeignFormat::other("a V8 heap profile (.heapprofile)")
    } else if first.object("snapshot").has(&["meta"]) {
        ForeignFormat::other("a V8 heap snapshot")
    } else if first.object("constants").has(&["logEventTypes"]) || has(&["constants", "events"]) {
        ForeignFormat::trace("a Chrome NetLog")
    } else {
        return None;
    })
}
