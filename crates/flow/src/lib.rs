//! Stages between readers and sinks: [`Merge`] sorts messages from several cursors by time, [`LiveMerge`] does so while they
//! arrive, [`pump`] passes them to a
//! sink, [`in_order`] runs several threads on chunks and joins their results, [`with_running_threads`] adds the running
//! thread to events, and [`with_call_chains`] their call stacks.
#![forbid(unsafe_code)]

mod call_chains;
mod chunks;
mod live_merge;
mod merge;
mod running_threads;
mod thread_list;

pub use call_chains::with_call_chains;
pub use chunks::{ChunkItems, ChunkSender, in_order};
pub use live_merge::LiveMerge;
pub use merge::{DamageCursor, Merge, pump};
pub use running_threads::with_running_threads;
