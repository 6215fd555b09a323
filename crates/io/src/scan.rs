//! Progress reports while trees are opened.

use std::fmt;
use std::sync::Arc;

/// Progress before the first event. All numbers count from the start of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanStep {
    /// Directories are being listed. Contains the number of files found.
    Files(u64),
    /// An archive, a compressed file or a pipe is being read.
    Unpacked {
        /// Unpacked size in bytes.
        unpacked: u64,
        /// Packed bytes read so far.
        packed: u64,
        /// Total packed bytes, if known.
        total: Option<u64>,
    },
    /// Data stream files are being searched for packets.
    Indexed {
        /// Number of completed files.
        files: u64,
        /// Completed bytes of the current file.
        bytes: u64,
    },
}

/// Receives the steps of opening trees. The default ignores them.
///
/// The opening thread calls it at least every few milliseconds and at most every few microseconds (once a directory,
/// once a MiB, once a file). It must therefore be fast and check the clock itself.
#[derive(Clone, Default)]
pub struct ScanProgress(Option<Arc<dyn Fn(ScanStep) + Send + Sync>>);

impl ScanProgress {
    /// Passes steps to `observer`.
    #[must_use]
    pub fn new(observer: impl Fn(ScanStep) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(observer)))
    }

    /// Reports a step.
    #[inline]
    pub fn report(&self, step: ScanStep) {
        if let Some(observer) = &self.0 {
            observer(step);
        }
    }
}

impl fmt::Debug for ScanProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ScanProgress(..)" } else { "ScanProgress(none)" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn steps_arrive() {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&steps);
        let progress = ScanProgress::new(move |step| taken.lock().unwrap().push(step));
        progress.clone().report(ScanStep::Files(1));
        progress.report(ScanStep::Unpacked { unpacked: 10, packed: 1, total: None });
        ScanProgress::default().report(ScanStep::Files(2));
        assert_eq!(steps.lock().unwrap().len(), 2);
    }
}
