//! Checksums for a segment, in a file next to it.
//!
//! The file has one line per flushed part of the segment: offset, length in bytes, CRC-32 in hexadecimal digits, number
//! of reports, and time of writing in milliseconds since 1970. Reading stops at an incomplete line, or at a line that
//! does not continue the previous part.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::files;

/// First line in the file, for people.
pub(crate) const HEAD: &str = "# offset length crc32 reports time_ms\n";

/// Flushed part in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) crc: u32,
    pub(crate) reports: u64,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
}

impl Sum {
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    pub(crate) fn line(&self) -> String {
        let mut line = String::new();
        let Self { offset, length, crc, reports, time } = self;
        // Writing to a string never fails.
        let _ = writeln!(line, "{offset} {length} {crc:08x} {reports} {time}");
        line
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut number = || words.next()?.parse().ok();
        let (offset, length) = (number()?, number()?);
        let crc = words.next().filter(|word| word.len() == 8)?;
        let crc = u32::from_str_radix(crc, 16).ok()?;
        let mut number = || words.next()?.parse().ok();
        let (reports, time) = (number()?, number()?);
        words.next().is_none().then_some(Self { offset, length, crc, reports, time })
    }
}

/// Reads a segment's consecutive parts. A missing file has no parts.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Sum>> {
    match files::read(path) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn parse(text: &[u8]) -> Vec<Sum> {
    let mut sums: Vec<Sum> = Vec::new();
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let is_head = lines.next().is_some_and(|line| line == HEAD.as_bytes());
    for line in lines.take_while(|_| is_head) {
        let line = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        match line.and_then(Sum::parse) {
            Some(sum) if sum.offset == sums.last().map_or(0, Sum::end) && sum.length > 0 => sums.push(sum),
            _ => break,
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_torn_ends_it() {
        let first = Sum { offset: 0, length: 10, crc: 0xAB, reports: 1, time: 1_700_000_000_000 };
        let second = Sum { offset: 10, length: 7, crc: 0, reports: 2, time: 1_700_000_000_100 };
        let text = format!("{HEAD}{}{}", first.line(), second.line());
        assert_eq!(parse(text.as_bytes()), [first, second]);
        for end in 0..text.len() {
            let sums = parse(&text.as_bytes()[..end]);
            assert_eq!(sums.len(), usize::from(end >= HEAD.len() + first.line().len()), "{end}");
        }
        // A part must continue the previous part.
        assert_eq!(parse(format!("{HEAD}{}{}", first.line(), first.line()).as_bytes()), [first]);
        for bad in
            ["", "0", "0 0 00000000 0 0", "0 1 0 0 0", "0 1 0000000g 0 0", "0 1 00000000 0 0 0", "\u{1F600}"]
        {
            assert_eq!(parse(format!("{HEAD}{bad}\n").as_bytes()), [], "{bad}");
        }
        let most = u64::MAX;
        assert_eq!(
            parse(format!("{HEAD}0 {most} 00000000 {most} {most}\n1 1 00000000 1 1\n").as_bytes()).len(),
            1
        );
    }
}
