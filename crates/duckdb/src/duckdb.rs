//! Safe layer over DuckDB's C API. All `unsafe` code of the extension is here and in the entry point.

mod arguments;
mod column_type;
mod replacement;
mod table_function;
mod vector;

pub(crate) use arguments::CallArguments;
pub(crate) use column_type::ColumnType;
pub(crate) use replacement::register_replacement;
pub(crate) use table_function::{Bound, Parameter, RegisterFunction, TableFunction, register};
pub(crate) use vector::{Chunk, Fixed, Huge, Rows, Vector};

use std::any::Any;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a function at the border to DuckDB, which no panic may pass. A panic becomes an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panic_text(&*panic)))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    format!("internal error of ichnos, please report it: {text}")
}

/// Returns a C string. Text after a null byte is cut.
pub(crate) fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
