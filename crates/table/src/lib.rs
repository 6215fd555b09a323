//! Events as columns: record batches of Arrow, and datasets of Parquet, which other programs query. `docs/parquet.md`
//! describes the columns and the files.
//!
//! # From events to files
//! ```text
//! event record class -> TablePlan -> schema
//!                           |
//! events, merged by time -> rows -> TableBatch -> files of a dataset
//! ```
//! 1. **Plan.** [`TablePlan`] is made once for each event record class, from its field classes alone. It lists the
//!    columns and has, for each node of a decode plan, the columns that receive its values. Values have no influence on
//!    types: two traces with the same class have the same columns.
//! 2. **Rows.** Numbers at fixed places are loaded into columns directly
//!    ([`WordLoads`](ichnos_model::decode::WordLoads)), and a visitor adds the other values. Scopes and fields without a
//!    wanted column are not decoded. Nothing is allocated for an event, but for buffers that grow.
//! 3. **Batches.** After [`BATCH_ROWS`] rows, or about 16 MiB, rows become a record batch. If all rows that wait have more
//!    than 64 MiB, all of them become batches. A row can have more, as arrays with up to 256 MiB and texts.
//!    Of classes that the trace does not declare, 512 have rows that wait.
//! 4. **Dataset.** [`ParquetWriter`] is a writer like those of traces: its output appends batches to the file of their
//!    table. Several threads encode files, each file on one of them; what is in a file does not depend on their number.
//!    Batches of up to 64 MiB wait for them. A file gets an encoder when its rows take 256 KiB, as most of very many
//!    classes have fewer. Row groups end after 2^20 rows, or when all that are open take 192 MiB. Files are open only
//!    while bytes are written. When all encoders take 64 MiB without their rows, the files that were not used for the
//!    longest time are completed: further rows of these tables are in other files. So is a file with very many row
//!    groups. Everything is written into a directory that gets its name when it is complete.
//! 5. **Arrow IPC.** [`ArrowIpcWriter`] passes the same batches on as Arrow IPC, which has one schema;
//!    [`BatchOutput`] passes them to a function.
//!
//! # Columns
//! | field | type |
//! |---|---|
//! | integer of up to 32 bits | the next larger integer of its sign |
//! | unsigned integer of 33 to 63 bits | `Int64`; of 64 bits `UInt64` |
//! | longer integer | `Decimal128(38, 0)` if all values fit, else `FixedSizeBinary`, most significant byte first |
//! | enumeration | the number, and a dictionary of names in the column `NAME.label` |
//! | bit map | the bits, and a list of names in `NAME.flags` |
//! | boolean, floating-point number | `Boolean`, `Float32`, `Float64`; longer ones as bytes |
//! | string, GUID | `Utf8` |
//! | BLOB | `Binary` |
//! | array | `List`; of structures: a list for each member |
//! | structure, union | the columns of its members, `NAME.MEMBER` |
//! | optional, variant | the columns of the field, or of all options, where missing values are null |
//!
//! # Exceptions
//! - Names of columns differ in more than case, because DuckDB and Spark do not distinguish it. A field whose name is
//!   taken gets another one, which is a loss.
//! - Classes with the same name and different columns or log levels have a file each in the same directory.
//! - If events of a class are not in order of time, because a clock went back, they are in a further file that does not
//!   declare an order.
//! - A class has at most [`MOST_COLUMNS`] columns with 16 MiB of names, and rows of 1 MiB without values of variable
//!   length. Further fields are a loss.
#![forbid(unsafe_code)]

mod append_root;
mod arrow_output;
mod batch_output;
mod cell_type;
mod column_values;
mod dataset_names;
mod encoders;
mod field_visitor;
mod file_encoder;
mod fingerprint;
mod note;
mod output_parts;
mod parquet_dataset;
mod parquet_file;
mod parquet_output;
mod place_columns;
mod side_tables;
mod stack_hashes;
mod table_options;
mod table_plan;
mod table_rows;
mod table_worker;
mod validity;

pub use arrow_output::ArrowIpcWriter;
pub use batch_output::BatchOutput;
pub use parquet_dataset::EVENT_KEY;
pub use parquet_output::ParquetWriter;
pub use table_options::{Projection, TableOptions, TimestampUnit, U64Type};
pub use table_plan::{MOST_COLUMNS, PROPERTIES, TablePlan};
pub use table_rows::{BATCH_ROWS, TableBatch, TimeOrder};
