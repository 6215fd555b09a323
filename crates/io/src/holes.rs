//! Data and holes in sparse files.

use std::fs::File;
use std::ops::Range;

use crate::Bytes;

/// Parts of a file outside of its holes, in order. Holes are zeros that were never written. They take no space, but
/// reading them takes as long as reading data.
#[derive(Debug)]
pub struct DataRanges {
    /// File to query; `None` without known holes.
    file: Option<File>,
    /// File offset of the bytes.
    begin: u64,
    next: usize,
    end: usize,
}

impl Bytes {
    /// Returns the parts outside of holes from `from` on, if the system knows the holes. Otherwise returns a single
    /// part.
    #[must_use]
    pub fn data_ranges(&self, from: usize) -> DataRanges {
        let sparse = self.sparse_file();
        let (file, begin) = sparse.map_or((None, 0), |(file, begin)| (Some(file), begin));
        DataRanges { file, begin: begin as u64, next: from, end: self.len() }
    }

    /// Returns the number of bytes in a range that are in holes.
    #[must_use]
    pub fn bytes_in_holes(&self, range: Range<usize>) -> u64 {
        let end = range.end.min(self.len());
        let parts = self.data_ranges(range.start).take_while(|part| part.start < end);
        let data: u64 = parts.map(|part| (part.end.min(end) - part.start) as u64).sum();
        (end.saturating_sub(range.start) as u64).saturating_sub(data)
    }
}

impl Iterator for DataRanges {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.next >= self.end {
            return None;
        }
        let part = match &self.file {
            Some(file) => self.ask(file),
            None => Some(self.next..self.end),
        };
        self.next = part.as_ref().map_or(self.end, |part| part.end);
        part
    }
}

impl DataRanges {
    /// Queries the next part. Returns the whole rest if the system does not know the holes.
    fn ask(&self, file: &File) -> Option<Range<usize>> {
        let rest = self.next..self.end;
        let Ok(at) = i64::try_from(self.begin + self.next as u64) else { return Some(rest) };
        let begin = match seek(file, at, ExtentKind::Data) {
            Ok(begin) => begin,
            Err(SeekFailure::Nothing) => return None,
            Err(SeekFailure::Unknown) => return Some(rest),
        };
        let end = seek(file, begin, ExtentKind::Hole).ok();
        let within = |at: i64| usize::try_from(u64::try_from(at).ok()?.checked_sub(self.begin)?).ok();
        let begin = within(begin).unwrap_or(self.next).max(self.next);
        let end = end.and_then(within).unwrap_or(self.end).min(self.end);
        // A file that changes at the same time must not cause an endless loop.
        (begin < self.end).then(|| begin..end.max(begin + 1))
    }
}

enum ExtentKind {
    Data,
    Hole,
}

/// Reasons for a missing answer.
enum SeekFailure {
    /// No data up to the end of the file.
    Nothing,
    /// The system or the file system does not support the query.
    Unknown,
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn seek(file: &File, at: i64, wanted: ExtentKind) -> Result<i64, SeekFailure> {
    use std::os::fd::AsRawFd;
    let whence = match wanted {
        ExtentKind::Data => libc::SEEK_DATA,
        ExtentKind::Hole => libc::SEEK_HOLE,
    };
    // SAFETY: it takes only numbers, and the descriptor is open as long as `file` exists.
    let found = unsafe { libc::lseek(file.as_raw_fd(), at as libc::off_t, whence) };
    if found >= 0 {
        return Ok(found as i64);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ENXIO) => Err(SeekFailure::Nothing),
        _ => Err(SeekFailure::Unknown),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn seek(_: &File, _: i64, wanted: ExtentKind) -> Result<i64, SeekFailure> {
    // Uses both variants, so that they are not dead code here.
    Err(if matches!(wanted, ExtentKind::Data | ExtentKind::Hole) {
        SeekFailure::Unknown
    } else {
        SeekFailure::Nothing
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
// The list contains one range; it should not contain the numbers in the range.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;
    use crate::testing::TestDirectory;

    #[test]
    fn holes_of_a_file_of_a_terabyte_are_known_at_once() {
        let directory = TestDirectory::new("holes");
        let path = directory.join("sparse");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[1; 100_000]).unwrap();
        file.seek(SeekFrom::Start(1 << 39)).unwrap();
        file.write_all(&[2; 10]).unwrap();
        file.set_len(1 << 40).unwrap();
        drop(file);
        let Ok(bytes) = Bytes::from_file(&path) else {
            eprintln!("skipped: a terabyte cannot be mapped");
            return;
        };
        let ranges: Vec<_> = bytes.data_ranges(0).collect();
        if ranges.len() == 1 {
            eprintln!("skipped: the file system does not know of holes");
            return;
        }
        let [front, middle] = ranges.as_slice() else { panic!("{ranges:?}") };
        assert!(front.start == 0 && (100_000..200_000).contains(&front.end), "{front:?}");
        assert!(middle.contains(&((1 << 39) + 9)) && middle.len() <= 200_000, "{middle:?}");
        assert_eq!(bytes.data_ranges((1 << 39) + 5).next().map(|range| range.start), Some((1 << 39) + 5));
        assert_eq!(bytes.data_ranges((1 << 39) + 200_000).next(), None);
        let data = (front.len() + middle.len()) as u64;
        assert_eq!(bytes.bytes_in_holes(0..bytes.len()), (1 << 40) - data);
        assert_eq!(bytes.bytes_in_holes(0..1000), 0);
        // A part has offsets from its own start.
        let part = bytes.slice(50_000..1 << 39);
        assert_eq!(part.data_ranges(0).collect::<Vec<_>>(), [0..front.end - 50_000]);
        // Another file at the path does not count.
        std::fs::write(directory.join("other"), [3; 100]).unwrap();
        std::fs::rename(directory.join("other"), &path).unwrap();
        assert_eq!(bytes.data_ranges(7).collect::<Vec<_>>(), [7..1 << 40]);
    }

    #[test]
    fn other_bytes_have_no_holes() {
        let bytes = Bytes::from(vec![0; 1000]);
        assert_eq!(bytes.data_ranges(1).collect::<Vec<_>>(), [1..1000]);
        assert_eq!(bytes.data_ranges(1000).next(), None);
        assert_eq!(bytes.bytes_in_holes(0..usize::MAX), 0);
    }
}
