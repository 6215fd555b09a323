//! Sources: the part of a reader that differs from format to format.
//!
//! A format implements [`Source`]; [`SourceCursor`] makes a cursor of it, [`RecordTrace`] a trace.

pub use crate::message_queue::{MessageQueue, QueuedMessage, StreamLoss};
pub use crate::record::Record;
pub use crate::record_trace::RecordTrace;
pub use crate::source::{NextRecord, Source};
pub use crate::source_cursor::SourceCursor;
