//! Lines as JSON objects: `Data<Logs>`, version 1, of the Fuchsia diagnostics service.

use ichnos_json::write::{ObjectWriter, ValueWriter};
use ichnos_model::log::LogLevel;

use super::LineContent;
use super::parts::SignedNumber;
use crate::time::TimeWriter;

impl LineContent<'_> {
    /// Appends the line. `dates` writes the time if it has a date.
    pub(super) fn push_json(&self, out: &mut Vec<u8>, dates: &mut TimeWriter) {
        let parts = self.parts;
        let mut line = ValueWriter::new(out).object();
        line.member("moniker").utf8(parts.component().unwrap_or_default());
        line.member("version").unsigned(1);
        line.member("data_source").string("Logs");
        let mut metadata = line.member("metadata").object();
        let timestamp = metadata.member("timestamp");
        match self.time {
            Some(time) if self.has_date => dates.push(timestamp.raw(), time),
            Some(time) => match u64::try_from(time) {
                Ok(time) => timestamp.unsigned(time),
                Err(_) => timestamp.integer(time),
            },
            // The time is mandatory.
            None => timestamp.unsigned(0),
        }
        // The severity is mandatory, too.
        metadata.member("severity").string(self.level.unwrap_or(LogLevel::Info).name());
        if let Some(raw) = self.raw {
            metadata.member("raw_severity").signed(raw);
        }
        if let Some(url) = parts.component_url() {
            metadata.member("component_url").utf8(url);
        }
        if let Some(file) = parts.file() {
            metadata.member("file").utf8(file);
        }
        for (name, value) in [("line", parts.line), ("pid", parts.process), ("tid", parts.thread)] {
            match value {
                Some(SignedNumber::Unsigned(value)) => metadata.member(name).unsigned(value),
                Some(SignedNumber::Signed(value)) => metadata.member(name).signed(value),
                None => {}
            }
        }
        let mut tags = metadata.member("tags").array();
        parts.tags().for_each(|tag| tags.element().utf8(tag));
        tags.end();
        self.write_errors(&mut metadata);
        metadata.end();
        let mut payload = line.member("payload").object();
        let mut root = payload.member("root").object();
        let mut message = root.member("message").object();
        if let Some(text) = parts.message() {
            message.member("value").utf8(text);
        }
        message.end();
        if !self.pairs.is_empty() {
            let mut keys = root.member("keys").object();
            keys.buffer().extend_from_slice(self.pairs);
            keys.end();
        }
        root.end();
        payload.end();
        line.end();
        out.push(b'\n');
    }

    /// Writes the losses before this line.
    fn write_errors(&self, metadata: &mut ObjectWriter<'_>) {
        if self.parts.dropped == 0 && self.parts.rolled_out == 0 && self.damage.is_none() {
            return;
        }
        let mut errors = metadata.member("errors").array();
        for (name, count) in
            [("dropped_logs", self.parts.dropped), ("rolled_out_logs", self.parts.rolled_out)]
        {
            if count > 0 {
                let mut error = errors.element().object();
                let mut counts = error.member(name).object();
                counts.member("count").unsigned(count);
                counts.end();
                error.end();
            }
        }
        if let Some(damage) = self.damage {
            let mut error = errors.element().object();
            error.member("parse_record").string(damage);
            error.end();
        }
        errors.end();
    }
}
