//! Reports as a format of the registry.

use std::sync::Arc;

use ichnos_io::{
    Collect, Entry, ExplainContext, Format, OpenedTraces, ReadFiles, ReadOptions, Refused, TraceWriter, Tree,
};
use ichnos_model::plan::PlanError;
use ichnos_model::{Damage, FindMentions, RecordTrace, Trace};

use super::class;
use super::collect::COLLECT;
use super::event_maker::{Checking, EventMaker};
use super::explain::explain;
use super::mentions::find_mentions;
use super::recognition::recognise;
use super::reported_operations::ReportedOperations;
use super::source::{Form, ReportSource};
use crate::report_writer::XTraceWriter;

/// X-Trace reports.
#[derive(Clone, Copy, Debug)]
pub struct XTrace;

/// Maximum number of kinds of reports cached for all files of a trace.
const MOST_SHAPES: usize = 4096;
/// Minimum number cached for a file, however many files there are.
const FEWEST_SHAPES: usize = 8;
/// Maximum number cached for a file, however few there are.
const MOST_SHAPES_OF_FILE: usize = 512;

impl Format for XTrace {
    fn name(&self) -> &'static str {
        "xtrace"
    }

    fn title(&self) -> &'static str {
        "X-Trace reports"
    }

    fn versions(&self) -> &'static str {
        "reports 1.0 as text; server JSON; metadata 0, 1 and 2"
    }

    fn recognised_by(&self) -> &'static str {
        "files that start with `X-Trace Report`, or with report JSON"
    }

    fn writer(&self) -> Option<&'static dyn TraceWriter> {
        Some(&XTraceWriter)
    }

    fn collect(&self) -> Option<Collect> {
        Some(COLLECT)
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        files(tree).any(|entry| recognise(entry, options).is_some())
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        let operations = options.check.then(Arc::<ReportedOperations>::default);
        for tree in trees {
            match open(tree, options, operations.as_ref(), &mut read, &mut opened.notices) {
                Ok(Some(trace)) => opened.traces.push(Box::new(trace)),
                Ok(None) => {}
                Err(error) => opened.refused.push(Refused::because(&tree.name, error)),
            }
        }
        opened
    }

    fn find_mentions(&self) -> Option<FindMentions> {
        Some(find_mentions)
    }

    fn explain_context(&self) -> Option<ExplainContext> {
        Some(explain)
    }
}

fn files(tree: &Tree) -> impl Iterator<Item = &Entry> {
    tree.entries.iter().filter(|entry| entry.repeats().is_none())
}

/// Opens all files of a tree that were not read before, as a trace with a data stream for each; returns `None`
/// if there are none.
fn open(
    tree: &Tree,
    options: &ReadOptions,
    operations: Option<&Arc<ReportedOperations>>,
    read: &mut ReadFiles,
    notices: &mut Vec<String>,
) -> Result<Option<RecordTrace>, PlanError> {
    let class = class::trace_class(&options.clock_offsets);
    let class = class.ok_or_else(|| PlanError::ClockOffset("timestamp".to_owned()))?;
    let mut trace = Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref())?;
    tree.name.clone_into(&mut trace.path);
    if let Some(dynamic) = trace.dynamic_classes(0) {
        dynamic.describe_with(class::class_of);
    }
    let trace = Arc::new(trace);
    let mut opened = RecordTrace::new("xtrace", Arc::clone(&trace), &options.limits).with_dynamic_classes();
    let entries: Vec<_> = files(tree).collect();
    let most_shapes = (MOST_SHAPES / entries.len().max(1)).clamp(FEWEST_SHAPES, MOST_SHAPES_OF_FILE);
    let (mut is_empty, mut is_repeated) = (true, false);
    for entry in entries {
        let name = tree.path_of(entry);
        // Checked first: a collector may end while the file is read.
        let is_being_collected = entry.is_being_collected();
        let bytes = match entry.read_or_damage() {
            Ok(bytes) => bytes,
            Err(kind) => {
                opened = opened.with_damage(Damage::new(name, 0, kind));
                is_empty = false;
                continue;
            }
        };
        let Some(form) = recognise(entry, options) else { continue };
        if let Err(notice) = read.add(&name, entry) {
            is_repeated = true;
            notices.push(notice);
            continue;
        }
        is_empty = false;
        // A partially written report is not read yet.
        let whole = match form {
            Form::Text if is_being_collected => end_of_whole_reports(&bytes),
            _ => bytes.len(),
        };
        let bytes = bytes.slice(0..whole);
        let (trace, file) = (Arc::clone(&trace), Arc::<str>::from(&*name));
        let check = operations.map(|operations| Checking::new(operations, &file));
        opened = opened.with_stream(0, &name, bytes.len() as u64, move || {
            ReportSource::new(
                &file,
                &bytes,
                form,
                EventMaker::new(Arc::clone(&trace), check.clone(), most_shapes),
            )
        });
    }
    Ok((!is_empty || !is_repeated).then_some(opened))
}

/// Returns the end of the last report followed by an empty line.
fn end_of_whole_reports(bytes: &[u8]) -> usize {
    memchr::memmem::rfind(bytes, b"\n\n").map_or(0, |at| at + 2)
}
