//! Binary files, recognized by magic numbers.

use super::ForeignFormat;

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

impl Magic {
    const fn advising(self, advice: &'static str) -> Self {
        Self { file: self.file.advising(advice), ..self }
    }
}

const fn perf(bytes: &'static [u8]) -> Magic {
    trace(bytes, "a perf.data file").advising("`perf data convert --to-ctf DIR` converts it to a CTF trace")
}

const fn pcap(bytes: &'static [u8]) -> Magic {
    trace(bytes, "a pcap file (network capture)")
}

const fn tracy(bytes: &'static [u8]) -> Magic {
    trace(bytes, "a Tracy capture").advising("`tracy-csvexport` prints its zones")
}

const UTF_16: ForeignFormat =
    ForeignFormat::other("UTF-16 text").advising("`iconv -f UTF-16 -t UTF-8 FILE` converts it to UTF-8");

const MAGICS: &[Magic] = &[
    perf(b"PERFILE2"),
    perf(b"2ELIFREP"),
    perf(b"PERFFILE"),
    pcap(b"\xa1\xb2\xc3\xd4"),
    pcap(b"\xd4\xc3\xb2\xa1"),
    pcap(b"\xa1\xb2\x3c\x4d"),
    pcap(b"\x4d\x3c\xb2\xa1"),
    trace(b"\x0a\x0d\x0d\x0a", "a pcapng file (network capture)"),
    trace(b"\x10\x00\x04FxT\x16\x00", "a trace in FXT, Fuchsia's trace format"),
    trace(b"\x17\x08\x44tracing", "a trace.dat file (trace-cmd, ftrace)")
        .advising("record it with LTTng or `perf`, which can write CTF, or read `trace-cmd report`"),
    trace(b"LPKSHHRH", "a systemd journal").advising("`journalctl -o json` prints a journal as JSON Lines"),
    trace(b"FLR\x00", "a Java Flight Recorder recording").advising("`jfr print FILE` prints it"),
    trace(b"ElfFile\x00", "a Windows event log (EVTX)").advising("`wevtutil qe FILE /lf` prints it as XML"),
    trace(b"\x89MCAP0\r\n", "an MCAP file (robotics)").advising(ROS),
    trace(b"#ROSBAG V", "a ROS bag").advising(ROS),
    tracy(b"tlZ\x04"),
    tracy(b"tZst"),
    tracy(b"tracy\x00"),
    trace(b"MDF     ", "a measurement file (ASAM MDF)").advising(MDF),
    trace(b"UnFinMF ", "a measurement file (ASAM MDF)").advising(MDF),
    trace(b"LOGG\x90\0\0\0", "a Vector BLF file (CAN)"),
    trace(b"DLT\x01", "a DLT file (AUTOSAR diagnostic log and trace)"),
    trace(b"hdrb", "a GHC event log"),
    trace(b"Ftrace!\x00", "uftrace data").advising("`uftrace dump` prints it"),
    trace(b"\x0d\xf0\xad\x0b\0\0\0\0", "a Spall trace"),
    trace(b"\xff\xff\xff\xff\xff\xff\xff\xff\xb4\x29\xa4\x0a\xcb\x77\xb1\xf2", "a QEMU trace (simpletrace)")
        .advising("the trace backend `ust` of QEMU records the same events with LTTng"),
    trace(b"PML_", "a Process Monitor log"),
    other(b"MDMP", "a Windows minidump"),
    other(b"PAGEDU", "a Windows memory dump"),
    other(b"JAVA PROFILE 1.0", "a Java heap dump (HPROF)"),
    other(b"gmon\x01", "a gprof profile"),
    other(b"RDOC", "a RenderDoc capture"),
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

const ROS: &str = "`ros2 trace` records the same nodes with LTTng, as CTF";
const MDF: &str = "`asammdf` converts it to tables";

/// Recognizes binary files.
pub(super) fn recognize(head: &[u8]) -> Option<ForeignFormat> {
    let magic = MAGICS.iter().find(|magic| head.starts_with(magic.bytes));
    magic
        .map(|magic| magic.file)
        .or_else(|| elf(head))
        .or_else(|| etl(head))
        .or_else(|| memtrace(head))
        .or_else(|| fast_serialization(head))
        .or_else(|| go(head))
        .or_else(|| system_view(head))
        .or_else(|| bzip2(head))
        .or_else(|| utf_16_with_mark(head))
        .or_else(|| utf_16_without_mark(head))
}

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

/// Returns the integer at an offset, little-endian.
fn word(head: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?))
}

/// Recognizes Event Tracing for Windows. The first event of its buffer has a system header, in one of two versions,
/// for 32 or 64 bits.
fn etl(head: &[u8]) -> Option<ForeignFormat> {
    /// Offset of the first event in a buffer.
    const EVENT: usize = 0x48;
    let size = word(head, 0)?;
    let is_header = matches!(word(head, EVENT)?, 0xc001_0001 | 0xc001_0002 | 0xc002_0001 | 0xc002_0002);
    (size > 0 && size % 1024 == 0 && is_header)
        .then_some(ForeignFormat::trace("an ETL file (Event Tracing for Windows)"))
}

/// Recognizes memtrace, the OCaml allocation traces. Packets have the CTF magic number, then their size in bits, and
/// their times in microseconds since 1970.
pub(super) fn memtrace(head: &[u8]) -> Option<ForeignFormat> {
    /// Microseconds from 1970 to 2000, and to 2200.
    const TIMES: std::ops::Range<u64> = 946_684_800_000_000..7_258_118_400_000_000;
    head.strip_prefix(b"\xc1\x1f\xfc\xc1")?;
    let time = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let (size, begin, end) = (word(head, 4)?, time(8)?, time(16)?);
    let version = u16::from_le_bytes(*head.get(28..)?.first_chunk()?);
    let is_memtrace = size % 8 == 0 && begin <= end && TIMES.contains(&begin) && (1..=3).contains(&version);
    is_memtrace
        .then_some(ForeignFormat::trace("a memtrace file (OCaml)").advising("`memtrace_viewer` shows it"))
}

/// Recognizes FastSerialization objects by the name of the first object.
fn fast_serialization(head: &[u8]) -> Option<ForeignFormat> {
    /// Name offset: after the magic number, three tags, two versions and the name length.
    const NAME: usize = 39;
    head.strip_prefix(b"\x14\0\0\0!FastSerialization.1")?;
    let name = head.get(NAME..)?;
    Some(if name.starts_with(b"Microsoft.Diagnostics.Tracing.Etlx.TraceLog") {
        ForeignFormat::trace("an ETLX file (the cache of TraceEvent and PerfView)")
            .advising("read the `.nettrace` file next to it, from which it was made")
    } else if name.starts_with(b"GCHeapDump") {
        ForeignFormat::other("a .NET heap dump (dotnet-gcdump)")
            .advising("`dotnet-gcdump report FILE` prints it")
    } else {
        return None;
    })
}

/// Recognizes Go execution traces: `go 1.22 trace` and zeros.
fn go(head: &[u8]) -> Option<ForeignFormat> {
    let rest = head.strip_prefix(b"go 1.")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_trace = digits > 0 && rest.get(digits..)?.starts_with(b" trace\0");
    is_trace.then_some(ForeignFormat::trace("a Go execution trace").advising("`go tool trace FILE` shows it"))
}

/// Recognizes SEGGER SystemView recordings, which start with text lines.
fn system_view(head: &[u8]) -> Option<ForeignFormat> {
    /// Maximum position of the program name in bytes.
    const LINES: usize = 256;
    head.strip_prefix(b";")?;
    let lines = String::from_utf8_lossy(head.get(..LINES).unwrap_or(head));
    (lines.contains("; Version") && lines.contains("SEGGER SystemView")).then_some(
        ForeignFormat::trace("a SEGGER SystemView recording")
            .advising("Zephyr's tracing backend for CTF records the same events"),
    )
}

/// Recognizes empty bzip2 files. Other bzip2 files are unpacked.
fn bzip2(head: &[u8]) -> Option<ForeignFormat> {
    let rest = head.strip_prefix(b"BZh")?;
    let is_empty = matches!(rest, [b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..]);
    is_empty.then_some(ForeignFormat::other("an empty bzip2 file"))
}

/// Recognizes UTF-16 text by its byte order mark and text characters after it.
fn utf_16_with_mark(head: &[u8]) -> Option<ForeignFormat> {
    /// Number of examined bytes.
    const MOST: usize = 256;
    let head = head.get(..MOST).unwrap_or(head);
    let (units, _) = head.as_chunks::<2>();
    let units: Vec<u16> = match units.split_first()? {
        ([0xff, 0xfe], rest) => rest.iter().map(|unit| u16::from_le_bytes(*unit)).collect(),
        ([0xfe, 0xff], rest) => rest.iter().map(|unit| u16::from_be_bytes(*unit)).collect(),
        _ => return None,
    };
    let is_text =
        |c: char| (!c.is_control() || c.is_ascii_whitespace()) && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let mut characters = char::decode_utf16(units).peekable();
    while let Some(found) = characters.next() {
        // The examined bytes can end within a character.
        if !found.map_or(characters.peek().is_none(), is_text) {
            return None;
        }
    }
    Some(UTF_16)
}

/// Recognizes UTF-16 text by its zeros: each second byte of ASCII text is zero.
fn utf_16_without_mark(head: &[u8]) -> Option<ForeignFormat> {
    /// Maximum and minimum number of examined bytes.
    const MOST: usize = 256;
    const LEAST: usize = 16;
    let head = head.get(..MOST).unwrap_or(head);
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let (pairs, _) = head.as_chunks::<2>();
    let is_utf_16 = |high: usize| pairs.iter().all(|pair| pair[high] == 0 && is_text(&pair[1 - high]));
    (head.len() >= LEAST && (is_utf_16(0) || is_utf_16(1))).then_some(UTF_16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magic_numbers() {
        let what = |bytes: &[u8]| recognize(bytes).map_or("", |known| known.what);
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
    fn short_magic_numbers_are_not_enough() {
        let what = |bytes: &[u8]| recognize(bytes).map_or("", |known| known.what);
        assert_eq!(what(b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0"), "an empty bzip2 file");
        assert_eq!(what(b"BZhash of something"), "");
        assert_eq!(what(b"\xff\xfea\0\n\0\x34\xd8\x1e\xdd"), "UTF-16 text");
        assert_eq!(what(b"\xfe\xff\0a\xd8\x34"), "UTF-16 text");
        assert_eq!((what(b"\xff\xfe\0\0a\0\0\0"), what(b"\xff\xfe\x01\0\x02\0")), ("", ""));
        assert_eq!(what(b"\xfe\xff\xff\xff\xff\xff"), "");
    }

    #[test]
    fn programs() {
        let what = |bytes: &[u8]| recognize(bytes).map_or("", |known| known.what);
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
        assert!(etl(&bytes).is_some());
        bytes[0] = 1;
        assert_eq!(etl(&bytes), None);
    }
}
