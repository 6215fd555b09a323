//! Events of other formats, which become events of this one.

use ichnos_model::lower::{LossEntry, LossKind, LossTable};
use ichnos_model::{Event, EventRole, FieldRef, FieldValue, Meaning, Scope};

use super::encode::MOST_ARGUMENTS;
use super::leaves::{Leaf, LeafValue, Leaves};
use super::record_parts::RecordParts;
use crate::fxt::argument_kind as kind;
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// Types of events.
mod event_type {
    pub(super) const INSTANT: u8 = 0;
    pub(super) const COUNTER: u8 = 1;
    pub(super) const DURATION_BEGIN: u8 = 2;
    pub(super) const DURATION_END: u8 = 3;
    pub(super) const ASYNC_BEGIN: u8 = 5;
    pub(super) const ASYNC_END: u8 = 7;
}

/// A class of events of another format.
#[derive(Debug)]
pub(super) struct ForeignClass {
    event: u8,
    category: String,
    name: String,
    process: Option<FieldRef>,
    thread: Option<FieldRef>,
    /// Key of the span that events begin or end.
    key: Option<FieldRef>,
    /// Members that become no arguments: scope, index in the plan, and `true` to keep them if they are texts.
    skipped: Vec<(Scope, usize, bool)>,
    /// Process of the trace, for events that do not name it.
    own_process: u64,
}

/// Scopes whose fields become arguments.
const SCOPES: [Scope; 4] = [Scope::Payload, Scope::SpecificContext, Scope::CommonContext, Scope::Resource];

impl ForeignClass {
    /// Makes the class of an event, and adds the losses of all its events to `table`.
    pub(super) fn of(event: &Event<'_>, table: &mut LossTable) -> Self {
        let class = event.class;
        let number = |meaning| FieldRef::of_meaning(event, meaning);
        let key = number(Meaning::PairKey);
        let kind = match (class.role, &key) {
            (EventRole::Begin, None) => event_type::DURATION_BEGIN,
            (EventRole::End, None) => event_type::DURATION_END,
            (EventRole::Begin, Some(_)) => event_type::ASYNC_BEGIN,
            (EventRole::End, Some(_)) => event_type::ASYNC_END,
            (EventRole::Counter, _) => event_type::COUNTER,
            _ => event_type::INSTANT,
        };
        let (category, name) = split_name(event.name());
        let mut lose = |kind, field: &str, what: &str| {
            let (class, field) = (event.name().to_owned(), field.to_owned());
            table.add(LossEntry { kind, class, field, what: what.to_owned() }, 1);
        };
        lose(LossKind::Lowered, "", "fields -> arguments");
        if class.role == EventRole::Sample {
            lose(LossKind::Lowered, "", "sample -> instant event");
        }
        if class.meanings.members(Meaning::Stack).next().is_some() {
            lose(LossKind::Dropped, "stack", "call stack");
        }
        if class.log.is_some() {
            lose(LossKind::Lowered, "", "line of a log -> event");
        }
        let environment = event.stream.trace.class.environment("vpid");
        let own_process = match environment {
            Some(ichnos_model::Value::Integer(process)) => u64::try_from(*process).unwrap_or(0),
            _ => 0,
        };
        let (process, thread) = (number(Meaning::Process), number(Meaning::Thread));
        let skipped = skipped(event);
        Self { event: kind, category, name, process, thread, key, skipped, own_process }
    }
}

/// Returns the members of an event that become no arguments.
fn skipped(event: &Event<'_>) -> Vec<(Scope, usize, bool)> {
    let skipped = event.class.meanings.iter().filter_map(|(member, meaning)| {
        let is_id = match meaning {
            Meaning::Process | Meaning::Thread | Meaning::PairKey => true,
            Meaning::Stack | Meaning::Hidden => false,
            _ => return None,
        };
        let node = event.plan(member.scope)?.member(member.index as usize)?;
        Some((member.scope, node, is_id))
    });
    skipped.collect()
}

/// Returns category and name of an event: `CATEGORY:NAME`, or `CATEGORY/NAME`.
fn split_name(name: &str) -> (String, String) {
    let parts = name.split_once(':').or_else(|| name.rsplit_once('/'));
    let (category, name) = parts.filter(|(_, name)| !name.is_empty()).unwrap_or(("", name));
    (category.to_owned(), name.to_owned())
}

/// Losses of a single event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventLosses {
    pub(super) has_thread_name: bool,
    pub(super) has_texts: bool,
    pub(super) is_undecodable: bool,
}

/// Makes the parts of a record of an event.
pub(super) fn read(
    event: &Event<'_>,
    class: &ForeignClass,
    ticks: u64,
    leaves: &mut Leaves,
    parts: &mut RecordParts,
) -> EventLosses {
    let mut losses = EventLosses::default();
    let form = RecordForm { event: class.event, ..RecordForm::new(RecordKind::Event) };
    parts.begin(form, Some(ticks));
    let number = |field: &Option<FieldRef>| field.as_ref().and_then(|field| event.get(field));
    parts.process = number(&class.process).and_then(|value| value.as_u64()).unwrap_or(class.own_process);
    let thread = number(&class.thread);
    losses.has_thread_name = matches!(thread, Some(FieldValue::Text(_)));
    parts.thread = thread.and_then(|value| value.as_u64()).unwrap_or(0);
    if let Some(key) = number(&class.key) {
        parts.words[0] = key.as_u64().unwrap_or(0);
    }
    parts.category = parts.add(class.category.as_bytes());
    parts.name = parts.add(class.name.as_bytes());
    leaves.clear();
    leaves.has_names = true;
    let mut rest = Vec::new();
    for scope in SCOPES {
        let begin = leaves.list.len();
        leaves.begin_scope();
        losses.is_undecodable |= event.visit(scope, leaves).is_err();
        for index in begin..leaves.list.len() {
            let Some(leaf) = leaves.list.get(index) else { break };
            let is_text = matches!(leaf.value, LeafValue::Text { .. });
            let is_skipped = |(of, node, is_id): &(Scope, usize, bool)| {
                *of == scope && *node == leaf.member && !(*is_id && is_text)
            };
            if leaf.value == LeafValue::Absent || class.skipped.iter().any(is_skipped) {
                continue;
            }
            // The last argument has the rest as text.
            if parts.arguments.len() + 1 < MOST_ARGUMENTS {
                argument(leaf, leaves, parts);
            } else {
                rest.push(index);
            }
        }
    }
    match rest[..] {
        [] => {}
        [index] => {
            if let Some(leaf) = leaves.list.get(index) {
                argument(leaf, leaves, parts);
            }
        }
        _ => {
            losses.has_texts = true;
            push_rest(&rest, leaves, parts);
        }
    }
    losses
}

/// Adds a field as an argument, with text that is UTF-8.
fn argument(leaf: &Leaf, leaves: &Leaves, parts: &mut RecordParts) {
    let name = leaves.names.get(leaf.name.clone()).unwrap_or_default();
    parts.argument(name.as_bytes(), leaf.kind, leaf, leaves);
    let Some(last) = parts.arguments.last() else { return };
    if last.kind == kind::STRING && std::str::from_utf8(parts.text(&last.data)).is_err() {
        let text = String::from_utf8_lossy(parts.text(&last.data)).into_owned();
        let data = parts.add(text.as_bytes());
        if let Some(last) = parts.arguments.last_mut() {
            last.data = data;
        }
    }
}

/// Adds the fields beyond the maximum number of arguments as one text.
fn push_rest(rest: &[usize], leaves: &mut Leaves, parts: &mut RecordParts) {
    use std::fmt::Write as _;

    let mut text = String::new();
    for index in rest {
        let Some(leaf) = leaves.list.get(*index) else { continue };
        let space = if text.is_empty() { "" } else { " " };
        let name = leaves.names.get(leaf.name.clone()).unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = write!(text, "{space}{name}=");
        let _ = match leaf.value {
            LeafValue::Absent | LeafValue::Null => write!(text, "null"),
            LeafValue::Signed(value) => write!(text, "{value}"),
            LeafValue::Unsigned(value) => write!(text, "{value}"),
            LeafValue::Double(value) => write!(text, "{value}"),
            LeafValue::Boolean(value) => write!(text, "{value}"),
            LeafValue::Text { .. } => {
                write!(text, "{}", String::from_utf8_lossy(leaves.bytes_of(leaf.value)))
            }
            LeafValue::Blob { .. } => {
                leaves.bytes_of(leaf.value).iter().try_for_each(|byte| write!(text, "{byte:02x}"))
            }
        };
    }
    let (begin, length) = (leaves.bytes.len(), text.len());
    leaves.bytes.extend_from_slice(text.as_bytes());
    let value = LeafValue::Text { begin, length };
    let leaf = Leaf { value, name: 0..0, member: 0, option: None, kind: kind::STRING };
    parts.argument(b"more", kind::STRING, &leaf, leaves);
}
