//! Properties of events, which are not fields, or are fields by their meaning.

use std::borrow::Cow;

use ichnos_model::{LogSeverity, Meaning, Value};

use super::class::ValueType;
use super::compile::{Compiler, Typed};
use super::program::Code;
use super::syntax::{Path, PathStep};
use super::value::Constant;

/// Properties that take precedence over fields of the same names.
const RESERVED: [&str; 7] = ["event", "time", "stream", "trace", "host", "level", "env"];

/// A name of a property in other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PropertyAlias {
    pub(super) name: &'static str,
    pub(super) property: &'static str,
}

/// Names of Perfetto, trace-cmd and bpftrace. Each is used where no event has a field of that name, and something says
/// the property; where classes are met while reading, in the classes without such a field.
pub(super) const ALIASES: [PropertyAlias; 5] = [
    PropertyAlias { name: "name", property: "event" },
    PropertyAlias { name: "ts", property: "time" },
    PropertyAlias { name: "pid", property: "process" },
    PropertyAlias { name: "tid", property: "thread" },
    PropertyAlias { name: "comm", property: "process_name" },
];

/// Property with this name in other tools.
pub(super) fn alias(path: &Path) -> Option<PropertyAlias> {
    let word = path.word()?;
    ALIASES.into_iter().find(|alias| alias.name == word)
}

/// Returns `true` for names of properties even if a class has such a field.
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

/// Returns `true` for meanings of no interest to users.
fn is_internal(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Hidden | Meaning::Rendered | Meaning::PairKey)
}

fn text(text: Option<&str>) -> Vec<Typed> {
    let constant = text.map_or(Constant::Unknown, |text| Constant::Text(text.as_bytes().into()));
    vec![Typed::constant(constant, ValueType::Text)]
}

fn integer(number: Option<u128>) -> Vec<Typed> {
    let number = number.and_then(|number| i128::try_from(number).ok());
    vec![Typed::constant(number.map_or(Constant::Unknown, Constant::Integer), ValueType::Integer)]
}

/// Values of a property in the class; empty if it has no such property.
pub(super) fn find(compiler: &mut Compiler<'_>, first: &str, rest: &[PathStep]) -> Vec<Typed> {
    let class = compiler.class;
    let rest: Option<Vec<&str>> = rest
        .iter()
        .map(|step| match step {
            PathStep::Member(name) => Some(name.as_str()),
            PathStep::Index(_) => None,
        })
        .collect();
    let Some(rest) = rest else { return Vec::new() };
    let trace = &class.trace.class;
    match (first, &rest[..]) {
        ("event", [] | ["name"]) => text(class.name()),
        ("event", ["id"]) => integer(Some(class.plans.class.id)),
        ("time", []) => vec![Typed { code: Code::Time, kind: ValueType::Time }],
        // The location of its file differs from machine to machine.
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
            vec![Typed::constant(trace.uuid.map_or(Constant::Unknown, Constant::Guid), ValueType::Guid)]
        }
        ("env", [_, ..]) => environment(compiler, &rest.join(".")),
        ("level", []) => level(compiler, false),
        ("level", ["number"]) | ("severity", []) => level(compiler, true),
        ("host", []) => first_of(compiler, Meaning::Machine, "hostname"),
        ("process", []) => first_of(compiler, Meaning::Process, "vpid"),
        ("process_name", []) => first_of(compiler, Meaning::ProcessName, "procname"),
        ("cpu", []) => compiler.meaning(Meaning::Processor, false),
        ("message", []) => match class.plans.class.log.as_ref().and_then(|role| role.text) {
            Some(_) => vec![Typed { code: Code::Message, kind: ValueType::Text }],
            None => compiler.meaning(Meaning::Message, false),
        },
        (name, []) => match name.replace('_', "-").parse() {
            Ok(meaning) if !is_internal(meaning) => {
                compiler.meaning(meaning, meaning == Meaning::OperationId)
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Member with a meaning, or else an entry of the trace's environment.
fn first_of(compiler: &mut Compiler<'_>, meaning: Meaning, entry: &str) -> Vec<Typed> {
    let found = compiler.meaning(meaning, false);
    if found.is_empty() { environment(compiler, entry) } else { found }
}

fn environment(compiler: &Compiler<'_>, entry: &str) -> Vec<Typed> {
    match compiler.class.trace.class.environment(entry) {
        Some(Value::Integer(number)) => {
            vec![Typed::constant(Constant::Integer(*number), ValueType::Integer)]
        }
        Some(value) => value.as_text().map_or(Vec::new(), |value| text(Some(value))),
        None => Vec::new(),
    }
}

/// Log level, or its number.
fn level(compiler: &mut Compiler<'_>, is_number: bool) -> Vec<Typed> {
    let class = compiler.class;
    let Some(role) = class.plans.class.log.as_ref() else { return Vec::new() };
    match role.severity {
        LogSeverity::Constant(raw) if is_number => {
            vec![Typed::constant(Constant::Integer(raw.into()), ValueType::Integer)]
        }
        LogSeverity::Constant(raw) => {
            vec![Typed::constant(Constant::Level(role.scale.level(raw)), ValueType::Level)]
        }
        LogSeverity::Member => {
            let found = compiler.meaning(Meaning::Severity, false);
            let numbers = found.into_iter().filter(|found| found.kind.is_integer());
            let levels = numbers.map(|found| match is_number {
                true => found,
                false => {
                    Typed { code: Code::Level(Box::new(found.code), role.scale), kind: ValueType::Level }
                }
            });
            levels.collect()
        }
        _ => Vec::new(),
    }
}
