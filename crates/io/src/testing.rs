//! Shared test helpers.

use std::ops::Deref;
use std::path::Path;

use tempfile::TempDir;

/// A temporary directory that is removed on drop.
pub(crate) struct TestDirectory(TempDir);

impl TestDirectory {
    pub(crate) fn new(name: &str) -> Self {
        Self(tempfile::Builder::new().prefix(&format!("ichnos-io-{name}-")).tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Deref for TestDirectory {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}
