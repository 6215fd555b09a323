//! Fuchsia logs: structured records and legacy packets, in files and streams.
//!
//! A [`Record`] borrows its bytes, and its [arguments](Record::arguments) are read on demand. It has a
//! [text](Record::text), where printf messages are formatted like C's printf. It can be checked against the
//! [rules](Rule). A legacy [`Packet`] is the older form.
//!
//! [`Messages`] iterates over a file, [`Splitter`] reads a stream piece by piece. Both use [`Framer`], which keeps no
//! bytes, so its results can borrow them.
//!
//! [`Encoder`] writes records into a buffer.
//!
//! # Framing
//! Sockets keep datagrams apart, but files do not. So there are two kinds of files:
//! - Consecutive [records](Framing::Records) or [extended records](Framing::ExtendedRecords), which contain their
//!   sizes.
//! - [Datagrams](Framing::Datagrams) of any kind, including legacy packets. Each follows its length in bytes (32 bits,
//!   little-endian). The file has no padding and nothing else.
//!
//! [`Framing::recognize`] recognizes a file by its content.
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
//! let framing = Framing::recognize(file, true).ok_or("no logs")?;
//! for message in Messages::new(file, framing) {
//!     if let Message::Record { record, .. } = message? {
//!         assert_eq!(format!("{} {}", record.severity(), record.text()), "WARN too hot celsius=95.5");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors
//! A [`LogError`] names the broken rule, its position, and the expected and found values. An item that breaks a
//! [fatal](Rule::is_fatal) rule is unreadable. Fuchsia's readers ignore the other rules, so only a check reports them.
//! After [`Damage`], reading resumes at the next readable packet or record.

mod argument;
mod attribution;
mod check;
mod encoder;
mod error;
mod framer;
mod framing;
mod legacy;
mod message;
mod messages;
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
pub use encoder::{EncodeError, Encoder, Event, MAX_TEXT, RecordEncoder, add_dropped_count};
pub use error::{LogError, Rule};
#[cfg(feature = "reader")]
pub(crate) use framer::follows;
pub use framer::{Damage, Framer, FramerStep};
pub use framing::Framing;
pub use legacy::{Packet, SeverityScale};
pub use message::Message;
pub use messages::Messages;
pub use printf::{RecordText, Role, Roles};
pub use record::{KnownArguments, MAX_RECORD_WORDS, Record};
pub use severity::Severity;
#[cfg(feature = "std")]
pub use splitter::Splitter;
pub use text::{Name, Text};
