//! Reads Fuchsia traces (FXT) into the ichnos model.
//!
//! | format | model |
//! |---|---|
//! | file | trace |
//! | records of a provider | data stream, with its own data stream class |
//! | initialization record | provider clock. A clock change starts another data stream |
//! | ticks | clock cycles |
//! | event: category, name, type, arguments | event record class, created at its first record |
//! | other record: type, arguments | event record class |
//! | process and thread of a record | members `pid` and `tid` of the common context |
//! | process and thread names (kernel objects) | members of the [resource](ichnos_model::Scope::Resource) |
//! | words and texts of a record | specific context |
//! | arguments | payload |
//! | flow with a reused id | member `flow_number` of the specific context: a chain |
//! | string and thread tables | resolved when a record is read |
//! | backtrace | call stack of the trace, and a sample |
//! | modules and mappings | address symbols |
//! | provider event for a full buffer | discarded events |
//! | record with an unknown type | event `unknown_record` with its bytes |
//!
//! Scopes contain copied values. Only the data of large BLOBs stays in the file.
//!
//! An event record class is named `CATEGORY:NAME`. Event types that belong together add a suffix such as `:begin`,
//! `:end`, `:async_begin` or `:flow_step`. The namespace of the class is the category.
//!
//! Records in a file need not be sorted by time. The reader sorts them over a window of 4,096 to 262,144 records for
//! each data stream (2^20 for a file, divided among its data streams), unless file order is requested. A record that is
//! older than the window is delivered when it is read. When a table index is registered again, all earlier records are
//! delivered first.

pub(crate) mod class;
mod classes;
mod file;
mod flows;
mod format;
pub(crate) mod index;
pub(crate) mod key;
mod listed_threads;
mod other_records;
mod pending;
mod source;
mod symbols;
mod tables;
mod trace;
mod values;

pub use self::format::Fxt;
pub use self::trace::{FxtOpenError, FxtOptions, FxtTrace};
