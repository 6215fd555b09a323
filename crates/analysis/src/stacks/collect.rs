//! Collects call stacks.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::event::StreamTable;
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::meaning::{EventRole, Meaning};
use ichnos_model::{DataStream, Event, Message, Sink, Trace};

use super::calls::{Calls, NO_CALL};
use super::condition::Condition;
use super::packed::{RunState, Sample, Samples};
use super::profile::{SkippedSamples, StackProfile, StackThread, ThreadSamples, Total, display_name, title};
use super::resolve::CallResolver;
use super::{CPU_TIME, StackOptions, StackWeight, UNMANAGED_CODE_TIME};
use ichnos_export::parts::has_dates;

/// Maximum size of samples kept before their calls are looked up, in bytes.
const MOST_BUFFERED: usize = 16 << 20;

/// Maximum number of threads, and of process and thread names. Further threads are merged.
const MOST_THREADS: usize = 1 << 16;

/// Returns `true` if a thread counts.
pub type ThreadSelection = Box<dyn FnMut(&StackThread) -> bool + Send>;

/// Collector that creates a [`StackProfile`] from events.
///
/// It is fast because an event refers to its stack by number. Frames are looked up once for all samples with the same
/// stack.
pub struct StackCollector {
    options: StackOptions,
    selection: Option<ThreadSelection>,
    /// Source by data stream: index of its trace, or of the part of the trace with the same call stacks.
    streams: StreamTable<usize, (), Option<SampleSource>>,
    traces: Vec<TraceState>,
    threads: Vec<CollectedThread>,
    /// Indexes in `threads`. `None` if the thread does not count.
    by_key: HashMap<ThreadKey, Option<usize>>,
    /// Previous event's thread.
    last: Option<(ThreadKey, Option<usize>)>,
    names: NumberedThreadNames,
    /// Sample classes by name. Weights from different classes cannot be added.
    kinds: HashMap<String, SampleKind>,
    calls: Calls,
    /// Size of the samples whose calls are not looked up yet, in bytes.
    buffered: usize,
    /// `true` after a sample from a profiler: other events no longer count.
    only_samples: bool,
    /// `true` after a sample with its thread's state.
    has_states: bool,
    skipped: SkippedSamples,
}

/// Sample class.
#[derive(Clone, Copy)]
struct SampleKind {
    number: usize,
    /// `true` if the samples have weights, for example the size of an allocation.
    has_weights: bool,
}

/// State of a trace, or of data streams with separate stack numbers.
struct TraceState {
    trace: Arc<Trace>,
    /// Index of one of the data stream classes.
    class: usize,
    resolver: CallResolver,
    has_dates: bool,
}

/// Members of an event record class that make its events samples.
#[derive(Debug)]
struct SampleSource {
    /// `true` if the events are samples from a profiler.
    is_sample: bool,
    /// [`SampleKind::number`].
    kind: usize,
    stacks: Box<[FieldRef]>,
    process: Option<FieldRef>,
    process_name: Option<FieldRef>,
    thread: Option<FieldRef>,
    weight: Option<FieldRef>,
    conditions: Box<[Condition]>,
    /// Condition that a sample's thread was running.
    on_processor: Option<Condition>,
}

/// A sample whose stack is not looked up yet.
struct PendingSample {
    stack: u32,
    thread: ThreadKey,
    weight: u64,
    state: RunState,
    /// `true` if the sample counts.
    is_wanted: bool,
}

/// A thread's last sample.
struct PreviousSample {
    time: i128,
    stack: u32,
    state: RunState,
    is_wanted: bool,
}

/// Thread identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ThreadKey {
    trace: usize,
    kind: usize,
    process: IdOrName,
    thread: IdOrName,
}

/// Process or thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum IdOrName {
    None,
    Number(i128),
    /// Name index.
    Name(u32),
}

/// Numbered process and thread names.
#[derive(Default)]
struct NumberedThreadNames {
    names: Vec<Arc<[u8]>>,
    indexes: HashMap<Arc<[u8]>, u32>,
}

impl NumberedThreadNames {
    fn id(&mut self, name: &[u8]) -> IdOrName {
        if let Some(index) = self.indexes.get(name) {
            return IdOrName::Name(*index);
        }
        if self.names.len() >= MOST_THREADS {
            return IdOrName::None;
        }
        let (index, name) = (self.names.len() as u32, Arc::<[u8]>::from(name));
        self.names.push(Arc::clone(&name));
        self.indexes.insert(name, index);
        IdOrName::Name(index)
    }

    fn text(&self, index: u32) -> Option<String> {
        Some(String::from_utf8_lossy(self.names.get(index as usize)?).into_owned())
    }
}

/// Thread state.
struct CollectedThread {
    trace: usize,
    kind: usize,
    /// Number of selected samples.
    taken: u64,
    kept: ThreadSamples,
    /// Samples without calls yet, with their stacks.
    buffer: Samples,
    /// Sample that lasts until the next one, if the weight is time.
    previous: Option<PreviousSample>,
    /// First sample's time.
    begin: Option<i128>,
}

impl std::fmt::Debug for StackCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StackCollector").field("options", &self.options).finish_non_exhaustive()
    }
}

impl StackCollector {
    /// Collects all stacks.
    #[must_use]
    pub fn new(options: StackOptions) -> Self {
        Self {
            options,
            selection: None,
            streams: StreamTable::default(),
            traces: Vec::new(),
            threads: Vec::new(),
            by_key: HashMap::new(),
            last: None,
            names: NumberedThreadNames::default(),
            kinds: HashMap::new(),
            calls: Calls::default(),
            buffered: 0,
            only_samples: false,
            has_states: false,
            skipped: SkippedSamples::default(),
        }
    }

    /// Collects only threads for which `wants` returns `true`.
    #[must_use]
    pub fn for_threads(self, wants: impl FnMut(&StackThread) -> bool + Send + 'static) -> Self {
        Self { selection: Some(Box::new(wants)), ..self }
    }

    /// Returns the profile for all collected samples.
    #[must_use]
    pub fn finish(mut self) -> StackProfile {
        let not_counted = self.choose_kind();
        if self.options.weight == StackWeight::Time {
            // A thread's last sample lacks a successor.
            for thread in &mut self.threads {
                if let Some(PreviousSample { time, stack, state, is_wanted: true }) = thread.previous.take() {
                    thread.buffer.push(Sample { time, stack, weight: 0, state });
                }
            }
        }
        self.look_up();
        let begin = self.threads.iter().filter_map(|thread| thread.begin).min();
        let mut threads: Vec<ThreadSamples> = self.threads.into_iter().map(|thread| thread.kept).collect();
        threads.retain(|thread| !thread.totals.is_empty());
        threads.sort_by(|a, b| {
            let key = |thread: &ThreadSamples| (thread.thread.process, thread.thread.thread);
            key(a).cmp(&key(b))
        });
        let names = self.traces.iter().map(|state| display_name(&state.trace));
        StackProfile {
            title: title(names),
            weight: self.options.weight,
            calls: self.calls,
            threads,
            begin,
            has_dates: self.traces.iter().all(|trace| trace.has_dates),
            skipped: self.skipped,
            has_states: self.has_states,
            not_counted,
        }
    }

    /// Keeps the samples of one class, and returns the names and sample counts of the others. Samples without weights
    /// (for example of a processor) are preferred, then the class with the most samples.
    fn choose_kind(&mut self) -> Vec<(String, u64)> {
        let mut counts = vec![0; self.kinds.len()];
        self.threads.iter().for_each(|thread| counts[thread.kind] += thread.taken);
        // If counts are equal, the first class is kept.
        let rank = |kind: &&SampleKind| {
            let count = counts[kind.number];
            (count > 0, !kind.has_weights, count, usize::MAX - kind.number)
        };
        let chosen = self.kinds.values().max_by_key(rank).map_or(0, |kind| kind.number);
        self.threads.retain(|thread| thread.kind == chosen);
        let others = self.kinds.iter().filter(|(name, kind)| kind.number != chosen && !name.is_empty());
        let others = others.map(|(name, kind)| (name.clone(), counts[kind.number]));
        let mut others: Vec<_> = others.filter(|(_, count)| *count > 0).collect();
        others.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
        others
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let Some((trace, _, classes)) = self.streams.get_mut(event.stream) else { return };
        let options = &self.options;
        let kinds = &mut self.kinds;
        if let Some(source) = classes.for_event(event, || SampleSource::from_event(event, options, kinds)) {
            if !source.is_sample && self.only_samples {
                return;
            }
            if source.is_sample && !self.only_samples && !options.all_events {
                self.forget();
                self.only_samples = true;
                return self.event(event);
            }
            let sample = source.sample(event, *trace, options, &mut self.names, &mut self.skipped);
            if let Some(found) = sample {
                self.sample(event, &found);
            }
        }
    }

    /// Removes all samples.
    #[cold]
    fn forget(&mut self) {
        self.threads.clear();
        self.by_key.clear();
        self.last = None;
        self.calls = Calls::default();
        self.buffered = 0;
        self.has_states = false;
        self.skipped = SkippedSamples::default();
        for trace in &mut self.traces {
            trace.resolver = CallResolver::new(self.options.frames);
        }
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let table = stream.stacks().table;
        let has_same = |state: &TraceState| std::ptr::eq(state.trace.stacks_of(state.class).table, table);
        let known = self.traces.iter().position(has_same);
        let trace = known.unwrap_or_else(|| {
            self.traces.push(TraceState {
                trace: Arc::clone(&stream.trace),
                class: stream.class_index,
                resolver: CallResolver::new(self.options.frames),
                has_dates: has_dates(stream.clock()),
            });
            self.traces.len() - 1
        });
        self.streams.insert(stream, trace, || ());
    }

    /// Adds a thread's sample.
    fn sample(&mut self, event: &Event<'_>, found: &PendingSample) {
        let PendingSample { stack, thread: key, weight, state, is_wanted } = *found;
        let thread = match self.last {
            Some((last, thread)) if last == key => thread,
            _ => self.thread(event, key),
        };
        self.last = Some((key, thread));
        let Some(thread) = thread.and_then(|thread| self.threads.get_mut(thread)) else { return };
        thread.taken += u64::from(is_wanted);
        let before = thread.buffer.len();
        if self.options.weight.is_time() {
            let Some(time) = event.nanoseconds() else {
                self.skipped.without_time += 1;
                return;
            };
            let is_before = self.options.weight == StackWeight::TimeBefore;
            match thread.previous.replace(PreviousSample { time, stack, state, is_wanted }) {
                Some(previous) if previous.is_wanted => {
                    // 0 if a clock went back.
                    let weight = u64::try_from(time.saturating_sub(previous.time)).unwrap_or_default();
                    thread.buffer.push(match is_before {
                        true => Sample { time, stack, weight, state },
                        false => Sample {
                            time: previous.time,
                            stack: previous.stack,
                            weight,
                            state: previous.state,
                        },
                    });
                }
                None if is_before && is_wanted => {
                    thread.buffer.push(Sample { time, stack, weight: 0, state })
                }
                _ => {}
            }
        } else if is_wanted {
            // Without a clock, use the symbols at the end of the trace.
            let time = event.nanoseconds().unwrap_or(i64::MAX.into());
            thread.buffer.push(Sample { time, stack, weight, state });
        }
        self.buffered += thread.buffer.len() - before;
        if self.buffered > MOST_BUFFERED {
            self.look_up();
        }
    }

    /// Returns the index of the thread with this key. `None` if it does not count.
    #[cold]
    fn thread(&mut self, event: &Event<'_>, key: ThreadKey) -> Option<usize> {
        if let Some(thread) = self.by_key.get(&key) {
            return *thread;
        }
        let shared = ThreadKey { process: IdOrName::None, thread: IdOrName::None, ..key };
        if self.by_key.len() >= MOST_THREADS && key != shared {
            return self.thread(event, shared);
        }
        let (mut thread, mut process_name) = (StackThread::default(), None);
        let names = event.class.meanings.members(Meaning::ProcessName);
        for field in names.filter_map(|member| FieldRef::for_member(event, member)) {
            process_name = process_name.or_else(|| text(event.get(&field)?));
        }
        thread.process_name = process_name;
        let names = event.class.meanings.members(Meaning::ThreadName);
        let mut names = names.filter_map(|member| FieldRef::for_member(event, member));
        thread.thread_name = names.find_map(|field| text(event.get(&field)?));
        let name = |index: u32| self.names.text(index);
        match key.process {
            IdOrName::None => {}
            IdOrName::Number(number) => thread.process = Some(number),
            IdOrName::Name(index) => thread.process_name = name(index),
        }
        match key.thread {
            IdOrName::None => {}
            IdOrName::Number(number) => thread.thread = Some(number),
            IdOrName::Name(index) => thread.thread_name = name(index),
        }
        let is_wanted = self.selection.as_mut().is_none_or(|wants| {
            // Select the thread by the name that the profile will show.
            thread.add_name(&event.stream.stacks().symbols());
            wants(&thread)
        });
        let index = is_wanted.then(|| {
            let kept = ThreadSamples { thread, ..ThreadSamples::default() };
            let buffer = Samples::default();
            let (trace, kind) = (key.trace, key.kind);
            self.threads.push(CollectedThread {
                trace,
                kind,
                taken: 0,
                kept,
                buffer,
                previous: None,
                begin: None,
            });
            self.threads.len() - 1
        });
        self.by_key.insert(key, index);
        index
    }

    /// Looks up the calls of the buffered samples.
    #[cold]
    fn look_up(&mut self) {
        for (index, trace) in self.traces.iter_mut().enumerate() {
            let mut threads = self.threads.iter_mut().filter(|thread| thread.trace == index).peekable();
            if threads.peek().is_none() {
                continue;
            }
            // Before locking the stacks, since this may read the whole trace.
            let stacks = trace.trace.stacks_of(trace.class);
            let symbols = stacks.symbols();
            let view = stacks.table.view();
            for thread in threads {
                thread.kept.thread.add_name(&symbols);
                for sample in std::mem::take(&mut thread.buffer).iter() {
                    let Sample { time, stack, weight, state } = sample;
                    thread.begin = Some(thread.begin.map_or(time, |begin| begin.min(time)));
                    let call = trace.resolver.call(stack, time, &view, &symbols, &mut self.calls);
                    if call == NO_CALL {
                        self.skipped.without_frames += 1;
                        continue;
                    }
                    let call = match state {
                        RunState::Unknown => call,
                        RunState::OnProcessor => self.calls.call_of_state(call, CPU_TIME),
                        RunState::Other => self.calls.call_of_state(call, UNMANAGED_CODE_TIME),
                    };
                    self.has_states |= state != RunState::Unknown;
                    thread.kept.totals.entry(call).or_default().add(Total { samples: 1, weight });
                    if self.options.with_times {
                        thread.kept.samples.push(Sample { stack: call, ..sample });
                    }
                }
            }
        }
        self.buffered = 0;
    }
}

impl SampleSource {
    /// Returns the members that make events of a class samples. `None` if they are not samples.
    fn from_event(
        event: &Event<'_>,
        options: &StackOptions,
        kinds: &mut HashMap<String, SampleKind>,
    ) -> Option<Self> {
        let field = |meaning| FieldRef::for_meaning(event, meaning);
        let stacks = event.class.meanings.members(Meaning::Stack);
        let stacks: Box<[_]> = stacks.filter_map(|member| FieldRef::for_member(event, member)).collect();
        if stacks.is_empty() {
            return None;
        }
        let is_sample = event.class.role == EventRole::Sample;
        let kind = if is_sample && !options.all_events { event.name() } else { "" };
        let kind = kinds.get(kind).copied().unwrap_or_else(|| {
            let has_weights = event.class.meanings.members(Meaning::Weight).next().is_some();
            let number = kinds.len();
            *kinds.entry(kind.to_owned()).or_insert(SampleKind { number, has_weights })
        });
        Some(Self {
            is_sample,
            kind: kind.number,
            stacks,
            process: field(Meaning::Process),
            process_name: field(Meaning::ProcessName),
            thread: field(Meaning::Thread),
            weight: match &options.weight {
                StackWeight::Field(path) => FieldRef::new(event, path),
                StackWeight::Samples => field(Meaning::Weight),
                StackWeight::Time | StackWeight::TimeBefore => None,
            },
            conditions: options.only.iter().map(|wanted| Condition::from_event(event, wanted)).collect(),
            on_processor: options.with_states.then(|| Condition::on_processor(event)).flatten(),
        })
    }

    /// Returns stack, thread and weight of an event. `None` if it is not a sample.
    #[inline]
    fn sample(
        &self,
        event: &Event<'_>,
        trace: usize,
        options: &StackOptions,
        names: &mut NumberedThreadNames,
        skipped: &mut SkippedSamples,
    ) -> Option<PendingSample> {
        let stack = |field| u32::try_from(event.get(field)?.as_u64()?).ok();
        let stack = self.stacks.iter().find_map(stack)?;
        let value = self.weight.as_ref().and_then(|field| weight(event.get(field)?));
        let weight = match options.weight {
            StackWeight::Field(_) => {
                skipped.without_weight += u64::from(value.is_none());
                value?
            }
            _ => value.unwrap_or(1),
        };
        let mut id = |field: &Option<FieldRef>| {
            let value = field.as_ref().and_then(|field| event.get(field));
            match value {
                Some(FieldValue::Text(name)) => names.id(name),
                value => value.and_then(|value| value.as_i128()).map_or(IdOrName::None, IdOrName::Number),
            }
        };
        let process = match id(&self.process) {
            IdOrName::None => id(&self.process_name),
            id => id,
        };
        let thread = ThreadKey { trace, kind: self.kind, process, thread: id(&self.thread) };
        let is_wanted = self.conditions.iter().all(|condition| condition.holds(event));
        let state = match &self.on_processor {
            Some(condition) if condition.holds(event) => RunState::OnProcessor,
            Some(condition) if condition.is_known(event) => RunState::Other,
            _ => RunState::Unknown,
        };
        Some(PendingSample { stack, thread, weight, state, is_wanted })
    }
}

fn text(value: FieldValue<'_>) -> Option<String> {
    match value {
        FieldValue::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// Returns a value as weight. `None` if it is negative or not a number.
fn weight(value: FieldValue<'_>) -> Option<u64> {
    match value {
        FieldValue::Real(real) => {
            let value = real.to_f64().round();
            (value >= 0.0).then_some(value as u64)
        }
        value => value.as_u64(),
    }
}

impl Sink for StackCollector {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Event(event) = message {
            self.event(event);
        }
        Ok(ControlFlow::Continue(()))
    }
}
