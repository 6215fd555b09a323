//! Lines as JSON objects: `Data<Logs>`, version 1, of Fuchsia's diagnostics service.

use ichnos_model::LogLevel;

use super::LineContent;
use super::parts::SignedNumber;
use crate::jsonl::fields::{push_string, push_utf8};
use crate::number;
use crate::time::TimeWriter;

impl LineContent<'_> {
    /// Appends the line; `dates` writes the time if it has a date.
    pub(super) fn push_json(&self, out: &mut Vec<u8>, dates: &mut TimeWriter) {
        let parts = self.parts;
        out.extend_from_slice(b"{\"moniker\":");
        push_utf8(out, parts.component().unwrap_or_default());
        out.extend_from_slice(b",\"version\":1,\"data_source\":\"Logs\",\"metadata\":{\"timestamp\":");
        match self.time.map(u64::try_from) {
            Some(_) if self.has_date => dates.push(out, self.time.unwrap_or_default()),
            Some(Ok(time)) => number::push_unsigned(out, time),
            Some(Err(_)) => number::push_i128(out, self.time.unwrap_or_default()),
            // The time is mandatory.
            None => out.push(b'0'),
        }
        out.extend_from_slice(b",\"severity\":\"");
        // The severity is mandatory, too.
        out.extend_from_slice(self.level.unwrap_or(LogLevel::Info).name().as_bytes());
        out.push(b'"');
        if let Some(raw) = self.raw {
            out.extend_from_slice(b",\"raw_severity\":");
            number::push_signed(out, raw);
        }
        if let Some(url) = parts.component_url() {
            out.extend_from_slice(b",\"component_url\":");
            push_utf8(out, url);
        }
        if let Some(file) = parts.file() {
            out.extend_from_slice(b",\"file\":");
            push_utf8(out, file);
        }
        for (name, value) in [("line", parts.line), ("pid", parts.process), ("tid", parts.thread)] {
            if let Some(value) = value {
                for text in [",\"", name, "\":"] {
                    out.extend_from_slice(text.as_bytes());
                }
                match value {
                    SignedNumber::Unsigned(value) => number::push_unsigned(out, value),
                    SignedNumber::Signed(value) => number::push_signed(out, value),
                }
            }
        }
        out.extend_from_slice(b",\"tags\":[");
        for (i, tag) in parts.tags().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            push_utf8(out, tag);
        }
        out.push(b']');
        self.push_errors(out);
        out.extend_from_slice(b"},\"payload\":{\"root\":{\"message\":{");
        if let Some(message) = parts.message() {
            out.extend_from_slice(b"\"value\":");
            push_utf8(out, message);
        }
        out.push(b'}');
        if !self.pairs.is_empty() {
            out.extend_from_slice(b",\"keys\":{");
            out.extend_from_slice(self.pairs);
            out.push(b'}');
        }
        out.extend_from_slice(b"}}}\n");
    }

    /// Appends losses before this line.
    fn push_errors(&self, out: &mut Vec<u8>) {
        if self.parts.dropped == 0 && self.parts.rolled_out == 0 && self.damage.is_none() {
            return;
        }
        let mut lead: &[u8] = b",\"errors\":[{\"";
        for (name, count) in
            [("dropped_logs", self.parts.dropped), ("rolled_out_logs", self.parts.rolled_out)]
        {
            if count > 0 {
                out.extend_from_slice(lead);
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"\":{\"count\":");
                number::push_unsigned(out, count);
                out.extend_from_slice(b"}}");
                lead = b",{\"";
            }
        }
        if let Some(damage) = self.damage {
            out.extend_from_slice(lead);
            out.extend_from_slice(b"parse_record\":");
            push_string(out, damage);
            out.push(b'}');
        }
        out.push(b']');
    }
}
