//! Recognizes common file types that ichnos does not read, by their first bytes.

use std::fmt;

use ichnos_io::{Entry, Hint};

use crate::format::FORMATS;

/// Number of bytes that are examined.
const HEAD: usize = 4096;

/// Describes a file that is a part of a trace and cannot be read alone.
pub(crate) fn describe(entry: &Entry) -> Option<Hint> {
    let bytes = entry.read().ok()?;
    let head = bytes.get(..HEAD).unwrap_or(&bytes);
    FORMATS.iter().find_map(|format| format.describe_file(head))
}

/// A file type that ichnos does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignFormat {
    /// Description with an article, for display.
    what: &'static str,
    /// Advice on how to access the content, if there is a way.
    advice: Option<&'static str>,
    /// `true` for traces and other recordings.
    pub(crate) is_trace: bool,
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, which ichnos does not read", self.what)?;
        match self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl ForeignFormat {
    /// Returns the type of a file; `None` if it is unknown, or cannot be read.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        let bytes = entry.read().ok()?;
        Self::recognise(bytes.get(..HEAD).unwrap_or(&bytes))
    }

    /// Returns the type of a file that begins with these bytes.
    fn recognise(head: &[u8]) -> Option<Self> {
        let of_magic = MAGICS.iter().find(|magic| head.starts_with(magic.bytes));
        of_magic
            .map(|magic| magic.file)
            .or_else(|| elf(head))
            .or_else(|| etl(head))
            .or_else(|| text(head))
            .or_else(|| protobuf(head))
            .or_else(|| {
                let is_zeros = !head.is_empty() && head.iter().all(|byte| *byte == 0);
                is_zeros.then_some(Self::other("a file that begins with zeros"))
            })
    }

    const fn trace(what: &'static str) -> Self {
        Self { what, advice: None, is_trace: true }
    }

    const fn other(what: &'static str) -> Self {
        Self { what, advice: None, is_trace: false }
    }
}

/// Magic number of a file type.
struct Magic {
    bytes: &'static [u8],
    file: ForeignFormat,
}

const fn trace(bytes: &'static [u8], what: &'static str) -> Magic {
    Magic { bytes, file: ForeignFormat::trace(what) }
}

const fn other(bytes: &'static [u8], what: &'static str) -> Magic {
    Magic { bytes, file: ForeignFormat::other(what) }
}

const fn of_perf(bytes: &'static [u8]) -> Magic {
    Magic { bytes, file: ForeignFormat { advice: Some(PERF), ..ForeignFormat::trace("a perf.data file") } }
}

const PERF: &str = "`perf data convert --to-ctf DIR` makes a CTF trace of it";

const MAGICS: &[Magic] = &[
    of_perf(b"PERFILE2"),
    of_perf(b"2ELIFREP"),
    of_perf(b"PERFFILE"),
    trace(b"\xa1\xb2\xc3\xd4", "a pcap file (network capture)"),
    trace(b"\xd4\xc3\xb2\xa1", "a pcap file (network capture)"),
    trace(b"\xa1\xb2\x3c\x4d", "a pcap file (network capture)"),
    trace(b"\x4d\x3c\xb2\xa1", "a pcap file (network capture)"),
    trace(b"\x0a\x0d\x0d\x0a", "a pcapng file (network capture)"),
    trace(b"\x10\x00\x04FxT\x16\x00", "a trace in FXT, Fuchsia's trace format"),
    trace(b"\x17\x08\x44tracing", "a trace.dat file (trace-cmd, ftrace)"),
    trace(b"LPKSHHRH", "a systemd journal"),
    trace(b"FLR\x00", "a Java Flight Recorder recording"),
    other(b"SQLite format 3\x00", "a SQLite database"),
    other(b"%PDF-", "a PDF document"),
    other(b"\x89PNG\r\n\x1a\n", "a PNG image"),
    other(b"\xff\xd8\xff", "a JPEG image"),
    other(b"PAR1", "a Parquet file"),
    other(b"ARROW1\x00\x00", "an Arrow file"),
    other(b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    other(b"\xca\xfe\xba\xbe", "a program or class file"),
    other(b"\xcf\xfa\xed\xfe", "a program or library (Mach-O)"),
    other(b"MZ", "a Windows program or library"),
    other(b"\x04\x22\x4d\x18", "an LZ4 file: unpack it first"),
    other(b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    other(b"Rar!\x1a\x07", "a RAR archive: unpack it first"),
];

/// Recognizes programs, libraries, and core dumps.
fn elf(head: &[u8]) -> Option<ForeignFormat> {
    const CORE: u16 = 4;
    head.strip_prefix(b"\x7fELF")?;
    let kind = [*head.get(16)?, *head.get(17)?];
    let is_big_endian = head.get(5) == Some(&2);
    let kind = if is_big_endian { u16::from_be_bytes(kind) } else { u16::from_le_bytes(kind) };
    Some(ForeignFormat::other(if kind == CORE {
        "a core dump (ELF) of a program that crashed"
    } else {
        "a program or library (ELF)"
    }))
}

/// Recognizes Event Tracing for Windows: a buffer whose first event has a system header, in one of two versions, for
/// 32 or 64 bits.
fn etl(head: &[u8]) -> Option<ForeignFormat> {
    /// Offset of the first event in a buffer.
    const EVENT: usize = 0x48;
    let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let size = word(0)?;
    let is_header = matches!(word(EVENT)?, 0xc001_0001 | 0xc001_0002 | 0xc002_0001 | 0xc002_0002);
    (size > 0 && size % 1024 == 0 && is_header)
        .then_some(ForeignFormat::trace("an ETL file (Event Tracing for Windows)"))
}

/// Recognizes text.
fn text(head: &[u8]) -> Option<ForeignFormat> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The end may be within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b' | '\x1e');
    if text.is_empty() || !text.chars().all(is_plain) {
        return None;
    }
    let begin = text.trim_start_matches(['\u{feff}', '\x1e', ' ', '\n', '\r', '\t']);
    let first = begin.lines().next().unwrap_or_default();
    if begin.starts_with(['{', '[']) && !is_of_strace(first) {
        let has = |part: &str| begin.contains(part);
        return Some(if has("\"traceEvents\"") || (has("\"ph\"") && has("\"ts\"")) {
            ForeignFormat::trace("a trace in Chrome's JSON format")
        } else {
            ForeignFormat::other("a JSON file")
        });
    }
    Some(if begin.starts_with("# tracer: ") {
        ForeignFormat::trace("ftrace output")
    } else if is_of_strace(first) {
        ForeignFormat::trace("strace output")
    } else if begin.starts_with("#Paraver") {
        ForeignFormat::trace("a Paraver trace")
    } else if begin.starts_with("<?xml") {
        ForeignFormat::other("an XML file")
    } else if begin.get(..15).is_some_and(|begin| begin.eq_ignore_ascii_case("<!doctype html>")) {
        ForeignFormat::other("an HTML page")
    } else {
        ForeignFormat::other("a text file")
    })
}

/// `true` if a line has the form `[pid 1] 12:00:00 name(arguments) = result`.
fn is_of_strace(line: &str) -> bool {
    let Some((before, after)) = line.split_once('(') else { return false };
    let name = before.rsplit(' ').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(is_name) && (after.contains(") = ") || after.contains("<unfinished"))
}

/// Recognizes Perfetto traces and pprof profiles. Both are protobuf messages that begin with members of number 1 that
/// are messages themselves.
fn protobuf(head: &[u8]) -> Option<ForeignFormat> {
    /// Maximum number of examined members.
    const MOST: usize = 64;
    let mut rest = head;
    let mut are_types = true;
    let mut count = 0;
    while !rest.is_empty() && count < MOST {
        let Some(member) = Member::take(&mut rest) else { break };
        if (member.number, member.kind) != (1, MemberKind::Bytes) {
            // In a profile, samples follow.
            if count == 0 || !are_types {
                return None;
            }
            break;
        }
        let is_whole = member.bytes.len() == member.len;
        let mut inner = member.bytes;
        let mut numbers = Vec::new();
        while !inner.is_empty() && numbers.len() < MOST {
            match Member::take(&mut inner) {
                Some(member) => numbers.push((member.number, member.kind)),
                // Content after the examined bytes is unknown.
                None if is_whole => return None,
                None => break,
            }
        }
        if numbers.is_empty() {
            return None;
        }
        are_types &= numbers.iter().all(|(number, kind)| *number <= 2 && *kind == MemberKind::Number);
        count += 1;
        if !is_whole {
            break;
        }
    }
    match count {
        0 => None,
        _ if are_types => Some(ForeignFormat::other("a pprof profile")),
        _ => Some(ForeignFormat::trace("a Perfetto trace")),
    }
}

/// Kind of a member's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberKind {
    Number,
    Bytes,
    Fixed,
}

/// A member of a protobuf message.
struct Member<'a> {
    number: u64,
    kind: MemberKind,
    /// Length in bytes.
    len: usize,
    /// Its examined bytes.
    bytes: &'a [u8],
}

impl<'a> Member<'a> {
    /// Takes a member from the beginning; `None` at the end or if it is invalid.
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let tag = number(rest)?;
        let (kind, len) = match tag & 7 {
            0 => {
                number(rest)?;
                (MemberKind::Number, 0)
            }
            1 => (MemberKind::Fixed, 8),
            2 => (MemberKind::Bytes, usize::try_from(number(rest)?).ok().filter(|len| *len < 1 << 31)?),
            5 => (MemberKind::Fixed, 4),
            _ => return None,
        };
        let number = Some(tag >> 3).filter(|number| (1..1 << 29).contains(number))?;
        let (bytes, after) = rest.split_at(len.min(rest.len()));
        *rest = after;
        Some(Self { number, kind, len, bytes })
    }
}

/// Takes a variable-length number with seven bits per byte.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    fn what(bytes: &[u8]) -> &'static str {
        ForeignFormat::recognise(bytes).map_or("", |known| known.what)
    }

    #[test]
    fn by_magic_numbers() {
        for magic in MAGICS {
            let mut bytes = magic.bytes.to_vec();
            assert_eq!(what(&bytes), magic.file.what);
            bytes.extend([0xff; 100]);
            assert_eq!(what(&bytes), magic.file.what);
            bytes.truncate(magic.bytes.len() - 1);
            assert_ne!(what(&bytes), magic.file.what);
        }
    }

    #[test]
    fn programs() {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[16] = 3;
        assert_eq!(what(&bytes), "a program or library (ELF)");
        bytes[16] = 4;
        assert!(what(&bytes).contains("core dump"));
        (bytes[5], bytes[16], bytes[17]) = (2, 0, 4);
        assert!(what(&bytes).contains("core dump"));
    }

    #[test]
    fn event_tracing_for_windows() {
        let mut bytes = vec![0; 256];
        bytes[..4].copy_from_slice(&0x10000u32.to_le_bytes());
        bytes[0x48..0x4c].copy_from_slice(&0xc002_0002u32.to_le_bytes());
        assert!(what(&bytes).contains("ETL"));
        bytes[0] = 1;
        assert_eq!(what(&bytes), "");
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            ("hello", "a text file"),
            ("grüezi\n\tmitenand\r\n", "a text file"),
            ("{\"traceEvents\": [", "a trace in Chrome's JSON format"),
            ("[{\"name\":\"x\",\"ph\":\"B\",\"ts\":1}", "a trace in Chrome's JSON format"),
            (" [1, 2]", "a JSON file"),
            ("execve(\"/bin/ls\", [\"ls\"], 0x7ff /* 9 vars */) = 0\n", "strace output"),
            ("[pid 7] 12:00:01.5 openat(AT_FDCWD, \"x\") = -1 ENOENT", "strace output"),
            ("# tracer: function\n#", "ftrace output"),
            ("<?xml version=\"1.0\"?>", "an XML file"),
            ("<!DOCTYPE html><html>", "an HTML page"),
        ] {
            assert_eq!(what(text.as_bytes()), expected, "{text}");
        }
        // The last character is incomplete.
        let text = "ü".repeat(HEAD);
        assert_eq!(what(&text.as_bytes()[..HEAD - 1]), "a text file");
        assert_eq!(what(b"text\xff"), "");
        assert_eq!(what(b"bell\x07"), "");
    }

    #[test]
    fn messages_of_protobuf() {
        // A packet with a time stamp (8) and a sequence id (10), twice.
        let packet = b"\x0a\x04\x40\x01\x50\x02";
        assert_eq!(what(&packet.repeat(2)), "a Perfetto trace");
        assert_eq!(what(&packet.repeat(2000)[..HEAD]), "a Perfetto trace");
        // Types of values, then a sample.
        let profile = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x02\x0a\x00";
        assert_eq!(what(profile), "a pprof profile");
        assert_eq!(what(b"\x0a\x04\x08\x01\x10"), "a pprof profile");
        assert_eq!(what(b"\x0a\x02\xff\xff"), "");
        assert_eq!(what(b"\x12\x02\xff\xff"), "");
    }

    #[test]
    fn unknown_bytes() {
        assert_eq!(what(b""), "");
        assert_eq!(what(&[0; 100]), "a file that begins with zeros");
        assert_eq!(what(&[0xc3; 100]), "");
        // Random bytes are examined without a panic.
        cases(2_000, |random| {
            let mut bytes = random.bytes(random.seed() as usize % 97);
            if let Some(first) = bytes.first_mut() {
                *first = 0x0a;
            }
            let _ = ForeignFormat::recognise(&bytes);
        });
    }
}
