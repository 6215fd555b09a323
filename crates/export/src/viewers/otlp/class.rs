//! Classes of events for OTLP.

use std::sync::Arc;

use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{CauseKind, Event, FieldRef, LogLevel, LogRole, LogSeverity, LogText, Meaning, Value};

use crate::viewers::arguments::ScopeNames;
use crate::viewers::class::{EventForm, ViewerClass};
use crate::viewers::losses::{lose_part, lose_parts};
use crate::viewers::names::NumberedNames;

/// Begin of the names of the attributes that come from the event that ends a span.
const END: &str = "end.";

/// An event record class with what is the same for all its events.
#[derive(Debug)]
pub(super) struct OtlpClass {
    pub(super) class: ViewerClass,
    pub(super) scopes: Vec<ScopeNames>,
    /// Number of the category as the name of a scope, 0 without one.
    pub(super) scope: u32,
    machine: Option<FieldRef>,
    component: Option<FieldRef>,
    thread: Option<FieldRef>,
    severity: Option<FieldRef>,
    message: Option<FieldRef>,
    log: Option<Arc<LogRole>>,
    /// `true` if its events are messages, and no operations of their own.
    pub(super) is_log: bool,
    host: Option<Box<str>>,
    /// Name of the process of the trace.
    process_name: Option<Box<str>>,
}

impl OtlpClass {
    /// Makes the class of an event.
    pub(super) fn of(
        event: &Event<'_>,
        names: &mut NumberedNames,
        scopes: &mut NumberedNames,
        losses: &mut LossTable,
    ) -> Self {
        let class = ViewerClass::of(event);
        lose_parts(losses, event, &class);
        if class.has_stacks() {
            lose_part(losses, event, LossKind::Dropped, "stack", "call stack");
        }
        if class.form == EventForm::Sample {
            lose_part(losses, event, LossKind::Lowered, "", "sample -> log record");
        }
        if class.message.is_some() {
            lose_part(losses, event, LossKind::Dropped, "", "flow of a message");
        }
        let lead = match class.form {
            EventForm::End | EventForm::KeyedEnd => END,
            _ => "",
        };
        let first = |meaning| FieldRef::of_meaning(event, meaning);
        let has = |meaning| event.class.meanings.members(meaning).next().is_some();
        let kinds = [CauseKind::Parent, CauseKind::Predecessor, CauseKind::Return, CauseKind::Related];
        let has_causes = kinds.into_iter().any(|kind| has(Meaning::Cause(kind)));
        let log = event.class.log.clone();
        let has_text = log.as_ref().is_some_and(|log| log.text.is_some_and(|text| text != LogText::NAME));
        let is_operation = has(Meaning::OperationId) && has_causes;
        let is_log = log.is_some() && (has_text || has(Meaning::Message)) && !is_operation;
        let environment = |name| match event.stream.trace.class.environment(name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.as_str().into()),
            _ => None,
        };
        Self {
            scopes: ScopeNames::all_with_lead(event, &class, lead, names),
            scope: if class.category.is_empty() { 0 } else { scopes.number(&class.category) },
            machine: first(Meaning::Machine),
            component: first(Meaning::Component),
            thread: first(Meaning::Thread),
            severity: first(Meaning::Severity),
            message: first(Meaning::Message),
            log,
            is_log,
            host: environment("hostname"),
            process_name: environment("procname"),
            class,
        }
    }

    /// Returns the name of the machine of an event.
    pub(super) fn host<'e>(&'e self, event: &Event<'e>) -> Option<&'e str> {
        let own = self.machine.as_ref().and_then(|machine| event.get(machine)?.as_str());
        own.or(self.host.as_deref())
    }

    /// Returns the name of the component of an event, or of the process of its trace.
    pub(super) fn component<'e>(&'e self, event: &Event<'e>) -> Option<&'e str> {
        let own = self.component.as_ref().and_then(|component| event.get(component)?.as_str());
        own.or(self.process_name.as_deref())
    }

    /// Returns the number of the thread of an event.
    pub(super) fn thread(&self, event: &Event<'_>) -> Option<u64> {
        event.get(self.thread.as_ref()?)?.as_u64()
    }

    /// Returns the level of an event.
    pub(super) fn level(&self, event: &Event<'_>) -> Option<LogLevel> {
        let log = self.log.as_ref()?;
        let number = match log.severity {
            LogSeverity::Constant(number) => Some(number),
            LogSeverity::Member => event.get(self.severity.as_ref()?)?.as_i64(),
            _ => None,
        };
        number.map(|number| log.scale.level(number))
    }

    /// Replaces `text` by the message of an event; nothing if it has none.
    pub(super) fn message(&self, event: &Event<'_>, text: &mut String) {
        text.clear();
        let rendered = self.log.as_ref().and_then(|log| log.text).filter(|text| *text != LogText::NAME);
        if let Some(rendered) = rendered {
            // It ends at a failure.
            let _ = (rendered.write)(event, text);
        } else if let Some(message) = self.message.as_ref().and_then(|message| event.get(message)) {
            match message.as_str() {
                Some(message) => text.push_str(message),
                None => text.push_str(&String::from_utf8_lossy(message.as_bytes().unwrap_or_default())),
            }
        }
    }
}
