//! `ichnos split`: writes one trace per part.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::convert::{
    ConvertError, ConvertOptions, PartTimes, PartTimesError, PartValues, SplitTargets, Target,
};
use ichnos::export::text::grouped;
use ichnos::io::{CreateError, FileNames, ListWritten, OutputDirectory, WriteReport, WriterFactory};
use ichnos::model::Event;
use ichnos::{Pass, SplitBy as By};

use crate::args::{SplitArgs, SplitBy, Writing};
use crate::exit::{Exit, Failure};
use crate::input::{self, OpenRequest};
use crate::opened_run::OpenedRun;
use crate::output::OutputPath;
use crate::progress::{Console, WriteProgress, interrupt};
use crate::select::Selection;
use crate::verbs::convert::NamedTarget;
use crate::verbs::convert::write_report::{self, InputReport};
use crate::verbs::{cat, convert};

/// Maximum number of parts. Each part takes a directory and some hundred bytes of memory.
const MOST_PARTS: usize = 100_000;

/// Part name for events without a time.
const WITHOUT_TIME: &str = "without-time";
/// Part name for losses in data streams without events.
const WITHOUT_EVENT: &str = "without-event";

pub(crate) fn run(args: &SplitArgs, console: Console) -> Result<Exit, Failure> {
    let writing = &args.convert.writing;
    check_output(writing)?;
    let output_path = OutputPath::for_trace(writing);
    output_path.recover()?;
    output_path.check_new()?;
    let named = NamedTarget::new(&args.convert, true)?;
    let selection = Selection::new(&args.convert.selecting, None)?;
    // A field name is also an expression.
    let field = match &args.by {
        SplitBy::Field(name) => Some(name.as_str()),
        _ => None,
    };
    let running = convert::running_parts(&args.convert, field);
    let request = OpenRequest::new(&args.convert.reading).arithmetic(named.arithmetic()).running(running);
    let session = request.all_problems(writing.verify).open(console)?;
    if session.is_live() {
        return Err(Failure::new("live input cannot be split: it can only be read once"));
    }
    output_path.check_apart(&session)?;
    let opened = OpenedRun::new(&args.convert.reading, &session, selection, console)?;
    let is_kept = matches!(named, NamedTarget::Kept);
    let mut target = named.target(&args.convert, &opened)?;
    input::report_empty_traces(&session, console);
    interrupt::watch_writing(console);
    let mut run = SplitRun { args, opened };
    let times = run.times()?;
    if interrupt::is_requested() {
        return Ok(interrupt::exit());
    }
    let mut directory = run.create_directory(target.writer)?;
    let by_event = matches!(args.by, SplitBy::Event | SplitBy::Field(_));
    let progress = WriteProgress::new(None, false, console)
        .count_events(by_event || !run.opened.selection.wants_all_events())
        .limit_damage(args.convert.reading.limits().report.damage);
    let mut parts = SplitParts::new(&args.by, &times, target.writer);
    let mut written = run.write(&times, target, &mut parts, directory.as_ref(), &progress);
    if is_kept
        && let Err(SplitError::Convert(ConvertError::Create(error @ CreateError::Unsupported { .. }))) =
            &written
        && target.dialect.take().is_some()
    {
        console.notice(&format!("{error}; the output is {}", convert::default_dialect(target.writer)));
        // The partial output must be removed first.
        drop(directory.take());
        directory = run.create_directory(target.writer)?;
        parts = SplitParts::new(&args.by, &times, target.writer);
        progress.forget_damage();
        written = run.write(&times, target, &mut parts, directory.as_ref(), &progress);
    }
    let written = match written {
        Ok(written) => written,
        Err(_) if parts.too_many.get() => {
            return Err(too_many(&format!("more than {}", grouped(MOST_PARTS as u64))));
        }
        Err(SplitError::Failure(failure)) => return Err(failure),
        Err(SplitError::Convert(error)) => return failure(error, console),
    };
    let mut damages = progress.finish();
    damages.warn(console);
    run.opened.is_damaged |= damages.count > 0;
    run.finish(written, parts, directory)
}

/// Checks that the output is a directory.
fn check_output(writing: &Writing) -> Result<(), Failure> {
    if writing.output.is_none() && !writing.dry_run {
        return Err(Failure::new("expected the name of the directory to write, -o OUT"));
    }
    if writing.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::new("several traces cannot be written to standard output")
            .help("name the directory to write, -o OUT"));
    }
    if writing.shard.is_some() {
        return Err(Failure::new("--shard does not apply to split, because split writes all parts itself"));
    }
    Ok(())
}

/// Returns the result for a conversion that failed or was stopped.
fn failure(error: ConvertError, console: Console) -> Result<Exit, Failure> {
    let failure = Failure::new(error.to_string());
    match error {
        ConvertError::Stopped => Ok(interrupt::exit()),
        ConvertError::Losses(_) => Err(Failure::new("some data would be lost: nothing was written").help(
            "`--dry-run --losses` lists the losses; without --strict, the output is written \
            anyway",
        )),
        ConvertError::Create(CreateError::Mismatch(difference)) => {
            Ok(convert::report_mismatch(&difference, console))
        }
        ConvertError::Create(CreateError::WriteOnly(files)) => Err(convert::write_only(files)),
        ConvertError::Create(CreateError::Unsorted { .. }) => {
            Err(failure.help("write a file with sorted events with `ichnos convert`, then split it"))
        }
        _ => Err(failure),
    }
}

enum SplitError {
    Failure(Failure),
    Convert(ConvertError),
}

/// Parts that exist so far, with their names.
struct SplitParts<'a> {
    by: &'a SplitBy,
    digits: usize,
    begins: usize,
    writer: &'a dyn WriterFactory,
    keys: PartValues,
    names: RefCell<FileNames>,
    /// Names of the existing parts, by number.
    created: RefCell<HashMap<usize, String>>,
    /// Data stream names, by number.
    streams: Vec<String>,
    /// Parts without written events.
    without_events: Vec<(String, WriteReport)>,
    too_many: Cell<bool>,
}

impl<'a> SplitParts<'a> {
    fn new(by: &'a SplitBy, times: &PartTimes, writer: &'a dyn WriterFactory) -> Self {
        let keys = match by {
            SplitBy::Field(field) => PartValues::by_field(field),
            _ => PartValues::by_name(),
        };
        Self {
            by,
            digits: (times.begins.len() + 1).to_string().len().max(3),
            begins: times.begins.len(),
            writer,
            keys,
            names: RefCell::default(),
            created: RefCell::default(),
            streams: Vec::new(),
            without_events: Vec::new(),
            too_many: Cell::new(false),
        }
    }

    /// Returns the property shared by all events in a part.
    fn label(&self, number: usize) -> String {
        match self.by {
            SplitBy::Size(_) | SplitBy::Time(_) if number > self.begins => WITHOUT_TIME.to_owned(),
            SplitBy::Size(_) | SplitBy::Time(_) => format!("{:0digits$}", number + 1, digits = self.digits),
            SplitBy::Stream => {
                let name = self.streams.get(number).map_or("", |name| name.as_str());
                name.rsplit('/').next().unwrap_or_default().to_owned()
            }
            SplitBy::Event => self.keys.label(number).unwrap_or(WITHOUT_EVENT).to_owned(),
            SplitBy::Field(field) => match self.keys.label(number) {
                Some(value) => format!("{field}={value}"),
                None => format!("without-{field}"),
            },
        }
    }

    /// Creates the name for a part's trace.
    fn create(&self, number: usize) -> String {
        let name = self.names.borrow_mut().add(&self.label(number));
        let name = match self.writer.extensions().first().filter(|_| !self.writer.is_directory()) {
            Some(extension) => format!("{name}.{extension}"),
            None => name,
        };
        self.created.borrow_mut().insert(number, name.clone());
        name
    }

    /// Returns the names of all existing parts, sorted by value and number.
    fn names(self) -> Vec<String> {
        let keys = &self.keys;
        let mut created: Vec<_> = self.created.into_inner().into_iter().collect();
        created.sort_by(|(a, _), (b, _)| (keys.label(*a), a).cmp(&(keys.label(*b), b)));
        created.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns `true` if there are events, but all lack the field.
    fn have_no_value(&self) -> bool {
        let created = self.created.borrow();
        !created.is_empty() && created.keys().all(|number| self.keys.label(*number).is_none())
    }
}

struct SplitRun<'a> {
    args: &'a SplitArgs,
    opened: OpenedRun<'a>,
}

impl SplitRun<'_> {
    /// Creates the directory for the parts, unless this is a dry run.
    fn create_directory(
        &self,
        writer: &'static dyn WriterFactory,
    ) -> Result<Option<OutputDirectory>, Failure> {
        let writing = &self.args.convert.writing;
        let Some(path) = writing.output.as_deref().filter(|_| !writing.dry_run) else { return Ok(None) };
        let existing = OutputPath::for_trace(writing).existing();
        let list: ListWritten = Arc::new(move |directory| writer.written_files(directory));
        let directory = OutputDirectory::create(path, existing, &list);
        directory.map(Some).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    }

    /// Finishes and reports the output.
    fn finish(
        mut self,
        mut written: WriteReport,
        mut parts: SplitParts<'_>,
        directory: Option<OutputDirectory>,
    ) -> Result<Exit, Failure> {
        let (opened, writing) = (&mut self.opened, &self.args.convert.writing);
        let console = opened.console;
        opened.selection.review(console);
        opened.is_damaged |= cat::report_undecoded(written.undecoded, console);
        if let SplitBy::Field(field) = &self.args.by
            && parts.have_no_value()
        {
            return Err(Failure::new(format!("--by: no selected event has a field `{field}`"))
                .help("`ichnos schema` lists the fields of each event"));
        }
        for (part, one) in std::mem::take(&mut parts.without_events) {
            opened.is_damaged |= write_report::warn_of_missing_events(&one, &part, console);
        }
        let names = parts.names();
        if names.is_empty() {
            console.notice("no event is selected: nothing is written");
            return Ok(Exit::Nothing);
        }
        written.paths.clear();
        if let Some(directory) = directory {
            let shown = directory.path().display().to_string();
            let path = directory.finish().map_err(|error| Failure::new(format!("{shown}: {error}")))?;
            written.paths = names.iter().map(|name| path.join(name)).collect();
        }
        let read = InputReport {
            repeated_packets: convert::repeated_packets(opened),
            reads_copied_packets: writing.verify,
            ..InputReport::default()
        };
        write_report::print(writing, &written, &read, console)?;
        Ok(opened.exit(false))
    }

    /// Returns the parts by time.
    fn times(&self) -> Result<PartTimes, Failure> {
        let pass = Pass::new(self.opened.selection.selected.clone()).stop(interrupt::flag());
        let times = match &self.args.by {
            SplitBy::Size(size) => PartTimes::by_size(&self.opened.reader()?, &pass, *size, MOST_PARTS),
            SplitBy::Time(duration) => {
                PartTimes::by_duration(&self.opened.reader()?, &pass, *duration, MOST_PARTS)
            }
            _ => return Ok(PartTimes::default()),
        };
        times.map_err(|error| match error {
            PartTimesError::TooMany { parts, is_estimate: true } => {
                too_many(&format!("about {}", grouped(parts)))
            }
            PartTimesError::TooMany { parts, .. } => too_many(&grouped(parts)),
            PartTimesError::Io(error) => error.into(),
            error => Failure::new(error.to_string()),
        })
    }

    fn write(
        &self,
        times: &PartTimes,
        target: Target,
        parts: &mut SplitParts<'_>,
        directory: Option<&OutputDirectory>,
        progress: &WriteProgress,
    ) -> Result<WriteReport, SplitError> {
        let args = self.args;
        let reader = match args.by {
            SplitBy::Stream => self.opened.selection.stream_reader(self.opened.session, self.opened.window),
            _ => self.opened.reader(),
        };
        let reader = reader.map_err(SplitError::Failure)?;
        if let SplitBy::Stream = args.by {
            parts.streams = reader.data_streams().iter().map(|stream| stream.name.to_string()).collect();
            if parts.streams.len() > MOST_PARTS {
                return Err(SplitError::Failure(too_many(&grouped(parts.streams.len() as u64))));
            }
        }
        let mut options = ConvertOptions::default();
        convert::set_options(&mut options, &args.convert, target).map_err(SplitError::Failure)?;
        options.pass = Pass::new(self.opened.selection.selected.clone()).stop(interrupt::flag());
        options.observer = progress;
        // Shared by the functions below, which never run at the same time.
        let parts = RefCell::new(parts);
        let mut part_of = |event: &Event<'_>| {
            let mut parts = parts.borrow_mut();
            let number = parts.keys.part_of(event);
            let is_known = number < MOST_PARTS;
            if !is_known {
                parts.too_many.set(true);
            }
            is_known.then_some(number)
        };
        let mut rest = || parts.borrow_mut().keys.without();
        let by = match args.by {
            SplitBy::Size(_) | SplitBy::Time(_) => {
                By::Times { begins: &times.begins, has_events: &times.have_events }
            }
            SplitBy::Stream => By::Streams,
            SplitBy::Event | SplitBy::Field(_) => By::Events { part_of: &mut part_of, rest: &mut rest },
        };
        let mut path = |number: usize| -> Option<PathBuf> {
            let name = parts.borrow().create(number);
            directory.map(|directory| directory.path().join(name))
        };
        let selected_by = |number: usize| parts.borrow().created.borrow().get(&number).cloned();
        let mut without_events = Vec::new();
        let mut finished = |number: usize, written: &WriteReport| {
            if written.lacks_all_events() {
                let part = parts.borrow().created.borrow().get(&number).cloned().unwrap_or_default();
                without_events.push((part, written.clone()));
            }
        };
        let targets = SplitTargets { path: &mut path, selected_by: &selected_by, finished: &mut finished };
        let written = reader.split(target.writer, by, targets, &options).map_err(SplitError::Convert);
        parts.into_inner().without_events = without_events;
        written
    }
}

fn too_many(parts: &str) -> Failure {
    Failure::new(format!("{parts} parts would exceed the limit of {}", grouped(MOST_PARTS as u64)))
        .help("make the parts larger, or select fewer events with --event, --filter, --begin and --end")
}
