//! The Common Trace Format, 1.8 and 2, for ichnos.
//!
//! [`Ctf`] is the format. [`metadata`] parses trace metadata in any dialect into a
//! [`TraceClass`](ichnos_model::TraceClass). [`trace`] opens traces and finds their packets ([`packet`],
//! [`packet_entry`]). [`source`] reads a data stream. [`live`] reads traces while they are recorded. [`rule`] lists the
//! CTF rules that data can break. [`quirks`] lists known tracer bugs with workarounds.
//!
//! | ichnos | CTF |
//! |---|---|
//! | data stream | data stream: all packets with the same class and id, from any number of files |
//! | packet | packet |
//! | clock | clock class. The data stream class's default clock orders events |
//! | event record class | event record class |
#![forbid(unsafe_code)]

mod class_additions;
mod ctf_options;
mod data_limits;
mod dump;
mod event_class;
mod event_header;
mod event_order;
mod event_scanner;
mod format;
mod index;
mod known_events;
mod late_begin;
pub mod live;
mod log_role;
mod loss;
mod lost_files;
mod lttng_index;
pub mod metadata;
mod metadata_directory;
mod overwritten;
pub mod packet;
mod packet_check;
pub mod packet_entry;
mod packet_order;
mod packet_reader;
mod packet_times;
pub mod quirks;
mod repeated;
mod resume;
pub mod rule;
mod seek;
pub mod source;
mod stack_file;
mod stream_builder;
pub mod stream_input;
mod stream_range;
#[cfg(test)]
mod test_stream;
pub mod trace;
mod writer;

pub use format::Ctf;
pub use writer::CtfWriter;
