//! Columns of batches with different classes.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, PrimitiveArray, new_null_array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::interleave::interleave;

use crate::label_keys::LabelKeys;

/// Part of a column: the values of some rows.
pub(crate) struct ColumnPart<'p> {
    pub(crate) values: ArrayRef,
    /// Rows of the values in the column, sorted.
    pub(crate) rows: &'p [u32],
}

/// Returns a column with the values of all parts. Other rows have no value. The parts can have a smaller type.
pub(crate) fn column(parts: &[ColumnPart<'_>], rows: usize, of: &DataType) -> Result<ArrayRef, ArrowError> {
    let mut cast = Vec::with_capacity(parts.len());
    for part in parts.iter().filter(|part| !part.rows.is_empty()) {
        cast.push(ColumnPart { values: converted(&part.values, of)?, rows: part.rows });
    }
    match cast.as_slice() {
        [] => return Ok(new_null_array(of, rows)),
        // One class: the rows have the order of the values.
        [only] if only.rows.len() == rows && !matches!(of, DataType::Dictionary(..)) => {
            return Ok(Arc::clone(&only.values));
        }
        _ => {}
    }
    macro_rules! scatter {
        ($kind:ty) => {
            Ok(Arc::new(scattered::<$kind>(&cast, rows).with_data_type(of.clone())))
        };
    }
    match of {
        DataType::Int8 => scatter!(Int8Type),
        DataType::Int16 => scatter!(Int16Type),
        DataType::Int32 => scatter!(Int32Type),
        DataType::Int64 => scatter!(Int64Type),
        DataType::UInt8 => scatter!(UInt8Type),
        DataType::UInt16 => scatter!(UInt16Type),
        DataType::UInt32 => scatter!(UInt32Type),
        DataType::UInt64 => scatter!(UInt64Type),
        DataType::Float32 => scatter!(Float32Type),
        DataType::Float64 => scatter!(Float64Type),
        DataType::Decimal128(..) => scatter!(Decimal128Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => scatter!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => scatter!(TimestampNanosecondType),
        DataType::Boolean => Ok(Arc::new(scattered_booleans(&cast, rows))),
        DataType::Dictionary(..) => scattered_labels(&cast, rows),
        _ => interleaved(&cast, rows, of),
    }
}

/// Returns which rows have a value.
fn validity(parts: &[ColumnPart<'_>], rows: usize) -> Option<NullBuffer> {
    let covered: usize = parts.iter().map(|part| part.rows.len()).sum();
    let nulls: usize = parts.iter().map(|part| part.values.null_count()).sum();
    if covered == rows && nulls == 0 {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(rows);
    valid.append_n(rows, false);
    for part in parts {
        for (at, row) in part.rows.iter().enumerate() {
            if part.values.is_valid(at) {
                valid.set_bit(*row as usize, true);
            }
        }
    }
    Some(NullBuffer::new(valid.finish()))
}

fn scattered<P: ArrowPrimitiveType>(parts: &[ColumnPart<'_>], rows: usize) -> PrimitiveArray<P> {
    let mut values = vec![P::Native::default(); rows];
    for part in parts {
        for (row, value) in part.rows.iter().zip(part.values.as_primitive::<P>().values()) {
            if let Some(place) = values.get_mut(*row as usize) {
                *place = *value;
            }
        }
    }
    PrimitiveArray::new(values.into(), validity(parts, rows))
}

fn scattered_booleans(parts: &[ColumnPart<'_>], rows: usize) -> BooleanArray {
    let mut values = BooleanBufferBuilder::new(rows);
    values.append_n(rows, false);
    for part in parts {
        let from = part.values.as_boolean();
        for (at, row) in part.rows.iter().enumerate() {
            values.set_bit(*row as usize, from.value(at));
        }
    }
    BooleanArray::new(values.finish(), validity(parts, rows))
}

/// Returns names of enumerations. Several values, and several classes, can have a name.
fn scattered_labels(parts: &[ColumnPart<'_>], rows: usize) -> Result<ArrayRef, ArrowError> {
    let mut keys = vec![0i32; rows];
    let mut labels = LabelKeys::default();
    for part in parts {
        let column = part.values.as_dictionary::<Int32Type>();
        let names = column.values().as_string::<i32>();
        // Only used names get a key.
        let mut known: Vec<Option<i32>> = vec![None; names.len()];
        for (at, (row, key)) in part.rows.iter().zip(column.keys().values()).enumerate() {
            let old = usize::try_from(*key).ok().filter(|_| column.is_valid(at));
            let (Some(old), Some(place)) = (old, keys.get_mut(*row as usize)) else { continue };
            let Some(new) = known.get_mut(old) else { continue };
            *place = *new.get_or_insert_with(|| labels.key(names.value(old)));
        }
    }
    labels.finish(keys, validity(parts, rows))
}

/// Returns texts, bytes or lists.
fn interleaved(parts: &[ColumnPart<'_>], rows: usize, of: &DataType) -> Result<ArrayRef, ArrowError> {
    // The first array is of rows without a value.
    let none = new_null_array(of, 1);
    let mut places = vec![(0, 0); rows];
    for (index, part) in parts.iter().enumerate() {
        for (at, row) in part.rows.iter().enumerate() {
            if let Some(place) = places.get_mut(*row as usize) {
                *place = (index + 1, at);
            }
        }
    }
    let arrays: Vec<&dyn Array> =
        std::iter::once(none.as_ref()).chain(parts.iter().map(|part| part.values.as_ref())).collect();
    interleave(&arrays, &places)
}

/// Converts an array to the type of a column.
fn converted(array: &ArrayRef, of: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == of {
        return Ok(Arc::clone(array));
    }
    macro_rules! integers {
        ($kind:ty) => {
            whole_numbers::<$kind>(array)
        };
    }
    let found: Option<ArrayRef> = match (array.data_type(), of) {
        (DataType::List(_), DataType::List(item)) => {
            let lists = array.as_list::<i32>();
            let items = converted(lists.values(), item.data_type())?;
            let lists =
                ListArray::try_new(Arc::clone(item), lists.offsets().clone(), items, lists.nulls().cloned())?;
            Some(Arc::new(lists))
        }
        (DataType::Float32, DataType::Float64) => {
            let values = array.as_primitive::<Float32Type>();
            Some(Arc::new(values.unary::<_, Float64Type>(f64::from)))
        }
        (_, DataType::Int16) => integers!(Int16Type),
        (_, DataType::Int32) => integers!(Int32Type),
        (_, DataType::Int64) => integers!(Int64Type),
        (_, DataType::UInt16) => integers!(UInt16Type),
        (_, DataType::UInt32) => integers!(UInt32Type),
        (_, DataType::UInt64) => integers!(UInt64Type),
        (DataType::Decimal128(..), DataType::Decimal128(..)) => {
            let values = array.as_primitive::<Decimal128Type>().clone();
            Some(Arc::new(values.with_data_type(of.clone())))
        }
        (_, DataType::Decimal128(..)) => {
            let values = integers!(Decimal128Type);
            values.map(|values| -> ArrayRef {
                Arc::new(values.as_primitive::<Decimal128Type>().clone().with_data_type(of.clone()))
            })
        }
        (_, DataType::Binary) => bytes(array),
        (_, DataType::Utf8) => texts(array),
        _ => None,
    };
    // Only if the traces changed after they were opened.
    let message = || format!("values of the type {} do not fit a column of {of}", array.data_type());
    found.ok_or_else(|| ArrowError::CastError(message()))
}

/// Converts integers to a larger type.
fn whole_numbers<P: ArrowPrimitiveType<Native: TryFrom<i128>>>(array: &ArrayRef) -> Option<ArrayRef> {
    fn all<A, P>(array: &ArrayRef) -> Option<ArrayRef>
    where
        A: ArrowPrimitiveType<Native: Into<i128>>,
        P: ArrowPrimitiveType<Native: TryFrom<i128>>,
    {
        let convert = |value: A::Native| P::Native::try_from(value.into()).unwrap_or_default();
        Some(Arc::new(array.as_primitive::<A>().unary::<_, P>(convert)))
    }
    match array.data_type() {
        DataType::Int8 => all::<Int8Type, P>(array),
        DataType::Int16 => all::<Int16Type, P>(array),
        DataType::Int32 => all::<Int32Type, P>(array),
        DataType::Int64 => all::<Int64Type, P>(array),
        DataType::UInt8 => all::<UInt8Type, P>(array),
        DataType::UInt16 => all::<UInt16Type, P>(array),
        DataType::UInt32 => all::<UInt32Type, P>(array),
        DataType::UInt64 => all::<UInt64Type, P>(array),
        _ => None,
    }
}

fn bytes(array: &ArrayRef) -> Option<ArrayRef> {
    let mut builder = BinaryBuilder::new();
    for at in 0..array.len() {
        match array.data_type() {
            _ if array.is_null(at) => builder.append_null(),
            DataType::FixedSizeBinary(_) => builder.append_value(array.as_fixed_size_binary().value(at)),
            DataType::Utf8 => builder.append_value(array.as_string::<i32>().value(at)),
            DataType::Dictionary(..) => builder.append_option(label(array, at)),
            _ => return None,
        }
    }
    Some(Arc::new(builder.finish()))
}

/// Returns the name of an enumeration value.
fn label(array: &ArrayRef, at: usize) -> Option<&str> {
    let labels = array.as_dictionary_opt::<Int32Type>()?;
    let names = labels.values().as_string_opt::<i32>()?;
    let key = usize::try_from(labels.keys().value(at)).ok()?;
    (key < names.len()).then(|| names.value(key))
}

/// Writes numbers as the DuckDB extension does.
fn texts(array: &ArrayRef) -> Option<ArrayRef> {
    let mut builder = StringBuilder::new();
    for at in 0..array.len() {
        macro_rules! number {
            ($of:ty) => {
                builder.append_value(format!("{:?}", array.as_primitive::<$of>().value(at)))
            };
        }
        match array.data_type() {
            _ if array.is_null(at) => builder.append_null(),
            DataType::Boolean => builder.append_value(array.as_boolean().value(at).to_string()),
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
            DataType::Dictionary(..) => builder.append_option(label(array, at)),
            _ => return None,
        }
    }
    Some(Arc::new(builder.finish()))
}
