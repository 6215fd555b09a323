//! Copies Arrow arrays to vectors.

use std::fmt::Write as _;
use std::sync::Arc;

use ichnos::table::arrow_array::cast::AsArray as _;
use ichnos::table::arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use ichnos::table::arrow_array::{AnyDictionaryArray, Array, ArrayRef};
use ichnos::table::arrow_schema::{DataType, TimeUnit};

use crate::duckdb::{ColumnType, Fixed, Huge, Rows, Vector};

/// Writes an array to rows of a vector, whose type can have a larger range.
pub(crate) fn write(vector: &mut Vector<'_>, rows: Rows<'_>, array: &ArrayRef) -> Result<(), String> {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => (0..rows.len()).for_each(|at| vector.set_valid(rows.get(at), nulls.is_valid(at))),
        None => vector.set_all_valid(rows),
    }
    let is_written = match array.data_type() {
        DataType::List(_) => return write_lists(vector, rows, array),
        DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_) | DataType::Dictionary(..) => {
            write_bytes(vector, rows, array)
        }
        _ if *vector.of() == ColumnType::Text => write_texts(vector, rows, array),
        DataType::Boolean => {
            let values = array.as_boolean().values();
            vector.write(rows, (0..values.len()).map(|at| values.value(at)))
        }
        DataType::Int8 => primitive::<Int8Type>(vector, rows, array),
        DataType::Int16 => primitive::<Int16Type>(vector, rows, array),
        DataType::Int32 => primitive::<Int32Type>(vector, rows, array),
        DataType::Int64 => primitive::<Int64Type>(vector, rows, array),
        DataType::UInt8 => primitive::<UInt8Type>(vector, rows, array),
        DataType::UInt16 => primitive::<UInt16Type>(vector, rows, array),
        DataType::UInt32 => primitive::<UInt32Type>(vector, rows, array),
        DataType::UInt64 => primitive::<UInt64Type>(vector, rows, array),
        DataType::Float32 if *vector.of() == ColumnType::Float64 => vector
            .write(rows, array.as_primitive::<Float32Type>().values().iter().map(|value| f64::from(*value))),
        DataType::Float32 => vector.write_slice(rows, array.as_primitive::<Float32Type>().values()),
        DataType::Float64 => vector.write_slice(rows, array.as_primitive::<Float64Type>().values()),
        DataType::Decimal128(..) => {
            let values = array.as_primitive::<Decimal128Type>().values();
            vector.write(rows, values.iter().map(|value| Huge::from(*value)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            vector.write_slice(rows, array.as_primitive::<TimestampMicrosecondType>().values())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            vector.write_slice(rows, array.as_primitive::<TimestampNanosecondType>().values())
        }
        _ => false,
    };
    if is_written {
        return Ok(());
    }
    // Only if the traces changed after the query was bound.
    Err(format!("values of the type {} do not fit the column: run the query again", array.data_type()))
}

/// Writes integers to a vector of the same or a larger type.
fn primitive<P>(vector: &mut Vector<'_>, rows: Rows<'_>, array: &ArrayRef) -> bool
where
    P: ArrowPrimitiveType,
    P::Native: Fixed + Into<i128>,
{
    let values = array.as_primitive::<P>().values();
    if P::Native::fits(vector.of()) {
        return vector.write_slice(rows, values);
    }
    macro_rules! widen {
        ($($of:ident: $value:ty),*) => {
            match vector.of() {
                $(ColumnType::$of => vector.write(rows, values.iter().map(|value| {
                    let value: i128 = (*value).into();
                    value as $value
                })),)*
                ColumnType::Decimal(_) => vector.write(rows, values.iter().map(|value| {
                    let value: i128 = (*value).into();
                    Huge::from(value)
                })),
                _ => false,
            }
        };
    }
    let is_larger = ColumnType::width(vector.of()).is_some_and(|width| width > size_of::<P::Native>());
    is_larger && widen!(Int16: i16, Int32: i32, Int64: i64, UInt16: u16, UInt32: u32, UInt64: u64)
}

/// Writes texts or bytes.
fn write_bytes(vector: &mut Vector<'_>, rows: Rows<'_>, array: &ArrayRef) -> bool {
    let is_text = matches!(array.data_type(), DataType::Utf8 | DataType::Dictionary(..));
    match vector.of() {
        ColumnType::Blob => {}
        ColumnType::Text if is_text => {}
        _ => return false,
    }
    let valid = |at: usize| array.is_valid(at);
    match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            (0..rows.len()).filter(|at| valid(*at)).for_each(|at| {
                vector.write_bytes(rows.get(at), texts.value(at).as_bytes());
            });
        }
        DataType::Binary => {
            let texts = array.as_binary::<i32>();
            (0..rows.len()).filter(|at| valid(*at)).for_each(|at| {
                vector.write_bytes(rows.get(at), texts.value(at));
            });
        }
        DataType::FixedSizeBinary(_) => {
            let texts = array.as_fixed_size_binary();
            (0..rows.len()).filter(|at| valid(*at)).for_each(|at| {
                vector.write_bytes(rows.get(at), texts.value(at));
            });
        }
        _ => return write_labels(vector, rows, array),
    }
    true
}

/// Writes the labels of an enumeration. Each label is copied once.
fn write_labels(vector: &mut Vector<'_>, rows: Rows<'_>, array: &ArrayRef) -> bool {
    let Some(labels) = array.as_any_dictionary_opt() else { return false };
    let Some(names) = labels.values().as_string_opt::<i32>() else { return false };
    let keys = labels.normalized_keys_or_null();
    let mut written: Vec<Option<usize>> = vec![None; names.len()];
    for (at, key) in keys.into_iter().enumerate().take(rows.len()) {
        let (Some(key), row) = (key, rows.get(at)) else { continue };
        match written.get_mut(key) {
            Some(Some(first)) => vector.repeat(*first, Rows::Range(row, row + 1)),
            Some(place) => {
                vector.write_bytes(row, names.value(key).as_bytes());
                *place = Some(row);
            }
            None => return false,
        }
    }
    true
}

/// Keys of a dictionary.
trait Keys {
    fn normalized_keys_or_null(&self) -> Vec<Option<usize>>;
}

impl Keys for dyn AnyDictionaryArray + '_ {
    fn normalized_keys_or_null(&self) -> Vec<Option<usize>> {
        let keys = self.keys();
        let Some(keys) = keys.as_primitive_opt::<Int32Type>() else { return Vec::new() };
        keys.iter().map(|key| key.and_then(|key| usize::try_from(key).ok())).collect()
    }
}

/// Writes numbers as texts, for a column that has texts in other classes.
fn write_texts(vector: &mut Vector<'_>, rows: Rows<'_>, array: &ArrayRef) -> bool {
    let mut text = String::new();
    for at in (0..rows.len()).filter(|at| array.is_valid(*at)) {
        text.clear();
        macro_rules! number {
            ($of:ty) => {
                write!(text, "{:?}", array.as_primitive::<$of>().value(at))
            };
        }
        let shown = match array.data_type() {
            DataType::Boolean => write!(text, "{}", array.as_boolean().value(at)),
            DataType::Int8 => number!(Int8Type),
            DataType::Int16 => number!(Int16Type),
            DataType::Int32 => number!(Int32Type),
            DataType::Int64 => number!(Int64Type),
            DataType::UInt8 => number!(UInt8Type),
            DataType::UInt16 => number!(UInt16Type),
            DataType::UInt32 => number!(UInt32Type),
            DataType::UInt64 => number!(UInt64Type),
            DataType::Float32 => number!(Float32Type),
            DataType::Float64 => number!(Float64Type),
            DataType::Decimal128(..) => number!(Decimal128Type),
            _ => return false,
        };
        if shown.is_err() {
            return false;
        }
        vector.write_bytes(rows.get(at), text.as_bytes());
    }
    true
}

fn write_lists(vector: &mut Vector<'_>, rows: Rows<'_>, array: &ArrayRef) -> Result<(), String> {
    let Some(lists) = array.as_list_opt::<i32>() else { return Err("lists do not fit".to_owned()) };
    let offsets = lists.value_offsets();
    let begin = offsets.first().map_or(0, |offset| *offset as usize);
    let end = offsets.last().map_or(0, |offset| *offset as usize);
    let items = lists.values().slice(begin, end.saturating_sub(begin));
    let lengths = offsets.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).max(0) as usize);
    let lengths: Vec<usize> = lengths.collect();
    vector.write_lists(rows, lengths.into_iter(), |child, rows| write(child, rows, &Arc::clone(&items)))
}
