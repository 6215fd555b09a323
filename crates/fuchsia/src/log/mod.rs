//! (to be written)

mod argument;
mod attribution;
mod check;
mod container;
mod encoder;
mod error;
mod framing;
mod legacy;
mod message;
mod printf;
mod record;
mod severity;
#[cfg(feature = "std")]
mod splitter;
mod text;
mod word;

pub use argument::{Argument, Arguments, Meaning, Value};
pub use attribution::{ARCHIVIST_URL, Attribution, Control};
pub use check::CheckOptions;
pub use container::Messages;
pub use encoder::{EncodeError, Encoder, Event, MAX_TEXT, RecordEncoder, add_dropped_count};
pub use error::{LogError, Rule};
pub use framing::{Damage, Framer, Framing, Step};
pub use legacy::{Packet, SeverityScale};
pub use message::Message;
pub use printf::{RecordText, Role, Roles};
pub use record::{Known, MAX_RECORD_WORDS, Record};
pub use severity::Severity;
#[cfg(feature = "std")]
pub use splitter::Splitter;
pub use text::{Name, Text};
