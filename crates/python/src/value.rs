//! Python values of array items.

use arrow_array::Array;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::{DataType, TimeUnit};
use pyo3::IntoPyObject;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString};

/// Returns the integer of a value whose bytes are an integer, most significant byte first, or the integers of a list.
pub(crate) fn integers<'py>(value: Bound<'py, PyAny>, is_signed: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if let Ok(list) = value.cast::<PyList>() {
        let items = list.iter().map(|item| integers(item, is_signed)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if !value.is_instance_of::<PyBytes>() {
        return Ok(value);
    }
    let signed = PyDict::new(py);
    signed.set_item("signed", is_signed)?;
    py.get_type::<PyInt>().call_method("from_bytes", (value, "big"), Some(&signed))
}

/// Returns the item with an index. Times are nanoseconds or microseconds.
pub(crate) fn value<'py>(py: Python<'py>, array: &dyn Array, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if at >= array.len() || array.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! number {
        ($of:ty) => {
            array.as_primitive::<$of>().value(at).into_pyobject(py)?.into_any()
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(at).into_pyobject(py)?.to_owned().into_any(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Decimal128(..) => number!(Decimal128Type),
        DataType::Float32 => {
            f64::from(array.as_primitive::<Float32Type>().value(at)).into_pyobject(py)?.into_any()
        }
        DataType::Float64 => number!(Float64Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => number!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number!(TimestampNanosecondType),
        DataType::Utf8 => PyString::new(py, array.as_string::<i32>().value(at)).into_any(),
        DataType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(at)).into_any(),
        DataType::FixedSizeBinary(_) => PyBytes::new(py, array.as_fixed_size_binary().value(at)).into_any(),
        DataType::Dictionary(..) => {
            let Some(labels) = array.as_any_dictionary_opt() else { return Ok(py.None().into_bound(py)) };
            let key = labels.keys().as_primitive_opt::<Int32Type>().map(|keys| keys.value(at));
            let key = key.and_then(|key| usize::try_from(key).ok()).unwrap_or(usize::MAX);
            value(py, labels.values().as_ref(), key)?
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(at);
            let items =
                (0..items.len()).map(|at| value(py, items.as_ref(), at)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        _ => py.None().into_bound(py),
    })
}
