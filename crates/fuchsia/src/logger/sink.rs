//! What takes records.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Takes the records of a [`Logger`](super::Logger).
///
/// # For implementations
/// [`RecordSink::write`] is called by the thread that logs, by several at once. It should not wait for long,
/// and must not log itself.
pub trait RecordSink: Send + Sync {
    /// Takes a record as a whole.
    ///
    /// # Errors
    /// If it did not get through: then it is counted as dropped.
    fn write(&self, record: &[u8]) -> io::Result<()>;

    /// Writes what was kept.
    ///
    /// # Errors
    /// If that cannot be done.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Records one behind the other. A writer that takes a part of a record before it fails leaves that there,
/// and a reader will find it damaged.
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
