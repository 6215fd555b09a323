//! `ichnos split`: one trace for each part.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ichnos::convert::{ConvertError, ConvertOptions, Select};
use ichnos::io::{FileNames, OutputDirectory, TraceWriter, WriteReport};
use ichnos::model::{DataStream, Event, FieldRef, FieldValue, Message, Window};
use ichnos::{Reader, Session};

use crate::args::{Arithmetic, Global, Split, SplitBy};
use crate::exit::{Exit, Failure};
use crate::report::Report;
use crate::selection::Selection;
use crate::style::grouped;
use crate::write_progress::WriteProgress;
use crate::write_report::{self, InputReport};
use crate::{convert, input, interrupt, scan};

/// More parts are not written: for each one, the input is read once.
const MOST_PARTS: usize = 1_000;

/// A part of a trace.
struct Part {
    name: String,
    streams: Streams,
    window: Window,
    /// What decides which events are in it has this key.
    key: Option<Key>,
}

/// Which data streams are in a part.
#[derive(Clone, Copy)]
enum Streams {
    All,
    Only(u32),
    /// Those with a clock, or without one.
    Clocked(bool),
}

/// What decides which part an event is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Its name.
    Name(String),
    /// The value of the field; None: it has no such field.
    Value(Option<String>),
}

pub(crate) fn run(args: &Split, global: &Global, report: Report) -> Result<Exit, Failure> {
    let writing = &args.convert.writing;
    if writing.output.is_none() && !writing.dry_run {
        return Err(Failure::new("expected the name of the directory to write, -o OUT"));
    }
    if writing.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::new("several traces cannot go to the standard output")
            .help("name the directory to write, -o OUT"));
    }
    let (_, writer) = convert::writer(&args.convert)?;
    let mut selection = Selection::new(&args.convert.selecting, None)?;
    let progress = scan::progress(global.progress, report);
    let session = input::open(&args.convert.reading, Arithmetic::Exact, progress, report)?;
    if session.is_live() {
        return Err(Failure::new("what arrives now cannot be split: it can be read once only"));
    }
    let damaged = input::report_problems(&session, report);
    let window = selection.prepare(&session, report)?;
    input::report_empty_traces(&session, report);
    interrupt::watch();
    let splitter = Splitter { session: &session, selection, window };
    let parts = splitter.parts(&args.by)?;
    if interrupt::is_requested() {
        return Ok(interrupt::exit());
    }
    if parts.is_empty() {
        report.notice("no event is selected: nothing is written");
        return Ok(Exit::Nothing);
    }
    let directory = match &writing.output {
        Some(path) if !writing.dry_run => {
            let failure = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
            Some(OutputDirectory::create(path, |_| false).map_err(failure)?)
        }
        _ => None,
    };
    let mut written = WriteReport::default();
    let progress = WriteProgress::new(global.progress, None, false, report);
    for part in &parts {
        let path = directory.as_ref().map(|directory| directory.path().join(file_name(&part.name, writer)));
        match splitter.write(args, part, writer, path, (&progress, written.bytes)) {
            Ok(one) => {
                written.bytes += one.bytes;
                written.packets += one.packets;
                written.events += one.events;
                written.copied_packets += one.copied_packets;
                written.losses.merge(one.losses);
            }
            Err(Problem::Failure(failure)) => return Err(failure),
            Err(Problem::Convert(ConvertError::Stopped)) => return Ok(interrupt::exit()),
            Err(Problem::Convert(ConvertError::Losses(_))) => {
                return Err(Failure::new(format!(
                    "something would be lost of `{}`, and nothing was written",
                    part.name
                ))
                .help("`--dry-run --losses` lists it; without --strict it is written all the same"));
            }
            Err(Problem::Convert(error)) => return Err(Failure::new(error.to_string())),
        }
    }
    if let Some(directory) = directory {
        let shown = directory.path().display().to_string();
        let path = directory.finish().map_err(|error| Failure::new(format!("{shown}: {error}")))?;
        written.paths = parts.iter().map(|part| path.join(file_name(&part.name, writer))).collect();
    }
    drop(progress);
    let wants = |stream: &DataStream| splitter.selection.wants_file(&stream.name);
    let repeated_packets = convert::repeated_packets(&session, wants);
    let read = InputReport { repeated_packets, ..InputReport::default() };
    write_report::print(&args.convert.writing, &written, &read, report)?;
    Ok(if damaged { Exit::Damaged } else { Exit::Success })
}

/// The name of the trace of a part.
fn file_name(part: &str, writer: &dyn TraceWriter) -> String {
    match writer.extensions().first().filter(|_| !writer.is_directory()) {
        Some(extension) => format!("{part}.{extension}"),
        None => part.to_owned(),
    }
}

enum Problem {
    Failure(Failure),
    Convert(ConvertError),
}

struct Splitter<'a> {
    session: &'a Session,
    selection: Selection,
    window: Window,
}

impl Splitter<'_> {
    /// A reader of some of the selected data streams in a time.
    fn reader(&self, window: Window, streams: Streams) -> Result<Reader<'_>, Failure> {
        self.selection.reader_of(self.session, window, |stream| match streams {
            Streams::All => true,
            Streams::Only(key) => stream.key == key,
            Streams::Clocked(clocked) => stream.clock().is_some() == clocked,
        })
    }

    /// Passes all events that are selected to a function, until that gives false.
    fn for_each_event(
        &self,
        window: Window,
        streams: Streams,
        mut take: impl FnMut(&Event<'_>) -> bool,
    ) -> Result<(), Failure> {
        let mut selection = self.selection.clone();
        self.reader(window, streams)?.cursor().drain_all(&mut |message| {
            let goes_on = match message {
                Message::Event(event) if selection.wants_event(event) => take(event),
                _ => true,
            };
            if goes_on && !interrupt::is_requested() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        Ok(())
    }

    fn has_events(&self, window: Window, streams: Streams) -> Result<bool, Failure> {
        let mut has_some = false;
        self.for_each_event(window, streams, |_| {
            has_some = true;
            false
        })?;
        Ok(has_some)
    }

    /// The parts in which there are events.
    fn parts(&self, by: &SplitBy) -> Result<Vec<Part>, Failure> {
        match by {
            SplitBy::Size(size) => self.parts_of_times(&self.times_by_size(*size)?),
            SplitBy::Time(duration) => self.parts_of_times(&self.times_by_duration(*duration)?),
            SplitBy::Stream => self.parts_of_streams(),
            SplitBy::Event => self.parts_by_key(|event| Key::Name(event.name().to_owned()), "event"),
            SplitBy::Field(field) => self.parts_by_field(field),
        }
    }

    /// Parts that begin at these times, but for the first one. Events without a time are one of their own.
    fn parts_of_times(&self, times: &[i128]) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        let mut add = |name: String, window: Window, clocked: bool| {
            let streams = Streams::Clocked(clocked);
            if self.has_events(window, streams)? {
                parts.push(Part { name, streams, window, key: None });
            }
            Ok::<(), Failure>(())
        };
        let digits = (times.len() + 1).to_string().len().max(3);
        for number in 0..=times.len() {
            let begin = number.checked_sub(1).and_then(|before| times.get(before)).copied();
            let end = times.get(number).map(|end| end - 1);
            let window = Window {
                begin: [self.window.begin, begin].into_iter().flatten().max(),
                end: [self.window.end, end].into_iter().flatten().min(),
            };
            if window.begin.zip(window.end).is_some_and(|(begin, end)| begin > end) {
                continue;
            }
            add(format!("{:0digits$}", number + 1), window, true)?;
        }
        add("without-time".to_owned(), self.window, false)?;
        Ok(parts)
    }

    fn times_by_duration(&self, duration: i128) -> Result<Vec<i128>, Failure> {
        let (mut first, mut last) = (None::<i128>, None::<i128>);
        self.for_each_event(self.window, Streams::Clocked(true), |event| {
            if let Some(time) = event.nanoseconds() {
                first = Some(first.map_or(time, |first| first.min(time)));
                last = Some(last.map_or(time, |last| last.max(time)));
            }
            true
        })?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(Vec::new()) };
        let count = last.saturating_sub(first) / duration;
        if count >= MOST_PARTS as i128 {
            return Err(too_many(&format!("{}", count.saturating_add(1))));
        }
        Ok((1..=count).map(|number| first + number * duration).collect())
    }

    fn times_by_size(&self, size: u64) -> Result<Vec<i128>, Failure> {
        let reader = self.reader(self.window, Streams::Clocked(true))?;
        let streams: HashSet<u32> = reader.data_streams().iter().map(|stream| stream.key).collect();
        let summaries = self.session.traces().iter().flat_map(|trace| trace.streams());
        let summaries = summaries.filter(|summary| streams.contains(&summary.stream.key));
        let total = summaries.map(|summary| summary.bytes).fold(0, u64::saturating_add);
        if total / size >= MOST_PARTS as u64 {
            return Err(too_many(&format!("about {}", grouped(total / size))));
        }
        // Between packets, these stay as they are.
        let times = reader.chunks(size);
        if !times.is_empty() || total <= size {
            return Ok(times);
        }
        // There are none that are small enough: as many events as take about as much.
        let mut events = 0u64;
        let all = Streams::Clocked(true);
        self.for_each_event(self.window, all, |_| {
            events += 1;
            true
        })?;
        let parts = total.div_ceil(size);
        let each = events.div_ceil(parts).max(1);
        let (mut times, mut in_part, mut before) = (Vec::new(), 0u64, None::<i128>);
        self.for_each_event(self.window, all, |event| {
            let time = event.nanoseconds();
            if in_part >= each && time > before {
                times.extend(time);
                in_part = 0;
            }
            in_part += 1;
            before = before.max(time);
            true
        })?;
        Ok(times)
    }

    fn parts_of_streams(&self) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        let mut names = FileNames::default();
        let streams = self.session.traces().iter().flat_map(|trace| trace.data_streams());
        for stream in streams.filter(|stream| self.selection.wants_file(&stream.name)) {
            let streams = Streams::Only(stream.key);
            if !self.has_events(self.window, streams)? {
                continue;
            }
            if parts.len() >= MOST_PARTS {
                return Err(too_many(&format!("more than {}", grouped(MOST_PARTS as u64))));
            }
            let name = stream.name.rsplit('/').next().unwrap_or_default();
            let name = names.add(name);
            parts.push(Part { name, streams, window: self.window, key: None });
        }
        Ok(parts)
    }

    fn parts_by_key(
        &self,
        mut key: impl FnMut(&Event<'_>) -> Key,
        field: &str,
    ) -> Result<Vec<Part>, Failure> {
        let mut keys: BTreeMap<Key, ()> = BTreeMap::new();
        self.for_each_event(self.window, Streams::All, |event| {
            keys.insert(key(event), ());
            keys.len() <= MOST_PARTS
        })?;
        if keys.len() > MOST_PARTS {
            return Err(too_many(&format!("more than {}", grouped(MOST_PARTS as u64))));
        }
        let mut names = FileNames::default();
        let part = |key: Key| {
            let name = match &key {
                Key::Name(name) => name.clone(),
                Key::Value(Some(value)) => format!("{field}={value}"),
                Key::Value(None) => format!("without-{field}"),
            };
            let name = names.add(&name);
            Part { name, streams: Streams::All, window: self.window, key: Some(key) }
        };
        Ok(keys.into_keys().map(part).collect())
    }

    fn parts_by_field(&self, field: &str) -> Result<Vec<Part>, Failure> {
        let mut values = Values::new(field);
        let parts = self.parts_by_key(|event| values.key(event), field)?;
        if !parts.is_empty() && parts.iter().all(|part| part.key == Some(Key::Value(None))) {
            return Err(Failure::new(format!("--by: no selected event has a field `{field}`"))
                .help("`ichnos schema` lists the fields of each event"));
        }
        Ok(parts)
    }

    fn write(
        &self,
        args: &Split,
        part: &Part,
        writer: &dyn TraceWriter,
        path: Option<PathBuf>,
        (progress, before): (&WriteProgress, u64),
    ) -> Result<WriteReport, Problem> {
        let reader = self.reader(part.window, part.streams).map_err(Problem::Failure)?;
        let mut options = ConvertOptions::default();
        convert::set_options(&mut options, &args.convert);
        let field = if let SplitBy::Field(field) = &args.by { field.as_str() } else { "" };
        let make = || -> Select<'_> {
            let mut selection = self.selection.clone();
            let mut values = Values::new(field);
            let mut counter = progress.counter();
            Box::new(move |event| {
                counter.step();
                selection.wants_event(event)
                    && match &part.key {
                        None => true,
                        Some(Key::Name(name)) => event.name() == name,
                        Some(key) => values.key(event) == *key,
                    }
            })
        };
        if part.key.is_some() {
            options.write.selected_by.push(part.name.clone());
        }
        if part.key.is_some() || !self.selection.wants_all_events() {
            options.select = Some(&make);
        }
        let show = |bytes: u64| progress.written(before.saturating_add(bytes));
        options.progress = Some(&show);
        reader.convert(writer, path, &options).map_err(Problem::Convert)
    }
}

fn too_many(parts: &str) -> Failure {
    Failure::new(format!("there would be {parts} parts, and {} is the limit", grouped(MOST_PARTS as u64)))
        .help("make the parts larger, or select fewer events by --event, --filter, --begin and --end")
}

/// The values of a field.
struct Values<'a> {
    field: &'a str,
    /// By class.
    known: HashMap<usize, Option<FieldRef>>,
}

impl<'a> Values<'a> {
    fn new(field: &'a str) -> Self {
        Self { field, known: HashMap::new() }
    }

    fn key(&mut self, event: &Event<'_>) -> Key {
        // Classes stay where they are as long as their trace is open.
        let address = std::ptr::from_ref(event.plans).addr();
        let found = self.known.entry(address).or_insert_with(|| FieldRef::new(event, self.field));
        let value = found.as_ref().and_then(|field| event.get(field));
        Key::Value(value.and_then(text_of))
    }
}

/// A value as a text; None if there is none.
fn text_of(value: FieldValue<'_>) -> Option<String> {
    if let Some(integer) = value.as_i128() {
        return Some(integer.to_string());
    }
    if let Some(boolean) = value.as_bool() {
        return Some(boolean.to_string());
    }
    match value {
        FieldValue::Null => None,
        FieldValue::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        FieldValue::Guid(guid) => Some(guid.to_string()),
        FieldValue::Real(_) => Some(value.as_f64()?.to_string()),
        FieldValue::Blob(bytes) => Some(hexadecimal(bytes.iter().copied())),
        FieldValue::Wide(wide) => {
            Some(hexadecimal(wide.words.iter().rev().flat_map(|word| word.to_be_bytes())))
        }
        _ => None,
    }
}

fn hexadecimal(bytes: impl Iterator<Item = u8>) -> String {
    bytes.fold("0x".to_owned(), |mut text, byte| {
        // To write into memory cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_texts() {
        assert_eq!(text_of(FieldValue::Unsigned(7)).as_deref(), Some("7"));
        assert_eq!(text_of(FieldValue::Signed(-7)).as_deref(), Some("-7"));
        assert_eq!(text_of(FieldValue::Boolean(true)).as_deref(), Some("true"));
        assert_eq!(text_of(FieldValue::Text(b"a\xff")).as_deref(), Some("a\u{fffd}"));
        assert_eq!(text_of(FieldValue::Blob(&[1, 0xab])).as_deref(), Some("0x01ab"));
        assert_eq!(text_of(FieldValue::Null), None);
    }
}
