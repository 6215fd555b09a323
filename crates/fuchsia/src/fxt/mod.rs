//! Fuchsia trace format (FXT): events, their string and thread tables, and objects.
//!
//! [`Records`] iterates over a file. A [`Record`] borrows its bytes, and [arguments](Arguments) are read on demand.
//! Strings and threads are [references](StringRef) to provider tables. A file reader must keep these tables: a
//! registration is valid for the following records until the same index is registered again.
//!
//! ```
//! use ichnos_fuchsia::fxt::{MAGIC, Record, Records};
//!
//! let words: [u64; 4] = [MAGIC, 0x21, 1_000_000_000, 0x0000_0003_0001_0022];
//! let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
//! file.extend(b"gfx\0\0\0\0\0");
//! let records: Vec<Record> = Records::new(&file).map(|record| record.map(|found| found.record)).collect::<Result<_, _>>().unwrap();
//! assert!(matches!(records[1], Record::Initialization(clock) if clock.ticks_per_second == 1_000_000_000));
//! assert!(matches!(records[2], Record::String(entry) if entry.index == 1 && entry.string == b"gfx"));
//! ```
//!
//! [`RecordWriter`] writes records into a buffer. The calling program must keep the tables.
//!
//! # Errors
//! An [`FxtError`] names the broken rule, its position, and the expected and found values. A record that breaks a
//! [fatal](Rule::is_fatal) rule is unreadable. Only [`Record::check`] reports the other rules. Records with
//! unknown types become [`Record::Unknown`].

mod argument;
mod check;
mod content;
mod error;
mod event;
#[cfg(feature = "reader")]
mod event_words;
mod metadata;
mod object;
mod profiler;
mod record;
mod record_writer;
mod records;
mod reference;
mod scheduling;
#[cfg(feature = "reader")]
mod string_words;
mod table_entry;

#[cfg(feature = "reader")]
pub(crate) use argument::kind as argument_kind;
pub use argument::{Argument, ArgumentValue, Arguments};
#[cfg(feature = "reader")]
pub(crate) use content::bits;
pub use error::{FxtError, Rule};
pub use event::{EventKind, EventRecord};
#[cfg(feature = "reader")]
pub(crate) use event_words::{ArgumentWords, EventWords};
pub use metadata::{BUFFER_FULL, BaseTime, Initialization, MAGIC, MetadataRecord};
pub use object::{Blob, BlobMetadata, KernelObject, LargeBlob, LogMessage, PROCESS, THREAD, UserspaceObject};
pub use profiler::{Backtrace, Module, ModuleMapping, Profiler};
#[cfg(feature = "reader")]
pub(crate) use record::kind as record_kind;
pub use record::{MAX_RECORD_WORDS, Record, UnknownRecord};
pub use record_writer::{EventRecordWriter, MAX_ARGUMENTS, RecordWriter};
#[cfg(feature = "reader")]
pub(crate) use record_writer::{argument_words, write_argument};
pub use records::{LocatedRecord, Records, SkippedBytes, is_big_endian, recognize};
pub use reference::{ProcessRef, StringRef, ThreadRef};
pub use scheduling::{LegacySwitch, Scheduling, Switch, Wakeup};
#[cfg(feature = "reader")]
pub(crate) use string_words::string_at;
pub use table_entry::{StringRecord, ThreadRecord};

pub use crate::log::{EncodeError, MAX_TEXT};
