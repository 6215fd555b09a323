//! Splits events that were read from FXT, or converted from it, into record parts.

use ichnos_model::class::{EventRecordClass, FieldClass, Member};
use ichnos_model::{Event, Scope};

use super::class_losses::{ClassLoss, ClassLosses};
use super::leaves::{Leaf, LeafValue, Leaves};
use super::record_parts::RecordParts;
use crate::fxt::{argument_kind as kind, bits, record_kind};
use crate::fxt_reader::class::{FLOW_ID, FLOW_NUMBER, argument_kind_of, argument_name_of, form_of};
use crate::fxt_reader::key::{RecordForm, RecordKind};

/// An event class for FXT records.
#[derive(Debug)]
pub(super) struct OwnClass {
    pub(super) form: RecordForm,
    pub(super) category: Vec<u8>,
    pub(super) name: Vec<u8>,
    /// Names and types of the arguments that are members.
    pub(super) arguments: Vec<(Vec<u8>, u8)>,
    /// Number of leading payload members that belong to the specific context.
    moved: usize,
}

impl OwnClass {
    /// Returns the FXT class, or `None` for any other class.
    pub(super) fn from_class(class: &EventRecordClass) -> Option<Self> {
        let (form, category, name) = form_of(class)?;
        let scope = match form.kind {
            RecordKind::LargeBlob => Some(&*class.specific_context.as_deref()?.members()?.last()?.class),
            _ => class.payload.as_deref(),
        };
        let mut arguments = Vec::new();
        let moved = moved_context(class, &form);
        if form.kind.has_arguments() && !form.is_any {
            for member in members_of(scope).skip(moved) {
                arguments.push((argument_name_of(member).into_owned(), argument_kind_of(&member.class)?));
            }
        }
        Some(Self { form, category: category.into_owned(), name: name.into_owned(), arguments, moved })
    }

    /// Returns `true` for events that take their names from the class.
    pub(super) fn is_event(&self) -> bool {
        self.form.kind == RecordKind::Event && !self.form.is_any
    }

    /// Returns `true` if events have a word after the arguments.
    pub(super) fn has_word(&self) -> bool {
        self.form.has_scope || !matches!(self.form.event, 0 | 2 | 3)
    }

    /// Returns the word after the arguments. `number` is the specific context number, `ticks` the event time. For a
    /// complete span, the word is the end time.
    pub(super) fn word(&self, ticks: u64, number: u64) -> u64 {
        word_of(self.form.event, ticks, number)
    }

    /// Returns `true` if records have a time.
    pub(super) fn has_time(&self) -> bool {
        use RecordKind::{BareLargeBlob, Blob, KernelObject, LargeUnknown, Unknown, UserspaceObject};
        !matches!(
            self.form.kind,
            BareLargeBlob | Blob | KernelObject | LargeUnknown | Unknown | UserspaceObject
        )
    }

    /// Returns `true` for large records of an unknown type, where the reader omits the data.
    pub(super) fn is_unknown_and_large(&self) -> bool {
        self.form.kind == RecordKind::LargeUnknown
    }
}

/// Returns the members of a root, without padding.
fn members_of(root: Option<&FieldClass>) -> impl Iterator<Item = &Member> {
    let members = root.and_then(FieldClass::members).unwrap_or_default().iter();
    members.filter(|member| !member.class.is_padding())
}

/// Returns the number of leading payload members that belong to the specific context. CTF 1.8 cannot keep the optional
/// flow number there.
fn moved_context(class: &EventRecordClass, form: &RecordForm) -> usize {
    let is_flow = form.kind == RecordKind::Event && !form.is_any && (8..=10).contains(&form.event);
    let mut payload = members_of(class.payload.as_deref());
    if !is_flow
        || members_of(class.specific_context.as_deref()).next().is_some()
        || payload.next().is_none_or(|member| member.name != FLOW_ID)
    {
        return 0;
    }
    payload.take(2).position(|member| member.name == FLOW_NUMBER).map_or(0, |position| position + 2)
}

/// Reads event fields in class order.
struct RecordFieldReader<'l> {
    leaves: &'l Leaves,
    list: std::slice::Iter<'l, Leaf>,
}

impl<'l> RecordFieldReader<'l> {
    fn value(&mut self) -> Option<LeafValue> {
        self.list.next().map(|leaf| leaf.value)
    }

    /// Returns a number, or `None` if the field is absent or not a number.
    fn number(&mut self) -> Option<u64> {
        match self.value()? {
            LeafValue::Unsigned(value) => Some(value),
            LeafValue::Signed(value) => Some(value as u64),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<&'l [u8]> {
        match self.value()? {
            value @ (LeafValue::Text { .. } | LeafValue::Blob { .. }) => Some(self.leaves.bytes_of(value)),
            _ => None,
        }
    }
}

/// Reads the record parts of an event. Returns `None` if its fields do not fit the class, or if the record cannot be
/// written (a large record of an unknown type).
pub(super) fn read(
    event: &Event<'_>,
    class: &OwnClass,
    ticks: Option<u64>,
    leaves: &mut Leaves,
    parts: &mut RecordParts,
) -> Option<()> {
    leaves.clear();
    leaves.has_names = false;
    let mut ends = [0; 3];
    let scopes = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload];
    for (scope, end) in scopes.into_iter().zip(&mut ends) {
        leaves.begin_scope();
        event.visit(scope, leaves).ok()?;
        *end = leaves.list.len();
    }
    let leaves = &*leaves;
    let scope = |from: usize, to: usize| RecordFieldReader {
        leaves,
        list: leaves.list.get(from..to).unwrap_or_default().iter(),
    };
    // Moved members come first in the payload.
    let end = ends[1] + class.moved;
    let (mut common, mut context) = (scope(0, ends[0]), scope(ends[0], end));
    let mut payload = scope(end, ends[2]);
    // After a conversion, other members come first.
    let mut ids = common.list.by_ref().rev().take(2);
    let (thread, process) = (ids.next(), ids.next());
    let id = |leaf: Option<&Leaf>| match leaf.map(|leaf| leaf.value) {
        Some(LeafValue::Unsigned(value)) => value,
        _ => 0,
    };
    let form = RecordForm { is_any: false, ..class.form };
    parts.begin(form, ticks.filter(|_| class.has_time()));
    (parts.process, parts.thread) = (id(process), id(thread));
    match class.form.kind {
        RecordKind::Event => event_context(class, &mut context, parts)?,
        RecordKind::LargeUnknown => return None,
        RecordKind::Backtrace => backtrace(event, &mut payload, parts)?,
        _ => record(class.form.kind, &mut context, &mut payload, parts)?,
    }
    let arguments = if class.form.kind == RecordKind::LargeBlob { &mut context } else { &mut payload };
    if class.form.kind.has_arguments() {
        read_arguments(class, arguments, parts)?;
    }
    Some(())
}

/// Makes an unknown record refer to its new provider. Other table references in it cannot be recognized.
pub(super) fn refer_to_tables(parts: &mut RecordParts, provider: Option<u32>, losses: &mut ClassLosses) {
    if parts.form.kind != RecordKind::Unknown {
        return;
    }
    let Some(word) = parts.bytes.get_mut(parts.data.clone()).and_then(|data| data.first_chunk_mut()) else {
        return;
    };
    let header = u64::from_le_bytes(*word);
    if bits(header, 0, 3) != record_kind::METADATA {
        losses.add(ClassLoss::Indexes, 1);
    } else if bits(header, 16, 19) == 3
        && let Some(provider) = provider
    {
        // A provider event, with the provider id.
        let rest = header & !(u64::from(u32::MAX) << 20);
        *word = (rest | u64::from(provider) << 20).to_le_bytes();
    }
}

fn event_context(
    class: &OwnClass,
    context: &mut RecordFieldReader<'_>,
    parts: &mut RecordParts,
) -> Option<()> {
    if class.form.is_any {
        // The context ends with type, category and name.
        let all = context.list.as_slice();
        let [rest @ .., event, category, name] = all else { return None };
        let LeafValue::Unsigned(event) = event.value else { return None };
        parts.form.event = event as u8;
        parts.category = parts.add(context.leaves.bytes_of(category.value));
        parts.name = parts.add(context.leaves.bytes_of(name.value));
        parts.form.has_scope = event == 0 && !rest.is_empty();
        if !rest.is_empty() {
            parts.words[0] = word_of(parts.form.event, parts.ticks.unwrap_or(0), context.number()?);
        }
        return Some(());
    }
    parts.category = parts.add(&class.category);
    parts.name = parts.add(&class.name);
    if class.has_word() {
        parts.words[0] = word_of(parts.form.event, parts.ticks.unwrap_or(0), context.number()?);
    }
    Some(())
}

fn word_of(event: u8, ticks: u64, number: u64) -> u64 {
    match event {
        4 => ticks.wrapping_add(number),
        _ => number,
    }
}

/// Reads the call stack of a sample.
fn backtrace(event: &Event<'_>, payload: &mut RecordFieldReader<'_>, parts: &mut RecordParts) -> Option<()> {
    let stack = payload.number();
    parts.words[0] = payload.number()?;
    let stack = stack.and_then(|stack| u32::try_from(stack).ok());
    let begin = parts.bytes.len();
    if let Some(stack) = stack {
        for (_, frame) in event.stream.stacks().table.view().frames(stack).take(u8::MAX.into()) {
            parts.bytes.extend_from_slice(&frame.address.unwrap_or(0).to_le_bytes());
        }
    }
    parts.data = begin..parts.bytes.len();
    Some(())
}

fn record(
    kind: RecordKind,
    context: &mut RecordFieldReader<'_>,
    payload: &mut RecordFieldReader<'_>,
    parts: &mut RecordParts,
) -> Option<()> {
    match kind {
        RecordKind::Blob => {
            parts.name = parts.add(payload.bytes()?);
            parts.words[0] = payload.number()?;
            parts.data = parts.add(payload.bytes()?);
        }
        RecordKind::UserspaceObject => {
            parts.words[0] = context.number()?;
            parts.name = parts.add(context.bytes()?);
        }
        RecordKind::KernelObject => {
            parts.words = [context.number()?, context.number()?, 0, 0, 0, 0];
            parts.name = parts.add(context.bytes()?);
        }
        RecordKind::Switch => {
            parts.words = [context.number()?, context.number()?, context.number()?, 0, 0, 0];
        }
        RecordKind::Wakeup => parts.words[0] = context.number()?,
        RecordKind::LegacySwitch => {
            for word in &mut parts.words {
                *word = payload.number()?;
            }
        }
        RecordKind::Log => parts.data = parts.add(payload.bytes()?),
        RecordKind::Module => {
            parts.words[0] = payload.number()?;
            parts.name = parts.add(payload.bytes()?);
            parts.data = parts.add(payload.bytes()?);
        }
        RecordKind::Mapping => {
            for word in parts.words.iter_mut().take(5) {
                *word = payload.number()?;
            }
        }
        RecordKind::LargeBlob | RecordKind::BareLargeBlob => {
            parts.category = parts.add(context.bytes()?);
            parts.name = parts.add(context.bytes()?);
            payload.number()?;
            parts.data = parts.add(payload.bytes()?);
        }
        RecordKind::Unknown => {
            payload.number()?;
            parts.data = parts.add(payload.bytes()?);
        }
        RecordKind::Event | RecordKind::Backtrace | RecordKind::LargeUnknown => return None,
    }
    Some(())
}

fn read_arguments(
    class: &OwnClass,
    fields: &mut RecordFieldReader<'_>,
    parts: &mut RecordParts,
) -> Option<()> {
    let leaves = fields.leaves;
    if class.form.is_any {
        while let Some(name) = fields.bytes() {
            let leaf = fields.list.next()?;
            let kind = u8::try_from(leaf.option?).ok()?;
            parts.argument(name, kind, leaf, leaves);
        }
        return Some(());
    }
    for (name, kind) in &class.arguments {
        let leaf = fields.list.next()?;
        if leaf.value == LeafValue::Absent && *kind != kind::NULL {
            return None;
        }
        parts.argument(name, *kind, leaf, leaves);
    }
    Some(())
}
