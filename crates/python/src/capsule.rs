//! Capsules of Arrow's C interface.

use std::ffi::CStr;

use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batches::{Batches, without_nul};
use crate::failure::{CallFailure, detached};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// Starts a stream. It keeps no reference to Python, so that any thread can read and drop it.
pub(crate) fn stream<'py>(py: Python<'py>, batches: &Batches) -> PyResult<Bound<'py, PyCapsule>> {
    let source = detached(py, || batches.start())?;
    PyCapsule::new_with_value(py, crate::stream::stream(without_nul(&batches.schema), source), STREAM)
}

/// Returns the schema.
pub(crate) fn schema<'py>(py: Python<'py>, batches: &Batches) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(without_nul(&batches.schema).as_ref());
    let schema = schema.map_err(|error| CallFailure::new(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}
