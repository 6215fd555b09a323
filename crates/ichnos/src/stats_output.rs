//! Statistics as an output of a pass.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ichnos_analysis::{PairOptions, PairReader, Pairs, Stats, StatsCollector, StatsOptions};
use ichnos_io::{
    CreateError, JoinResult, Lane, MessageOrder, Output, OutputBlock, Worker, WorkerFlow, WriteReport,
};
use ichnos_model::Message;
use ichnos_model::locks::IgnorePoison as _;

/// Time between two flushes.
const FLUSH: Duration = Duration::from_millis(500);

/// Output that counts events or event pairs. Each worker counts a chunk, and the results are joined in order.
#[derive(Debug)]
pub struct StatsOutput {
    options: Arc<StatsOptions>,
    pairs: Option<Arc<PairOptions>>,
    joined: Mutex<StatsResult>,
}

/// Result of a [`StatsOutput`].
#[derive(Debug)]
#[non_exhaustive]
pub struct StatsResult {
    /// Statistics of all events. With pairs, only of losses.
    pub stats: Stats,
    /// Event pairs.
    pub pairs: Option<Pairs>,
}

/// Data of a block.
enum CountedBlock {
    /// Event records that belong to pairs.
    Records(Vec<u8>),
    /// Statistics of a chunk, or of a part of it.
    Part(Box<Stats>),
}

impl StatsOutput {
    /// Creates an output that counts events, and pairs with these options.
    #[must_use]
    pub fn new(options: &StatsOptions, pairs: Option<&PairOptions>) -> Self {
        let joined = StatsResult { stats: Stats::new(options), pairs: pairs.map(Pairs::new) };
        Self {
            options: Arc::new(options.clone()),
            pairs: pairs.map(|pairs| Arc::new(pairs.clone())),
            joined: Mutex::new(joined),
        }
    }

    /// Calls a function with the result so far.
    pub fn with_result<T>(&self, read: impl FnOnce(&StatsResult) -> T) -> T {
        read(&self.lock())
    }

    /// Returns the result of all joined chunks.
    #[must_use]
    pub fn into_result(self) -> StatsResult {
        self.joined.into_inner().ignore_poison()
    }

    fn lock(&self) -> MutexGuard<'_, StatsResult> {
        self.joined.lock().ignore_poison()
    }
}

impl Output for StatsOutput {
    fn order(&self) -> MessageOrder {
        MessageOrder::Chunks
    }

    fn worker(&self, _: Lane) -> Box<dyn Worker + Send> {
        let stats = Some(StatsCollector::new(Arc::clone(&self.options)));
        let pairs = self.pairs.clone().map(PairReader::new);
        let options = Arc::clone(&self.options);
        Box::new(StatsWorker {
            options,
            stats,
            pairs,
            part: None,
            flushed: Instant::now(),
            is_finished: false,
        })
    }

    fn join(&self, block: OutputBlock) -> io::Result<JoinResult> {
        let counted = block.data.and_then(|data| data.downcast::<CountedBlock>().ok());
        let mut joined = self.lock();
        match counted.map(|counted| *counted) {
            Some(CountedBlock::Records(records)) => {
                joined.pairs.iter_mut().for_each(|pairs| pairs.take(&records));
            }
            Some(CountedBlock::Part(stats)) => joined.stats.merge(*stats),
            None => {}
        }
        Ok(JoinResult::Done)
    }

    fn finish(self: Box<Self>) -> Result<WriteReport, CreateError> {
        Ok(WriteReport::default())
    }
}

/// Worker that counts the events of a chunk.
struct StatsWorker {
    options: Arc<StatsOptions>,
    /// `None` after the last block was taken.
    stats: Option<StatsCollector>,
    pairs: Option<PairReader>,
    /// Statistics that were flushed.
    part: Option<Box<Stats>>,
    /// Time of the last flush.
    flushed: Instant,
    is_finished: bool,
}

impl Worker for StatsWorker {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        let counts = self.pairs.is_none() || !matches!(message, Message::Event(_));
        if let (true, Some(stats)) = (counts, &mut self.stats) {
            stats.message(message);
        }
        let is_full = self.pairs.as_mut().is_some_and(|pairs| pairs.message(message));
        Ok(if is_full { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let records = self.pairs.as_mut().map(PairReader::take_records).filter(|records| !records.is_empty());
        let counted = match records {
            Some(records) => CountedBlock::Records(records),
            None if self.part.is_some() => CountedBlock::Part(self.part.take()?),
            None if self.is_finished => {
                let mut stats = self.stats.take()?.finish();
                if let Some(pairs) = &mut self.pairs {
                    stats.add_known_fields(pairs.take_known_fields());
                }
                CountedBlock::Part(Box::new(stats))
            }
            None => return None,
        };
        Some(OutputBlock { data: Some(Box::new(counted)), ..OutputBlock::default() })
    }

    /// Passes on the statistics so far, but not too often.
    fn flush(&mut self) -> io::Result<()> {
        if self.flushed.elapsed() >= FLUSH {
            self.flushed = Instant::now();
            let stats = self.stats.replace(StatsCollector::new(Arc::clone(&self.options)));
            self.part = stats.map(|stats| Box::new(stats.finish()));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.is_finished = true;
        Ok(())
    }
}
