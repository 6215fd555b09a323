//! Lines as text.

use ichnos_model::log::LogLevel;

use super::LineContent;
use super::pairs::push_text;
use super::parts::{LineParts, SignedNumber};
use crate::block::ShortText;
use crate::color::Palette;
use crate::number;
use crate::time::{ClockDisplay, JsonTime, TimeWriter};

/// Minimum number of second digits.
const SECOND_DIGITS: usize = 5;

/// Start of the last line, which the next line often repeats.
#[derive(Debug)]
pub(super) struct LineStart {
    /// Seconds, `true` if their text is a date, and this text: `[00012.`.
    seconds: Option<(u64, bool, ShortText)>,
    /// Process and thread, and their text: `][1][2][`.
    thread: (Option<SignedNumber>, Option<SignedNumber>),
    thread_text: ShortText,
    /// Times of JSON lines with dates.
    pub(super) dates: TimeWriter,
    /// Dates of text lines.
    clock: ClockDisplay,
}

impl LineStart {
    pub(super) fn new(time: JsonTime, gmt: bool) -> Self {
        Self {
            seconds: None,
            thread: (None, None),
            thread_text: ShortText::new(b"][][]["),
            dates: TimeWriter::of_dates(time),
            clock: ClockDisplay::new(false, true, gmt),
        }
    }

    #[inline]
    fn push(&mut self, out: &mut Vec<u8>, line: &LineContent<'_>, palette: &Palette) {
        let parts = line.parts;
        match line.time.map(|time| u64::try_from(time).map_err(|_| time)) {
            Some(Ok(time)) => {
                let second = time / 1_000_000_000;
                match &self.seconds {
                    Some((known, is_date, text)) if *known == second && *is_date == line.has_date => {
                        text.push(out);
                    }
                    _ => self.push_second(out, second, line.has_date),
                }
                number::push_microseconds(out, (time % 1_000_000_000 / 1_000) as u32);
            }
            Some(Err(time)) => self.push_any_time(out, time, line.has_date),
            None => out.push(b'['),
        }
        if parts.thread.is_none()
            && let Some(name) = parts.thread_name()
        {
            out.extend_from_slice(b"][");
            if let Some(process) = parts.process {
                push_number(out, process);
            }
            out.extend_from_slice(b"][");
            push_text(out, name, palette.log_escaping());
            return out.extend_from_slice(b"][");
        }
        match self.thread == (parts.process, parts.thread) {
            true => self.thread_text.push(out),
            false => self.push_thread(out, parts),
        }
    }

    #[cold]
    fn push_second(&mut self, out: &mut Vec<u8>, second: u64, is_date: bool) {
        let begin = out.len();
        out.push(b'[');
        match i64::try_from(second) {
            Ok(second) if is_date => out.extend(self.clock.make_text(second)),
            _ => {
                number::push_padded(out, second, SECOND_DIGITS);
                out.push(b'.');
            }
        }
        self.seconds = Some((second, is_date, ShortText::new(out.get(begin..).unwrap_or_default())));
    }

    /// Appends the opening bracket and a time before the clock origin or beyond 64 bits.
    #[cold]
    fn push_any_time(&self, out: &mut Vec<u8>, nanoseconds: i128, is_date: bool) {
        match i64::try_from(nanoseconds.div_euclid(1_000_000_000)) {
            Ok(second) if is_date => {
                out.push(b'[');
                out.extend(self.clock.make_text(second));
                number::push_microseconds(out, (nanoseconds.rem_euclid(1_000_000_000) / 1_000) as u32);
            }
            _ => push_seconds(out, nanoseconds),
        }
    }

    #[inline(never)]
    fn push_thread(&mut self, out: &mut Vec<u8>, parts: &LineParts) {
        let begin = out.len();
        for number in [parts.process, parts.thread] {
            out.extend_from_slice(b"][");
            if let Some(number) = number {
                push_number(out, number);
            }
        }
        out.extend_from_slice(b"][");
        self.thread = (parts.process, parts.thread);
        self.thread_text = ShortText::new(out.get(begin..).unwrap_or_default());
    }
}

impl LineContent<'_> {
    pub(super) fn push_text(&self, out: &mut Vec<u8>, palette: &Palette, beginning: &mut LineStart) {
        let parts = self.parts;
        let color = self.level.map_or("", |level| color(level, palette));
        out.extend_from_slice(color.as_bytes());
        beginning.push(out, self, palette);
        let component = parts.component();
        if let Some(component) = component {
            push_text(out, component, palette.log_escaping());
        }
        out.push(b']');
        let mut lead = b'[';
        for tag in parts.tags().filter(|tag| Some(*tag) != component) {
            out.push(lead);
            push_text(out, tag, palette.log_escaping());
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
            push_text(out, file, palette.log_escaping());
            if let Some(line) = parts.line {
                out.push(b'(');
                push_number(out, line);
                out.push(b')');
            }
            out.push(b']');
        }
        out.push(b' ');
        match parts.message() {
            Some(message) => push_text(out, message, palette.log_escaping()),
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

/// Returns the color of a line.
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

#[inline(always)]
fn push_number(out: &mut Vec<u8>, number: SignedNumber) {
    match number {
        SignedNumber::Unsigned(number) => number::push_unsigned(out, number),
        SignedNumber::Signed(number) => number::push_signed(out, number),
    }
}

/// Appends the opening bracket, seconds and microseconds. Smaller digits are cut off.
#[cold]
fn push_seconds(out: &mut Vec<u8>, nanoseconds: i128) {
    out.push(b'[');
    if nanoseconds < 0 {
        out.push(b'-');
    }
    let nanoseconds = nanoseconds.unsigned_abs();
    // Unreachable for real clocks.
    let seconds = u64::try_from(nanoseconds / 1_000_000_000).unwrap_or(u64::MAX);
    number::push_padded(out, seconds, SECOND_DIGITS);
    out.push(b'.');
    number::push_microseconds(out, (nanoseconds % 1_000_000_000 / 1_000) as u32);
}
