//! Format properties for collecting reports.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::Path;

use crate::plain_file::open_plain;

/// Parameters for collecting reports that running programs send one by one, in a format whose files consist only of
/// such reports.
///
/// A stored report ends with an empty line and must not contain any other empty line, so that reports can be found in a
/// file independent of the format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CollectSettings {
    /// Default UDP and TCP port.
    pub port: u16,
    /// Default maximum report length in bytes.
    pub longest: usize,
    /// Checks a report and stores it.
    pub store: StoreReport,
}

/// Checks a report, appends its stored form to a buffer, and returns its task. The stored form must end with `\n\n` and
/// must not contain these two bytes elsewhere. Storing a stored report must not change it. Called with any bytes, from
/// several threads.
///
/// # Errors
/// Returns the reason why it is not a report of the format, in a few words. The buffer must not change then.
pub type StoreReport = fn(report: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str>;

impl CollectSettings {
    /// Creates parameters with a default port and a maximum report length.
    #[must_use]
    pub const fn new(port: u16, longest: usize, store: StoreReport) -> Self {
        Self { port, longest, store }
    }
}

/// Name of the file that identifies a directory with collected reports. The collector that writes to the directory
/// locks it.
pub const COLLECTION: &str = "collection";
/// Start of the collection file. The name of the format and a line end follow.
pub const COLLECTION_HEAD: &str = "ichnos collection 1\nformat: ";

/// Extension of segments: numbered files in the directory. Reports are appended to them.
pub const SEGMENT: &str = "reports";

/// End of the extension of numbered files with requests, for example `00000001.traces.requests`. Requests are appended to
/// them.
pub const REQUESTS: &str = ".requests";

/// Parses the number and the extension of a numbered collector file, for example `00000001.reports`. `None` for other
/// names.
#[must_use]
pub fn numbered_file(name: &str) -> Option<(u32, &str)> {
    let (number, extension) = name.split_once('.')?;
    let is_number = number.len() >= 8 && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, extension))
}

/// Returns `true` if a file is a segment, or has requests, in a directory that a collector writes to.
pub(crate) fn is_being_collected(directory: &Path, name: &OsStr) -> bool {
    let is_locked = || -> io::Result<bool> {
        let file = open_plain(OpenOptions::new().read(true), &directory.join(COLLECTION))?;
        let mut head = Vec::new();
        (&file).take(COLLECTION_HEAD.len() as u64).read_to_end(&mut head)?;
        let is_collection = head == COLLECTION_HEAD.as_bytes();
        Ok(is_collection && matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    let grows = |(_, extension): (u32, &str)| extension == SEGMENT || extension.ends_with(REQUESTS);
    let is_segment = name.to_str().and_then(numbered_file).is_some_and(grows);
    // Without a readable collection file, no collector is known to write there.
    is_segment && is_locked().unwrap_or_default()
}

/// Unique task key with up to [20 bytes](Self::LONGEST).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskKey {
    /// Bytes, filled with zeros after `length`.
    bytes: [u8; Self::LONGEST],
    length: u8,
}

impl TaskKey {
    /// Maximum number of key bytes.
    pub const LONGEST: usize = 20;

    /// Creates a key. Returns `None` if it has too many bytes.
    #[must_use]
    pub fn new(key: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::LONGEST];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self { bytes, length: key.len() as u8 })
    }

    /// Returns the key bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

/// Writes hexadecimal digits in upper case.
impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

impl fmt::Debug for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_files() {
        assert_eq!(numbered_file("00000001.reports"), Some((1, "reports")));
        assert_eq!(numbered_file("123456789.a.b"), Some((123_456_789, "a.b")));
        for name in
            ["0000001.reports", "+0000001.reports", "99999999999.reports", "00000001", "index.redb", ""]
        {
            assert_eq!(numbered_file(name), None, "{name}");
        }
    }

    #[test]
    fn keys_are_their_bytes() {
        let key = TaskKey::new(&[0xCA, 0xFE, 0, 1]).unwrap();
        assert_eq!((key.as_bytes(), key.to_string().as_str()), (&[0xCA, 0xFE, 0, 1][..], "CAFE0001"));
        assert_ne!(TaskKey::new(&[1]), TaskKey::new(&[1, 0]));
        assert!(TaskKey::new(&[7; 20]).is_some());
        assert_eq!(TaskKey::new(&[7; 21]), None);
        assert_eq!(TaskKey::new(&[]).unwrap().to_string(), "");
    }
}
