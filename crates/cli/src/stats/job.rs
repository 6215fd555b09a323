//! Counting on several threads: each counts the events of chunks, and the results are joined in order.

use std::io;
use std::ops::ControlFlow;

use ichnos::Merged;
use ichnos::export::{Null, PairOptions, PairReader, Pairs, Stats, StatsCollector, StatsOptions};
use ichnos::model::Message;
use ichnos::render::{ChunkTarget, NotesOf, RenderJob, RenderObserver, RenderOptions, WriterOf};

use crate::damage;
use crate::interrupt;
use crate::outcome::Ended;
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
pub(super) struct Counted {
    stats: Stats,
    known_fields: Vec<String>,
    events: u64,
    damages: u64,
    ended: Ended,
}

/// Number of events between two periodic checks.
const STRIDE: u32 = 256;

impl RenderJob for StatsJob {
    // Nothing is written.
    type Sink = Null;
    type Note = Note;
    type Outcome = Counted;
    type Observer = Follower;

    fn sink(&self, _: WriterOf<Self>, _: NotesOf<Self>) -> Null {
        Null::new()
    }

    fn run(&self, cursor: &mut Merged, target: &mut ChunkTarget<'_, Self>) -> io::Result<Counted> {
        let mut pass = Pass {
            job: self,
            selection: self.selection.clone(),
            stats: StatsCollector::new(&self.options),
            pairs: self.pairs.as_ref().map(PairReader::new),
            target,
            left: STRIDE,
            events: 0,
            damages: 0,
            ended: Ended::Over,
        };
        cursor.drain_all(&mut |message| pass.take(message));
        let Pass { stats, pairs, target, events, damages, ended, .. } = pass;
        let mut known_fields = Vec::new();
        if let Some(mut pairs) = pairs {
            known_fields.extend(pairs.known_fields().map(str::to_owned));
            target.note(Note::Records(pairs.take_records()));
        }
        Ok(Counted { stats: stats.finish(), known_fields, events, damages, ended })
    }
}

/// A pass over a chunk.
struct Pass<'p, 't> {
    job: &'p StatsJob,
    selection: Selection,
    stats: StatsCollector<'p>,
    pairs: Option<PairReader<'p>>,
    target: &'p mut ChunkTarget<'t, StatsJob>,
    /// Number of events until the next periodic check.
    left: u32,
    events: u64,
    damages: u64,
    ended: Ended,
}

impl Pass<'_, '_> {
    #[inline]
    fn take(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        let is_event = matches!(message, Message::Event(_));
        if !is_event || self.left == 0 {
            self.look(message)?;
        }
        if !self.selection.wants(message) {
            return ControlFlow::Continue(());
        }
        if is_event {
            self.left -= 1;
            self.events += 1;
        }
        match &mut self.pairs {
            None => self.stats.message(message),
            Some(pairs) => {
                if !is_event {
                    self.stats.message(message);
                }
                if pairs.message(message) {
                    self.target.note(Note::Records(pairs.take_records()));
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Performs the periodic checks.
    #[inline(never)]
    fn look(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        self.target.step(message, STRIDE - self.left);
        self.left = STRIDE;
        // Live input has no other end.
        if interrupt::is_requested() && !self.job.is_live {
            self.ended = Ended::Interrupted;
            return ControlFlow::Break(());
        }
        if let Message::Damage(found) = message
            && self.selection.wants(message)
        {
            if self.job.strict {
                self.ended = Ended::Refused(damage::line(found));
                return ControlFlow::Break(());
            }
            self.damages += 1;
            self.target.note(Note::Damage(damage::line(found)));
        }
        ControlFlow::Continue(())
    }
}

/// Joins the results.
pub(super) struct Follower {
    pub(super) progress: Progress,
    report: Report,
    pub(super) stats: Stats,
    pub(super) pairs: Option<Pairs>,
    pub(super) known_fields: Vec<String>,
    pub(super) events: u64,
    pub(super) damages: u64,
    pub(super) ended: Ended,
}

impl Follower {
    pub(super) fn new(job: &StatsJob, progress: Progress, report: Report) -> Self {
        Self {
            progress,
            report,
            stats: Stats::new(&job.options),
            pairs: job.pairs.as_ref().map(Pairs::new),
            known_fields: Vec::new(),
            events: 0,
            damages: 0,
            ended: Ended::Over,
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

    fn end_chunk(&mut self, counted: Counted, until: Option<i128>, was_stepped: bool) -> bool {
        if !was_stepped {
            self.progress.add(until, counted.events);
        }
        self.stats.merge(counted.stats);
        for name in counted.known_fields {
            if !self.known_fields.contains(&name) {
                self.known_fields.push(name);
            }
        }
        self.events += counted.events;
        self.damages += counted.damages;
        self.ended = counted.ended;
        matches!(self.ended, Ended::Over)
    }

    fn without_threads(&mut self, error: io::Error) {
        self.report.note(&format!(
            "the system refuses further threads ({error}): reading continues with \
        one"
        ));
    }
}
