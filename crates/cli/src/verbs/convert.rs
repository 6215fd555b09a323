//! `ichnos convert`, and the verbs that edit traces.

mod target;
mod text_target;
pub(crate) mod write_report;

use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos::analysis::TaskEvents;
use ichnos::convert::{ConvertError, ConvertOptions, NoSpans, Target};
use ichnos::io::{CreateError, ExistingPart, MessageOrder, WriteReport};
use ichnos::model::Window;
use ichnos::model::running_thread::RunningParts;
use ichnos::model::trace::StreamSummary;
use ichnos::{Expression, Pass, Reader, Session};

pub(crate) use self::target::{NamedTarget, default_dialect};
use self::target::{check_shard, note_output};
use self::write_report::InputReport;
use crate::args::{Align, Convert, Cut, FilterArgs};
use crate::exit::{Exit, Failure};
use crate::input::{self, OpenRequest};
use crate::opened_run::OpenedRun;
use crate::output::{OutputPath, safe};
use crate::progress::{Console, Damages, WriteProgress, interrupt};
use crate::select::{AroundOption, Selection, Windows, filters, intersection, running_threads};
use crate::verbs::cat;

/// `ichnos cut`.
pub(crate) fn cut(args: &Cut, console: Console) -> Result<Exit, Failure> {
    let selecting = &args.convert.selecting;
    let around = AroundOption::new(args.around.as_deref())?;
    if around.is_none() && selecting.begin().is_none() && selecting.end().is_none() {
        return Err(
            Failure::new("cut needs --begin, --end or --around").help("`ichnos convert` writes whole traces")
        );
    }
    if around.is_some() && args.align == Align::Packet {
        return Err(Failure::new("--align packet writes whole packets: it cannot cut around events")
            .help("leave out --align packet"));
    }
    let keeps_rundown = !args.drop_rundown && args.align == Align::Time;
    let running = running_parts(&args.convert, around.map(|around| around.expression));
    let whole_packets = args.align == Align::Packet;
    let edit = Edit { whole_packets, around, keeps_rundown, running, ..Edit::KEEPING };
    write(&args.convert, edit, console)
}

/// `ichnos filter`.
pub(crate) fn filter(args: &FilterArgs, console: Console) -> Result<Exit, Failure> {
    if args.convert.selecting.filter.is_some() {
        return Err(Failure::new("the expression is given twice: as an argument and with --filter")
            .help("join them with `&&`"));
    }
    let expression = Some(args.expression.as_str());
    let running = running_parts(&args.convert, expression);
    write(&args.convert, Edit { expression, running, ..Edit::KEEPING }, console)
}

/// `ichnos merge`.
pub(crate) fn merge(args: &Convert, console: Console) -> Result<Exit, Failure> {
    write(args, Edit { merges: true, ..Edit::KEEPING }, console)
}

/// `ichnos repair`.
pub(crate) fn repair(args: &Convert, console: Console) -> Result<Exit, Failure> {
    write(args, Edit { repairs: true, ..Edit::KEEPING }, console)
}

/// `ichnos task export`.
pub(crate) fn export_task(args: &Convert, task: FindEvents<'_>, console: Console) -> Result<Exit, Failure> {
    write(args, Edit { task: Some(task), ..Edit::NONE }, console)
}

/// `ichnos convert`.
pub(crate) fn run(args: &Convert, console: Console) -> Result<Exit, Failure> {
    write(args, Edit { running: running_parts(args, None), ..Edit::NONE }, console)
}

/// Changes to make while writing.
#[derive(Clone, Copy)]
struct Edit<'e> {
    /// Keeps the format and the dialect of the input, unless options name a format or dialect.
    keeps_format: bool,
    /// Writes all traces as one.
    merges: bool,
    /// Makes the output valid.
    repairs: bool,
    /// Writes whole packets.
    whole_packets: bool,
    /// Keeps events that name processes, modules or functions, regardless of their time.
    keeps_rundown: bool,
    /// Keeps only the time around events.
    around: Option<AroundOption<'e>>,
    /// Expression that selects events.
    expression: Option<&'e str>,
    /// Function that finds the events of a task to write.
    task: Option<FindEvents<'e>>,
    /// Parts of the running thread to add to events.
    running: RunningParts,
}

/// Function that finds the events of a task.
pub(crate) type FindEvents<'e> = &'e dyn Fn(&Session) -> Result<TaskEvents, Failure>;

impl Edit<'_> {
    /// Changes nothing.
    const NONE: Self = Self {
        keeps_format: false,
        merges: false,
        repairs: false,
        whole_packets: false,
        keeps_rundown: false,
        around: None,
        expression: None,
        task: None,
        running: RunningParts::Nothing,
    };

    /// Keeps the format and the dialect, and changes nothing.
    const KEEPING: Self = Self { keeps_format: true, ..Self::NONE };
}

/// Returns the parts of the running thread to add to written events.
pub(crate) fn running_parts(args: &Convert, expression: Option<&str>) -> RunningParts {
    let Convert { writing, selecting, .. } = args;
    let fields = writing.writer_flags.value("fields").and_then(OsStr::to_str);
    // Tables have all columns, unless options name fields.
    let has_all = writing.is_table() && writing.writer_flags.value("fields").is_none();
    let fields = fields.into_iter().flat_map(|fields| fields.split(',')).map(str::trim);
    let fields = fields.chain(has_all.then_some(running_threads::PROCESS));
    running_threads::named_parts(selecting, fields, expression)
}

fn write(args: &Convert, edit: Edit<'_>, console: Console) -> Result<Exit, Failure> {
    let writing = &args.writing;
    if writing.output.is_none() && !writing.dry_run {
        return Err(Failure::new("expected the name of the output, -o OUT").help(
            "--dry-run only reports what would be lost; `ichnos cat PATH` prints traces as \
            `babeltrace2 convert` does",
        ));
    }
    let output_path = OutputPath::for_trace(writing);
    output_path.check_readable(writing.verify)?;
    output_path.recover()?;
    output_path.check_new()?;
    let named = named_target(args, edit)?;
    let mut selection = Selection::new(&args.selecting, None)?;
    if let Some(expression) = edit.expression {
        selection.filter = Some(filters::parse(expression, "--filter")?);
    }
    let until = filters::until(&args.ending)?;
    let anchors = edit.around.map(|around| around.anchors(&selection)).transpose()?;
    let request = OpenRequest::new(&args.reading).arithmetic(named.arithmetic()).running(edit.running);
    let session = request.all_problems(writing.verify).open(console)?;
    output_path.check_apart(&session)?;
    let opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    let until = until.map(|until| last_events(&until, args, &opened)).transpose()?;
    let is_kept = matches!(named, NamedTarget::Kept);
    let is_text = matches!(named, NamedTarget::Text(_));
    let keeps_rundown = edit.keeps_rundown && !is_text && session.has_rundown();
    let target = named.target(args, &opened)?;
    let mut run = ConvertRun { args, edit, opened, target, is_kept, keeps_rundown, is_cut: false, until };
    run.select(anchors)?;
    run.write()
}

/// `true` if an event has come that ends the run.
static HAS_REACHED: AtomicBool = AtomicBool::new(false);

/// Returns the events that end live input.
fn last_events(
    until: &Expression,
    args: &Convert,
    opened: &OpenedRun<'_>,
) -> Result<ichnos::Selection, Failure> {
    if !opened.session.is_live() {
        return Err(Failure::new("--until ends live input, but these are files")
            .help("--end and `ichnos cut` write a part of them"));
    }
    filters::selection(until, opened.session, "--until", args.selecting.clock_gmt, opened.console)
}

/// Returns the target named by options.
fn named_target(args: &Convert, edit: Edit<'_>) -> Result<NamedTarget, Failure> {
    let named = NamedTarget::new(args, edit.keeps_format || edit.task.is_some())?;
    if matches!(named, NamedTarget::Text(_)) {
        check_shard(&args.writing, None)?;
        if edit.repairs || edit.whole_packets {
            let option = if edit.repairs { "repair" } else { "--align packet" };
            return Err(Failure::new(format!("{option} is for trace packets, not for text"))
                .help("name a trace as the output"));
        }
    }
    if edit.task.is_some() { named.or_tasks(args) } else { Ok(named) }
}

/// Conversion of opened traces.
struct ConvertRun<'a> {
    args: &'a Convert,
    edit: Edit<'a>,
    opened: OpenedRun<'a>,
    target: Target,
    /// `true` if the target follows the input, because options do not name a target.
    is_kept: bool,
    /// `true` to keep events that name processes, modules or functions, regardless of their time.
    keeps_rundown: bool,
    /// `true` to keep only such events outside the window.
    is_cut: bool,
    /// Events that end live input.
    until: Option<ichnos::Selection>,
}

impl<'a> ConvertRun<'a> {
    /// Selects the events to write. Ends the verb if no event matches `--around`.
    fn select(&mut self, anchors: Option<Selection>) -> Result<(), Failure> {
        let Self { edit, opened, keeps_rundown, .. } = self;
        let (session, console, keeps_rundown) = (opened.session, opened.console, *keeps_rundown);
        let mut windows = keeps_rundown.then(|| Windows::new(opened.window));
        let is_by_time = opened.selection.wants_all_events() && edit.around.is_none() && edit.task.is_none();
        self.is_cut = keeps_rundown && is_by_time && !opened.selection.stream_intersection;
        if let Some(find_events) = edit.task {
            opened.selection.within_task(find_events(session)?);
        }
        if let Some((around, anchors)) = edit.around.zip(anchors) {
            interrupt::watch_writing(console);
            let found = around.windows(session, anchors, console)?;
            let Some(hull) = found.hull() else {
                console.notice("--around: no event matches, so nothing is written");
                return Err(Failure::end(opened.exit(true)));
            };
            opened.window = intersection(opened.window, hull);
            windows = Some(found);
        }
        if let Some(windows) = windows {
            let windows = if keeps_rundown { windows.with_rundown() } else { windows };
            opened.selection.within(windows, opened.window);
        }
        if keeps_rundown {
            console.notice(
                "events that name processes, modules and functions are kept even outside the range; \
                --drop-rundown drops them",
            );
        }
        if edit.whole_packets {
            check_packets(opened)?;
        }
        Ok(())
    }

    fn write(mut self) -> Result<Exit, Failure> {
        let reader = self.reader()?;
        let OpenedRun { session, console, .. } = self.opened;
        input::report_empty_traces(session, console);
        match session.is_live() {
            // What was written stays.
            true => interrupt::watch(),
            // What was sent stays, too.
            false if self.target.writer.sends() => interrupt::watch(),
            false => interrupt::watch_writing(console),
        }
        let progress = self.progress();
        let mut options = self.options()?;
        options.observer = &progress;
        let live_progress = self.opened.live_progress();
        let written = self.convert(&reader, &mut options, &progress);
        drop((options, live_progress));
        let mut damages = progress.finish();
        damages.warn(console);
        // A repair should drop damaged data.
        self.opened.is_damaged |= damages.count > 0 && !self.edit.repairs;
        match written {
            Ok(written) => {
                self.print(&written, &damages)?;
                Ok(self.exit(&written, &damages))
            }
            Err(ConvertError::Losses(losses)) => {
                let mut written = WriteReport::default();
                written.losses = losses;
                self.print(&written, &damages)?;
                Err(Failure::new("some data would be lost: nothing was written")
                    .help("--losses lists the losses; without --strict, the output is written anyway"))
            }
            Err(ConvertError::Stopped) => Ok(interrupt::exit()),
            Err(ConvertError::Sent { error, sent }) if matches!(*error, ConvertError::Stopped) => {
                console.notice(&format!("stopped: {sent}"));
                Ok(interrupt::exit())
            }
            Err(ConvertError::Create(CreateError::Mismatch(difference))) => {
                Ok(report_mismatch(&difference, console))
            }
            Err(error) => Err(failure(&error)),
        }
    }

    /// Returns a reader for the events to write.
    fn reader(&self) -> Result<Reader<'a>, Failure> {
        let (session, selection) = (self.opened.session, &self.opened.selection);
        let is_wide = self.edit.whole_packets || self.keeps_rundown;
        let read = if is_wide { Window::default() } else { self.opened.window };
        // Data streams can have unrelated clocks if they are not merged by time.
        let by_stream = self.target.writer.order() == MessageOrder::ByStream
            && !self.edit.merges
            && !selection.times.is_some();
        let order = self.target.writer.order();
        let has_dynamic_streams = session.traces().iter().any(|trace| trace.has_dynamic_streams());
        if order == MessageOrder::ByStream && has_dynamic_streams && !self.target.writer.writes_live() {
            let format = self.target.format;
            let failure = format!(
                "live input cannot be written as `{format}`, because its data streams are not known yet"
            );
            return Err(Failure::new(failure).help("write it as `jsonl`, and convert that file"));
        }
        let mut reader = match by_stream && !has_dynamic_streams {
            true => selection.stream_reader(session, read)?,
            false => selection.reader(session, read)?,
        };
        if session.is_live() {
            self.check_live()?;
        }
        if let Some(shard) = self.args.writing.shard {
            reader.select_shard(shard);
        }
        Ok(reader)
    }

    /// Checks the options for live input.
    fn check_live(&self) -> Result<(), Failure> {
        let writing = &self.args.writing;
        let problem = if writing.shard.is_some() {
            "--shard: live input cannot be divided, because it can only be read once"
        } else if writing.verify && self.target.writer.order() == MessageOrder::ByStream {
            "--verify: live input is written in place, so it cannot be compared before it appears"
        } else if self.edit.merges && self.target.writer.order() == MessageOrder::ByStream {
            "live input cannot be merged into one trace, because its data streams are not known yet"
        } else {
            return Ok(());
        };
        Err(Failure::new(problem))
    }

    fn progress(&self) -> WriteProgress {
        let OpenedRun { session, selection, console, .. } = &self.opened;
        // With a selection, the output size is only known at the end.
        let is_whole =
            selection.wants_all_events() && !selection.times.is_some() && !selection.stream_intersection;
        // Files in another format can be several times as large as the input.
        let is_comparable = self.target.writer.order() == MessageOrder::ByStream
            || session.traces().iter().all(|trace| trace.format() == self.target.format);
        let total = (is_whole && is_comparable).then(|| sum(&self.opened, |summary| summary.bytes));
        let prints = self.args.writing.prints_trace() && std::io::stdout().is_terminal();
        // Live input has another display.
        let on_terminal = prints || session.is_live();
        WriteProgress::new(total, on_terminal, *console)
            .count_events(!selection.wants_all_events())
            .limit_damage(self.args.reading.limits().report.damage)
    }

    fn options(&self) -> Result<ConvertOptions<'static>, Failure> {
        let Self { args, edit, opened, .. } = self;
        let mut options = ConvertOptions::default();
        set_options(&mut options, args, self.target)?;
        options.write.selected_by.extend(edit.expression.map(str::to_owned));
        options.write.merge = edit.merges;
        options.write.repair = edit.repairs;
        options.write.cut = self.is_cut.then_some(opened.window);
        options.packets_in = edit.whole_packets.then_some(opened.window);
        let mut pass = opened.follow(Pass::new(opened.selection.selected.clone()));
        if let Some(last) = &self.until {
            // The inputs end as after Ctrl-C.
            pass = pass.signal(last.clone(), || {
                HAS_REACHED.store(true, Ordering::Relaxed);
                interrupt::expire();
            });
        }
        options.pass = pass;
        Ok(options)
    }

    /// Writes the output. Starts again if the dialect of the input cannot be written, or if events must be sorted.
    fn convert(
        &self,
        reader: &Reader<'_>,
        options: &mut ConvertOptions<'_>,
        progress: &WriteProgress,
    ) -> Result<WriteReport, ConvertError> {
        let writing = &self.args.writing;
        let (writer, path) = (self.target.writer, writing.output.as_deref());
        let convert = |options: &ConvertOptions<'_>| {
            let path = path.filter(|_| !writing.dry_run);
            reader.convert(writer, path.map(Path::to_owned), options)
        };
        let mut written = convert(options);
        if self.is_kept
            && let Err(ConvertError::Create(error @ CreateError::Unsupported { .. })) = &written
            && options.write.dialect.take().is_some()
        {
            self.opened.console.notice(&format!("{error}; the output is {}", default_dialect(writer)));
            progress.forget_damage();
            written = convert(options);
        }
        if is_unsorted(&written) && path.is_none_or(can_be_begun_again) {
            options.write.sorts = true;
            progress.forget_damage();
            written = convert(options);
        }
        written
    }

    /// Prints a report about the output.
    fn print(&mut self, written: &WriteReport, damages: &Damages) -> Result<(), Failure> {
        let Self { args: Convert { writing, .. }, edit, opened, target, .. } = self;
        let console = opened.console;
        opened.is_damaged |= cat::report_undecoded(written.undecoded, console);
        // A repair should drop damage, but not change events.
        opened.is_damaged |= edit.repairs && written.losses.rounds_events();
        let read = InputReport {
            left_out: edit.repairs.then_some(&damages.list[..]),
            repeated_packets: repeated_packets(opened),
            reads_copied_packets: writing.verify || edit.repairs,
        };
        write_report::print(writing, written, &read, console)?;
        note_output(writing, *target, written, console);
        Ok(())
    }

    /// Warns about an empty output, and returns the exit code.
    fn exit(mut self, written: &WriteReport, damages: &Damages) -> Exit {
        let console = self.opened.console;
        let is_empty = written.events == 0 && written.copied_packets == 0;
        // All events of the input were dropped.
        let mut lacks_all = write_report::warn_of_missing_events(written, "", console);
        if self.edit.repairs && is_empty && !lacks_all && damages.count > 0 {
            console.warning("no event can be recovered: the output does not contain events");
            lacks_all = true;
        }
        // A shard without events is valid.
        let is_nothing = is_empty
            && self.opened.selection.is_some()
            && written.selected_events == 0
            && self.args.writing.shard.is_none();
        self.opened.events = u64::from(!is_nothing);
        self.opened.explain_no_match();
        self.opened.has_reached = HAS_REACHED.load(Ordering::Relaxed);
        match &self.until {
            Some(last) => self.opened.until_exit(last),
            None if lacks_all => Exit::Damaged,
            None => self.opened.exit(is_nothing),
        }
    }
}

/// Returns `true` if writing failed because the format needs sorted events.
fn is_unsorted(written: &Result<WriteReport, ConvertError>) -> bool {
    matches!(written, Err(ConvertError::Create(CreateError::Unsorted { .. })))
}

/// Returns `true` if the output can be written again, unlike data in a pipe or a device.
fn can_be_begun_again(path: &Path) -> bool {
    path != Path::new("-") && path.metadata().map_or(true, |metadata| metadata.is_file() || metadata.is_dir())
}

fn failure(error: &ConvertError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ConvertError::Create(CreateError::Terminal) => failure.help("`ichnos cat` prints text on a terminal"),
        ConvertError::Create(CreateError::WriteOnly(files)) => write_only(files),
        ConvertError::Create(CreateError::Unsorted { .. }) => {
            failure.help("write a file instead of a pipe: ichnos sorts its events")
        }
        ConvertError::Create(CreateError::Io { error, .. })
            if error.get_ref().is_some_and(|error| error.is::<ExistingPart>()) =>
        {
            failure.help("--force replaces only the files of this shard")
        }
        ConvertError::Io(error) if error.get_ref().is_some_and(|error| error.is::<NoSpans>()) => {
            failure.help("write them with --signal logs or --signal metrics")
        }
        _ => failure,
    }
}

/// Returns the error for `--verify` with an output that ichnos cannot read.
pub(crate) fn write_only(files: &str) -> Failure {
    Failure::new(format!("--verify: {files} cannot be read back")).help("leave out --verify")
}

/// Reports that the output differs from the written data.
pub(crate) fn report_mismatch(difference: &str, console: Console) -> Exit {
    console.error(&format!("the output differs from the written data and was removed: {}", safe(difference)));
    console.help("please report this as a bug of ichnos; without --verify, the output is kept");
    Exit::Damaged
}

/// Returns the number of packets in the selected data streams that occur in several files.
pub(crate) fn repeated_packets(opened: &OpenedRun<'_>) -> u64 {
    sum(opened, |summary| summary.repeated_packets)
}

/// Returns the sum of an amount over the selected data streams.
fn sum(opened: &OpenedRun<'_>, amount: impl Fn(&StreamSummary) -> u64) -> u64 {
    let mut sum = 0u64;
    for trace in opened.session.traces() {
        trace.for_each_stream(&mut |summary| {
            if opened.selection.wants_file(&summary.stream.name) {
                sum = sum.saturating_add(amount(&summary));
            }
        });
    }
    sum
}

/// Sets the options that do not depend on the verb.
pub(crate) fn set_options(
    options: &mut ConvertOptions<'_>,
    args: &Convert,
    target: Target,
) -> Result<(), Failure> {
    let writing = &args.writing;
    options.write.formats = writing.writer_flags.for_target(target)?;
    options.write.dialect = writing.to_dialect.clone().or_else(|| target.dialect.map(str::to_owned));
    options.write.packet_size = writing.packet_size;
    options.write.index = writing.index;
    options.write.existing = OutputPath::for_trace(writing).existing();
    options.write.selected_by = args.selecting.event.iter().chain(&args.selecting.filter).cloned().collect();
    options.write.limits = args.reading.limits().model;
    options.write.temp_dir.clone_from(&args.reading.temp_dir);
    options.verify = writing.verify;
    options.strict = args.reading.strict;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    options.threads = writing.threads.map_or_else(processors, usize::from);
    Ok(())
}

/// Checks that whole packets can be written.
fn check_packets(opened: &OpenedRun<'_>) -> Result<(), Failure> {
    let OpenedRun { session, selection, .. } = opened;
    if selection.stream_intersection || !selection.wants_all_events() {
        return Err(Failure::new("--align packet writes whole packets: it cannot select events")
            .help("select with --begin, --end and --stream, or cut the output once more"));
    }
    let summaries = session.traces().iter().flat_map(|trace| trace.streams());
    let mut wanted = summaries.filter(|summary| selection.wants_file(&summary.stream.name));
    match wanted.find(|summary| summary.packets == 0 && summary.bytes > 0) {
        Some(without) => {
            let name = safe(&without.stream.name).into_owned();
            Err(Failure::new(format!("--align packet: {name} does not have packets"))
                .help("without --align, it is cut at the given times"))
        }
        None => Ok(()),
    }
}
