//! Labels of events that were converted from this format (version 6).

use ichnos_model::{Event, Field as VisitedField, FieldRef, Scope, Text, Uuid, Visitor};

use super::written_event::WrittenEvent;
use crate::reader::class::context;

/// Members of the common context that become labels.
pub(super) const NAMES: [&str; 5] = [
    context::TRACE_ID_NAME,
    context::SPAN_ID_NAME,
    context::LABELS_NAME,
    context::NUMERIC_LABELS_NAME,
    context::CAPTURE_PROCESS_NAME,
];

/// Fields of a class of events that become labels.
#[derive(Debug)]
pub(super) struct LabelFields {
    trace_id: Option<FieldRef>,
    span_id: Option<FieldRef>,
    capture_process: Option<FieldRef>,
    /// `true` if there are fields with names and values of further labels.
    has_lists: bool,
}

impl LabelFields {
    /// Finds the fields of a class.
    pub(super) fn of(event: &Event<'_>) -> Self {
        let field = |name| FieldRef::within(event, Scope::CommonContext, name);
        Self {
            trace_id: field(context::TRACE_ID_NAME),
            span_id: field(context::SPAN_ID_NAME),
            capture_process: field(context::CAPTURE_PROCESS_NAME),
            has_lists: field(context::LABELS_NAME).is_some() || field(context::NUMERIC_LABELS_NAME).is_some(),
        }
    }

    /// Reads the labels of an event. Returns `false` if they cannot be decoded.
    pub(super) fn read(&self, event: &Event<'_>, parts: &mut WrittenEvent) -> bool {
        let value = |field: &Option<FieldRef>| field.as_ref().and_then(|field| event.get(field));
        let number = |field: &Option<FieldRef>| value(field).and_then(|value| value.as_u64());
        let trace_id = value(&self.trace_id);
        let trace_id = trace_id.as_ref().and_then(|id| std::str::from_utf8(id.as_bytes()?).ok());
        parts.trace_id = trace_id.and_then(|id| Uuid::try_parse(id).ok()).map(Uuid::into_bytes);
        (parts.span_id, parts.capture_process) = (number(&self.span_id), number(&self.capture_process));
        !self.has_lists
            || event
                .visit(Scope::CommonContext, &mut ListReader { parts, is_list: false, depth: 0, name: None })
                .is_ok()
    }
}

/// Reads the lists of names and values in a common context.
struct ListReader<'p> {
    parts: &'p mut WrittenEvent,
    /// `true` within a member that is a list.
    is_list: bool,
    /// Number of compound fields around.
    depth: usize,
    /// Name of the label that is read.
    name: Option<String>,
}

impl ListReader<'_> {
    fn begin(&mut self, field: VisitedField<'_>) {
        if self.depth == 1 {
            let name = field.name();
            self.is_list = [context::LABELS_NAME, context::NUMERIC_LABELS_NAME].map(Some).contains(&name);
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
