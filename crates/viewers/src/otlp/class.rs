//! Classes of events for OTLP.

use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{Event, FieldRef, LogLevel, Meaning, Value};

use crate::arguments::ScopeNames;
use crate::log_line::LogFields;
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::losses::{record_class_losses, record_loss};
use ichnos_analysis::events::names::NumberedNames;
use ichnos_analysis::tasks::TaskFields;

/// Begin of the names of the attributes that come from the event that ends a span.
const END: &str = "end.";

/// An event record class with what is the same for all its events.
#[derive(Debug)]
pub(super) struct OtlpClass {
    pub(super) class: ViewerClass,
    pub(super) scopes: Vec<ScopeNames>,
    /// Fields that can mention operations.
    pub(super) mentions: Option<TaskFields>,
    /// Number of the category as the name of a scope, 0 without one.
    pub(super) scope: u32,
    machine: Option<FieldRef>,
    component: Option<FieldRef>,
    thread: Option<FieldRef>,
    log: LogFields,
    host: Option<Box<str>>,
    /// Name of the process of the trace.
    process_name: Option<Box<str>>,
}

impl OtlpClass {
    /// Makes the class of an event. With `searches`, its texts and fields can mention operations.
    pub(super) fn of(
        event: &Event<'_>,
        searches: bool,
        names: &mut NumberedNames,
        scopes: &mut NumberedNames,
        losses: &mut LossTable,
    ) -> Self {
        let class = ViewerClass::from_event(event);
        record_class_losses(losses, event, &class);
        if class.has_stacks() {
            record_loss(losses, event, LossKind::Dropped, "stack", "call stack");
        }
        if class.form == EventForm::Sample {
            record_loss(losses, event, LossKind::Lowered, "", "sample -> log record");
        }
        if class.has_message() {
            record_loss(losses, event, LossKind::Dropped, "", "message flow");
        }
        let prefix = match class.form {
            EventForm::End | EventForm::KeyedEnd => END,
            _ => "",
        };
        let first = |meaning| FieldRef::for_meaning(event, meaning);
        let environment = |name| match event.stream.trace.class.environment(name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.as_str().into()),
            _ => None,
        };
        let mentions = searches.then(|| TaskFields::from_event(event, true));
        Self {
            mentions: mentions.filter(|fields| !fields.is_empty()),
            scopes: ScopeNames::all_with_prefix(event, &class, prefix, names),
            scope: if class.category.is_empty() { 0 } else { scopes.number(&class.category) },
            machine: first(Meaning::Machine),
            component: first(Meaning::Component),
            thread: first(Meaning::Thread),
            log: LogFields::of(event),
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

    /// Returns `true` if its events are messages, and no operations of their own.
    pub(super) fn is_log(&self) -> bool {
        self.log.are_lines
    }

    /// Returns the level of an event.
    pub(super) fn level(&self, event: &Event<'_>) -> Option<LogLevel> {
        self.log.level(event)
    }

    /// Replaces `text` by the message of an event; nothing if it has none.
    pub(super) fn message(&self, event: &Event<'_>, text: &mut String) {
        self.log.message(event, text);
    }
}
