//! Logger JSON Lines, recognized by the members of the first line.

use super::first_object::FirstObject;
use super::{Advice, ForeignFormat};

/// Logger with recognizable lines.
struct KnownLogger {
    what: &'static str,
    /// Members of each line.
    members: &'static [&'static str],
    /// Numeric member.
    number: Option<&'static str>,
    /// jq program that converts it to JSON Lines. Fractional times have the precision of floating-point numbers.
    jq: &'static str,
}

const fn logger(what: &'static str, members: &'static [&'static str], jq: &'static str) -> KnownLogger {
    KnownLogger { what, members, number: None, jq }
}

/// Logger whose lines have a numeric member.
const fn with_number(
    what: &'static str,
    members: &'static [&'static str],
    number: &'static str,
    jq: &'static str,
) -> KnownLogger {
    KnownLogger { number: Some(number), ..logger(what, members, jq) }
}

/// Times in `time` and names in `name`, and lines without a name.
const TIME_AND_NAME: &str = "{time, name, payload: .}";
const TIME: &str = r#"{time, name: "log", payload: .}"#;
const TIMESTAMP: &str = r#"{time: .timestamp, name: "log", payload: .}"#;

/// Loggers. The first logger whose members are present counts.
const LOGGERS: &[KnownLogger] = &[
    logger("a bunyan log", &["v", "name", "hostname", "pid", "level", "msg", "time"], TIME_AND_NAME),
    with_number(
        "a pino log",
        &["level", "time", "pid", "hostname"],
        "time",
        r#"{ts: "\(.time)000000", name: (.name // "log"), payload: .}"#,
    ),
    logger(
        "a tracing-subscriber log (Rust)",
        &["timestamp", "level", "target"],
        "{time: .timestamp, name: .target, payload: .}",
    ),
    logger("a slog or logrus log (Go)", &["time", "level", "msg"], TIME),
    // In jq, a text times a number is the text that many times.
    with_number(
        "a zap or Caddy log (Go)",
        &["level", "ts", "msg"],
        "ts",
        r#"{ts: (.ts * 1000000000 | floor), name: (.logger // "log"), payload: .}"#,
    ),
    with_number(
        "a klog log (Kubernetes)",
        &["ts", "caller", "msg"],
        "ts",
        r#"{ts: (.ts * 1000000 | floor), name: "log", payload: .}"#,
    ),
    logger(
        "a zap or go-kit log (Go)",
        &["level", "ts", "msg"],
        r#"{time: .ts, name: (.logger // "log"), payload: .}"#,
    ),
    with_number(
        "a zerolog log (Go)",
        &["level", "time"],
        "time",
        r#"{ts: "\(.time)000000000", name: "log", payload: .}"#,
    ),
    logger(
        "an NLog or loguru log",
        &["time", "level", "message"],
        r#"{time: (.time | sub(" "; "T") | sub("Z?$"; "Z")), name: "log", payload: .}"#,
    ),
    logger(
        "a structlog log (Python)",
        &["event", "timestamp"],
        r#"{time: .timestamp, name: (.logger // "log"), payload: .}"#,
    ),
    logger(
        "a python-json-logger log",
        &["asctime", "message"],
        r#"{time: (.asctime | sub(" "; "T") | sub(","; ".") + "Z"), name: (.name // "log"), payload: .}"#,
    ),
    logger(
        "a Log4j log (JSON layout)",
        &["instant", "level"],
        r#"{ts: (.instant | "\(.epochSecond)\(.nanoOfSecond + 1000000000 | tostring[1:])"), name: .loggerName, payload: .}"#,
    ),
    with_number(
        "a Log4j log (JSON layout)",
        &["timeMillis", "level"],
        "timeMillis",
        r#"{ts: "\(.timeMillis)000000", name: .loggerName, payload: .}"#,
    ),
    logger(
        "a Logback or Logstash log",
        &["@timestamp", "@version"],
        r#"{time: ."@timestamp", name: (.logger_name // "log"), payload: .}"#,
    ),
    logger(
        "a log in Elastic Common Schema (ECS)",
        &["@timestamp", "ecs.version"],
        r#"{time: ."@timestamp", name: (."log.logger" // "log"), payload: .}"#,
    ),
    logger(
        "a log in Elastic Common Schema (ECS)",
        &["@timestamp", "ecs"],
        r#"{time: ."@timestamp", name: (.log.logger // "log"), payload: .}"#,
    ),
    logger(
        "an hclog log (Go)",
        &["@timestamp", "@level", "@message"],
        r#"{time: ."@timestamp", name: (."@module" // "log"), payload: .}"#,
    ),
    logger(
        "a Serilog log (compact JSON)",
        &["@t"],
        r#"{time: ."@t", name: (.SourceContext // "log"), payload: .}"#,
    ),
    logger(
        "a Serilog log (JSON)",
        &["Timestamp", "Level", "MessageTemplate"],
        r#"{time: .Timestamp, name: (.Properties.SourceContext // "log"), payload: .}"#,
    ),
    with_number(
        "GELF messages (Graylog)",
        &["version", "host", "short_message", "timestamp"],
        "timestamp",
        "{ts: (.timestamp * 1000000000 | floor), name: .host, payload: .}",
    ),
    logger(
        "a systemd journal as JSON",
        &["__REALTIME_TIMESTAMP"],
        r#"{ts: "\(.__REALTIME_TIMESTAMP)000", name: (.SYSLOG_IDENTIFIER // "log"), payload: .}"#,
    ),
    logger("a Docker log (json-file)", &["log", "stream", "time"], "{time, name: .stream, payload: .}"),
    logger(
        "a Monolog log (PHP)",
        &["message", "channel", "datetime"],
        "{time: .datetime, name: .channel, payload: .}",
    ),
    logger("a MongoDB log", &["t", "s", "c", "ctx"], r#"{time: .t."$date", name: .c, payload: .}"#),
    logger(
        "Suricata events (EVE)",
        &["timestamp", "event_type"],
        r#"{time: (.timestamp | sub("(?<z>[0-9][0-9])$"; ":\(.z)")), name: .event_type, payload: .}"#,
    ),
    logger("CloudEvents", &["specversion", "source", "type"], "{time, name: .type, payload: .}"),
    logger(
        "a Semantic Logger log (Ruby)",
        &["timestamp", "level", "name", "application"],
        "{time: .timestamp, name, payload: .}",
    ),
    logger("a Google Cloud log", &["severity", "timestamp"], TIMESTAMP),
    logger("a winston log (Node.js)", &["level", "message", "timestamp"], TIMESTAMP),
    logger("a log without times, of winston or another logger", &["level", "message"], TIMESTAMP),
];

/// Recognizes lines by the first line.
pub(super) fn recognize(first: &FirstObject<'_>) -> Option<ForeignFormat> {
    let is_of = |logger: &&KnownLogger| {
        first.has(logger.members) && logger.number.is_none_or(|number| first.has_number(number))
    };
    let logger = LOGGERS.iter().find(is_of)?;
    Some(ForeignFormat { advice: Some(Advice::Jq(logger.jq)), ..ForeignFormat::trace(logger.what) })
}
