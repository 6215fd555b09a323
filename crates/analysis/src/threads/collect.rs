//! Collects thread states.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io;
use std::ops::ControlFlow;

use ichnos_model::{DataStream, Message, Sink};

use super::path::{PathOptions, StatePath};
use super::report::{ProcessorUse, ThreadReport, ThreadUse, ThreadWait};
use super::waker::Waker;
use crate::events::{StateInterval, ThreadNames, ThreadState, ThreadStateReader, ThreadWaker};

/// Options for a [`ThreadCollector`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ThreadOptions {
    /// Number of longest waits.
    pub waits: usize,
    /// Maximum number of threads with separate times. Further threads are summed.
    pub threads: usize,
    /// Critical path to find.
    pub path: Option<PathOptions>,
}

impl Default for ThreadOptions {
    fn default() -> Self {
        Self { waits: 10, threads: 1 << 16, path: None }
    }
}

/// Wait, ordered by length. Of equal lengths, the earlier wait is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LongWait {
    length: u64,
    order: Reverse<(u64, u32, u64)>,
    /// Thread names at the end of the wait. The thread number can be reused later.
    names: ThreadNames,
    waker_names: Option<ThreadNames>,
    wait: WaitCause,
}

/// State, span and waker of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WaitCause {
    state: ThreadState,
    reason: Option<u32>,
    /// `Ok` for a thread, `Err` for an interrupt.
    waker: Option<Result<u64, Option<u32>>>,
}

/// Times for a thread.
#[derive(Debug, Default)]
struct ThreadTimes {
    first: u64,
    times: [u64; ThreadState::ALL.len()],
    switches: u64,
    waits: u64,
}

/// Collector of all thread states, in bounded memory.
///
/// ```
/// use ichnos_export::text::Paint;
/// use ichnos_analysis::{ThreadCollector, ThreadOptions};
///
/// let collector = ThreadCollector::new(ThreadOptions::default());
/// // It takes messages here.
/// let report = collector.finish();
/// assert!(!report.has_switches());
/// ```
#[derive(Debug)]
pub struct ThreadCollector {
    reader: ThreadStateReader,
    intervals: ThreadIntervals,
}

/// Sums and longest waits of the intervals so far.
#[derive(Debug)]
struct ThreadIntervals {
    options: ThreadOptions,
    threads: HashMap<(u32, u64), ThreadTimes>,
    /// Sum of the threads beyond the maximum.
    others: ThreadTimes,
    processors: BTreeMap<(u32, Option<u64>), u64>,
    waits: BinaryHeap<Reverse<LongWait>>,
    path: Option<StatePath>,
    /// Intervals that ended with the last message. They are named after the message was taken.
    ended: Vec<StateInterval>,
}

impl ThreadCollector {
    /// Creates a collector for messages from the start of the traces.
    #[must_use]
    pub fn new(options: ThreadOptions) -> Self {
        let intervals = ThreadIntervals {
            options,
            threads: HashMap::new(),
            others: ThreadTimes::default(),
            processors: BTreeMap::new(),
            waits: BinaryHeap::new(),
            path: options.path.map(StatePath::new),
            ended: Vec::new(),
        };
        Self { reader: ThreadStateReader::new(), intervals }
    }

    /// Numbers the traces of these data streams in this order. Other traces are numbered by their first event.
    pub fn number_streams<'s>(&mut self, streams: impl IntoIterator<Item = &'s DataStream>) {
        self.reader.number_streams(streams);
    }

    /// Returns the report.
    #[must_use]
    pub fn finish(mut self) -> ThreadReport {
        let Self { reader, intervals } = &mut self;
        reader.finish(&mut |interval| intervals.ended.push(*interval));
        intervals.take(reader);
        self.report()
    }

    fn report(self) -> ThreadReport {
        let Self { reader, intervals } = self;
        let ThreadIntervals { threads, others, mut processors, waits, path, .. } = intervals;
        for idle in reader.processors() {
            processors.entry(idle).or_default();
        }
        let describe = |trace, thread| reader.describe(trace, thread);
        let mut threads: Vec<ThreadUse> = threads
            .into_iter()
            .map(|((trace, thread), times)| ThreadUse {
                trace,
                thread,
                names: describe(trace, thread),
                first: times.first,
                times: times.times,
                switches: times.switches,
                waits: times.waits,
            })
            .collect();
        let key = |thread: &ThreadUse| (Reverse(thread.times), thread.trace, thread.thread);
        threads.sort_by_key(key);
        let mut waits: Vec<_> = waits.into_iter().map(|Reverse(wait)| wait).collect();
        waits.sort_by(|a, b| b.cmp(a));
        let text = |number: u32| reader.name(number).to_owned();
        let waits = waits.into_iter().map(|wait| {
            let LongWait { length, order: Reverse((begin, trace, thread)), names, waker_names, wait } = wait;
            let waker = wait.waker.map(|waker| match waker {
                Ok(thread) => Waker::Thread(thread, waker_names.unwrap_or_default()),
                Err(name) => Waker::Interrupt(name.map(text)),
            });
            let reason = wait.reason.map(text);
            ThreadWait { trace, thread, names, begin, end: begin + length, state: wait.state, reason, waker }
        });
        ThreadReport {
            range: reader.range(),
            has_switches: reader.has_switches(),
            waits: waits.collect(),
            threads,
            others: others.times,
            processors: processors
                .into_iter()
                .map(|((trace, processor), used)| ProcessorUse { trace, processor, used })
                .collect(),
            path: path.map(|path| path.find(&reader)),
        }
    }
}

impl Sink for ThreadCollector {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        let Self { reader, intervals } = self;
        reader.take(message, &mut |interval| intervals.ended.push(*interval));
        if !intervals.ended.is_empty() {
            intervals.take(reader);
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl ThreadIntervals {
    /// Takes the intervals that have ended.
    fn take(&mut self, reader: &ThreadStateReader) {
        let mut ended = std::mem::take(&mut self.ended);
        ended.drain(..).for_each(|interval| self.add(&interval, reader));
        self.ended = ended;
    }

    fn add(&mut self, interval: &StateInterval, reader: &ThreadStateReader) {
        let StateInterval { trace, thread, begin, end, state, processor, .. } = *interval;
        let length = end - begin;
        let is_full = self.threads.len() >= self.options.threads;
        let times = match self.threads.get_mut(&(trace, thread)) {
            Some(times) => times,
            None if is_full => &mut self.others,
            None => self
                .threads
                .entry((trace, thread))
                .or_insert(ThreadTimes { first: begin, ..ThreadTimes::default() }),
        };
        if let Some(time) = times.times.get_mut(state as usize) {
            *time = time.saturating_add(length);
        }
        match state {
            ThreadState::Running => {
                times.switches += 1;
                let used = self.processors.entry((trace, processor)).or_default();
                *used = used.saturating_add(length);
            }
            state if state.is_wait() => times.waits += 1,
            _ => {}
        }
        if state.is_wait() && !interval.is_open {
            self.add_wait(interval, reader);
        }
        if let Some(path) = &mut self.path {
            path.add(interval, reader);
        }
    }

    /// Keeps a wait if it is among the longest.
    fn add_wait(&mut self, interval: &StateInterval, reader: &ThreadStateReader) {
        let StateInterval { trace, thread, begin, end, state, reason, waker, .. } = *interval;
        let length = end - begin;
        let is_long = self.waits.peek().is_none_or(|Reverse(least)| length > least.length);
        if self.options.waits == 0 || !is_long && self.waits.len() >= self.options.waits {
            return;
        }
        if self.waits.len() >= self.options.waits {
            self.waits.pop();
        }
        let (waker, waker_names) = match waker {
            Some(ThreadWaker::Thread(waker)) => (Some(Ok(waker)), Some(reader.describe(trace, waker))),
            Some(ThreadWaker::Interrupt(name)) => (Some(Err(name)), None),
            None => (None, None),
        };
        self.waits.push(Reverse(LongWait {
            length,
            order: Reverse((begin, trace, thread)),
            names: reader.describe(trace, thread),
            waker_names,
            wait: WaitCause { state, reason, waker },
        }));
    }
}
