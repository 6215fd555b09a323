//! Lines as text.

use ichnos_model::LogLevel;

use super::Line;
use super::pairs::{push_text, push_word};
use super::parts::Number;
use crate::color::Palette;
use crate::number;

/// In five columns at least.
const SECOND_DIGITS: usize = 5;
const MICROSECOND_DIGITS: usize = 6;

impl Line<'_> {
    pub(super) fn push_text(&self, out: &mut Vec<u8>, palette: &Palette) {
        let parts = self.parts;
        let color = self.level.map_or("", |level| color(level, palette));
        out.extend_from_slice(color.as_bytes());
        out.push(b'[');
        if let Some(time) = self.time {
            push_time(out, time);
        }
        out.extend_from_slice(b"][");
        if let Some(process) = parts.process {
            push_number(out, process);
        }
        out.extend_from_slice(b"][");
        match (parts.thread, parts.thread_name()) {
            (Some(thread), _) => push_number(out, thread),
            (None, Some(name)) => push_word(out, name),
            (None, None) => {}
        }
        out.extend_from_slice(b"][");
        let component = parts.component();
        push_word(out, component.unwrap_or_default());
        out.push(b']');
        let mut lead = b'[';
        for tag in parts.tags().filter(|tag| Some(*tag) != component) {
            out.push(lead);
            push_word(out, tag);
            lead = b',';
        }
        if lead == b',' {
            out.push(b']');
        }
        if let Some(level) = self.level {
            out.push(b' ');
            out.extend_from_slice(level.name().as_bytes());
            out.push(b':');
        }
        if let Some(file) = parts.file() {
            out.extend_from_slice(b" [");
            push_word(out, file);
            if let Some(line) = parts.line {
                out.push(b'(');
                push_number(out, line);
                out.push(b')');
            }
            out.push(b']');
        }
        out.push(b' ');
        match parts.message() {
            Some(message) => push_text(out, message),
            None => out.extend_from_slice(b"<missing message>"),
        }
        out.extend_from_slice(self.pairs);
        if parts.dropped > 0 || parts.rolled_out > 0 {
            out.extend_from_slice(palette.yellow.as_bytes());
            for (name, count) in [("dropped", parts.dropped), ("rolled", parts.rolled_out)] {
                if count > 0 {
                    out.extend_from_slice(b" [");
                    out.extend_from_slice(name.as_bytes());
                    out.push(b'=');
                    number::push_unsigned(out, count);
                    out.push(b']');
                }
            }
        }
        out.extend_from_slice(palette.reset.as_bytes());
        out.push(b'\n');
    }
}

/// The colour of a line.
fn color(level: LogLevel, palette: &Palette) -> &'static str {
    match level {
        LogLevel::Fatal => palette.bright_magenta,
        LogLevel::Error => palette.bright_red,
        LogLevel::Warn => palette.yellow,
        LogLevel::Info => "",
        LogLevel::Debug => palette.blue,
        LogLevel::Trace => palette.cyan,
    }
}

#[inline]
fn push_number(out: &mut Vec<u8>, number: Number) {
    match number {
        Number::Unsigned(number) => number::push_unsigned(out, number),
        Number::Signed(number) => number::push_signed(out, number),
    }
}

/// Appends seconds and microseconds; what is less than those is cut off.
#[inline]
fn push_time(out: &mut Vec<u8>, nanoseconds: i128) {
    if nanoseconds < 0 {
        out.push(b'-');
    }
    let nanoseconds = nanoseconds.unsigned_abs();
    let (seconds, rest) = match u64::try_from(nanoseconds) {
        Ok(nanoseconds) => (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000),
        Err(_) => {
            let seconds = u64::try_from(nanoseconds / 1_000_000_000).unwrap_or(u64::MAX);
            (seconds, (nanoseconds % 1_000_000_000) as u64)
        }
    };
    number::push_padded(out, seconds, SECOND_DIGITS);
    out.push(b'.');
    number::push_padded(out, rest / 1_000, MICROSECOND_DIGITS);
}
