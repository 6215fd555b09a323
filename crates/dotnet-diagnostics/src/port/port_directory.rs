//! Private directory with the socket of a port.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::connection::MAX_PATH;
use crate::error::DiagnosticsError;

/// Longest name that is appended to the parent directory: `/ichnos-PID-NANOSECONDS/port`.
const NAME_LENGTH: usize = 40;

/// Directory with mode 700. It is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct PortDirectory {
    path: PathBuf,
}

impl PortDirectory {
    /// Creates a directory in the directory for temporary files.
    pub(crate) fn create() -> Result<Self, DiagnosticsError> {
        let parent = std::env::temp_dir();
        let parent = if is_suitable(&parent) { parent } else { PathBuf::from("/tmp") };
        loop {
            let nanoseconds =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
            let path = parent.join(format!("ichnos-{}-{nanoseconds}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(DiagnosticsError::Connect { path, error }),
            }
        }
    }

    /// Returns the socket path.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join("port")
    }

    /// Sets the mode of the socket to 600.
    pub(crate) fn restrict(&self) -> io::Result<()> {
        fs::set_permissions(self.socket(), Permissions::from_mode(0o600))
    }
}

impl Drop for PortDirectory {
    fn drop(&mut self) {
        // Nobody could repair a failure.
        let _ = fs::remove_file(self.socket());
        let _ = fs::remove_dir(&self.path);
    }
}

/// Returns `true` if socket paths in a directory can be named in the environment variable, which separates ports and
/// their options by `;` and `,`.
fn is_suitable(parent: &Path) -> bool {
    let bytes = parent.as_os_str().as_encoded_bytes();
    bytes.len() + NAME_LENGTH <= MAX_PATH
        && parent.is_absolute()
        && !bytes.iter().any(|byte| matches!(byte, b';' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_with_separators_are_avoided() {
        for (parent, expected) in [
            ("/tmp", true),
            ("/run/user/1000", true),
            ("tmp", false),
            ("/tmp/a,b", false),
            ("/tmp/a;b", false),
            (&*format!("/{}", "x".repeat(66)), true),
            (&*format!("/{}", "x".repeat(67)), false),
        ] {
            assert_eq!(is_suitable(Path::new(parent)), expected, "{parent}");
        }
    }

    #[test]
    fn directories_are_private_and_removed() {
        let (one, other) = (PortDirectory::create().unwrap(), PortDirectory::create().unwrap());
        assert_ne!(one.path, other.path);
        assert_eq!(fs::metadata(&one.path).unwrap().permissions().mode() & 0o777, 0o700);
        let path = one.path.clone();
        drop(one);
        assert!(!path.exists());
    }
}
