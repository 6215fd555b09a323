//! Logs: structured records, legacy packets, and files and streams of them.
//!
//! A [`Record`] is borrowed from where it lies; its [arguments](Record::arguments) are read when they are
//! asked for. It says its [text](Record::text) - for messages of printf, as C's printf writes it -, and
//! which [rules](Rule) it breaks. A legacy [`Packet`] is the same for what was there before.
//!
//! [`Messages`] are those of a file, [`Splitter`] takes a stream in pieces, and [`Framer`] is what both are
//! made of: it keeps no bytes, so that what a reader finds can be borrowed.
//!
//! [`Encoder`] writes records into a buffer.
//!
//! # Framing
//! Sockets keep datagrams apart, files do not. So there are two kinds of files:
//! - [records](Framing::Records), one behind the other (or [extended ones](Framing::ExtendedRecords)): they
//!   say their own sizes;
//! - [datagrams](Framing::Datagrams) of any kind, legacy packets among them, each with its length in bytes
//!   before it: 32 bits, little-endian. Nothing is padded, and there is nothing else in the file.
//!
//! [`Framing::recognise`] says from the content what a file is.
//!
//! ```
//! use ichnos_fuchsia::log::{Encoder, Event, Framing, Message, Messages, Severity};
//!
//! let mut file = [0; 256];
//! let mut encoder = Encoder::new(&mut file);
//! let severity = Severity::Warn.raw();
//! let event = Event { timestamp: 72, severity, message: Some("too hot"), ..Event::default() };
//! encoder.event(&Event { arguments: &[("celsius", 95.5.into())], ..event })?;
//!
//! let file = encoder.written();
//! let framing = Framing::recognise(file, true).ok_or("no logs")?;
//! for message in Messages::new(file, framing) {
//!     if let Message::Record { record, .. } = message? {
//!         assert_eq!(format!("{} {}", record.severity(), record.text()), "WARN too hot celsius=95.5");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//! A [`LogError`] names the rule that is broken, where, and what was expected and found there. Some rules
//! are [fatal](Rule::is_fatal) to what breaks them; the others are only reported by a check, as readers of
//! Fuchsia do not mind. After [`Damage`], reading resumes at the next packet or record that can be read.

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
mod proof;
mod record;
mod severity;
#[cfg(feature = "std")]
mod splitter;
mod text;
mod unit;
pub(crate) mod word;

#[cfg(feature = "reader")]
pub(crate) use argument::kind;
pub use argument::{Argument, Arguments, Meaning, Value};
pub use attribution::{ARCHIVIST_URL, Attribution, Control};
pub use check::CheckOptions;
pub use container::Messages;
pub use encoder::{EncodeError, Encoder, Event, MAX_TEXT, RecordEncoder, add_dropped_count};
pub use error::{LogError, Rule};
#[cfg(feature = "reader")]
pub(crate) use framing::follows;
pub use framing::{Damage, Framer, Framing, Step};
pub use legacy::{Packet, SeverityScale};
pub use message::Message;
pub use printf::{RecordText, Role, Roles};
pub use record::{Known, MAX_RECORD_WORDS, Record};
pub use severity::Severity;
#[cfg(feature = "std")]
pub use splitter::Splitter;
pub use text::{Name, Text};
