//! Arrow's C stream interface, for consumers that call one stream from several threads.
//!
//! Arrow leaves it to the consumer to make one call at a time, and pyarrow leaves it to the caller in Python. A second call
//! is refused here instead of waiting: it can come from a signal handler in the same thread, from a thread that holds the
//! interpreter's lock, or in a forked process that lacks the thread of the first call.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array as _, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;

use crate::batches::{BatchSource, plain};
use crate::failure::{CallFailure, caught};

/// `EINVAL`. Consumers show the message with it.
const FAILED: c_int = 22;

/// Message for a call during another call.
const BUSY: &CStr = c"the stream is busy with another call: read it in one thread at a time";

/// Private data of a stream.
struct SharedStream {
    schema: SchemaRef,
    /// `None` after the last batch, and after a failure.
    source: Mutex<Option<Box<dyn BatchSource>>>,
    /// First failure, which is the answer to each further call. Consumers keep pointers to the text.
    failure: OnceLock<CString>,
}

/// Returns a stream of batches.
pub(crate) fn stream(schema: SchemaRef, source: Box<dyn BatchSource>) -> FFI_ArrowArrayStream {
    let shared = SharedStream { schema, source: Mutex::new(Some(source)), failure: OnceLock::new() };
    FFI_ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Arc::into_raw(Arc::new(shared)).cast_mut().cast(),
    }
}

impl SharedStream {
    /// Keeps the private data of a stream during a call, because another thread can release the stream.
    ///
    /// # Safety
    /// `stream` is one of [`stream`], or moved from it, and is not released before the return.
    unsafe fn of(stream: *mut FFI_ArrowArrayStream) -> Option<Arc<Self>> {
        // SAFETY: the caller says so.
        let shared: *const Self = unsafe { (*stream).private_data }.cast_const().cast();
        if shared.is_null() {
            return None;
        }
        // SAFETY: the pointer is from `Arc::into_raw`, and the stream keeps its own reference.
        Some(unsafe {
            Arc::increment_strong_count(shared);
            Arc::from_raw(shared)
        })
    }

    /// Notes the first failure.
    fn fail(&self, failure: &CallFailure) -> c_int {
        self.failure.get_or_init(|| CString::new(plain(failure.message())).unwrap_or_default());
        FAILED
    }

    fn exported_schema(&self) -> Result<FFI_ArrowSchema, CallFailure> {
        FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(|error| CallFailure::new(error.to_string()))
    }

    /// Returns the next batch, which is empty after the last one, or the code of an error.
    fn next_array(&self) -> Result<FFI_ArrowArray, c_int> {
        let mut source = match self.source.try_lock() {
            Ok(source) => source,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(FAILED),
        };
        if self.failure.get().is_some() {
            return Err(FAILED);
        }
        let Some(batches) = source.as_mut() else { return Ok(FFI_ArrowArray::empty()) };
        match caught(|| batches.next_batch()?.map(|batch| self.exported(batch)).transpose()) {
            Ok(Some(array)) => Ok(array),
            Ok(None) => {
                *source = None;
                Ok(FFI_ArrowArray::empty())
            }
            Err(failure) => {
                *source = None;
                Err(self.fail(&failure))
            }
        }
    }

    fn exported(&self, batch: RecordBatch) -> Result<FFI_ArrowArray, CallFailure> {
        // The names can differ from those of the batch.
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let (schema, columns) = (Arc::clone(&self.schema), batch.columns().to_vec());
        let batch = RecordBatch::try_new_with_options(schema, columns, &options);
        let batch = batch.map_err(|error| CallFailure::new(error.to_string()))?;
        Ok(FFI_ArrowArray::new(&StructArray::from(batch).to_data()))
    }
}

unsafe extern "C" fn get_schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the consumer calls it with the stream.
    let Some(shared) = (unsafe { SharedStream::of(stream) }) else { return FAILED };
    match caught(|| shared.exported_schema()) {
        Ok(schema) => {
            // SAFETY: the consumer gives room for a schema, which it releases.
            unsafe { out.write_unaligned(schema) };
            0
        }
        Err(failure) => shared.fail(&failure),
    }
}

unsafe extern "C" fn get_next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: the consumer calls it with the stream.
    let Some(shared) = (unsafe { SharedStream::of(stream) }) else { return FAILED };
    match shared.next_array() {
        Ok(array) => {
            // SAFETY: the consumer gives room for an array, which it releases.
            unsafe { out.write_unaligned(array) };
            0
        }
        Err(code) => code,
    }
}

/// Returns the text of the failure. Without one, the call was refused.
unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: the consumer calls it with the stream.
    match unsafe { SharedStream::of(stream) } {
        // The stream keeps the text until its release.
        Some(shared) => shared.failure.get().map_or(BUSY.as_ptr(), |text| text.as_ptr()),
        None => ptr::null(),
    }
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: the consumer calls it once with the stream. A call that still runs has its own reference.
    unsafe {
        let shared: *const SharedStream = (*stream).private_data.cast_const().cast();
        (*stream).private_data = ptr::null_mut();
        (*stream).release = None;
        if !shared.is_null() {
            let shared = Arc::from_raw(shared);
            // A panic must not reach the consumer.
            let _ = caught(|| {
                drop(shared);
                Ok(())
            });
        }
    }
}
