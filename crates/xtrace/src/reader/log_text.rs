//! Message text for reports whose class lacks meanings.

use std::fmt;

use ichnos_model::field::{Field, Text};
use ichnos_model::{Event, Scope, Visitor};

/// Writes the message of a report beyond the class limit, and all other lines that are missing from the contexts.
pub(super) fn write(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut lines = PairCollector::default();
    // Delivered events can always be decoded.
    let _ = event.visit(Scope::Payload, &mut lines);
    let message = ["Label", "Operation", "Title"]
        .into_iter()
        .find_map(|name| lines.lines.iter().position(|(key, _)| key == name));
    let mut space = "";
    if let Some((_, value)) = message.and_then(|index| lines.lines.get(index)) {
        out.write_str(value)?;
        space = " ";
    }
    for (index, (key, value)) in lines.lines.iter().enumerate() {
        if Some(index) != message {
            write!(out, "{space}{key}={value}")?;
            space = " ";
        }
    }
    Ok(())
}

/// Collects alternating keys and values.
#[derive(Default)]
struct PairCollector {
    lines: Vec<(String, String)>,
    key: Option<String>,
}

impl Visitor for PairCollector {
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        let mut text = Vec::new();
        value.write_utf8(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        match self.key.take() {
            Some(key) => self.lines.push((key, text)),
            None => self.key = Some(text),
        }
    }
}
