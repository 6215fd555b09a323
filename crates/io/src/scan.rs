//! What is said while trees are opened, for people who wait.

use std::fmt;
use std::sync::Arc;

/// How far the work is before there are any events: all numbers count from the beginning of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanStep {
    /// Directories are listed: how many files were found.
    Files(u64),
    /// An archive, a compressed file or a pipe is read.
    Unpacked {
        /// Size of what was unpacked, in bytes.
        unpacked: u64,
        /// How many packed bytes that took.
        packed: u64,
        /// How many packed bytes there are, if that is known.
        total: Option<u64>,
    },
    /// Packets are looked for in data stream files.
    Indexed {
        /// How many files are done.
        files: u64,
        /// How many bytes of the current file are done.
        bytes: u64,
    },
}

/// Takes the steps of opening trees; the default takes none.
///
/// It is called from the thread that opens, every few milliseconds at least and every few microseconds at
/// most (once a directory, once a MiB, once a file), so it has to be quick and to look at the clock itself.
#[derive(Clone, Default)]
pub struct ScanProgress(Option<Arc<dyn Fn(ScanStep) + Send + Sync>>);

impl ScanProgress {
    /// Steps go to `observer`.
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
