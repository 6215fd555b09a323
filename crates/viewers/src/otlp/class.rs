//! Event classes for OTLP.

use std::borrow::Cow;

use ichnos_model::Event;
use ichnos_model::class::Value;
use ichnos_model::field::FieldRef;
use ichnos_model::log::LogLevel;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::meaning::Meaning;

use super::element_class::ElementClass;
use super::origins::NumberedScopes;
use crate::arguments::{ArgumentNames, ScopeNames};
use crate::log_line::LogFields;
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::losses::{record_class_losses, record_loss};
use ichnos_analysis::events::text_field::TextField;
use ichnos_analysis::tasks::TaskFields;

/// Name prefix for attributes from the end event of a span.
const END: &str = "end.";

/// Event record class with the data that all its events share.
#[derive(Debug)]
pub(super) struct OtlpClass {
    pub(super) class: ViewerClass,
    /// Class from OpenTelemetry input.
    pub(super) element: Option<Box<ElementClass>>,
    pub(super) scopes: Vec<ScopeNames>,
    /// Fields that can mention operations.
    pub(super) mentions: Option<TaskFields>,
    /// Number of the scope, whose name is the category. 0 without a category.
    pub(super) scope: u32,
    /// Fields of log records between the time and the attributes, if they are the same for all events.
    pub(super) record: Option<Box<[u8]>>,
    machine: Option<TextField>,
    component: Option<TextField>,
    thread: Option<FieldRef>,
    log: LogFields,
    host: Option<Box<str>>,
    /// Process name of the trace.
    process_name: Option<Box<str>>,
}

impl OtlpClass {
    /// Creates the class of an event. With `searches`, texts and fields can mention operations.
    pub(super) fn for_event(
        event: &Event<'_>,
        searches: bool,
        names: &mut ArgumentNames,
        scopes: &mut NumberedScopes,
        losses: &mut LossTable,
    ) -> Self {
        let class = ViewerClass::from_event(event);
        let element = ElementClass::for_event(event, names, losses).map(Box::new);
        if element.is_none() {
            record_class_losses(losses, event, &class);
        }
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
        let environment = |name| match event.stream.trace.class.environment(name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.as_str().into()),
            _ => None,
        };
        let mentions = searches.then(|| TaskFields::for_mentions(event));
        Self {
            mentions: mentions.filter(|fields| !fields.is_empty()),
            scopes: ScopeNames::all_with_prefix(event, &class, prefix, names),
            scope: scopes.named(&class.category),
            machine: TextField::for_meaning(event, Meaning::Machine),
            component: TextField::for_meaning(event, Meaning::Component),
            thread: FieldRef::for_meaning(event, Meaning::Thread),
            log: LogFields::for_event(event),
            host: environment("hostname"),
            process_name: environment("procname"),
            record: None,
            element,
            class,
        }
    }

    /// Returns `true` if all events have the same log level, and their name as the message.
    pub(super) fn has_constant_record(&self) -> bool {
        self.log.has_constant_level() && !self.log.has_message()
    }

    /// Returns the machine name of an event.
    pub(super) fn host<'e>(&'e self, event: &Event<'e>) -> Option<Cow<'e, str>> {
        let own = self.machine.as_ref().and_then(|machine| machine.get(event));
        own.or_else(|| self.host.as_deref().map(Cow::Borrowed))
    }

    /// Returns the component name of an event, or the trace's process name.
    pub(super) fn component<'e>(&'e self, event: &Event<'e>) -> Option<Cow<'e, str>> {
        let own = self.component.as_ref().and_then(|component| component.get(event));
        own.or_else(|| self.process_name.as_deref().map(Cow::Borrowed))
    }

    /// Returns the thread number of an event.
    pub(super) fn thread(&self, event: &Event<'_>) -> Option<u64> {
        event.get(self.thread.as_ref()?)?.as_u64()
    }

    /// Returns `true` if events are messages and not operations.
    pub(super) fn is_log(&self) -> bool {
        self.log.are_lines
    }

    /// Returns the log level of an event.
    pub(super) fn level(&self, event: &Event<'_>) -> Option<LogLevel> {
        self.log.level(event)
    }

    /// Replaces `text` by the event message, or clears it without a message.
    pub(super) fn message(&self, event: &Event<'_>, text: &mut String) {
        self.log.message(event, text);
    }
}
