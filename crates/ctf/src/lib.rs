//! The Common Trace Format, 1.8 and 2, for ichnos.
#![forbid(unsafe_code)]

mod event_class;
mod event_header;
mod event_record;
pub mod index;
mod log_role;
mod loss;
mod lttng_index;
mod message_queue;
pub mod metadata;
pub mod packet;
mod packet_check;
pub mod packet_entry;
mod packet_order;
mod packet_times;
pub mod quirks;
mod repeated;
mod resume;
pub mod rule;
mod seek;
mod small_cursor;
pub mod stream;
pub mod stream_input;
pub mod trace;
mod truncated;
