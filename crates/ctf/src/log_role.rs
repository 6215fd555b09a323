//! Log roles: events with a log level, and logging library messages that LTTng records, become log lines.

use std::sync::Arc;

use ichnos_model::class::{EventRecordClass, Member};
use ichnos_model::log::{LevelScale, LevelStep, LogLevel, LogRole, LogSeverity, LogText};
use ichnos_model::meaning::{Meaning, Meanings};
use ichnos_model::{Scope, TraceClass};

use crate::known_events::{has_member, members};

/// LTTng log levels, also used by barectf: from EMERG, 0, to DEBUG, 14. Levels up to 6 equal syslog. Each level has a
/// distinct number.
const LTTNG: LevelScale = LevelScale(&[
    LevelStep::new(0, LogLevel::Fatal),
    LevelStep::new(1, LogLevel::Fatal),
    LevelStep::new(2, LogLevel::Fatal),
    LevelStep::new(3, LogLevel::Error),
    LevelStep::new(4, LogLevel::Warn),
    LevelStep::new(5, LogLevel::Info),
    LevelStep::new(6, LogLevel::Info),
    LevelStep::new(7, LogLevel::Debug),
    LevelStep::new(8, LogLevel::Debug),
    LevelStep::new(9, LogLevel::Debug),
    LevelStep::new(10, LogLevel::Debug),
    LevelStep::new(11, LogLevel::Debug),
    LevelStep::new(12, LogLevel::Debug),
    LevelStep::new(13, LogLevel::Debug),
    LevelStep::new(14, LogLevel::Debug),
]);

/// `java.util.logging`, with the mapping that other Java libraries use: FINEST 300, FINE 500, INFO 800, WARNING 900,
/// SEVERE 1000.
const JUL: LevelScale = LevelScale(&[
    LevelStep::new(300, LogLevel::Trace),
    LevelStep::new(500, LogLevel::Debug),
    LevelStep::new(800, LogLevel::Info),
    LevelStep::new(900, LogLevel::Warn),
    LevelStep::new(1000, LogLevel::Error),
]);

/// Apache log4j 1.
const LOG4J: LevelScale = LevelScale(&[
    LevelStep::new(5_000, LogLevel::Trace),
    LevelStep::new(10_000, LogLevel::Debug),
    LevelStep::new(20_000, LogLevel::Info),
    LevelStep::new(30_000, LogLevel::Warn),
    LevelStep::new(40_000, LogLevel::Error),
    LevelStep::new(50_000, LogLevel::Fatal),
]);

/// Apache log4j 2, where more severe levels have smaller numbers.
const LOG4J2: LevelScale = LevelScale(&[
    LevelStep::new(100, LogLevel::Fatal),
    LevelStep::new(200, LogLevel::Error),
    LevelStep::new(300, LogLevel::Warn),
    LevelStep::new(400, LogLevel::Info),
    LevelStep::new(500, LogLevel::Debug),
    LevelStep::new(600, LogLevel::Trace),
]);

/// Python's `logging` module, without levels below DEBUG.
const PYTHON: LevelScale = LevelScale(&[
    LevelStep::new(9, LogLevel::Trace),
    LevelStep::new(10, LogLevel::Debug),
    LevelStep::new(20, LogLevel::Info),
    LevelStep::new(30, LogLevel::Warn),
    LevelStep::new(40, LogLevel::Error),
    LevelStep::new(50, LogLevel::Fatal),
]);

/// Message events, by the provider at the start of their names.
struct MessageProvider {
    provider: &'static str,
    /// Severity scale, if a member contains the severity.
    scale: LevelScale,
}

const SOURCES: [MessageProvider; 6] = [
    MessageProvider { provider: "lttng_ust_tracef", scale: LTTNG },
    MessageProvider { provider: "lttng_ust_tracelog", scale: LTTNG },
    MessageProvider { provider: "lttng_jul", scale: JUL },
    MessageProvider { provider: "lttng_log4j", scale: LOG4J },
    MessageProvider { provider: "lttng_log4j2", scale: LOG4J2 },
    MessageProvider { provider: "lttng_python", scale: PYTHON },
];

/// Payload member meanings.
const MEMBERS: [(&str, Meaning); 13] = [
    ("msg", Meaning::Message),
    ("int_loglevel", Meaning::Severity),
    ("logger_name", Meaning::Tag),
    ("file", Meaning::File),
    ("filename", Meaning::File),
    ("line", Meaning::Line),
    ("line_number", Meaning::Line),
    ("lineno", Meaning::Line),
    ("func", Meaning::Function),
    ("method_name", Meaning::Function),
    ("funcName", Meaning::Function),
    ("int_threadid", Meaning::Thread),
    ("thread", Meaning::Thread),
];

/// Sets the log role of each event record class that describes log lines. Context meanings must already be set.
pub(crate) fn add_log_roles(trace: &mut TraceClass) {
    for stream in &mut trace.data_streams {
        for class in &mut stream.event_records {
            if let Some((role, meanings)) = role_of(class) {
                let class = Arc::make_mut(class);
                class.log = Some(Arc::new(role));
                class.meanings = meanings;
            }
        }
    }
}

/// Returns the log role and the member meanings, if the class describes log lines.
fn role_of(class: &EventRecordClass) -> Option<(LogRole, Meanings)> {
    let provider = class.name.as_deref().and_then(|name| name.split_once(':')).map(|(provider, _)| provider);
    let source = SOURCES.iter().find(|source| Some(source.provider) == provider);
    let severity = class.log_level.map(LogSeverity::Constant).or(source.map(|_| LogSeverity::Unknown))?;
    let has_own_scale = has_member(class.payload.as_deref(), "int_loglevel");
    let scale = source.filter(|_| has_own_scale).map_or(LTTNG, |source| source.scale);
    let mut role = LogRole::new(severity, scale);
    let mut meanings = class.meanings.clone();
    let mut known: Vec<_> = meanings.iter().map(|(_, meaning)| meaning).collect();
    let mut has_message = known.contains(&Meaning::Message);
    for (index, member) in members(class.payload.as_deref()).enumerate() {
        if is_length_of_next(class, index, member) {
            meanings.insert(Scope::Payload, index, Meaning::Hidden);
            continue;
        }
        let meaning = MEMBERS.iter().find(|(name, _)| source.is_some() && *name == member.name);
        let Some((_, meaning)) = meaning.filter(|(_, meaning)| !known.contains(meaning)) else { continue };
        known.push(*meaning);
        meanings.insert(Scope::Payload, index, *meaning);
        match meaning {
            Meaning::Message => has_message = true,
            Meaning::Severity => role.severity = LogSeverity::Member,
            _ => {}
        }
    }
    if !has_message {
        role.text = Some(LogText::NAME);
    }
    Some((role, meanings))
}

/// LTTng writes the length of `msg` into a member `_msg_length` before it.
fn is_length_of_next(class: &EventRecordClass, index: usize, member: &Member) -> bool {
    let of = member.name.strip_prefix('_').and_then(|name| name.strip_suffix("_length"));
    of.is_some_and(|of| members(class.payload.as_deref()).nth(index + 1).is_some_and(|next| next.name == of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_events::add_known_events;
    use crate::metadata::{MetadataOptions, parse};

    /// Reads a trace with this event, as LTTng declares it.
    fn role(event: &str) -> Option<(LogRole, Meanings)> {
        let text = format!(
            "/* CTF 1.8 */
            typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
            trace {{ major = 1; minor = 8; byte_order = le; }};
            stream {{
                event.header := struct {{ u32 id; }};
                event.context := struct {{ u32 _cpu_id; u32 _tid; u32 _vtid; string _procname; }};
            }};
            event {{ id = 0; {event} }};"
        );
        let mut trace = parse(text.as_bytes(), &MetadataOptions::default()).unwrap().trace;
        add_known_events(&mut trace);
        add_log_roles(&mut trace);
        let class = &trace.data_streams[0].event_records[0];
        Some((class.log.as_deref().cloned()?, class.meanings.clone()))
    }

    fn listed(meanings: &Meanings) -> Vec<(Scope, u32, Meaning)> {
        meanings.iter().map(|(member, meaning)| (member.scope, member.index, meaning)).collect()
    }

    #[test]
    fn an_event_without_a_level_is_no_line() {
        assert_eq!(role(r#"name = "sched_switch"; fields := struct { u32 _msg; };"#), None);
    }

    #[test]
    fn an_event_with_a_level_says_its_name() {
        let (role, meanings) = role(
            r#"name = "my:event"; loglevel = 4;
               fields := struct { u32 __list_length; u32 _list[__list_length]; string _msg; };"#,
        )
        .unwrap();
        assert_eq!(role.severity, LogSeverity::Constant(4));
        assert_eq!(role.scale.level(4), LogLevel::Warn);
        assert!(role.text.is_some());
        let contexts = [
            (Scope::CommonContext, 2, Meaning::Thread),
            (Scope::CommonContext, 3, Meaning::ProcessName),
            (Scope::Payload, 0, Meaning::Hidden),
        ];
        assert_eq!(listed(&meanings), contexts);
    }

    #[test]
    fn tracelog_says_its_message() {
        let (role, meanings) = role(
            r#"name = "lttng_ust_tracelog:TRACE_ERR"; loglevel = 3;
               fields := struct { u32 _line; string _file; string _func; u32 __msg_length;
               integer { size = 8; align = 8; encoding = UTF8; } _msg[__msg_length]; };"#,
        )
        .unwrap();
        assert_eq!((role.severity, &role.text), (LogSeverity::Constant(3), &None));
        use Meaning::{File, Function, Hidden, Line, Message};
        let expected = [Line, File, Function, Hidden, Message];
        let found: Vec<_> = meanings.iter().skip(2).map(|(_, meaning)| meaning).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn logging_libraries_have_scales_of_their_own() {
        let fields =
            "fields := struct { string _msg; string _logger_name; u32 _int_loglevel; u32 _thread; };";
        for (provider, numbers) in [
            ("lttng_jul", [300, 500, 800, 900, 1000]),
            ("lttng_log4j", [5_000, 10_000, 20_000, 30_000, 40_000]),
            ("lttng_log4j2", [600, 500, 400, 300, 200]),
            ("lttng_python", [5, 10, 20, 30, 40]),
        ] {
            let (role, meanings) =
                role(&format!("name = \"{provider}:event\"; loglevel = 13; {fields}")).unwrap();
            assert_eq!((role.severity, &role.text), (LogSeverity::Member, &None), "{provider}");
            assert_eq!(meanings.get(Scope::Payload, 1), Some(Meaning::Tag));
            // The context contains the system's thread id.
            assert_eq!(meanings.get(Scope::Payload, 3), None);
            assert_eq!(numbers.map(|number| role.scale.level(number)), LogLevel::ALL[..5], "{provider}");
        }
    }
}
