//! Types of columns.

use ichnos::table::arrow_schema::{DataType, TimeUnit};

use crate::duckdb::ColumnType;

/// Returns the type of DuckDB for an Arrow type.
pub(crate) fn column_type(of: &DataType) -> Option<ColumnType> {
    Some(match of {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 => ColumnType::Int64,
        DataType::UInt8 => ColumnType::UInt8,
        DataType::UInt16 => ColumnType::UInt16,
        DataType::UInt32 => ColumnType::UInt32,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Decimal128(digits, _) => ColumnType::Decimal((*digits).max(19)),
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Utf8 | DataType::Dictionary(..) => ColumnType::Text,
        DataType::Binary | DataType::FixedSizeBinary(_) => ColumnType::Blob,
        DataType::Timestamp(TimeUnit::Microsecond, _) => ColumnType::TimestampTz,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => ColumnType::TimestampNs,
        DataType::List(item) => ColumnType::List(Box::new(column_type(item.data_type())?)),
        _ => return None,
    })
}
