//! Reads events from other formats.

use std::io::Write as _;

use ichnos_json::write;
use ichnos_model::field::{Field, FieldValue, Real, StringEncoding, Text};
use ichnos_model::meaning::{CauseKind, Identifier, Mention};
use ichnos_model::{Event, Visitor};

use super::foreign_class::{FieldUse, ForeignClass, NodeUse};
use super::identifiers::{hash, op_of, task_of};
use super::losses::{Loss, LossCounts};
use crate::option::ChainId;
use crate::reader::mentions::find_mentions;
use crate::report::{LineBuffer, push_nanos};
use crate::{Edge, EdgeKind};

/// Maximum number of causes for an event.
const MOST_CAUSES: usize = 4096;
/// Maximum number of operations that the texts of an event mention.
const MOST_MENTIONS: usize = 64;

/// A cause of an event.
#[derive(Clone, Copy, Debug)]
struct EventCause {
    id: Identifier,
    kind: CauseKind,
    /// Position in the list of all causes.
    position: u32,
}

/// Event content.
#[derive(Debug, Default)]
pub(super) struct ForeignEvent {
    /// Field lines.
    pub(super) lines: LineBuffer,
    pub(super) task: Option<Identifier>,
    pub(super) operation: Option<Identifier>,
    causes: Vec<EventCause>,
    cause_count: u32,
    /// Chains of the causes, by position. `None` is the chain of the event.
    cause_chains: Vec<Option<u16>>,
    chain: Option<u64>,
    pub(super) process: u64,
    /// Thread number, or hash of the thread name.
    pub(super) thread: Option<u64>,
    pub(super) has_label: bool,
    /// Number of overlong identifiers.
    too_long: u64,
    /// Number of overlong chains.
    long_chains: u64,
    is_undecodable: bool,
    /// Number of causes beyond the maximum.
    further_causes: u64,
    /// Number of rounded floats. Floats over 64 bits are rounded.
    rounded: u64,
    /// Number of fields without elements, which are not written.
    empty: u64,
    /// `true` if the severity number changed.
    has_other_severity: bool,
    /// Operations that the texts mention, for events without a task.
    pub(super) mentions: Vec<Mention>,
    text: Vec<u8>,
}

impl ForeignEvent {
    /// Reads an event, replacing the content.
    pub(super) fn read(&mut self, event: &Event<'_>, class: &ForeignClass) {
        self.lines.clear();
        (self.task, self.operation, self.chain) = (None, None, None);
        self.causes.clear();
        self.cause_count = 0;
        self.cause_chains.clear();
        (self.process, self.thread) = (class.own_process, None);
        (self.has_label, self.is_undecodable) = (false, false);
        (self.too_long, self.long_chains, self.further_causes) = (0, 0, 0);
        (self.rounded, self.empty) = (0, 0);
        self.has_other_severity = false;
        self.mentions.clear();
        for (scope, nodes) in &class.scopes {
            self.is_undecodable |=
                event.visit(*scope, &mut ForeignFieldReader { nodes, class, event: self }).is_err();
        }
    }

    /// Returns the chain, and counts a chain that does not fit.
    pub(super) fn chain(&mut self) -> Option<u16> {
        let chain = self.chain?;
        let short = u16::try_from(chain).ok();
        self.long_chains += u64::from(short.is_none());
        short
    }

    /// Counts everything that reports cannot represent.
    pub(super) fn count_losses(&self, losses: &mut LossCounts) {
        losses.add(Loss::LongId, self.too_long);
        losses.add(Loss::Fields, self.is_undecodable.into());
        losses.add(Loss::LongFields, self.lines.is_cut().into());
        losses.add(Loss::ChainNumber, self.long_chains);
        losses.add(Loss::Causes, self.further_causes);
        losses.add(Loss::Float, self.rounded);
        losses.add(Loss::Empty, self.empty);
        losses.add(Loss::Severity, self.has_other_severity.into());
    }

    /// Searches a text for operations.
    fn search(&mut self, text: &[u8]) {
        if self.task.is_some() || self.mentions.len() >= MOST_MENTIONS {
            return;
        }
        find_mentions(text, &mut |mention| {
            if self.mentions.len() < MOST_MENTIONS && !self.mentions.contains(&mention) {
                self.mentions.push(mention);
            }
        });
    }

    /// Returns the edges in cause order.
    pub(super) fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.causes.iter().map(|cause| Edge {
            op: op_of(&cause.id),
            kind: match cause.kind {
                CauseKind::Parent => EdgeKind::Down,
                CauseKind::Return => EdgeKind::Up,
                _ => EdgeKind::Next,
            },
            chain: self.chain_of(cause).map(ChainId),
        })
    }

    /// Returns the preceding operations with their chains, except for the event's chain.
    pub(super) fn causes(&self) -> impl Iterator<Item = (Identifier, Option<u16>)> + Clone + '_ {
        self.causes.iter().map(|cause| (cause.id, self.chain_of(cause)))
    }

    /// Returns the chain of a cause, except for the event's chain.
    fn chain_of(&self, cause: &EventCause) -> Option<u16> {
        self.cause_chains.get(cause.position as usize).copied().flatten()
    }

    /// Appends the event as a value: time, class name and lines.
    pub(super) fn push_as_value(&self, time: Option<u64>, class: &ForeignClass, value: &mut Vec<u8>) {
        if let Some(time) = time {
            push_nanos(value, time);
            value.push(b' ');
        }
        push_word(value, class.name.as_bytes());
        for line in self.lines.lines() {
            value.push(b' ');
            value.extend_from_slice(line.key);
            value.push(b'=');
            push_word(value, line.value);
        }
    }
}

/// Appends a text, in quotes if its end would be ambiguous.
fn push_word(out: &mut Vec<u8>, text: &[u8]) {
    let is_word = !text.is_empty() && text.iter().all(|byte| *byte > b' ' && !matches!(byte, b'"' | b'='));
    if is_word {
        out.extend_from_slice(text);
        return;
    }
    match std::str::from_utf8(text) {
        Ok(text) => write::push_string(out, text),
        Err(_) => write::push_string(out, &String::from_utf8_lossy(text)),
    }
}

/// Reads the fields of a scope.
struct ForeignFieldReader<'r> {
    nodes: &'r [NodeUse],
    class: &'r ForeignClass,
    event: &'r mut ForeignEvent,
}

impl ForeignFieldReader<'_> {
    fn add_line(&mut self, field: Field<'_>, value: &FieldValue<'_>) {
        let Some(node) = self.nodes.get(field.index()).copied() else { return };
        let event = &mut *self.event;
        match node.field {
            FieldUse::Skip => return,
            FieldUse::Line | FieldUse::Message => {
                if let Some(text) = value.as_bytes() {
                    event.search(text);
                }
            }
            _ => {}
        }
        match node.field {
            FieldUse::Skip | FieldUse::Line => {}
            FieldUse::Message if std::mem::replace(&mut event.has_label, true) => {
                // Readers take a single label as the message.
                return event.lines.push_with(b"Label_", |bytes| push_value(bytes, value));
            }
            FieldUse::Message => {}
            FieldUse::Task | FieldUse::Operation | FieldUse::Cause(_) => {
                if !self.identifier(node.field, value) {
                    return;
                }
            }
            FieldUse::Chain => {
                event.chain = value.as_u64().or(event.chain);
                return;
            }
            FieldUse::CauseChain => {
                // A negative number means the chain of the event.
                let chain = value.as_i128().filter(|number| *number >= 0);
                let short = chain.and_then(|number| u16::try_from(number).ok());
                event.long_chains += u64::from(chain.is_some() && short.is_none());
                event.cause_chains.push(short);
                return;
            }
            FieldUse::Process => event.process = value.as_u64().unwrap_or(event.process),
            FieldUse::Thread => {
                let of_name = || value.as_bytes().map(|name| hash(4, name));
                event.thread = event.thread.or_else(|| value.as_i128().map(|id| id as u64)).or_else(of_name);
            }
            FieldUse::Severity => {
                let Some(level) = value.as_i64() else {
                    // Readers only accept numbers as a severity.
                    if !matches!(value, FieldValue::Null) {
                        event.lines.push_with(b"Severity_", |bytes| push_value(bytes, value));
                    }
                    return;
                };
                let severity = self.class.severity(level);
                event.has_other_severity |= level != i64::from(severity);
                return event
                    .lines
                    .push_with(b"Severity", |bytes| write::push_unsigned(bytes, severity.into()));
            }
        }
        let key = self.class.key(node.key);
        self.event.lines.push_with(key, |bytes| push_value(bytes, value));
    }

    /// Enters a structure or an array, and counts it if it is empty.
    fn begin(&mut self, field: Field<'_>, is_empty: bool) {
        let node = self.nodes.get(field.index());
        let is_line = node.is_some_and(|node| matches!(node.field, FieldUse::Line | FieldUse::Message));
        self.event.empty += u64::from(is_empty && is_line);
    }

    /// Takes an identifier. Returns `true` if the original value should also be written, because the identifier in
    /// reports differs.
    fn identifier(&mut self, field: FieldUse, value: &FieldValue<'_>) -> bool {
        let event = &mut *self.event;
        let id = Identifier::from_value(value);
        let is_zero = |byte: &u8| matches!(byte, 0 | b'0' | b'-' | b'{' | b'}');
        let too_long = id.is_none() && value.as_bytes().is_some_and(|bytes| !bytes.iter().all(is_zero));
        event.too_long += u64::from(too_long);
        if let FieldUse::Cause(kind) = field {
            let position = event.cause_count;
            event.cause_count += 1;
            match id {
                Some(id) if event.causes.len() < MOST_CAUSES => {
                    event.causes.push(EventCause { id, kind, position });
                }
                _ => event.further_causes += u64::from(id.is_some()),
            }
        }
        let Some(id) = id else { return too_long };
        match field {
            FieldUse::Task => {
                event.task = Some(id);
                task_of(&id).as_bytes() != id.as_bytes()
            }
            FieldUse::Operation => {
                event.operation = Some(id);
                op_of(&id).as_bytes() != id.as_bytes()
            }
            _ => op_of(&id).as_bytes() != id.as_bytes(),
        }
    }
}

/// Appends a value as text.
fn push_value(out: &mut Vec<u8>, value: &FieldValue<'_>) {
    // Writing to a vector cannot fail.
    let _ = match value {
        FieldValue::Unsigned(value) | FieldValue::Bits(value) => {
            write::push_unsigned(out, *value);
            Ok(())
        }
        FieldValue::Signed(value) => {
            write::push_signed(out, *value);
            Ok(())
        }
        FieldValue::Integer(value) => write!(out, "{value}"),
        FieldValue::Wide(value) => {
            value.write_decimal(out);
            Ok(())
        }
        FieldValue::Boolean(value) => write!(out, "{value}"),
        FieldValue::Real(Real::Single(value)) => write!(out, "{value}"),
        FieldValue::Real(value) => write!(out, "{}", value.to_f64()),
        FieldValue::Text(text) => {
            out.extend_from_slice(text);
            Ok(())
        }
        FieldValue::Blob(bytes) => {
            crate::report::push_hex(bytes, out);
            Ok(())
        }
        FieldValue::Guid(value) => write!(out, "{value}"),
        FieldValue::Null => write!(out, "null"),
        _ => Ok(()),
    };
}

impl Visitor for ForeignFieldReader<'_> {
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        self.add_line(field, &value);
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let is_line = self.nodes.get(field.index()).is_some_and(|node| node.field != FieldUse::Skip);
        self.event.rounded += u64::from(is_line && matches!(value, Real::Wide(_)));
        self.add_line(field, &FieldValue::Real(value));
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if value.encoding == StringEncoding::Utf8 {
            return self.add_line(field, &FieldValue::Text(value.bytes));
        }
        let mut text = std::mem::take(&mut self.event.text);
        text.clear();
        value.write_utf8(&mut text);
        self.add_line(field, &FieldValue::Text(&text));
        self.event.text = text;
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, field.class().members().is_some_and(<[_]>::is_empty));
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.begin(field, length == 0);
    }
}
