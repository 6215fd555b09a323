//! Cursors: the messages of a data stream, one after the other.
//!
//! Users get a [`BoxedCursor`] of a trace; readers of formats implement [`Source`](crate::sources::Source) instead.

pub use crate::cursor::{
    BoxedCursor, Checkpoint, Cursor, Drained, ExcludedClasses, MessageHandler, StreamCursor,
};
pub use crate::head::{Head, MessageKind, sort_key};
pub use crate::opened_trace::advance_to;
pub use crate::small_cursor::{Reopen, SharedCursorState, SmallCursor};
