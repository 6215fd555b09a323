//! Events: the delivered ones, and those made of values.

pub use crate::class_list::ClassList;
pub use crate::cost::Cost;
pub use crate::event::{Event, Packet, Scopes};
pub use crate::event_builder::{BuildError, EventBuilder};
pub use crate::event_class_table::EventClassTable;
pub use crate::event_counts::EventCounts;
pub use crate::event_values::{EventValues, ValuesMark};
pub use crate::stream_table::StreamTable;
pub use crate::value_cache::ValueCache;
