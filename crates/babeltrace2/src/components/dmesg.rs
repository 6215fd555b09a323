//! `source.text.dmesg`: lines of a kernel log.

use std::io;

use ichnos::export::text::calendar_nanoseconds;
use ichnos::io::{Bytes, IoLimits, Tree};
use ichnos::model::class::{DataStreamClass, EventRecordClass, FieldClass, Member};
use ichnos::model::clock::ClockClass;
use ichnos::model::field::FieldValue;
use ichnos::model::source::{NextRecord, Record, RecordTrace};
use ichnos::model::trace::Limits;
use ichnos::model::{Scope, Source, Trace, TraceClass};
use ichnos::{OpenOptions, Session};

use crate::command::Failure;
use crate::components::decimal_number::number;
use crate::components::parameter_values::Parameters;
use crate::components::source::{OpenedSource, Port};
use crate::native_text::path_of;
use crate::value::Map;

const BILLION: u64 = 1_000_000_000;

/// Dialect of the trace of a log.
const DIALECT: &str = "dmesg";

/// Returns `true` for a trace of a log. It has no packets.
pub(crate) fn is_log(trace: &Trace) -> bool {
    trace.class.dialect == DIALECT
}

/// Opens the log of a component.
///
/// # Errors
/// If the log cannot be read.
pub(crate) fn open(parameters: &Map) -> Result<OpenedSource, Failure> {
    let parameters = Parameters(parameters);
    let path = parameters.text("path").map(path_of);
    let (name, bytes) = match &path {
        Some(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let read = Bytes::from_file(path);
            (name.unwrap_or_default(), read.map_err(|error| format!("`{}`: {error}", path.display())))
        }
        None => (STDIN.to_owned(), read_stdin()),
    };
    let bytes = bytes
        .map_err(|error| Failure::from_cause(format!("Cannot open input file in read mode: {error}")))?;
    let log = Log { bytes, extracts_times: !parameters.is_set("no-extract-timestamp") };
    let trace = log.into_trace(&name).ok_or_else(|| Failure::from_cause("Cannot create metadata objects"))?;
    let mut options = OpenOptions::default();
    options.other_inputs.extend(path);
    let session = Session::of_trace(Box::new(trace), &options);
    Ok(OpenedSource { session, ports: vec![Port { name: "out".to_owned(), trace: 0, stream: 0 }] })
}

/// Name of the trace of a log on the standard input.
const STDIN: &str = "STDIN";

/// Reads the standard input to its end. A long log goes to a temporary file, because several sinks can read it.
fn read_stdin() -> Result<Bytes, String> {
    let tree = Tree::from_reader(STDIN, io::stdin().lock(), &IoLimits::default());
    let tree = tree.map_err(|error| error.to_string())?;
    tree.files().next().map_or(Ok(Bytes::default()), |file| file.read().map_err(|error| error.to_string()))
}

/// Text of a kernel log.
struct Log {
    bytes: Bytes,
    extracts_times: bool,
}

impl Log {
    /// Returns a trace of its lines. The first line decides whether events have times.
    fn into_trace(self, name: &str) -> Option<RecordTrace> {
        let has_times = self.extracts_times
            && lines(&self.bytes, 0).next().is_some_and(|(line, _)| time_of(line).is_some());
        let clock = ClockClass::new("", BILLION);
        let event = EventRecordClass::new("string", [Member::new("str", FieldClass::string())]);
        let stream = DataStreamClass::new(has_times.then_some(0), [event]);
        let class = TraceClass::new(DIALECT, has_times.then_some(clock), [stream]);
        let limits = Limits::default();
        let mut trace = Trace::new(class, name, &limits).ok()?;
        trace.given_name = Some(name.to_owned());
        let trace = RecordTrace::new("dmesg", trace, &limits);
        let bytes = self.bytes;
        // Without a line, Babeltrace has no data stream.
        if lines(&bytes, 0).next().is_none() {
            return Some(trace);
        }
        let length = bytes.len() as u64;
        let extracts_times = self.extracts_times;
        Some(trace.with_stream(0, "", length, move || Lines {
            bytes: bytes.clone(),
            at: 0,
            extracts_times,
            has_times,
            last: 0,
        }))
    }
}

/// Reader of the lines.
struct Lines {
    bytes: Bytes,
    at: usize,
    extracts_times: bool,
    has_times: bool,
    /// Time of the last line with a time.
    last: u64,
}

impl Source for Lines {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        let Some((line, next)) = lines(&self.bytes, self.at).next() else {
            self.at = self.bytes.len();
            return NextRecord::End;
        };
        let found = time_of(line).filter(|_| self.extracts_times);
        let text = found.map_or(line, |(_, text)| text);
        self.at = next;
        if self.has_times {
            self.last = found.map_or(self.last, |(time, _)| time);
            record.set_cycles(self.last);
        }
        record.values.begin(Scope::Payload);
        // Not all logs are UTF-8. As in C, a zero byte ends the text.
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        record.values.push(FieldValue::Text(text));
        NextRecord::Event
    }
}

/// Returns the lines from an offset on that have more than white space, each with the offset after it.
fn lines(bytes: &[u8], from: usize) -> impl Iterator<Item = (&[u8], usize)> {
    let mut at = from;
    let next = move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        at += (length + 1).min(rest.len());
        Some((&rest[..length], at))
    };
    std::iter::from_fn(next).filter(|(line, _)| !line.iter().all(u8::is_ascii_whitespace))
}

/// Returns the time at the start of a line, in nanoseconds, and the rest of the line.
fn time_of(line: &[u8]) -> Option<(u64, &[u8])> {
    let rest = line.strip_prefix(b"[")?;
    let end = rest.iter().position(|byte| *byte == b']')?;
    let stamp = std::str::from_utf8(&rest[..end]).ok()?.trim_start();
    let text = &rest[end + 1..];
    let text = text.strip_prefix(b" ").unwrap_or(text);
    Some((time_since_boot(stamp).or_else(|| date(stamp))?, text))
}

/// Reads `SECONDS.MICROSECONDS`.
fn time_since_boot(stamp: &str) -> Option<u64> {
    let (seconds, microseconds) = stamp.split_once('.')?;
    let (seconds, microseconds): (u64, u64) = (number(seconds)?, number(microseconds)?);
    seconds.checked_mul(1_000_000)?.checked_add(microseconds)?.checked_mul(1_000)
}

/// Reads `YYYY-MM-DD hh:mm:ss.MILLISECONDS`, in UTC.
fn date(stamp: &str) -> Option<u64> {
    let (date, time) = stamp.split_once(' ')?;
    let mut date = date.split('-');
    let date_parts = (number(date.next()?)?, number(date.next()?)?, number(date.next()?)?);
    let (time, milliseconds) = time.trim_start().split_once('.')?;
    let mut time = time.split(':');
    let time_parts = (number(time.next()?)?, number(time.next()?)?, number(time.next()?)?, 0);
    if date.next().is_some() || time.next().is_some() {
        return None;
    }
    let seconds = u64::try_from(calendar_nanoseconds(date_parts, time_parts, true)?).ok()?;
    seconds.checked_add(number::<u64>(milliseconds)?.checked_mul(1_000_000)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichnos::model::{Message, Window};

    fn events(text: &str, extracts_times: bool) -> Vec<(Option<i128>, String)> {
        let trace = Log { bytes: text.as_bytes().to_vec().into(), extracts_times }.into_trace("log").unwrap();
        let session = Session::of_trace(Box::new(trace), &OpenOptions::default());
        let mut found = Vec::new();
        session
            .reader_of(Window::default(), |_| true)
            .unwrap()
            .pass()
            .run(&mut |message: &Message<'_>| {
                if let Message::Event(event) = message {
                    let text = event.field("str").and_then(|text| text.as_str().map(str::to_owned));
                    found.push((message.nanoseconds(), text.unwrap_or_default()));
                }
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        found
    }

    #[test]
    fn lines_are_events() {
        let expected = vec![(Some(5_000_006_000), "a".to_owned()), (Some(5_000_006_000), "b".to_owned())];
        assert_eq!(events("[    5.000006] a\n\n  \nb\n", true), expected);
        assert_eq!(events("x\n[    5.000006] a", true)[1], (None, "a".to_owned()));
        assert_eq!(events("[5.6] a", false), [(None, "[5.6] a".to_owned())]);
        assert_eq!(events("", true), []);
        assert_eq!(
            events("[2020-02-29 23:30:00.5] c", true),
            [(Some(1_582_000_000_000_000_000 + 1_019_000_005_000_000), "c".to_owned())]
        );
    }

    #[test]
    fn stamps_are_strict() {
        for stamp in ["", ".", "1", "1.x", "99999999999999999999.1", "2020-02-30 00:00:00.1", "a-b-c d:e:f.g"]
        {
            assert_eq!(time_since_boot(stamp).or_else(|| date(stamp)), None, "{stamp}");
        }
    }
}
