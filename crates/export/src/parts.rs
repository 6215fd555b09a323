//! Building blocks for text sinks in other crates. A crate can thus read a text format and also write it with a sink.

pub use crate::event_stacks::EventStacks;
pub use crate::json_fields::{FieldWriter, Keys, Scratch};
pub use crate::number::{four_digits, nanoseconds, write_id};
pub use crate::property::{emf_uri, has_plain_field, log_level_name, log_level_number};
pub use crate::repeated::Repeated;
pub use crate::resume::StreamRank;
pub use crate::text_buffer::{Failures, TextBuffer};
pub use crate::time::{TimeWriter, has_dates};
