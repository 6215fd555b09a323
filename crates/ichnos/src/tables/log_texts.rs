//! Log levels and messages of rows.

use ichnos_model::Event;
use ichnos_model::event::StreamTable;
use ichnos_model::log::LogLevel;
use ichnos_viewers::log_line::LogFields;

/// Finds log levels and messages of events.
#[derive(Default)]
pub(super) struct LogReader {
    classes: StreamTable<(), (), LogFields>,
    text: String,
}

/// Log levels and messages of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct LogTexts {
    levels: Vec<Option<LogLevel>>,
    /// All messages, one after the other.
    messages: String,
    /// End of each row's part, and `true` if the row has a message.
    ends: Vec<(usize, bool)>,
}

impl LogReader {
    pub(super) fn add(&mut self, event: &Event<'_>, texts: &mut LogTexts) {
        if !self.classes.has(event.stream) {
            self.classes.insert(event.stream, (), || ());
        }
        let Some((_, _, classes)) = self.classes.get_mut(event.stream) else { return };
        let fields = classes.for_event(event, || LogFields::for_event(event));
        texts.levels.push(fields.level(event));
        let has_message = fields.has_message();
        if has_message {
            fields.message(event, &mut self.text);
            texts.messages.push_str(&self.text);
        }
        texts.ends.push((texts.messages.len(), has_message));
    }
}

impl LogTexts {
    pub(super) fn level(&self, row: usize) -> Option<&'static str> {
        Some(self.levels.get(row).copied()??.name())
    }

    pub(super) fn message(&self, row: usize) -> Option<&str> {
        let (end, has_message) = *self.ends.get(row)?;
        let before = row.checked_sub(1).and_then(|before| self.ends.get(before));
        let begin = before.map_or(0, |(end, _)| *end);
        self.messages.get(begin..end).filter(|_| has_message)
    }
}
