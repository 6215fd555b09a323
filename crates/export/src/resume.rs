//! Text sinks that can resume in the middle of a timeline, so that several threads write its chunks.
//!
//! Each chunk has its own sink, which does not know the text of earlier chunks. If its text depends on earlier text,
//! the sink leaves a [`Fixup`]. It is resolved when the earlier text is complete, with the [state](SinkState) of the
//! earlier sinks.

use ichnos_model::{DataStream, Sink};

use crate::null_statistics::NullStatistics;

/// Place in a chunk's text that depends on earlier text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup<C> {
    /// Offset in the bytes that the sink wrote.
    pub offset: u64,
    /// Number of bytes after the offset that can be removed.
    pub length: u64,
    /// Data for the resolution.
    pub cause: C,
}

/// Action at a [`Fixup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Keep the text.
    Keep,
    /// Remove the text.
    Remove,
    /// Write the chunk again, by a sink that is resumed with the state of the previous chunk.
    Rewrite,
}

/// Sink state that later text depends on.
///
/// # For implementations
/// The default is the state before the first message.
pub trait SinkState: Clone + Default + Send {
    /// Data for the resolution of a [`Fixup`].
    type Cause: Send;

    /// Returns the action at a fixup after this state, and appends the text to insert there to `text`. The inserted
    /// text counts as written afterwards.
    fn resolve(&mut self, cause: &Self::Cause, text: &mut Vec<u8>) -> Resolution;

    /// Returns the state after a chunk whose fixups were resolved with `self`, and whose sink left `later`.
    #[must_use]
    fn then(self, later: Self) -> Self;
}

/// State of sinks whose lines are independent.
impl SinkState for () {
    type Cause = std::convert::Infallible;

    fn resolve(&mut self, cause: &Self::Cause, _: &mut Vec<u8>) -> Resolution {
        match *cause {}
    }

    fn then(self, (): Self) -> Self {}
}

/// Sink that can resume in the middle of a timeline.
///
/// # For implementations
/// The text of the sinks of all chunks, joined with their fixups resolved, must equal the text of a single sink. A
/// sink with independent messages implements only the state `()`.
pub trait ResumableSink: Sink {
    /// State that later text depends on.
    type State: SinkState;

    /// `true` if [`ResumableSink::resume`] needs the order of data streams. Otherwise the order is empty.
    const NEEDS_ORDER: bool = false;

    /// Resumes after messages that other sinks received. `order` contains the data streams that have started. Without
    /// a state, their text is not known yet: see [`ResumableSink::next_fixup`].
    fn resume(&mut self, order: &StreamOrder, state: Option<Self::State>) {
        let _ = (order, state);
    }

    /// Takes the next fixup, sorted by offset. It is called after each message.
    fn next_fixup(&mut self) -> Option<Fixup<<Self::State as SinkState>::Cause>> {
        None
    }

    /// Returns `true` if the text can be wrong and a [`Fixup`] cannot correct it, so that the chunk must be written
    /// again.
    fn must_rewrite(&self) -> bool {
        false
    }

    /// Returns the state that later text depends on. For a sink that was resumed without a state, this is the part
    /// known since then.
    fn state(&self) -> Self::State {
        Self::State::default()
    }

    /// Returns the counts of a sink that writes nothing.
    fn statistics(&self) -> Option<NullStatistics> {
        None
    }

    /// Writes all text at the end of a chunk, except the last chunk.
    ///
    /// # Errors
    /// Errors of [`Sink::finish`].
    fn pause(&mut self) -> std::io::Result<()> {
        self.finish()
    }
}

/// Data streams in their start order in a merge, which is its cursor order.
#[derive(Clone, Debug, Default)]
pub struct StreamOrder(std::sync::Arc<[Option<StreamRank>]>);

/// Position of a data stream in the start order.
#[derive(Clone, Copy, Debug)]
pub struct StreamRank {
    /// Number of data streams that start before it.
    pub number: u32,
    /// Number of traces whose first data stream starts before the first of its own trace.
    pub(crate) trace: u32,
    /// Number of data streams in its trace that lack an id and start before it.
    pub(crate) without_id: u32,
}

impl StreamOrder {
    /// Creates the order from data streams in start order.
    pub fn new<'s>(streams: impl IntoIterator<Item = &'s DataStream>) -> Self {
        let mut ranks = Vec::new();
        // By address, which is constant while the trace has data streams.
        let mut traces = std::collections::HashMap::new();
        for (number, stream) in (0..).zip(streams) {
            let next = traces.len() as u32;
            let address = std::sync::Arc::as_ptr(&stream.trace).addr();
            let (trace, without_id) = traces.entry(address).or_insert((next, 0));
            let key = stream.key as usize;
            if ranks.len() <= key {
                ranks.resize(key + 1, None);
            }
            ranks[key] = Some(StreamRank { number, trace: *trace, without_id: *without_id });
            *without_id += u32::from(stream.id.is_none());
        }
        Self(ranks.into())
    }

    /// Returns the position of a data stream, if known.
    #[must_use]
    pub fn rank(&self, stream: &DataStream) -> Option<StreamRank> {
        self.0.get(stream.key as usize).copied().flatten()
    }
}
