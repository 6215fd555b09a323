//! Event labels that were converted from version 6.

use ichnos_model::class::{FieldClass, FieldKind, Uuid};
use ichnos_model::field::{Field as VisitedField, FieldRef, Text};
use ichnos_model::{Event, Scope, Visitor};

use super::written_event::NettraceEvent;
use crate::reader::class::context;

/// Common context members that become labels.
pub(super) const NAMES: [&str; 5] = [
    context::TRACE_ID_NAME,
    context::SPAN_ID_NAME,
    context::LABELS_NAME,
    context::NUMERIC_LABELS_NAME,
    context::CAPTURE_PROCESS_NAME,
];

/// Returns `true` if a common context member can become a part of the event again. Its class must have the kind that
/// the reader creates, because other events can have members with the same name.
pub(super) fn is_label(name: &str, class: &FieldClass) -> bool {
    match name {
        context::TRACE_ID_NAME => is_value(class, &is_text),
        context::LABELS_NAME => has_pairs(class, &is_text),
        context::NUMERIC_LABELS_NAME => has_pairs(class, &|value| is_integer(value, true)),
        _ => is_value(class, &|value| is_integer(value, false)),
    }
}

fn is_text(class: &FieldClass) -> bool {
    matches!(class.kind, FieldKind::String { .. })
}

fn is_integer(class: &FieldClass, signed: bool) -> bool {
    class.integer().is_some_and(|integer| integer.signed == signed)
}

/// Returns `true` for a value of this kind, possibly absent.
fn is_value(class: &FieldClass, is_kind: &dyn Fn(&FieldClass) -> bool) -> bool {
    match &class.kind {
        FieldKind::Optional { field, .. } => is_value(field, is_kind),
        FieldKind::Variant { options, .. } => options.iter().any(|option| is_value(&option.class, is_kind)),
        _ => is_kind(class),
    }
}

/// Returns `true` for a list of pairs: a name, and a value of this kind.
fn has_pairs(class: &FieldClass, is_kind: &dyn Fn(&FieldClass) -> bool) -> bool {
    match &class.kind {
        FieldKind::Optional { field, .. } => has_pairs(field, is_kind),
        FieldKind::Variant { options, .. } => options.iter().any(|option| has_pairs(&option.class, is_kind)),
        FieldKind::Array { element, .. } => match &element.kind {
            FieldKind::Structure { members, .. } => {
                let mut members = members.iter().filter(|member| !member.class.is_padding());
                let pair = [members.next(), members.next(), members.next()];
                matches!(pair, [Some(name), Some(value), None] if is_text(&name.class) && is_kind(&value.class))
            }
            _ => false,
        },
        // The length and the elements.
        FieldKind::Structure { members, .. } => {
            members.iter().any(|member| has_pairs(&member.class, is_kind))
        }
        _ => false,
    }
}

/// Event class fields that become labels.
#[derive(Debug)]
pub(super) struct LabelFields {
    trace_id: Option<FieldRef>,
    span_id: Option<FieldRef>,
    capture_process: Option<FieldRef>,
    /// Names for the fields that contain label lists.
    lists: Vec<&'static str>,
}

impl LabelFields {
    /// Finds the fields of a class that have one of these names.
    pub(super) fn from_event(event: &Event<'_>, names: &[&'static str]) -> Self {
        let field = |name| {
            let is_taken = names.contains(&name);
            is_taken.then(|| FieldRef::within(event, Scope::CommonContext, name)).flatten()
        };
        let is_list = |name: &&str| [context::LABELS_NAME, context::NUMERIC_LABELS_NAME].contains(name);
        Self {
            trace_id: field(context::TRACE_ID_NAME),
            span_id: field(context::SPAN_ID_NAME),
            capture_process: field(context::CAPTURE_PROCESS_NAME),
            lists: names.iter().copied().filter(is_list).collect(),
        }
    }

    /// Reads an event's labels.
    pub(super) fn read(&self, event: &Event<'_>, parts: &mut NettraceEvent) -> LabelLosses {
        let value = |field: &Option<FieldRef>| field.as_ref().and_then(|field| event.get(field));
        let number = |field: &Option<FieldRef>| value(field).and_then(|value| value.as_u64());
        let trace_id = value(&self.trace_id);
        let trace_id = trace_id.as_ref().and_then(|id| id.as_bytes());
        let digits = trace_id.and_then(|id| std::str::from_utf8(id).ok());
        parts.trace_id = digits.and_then(|id| Uuid::try_parse(id).ok()).map(Uuid::into_bytes);
        (parts.span_id, parts.capture_process) = (number(&self.span_id), number(&self.capture_process));
        let mut losses = LabelLosses {
            has_other_trace_id: trace_id.is_some() && parts.trace_id.is_none(),
            is_undecodable: false,
        };
        if !self.lists.is_empty() {
            let mut reader = ListReader { parts, lists: &self.lists, is_list: false, depth: 0, name: None };
            losses.is_undecodable = event.visit(Scope::CommonContext, &mut reader).is_err();
        }
        losses
    }
}

/// Label losses in an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LabelLosses {
    /// The trace id is a text other than 32 hexadecimal digits.
    pub(super) has_other_trace_id: bool,
    pub(super) is_undecodable: bool,
}

/// Reads the label lists in a common context.
struct ListReader<'p> {
    parts: &'p mut NettraceEvent,
    /// Names for the members that are lists.
    lists: &'p [&'static str],
    /// `true` within a member that is a list.
    is_list: bool,
    /// Number of enclosing compound fields.
    depth: usize,
    /// Name of the current label.
    name: Option<String>,
}

impl ListReader<'_> {
    fn begin(&mut self, field: VisitedField<'_>) {
        if self.depth == 1 {
            self.is_list = field.name().is_some_and(|name| self.lists.contains(&name));
        }
        self.depth += 1;
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.is_list &= self.depth > 1;
    }
}

impl Visitor for ListReader<'_> {
    fn signed(&mut self, _: VisitedField<'_>, value: i64) {
        if self.is_list
            && let Some(name) = self.name.take()
        {
            self.parts.numeric_labels.push((name, value));
        }
    }

    fn text(&mut self, _: VisitedField<'_>, value: Text<'_>) {
        if !self.is_list {
            return;
        }
        let text = value.to_str_lossy().into_owned();
        match self.name.take() {
            Some(name) => self.parts.labels.push((name, text)),
            None => self.name = Some(text),
        }
    }

    fn begin_structure(&mut self, field: VisitedField<'_>) {
        self.name = None;
        self.begin(field);
    }

    fn end_structure(&mut self, _: VisitedField<'_>) {
        self.end();
    }

    fn begin_array(&mut self, field: VisitedField<'_>, _: u64) {
        self.begin(field);
    }

    fn end_array(&mut self, _: VisitedField<'_>) {
        self.end();
    }

    fn begin_optional(&mut self, field: VisitedField<'_>, _: bool, _: i128) {
        self.begin(field);
    }

    fn end_optional(&mut self, _: VisitedField<'_>) {
        self.end();
    }

    fn begin_variant(&mut self, field: VisitedField<'_>, _: usize, _: i128) {
        self.begin(field);
    }

    fn end_variant(&mut self, _: VisitedField<'_>) {
        self.end();
    }
}
