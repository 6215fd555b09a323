//! `ichnos convert` and the verbs that edit traces: write traces.

pub(crate) mod text_target;
pub(crate) mod write_report;

use std::io::IsTerminal as _;
use std::path::Path;

use ichnos::analysis::TaskEvents;
use ichnos::convert::{ConvertError, ConvertOptions, NoSpans, Target};
use ichnos::io::{CreateError, ExistingPart, MessageOrder, OptionValue, WriteReport, WriterFactory};
use ichnos::model::{DataStream, StreamSummary, Window};
use ichnos::{Pass, Reader, Session};

use self::text_target::TextTarget;
use self::write_report::InputReport;
use crate::args::{Align, Arithmetic, Convert, Cut, Filter, Merge, Repair, Writing, written_formats};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::output::{OutputPath, safe};
use crate::progress::{Console, WriteProgress, interrupt, scan_progress};
use crate::select::{AroundOption, Selection, Windows, filters, intersection, no_match_help};
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
    let keeps_rundown = !args.cut_rundown && args.align == Align::Time;
    let edit = Edit { whole_packets: args.align == Align::Packet, around, keeps_rundown, ..Edit::KEEPING };
    write(&args.convert, edit, console)
}

/// `ichnos filter`.
pub(crate) fn filter(args: &Filter, console: Console) -> Result<Exit, Failure> {
    if args.convert.selecting.filter.is_some() {
        return Err(Failure::new("the expression is given twice: as an argument and with --filter")
            .help("join them with `&&`"));
    }
    write(&args.convert, Edit { expression: Some(&args.expression), ..Edit::KEEPING }, console)
}

/// `ichnos merge`.
pub(crate) fn merge(args: &Merge, console: Console) -> Result<Exit, Failure> {
    write(&args.convert, Edit { merges: true, ..Edit::KEEPING }, console)
}

/// Changes that a verb makes while writing.
#[derive(Clone, Copy, Default)]
struct Edit<'e> {
    /// Keeps the format and the dialect of the input unless others are named.
    keeps_format: bool,
    /// Writes all traces as one.
    merges: bool,
    /// Makes the output valid.
    repairs: bool,
    /// Writes whole packets.
    whole_packets: bool,
    /// Keeps events that name processes, modules or functions, whatever their time.
    keeps_rundown: bool,
    /// Keeps the time around events.
    around: Option<AroundOption<'e>>,
    /// Selects events.
    expression: Option<&'e str>,
    /// Finds the events of a task to write.
    task: Option<FindEvents<'e>>,
}

/// Finds the events of a task in a session; `Err` with the exit code if interrupted.
pub(crate) type FindEvents<'e> = &'e dyn Fn(&Session) -> Result<Result<TaskEvents, Exit>, Failure>;

impl Edit<'_> {
    /// Keeps the format and the dialect, without other changes.
    const KEEPING: Self = Self {
        keeps_format: true,
        merges: false,
        repairs: false,
        whole_packets: false,
        keeps_rundown: false,
        around: None,
        expression: None,
        task: None,
    };
}

/// `ichnos repair`.
pub(crate) fn repair(args: &Repair, console: Console) -> Result<Exit, Failure> {
    write(&args.convert, Edit { repairs: true, ..Edit::KEEPING }, console)
}

/// `ichnos task export`.
pub(crate) fn export_task(args: &Convert, task: FindEvents<'_>, console: Console) -> Result<Exit, Failure> {
    write(args, Edit { task: Some(task), ..Edit::default() }, console)
}

/// `ichnos convert`.
pub(crate) fn run(args: &Convert, console: Console) -> Result<Exit, Failure> {
    write(args, Edit::default(), console)
}

fn write(args: &Convert, edit: Edit<'_>, console: Console) -> Result<Exit, Failure> {
    let writing = &args.writing;
    let path = writing.output.as_deref();
    if path.is_none() && !writing.dry_run {
        return Err(Failure::new("expected the name of the output, -o OUT").help(
            "--dry-run only reports what would be lost; `ichnos cat PATH` prints traces as \
            `babeltrace2 convert` does",
        ));
    }
    let output_path = OutputPath::of_trace(writing);
    output_path.check_readable(writing.verify)?;
    output_path.recover()?;
    output_path.check_new()?;
    let text = TextTarget::named(args)?;
    if text.is_some() {
        check_shard(writing, None)?;
    }
    if text.is_some() && (edit.repairs || edit.whole_packets) {
        let option = if edit.repairs { "repair" } else { "--align packet" };
        return Err(Failure::new(format!("{option} writes packets of traces, not text"))
            .help("name a trace as the output"));
    }
    let named = match text {
        Some(_) => None,
        None if edit.task.is_some() => task_target(args)?,
        None => named_target(args, edit.keeps_format)?,
    };
    let mut selection = Selection::new(&args.selecting, None)?;
    if let Some(expression) = edit.expression {
        selection.filter = Some(filters::parse(expression, "--filter")?);
    }
    let anchors = edit.around.map(|around| around.anchors(&selection)).transpose()?;
    let progress = scan_progress::show(console);
    let arithmetic = text.as_ref().map_or(Arithmetic::Exact, TextTarget::arithmetic);
    let session = input::open_checked(&args.reading, arithmetic, writing.verify, progress, console)?;
    output_path.check_apart(&session)?;
    let damaged = input::report_problems(&session, console);
    let is_kept = named.is_none() && text.is_none();
    let keeps_rundown = edit.keeps_rundown && text.is_none() && session.has_rundown();
    let kept = if is_kept { Some(kept_target(args, &session, console)?) } else { None };
    let mut window = selection.prepare(&session, console)?;
    let text = text.map(|text| text.target(&session, &selection, console)).transpose()?;
    let target = named.or(kept).or(text).ok_or_else(nothing_to_write)?;
    let writer = target.writer;
    let mut windows = keeps_rundown.then(|| Windows::of(window));
    let is_by_time = selection.wants_all_events() && edit.around.is_none() && edit.task.is_none();
    let cut = window;
    if let Some(find_events) = edit.task {
        match find_events(&session)? {
            Ok(events) => selection.within_task(events),
            Err(exit) => return Ok(exit),
        }
    }
    if let Some((around, anchors)) = edit.around.zip(anchors) {
        interrupt::watch_writing(console);
        let Some(found) = around.windows(&session, anchors, console)? else {
            return Ok(interrupt::exit());
        };
        let Some(hull) = found.hull() else {
            console.notice("--around: no event matches: nothing is written");
            return Ok(if damaged { Exit::Damaged } else { Exit::Nothing });
        };
        window = intersection(window, hull);
        windows = Some(found);
    }
    if let Some(windows) = windows {
        selection.within(if keeps_rundown { windows.with_rundown() } else { windows });
        selection.selected = std::mem::take(&mut selection.selected).losses_in(window);
    }
    if keeps_rundown {
        console.notice(
            "events that name processes, modules and functions are kept even outside the range; \
            --cut-rundown drops them",
        );
    }
    if edit.whole_packets {
        check_packets(&session, &selection)?;
    }
    let read = if edit.whole_packets || keeps_rundown { Window::default() } else { window };
    let wants = |stream: &DataStream| selection.wants_file(&stream.name);
    // If data streams are not merged by time, their clocks may be unrelated.
    let by_stream = writer.order() == MessageOrder::ByStream && !edit.merges && !selection.times.is_some();
    let mut reader = match by_stream {
        true => session.stream_reader_of(read, wants),
        false => session.reader_of(read, wants).map_err(|error| input::failure(&error))?,
    };
    selection.intersect(&mut reader)?;
    selection.selected.exclude(&mut reader);
    select_shard(&mut reader, &session, writing)?;
    input::report_empty_traces(&session, console);
    let repeated_packets = repeated_packets(&session, wants);
    interrupt::watch_writing(console);
    let mut options = ConvertOptions::default();
    set_options(&mut options, args, target)?;
    options.write.selected_by.extend(edit.expression.map(str::to_owned));
    options.write.merge = edit.merges;
    options.write.repair = edit.repairs;
    let is_cut = keeps_rundown && is_by_time && !selection.stream_intersection;
    options.write.cut = is_cut.then_some(cut);
    options.packets_in = edit.whole_packets.then_some(window);
    // With a selection, the output size is only known at the end.
    let is_whole =
        selection.wants_all_events() && !selection.times.is_some() && !selection.stream_intersection;
    // Files of another format can be several times as long as the input.
    let is_comparable = writer.order() == MessageOrder::ByStream
        || session.traces().iter().all(|trace| trace.format() == target.format);
    let total = (is_whole && is_comparable).then(|| bytes_of(&session, wants));
    let on_terminal = writing.prints_trace() && std::io::stdout().is_terminal();
    let progress = WriteProgress::new(total, on_terminal, console)
        .count_events(!selection.wants_all_events())
        .limit_damage(args.reading.limits().report.damage);
    options.pass = Pass::new(selection.selected.clone()).stop(interrupt::flag());
    options.observer = &progress;
    let mut written = convert(&reader, writer, path.filter(|_| !writing.dry_run), &options);
    if is_kept
        && let Err(ConvertError::Create(error @ CreateError::Unsupported { .. })) = &written
        && options.write.dialect.take().is_some()
    {
        console.notice(&format!("{error}; the output is {}", default_dialect(writer)));
        progress.forget_damage();
        written = convert(&reader, writer, path.filter(|_| !writing.dry_run), &options);
    }
    if is_unsorted(&written) && path.is_none_or(can_be_begun_again) {
        options.write.sorts = true;
        progress.forget_damage();
        written = convert(&reader, writer, path.filter(|_| !writing.dry_run), &options);
    }
    drop(options);
    let mut found = progress.finish();
    found.warn(console);
    let count = found.count;
    // A repair is meant to drop damaged data.
    let mut damaged = damaged || count > 0 && !edit.repairs;
    let (written, failed) = match written {
        Ok(written) => (written, None),
        Err(ConvertError::Stopped) => return Ok(interrupt::exit()),
        Err(ConvertError::Losses(losses)) => {
            let mut written = WriteReport::default();
            written.losses = losses;
            let failure = Failure::new("some data would be lost: nothing was written")
                .help("--losses lists the losses; without --strict, the output is written anyway");
            (written, Some(failure))
        }
        Err(ConvertError::Create(CreateError::Mismatch(difference))) => {
            return Ok(report_mismatch(&difference, console));
        }
        Err(error @ ConvertError::Create(CreateError::Terminal)) => {
            let help = "`ichnos cat` prints text on a terminal";
            return Err(Failure::new(error.to_string()).help(help));
        }
        Err(error) => return Err(failure(&error)),
    };
    damaged |= cat::report_undecoded(written.undecoded, console);
    // Dropping damage is the purpose of a repair, changing events is not.
    damaged |= edit.repairs && written.losses.rounds_events();
    let reads_copied_packets = writing.verify || edit.repairs;
    let left_out = edit.repairs.then_some(&found.list[..]);
    let read = InputReport { left_out, repeated_packets, reads_copied_packets };
    write_report::print(&args.writing, &written, &read, console)?;
    note_output(writing, target, console);
    let is_empty = written.events == 0 && written.copied_packets == 0;
    // `true` if all events of the input were dropped.
    let mut lacks_all = false;
    if failed.is_none() {
        lacks_all = write_report::warn_of_missing_events(&written, "", console);
        if edit.repairs && is_empty && !lacks_all && count > 0 {
            console.warning("no event can be recovered: the output does not contain events");
            lacks_all = true;
        }
    }
    // A shard without events is a part of the output like any other.
    let is_nothing =
        is_empty && selection.is_some() && written.selected_events == 0 && writing.shard.is_none();
    if failed.is_none() {
        no_match_help::explain(&session, &selection, window, u64::from(!is_nothing), console);
    }
    match failed {
        Some(failure) => Err(failure),
        None if damaged || lacks_all => Ok(Exit::Damaged),
        None if is_nothing => Ok(Exit::Nothing),
        None => Ok(Exit::Success),
    }
}

/// Returns `true` if the format needs sorted events, and these were not.
fn is_unsorted(written: &Result<WriteReport, ConvertError>) -> bool {
    matches!(written, Err(ConvertError::Create(CreateError::Unsorted { .. })))
}

/// Returns `true` if an output at a path appears when it is complete, other than data in a pipe or a device.
fn can_be_begun_again(path: &Path) -> bool {
    path != Path::new("-") && path.metadata().map_or(true, |metadata| metadata.is_file() || metadata.is_dir())
}

fn failure(error: &ConvertError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
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

pub(crate) fn nothing_to_write() -> Failure {
    Failure::new("no format can be written")
}

/// Reports that the output differs from what was written.
pub(crate) fn report_mismatch(difference: &str, console: Console) -> Exit {
    console.error(&format!("the output differs from the written data and was removed: {}", safe(difference)));
    console.help("please report this as a bug of ichnos; without --verify, the output is kept");
    Exit::Damaged
}

/// Number of packets of these data streams that are in several files.
pub(crate) fn repeated_packets(session: &Session, wants: impl Fn(&DataStream) -> bool) -> u64 {
    sum(session, wants, |summary| summary.repeated_packets)
}

/// Size of these data streams in bytes.
fn bytes_of(session: &Session, wants: impl Fn(&DataStream) -> bool) -> u64 {
    sum(session, wants, |summary| summary.bytes)
}

fn sum(session: &Session, wants: impl Fn(&DataStream) -> bool, of: impl Fn(&StreamSummary) -> u64) -> u64 {
    let mut sum = 0u64;
    for trace in session.traces() {
        trace.for_each_stream(&mut |summary| {
            if wants(&summary.stream) {
                sum = sum.saturating_add(of(&summary));
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
    options.write.formats = writing.writer_flags.of_target(target)?;
    options.write.dialect = writing.to_dialect.clone().or_else(|| target.dialect.map(str::to_owned));
    options.write.packet_size = writing.packet_size;
    options.write.index = writing.index;
    options.write.existing = OutputPath::of_trace(writing).existing();
    options.write.selected_by = args.selecting.event.iter().chain(&args.selecting.filter).cloned().collect();
    options.write.limits = args.reading.limits().model;
    options.write.temp_dir.clone_from(&args.reading.temp_dir);
    options.verify = writing.verify;
    options.strict = args.reading.strict;
    options.threads = threads(args);
    Ok(())
}

/// Checks that whole packets can be written.
fn check_packets(session: &Session, selection: &Selection) -> Result<(), Failure> {
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

fn convert(
    reader: &Reader<'_>,
    writer: &dyn WriterFactory,
    path: Option<&Path>,
    options: &ConvertOptions<'_>,
) -> Result<WriteReport, ConvertError> {
    reader.convert(writer, path.map(Path::to_owned), options)
}

/// Returns the number of threads to use.
fn threads(args: &Convert) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    args.writing.threads.map_or_else(processors, usize::from)
}

/// Returns the output named by options or the extension of OUT. With `keeps_format`, returns `None` if they
/// name nothing, so that the output is like the input.
pub(crate) fn named_target(args: &Convert, keeps_format: bool) -> Result<Option<Target>, Failure> {
    let Writing { output, to, to_dialect, .. } = &args.writing;
    let path = output.as_deref();
    let named = path.unwrap_or_else(|| Path::new(""));
    if keeps_format && to.is_none() && to_dialect.is_none() && named.extension().is_none() {
        return Ok(None);
    }
    if let Some(feature) = ichnos::convert::missing_feature(to.as_deref(), named) {
        let message =
            format!("this program cannot write tables: it was built without the feature `{feature}`");
        return Err(Failure::new(message).help(format!(
            "`cargo install --path crates/cli --features {feature}` installs ichnos with this \
            feature"
        )));
    }
    let found = ichnos::convert::target(to.as_deref(), named, to_dialect.as_deref());
    let target = found.ok_or_else(|| {
        if let (None, Some(dialect)) = (to, to_dialect) {
            return Failure::new(format!("unknown dialect `{}`", safe(dialect)))
                .help("`ichnos formats` lists them");
        }
        let shown = path.map_or_else(String::new, |path| safe(&path.display().to_string()).into_owned());
        Failure::new(format!("cannot infer the output format from `{shown}`"))
            .help(format!("name it with --to: {}", written_formats().join(", ")))
    })?;
    let has = |writer: &dyn WriterFactory, dialect: &str| dialect_named(writer, dialect).is_some();
    if let (None, Some(dialect)) = (to, to_dialect)
        && !has(target.writer, dialect)
        && let Some(other) = ichnos::convert::targets().find(|other| has(other.writer, dialect))
    {
        let (format, other) = (target.format, other.format);
        let shown = safe(&named.display().to_string()).into_owned();
        return Err(Failure::new(format!(
            "the extension of `{shown}` names the format {format}, but the dialect `{dialect}` belongs to \
            {other}"
        ))
        .help(format!("write it with `--to {other}`, or leave out --dialect")));
    }
    check_output(args, target).map(Some)
}

/// Returns the name of a dialect of a writer, for its name or another name of it.
fn dialect_named(writer: &dyn WriterFactory, dialect: &str) -> Option<&'static str> {
    let is_it = |known: &&OptionValue| known.name == dialect || known.aliases.contains(&dialect);
    writer.dialects().iter().find(is_it).map(|known| known.name)
}

/// Reports an output that is a directory, or in another dialect, in spite of its extension.
fn note_output(writing: &Writing, target: Target, console: Console) {
    let writer = target.writer;
    let Some(path) = writing.output.as_deref() else { return };
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else { return };
    if writer.is_directory() && writer.extensions().contains(&extension) && path.is_dir() {
        let shown = path.display().to_string();
        console.notice(&format!("{} is a directory: {} has several files", safe(&shown), target.format));
    }
    let named = writing.to_dialect.as_deref().and_then(|dialect| dialect_named(writer, dialect));
    if let (Some(named), Some(usual)) = (named, writer.dialect_of_extension(&extension.to_lowercase()))
        && named != usual
    {
        console.notice(&format!(
            "--dialect {named} overrides the extension `.{extension}` for the dialect {usual}"
        ));
    }
}

/// Returns the output named by options or the extension of OUT, or that for tasks if they name nothing.
fn task_target(args: &Convert) -> Result<Option<Target>, Failure> {
    match named_target(args, true)? {
        None => check_output(args, ichnos::convert::task_target().ok_or_else(nothing_to_write)?).map(Some),
        named => Ok(named),
    }
}

/// Returns the format and the dialect of the input if they can be written, otherwise the default ones.
pub(crate) fn kept_target(args: &Convert, session: &Session, console: Console) -> Result<Target, Failure> {
    let traces = || session.traces().iter().map(|trace| &**trace);
    if let Some(target) = ichnos::convert::common_target(traces()) {
        return check_output(args, target);
    }
    let target = ichnos::convert::target(None, Path::new(""), None).ok_or_else(nothing_to_write)?;
    let mut kinds: Vec<&str> =
        traces().map(|trace| trace.dialect().unwrap_or_else(|| trace.format())).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() > 1 {
        console.notice(&format!(
            "the traces have several dialects ({}): the output is {}",
            kinds.join(", "),
            default_dialect(target.writer)
        ));
    }
    check_output(args, target)
}

/// Returns the default dialect of a writer, for display.
pub(crate) fn default_dialect(writer: &dyn WriterFactory) -> String {
    writer
        .dialects()
        .first()
        .map_or_else(String::new, |dialect| format!("{} ({})", dialect.name, dialect.about))
}

/// Checks that a format can be written to the output.
fn check_output(args: &Convert, target: Target) -> Result<Target, Failure> {
    if target.writer.is_directory() && args.writing.prints_trace() {
        let format = target.format;
        let message = format!("a {format} trace is a directory: it cannot be written to standard output");
        return Err(Failure::new(message).help("name a directory, or another format with --to"));
    }
    check_shard(&args.writing, Some(target.writer))?;
    Ok(target)
}

/// Checks that a format is written in shards, if that is asked for; no format for text.
fn check_shard(writing: &Writing, writer: Option<&dyn WriterFactory>) -> Result<(), Failure> {
    if writing.shard.is_none() || writer.is_some_and(|writer| writer.writes_shards()) {
        return Ok(());
    }
    let tables = ichnos::convert::targets().filter(|target| target.writer.writes_shards());
    let formats: Vec<String> = tables.map(|target| format!("--to {}", target.format)).collect();
    let help = match formats.is_empty() {
        true => "this program was built without the feature `table`, which writes tables".to_owned(),
        false => format!("{} writes parts; `ichnos split` writes parts of traces", formats.join(", ")),
    };
    Err(Failure::new("--shard: only tables are written by several processes").help(help))
}

/// Restricts a reader to the shard that is to be written.
fn select_shard(reader: &mut Reader<'_>, session: &Session, writing: &Writing) -> Result<(), Failure> {
    let Some(shard) = writing.shard else { return Ok(()) };
    if session.is_live() {
        return Err(Failure::new("--shard: live input cannot be divided: it can only be read once"));
    }
    reader.select_shard(shard);
    Ok(())
}
