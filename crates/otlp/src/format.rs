//! Registry entry for files with requests.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_io::{Format, FormatInfo, OpenedTraces, ReadFile, ReadFiles, ReadOptions, ScanStep, Tree};
use ichnos_model::Trace;
use ichnos_model::message::Damage;
use ichnos_model::plan::PlanError;
use ichnos_model::source::RecordTrace;

use crate::class::{NAME, trace_class};
use crate::event_indexer::{ElementPlace, EventIndexer, FEW_EVENTS};
use crate::origin::Resource;
use crate::placed_events::{PlacedEvents, RequestFile, RequestFiles};
use crate::recognized_file::RecognizedFile;
use crate::rule::RequestRule;

/// The format of files with OpenTelemetry requests.
#[derive(Clone, Copy, Debug)]
pub struct OtlpRequests;

static INFO: FormatInfo = FormatInfo {
    versions: "OTLP 1: traces, logs and metrics, in JSON and protobuf",
    detection: "JSON with `resourceSpans`, `resourceLogs` or `resourceMetrics`, or the same in protobuf",
    ..FormatInfo::new(NAME, "OpenTelemetry requests")
};

impl Format for OtlpRequests {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        tree.files().any(|entry| RecognizedFile::new(entry, options).is_some())
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        for tree in trees {
            if let Some(trace) = open(tree, options, &mut read).transpose() {
                opened.add(&tree.name, trace);
            }
        }
        opened.notices = read.notices;
        opened
    }
}

/// Maximum number of unreadable places in a trace that are reported one by one.
const MOST_DAMAGE: usize = 1_000;

/// Minimum average number of bytes in a file for each of very many events.
const FEWEST_BYTES: usize = 8;

/// Requests of all files of a tree.
#[derive(Default)]
struct TreeScan {
    files: Vec<RequestFile>,
    indexer: EventIndexer,
    damage: Vec<Damage>,
    /// Number of unreadable places that are not in `damage`.
    further: u64,
}

impl TreeScan {
    fn push_damage(&mut self, damage: Damage) {
        if self.damage.len() < MOST_DAMAGE { self.damage.push(damage) } else { self.further += 1 }
    }

    /// Finds the events of a file.
    fn scan(&mut self, file: ReadFile<RecognizedFile>, options: &ReadOptions) {
        let ReadFile { name, bytes, form: RecognizedFile { form, signal, is_growing } } = file;
        let number = self.files.len() as u32;
        // Real events are longer.
        self.indexer.most_events = self.indexer.places.len() + FEW_EVENTS + bytes.len() / FEWEST_BYTES;
        let mut at = 0;
        while let Some(next) = form.next_request(&bytes, at) {
            let damage = |at: usize, end: usize, statement: String| {
                let rule = RequestRule::Request.broken(statement);
                let skipped = end.saturating_sub(at) as u64;
                Damage::new(&*name, at as u64 * 8, rule.into()).skipping(skipped * 8)
            };
            match next {
                Ok((range, end)) => {
                    let request = bytes.get(range.clone()).unwrap_or_default();
                    let place = (number, range.start);
                    if let Err(fault) = self.indexer.add(place, request, form.encoding(), signal) {
                        let at = range.start + fault.at;
                        self.push_damage(damage(at, range.end, fault.message.into_owned()));
                    }
                    at = end;
                }
                // The rest is being written.
                Err((_, end)) if is_growing && end == bytes.len() => at = end,
                Err((fault, end)) => {
                    self.push_damage(damage(fault.at, end, fault.message.into_owned()));
                    at = end;
                }
            }
            self.take_rejected(&name);
            self.take_cuts(&name);
            options.progress.report(ScanStep::Indexed { files: number.into(), bytes: at as u64 });
        }
        self.files.push(RequestFile { name, bytes, encoding: form.encoding() });
    }

    /// Reports the elements of the last request that cannot be decoded.
    fn take_rejected(&mut self, name: &str) {
        let rejected = std::mem::take(&mut self.indexer.rejected);
        let described = rejected.len() as u64;
        for element in rejected {
            let rule = RequestRule::Element.broken(element.fault.message.into_owned());
            let damage = Damage::new(name, element.fault.at as u64 * 8, rule.into());
            self.push_damage(damage.skipping(element.range.len() as u64 * 8));
        }
        let all = std::mem::take(&mut self.indexer.rejections);
        self.further += all.saturating_sub(described);
    }

    /// Reports what is left out of the resources, scopes and metrics of the last request.
    fn take_cuts(&mut self, name: &str) {
        for cut in std::mem::take(&mut self.indexer.cuts) {
            let rule = RequestRule::Limit.broken(cut.message.into_owned());
            self.push_damage(Damage::new(name, cut.at as u64 * 8, rule.into()));
        }
        self.further += std::mem::take(&mut self.indexer.further_cuts);
    }

    /// Returns the trace, with a data stream for each resource.
    fn into_trace(mut self, tree: &Tree, options: &ReadOptions) -> Result<RecordTrace, PlanError> {
        let streams = StreamPlan::new(self.indexer.contexts.resources());
        let class = trace_class(streams.classes.iter().map(|resource| &**resource), &options.clock_offsets);
        let class = class.ok_or_else(|| PlanError::ClockOffset("time".to_owned()))?;
        let mut trace = Trace::with_class_map(class, "", &options.limits, options.class_map.as_ref())?;
        tree.name.clone_into(&mut trace.path);
        share_limits(&trace, &options.limits);
        let trace = Arc::new(trace);
        let mut opened = RecordTrace::new(NAME, trace, &options.limits).with_dynamic_classes();
        let mut places: Vec<Vec<ElementPlace>> = Vec::new();
        places.resize_with(streams.streams.len(), Vec::new);
        for place in std::mem::take(&mut self.indexer.places) {
            let context = self.indexer.contexts.get(place.context);
            let stream = context.and_then(|(context, ..)| streams.of_resource.get(context.resource as usize));
            if let Some(stream) = stream.and_then(|stream| places.get_mut(*stream)) {
                stream.push(place);
            }
        }
        let files = Arc::new(RequestFiles { files: self.files, contexts: self.indexer.contexts });
        for (number, ((class, name), mut places)) in streams.streams.into_iter().zip(places).enumerate() {
            // Events with equal times stay in the order of the files.
            places.sort_by_key(|place| place.time);
            let bytes = places.iter().map(|place| place.range().len() as u64).sum();
            let (files, places) = (Arc::clone(&files), Arc::from(places));
            opened = opened
                .with_stream(class, &name, bytes, move || PlacedEvents::new(&files, &places, number == 0));
        }
        if self.further > 0 {
            let statement = format!("{} further places cannot be read as a whole", self.further);
            let rule = RequestRule::Request.broken(statement);
            self.damage.push(Damage::new(&*tree.name, 0, rule.into()));
        }
        Ok(self.damage.into_iter().fold(opened, RecordTrace::with_damage))
    }
}

/// Gives each data stream class a share of the limit on classes.
fn share_limits(trace: &Trace, limits: &ichnos_model::trace::Limits) {
    /// Number of classes that each has, however many data stream classes there are.
    const FEWEST: u64 = 16;
    let count = trace.class.data_streams.len();
    let share = |most: u64| (most / count.max(1) as u64).max(FEWEST);
    for dynamic in (0..count).filter_map(|index| trace.dynamic_classes(index)) {
        dynamic.limit_to(share(limits.dynamic_event_record_classes), share(limits.field_classes));
    }
}

/// Data streams and their classes.
struct StreamPlan {
    /// Resource that describes each data stream class.
    classes: Vec<Arc<Resource>>,
    /// Class and name of each data stream.
    streams: Vec<(usize, String)>,
    /// Data stream of each resource.
    of_resource: Vec<usize>,
}

impl StreamPlan {
    fn new(resources: &[Arc<Resource>]) -> Self {
        let mut plan = Self { classes: Vec::new(), streams: Vec::new(), of_resource: Vec::new() };
        let mut class_of: HashMap<&[u8], usize> = HashMap::new();
        let mut names: HashMap<String, u32> = HashMap::new();
        let mut shared = None;
        for resource in resources {
            if let Some(stream) = shared.filter(|_| resource.is_shared) {
                plan.of_resource.push(stream);
                continue;
            }
            let class = *class_of.entry(resource.attributes.shape_key()).or_insert_with(|| {
                plan.classes.push(Arc::clone(resource));
                plan.classes.len() - 1
            });
            let name = resource.unique_name(&mut names);
            plan.of_resource.push(plan.streams.len());
            if resource.is_shared {
                shared = Some(plan.streams.len());
            }
            plan.streams.push((class, name));
        }
        plan
    }
}

/// Opens all files in a tree that were not read before, as a trace. Returns `None` if all were read.
fn open(tree: &Tree, options: &ReadOptions, read: &mut ReadFiles) -> Result<Option<RecordTrace>, PlanError> {
    let mut scan = TreeScan::default();
    let (notices, mut is_empty) = (read.notices.len(), true);
    for entry in tree.files() {
        if let Some(file) = read.read(tree, entry, |_| RecognizedFile::new(entry, options)) {
            is_empty = false;
            scan.scan(file, options);
        }
    }
    for damage in std::mem::take(&mut read.damage) {
        scan.push_damage(damage);
        is_empty = false;
    }
    let is_repeated = is_empty && read.notices.len() > notices;
    if is_repeated { Ok(None) } else { scan.into_trace(tree, options).map(Some) }
}
