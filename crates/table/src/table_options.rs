//! Table options.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::TimeUnit;
use ichnos_io::{FormatOption, FormatOptions, OptionValue};

use crate::partition::PartitionUnit;

/// Option names.
pub(crate) const FIELDS: &str = "fields";
pub(crate) const TIMESTAMPS: &str = "timestamps";
pub(crate) const U64_TYPE: &str = "u64-type";
pub(crate) const APPEND: &str = "append";
const LAYOUT: &str = "layout";
const PARTITION: &str = "partition";

/// Options for all outputs with columns, and for datasets.
pub(crate) static OPTIONS: [FormatOption; 6] = [
    FormatOption::text(FIELDS, "Write only these columns, separated by commas: ts,cpu,ctx.vpid,next_comm")
        .details(
            "docs/parquet.md describes column names. If possible, fields without a column are not decoded.",
        )
        .value_name("COLUMNS")
        .unprefixed(),
    FormatOption::choice(
        TIMESTAMPS,
        "Also write the time as a timestamp, in the column `time`",
        &[
            OptionValue::new("micros", "microseconds, rounded down"),
            OptionValue::new("nanos", "nanoseconds; not all programs can read them"),
        ],
    )
    .details("Only for events with a clock that counts from 1970-01-01. The column `ts` stays.")
    .value_name("UNIT")
    .unprefixed(),
    FormatOption::choice(
        U64_TYPE,
        "Type for unsigned 64-bit integers",
        &[
            OptionValue::new("uint64", "UINT64 (default)"),
            OptionValue::new("decimal", "DECIMAL(20, 0), for programs without unsigned integers"),
        ],
    )
    .value_name("TYPE")
    .unprefixed(),
    FormatOption::text(APPEND, "Add the events to the dataset, in its directory `trace=NAME`")
        .details(
            "The dataset must be new, or consist of such directories. If the directory exists, that is an \
                error, unless existing outputs are replaced.",
        )
        .value_name("NAME")
        .unprefixed(),
    FormatOption::choice(
        LAYOUT,
        "Tables of a dataset",
        &[
            OptionValue::new("events", "a table for each event class (default)"),
            OptionValue::new("otel", "OpenTelemetry's tables in ClickHouse: otel_traces and otel_logs"),
        ],
    )
    .details(
        "The layout `otel` has the same spans and log records as OpenTelemetry files. docs/stores.md describes its \
            columns.",
    )
    .value_name("LAYOUT")
    .unprefixed(),
    FormatOption::choice(
        PARTITION,
        "Write a directory for each hour or day of events, in UTC",
        &[
            OptionValue::new("hour", "directories such as date=2026-11-30/hour=05"),
            OptionValue::new("day", "directories such as date=2026-11-30"),
        ],
    )
    .details("Only for events with a clock that counts from 1970-01-01.")
    .value_name("UNIT")
    .unprefixed(),
];

/// Returns `true` if the options of a dataset select OpenTelemetry's tables.
#[must_use]
pub fn is_otel_layout(options: &FormatOptions) -> bool {
    options.choice("parquet", LAYOUT) == Some("otel")
}

/// Wanted columns.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Projection {
    /// All columns.
    #[default]
    All,
    /// Columns with these names. Members of the running thread have the names of contexts (`tid`), as in expressions.
    Named(Arc<HashSet<String>>),
    /// Columns that have these names among all columns.
    Exact(Arc<HashSet<String>>),
}

impl Projection {
    /// Selects the columns with these names.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::Named(Arc::new(names.into_iter().map(str::to_owned).collect()))
    }

    /// Selects the columns that have these names among all columns.
    pub fn exact<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::Exact(Arc::new(names.into_iter().map(str::to_owned).collect()))
    }

    /// Returns `true` if the column with this name is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) | Self::Exact(names) => names.contains(name),
        }
    }
}

/// Column options.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TableOptions {
    /// Wanted columns.
    pub projection: Projection,
    /// Unit of the typed time column. `None` omits this column.
    pub timestamps: Option<TimestampUnit>,
    /// Type for unsigned 64-bit integers.
    pub u64_type: U64Type,
    /// Length of partitions, for datasets.
    pub partition: Option<PartitionUnit>,
}

/// Unit of the typed time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampUnit {
    /// Microseconds, rounded down.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimestampUnit {
    pub(crate) fn in_arrow(self) -> TimeUnit {
        match self {
            Self::Micros => TimeUnit::Microsecond,
            Self::Nanos => TimeUnit::Nanosecond,
        }
    }
}

/// Type for unsigned 64-bit integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum U64Type {
    /// `UInt64`.
    #[default]
    UInt64,
    /// `Decimal128(20, 0)`.
    Decimal,
}

impl TableOptions {
    /// Returns the options with only some columns.
    #[must_use]
    pub fn with_columns(mut self, projection: Projection) -> Self {
        self.projection = projection;
        self
    }

    /// Reads the options set for a format.
    pub(crate) fn set_for(format: &str, options: &FormatOptions) -> Self {
        let names = options.text(format, FIELDS).map(|names| names.split(',').map(str::trim));
        Self {
            projection: names.map_or(Projection::All, Projection::named),
            timestamps: options.choice(format, TIMESTAMPS).map(|unit| match unit {
                "micros" => TimestampUnit::Micros,
                _ => TimestampUnit::Nanos,
            }),
            u64_type: match options.choice(format, U64_TYPE) {
                Some("decimal") => U64Type::Decimal,
                _ => U64Type::UInt64,
            },
            partition: options.choice(format, PARTITION).and_then(PartitionUnit::from_name),
        }
    }
}
