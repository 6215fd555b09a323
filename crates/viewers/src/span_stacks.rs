//! Span profiles: nested spans are calls, weighted by their own time.

use std::io;
use std::ops::ControlFlow;

use ichnos_analysis::stacks::{ProfileBuilder, StackOptions, StackProfile, StackThread, ThreadSelection};
use ichnos_model::{DataStream, Message, Sink};

use crate::timeline::{SpanVisitor, SpanWalk, Timeline, TimelineTrackKind, WalkedSpans};

/// Memory for the spans of a trace in bytes. Beyond it, short spans are merged.
const BUDGET: usize = 1 << 30;

/// Collector that turns spans (function calls, system calls, requests) into a profile.
///
/// Messages must be sorted by time.
pub struct SpanStackCollector {
    timeline: Timeline,
    profile: ProfileBuilder,
    only_running: bool,
    wants: Option<ThreadSelection>,
}

impl SpanStackCollector {
    /// Creates an empty collector. With `only_running`, only time counts in which a processor ran the thread. The
    /// weight of a span is always its time in nanoseconds, regardless of the options.
    #[must_use]
    pub fn new(options: &StackOptions, only_running: bool) -> Self {
        let profile = ProfileBuilder::new(options.with_times);
        Self { timeline: Timeline::new(BUDGET), profile, only_running, wants: None }
    }

    /// Restricts the collector to threads for which `wants` returns `true`.
    #[must_use]
    pub fn for_threads(mut self, wants: impl FnMut(&StackThread) -> bool + Send + 'static) -> Self {
        self.wants = Some(Box::new(wants));
        self
    }

    /// Takes the data streams of all traces. They give the profile its title.
    pub fn streams<'s>(&mut self, streams: impl IntoIterator<Item = &'s DataStream> + Clone) {
        self.profile.streams(streams.clone());
        self.timeline.number_streams(streams);
    }

    /// Returns the profile and its span counts.
    #[must_use]
    pub fn finish(mut self) -> (StackProfile, WalkedSpans) {
        self.timeline.finish();
        let range = self.timeline.range();
        let mut visitor = ProfileVisitor { profile: self.profile, wants: self.wants };
        let walk =
            SpanWalk { range: range.unwrap_or_default(), pixels: u64::MAX, only_running: self.only_running };
        let walked = self.timeline.visit_spans(walk, &mut visitor);
        let begin = range.map(|(begin, _)| begin);
        (visitor.profile.finish(begin, self.timeline.has_dates()), walked)
    }
}

impl std::fmt::Debug for SpanStackCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanStackCollector").field("profile", &self.profile).finish_non_exhaustive()
    }
}

impl Sink for SpanStackCollector {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        // Other messages would add tracks without spans.
        if let Message::Event(_) | Message::DiscardedEvents(_) | Message::DiscardedPackets(_) = message {
            self.timeline.take(message);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Visitor that turns spans into calls.
struct ProfileVisitor {
    profile: ProfileBuilder,
    wants: Option<ThreadSelection>,
}

impl SpanVisitor for ProfileVisitor {
    fn track(&mut self, timeline: &Timeline, track: u32) -> bool {
        let thread = thread_of(timeline, track);
        let is_wanted = self.wants.as_mut().is_none_or(|wants| wants(&thread));
        self.profile.thread(thread);
        is_wanted
    }

    fn begin(&mut self, name: &str) {
        self.profile.begin(name);
    }

    fn own_time(&mut self, begin: u64, length: u64) {
        self.profile.own_time(begin, length);
    }

    fn end(&mut self) {
        self.profile.end();
    }
}

/// Returns the thread of a track, from the track name and process name.
fn thread_of(timeline: &Timeline, track: u32) -> StackThread {
    let named = |track: Option<u32>| timeline.tracks().get(track? as usize);
    let own = named(Some(track));
    let parent = named(own.and_then(|own| own.parent));
    let name = own.map_or("", |own| &own.name);
    // Spans with keys have a separate track.
    let (thread_name, thread) = match own.map(|own| own.kind) {
        Some(TimelineTrackKind::Thread) => name_and_number(name, "thread "),
        _ => (Some(name.to_owned()), None),
    };
    let (process_name, process) = name_and_number(parent.map_or("", |parent| &parent.name), "process ");
    StackThread { process, process_name, thread, thread_name }
}

/// Splits a track name: `NAME (NUMBER)`, or a word with a number.
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
