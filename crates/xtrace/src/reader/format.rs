//! Registry entry for X-Trace reports.

use std::sync::Arc;

use ichnos_io::{Entry, Format, FormatInfo, OpenedTraces, ReadFile, ReadFiles, ReadOptions, Tree};
use ichnos_model::Trace;
use ichnos_model::plan::PlanError;
use ichnos_model::source::RecordTrace;

use super::class;
use super::collect::COLLECT;
use super::event_maker::{CheckState, EventMaker};
use super::explain::explain;
use super::mentions::find_mentions;
use super::recognition::recognize;
use super::reported_operations::ReportedOperations;
use super::source::{ReportForm, ReportSource};
use crate::report_writer::XTraceWriter;

/// The format of X-Trace reports.
#[derive(Clone, Copy, Debug)]
pub struct XTrace;

/// Maximum number of report kinds to cache for all files of a trace.
const MOST_SHAPES: usize = 4096;
/// Minimum number to cache for each file.
const FEWEST_SHAPES: usize = 8;
/// Maximum number to cache for each file.
const MOST_SHAPES_OF_FILE: usize = 512;

static INFO: FormatInfo = FormatInfo {
    versions: "reports 1.0 as text; server JSON; metadata 0, 1 and 2",
    detection: "files that start with `X-Trace Report`, or with reports as JSON",
    writer: Some(&XTraceWriter),
    collect: Some(COLLECT),
    find_mentions: Some(find_mentions),
    explain_context: Some(explain),
    ..FormatInfo::new("xtrace", "X-Trace reports")
};

impl Format for XTrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        tree.files().any(|entry| recognize(entry, options).is_some())
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        let operations = options.check.then(Arc::<ReportedOperations>::default);
        for tree in trees {
            if let Some(trace) = open(tree, options, operations.as_ref(), &mut read).transpose() {
                opened.add(&tree.name, trace);
            }
        }
        opened.notices = read.notices;
        opened
    }
}

/// Opens all files in a tree that were not read before, as a trace with one data stream for each file. Returns `None`
/// if all were read.
fn open(
    tree: &Tree,
    options: &ReadOptions,
    operations: Option<&Arc<ReportedOperations>>,
    read: &mut ReadFiles,
) -> Result<Option<RecordTrace>, PlanError> {
    let notices = read.notices.len();
    let entries: Vec<_> = tree.files().collect();
    let most_shapes = (MOST_SHAPES / entries.len().max(1)).clamp(FEWEST_SHAPES, MOST_SHAPES_OF_FILE);
    let files: Vec<_> = entries.into_iter().map(|entry| read_reports(tree, entry, options, read)).collect();
    let class = class::trace_class(&options.clock_offsets);
    let class = class.ok_or_else(|| PlanError::ClockOffset("timestamp".to_owned()))?;
    let mut trace = Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref())?;
    tree.name.clone_into(&mut trace.path);
    if let Some(dynamic) = trace.dynamic_classes(0) {
        dynamic.describe_with(class::class_of);
    }
    let kept = options.kept.trace(&tree.name, 0, trace);
    let trace = Arc::clone(kept.trace());
    let mut opened = RecordTrace::new("xtrace", Arc::clone(&trace), &options.limits).with_dynamic_classes();
    let mut is_empty = true;
    for (number, file) in files.into_iter().enumerate() {
        let Some(ReadFile { name, bytes, form }) = file else { continue };
        is_empty = false;
        let Some(stream) = kept.stream(number, 0, None, &name) else { continue };
        let (trace, file) = (Arc::clone(&trace), Arc::<str>::from(&*name));
        let check = operations.map(|operations| CheckState::new(operations, &file));
        let length = bytes.len() as u64;
        let make = move || {
            let maker = EventMaker::new(Arc::clone(&trace), check.clone(), most_shapes);
            ReportSource::new(&file, &bytes, form, maker)
        };
        let begin = make.clone();
        opened = opened.with_growing_stream(stream, length, begin, move |place| make().resumed(place));
    }
    for damage in std::mem::take(&mut read.damage) {
        opened = opened.with_damage(damage);
        is_empty = false;
    }
    let is_repeated = is_empty && read.notices.len() > notices;
    Ok((!is_repeated).then_some(opened))
}

/// Reads a file with reports, without a report at its end that is not whole.
fn read_reports(
    tree: &Tree,
    entry: &Entry,
    options: &ReadOptions,
    read: &mut ReadFiles,
) -> Option<ReadFile<ReportForm>> {
    // Checked first, because a collector can end while the file is being read.
    let is_growing = options.growing || entry.is_being_collected();
    let ReadFile { name, bytes, form } = read.read(tree, entry, |_| recognize(entry, options))?;
    let whole = match form {
        ReportForm::Text if is_growing => end_of_whole_reports(&bytes),
        _ => bytes.len(),
    };
    let bytes = bytes.slice(0..whole);
    options.kept.note(&name, &bytes);
    Some(ReadFile { name, bytes, form })
}

/// Returns the end of the last report that an empty line follows.
fn end_of_whole_reports(bytes: &[u8]) -> usize {
    let end = |empty_line: &[u8]| memchr::memmem::rfind(bytes, empty_line).map(|at| at + empty_line.len());
    end(b"\n\n").max(end(b"\n\r\n")).unwrap_or(0)
}
