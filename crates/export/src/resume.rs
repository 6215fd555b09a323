//! Sinks of text that can go on in the middle of a timeline, so that several threads write its chunks.
//!
//! Each chunk is written by a sink of its own, which does not know what the sinks of the chunks before it
//! wrote. Where its text depends on that, it leaves a [`Fixup`], which is resolved when the text before is
//! complete: with the [state](SinkState) that the sinks before have left.

use ichnos_model::{DataStream, Sink};

/// A place in the text of a chunk that depends on the text of the chunks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup<C> {
    /// Offset in the bytes that the sink wrote.
    pub offset: u64,
    /// How many bytes from there on may have to be left out.
    pub length: u64,
    /// What it depends on.
    pub cause: C,
}

/// What is to be done at a [`Fixup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The text there stays.
    Keep,
    /// The text there is left out.
    Remove,
    /// The chunk has to be written again, by a sink that is resumed with the state of the chunk before.
    Rewrite,
}

/// What the text of a sink depends on of the text before it.
///
/// # For implementations
/// The default is the state before the first message.
pub trait SinkState: Clone + Default + Send {
    /// What a [`Fixup`] depends on.
    type Cause: Send;

    /// Decides what is to be done at a fixup if this is what came before, and appends to `text` what belongs
    /// there besides. What is written there counts as written from now on.
    fn resolve(&mut self, cause: &Self::Cause, text: &mut Vec<u8>) -> Resolution;

    /// The state after a chunk whose fixups were resolved by this one, and whose sink has left `later`.
    #[must_use]
    fn then(self, later: Self) -> Self;
}

/// Each line is complete in itself.
impl SinkState for () {
    type Cause = std::convert::Infallible;

    fn resolve(&mut self, cause: &Self::Cause, _: &mut Vec<u8>) -> Resolution {
        match *cause {}
    }

    fn then(self, (): Self) -> Self {}
}

/// A sink that can go on in the middle of a timeline.
///
/// # For implementations
/// The text of the sinks of all chunks, joined with their fixups resolved, must be the text of one sink that
/// writes everything. A sink where each message stands for itself implements nothing but the state `()`.
pub trait ResumableSink: Sink {
    /// What the text depends on of the text before it.
    type State: SinkState;

    /// Whether [`ResumableSink::resume`] needs the order of data streams; it is empty otherwise.
    const NEEDS_ORDER: bool = false;

    /// Goes on behind messages that other sinks were given: `order` has the data streams that have begun.
    /// Without a state, what they wrote is not known yet: see [`ResumableSink::next_fixup`].
    fn resume(&mut self, order: &StreamOrder, state: Option<Self::State>) {
        let _ = (order, state);
    }

    /// Takes the next place that depends on the text before, in the order of their offsets. Asked for after
    /// each message.
    fn next_fixup(&mut self) -> Option<Fixup<<Self::State as SinkState>::Cause>> {
        None
    }

    /// Whether something was written that may be wrong, where no [`Fixup`] can make it right: then the chunk
    /// is written again.
    fn must_rewrite(&self) -> bool {
        false
    }

    /// What later text depends on. Of a sink that was resumed without a state: as far as it was learnt since.
    fn state(&self) -> Self::State {
        Self::State::default()
    }

    /// Writes out all text, at the end of a chunk that is not the last one.
    ///
    /// # Errors
    /// Those of [`Sink::finish`].
    fn pause(&mut self) -> std::io::Result<()> {
        self.finish()
    }
}

/// Data streams in the order in which they begin in a merge, which is that of its cursors.
#[derive(Clone, Debug, Default)]
pub struct StreamOrder(std::sync::Arc<[Option<StreamRank>]>);

/// Where a data stream stands among the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamRank {
    /// How many data streams begin before it.
    pub(crate) number: u32,
    /// How many traces have a data stream before its trace has one.
    pub(crate) trace: u32,
    /// How many data streams of its trace without an id begin before it.
    pub(crate) without_id: u32,
}

impl StreamOrder {
    /// Of data streams in the order in which they begin.
    pub fn new<'s>(streams: impl IntoIterator<Item = &'s DataStream>) -> Self {
        let mut ranks = Vec::new();
        // By address: traces stay where they are as long as their data streams are there.
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

    pub(crate) fn rank(&self, stream: &DataStream) -> Option<StreamRank> {
        self.0.get(stream.key as usize).copied().flatten()
    }
}
