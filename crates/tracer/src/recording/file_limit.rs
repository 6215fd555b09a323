//! The limit of this process for the size of a file.

use std::io;

use rustix::process::{Resource, getrlimit};

/// Returns an error, as on a full disk, if this process must not make a file so large: the system would end it with a
/// signal.
pub(super) fn check_file_size(bytes: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(most) if bytes > most => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(()),
    }
}
