//! Reads traces (FXT) behind the model of ichnos.
//!
//! | format | model |
//! |---|---|
//! | file | trace |
//! | records of a provider | data stream, of a data stream class of its own |
//! | initialization record | clock of the provider; a change of the clock begins another data stream |
//! | ticks | cycles of the clock |
//! | event: category, name, type, arguments | event record class, created at its first record |
//! | other record: type, arguments | event record class |
//! | process and thread of a record | members `pid` and `tid` of the common context |
//! | names of processes and threads (kernel objects) | members of the [resource](ichnos_model::Scope::Resource) |
//! | words and texts of a record | specific context |
//! | arguments | payload |
//! | flow with a reused id | member `flow_number` of the specific context: a chain |
//! | strings and threads of the tables | resolved when a record is read |
//! | backtrace | call stack of the trace, and a sample |
//! | modules and mappings | symbols of addresses |
//! | event of a provider whose buffer was full | discarded events |
//! | record of an unknown type | event `unknown_record` with its bytes |
//!
//! Scopes are values, but for the data of large BLOBs, which stay in the file.
//!
//! The name of an event record class is `CATEGORY:NAME`, and an ending for types that belong together: `:begin`,
//! `:end`, `:async_begin`, `:flow_step` and so on. Its namespace is the category.
//!
//! Records need not be in the order of time. They are sorted, over 4,096 to 262,144 records of a data stream (2^20 of a
//! file, divided among its data streams), unless the order of the file is wanted; a record that is older than that comes when it is read. Where an index of a table is registered again, records
//! before it are delivered first.

pub(crate) mod class;
mod classes;
mod file;
mod flows;
mod format;
pub(crate) mod index;
pub(crate) mod key;
mod other_records;
mod pending;
mod source;
mod symbols;
mod tables;
mod trace;
mod values;

pub use self::format::Fxt;
pub use self::trace::{FxtOpenError, FxtOptions, FxtTrace};
