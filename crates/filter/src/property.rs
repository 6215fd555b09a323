//! Event properties: facts that are not fields, or members found by meaning.

use std::borrow::Cow;

use ichnos_model::class::Value;
use ichnos_model::log::{LevelScale, LogSeverity};
use ichnos_model::meaning::Meaning;

use super::class::{FilterClass, ValueType};
use super::program::Code;
use super::syntax::{NamePath, NameStep};
use super::typed::Typed;
use super::value::Constant;

/// Properties that hide fields with the same name.
const RESERVED: [&str; 7] = ["event", "time", "stream", "trace", "host", "level", "env"];

/// Property name in another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PropertyAlias {
    pub(super) name: &'static str,
    pub(super) property: &'static str,
}

/// Property names in Perfetto, trace-cmd, bpftrace and tables. They are used if no event has a field with the name and the
/// trace contains the property. While further classes can be discovered, each class without the field uses them.
pub(super) const ALIASES: [PropertyAlias; 6] = [
    PropertyAlias { name: "name", property: "event" },
    PropertyAlias { name: "ts", property: "time" },
    PropertyAlias { name: "pid", property: "process" },
    PropertyAlias { name: "tid", property: "thread" },
    PropertyAlias { name: "comm", property: "process_name" },
    PropertyAlias { name: "operation", property: "operation_id" },
];

/// Returns the property with this name in another tool.
pub(super) fn alias(path: &NamePath) -> Option<PropertyAlias> {
    let word = path.word()?;
    ALIASES.into_iter().find(|alias| alias.name == word)
}

/// Returns `true` for property names that hide fields.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Returns the names of all properties.
pub(super) fn names() -> impl Iterator<Item = Cow<'static, str>> {
    let more = [
        "event.id",
        "stream.path",
        "stream.id",
        "stream.class",
        "trace.path",
        "trace.uuid",
        "level.number",
        "cpu",
    ];
    let meanings = Meaning::ALL.into_iter().filter(|meaning| !is_internal(*meaning));
    let meanings = meanings.map(|meaning| Cow::Owned(meaning.name().replace('-', "_")));
    RESERVED.into_iter().filter(|name| *name != "env").chain(more).map(Cow::Borrowed).chain(meanings)
}

/// Returns `true` for meanings that are not useful in expressions.
fn is_internal(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Hidden | Meaning::Rendered | Meaning::PairKey)
}

/// Values of a property in an event class.
pub(super) enum PropertyValues {
    Value(Typed),
    /// Members with a meaning, or `otherwise` if the class lacks them. `is_id` compares them as identifiers.
    Meaning {
        meaning: Meaning,
        is_id: bool,
        otherwise: Option<Typed>,
    },
    /// Severity members: numbers, or levels on a scale.
    Severity(Option<LevelScale>),
}

impl PropertyValues {
    fn meaning(meaning: Meaning) -> Option<Self> {
        Some(Self::Meaning { meaning, is_id: false, otherwise: None })
    }
}

fn text(text: Option<&str>) -> Typed {
    let constant = text.map_or(Constant::Unknown, |text| Constant::Text(text.as_bytes().into()));
    Typed::constant(constant, ValueType::Text)
}

fn integer(number: Option<u128>) -> Typed {
    let number = number.and_then(|number| i128::try_from(number).ok());
    Typed::constant(number.map_or(Constant::Unknown, Constant::Integer), ValueType::Integer)
}

/// Finds a property of a class. `None` if the class lacks it.
pub(super) fn find(class: &FilterClass<'_>, first: &str, rest: &[NameStep]) -> Option<PropertyValues> {
    let members = rest.iter().map(|step| match step {
        NameStep::Member(name) => Some(name.as_str()),
        NameStep::Index(_) => None,
    });
    let rest = members.collect::<Option<Vec<&str>>>()?;
    match (first, &rest[..]) {
        ("time", []) => Some(PropertyValues::Value(Typed { code: Code::Time, kind: ValueType::Time })),
        ("level", []) => level(class, false),
        ("level", ["number"]) | ("severity", []) => level(class, true),
        ("host", []) => first_of(class, Meaning::Machine, "hostname"),
        ("process", []) => first_of(class, Meaning::Process, "vpid"),
        ("process_name", []) => first_of(class, Meaning::ProcessName, "procname"),
        ("cpu", []) => PropertyValues::meaning(Meaning::Processor),
        ("message", []) => match class.plans.class.log.as_ref().and_then(|role| role.text) {
            Some(_) => Some(PropertyValues::Value(Typed { code: Code::Message, kind: ValueType::Text })),
            None => PropertyValues::meaning(Meaning::Message),
        },
        _ => constant(class, first, &rest).map(PropertyValues::Value).or_else(|| {
            let meaning = first.replace('_', "-").parse().ok().filter(|_| rest.is_empty())?;
            let is_id = meaning == Meaning::OperationId;
            (!is_internal(meaning)).then_some(PropertyValues::Meaning { meaning, is_id, otherwise: None })
        }),
    }
}

/// Finds a property that is the same for all events of a class.
fn constant(class: &FilterClass<'_>, first: &str, rest: &[&str]) -> Option<Typed> {
    let trace = &class.trace.class;
    Some(match (first, rest) {
        ("event", [] | ["name"]) => text(class.name()),
        ("event", ["id"]) => integer(Some(class.plans.class.id)),
        // The file location differs between machines.
        ("stream", [] | ["name"]) => {
            text(class.stream.map(|stream| stream.name.rsplit('/').next().unwrap_or_default()))
        }
        ("stream", ["path"]) => text(class.stream.map(|stream| &*stream.name)),
        ("stream", ["id"]) => integer(class.stream.and_then(|stream| stream.id)),
        ("stream", ["class"]) => integer(Some(class.stream_class.id)),
        ("trace", [] | ["name"]) => {
            text(trace.name.as_deref().or(Some(&class.trace.name)).filter(|name| !name.is_empty()))
        }
        ("trace", ["path"]) => text(Some(&class.trace.path)),
        ("trace", ["uuid"]) => {
            Typed::constant(trace.uuid.map_or(Constant::Unknown, Constant::Guid), ValueType::Guid)
        }
        ("env", [_, ..]) => return environment(class, &rest.join(".")),
        _ => return None,
    })
}

/// Finds a member with a meaning, or else an entry in the trace's environment.
fn first_of(class: &FilterClass<'_>, meaning: Meaning, entry: &str) -> Option<PropertyValues> {
    Some(PropertyValues::Meaning { meaning, is_id: false, otherwise: environment(class, entry) })
}

fn environment(class: &FilterClass<'_>, entry: &str) -> Option<Typed> {
    match class.trace.class.environment(entry)? {
        Value::Integer(number) => Some(Typed::constant(Constant::Integer(*number), ValueType::Integer)),
        value => value.as_text().map(|value| text(Some(value))),
    }
}

/// Finds the log level or its number.
fn level(class: &FilterClass<'_>, is_number: bool) -> Option<PropertyValues> {
    let role = class.plans.class.log.as_ref()?;
    match role.severity {
        LogSeverity::Constant(raw) if is_number => {
            Some(PropertyValues::Value(Typed::constant(Constant::Integer(raw.into()), ValueType::Integer)))
        }
        LogSeverity::Constant(raw) => Some(PropertyValues::Value(Typed::constant(
            Constant::Level(role.scale.level(raw)),
            ValueType::Level,
        ))),
        LogSeverity::Member if is_number => Some(PropertyValues::Severity(None)),
        LogSeverity::Member => Some(PropertyValues::Severity(Some(role.scale))),
        _ => None,
    }
}
