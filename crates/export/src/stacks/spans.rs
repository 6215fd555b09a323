//! Span profiles: nested spans are calls, weighted by their own time.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;

use ichnos_model::{DataStream, Message, Sink};

use super::calls::{Calls, NO_CALL};
use super::collect::ThreadSelection;
use super::packed::{RunState, Sample};
use super::profile::{SkippedSamples, StackProfile, StackThread, ThreadSamples, Total, display_name, title};
use super::{StackOptions, StackWeight};
use crate::viewers::{SpanVisitor, SpanWalk, Timeline, TimelineTrackKind, WalkedSpans};

/// Memory for the spans of a trace, in bytes. Short spans are merged beyond it.
const BUDGET: usize = 1 << 30;

/// Collects spans (function calls, system calls, requests) as a profile.
///
/// Messages must be in order of time.
pub struct SpanStackCollector {
    timeline: Timeline,
    /// Names of the traces.
    names: BTreeSet<String>,
    options: StackOptions,
    only_running: bool,
    wants: Option<ThreadSelection>,
}

impl SpanStackCollector {
    /// Makes an empty collector. With `only_running`, only the time counts in which processors ran the threads. The
    /// weight of a span is its time in nanoseconds, whatever the options say.
    #[must_use]
    pub fn new(options: StackOptions, only_running: bool) -> Self {
        Self { timeline: Timeline::new(BUDGET), names: BTreeSet::new(), options, only_running, wants: None }
    }

    /// Collects only spans of threads for which `wants` returns `true`.
    #[must_use]
    pub fn of_threads(mut self, wants: impl FnMut(&StackThread) -> bool + Send + 'static) -> Self {
        self.wants = Some(Box::new(wants));
        self
    }

    /// Takes the data streams of all traces, which give the profile its title.
    pub fn streams<'s>(&mut self, streams: impl IntoIterator<Item = &'s DataStream> + Clone) {
        self.names.extend(streams.clone().into_iter().map(|stream| display_name(&stream.trace)));
        self.timeline.number_streams(streams);
    }

    /// Returns the profile, and the numbers of spans in it.
    #[must_use]
    pub fn finish(mut self) -> (StackProfile, WalkedSpans) {
        self.timeline.finish();
        let range = self.timeline.range().unwrap_or_default();
        let mut visitor = ProfileVisitor {
            calls: Calls::default(),
            threads: Vec::new(),
            call: NO_CALL,
            open: Vec::new(),
            with_times: self.options.with_times,
            wants: self.wants,
        };
        let walk = SpanWalk { range, pixels: u64::MAX, only_running: self.only_running };
        let walked = self.timeline.visit_spans(walk, &mut visitor);
        let ProfileVisitor { calls, mut threads, .. } = visitor;
        threads.retain(|thread| !thread.totals.is_empty());
        let profile = StackProfile {
            title: title(self.names.into_iter()),
            weight: StackWeight::Time,
            calls,
            threads,
            begin: self.timeline.range().map(|(begin, _)| begin.into()),
            has_dates: self.timeline.has_dates(),
            skipped: SkippedSamples::default(),
            has_states: false,
            not_counted: Vec::new(),
        };
        (profile, walked)
    }
}

impl std::fmt::Debug for SpanStackCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanStackCollector").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Sink for SpanStackCollector {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        self.timeline.take(message);
        Ok(ControlFlow::Continue(()))
    }
}

/// Makes calls of spans.
struct ProfileVisitor {
    calls: Calls,
    threads: Vec<ThreadSamples>,
    /// Call of the innermost open span, and those around it.
    call: u32,
    open: Vec<u32>,
    with_times: bool,
    wants: Option<ThreadSelection>,
}

impl SpanVisitor for ProfileVisitor {
    fn track(&mut self, timeline: &Timeline, track: u32) -> bool {
        let thread = thread_of(timeline, track);
        let is_wanted = self.wants.as_mut().is_none_or(|wants| wants(&thread));
        self.threads.push(ThreadSamples { thread, ..ThreadSamples::default() });
        self.call = NO_CALL;
        is_wanted
    }

    fn begin(&mut self, name: &str) {
        let function = self.calls.function(name, None, false);
        let call = self.calls.call(self.call, function);
        self.open.push(std::mem::replace(&mut self.call, call));
    }

    fn own_time(&mut self, begin: u64, length: u64) {
        let Some(thread) = self.threads.last_mut() else { return };
        thread.totals.entry(self.call).or_default().add(Total { samples: 1, weight: length });
        if self.with_times {
            let (time, stack, state) = (begin.into(), self.call, RunState::Unknown);
            thread.samples.push(Sample { time, stack, weight: length, state });
        }
    }

    fn end(&mut self) {
        self.call = self.open.pop().unwrap_or(NO_CALL);
    }
}

/// Returns the thread of a track, by the names of the track and of its process.
fn thread_of(timeline: &Timeline, track: u32) -> StackThread {
    let named = |track: Option<u32>| timeline.tracks().get(track? as usize);
    let own = named(Some(track));
    let parent = named(own.and_then(|own| own.parent));
    let name = own.map_or("", |own| &own.name);
    // Spans with keys have a track of their own.
    let (thread_name, thread) = match own.map(|own| own.kind) {
        Some(TimelineTrackKind::Thread) => name_and_number(name, "thread "),
        _ => (Some(name.to_owned()), None),
    };
    let (process_name, process) = name_and_number(parent.map_or("", |parent| &parent.name), "process ");
    StackThread { process, process_name, thread, thread_name }
}

/// Splits the name of a track, `NAME (NUMBER)` or a word and the number.
fn name_and_number(name: &str, word: &str) -> (Option<String>, Option<i128>) {
    if let Some(number) = name.strip_prefix(word).and_then(|number| number.parse().ok()) {
        return (None, Some(number));
    }
    let split = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    match split.and_then(|(name, number)| Some((name, number.parse().ok()?))) {
        Some((name, number)) => (Some(name.to_owned()), Some(number)),
        None => (Some(name.to_owned()).filter(|name| !name.is_empty()), None),
    }
}
