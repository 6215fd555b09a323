//! Converts events from other formats.

use ichnos_model::digest::ValueHash;
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::lower::{LossKind, LossRow, LossTable};
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::{Event, Scope};

use super::class_losses::{ClassLoss, ClassLosses};
use super::leaves::{Leaf, LeafValue, Leaves};
use super::record_parts::{PartArgument, RecordParts};
use super::rules::KEPT_METADATA;
use crate::fxt::{MAX_ARGUMENTS, argument_kind as kind};
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// Event types.
mod event_type {
    pub(super) const INSTANT: u8 = 0;
    pub(super) const COUNTER: u8 = 1;
    pub(super) const DURATION_BEGIN: u8 = 2;
    pub(super) const DURATION_END: u8 = 3;
    pub(super) const ASYNC_BEGIN: u8 = 5;
    pub(super) const ASYNC_END: u8 = 7;
}

/// Maximum length of a text in bytes ("String references" of the document).
const LONGEST_TEXT: usize = 32_000;

/// Field with a process id, a thread id, or a span id.
#[derive(Debug)]
struct IdField {
    field: FieldRef,
    /// Scope, and index in the scope's plan.
    place: (Scope, usize),
    name: String,
}

impl IdField {
    fn new(event: &Event<'_>, meaning: Meaning) -> Option<Self> {
        event.class.meanings.members(meaning).find_map(|member| {
            let field = FieldRef::for_member(event, member)?;
            let (plan, index) = (event.plan(member.scope)?, member.index as usize);
            let name = plan.member_name(index).unwrap_or_default().to_owned();
            Some(Self { field, place: (member.scope, plan.member(index)?), name })
        })
    }
}

/// Indexes in the id array.
mod id {
    pub(super) const PROCESS: usize = 0;
    pub(super) const THREAD: usize = 1;
    pub(super) const KEY: usize = 2;
}

/// Conversion of an event class from another format.
#[derive(Debug)]
pub(super) struct ForeignClass {
    event: u8,
    category: String,
    name: String,
    /// Process, thread and key.
    ids: [Option<IdField>; 3],
    /// Call stack.
    pub(super) stack: Option<FieldRef>,
    /// Further key fields.
    more_keys: Vec<FieldRef>,
    /// Members that do not become arguments: scope and index in the plan.
    skipped: Vec<(Scope, usize)>,
    /// Process id of the trace, for events without a process field.
    own_process: Option<u64>,
}

/// Buffers reused for each event.
#[derive(Debug, Default)]
pub(super) struct ForeignBuffers {
    /// Fields beyond the maximum number of arguments.
    rest: Vec<usize>,
    text: Vec<u8>,
}

/// Scopes with fields that become arguments.
const SCOPES: [Scope; 4] = [Scope::Payload, Scope::SpecificContext, Scope::CommonContext, Scope::Resource];

impl ForeignClass {
    /// Creates the conversion for the class of an event, and adds class-wide losses to `table`.
    pub(super) fn new(event: &Event<'_>, table: &mut LossTable) -> Self {
        let class = event.class;
        let mut ids = [Meaning::Process, Meaning::Thread, Meaning::PairKey].map(|id| IdField::new(event, id));
        let mut keys = class.meanings.members(Meaning::PairKey).skip(1).collect::<Vec<_>>();
        // Events with other roles lack a key, so the field becomes an argument.
        if !matches!(class.role, EventRole::Begin | EventRole::End | EventRole::Counter) {
            ids[id::KEY] = None;
            keys.clear();
        }
        let kind = match (class.role, &ids[id::KEY]) {
            (EventRole::Begin, None) => event_type::DURATION_BEGIN,
            (EventRole::End, None) => event_type::DURATION_END,
            (EventRole::Begin, Some(_)) => event_type::ASYNC_BEGIN,
            (EventRole::End, Some(_)) => event_type::ASYNC_END,
            (EventRole::Counter, _) => event_type::COUNTER,
            _ => event_type::INSTANT,
        };
        let (category, name) = event.category_and_name();
        table.add_class_metadata(event, KEPT_METADATA);
        table.add_dates(event);
        table.add_other_clocks(event);
        let mut losses = table.for_class(event.name());
        losses.record_loss(LossKind::Lowered, "", "fields -> arguments");
        if class.role == EventRole::Sample {
            losses.record_loss(LossKind::Lowered, "", "sample -> instant event");
        }
        if class.meanings.members(Meaning::Stack).next().is_some() {
            let what = "call stack -> backtrace, without function names, and without modules that lack an address range";
            losses.record_loss(LossKind::Lowered, "stack", what);
        }
        if class.log.is_some() {
            losses.record_loss(LossKind::Lowered, "", "log line -> event");
        }
        let own_process = event.stream.trace.class.environment_number("vpid");
        let skipped = class.meanings.iter().filter_map(|(member, meaning)| {
            let node = event.plan(member.scope)?.member(member.index as usize)?;
            matches!(meaning, Meaning::Stack | Meaning::Hidden).then_some((member.scope, node))
        });
        let skipped = skipped.collect();
        // Header fields without a meaning are times and ids.
        if let Some(plan) = event.plan(Scope::EventRecordHeader) {
            let is_id =
                |member| ids.iter().flatten().any(|id| id.place == (Scope::EventRecordHeader, member));
            let others = plan.fields().filter(|member| !is_id(*member));
            others.for_each(|member| table.add_member(Scope::EventRecordHeader, plan, member));
        }
        let more_keys = keys.into_iter().filter_map(|key| FieldRef::for_member(event, key)).collect();
        let stack = FieldRef::for_meaning(event, Meaning::Stack);
        let (category, name) = (category.to_owned(), name.to_owned());
        Self { event: kind, category, name, ids, stack, more_keys, skipped, own_process }
    }

    /// Returns the field name for a loss.
    pub(super) fn field_of(&self, row: &LossRow<ClassLoss>) -> &str {
        let id = match row.loss {
            ClassLoss::Process => id::PROCESS,
            ClassLoss::Thread => id::THREAD,
            ClassLoss::Key => id::KEY,
            _ => return row.field,
        };
        self.ids.get(id).and_then(Option::as_ref).map_or("", |id| id.name.as_str())
    }

    /// Returns `true` if a field does not become an argument. `is_used` tells which ids the record contains.
    fn is_skipped(&self, scope: Scope, member: usize, is_used: [bool; 3]) -> bool {
        let is_id = |(id, is_used): (&Option<IdField>, bool)| {
            is_used && id.as_ref().is_some_and(|id| id.place == (scope, member))
        };
        self.ids.iter().zip(is_used).any(is_id) || self.skipped.contains(&(scope, member))
    }
}

/// Splits an event into record parts, and counts losses.
pub(super) fn read(
    event: &Event<'_>,
    class: &ForeignClass,
    ticks: u64,
    (leaves, buffers): (&mut Leaves, &mut ForeignBuffers),
    parts: &mut RecordParts,
    losses: &mut ClassLosses,
) {
    let form = RecordForm { event: class.event, ..RecordForm::new(RecordKind::Event) };
    parts.begin(form, Some(ticks));
    let is_used = read_ids(event, class, parts, losses);
    parts.category = parts.add(class.category.as_bytes());
    parts.name = parts.add(class.name.as_bytes());
    leaves.clear();
    leaves.has_names = true;
    buffers.rest.clear();
    for scope in SCOPES {
        let begin = leaves.list.len();
        leaves.begin_scope();
        losses.add(ClassLoss::Fields, u64::from(event.visit(scope, leaves).is_err()));
        losses.add(ClassLoss::Float, std::mem::take(&mut leaves.rounded));
        for (member, count) in leaves.empty.drain(..) {
            if !class.is_skipped(scope, member, is_used) {
                losses.add(ClassLoss::Empty, count);
            }
        }
        for index in begin..leaves.list.len() {
            let Some(leaf) = leaves.list.get(index) else { break };
            if leaf.value == LeafValue::Absent || class.is_skipped(scope, leaf.member, is_used) {
                continue;
            }
            // The last argument holds the rest as text.
            if parts.arguments.len() + 1 < MAX_ARGUMENTS {
                argument(leaf, leaves, parts, losses);
            } else {
                buffers.rest.push(index);
            }
        }
    }
    match buffers.rest[..] {
        [] => {}
        [index] => {
            if let Some(leaf) = leaves.list.get(index) {
                argument(leaf, leaves, parts, losses);
            }
        }
        _ => {
            losses.add(ClassLoss::Texts, 1);
            push_rest(buffers, leaves, parts, losses);
        }
    }
}

/// Reads the record ids. Returns which ids are exact.
fn read_ids(
    event: &Event<'_>,
    class: &ForeignClass,
    parts: &mut RecordParts,
    losses: &mut ClassLosses,
) -> [bool; 3] {
    let kinds = [ClassLoss::Process, ClassLoss::Thread, ClassLoss::Key];
    let mut is_used = [true; 3];
    let mut ids = [class.own_process, None, None];
    for (((id, field), is_used), loss) in ids.iter_mut().zip(&class.ids).zip(&mut is_used).zip(kinds) {
        let Some(value) = field.as_ref().and_then(|id| event.get(&id.field)) else { continue };
        match value.as_u64() {
            Some(number) => *id = Some(number),
            None if matches!(value, FieldValue::Null) => {}
            None => {
                *is_used = false;
                losses.add(loss, 1);
                *id = Some(if loss == ClassLoss::Key { value.key() } else { id.unwrap_or(0) });
            }
        }
    }
    losses.add(ClassLoss::NoProcess, u64::from(ids[id::PROCESS].is_none()));
    losses.add(ClassLoss::NoThread, u64::from(ids[id::THREAD].is_none()));
    let mut ids = ids.map(|id| id.unwrap_or(0));
    if !class.more_keys.is_empty() {
        is_used[id::KEY] = false;
        losses.add(ClassLoss::Key, 1);
        let mut hash = ValueHash::new(ids[id::KEY]);
        let more = class.more_keys.iter().filter_map(|key| event.get(key));
        more.for_each(|key| hash.add(key.key()));
        ids[id::KEY] = hash.finish();
    }
    (parts.process, parts.thread, parts.words[0]) = (ids[id::PROCESS], ids[id::THREAD], ids[id::KEY]);
    is_used
}

/// Adds a field as an argument. Its text is made valid UTF-8.
fn argument(leaf: &Leaf, leaves: &Leaves, parts: &mut RecordParts, losses: &mut ClassLosses) {
    let name = leaves.names.get(leaf.name.clone()).unwrap_or_default();
    let text = leaves.bytes_of(leaf.value);
    if leaf.kind == kind::STRING && text.len() > LONGEST_TEXT {
        return losses.add(ClassLoss::Arguments, 1);
    }
    if leaf.kind != kind::STRING || std::str::from_utf8(text).is_ok() {
        return parts.argument(name.as_bytes(), leaf.kind, leaf, leaves);
    }
    losses.add(ClassLoss::Encoding, 1);
    let name = parts.add(name.as_bytes());
    let begin = parts.bytes.len();
    push_utf8(&mut parts.bytes, text);
    let data = begin..parts.bytes.len();
    parts.arguments.push(PartArgument { kind: kind::STRING, name, word: 0, data });
}

/// Appends a text. Invalid UTF-8 becomes U+FFFD.
fn push_utf8(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

/// Adds the fields beyond the maximum number of arguments as one text.
fn push_rest(
    buffers: &mut ForeignBuffers,
    leaves: &mut Leaves,
    parts: &mut RecordParts,
    losses: &mut ClassLosses,
) {
    use std::io::Write as _;

    let ForeignBuffers { rest, text } = buffers;
    text.clear();
    for index in &*rest {
        let Some(leaf) = leaves.list.get(*index) else { continue };
        let space = if text.is_empty() { "" } else { " " };
        let name = leaves.names.get(leaf.name.clone()).unwrap_or_default();
        // Writing to memory cannot fail.
        let _ = write!(text, "{space}{name}=");
        let _ = match leaf.value {
            LeafValue::Absent | LeafValue::Null => write!(text, "null"),
            LeafValue::Signed(value) => write!(text, "{value}"),
            LeafValue::Unsigned(value) => write!(text, "{value}"),
            LeafValue::Double(value) => write!(text, "{value}"),
            LeafValue::Boolean(value) => write!(text, "{value}"),
            LeafValue::Text { .. } => {
                let bytes = leaves.bytes_of(leaf.value);
                losses.add(ClassLoss::Encoding, u64::from(std::str::from_utf8(bytes).is_err()));
                push_utf8(text, bytes);
                Ok(())
            }
            LeafValue::Blob { .. } => {
                leaves.bytes_of(leaf.value).iter().try_for_each(|byte| write!(text, "{byte:02x}"))
            }
        };
    }
    let (begin, length) = (leaves.bytes.len(), text.len());
    leaves.bytes.extend_from_slice(text);
    let value = LeafValue::Text { begin, length };
    let leaf = Leaf { value, name: 0..0, member: 0, option: None, kind: kind::STRING };
    if length > LONGEST_TEXT {
        return losses.add(ClassLoss::Arguments, rest.len() as u64);
    }
    parts.argument(b"more", kind::STRING, &leaf, leaves);
}
