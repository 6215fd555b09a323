//! Converts events to columns: Arrow record batches and Parquet datasets, for queries by other programs.
//! `docs/parquet.md` describes the columns and the files.
//!
//! # From events to files
//! ```text
//! event record class -> TablePlan -> schema
//!                           |
//! events, merged by time -> rows -> TableBatch -> files of a dataset
//! ```
//! 1. **Plan.** [`TablePlan`] is made once for each event record class, from its field classes alone. It lists the
//!    columns, and the columns for the values of each decode plan node. Values have no influence on types: two traces
//!    with the same class have the same columns.
//! 2. **Rows.** The bytes of fields at fixed places are copied, and loaded field by field when the rows become a batch
//!    ([`WordLoads`](ichnos_model::decode::WordLoads)). Texts and arrays go to their columns directly. A visitor adds
//!    the other values. Scopes and fields without a
//!    wanted column are not decoded. No memory is allocated per event, except for growing buffers.
//! 3. **Batches.** After [`BATCH_ROWS`] rows, or about 16 MiB, rows become a record batch. If all waiting rows exceed
//!    64 MiB, all of them become batches. A single row can be larger: its arrays can have up to 256 MiB, and its texts
//!    are extra. At most 512 classes that the trace does not declare have waiting rows.
//! 4. **Dataset.** [`ParquetWriter`] is used like the trace writers. Its output appends batches to the file of their
//!    table.
//!    - Several threads encode files, one thread per file. File contents do not depend on the number of threads.
//!      Batches of up to 64 MiB wait for the threads.
//!    - A file gets an encoder when its rows take 256 KiB. If a trace has very many classes, most have fewer rows.
//!    - Row groups end after 2^20 rows, or when all open row groups take 192 MiB. Files are open only during writes.
//!    - When all encoders take 64 MiB without their rows, the least recently used files are completed. Files with very
//!      many row groups are completed, too. Further rows of these tables go to other files.
//!    - Everything is written to a directory that gets its final name when it is complete.
//! 5. **Arrow IPC.** [`ArrowIpcWriter`] writes the same batches as Arrow IPC, which has one schema. [`BatchOutput`]
//!    passes them to a function. [`OrderedBatches`] keeps the order of events with different columns.
//!
//! The feature `parquet`, on by default, enables datasets. Without it, only small crates of Arrow are built.
//!
//! # Columns
//! | field | type |
//! |---|---|
//! | integer of up to 32 bits | the next larger integer with its sign |
//! | unsigned integer of 33 to 63 bits | `Int64` (64 bits: `UInt64`) |
//! | longer integer | `Decimal128(38, 0)` if all values fit, else `FixedSizeBinary`, most significant byte first, with the metadata [`INTEGER_KEY`] |
//! | enumeration | the number, and a name dictionary in the column `NAME.label` |
//! | bit map | the bits, and a list of names in `NAME.flags` |
//! | boolean, floating-point number | `Boolean`, `Float32`, `Float64` (longer: bytes) |
//! | string, GUID | `Utf8` |
//! | BLOB | `Binary` |
//! | array | `List` (array of structures: one list per member) |
//! | structure, union | its members' columns, `NAME.MEMBER` |
//! | optional, variant | the columns of the field, or of all options, where missing values are null |
//!
//! # Exceptions
//! - Column names differ in more than case, because DuckDB and Spark do not distinguish case. A field gets another name
//!   if its name is taken. This is a loss.
//! - Classes with equal names and different columns or log levels have separate files in one directory.
//! - A clock that goes back leaves events unsorted. The later events of a class are then in another file, which does
//!   not declare a sort order.
//! - A class has at most [`MOST_COLUMNS`] columns with 16 MiB of names, and rows of 1 MiB without variable-length
//!   values. Other fields are a loss.
#![forbid(unsafe_code)]
// Names and columns of datasets are part of the modules that the other outputs need.
#![cfg_attr(not(feature = "parquet"), allow(dead_code))]

#[cfg(feature = "parquet")]
mod append_root;
mod arrow_output;
mod batch_output;
mod block_rows;
mod cell_type;
mod column_values;
mod common_columns;
#[cfg(feature = "parquet")]
mod dataset_names;
#[cfg(feature = "parquet")]
mod encoders;
mod field_targets;
mod field_visitor;
#[cfg(feature = "parquet")]
mod file_encoder;
mod fingerprint;
mod note;
mod ordered_batches;
#[cfg(feature = "parquet")]
mod otel_columns;
#[cfg(feature = "parquet")]
mod otel_dataset;
#[cfg(feature = "parquet")]
mod otel_table;
mod output_parts;
#[cfg(feature = "parquet")]
mod parquet_dataset;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "parquet")]
mod parquet_output;
mod partition;
mod place_columns;
mod record_rows;
mod side_tables;
mod stack_hashes;
mod table_options;
mod table_plan;
mod table_rows;
mod table_worker;
mod validity;

pub use arrow_array;
pub use arrow_output::ArrowIpcWriter;
pub use arrow_schema;
pub use batch_output::BatchOutput;
pub use cell_type::INTEGER_KEY;
pub use common_columns::common_type;
pub use ordered_batches::{OrderedBatches, PlacedBatch};
#[cfg(feature = "parquet")]
pub use otel_dataset::{OtelDataset, OtelLosses};
#[cfg(feature = "parquet")]
pub use parquet_dataset::EVENT_KEY;
#[cfg(feature = "parquet")]
pub use parquet_output::ParquetWriter;
pub use partition::{Partition, PartitionUnit};
pub use record_rows::{RecordRows, RowCell};
pub use side_tables::write_stacks;
pub use table_options::{Projection, TableOptions, TimestampUnit, U64Type, is_otel_layout};
pub use table_plan::{MOST_COLUMNS, PROPERTIES, TablePlan};
pub use table_rows::{BATCH_ROWS, TableBatch, TimeOrder};
