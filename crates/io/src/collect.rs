//! What those who collect the reports of a format have to know about it.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::Path;

use crate::plain_file::open_plain;

/// How to collect what programs send report by report while they run, in a format whose files are nothing but
/// such reports.
///
/// What is stored of a report ends with an empty line and has no other one, so that reports are found again in
/// a file without knowing their format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Collect {
    /// The port that programs send to by default, of UDP and of TCP.
    pub port: u16,
    /// The longest report in bytes that is taken unless somebody wants another limit.
    pub longest: usize,
    /// Checks a report and stores it.
    pub store: StoreReport,
}

/// Checks a report, appends what is to be stored of it to a buffer, and says which task it belongs to. What is
/// stored ends with `\n\n` and has these two bytes nowhere else. To store what was stored gives the same again.
/// Called with any bytes, from several threads.
///
/// # Errors
/// Why it is no report of the format, in a few words; then the buffer is as it was.
pub type StoreReport = fn(report: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str>;

impl Collect {
    /// Reports that are sent to a port, with at most this number of bytes.
    #[must_use]
    pub const fn new(port: u16, longest: usize, store: StoreReport) -> Self {
        Self { port, longest, store }
    }
}

/// The file in a directory with reports of a collector which says what they are. The collector that writes there has it
/// locked.
pub const COLLECTION: &str = "collection";
/// The beginning of this file; the name of the format and the end of the line follow.
pub const COLLECTION_HEAD: &str = "ichnos collection 1\nformat: ";

/// The extension of segments, the numbered files in the directory to which reports are appended.
pub const SEGMENT: &str = "reports";

/// Number and extension of a numbered file of a collector, such as `00000001.reports`; None: it is no file of a collector.
#[must_use]
pub fn numbered_file(name: &str) -> Option<(u32, &str)> {
    let (number, extension) = name.split_once('.')?;
    let is_number = number.len() >= 8 && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, extension))
}

/// Returns `true` if a file is a segment in a directory to which a collector writes.
pub(crate) fn is_being_collected(directory: &Path, name: &OsStr) -> bool {
    let is_locked = || -> io::Result<bool> {
        let file = open_plain(OpenOptions::new().read(true), &directory.join(COLLECTION))?;
        let mut head = Vec::new();
        (&file).take(COLLECTION_HEAD.len() as u64).read_to_end(&mut head)?;
        let is_collection = head == COLLECTION_HEAD.as_bytes();
        Ok(is_collection && matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    let is_segment = name.to_str().and_then(numbered_file).is_some_and(|(_, extension)| extension == SEGMENT);
    is_segment && is_locked().unwrap_or_default()
}

/// What distinguishes a task from all others: up to [20 bytes](Self::LONGEST).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskKey {
    /// Zeros behind the length.
    bytes: [u8; Self::LONGEST],
    length: u8,
}

impl TaskKey {
    /// The most bytes of a key.
    pub const LONGEST: usize = 20;

    /// The key of these bytes; None if there are too many.
    #[must_use]
    pub fn new(key: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::LONGEST];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self { bytes, length: key.len() as u8 })
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

/// As hexadecimal digits, in upper case.
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
