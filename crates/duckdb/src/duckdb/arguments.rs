//! Arguments of a table function.

use std::ffi::{CStr, CString};

use libduckdb_sys as ffi;

use super::c_string;

/// Arguments of a table function, valid while the function is bound.
pub(crate) struct CallArguments {
    info: ffi::duckdb_bind_info,
}

/// Value that DuckDB owns no longer.
struct OwnedValue(ffi::duckdb_value);

impl Drop for OwnedValue {
    fn drop(&mut self) {
        // SAFETY: the value is destroyed once.
        unsafe { ffi::duckdb_destroy_value(&raw mut self.0) };
    }
}

impl CallArguments {
    /// # Safety
    /// `info` must be valid as long as the arguments are used.
    pub(super) unsafe fn new(info: ffi::duckdb_bind_info) -> Self {
        Self { info }
    }

    /// Returns a named argument as a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, String> {
        let Some(value) = self.named(name) else { return Ok(None) };
        value.text().map(Some).map_err(|()| format!("{name}: expected a text"))
    }

    /// Returns a named argument as a list of texts. A single text is a list with one item.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let Some(value) = self.named(name) else { return Ok(Vec::new()) };
        value.texts().map_err(|()| format!("{name}: expected a text, or a list of texts"))
    }

    /// Returns a named argument as a truth value, which is false without the argument.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        let Some(value) = self.named(name) else { return Ok(false) };
        if value.type_id() != ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN {
            return Err(format!("{name}: expected true or false"));
        }
        // SAFETY: the value is a truth value.
        Ok(unsafe { ffi::duckdb_get_bool(value.0) })
    }

    /// Returns the first argument as a list of texts.
    pub(crate) fn first_texts(&self) -> Result<Vec<String>, String> {
        let expected = || "expected a path, or a list of paths".to_owned();
        // SAFETY: the information is valid. Without the argument, the value is null.
        let value = unsafe { ffi::duckdb_bind_get_parameter(self.info, 0) };
        if value.is_null() {
            return Err(expected());
        }
        OwnedValue(value).texts().map_err(|()| expected())
    }

    fn named(&self, name: &str) -> Option<OwnedValue> {
        let name: CString = c_string(name);
        // SAFETY: the information and the name are valid.
        let value = unsafe { ffi::duckdb_bind_get_named_parameter(self.info, name.as_ptr()) };
        let value = (!value.is_null()).then_some(OwnedValue(value))?;
        (!value.is_null()).then_some(value)
    }
}

impl OwnedValue {
    fn is_null(&self) -> bool {
        // SAFETY: the value is valid.
        unsafe { ffi::duckdb_is_null_value(self.0) }
    }

    fn type_id(&self) -> ffi::DUCKDB_TYPE {
        // SAFETY: the value is valid, and the type is borrowed from it.
        unsafe { ffi::duckdb_get_type_id(ffi::duckdb_get_value_type(self.0)) }
    }

    fn text(&self) -> Result<String, ()> {
        if self.is_null() || self.type_id() != ffi::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR {
            return Err(());
        }
        // SAFETY: the value is valid.
        let text = unsafe { ffi::duckdb_get_varchar(self.0) };
        if text.is_null() {
            return Err(());
        }
        // SAFETY: DuckDB returns a text with an end, which is freed once.
        unsafe {
            let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
            ffi::duckdb_free(text.cast());
            Ok(owned)
        }
    }

    fn texts(&self) -> Result<Vec<String>, ()> {
        if self.is_null() || self.type_id() != ffi::DUCKDB_TYPE_DUCKDB_TYPE_LIST {
            return Ok(vec![self.text()?]);
        }
        // SAFETY: the value is a list.
        let count = unsafe { ffi::duckdb_get_list_size(self.0) };
        let item = |index| {
            // SAFETY: the index is below the size.
            let item = unsafe { ffi::duckdb_get_list_child(self.0, index) };
            if item.is_null() { Err(()) } else { OwnedValue(item).text() }
        };
        (0..count).map(item).collect()
    }
}
