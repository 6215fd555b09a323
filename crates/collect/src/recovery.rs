//! Recovers segments that were not closed properly.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use ichnos_io::CollectSettings;

use crate::directory;
use crate::pieces::{END, Pieces};
use crate::sums::{self, Sum};
use crate::{CollectError, Notice, files};

/// Approximate maximum size for a part with a new checksum, in bytes.
const PART: u64 = 4 << 20;

/// Recovers a segment that no process writes to, so that it consists only of reports with checksums. Moves damaged data
/// to a separate file. Returns `None` if there was nothing to do, or the segment was removed.
pub(crate) fn recover(
    directory: &Path,
    number: u32,
    collect: &CollectSettings,
) -> Result<Option<Notice>, CollectError> {
    let path = directory::segment(directory, number);
    match recover_segment(directory, number, collect) {
        // Closed segments may be removed at any time.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => Ok(None),
        result => result.map_err(CollectError::at(&path)),
    }
}

fn recover_segment(directory: &Path, number: u32, collect: &CollectSettings) -> io::Result<Option<Notice>> {
    let path = directory::segment(directory, number);
    // A closed segment may be a link, so it is only read.
    let mut file = ichnos_io::open_linked(&path)?;
    let length = file.metadata()?.len();
    let modified = file.metadata()?.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default().as_millis().try_into().unwrap_or(u64::MAX);
    let sums = sums::read(&directory::sums(directory, number))?;
    let mut found = SegmentContent::default();
    // `bad` has the start and the time of data without a valid checksum. Consecutive invalid parts are checked
    // together: their bounds are uncertain and may be within reports.
    let (mut end, mut bad) = (0, None);
    for sum in sums.iter().take_while(|sum| sum.end() <= length) {
        if crc(&mut file, sum)? == sum.crc {
            if let Some((from, time)) = bad.take() {
                found.check(&file, from, sum.offset, time, collect)?;
            }
            found.parts.push(*sum);
        } else {
            bad.get_or_insert((sum.offset, sum.time));
        }
        end = sum.end();
    }
    if bad.is_none() && end == length && found.is_in_order(sums.len()) {
        return Ok(None);
    }
    let (from, time) = bad.unwrap_or((end, modified));
    found.check(&file, from, length, time, collect)?;
    if found.damaged.is_empty() && found.parts.iter().eq(&sums) {
        return Ok(None);
    }
    // Changed files must be plain files.
    let mut file = files::open(&path)?;
    let damaged = directory::damaged(directory, number);
    let damaged_bytes = found.damaged.iter().map(|(begin, end)| end - begin).sum();
    if damaged_bytes > 0 {
        // Copy first, then change: after a kill in between, the data is only copied twice.
        append(&mut file, &found.damaged, &damaged)?;
        directory::sync_directory(directory)?;
    }
    let first_damage = found.damaged.first().map_or(u64::MAX, |(begin, _)| *begin);
    let kept: Vec<(u64, u64)> = found.parts.iter().map(|part| (part.offset, part.end())).collect();
    let before = kept.iter().take_while(|(_, end)| *end <= first_damage).count();
    let mut offset = 0;
    for part in &mut found.parts {
        part.offset = offset;
        offset = part.end();
    }
    file.sync_all()?;
    // Parts before the first damage do not move, so their checksums stay valid. Later checksums must be removed before
    // the change. Data without a checksum is checked report by report.
    write_sums(directory, number, found.parts.get(..before).unwrap_or_default())?;
    if before < kept.len() {
        keep_only(&mut file, &kept, &path)?;
        directory::sync_directory(directory)?;
        write_sums(directory, number, &found.parts)?;
    } else if damaged_bytes > 0 {
        let segment = ichnos_io::open_plain(OpenOptions::new().write(true), &path)?;
        segment.set_len(offset)?;
        segment.sync_all()?;
    }
    // Data with a checksum that is missing in the file.
    let missing_bytes = sums.last().map_or(0, Sum::end).saturating_sub(length);
    let reports = found.reports;
    let is_worth_telling = reports > 0 || damaged_bytes > 0 || missing_bytes > 0;
    let notice = Notice::Recovered { path, reports, damaged_bytes, damaged, missing_bytes };
    Ok(is_worth_telling.then_some(notice))
}

/// Keeps only the given ranges of a file.
fn keep_only(file: &mut File, ranges: &[(u64, u64)], path: &Path) -> io::Result<()> {
    let new = path.with_extension("new");
    let copied = copy(file, ranges, &files::replace(&new)?);
    copied.inspect_err(|_| drop(fs::remove_file(&new)))?;
    fs::rename(&new, path)
}

/// Appends ranges of a file to another file. A failed copy appends nothing.
fn append(file: &mut File, ranges: &[(u64, u64)], path: &Path) -> io::Result<()> {
    let out = ichnos_io::open_plain(OpenOptions::new().create(true).append(true), path)?;
    let before = out.metadata()?.len();
    copy(file, ranges, &out).inspect_err(|_| {
        // Otherwise repeated partial copies would fill the disk.
        let _ = out.set_len(before);
    })
}

/// Recovered segment content.
#[derive(Debug, Default)]
struct SegmentContent {
    /// Parts, sorted by their old offsets.
    parts: Vec<Sum>,
    /// Start and end of each damaged range.
    damaged: Vec<(u64, u64)>,
    /// Number of reports without a valid checksum.
    reports: u64,
}

impl SegmentContent {
    fn is_in_order(&self, parts: usize) -> bool {
        self.damaged.is_empty() && self.reports == 0 && self.parts.len() == parts
    }

    /// Checks a range report by report.
    fn check(
        &mut self,
        file: &File,
        begin: u64,
        end: u64,
        time: u64,
        collect: &CollectSettings,
    ) -> io::Result<()> {
        let mut pieces = Pieces::new(file.try_clone()?, begin, end)?;
        let mut stored = Vec::new();
        let mut open: Option<(Sum, crc32fast::Hasher)> = None;
        while let Some(piece) = pieces.next_piece()? {
            stored.clear();
            let is_whole = piece.text.ends_with(END) && (collect.store)(piece.text, &mut stored).is_ok();
            let length = piece.text.len() as u64;
            // A collector would have stored this report in another form.
            if !is_whole || stored != piece.text {
                self.close(&mut open);
                match self.damaged.last_mut().filter(|(_, end)| *end == piece.offset) {
                    Some((_, end)) => *end += length,
                    None => self.damaged.push((piece.offset, piece.offset + length)),
                }
                continue;
            }
            let (part, crc) = open.get_or_insert_with(|| {
                let part = Sum { offset: piece.offset, length: 0, crc: 0, reports: 0, time };
                (part, crc32fast::Hasher::new())
            });
            crc.update(piece.text);
            part.length += length;
            part.reports += 1;
            self.reports += 1;
            if part.length >= PART {
                self.close(&mut open);
            }
        }
        self.close(&mut open);
        Ok(())
    }

    fn close(&mut self, open: &mut Option<(Sum, crc32fast::Hasher)>) {
        if let Some((part, crc)) = open.take() {
            self.parts.push(Sum { crc: crc.finalize(), ..part });
        }
    }
}

/// Returns the checksum for a part's content.
fn crc(file: &mut File, part: &Sum) -> io::Result<u32> {
    file.seek(SeekFrom::Start(part.offset))?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    let mut rest = file.take(part.length);
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            read => hasher.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Replaces the checksums, and waits until they are on the disk.
fn write_sums(directory: &Path, number: u32, parts: &[Sum]) -> io::Result<()> {
    let path = directory::sums(directory, number);
    let new = path.with_extension("sums-new");
    let mut text = sums::HEAD.to_owned();
    parts.iter().for_each(|part| text.push_str(&part.line()));
    let mut file = files::replace(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    directory::sync_directory(directory)
}

/// Copies ranges of a file, and waits until they are on the disk.
fn copy(file: &mut File, ranges: &[(u64, u64)], out: &File) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for (begin, end) in ranges {
        file.seek(SeekFrom::Start(*begin))?;
        io::copy(&mut file.take(end - begin), &mut out)?;
    }
    out.flush()?;
    out.get_ref().sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use ichnos_io::TaskKey;

    /// Reports are numbers.
    fn store(report: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str> {
        let text = report.trim_ascii_end();
        if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
            return Err("not a number");
        }
        buffer.extend_from_slice(text);
        buffer.extend_from_slice(END);
        TaskKey::new(text).ok_or("too long")
    }

    const COLLECT: CollectSettings = CollectSettings::new(1, 100, store);

    struct RecoveryCase {
        directory: tempfile::TempDir,
    }

    impl RecoveryCase {
        /// Creates a segment with two parts and their checksums, followed by other data.
        fn new(behind: &[u8]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let mut segment = Segment::create(directory.path(), 1).unwrap();
            for part in [b"1\n\n2\n\n", b"3\n\n4\n\n"] {
                segment.write(part).unwrap();
                segment.flush(part, 2).unwrap();
            }
            segment.write(behind).unwrap();
            Self { directory }
        }

        fn read(&self, path: impl Fn(&Path, u32) -> std::path::PathBuf) -> String {
            fs::read_to_string(path(self.directory.path(), 1)).unwrap_or_default()
        }

        /// Recovers the segment, and checks the result. Returns the number of recovered reports, and the text.
        fn recover(&self) -> (u64, String) {
            let notice = recover(self.directory.path(), 1, &COLLECT).unwrap();
            assert!(recover(self.directory.path(), 1, &COLLECT).unwrap().is_none());
            let text = self.read(directory::segment);
            let sums = sums::read(&directory::sums(self.directory.path(), 1)).unwrap();
            assert_eq!(sums.last().map_or(0, Sum::end), text.len() as u64);
            let reports: u64 = sums.iter().map(|sum| sum.reports).sum();
            assert_eq!(reports, text.matches("\n\n").count() as u64);
            for sum in &sums {
                assert_eq!(
                    sum.crc,
                    crc32fast::hash(&text.as_bytes()[sum.offset as usize..sum.end() as usize])
                );
            }
            match notice {
                Some(Notice::Recovered { reports, .. }) => (reports, text),
                _ => (0, text),
            }
        }
    }

    const WHOLE: &str = "1\n\n2\n\n3\n\n4\n\n";

    #[test]
    fn what_is_in_order_stays() {
        let case = RecoveryCase::new(b"");
        let sums = case.read(directory::sums);
        assert_eq!(case.recover(), (0, WHOLE.to_owned()));
        assert_eq!(case.read(directory::sums), sums);
    }

    #[test]
    fn a_torn_tail() {
        let case = RecoveryCase::new(b"5\n\n6\n\n7");
        assert_eq!(case.recover(), (2, format!("{WHOLE}5\n\n6\n\n")));
        assert_eq!(case.read(directory::damaged), "7");
        let case = RecoveryCase::new(b"5\n\n6\n");
        assert_eq!(case.recover(), (1, format!("{WHOLE}5\n\n")));
        assert_eq!(case.read(directory::damaged), "6\n");
        let case = RecoveryCase::new(b"5\n\n");
        assert_eq!(case.recover(), (1, format!("{WHOLE}5\n\n")));
        assert_eq!(case.read(directory::damaged), "");
    }

    /// Zeros between reports, as after a power failure.
    #[test]
    fn damage_between_reports() {
        let case = RecoveryCase::new(b"5\n\n\0\0\0\n\n6\n\nx\n\n");
        assert_eq!(case.recover(), (2, format!("{WHOLE}5\n\n6\n\n")));
        assert_eq!(case.read(directory::damaged), "\0\0\0\n\nx\n\n");
    }

    #[test]
    fn a_part_whose_checksum_is_wrong() {
        let case = RecoveryCase::new(b"5\n\n");
        let path = directory::segment(case.directory.path(), 1);
        fs::write(&path, b"1\n\nX\n\n3\n\n4\n\n5\n\n").unwrap();
        assert_eq!(case.recover(), (2, "1\n\n3\n\n4\n\n5\n\n".to_owned()));
        assert_eq!(case.read(directory::damaged), "X\n\n");
    }

    #[test]
    fn without_checksums() {
        for sums in ["", "garbage", "# offset length crc32 reports time_ms\n0 100 00000000 1 1\n"] {
            let case = RecoveryCase::new(b"");
            fs::write(directory::sums(case.directory.path(), 1), sums).unwrap();
            assert_eq!(case.recover(), (4, WHOLE.to_owned()), "{sums}");
        }
        let case = RecoveryCase::new(b"");
        fs::remove_file(directory::sums(case.directory.path(), 1)).unwrap();
        assert_eq!(case.recover(), (4, WHOLE.to_owned()));
        let case = RecoveryCase::new(b"");
        fs::write(directory::segment(case.directory.path(), 1), "").unwrap();
        assert_eq!(case.recover(), (0, String::new()));
    }

    /// Reports of different lengths, a few in each part. No two reports end alike.
    const PARTS: [&str; 4] =
        ["101\n\n2000002\n\n", "303\n\n", "40004\n\n505\n\n6000006\n\n", "70007\n\n808\n\n"];

    /// Creates a segment of these parts.
    fn parts() -> RecoveryCase {
        let directory = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(directory.path(), 1).unwrap();
        for part in PARTS {
            segment.write(part.as_bytes()).unwrap();
            segment.flush(part.as_bytes(), part.matches("\n\n").count() as u64).unwrap();
        }
        RecoveryCase { directory }
    }

    /// A killed recovery has left a segment without its damage, and all or the first of the old checksums. No report is
    /// lost.
    #[test]
    fn checksums_of_the_segment_before() {
        let whole = PARTS.concat();
        for removed in whole.split_inclusive("\n\n") {
            for kept in 0..=PARTS.len() {
                let case = parts();
                let text = whole.replacen(removed, "", 1);
                fs::write(directory::segment(case.directory.path(), 1), &text).unwrap();
                let sums = case.read(directory::sums);
                let sums: String = sums.split_inclusive('\n').take(1 + kept).collect();
                fs::write(directory::sums(case.directory.path(), 1), sums).unwrap();
                assert_eq!(case.recover().1, text, "{removed:?} {kept}");
                assert_eq!(case.read(directory::damaged), "");
            }
        }
    }

    /// A wrong digit in the checksums loses no report.
    #[test]
    fn a_wrong_digit_in_the_checksums() {
        let whole = PARTS.concat();
        let sums = parts().read(directory::sums);
        for at in sums::HEAD.len()..sums.len() {
            for digit in b"0123456789af" {
                let mut sums = sums.clone().into_bytes();
                if !sums[at].is_ascii_hexdigit() {
                    continue;
                }
                sums[at] = *digit;
                let case = parts();
                fs::write(directory::sums(case.directory.path(), 1), sums).unwrap();
                let notice = recover(case.directory.path(), 1, &COLLECT).unwrap();
                assert_eq!(case.read(directory::segment), whole, "{at} {digit} {notice:?}");
                assert_eq!(case.read(directory::damaged), "");
                assert!(recover(case.directory.path(), 1, &COLLECT).unwrap().is_none());
            }
        }
    }

    /// Damage loses only the reports that it hits. Parts before and after keep their checksums.
    #[test]
    fn damage_within_a_part() {
        let whole = PARTS.concat();
        for at in 0..whole.len() {
            let case = parts();
            let before = sums::read(&directory::sums(case.directory.path(), 1)).unwrap();
            let mut text = whole.clone().into_bytes();
            text[at] = b'X';
            fs::write(directory::segment(case.directory.path(), 1), &text).unwrap();
            let (_, left) = case.recover();
            let left: Vec<_> = left.split_inclusive("\n\n").collect();
            // Two reports without a separator between them are damage. Other parts are not affected.
            let text = String::from_utf8(text).unwrap();
            let parts = before.iter().map(|sum| &text[sum.offset as usize..sum.end() as usize]);
            let pieces = parts.flat_map(|part| part.split_inclusive("\n\n"));
            let expected: Vec<_> =
                pieces.filter(|piece| whole.split_inclusive("\n\n").any(|report| report == *piece)).collect();
            assert_eq!(left, expected, "{at}");
            let after = sums::read(&directory::sums(case.directory.path(), 1)).unwrap();
            let kept = before.iter().filter(|sum| after.iter().any(|new| new.crc == sum.crc)).count();
            assert_eq!(kept, PARTS.len() - 1, "{at}");
        }
    }

    /// A segment truncated anywhere keeps all complete reports.
    #[test]
    fn cut_anywhere() {
        for end in 0..WHOLE.len() {
            let case = RecoveryCase::new(b"");
            let path = directory::segment(case.directory.path(), 1);
            OpenOptions::new().write(true).open(&path).unwrap().set_len(end as u64).unwrap();
            let (_, text) = case.recover();
            assert_eq!(text, &WHOLE[..end / 3 * 3]);
            assert_eq!(case.read(directory::damaged), &WHOLE[end / 3 * 3..end]);
        }
    }
}
