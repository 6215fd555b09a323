//! Entry point of the extension.
#![allow(unsafe_code)]

use libduckdb_sys as ffi;

use crate::duckdb::{c_string, guarded, register_replacement};
use crate::functions;

/// Version of the C API that the extension needs.
const API_VERSION: &str = "v1.2.0";

/// Called by DuckDB when the extension is loaded.
///
/// # Safety
/// Only for DuckDB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ichnos_init_c_api(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
) -> bool {
    // SAFETY: DuckDB passes valid pointers.
    let loaded = guarded(|| unsafe { load(info, access) });
    match loaded {
        Ok(is_loaded) => is_loaded,
        Err(error) => {
            // SAFETY: DuckDB passes valid pointers.
            if let Some(set_error) = unsafe { access.as_ref() }.and_then(|access| access.set_error) {
                // SAFETY: the text is valid.
                unsafe { set_error(info, c_string(&error).as_ptr()) };
            }
            false
        }
    }
}

/// Registers all functions.
///
/// # Safety
/// The pointers must be valid.
unsafe fn load(
    info: ffi::duckdb_extension_info,
    access: *const ffi::duckdb_extension_access,
) -> Result<bool, String> {
    // SAFETY: the pointers are valid.
    unsafe {
        if !ffi::duckdb_rs_extension_api_init(info, access, API_VERSION)? {
            return Ok(false);
        }
        let database =
            access.as_ref().and_then(|access| access.get_database).and_then(|get| get(info).as_ref());
        let database = *database.ok_or("DuckDB passed no database")?;
        let mut connection = std::ptr::null_mut();
        if ffi::duckdb_connect(database, &raw mut connection) != ffi::duckdb_state_DuckDBSuccess {
            return Err("cannot connect to the database".to_owned());
        }
        let registered = functions::ALL.iter().try_for_each(|register| register(connection));
        ffi::duckdb_disconnect(&raw mut connection);
        registered?;
        register_replacement(database, functions::replace);
    }
    // If the system refuses, a file that another program truncates during a query ends the process.
    let _ = ichnos::io::handle_bus_errors();
    Ok(true)
}
