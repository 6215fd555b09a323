//! Record destinations.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Receives the records of a [`Logger`](super::Logger).
///
/// # For implementations
/// The logging thread calls [`RecordSink::write`]. Several threads can call it at the same time. It should not block
/// for
/// long, and must not log itself.
pub trait RecordSink: Send + Sync {
    /// Writes a whole record.
    ///
    /// # Errors
    /// If the record was not written. It then counts as dropped.
    fn write(&self, record: &[u8]) -> io::Result<()>;

    /// Flushes buffered records.
    ///
    /// # Errors
    /// If flushing fails.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes consecutive records. If the writer fails inside a record, the partial record remains and readers report it as
/// damage.
impl<W: Write + Send> RecordSink for Mutex<W> {
    #[inline]
    fn write(&self, record: &[u8]) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).write_all(record)
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

impl<S: RecordSink + ?Sized> RecordSink for Arc<S> {
    fn write(&self, record: &[u8]) -> io::Result<()> {
        (**self).write(record)
    }

    fn flush(&self) -> io::Result<()> {
        (**self).flush()
    }
}
