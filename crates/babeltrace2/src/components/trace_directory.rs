//! Names of the directories that `sink.ctf.fs` creates.

use std::path::{Path, PathBuf};

use ichnos::model::Trace;
use ichnos::model::class::Value;

/// Returns the path of a new trace directory in an output directory. An existing path gets a number.
pub(crate) fn new_trace_directory(output: &Path, trace: &Trace) -> PathBuf {
    unique_path(output.join(sanitized(&relative_path(trace))))
}

/// Returns the path of a directory that does not exist yet, in which the first trace could be written.
pub(crate) fn place_for_trace(output: &Path) -> PathBuf {
    unique_path(output.join(TRACE))
}

/// Returns a path, with a number if it exists.
fn unique_path(path: PathBuf) -> PathBuf {
    let mut unique = path.clone();
    let mut number = 0_u64;
    while unique.exists() {
        let mut name = path.clone().into_os_string();
        name.push(format!("-{number}"));
        unique = name.into();
        number += 1;
    }
    unique
}

/// Returns the path of LTTng's own layout, otherwise the name of the trace.
fn relative_path(trace: &Trace) -> String {
    let name = || trace.given_name.clone().or_else(|| trace.class.name.clone());
    lttng_path(trace).or_else(name).unwrap_or_else(|| TRACE.to_owned())
}

/// Name of a trace without one.
const TRACE: &str = "trace";

/// Replaces `.` and `..` by underscores, and removes slashes at the end.
fn sanitized(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "." => "_",
        ".." => "__",
        part => part,
    });
    let path = parts.collect::<Vec<_>>().join("/");
    // A path from the root would leave the output directory.
    match path.trim_matches('/') {
        "" => TRACE.to_owned(),
        path => path.to_owned(),
    }
}

/// Returns the path that LTTng 2.11 and later describe in the environment.
fn lttng_path(trace: &Trace) -> Option<String> {
    let text = |name: &str| trace.class.environment(name).and_then(Value::as_text);
    let integer = |name: &str| match trace.class.environment(name) {
        Some(Value::Integer(value)) => Some(*value),
        _ => None,
    };
    let date_time = |name: &str| text(name).filter(|text| is_date_time(text));
    if !matches!(text("tracer_name")?, "lttng-ust" | "lttng-modules") {
        return None;
    }
    if (integer("tracer_major")?, integer("tracer_minor")?) < (2, 11) {
        return None;
    }
    let (host, name) = (text("hostname")?, text("trace_name")?);
    let created = date_time("trace_creation_datetime")?;
    let domain = text("domain")?;
    let path = format!("{host}/{name}-{created}/{domain}");
    match (domain, text("tracer_buffering_scheme")) {
        ("kernel", _) => Some(path),
        ("ust", Some("uid")) => {
            let (id, width) = (integer("tracer_buffering_id")?, integer("architecture_bit_width")?);
            Some(format!("{path}/uid/{id}/{width}-bit"))
        }
        ("ust", Some("pid")) => {
            let (process, id) = (text("procname")?, integer("vpid")?);
            Some(format!("{path}/pid/{process}-{id}-{}", date_time("vpid_datetime")?))
        }
        _ => None,
    }
}

/// Returns `true` for a date and a time in ISO 8601: `20210312T113045+0100`, or with separators.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.trim().split_once(['T', ' ']) else { return false };
    let digits = |text: &str, separator: char| -> Option<usize> {
        let parts: Vec<&str> = text.split(separator).collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        parts.iter().all(is_number).then(|| parts.iter().map(|part| part.len()).sum())
    };
    let time = time.trim_end_matches('Z');
    let (clock, zone) = match time.find(['+', '-']) {
        Some(at) => (&time[..at], Some(&time[at + 1..])),
        None => (time, None),
    };
    let clock = clock.split(['.', ',']).next().unwrap_or_default();
    digits(date, '-') == Some(8)
        && matches!(digits(clock, ':'), Some(4 | 6))
        && zone.is_none_or(|zone| matches!(digits(zone, ':'), Some(2 | 4)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichnos::model::TraceClass;
    use ichnos::model::trace::Limits;

    fn trace(name: Option<&str>, environment: &[(&str, Value)]) -> Trace {
        let mut class = TraceClass::new("CTF 1.8", [], []);
        class.environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let mut trace = Trace::new(class, "", &Limits::default()).unwrap();
        trace.given_name = name.map(str::to_owned);
        trace
    }

    #[test]
    fn names_are_safe() {
        let cases = [
            ("a/b/c", "a/b/c"),
            ("./a/../b", "_/a/__/b"),
            ("a//", "a"),
            ("/etc", "etc"),
            ("..a/.b", "..a/.b"),
            ("", "trace"),
            ("///", "trace"),
        ];
        for (name, expected) in cases {
            assert_eq!(sanitized(&relative_path(&trace(Some(name), &[]))), expected, "{name}");
        }
        assert_eq!(relative_path(&trace(None, &[])), "trace");
    }

    #[test]
    fn lttng_traces_have_their_own_layout() {
        let text = |text: &str| Value::Text(text.to_owned());
        let common = |domain: &str| {
            vec![
                ("tracer_name", text("lttng-ust")),
                ("tracer_major", Value::Integer(2)),
                ("tracer_minor", Value::Integer(12)),
                ("hostname", text("host")),
                ("trace_name", text("session")),
                ("trace_creation_datetime", text("20210312T113045+0100")),
                ("domain", text(domain)),
            ]
        };
        let kernel = common("kernel");
        assert_eq!(relative_path(&trace(Some("x"), &kernel)), "host/session-20210312T113045+0100/kernel");
        let mut ust = common("ust");
        assert_eq!(relative_path(&trace(Some("x"), &ust)), "x");
        ust.extend([
            ("tracer_buffering_scheme", text("uid")),
            ("tracer_buffering_id", Value::Integer(1000)),
            ("architecture_bit_width", Value::Integer(64)),
        ]);
        let expected = "host/session-20210312T113045+0100/ust/uid/1000/64-bit";
        assert_eq!(relative_path(&trace(Some("x"), &ust)), expected);
        ust[2].1 = Value::Integer(10);
        assert_eq!(relative_path(&trace(Some("x"), &ust)), "x");
    }

    #[test]
    fn dates_are_recognized() {
        for text in ["20210312T113045+0100", "2021-03-12T11:30:45Z", "2021-03-12 11:30:45.5"] {
            assert!(is_date_time(text), "{text}");
        }
        for text in ["", "20210312", "2021T1", "20210312T1130x5", "now"] {
            assert!(!is_date_time(text), "{text}");
        }
    }
}
