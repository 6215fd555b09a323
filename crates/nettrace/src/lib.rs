//! EventPipe's files, `.netperf` and `.nettrace`, which .NET and one-collect write.
#![forbid(unsafe_code)]

mod field;

pub use field::{Field, FieldType, ValueNames};
