//! Replacement scan: `FROM 'file.nettrace'`.

use std::ffi::{CStr, c_char, c_void};

use libduckdb_sys as ffi;

use super::{c_string, guarded};

/// Function that returns the table function for a table name that DuckDB does not know.
pub(crate) type ReplaceTable = fn(&str) -> Option<&'static CStr>;

/// Registers the function. The table name becomes its argument.
///
/// # Safety
/// The database must be valid.
pub(crate) unsafe fn register_replacement(database: ffi::duckdb_database, replace: ReplaceTable) {
    // SAFETY: functions live forever.
    unsafe {
        ffi::duckdb_add_replacement_scan(database, Some(replacement), replace as *mut c_void, None);
    }
}

unsafe extern "C" fn replacement(
    info: ffi::duckdb_replacement_scan_info,
    name: *const c_char,
    data: *mut c_void,
) {
    let replaced = guarded(|| {
        if name.is_null() || data.is_null() {
            return Ok(None);
        }
        // SAFETY: DuckDB passes a text with an end, and the function that was registered.
        let (name, replace) = unsafe {
            (CStr::from_ptr(name).to_string_lossy(), std::mem::transmute::<*mut c_void, ReplaceTable>(data))
        };
        Ok(replace(&name).map(|function| (function, c_string(&name))))
    });
    match replaced {
        Ok(None) => {}
        // SAFETY: the information and the texts are valid. DuckDB copies the value, which is destroyed once.
        Ok(Some((function, name))) => unsafe {
            ffi::duckdb_replacement_scan_set_function_name(info, function.as_ptr());
            let mut value = ffi::duckdb_create_varchar(name.as_ptr());
            ffi::duckdb_replacement_scan_add_parameter(info, value);
            ffi::duckdb_destroy_value(&raw mut value);
        },
        // SAFETY: the information and the text are valid.
        Err(error) => unsafe {
            ffi::duckdb_replacement_scan_set_error(info, c_string(&error).as_ptr());
        },
    }
}
