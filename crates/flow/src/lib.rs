//! Stages between readers and sinks: [`Merge`] puts the messages of several cursors in order of time,
//! [`pump`] passes them to a sink, a [`Filter`] selects events by an expression, [`in_order`] runs several
//! threads on chunks and joins their results, a [`Pyramid`] summarizes a timeline.
#![forbid(unsafe_code)]

mod chunks;
mod filter;
mod merge;
mod pyramid;
mod running_threads;
mod thread_list;

pub use chunks::{ChunkSender, in_order};
pub use filter::{
    Expression, Filter, FilterError, FilterErrorKind, FilterScope, FilterWarning, KnownName, Selector,
};
pub use merge::{DamageCursor, Merge, pump};
pub use pyramid::{CounterItem, MOST_LANES, Pyramid, SpanItem};
pub use running_threads::RunningThreads;
