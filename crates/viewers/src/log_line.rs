//! Events as log lines.

use std::borrow::Cow;
use std::sync::Arc;

use ichnos_model::Event;
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::log::{LogLevel, LogRole, LogSeverity, LogText};
use ichnos_model::meaning::{CauseKind, Meaning};

use ichnos_analysis::events::text_field::TextField;

/// Log line fields of a class.
#[derive(Debug)]
pub struct LogFields {
    role: Option<Arc<LogRole>>,
    severity: Option<FieldRef>,
    message: Option<TextField>,
    tag: Option<TextField>,
    component: Option<TextField>,
    /// `true` if events have a message and are not operations.
    pub are_lines: bool,
}

/// Returns the text of an event, also in bytes, with U+FFFD for invalid parts. A number has no text.
fn text<'e>(field: &TextField, event: &Event<'e>) -> Option<Cow<'e, str>> {
    match event.get(field.field())? {
        FieldValue::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
        value => field.text_of(value),
    }
}

impl LogFields {
    /// Finds the fields of the event class.
    pub fn for_event(event: &Event<'_>) -> Self {
        let text = |meaning| TextField::for_meaning(event, meaning);
        let has = |meaning| event.class.meanings.members(meaning).next().is_some();
        let kinds = [CauseKind::Parent, CauseKind::Predecessor, CauseKind::Return, CauseKind::Related];
        let has_causes = kinds.into_iter().any(|kind| has(Meaning::Cause(kind)));
        let role = event.class.log.clone();
        let has_text = role.as_ref().is_some_and(|role| role.text.is_some_and(|text| text != LogText::NAME));
        let is_operation = has(Meaning::OperationId) && has_causes;
        Self {
            are_lines: role.is_some() && (has_text || has(Meaning::Message)) && !is_operation,
            role,
            severity: FieldRef::for_meaning(event, Meaning::Severity),
            message: text(Meaning::Message),
            tag: text(Meaning::Tag),
            component: text(Meaning::Component),
        }
    }

    /// Returns `true` if all events have the same log level.
    pub fn has_constant_level(&self) -> bool {
        self.role.as_ref().is_none_or(|role| role.severity != LogSeverity::Member)
    }

    /// Returns `true` if events can have a message.
    pub fn has_message(&self) -> bool {
        self.rendered().is_some() || self.message.is_some()
    }

    /// Returns the rendered message, if any.
    fn rendered(&self) -> Option<LogText> {
        self.role.as_ref().and_then(|role| role.text).filter(|text| *text != LogText::NAME)
    }

    /// Returns the log level of an event.
    pub fn level(&self, event: &Event<'_>) -> Option<LogLevel> {
        let role = self.role.as_ref()?;
        let number = match role.severity {
            LogSeverity::Constant(number) => Some(number),
            LogSeverity::Member => event.get(self.severity.as_ref()?)?.as_i64(),
            _ => None,
        };
        number.map(|number| role.scale.level(number))
    }

    /// Replaces `text` by the event message, or clears it without a message.
    pub fn message(&self, event: &Event<'_>, text: &mut String) {
        text.clear();
        if let Some(rendered) = self.rendered() {
            // The message stops at a decoding error.
            let _ = (rendered.write)(event, text);
        } else if let Some(message) = self.message.as_ref().and_then(|message| self::text(message, event)) {
            text.push_str(&message);
        }
    }

    /// Returns the first tag of an event, or else its component.
    pub fn tag<'e>(&self, event: &Event<'e>) -> Option<Cow<'e, str>> {
        let text = |field: &Option<TextField>| text(field.as_ref()?, event);
        text(&self.tag).or_else(|| text(&self.component)).filter(|tag| !tag.is_empty())
    }
}
