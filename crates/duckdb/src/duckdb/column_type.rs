//! Column types.

use libduckdb_sys as ffi;

/// Type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    /// Decimal with this number of digits, at least 19, stored in 128 bits.
    Decimal(u8),
    Float32,
    Float64,
    Text,
    Blob,
    /// Microseconds since 1970 in UTC.
    TimestampTz,
    /// Nanoseconds since 1970.
    TimestampNs,
    List(Box<ColumnType>),
}

/// Owned type of DuckDB.
pub(crate) struct LogicalType(ffi::duckdb_logical_type);

impl LogicalType {
    /// Returns the type of parameters that take any value.
    pub(crate) fn any() -> Self {
        Self::plain(ffi::DUCKDB_TYPE_DUCKDB_TYPE_ANY)
    }

    fn plain(id: ffi::DUCKDB_TYPE) -> Self {
        // SAFETY: all numbers are valid.
        Self(unsafe { ffi::duckdb_create_logical_type(id) })
    }

    pub(crate) fn raw(&self) -> ffi::duckdb_logical_type {
        self.0
    }
}

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: the type is destroyed once.
        unsafe { ffi::duckdb_destroy_logical_type(&raw mut self.0) };
    }
}

impl ColumnType {
    /// Returns the size of an integer in bytes, `None` for other types.
    pub(crate) fn width(&self) -> Option<usize> {
        Some(match self {
            Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 => 4,
            Self::Int64 | Self::UInt64 => 8,
            Self::Decimal(_) => 16,
            _ => return None,
        })
    }

    /// Returns the type of DuckDB.
    pub(crate) fn logical(&self) -> LogicalType {
        LogicalType::plain(match self {
            Self::Boolean => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
            Self::Int8 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT,
            Self::Int16 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT,
            Self::Int32 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
            Self::Int64 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
            Self::UInt8 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT,
            Self::UInt16 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT,
            Self::UInt32 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER,
            Self::UInt64 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT,
            Self::Float32 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT,
            Self::Float64 => ffi::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
            Self::Text => ffi::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
            Self::Blob => ffi::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
            Self::TimestampTz => ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ,
            Self::TimestampNs => ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS,
            Self::Decimal(digits) => {
                // SAFETY: there are 19 to 38 digits.
                return LogicalType(unsafe { ffi::duckdb_create_decimal_type((*digits).clamp(19, 38), 0) });
            }
            Self::List(item) => {
                let item = item.logical();
                // SAFETY: the item type is valid, and DuckDB copies it.
                return LogicalType(unsafe { ffi::duckdb_create_list_type(item.raw()) });
            }
        })
    }
}
