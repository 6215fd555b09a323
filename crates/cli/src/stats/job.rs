//! Counting on several threads: each counts the events of chunks, and the results are joined in order.

use std::io;
use std::ops::ControlFlow;

use ichnos::export::{Null, PairOptions, PairReader, Pairs, Stats, StatsCollector, StatsOptions};
use ichnos::model::{Damage, Message};
use ichnos::render::{ChunkTarget, NotesOf, RenderJob, RenderObserver, RenderOptions, WriterOf};
use ichnos::{Merged, Pass, PassEnd, PassHandler, PassSummary};

use crate::damage;
use crate::interrupt;
use crate::progress::Progress;
use crate::report::Report;
use crate::selection::Selection;

/// Bytes of trace data in a chunk: the same for any number of threads, so that sums of floating-point numbers
/// and approximate results are the same, too.
const CHUNK: u64 = 8 << 20;

/// Settings of the count.
pub(super) struct StatsJob {
    pub(super) options: StatsOptions,
    pub(super) pairs: Option<PairOptions>,
    pub(super) selection: Selection,
    pub(super) strict: bool,
    pub(super) is_live: bool,
}

/// Returns the options for threads.
pub(super) fn rendering(threads: Option<u16>, chunk_bytes: Option<u64>) -> RenderOptions {
    let mut options = RenderOptions::default();
    options.threads = threads.map_or(options.threads, usize::from);
    options.chunk_bytes = Some(chunk_bytes.unwrap_or(CHUNK));
    options.always_chunks = true;
    options
}

/// Report from within a chunk.
pub(super) enum Note {
    /// Records of events that belong to pairs.
    Records(Vec<u8>),
    /// Damage in the input.
    Damage(String),
}

/// Results of a chunk.
pub(super) struct ChunkCounts {
    stats: Stats,
    known_fields: Vec<String>,
    summary: PassSummary,
}

impl RenderJob for StatsJob {
    // Nothing is written.
    type Sink = Null;
    type Note = Note;
    type Outcome = ChunkCounts;
    type Observer = Follower;

    fn sink(&self, _: WriterOf<Self>, _: NotesOf<Self>) -> Null {
        Null::new()
    }

    fn run(&self, cursor: &mut Merged, target: &mut ChunkTarget<'_, Self>) -> io::Result<ChunkCounts> {
        let mut counting = ChunkCounting {
            job: self,
            stats: StatsCollector::new(&self.options),
            pairs: self.pairs.as_ref().map(PairReader::new),
            target,
        };
        let pass = Pass::new(self.selection.selected.clone()).strict(self.strict);
        let summary = pass.run(cursor, &mut counting)?;
        let ChunkCounting { stats, pairs, target, .. } = counting;
        let mut known_fields = Vec::new();
        if let Some(mut pairs) = pairs {
            known_fields.extend(pairs.known_fields().map(str::to_owned));
            target.note(Note::Records(pairs.take_records()));
        }
        Ok(ChunkCounts { stats: stats.finish(), known_fields, summary })
    }
}

/// Counts the messages of a chunk.
struct ChunkCounting<'p, 't> {
    job: &'p StatsJob,
    stats: StatsCollector<'p>,
    pairs: Option<PairReader<'p>>,
    target: &'p mut ChunkTarget<'t, StatsJob>,
}

impl PassHandler for ChunkCounting<'_, '_> {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        match &mut self.pairs {
            None => self.stats.message(message),
            Some(pairs) => {
                if !matches!(message, Message::Event(_)) {
                    self.stats.message(message);
                }
                if pairs.message(message) {
                    self.target.note(Note::Records(pairs.take_records()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn damage(&mut self, damage: &Damage) -> bool {
        self.target.note(Note::Damage(damage::line(damage)));
        true
    }

    fn step(&mut self, message: &Message<'_>, events: u32) {
        self.target.step(message, events);
    }

    fn is_interrupted(&self) -> bool {
        // Live input has no other end.
        interrupt::is_requested() && !self.job.is_live
    }
}

/// Joins the results.
pub(super) struct Follower {
    pub(super) progress: Progress,
    report: Report,
    pub(super) stats: Stats,
    pub(super) pairs: Option<Pairs>,
    pub(super) known_fields: Vec<String>,
    pub(super) summary: PassSummary,
}

impl Follower {
    pub(super) fn new(job: &StatsJob, progress: Progress, report: Report) -> Self {
        Self {
            progress,
            report,
            stats: Stats::new(&job.options),
            pairs: job.pairs.as_ref().map(Pairs::new),
            known_fields: Vec::new(),
            summary: PassSummary::default(),
        }
    }
}

impl RenderObserver<StatsJob> for Follower {
    fn step(&mut self, message: &Message<'_>, events: u32) {
        self.progress.step(events, || message.nanoseconds());
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Records(records) => {
                if let Some(pairs) = &mut self.pairs {
                    pairs.take(&records);
                }
            }
            Note::Damage(line) => self.progress.damage(&line, self.report),
        }
    }

    fn end_chunk(&mut self, counted: ChunkCounts, until: Option<i128>, was_stepped: bool) -> bool {
        if !was_stepped {
            self.progress.add(until, counted.summary.counts.events);
        }
        self.stats.merge(counted.stats);
        for name in counted.known_fields {
            if !self.known_fields.contains(&name) {
                self.known_fields.push(name);
            }
        }
        self.summary.counts += counted.summary.counts;
        self.summary.end = counted.summary.end;
        matches!(self.summary.end, PassEnd::Over)
    }

    fn without_threads(&mut self, error: io::Error) {
        self.report.note(&format!(
            "the system refuses further threads ({error}): reading continues with \
        one"
        ));
    }
}
