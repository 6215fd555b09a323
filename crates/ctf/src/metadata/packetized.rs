//! Packetized metadata (CTF 1.8, section 7.1): unpacks packets, and packs a text into packets.

use ichnos_model::class::{ByteOrder, Uuid};
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};

use super::Problems;

const MAGIC: u32 = 0x75d1_1d57;
const HEADER_BYTES: usize = 37;
/// The size field has 32 bits, and counts bits.
const MOST_PACKET_BYTES: usize = (u32::MAX / 8) as usize;

/// Metadata without its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpackedMetadata {
    /// Packet contents, concatenated.
    pub text: Vec<u8>,
    /// Byte order of the packet headers: the native byte order of the tracer's machine.
    pub byte_order: ByteOrder,
    /// UUID in all packets.
    pub uuid: Uuid,
    /// CTF version in the packets: major, minor.
    pub version: (u8, u8),
}

/// Returns the packets' byte order, or `None` if the metadata is plain. Packets start with the magic number 0x75D11D57
/// (CTF 1.8, section 7.1).
#[must_use]
pub fn packet_byte_order(bytes: &[u8]) -> Option<ByteOrder> {
    let magic = *bytes.first_chunk::<4>()?;
    if u32::from_le_bytes(magic) == MAGIC {
        Some(ByteOrder::LittleEndian)
    } else if u32::from_be_bytes(magic) == MAGIC {
        Some(ByteOrder::BigEndian)
    } else {
        None
    }
}

/// Metadata packet header (CTF 1.8, section 7.1).
struct MetadataPacketHeader {
    magic: u32,
    uuid: Uuid,
    checksum: u32,
    content_bits: u32,
    packet_bits: u32,
    compression: u8,
    encryption: u8,
    checksum_scheme: u8,
    version: (u8, u8),
}

impl MetadataPacketHeader {
    fn read(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| {
            let word = *bytes.get(at..)?.first_chunk::<4>()?;
            Some(match order {
                ByteOrder::LittleEndian => u32::from_le_bytes(word),
                ByteOrder::BigEndian => u32::from_be_bytes(word),
            })
        };
        Some(Self {
            magic: word(0)?,
            uuid: Uuid::from_bytes(*bytes.get(4..)?.first_chunk::<16>()?),
            checksum: word(20)?,
            content_bits: word(24)?,
            packet_bits: word(28)?,
            compression: *bytes.get(32)?,
            encryption: *bytes.get(33)?,
            checksum_scheme: *bytes.get(34)?,
            version: (*bytes.get(35)?, *bytes.get(36)?),
        })
    }
}

/// Metadata packet layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketLayout {
    /// Packet size in bytes including the header: at least 38, at most 512 MiB.
    pub packet_bytes: u32,
    /// Byte order of the headers. Use the trace's byte order, because some readers support only this.
    pub byte_order: ByteOrder,
    /// Trace UUID.
    pub uuid: Uuid,
}

impl PacketLayout {
    /// Returns a layout with packets of 4,096 bytes, like LTTng.
    #[must_use]
    pub const fn new(byte_order: ByteOrder, uuid: Uuid) -> Self {
        Self { packet_bytes: 4096, byte_order, uuid }
    }
}

/// Packs a text into packets (CTF 1.8, section 7.1). Each packet has the layout's size, with zeros after its content.
/// An out-of-range size is replaced with the nearest valid size. An empty text becomes a single packet.
///
/// ```
/// use ichnos_ctf::metadata::packetized::{PacketLayout, pack};
/// use ichnos_model::class::{ByteOrder, Uuid};
///
/// let mut layout = PacketLayout::new(ByteOrder::BigEndian, Uuid::from_u128(7));
/// layout.packet_bytes = 40;
/// let packed = pack(b"/* CTF 1.8 */", &layout);
/// assert_eq!(packed.len(), 5 * 40);
/// assert_eq!(packed[..4], [0x75, 0xd1, 0x1d, 0x57]);
/// assert_eq!(packed[37..43], [b'/', b'*', b' ', 0x75, 0xd1, 0x1d]);
/// ```
#[must_use]
pub fn pack(text: &[u8], layout: &PacketLayout) -> Vec<u8> {
    let bytes = (layout.packet_bytes as usize).clamp(HEADER_BYTES + 1, MOST_PACKET_BYTES);
    let word = |value: u32| match layout.byte_order {
        ByteOrder::LittleEndian => value.to_le_bytes(),
        ByteOrder::BigEndian => value.to_be_bytes(),
    };
    let bits = |bytes: usize| word(u32::try_from(bytes * 8).unwrap_or(u32::MAX));
    let mut packed = Vec::new();
    let mut contents = text.chunks(bytes - HEADER_BYTES);
    // An empty text has one packet.
    let mut content = contents.next().unwrap_or_default();
    loop {
        packed.extend_from_slice(&word(MAGIC));
        packed.extend_from_slice(layout.uuid.as_bytes());
        // No checksum.
        packed.extend_from_slice(&word(0));
        packed.extend_from_slice(&bits(HEADER_BYTES + content.len()));
        packed.extend_from_slice(&bits(bytes));
        // No compression, encryption or checksum. Version 1.8.
        packed.extend_from_slice(&[0, 0, 0, 1, 8]);
        packed.extend_from_slice(content);
        packed.resize(packed.len() + bytes - HEADER_BYTES - content.len(), 0);
        match contents.next() {
            Some(next) => content = next,
            None => return packed,
        }
    }
}

/// Unpacks packets (CTF 1.8, section 7.1). Returns `None` if the bytes are not packetized, or if all packets are
/// unreadable.
///
/// Reading ends at an unreadable packet. The packets before it are kept, and the loss is added to `problems`. If the
/// bytes end too early, the text ends after its last complete block. Positions are byte offsets with line 0, since
/// packets do not have lines.
pub fn unpack(bytes: &[u8], limits: &Limits, problems: &mut Problems) -> Option<UnpackedMetadata> {
    let byte_order = packet_byte_order(bytes)?;
    let mut unpacked: Option<UnpackedMetadata> = None;
    let mut offset = 0usize;
    let mut index = 0u64;
    let mut cut = false;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let whole = problems.within(format!("metadata packet {index} (byte {offset})"), |problems| {
            let position = TextPosition { line: 0, column: 0, offset: offset as u64 };
            read_packet(rest, byte_order, position, limits, &mut unpacked, &mut cut, problems)
        });
        match whole.and_then(|size| offset.checked_add(size)) {
            Some(next) => offset = next,
            None => break,
        }
        index += 1;
    }
    if let (true, Some(unpacked)) = (cut, &mut unpacked) {
        drop_cut_block(&mut unpacked.text);
    }
    unpacked
}

/// Reads the packet at the start of `rest` and returns its size in bytes, or `None` if nothing after it can be read.
fn read_packet(
    rest: &[u8],
    byte_order: ByteOrder,
    position: TextPosition,
    limits: &Limits,
    unpacked: &mut Option<UnpackedMetadata>,
    cut: &mut bool,
    problems: &mut Problems,
) -> Option<usize> {
    let Some(header) = MetadataPacketHeader::read(rest, byte_order) else {
        *cut = true;
        let left = rest.len();
        problems.warning(
            position,
            format!("the metadata ends within a packet header, after {left} of {HEADER_BYTES} bytes"),
        );
        return None;
    };
    if let Some(diagnostic) = refusal(&header, unpacked.as_ref(), position) {
        problems.add(diagnostic);
        return None;
    }
    let (content, packet) = (header.content_bits as usize / 8, header.packet_bits as usize / 8);
    let Some(text) = rest.get(HEADER_BYTES..content.min(rest.len())) else {
        problems.error(position, "the content of the packet is smaller than its header");
        return None;
    };
    if unpacked.is_none() && header.version.0 == 2 {
        let message = "the packet has a CTF 1.8 header, but it names version 2";
        problems.add(Diagnostic::note(position, message));
    }
    let target = unpacked.get_or_insert_with(|| UnpackedMetadata {
        text: Vec::new(),
        byte_order,
        uuid: header.uuid,
        version: header.version,
    });
    if (target.text.len() as u64).saturating_add(text.len() as u64) > limits.metadata_bytes {
        let most = limits.metadata_bytes;
        problems.error(position, format!("the metadata text is longer than {most} bytes"));
        return None;
    }
    target.text.extend_from_slice(text);
    if content > rest.len() {
        *cut = true;
        let message = format!("the metadata ends within a packet, after {} of {content} bytes", rest.len());
        problems.warning(position, message);
        return None;
    }
    if let Some(found) = packet_within(rest, content, packet) {
        let message =
            format!("the packet of {packet} bytes is too long: another packet starts after {found} bytes");
        problems.warning(position, message);
        return Some(found);
    }
    Some(packet)
}

/// Returns the offset of another packet with the same magic number and UUID between this packet's content and end. Its
/// presence means that this packet's size is wrong.
fn packet_within(bytes: &[u8], content: usize, packet: usize) -> Option<usize> {
    let begin = bytes.first_chunk::<20>()?;
    let end = packet.saturating_add(begin.len() - 1).min(bytes.len());
    let found = memchr::memmem::find(bytes.get(content..end)?, begin)?;
    Some(content + found).filter(|found| *found < packet)
}

/// Truncates a TSDL text after its last complete block. A partial block cannot be parsed, and its declarations are most
/// likely unused so far. A text without complete blocks is kept.
fn drop_cut_block(text: &mut Vec<u8>) {
    const END: &[u8] = b"\n};";
    if let Some(at) = text.windows(END.len()).rposition(|window| window == END) {
        text.truncate(at + END.len());
    }
}

/// Returns the reason why a packet with this header cannot be read.
fn refusal(
    header: &MetadataPacketHeader,
    first: Option<&UnpackedMetadata>,
    position: TextPosition,
) -> Option<Diagnostic> {
    let wrong = |message: &str, expected: String, found: String| {
        Some(Diagnostic::error(position, message).expected(expected, found))
    };
    if header.magic != MAGIC {
        let message = "the packet has a wrong magic number";
        return wrong(message, format!("0x{MAGIC:08x}"), format!("0x{:08x}", header.magic));
    }
    if header.compression != 0 {
        return wrong(
            "compressed metadata cannot be read",
            "0".into(),
            format!("scheme {}", header.compression),
        );
    }
    if header.encryption != 0 {
        return wrong(
            "encrypted metadata cannot be read",
            "0".into(),
            format!("scheme {}", header.encryption),
        );
    }
    if header.checksum_scheme != 0 || header.checksum != 0 {
        let found = format!("scheme {}, checksum 0x{:08x}", header.checksum_scheme, header.checksum);
        return wrong("the checksum of metadata cannot be verified", "none".into(), found);
    }
    if header.version != (1, 8) && header.version.0 != 2 {
        let (major, minor) = header.version;
        return wrong("the packet names an unknown version of CTF", "1.8".into(), format!("{major}.{minor}"));
    }
    if let Some(first) = first.filter(|first| first.uuid != header.uuid) {
        let message = "the packet belongs to other metadata: its UUID differs from the UUID of the first \
            packet";
        return wrong(message, first.uuid.to_string(), header.uuid.to_string());
    }
    if !header.content_bits.is_multiple_of(8) || !header.packet_bits.is_multiple_of(8) {
        let found = format!("content {} bits, packet {} bits", header.content_bits, header.packet_bits);
        return wrong("the sizes of the packet are not whole bytes", "multiples of 8".into(), found);
    }
    if (header.content_bits as usize) < HEADER_BYTES * 8 || header.packet_bits < header.content_bits {
        let found = format!("content {} bits, packet {} bits", header.content_bits, header.packet_bits);
        let expected = format!("{} bits of header <= content <= packet", HEADER_BYTES * 8);
        return wrong("the sizes of the packet contradict each other", expected, found);
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use ichnos_model::trace::Severity;

    use super::*;

    fn packet(text: &str, padding: usize, order: ByteOrder) -> Vec<u8> {
        let word = |value: u32| match order {
            ByteOrder::LittleEndian => value.to_le_bytes(),
            ByteOrder::BigEndian => value.to_be_bytes(),
        };
        let content = HEADER_BYTES + text.len();
        let mut bytes = word(MAGIC).to_vec();
        bytes.extend([7; 16]);
        bytes.extend(word(0));
        bytes.extend(word(content as u32 * 8));
        bytes.extend(word((content + padding) as u32 * 8));
        bytes.extend([0, 0, 0, 1, 8]);
        bytes.extend(text.as_bytes());
        bytes.extend(vec![0; padding]);
        bytes
    }

    fn read(bytes: &[u8]) -> (Option<String>, Vec<Diagnostic>) {
        let mut problems = Problems::new(&Limits::default());
        let unpacked = unpack(bytes, &Limits::default(), &mut problems);
        let text = unpacked.map(|unpacked| String::from_utf8(unpacked.text).unwrap());
        (text, problems.into_diagnostics())
    }

    #[test]
    fn contents_are_joined_and_padding_is_skipped() {
        for order in [ByteOrder::LittleEndian, ByteOrder::BigEndian] {
            let bytes = [packet("/* CTF", 3, order), packet(" 1.8 */", 0, order)].concat();
            assert_eq!(packet_byte_order(&bytes), Some(order));
            assert_eq!(read(&bytes), (Some("/* CTF 1.8 */".to_owned()), vec![]));
        }
        assert_eq!(read(b"/* CTF 1.8 */"), (None, vec![]));
    }

    #[test]
    fn what_was_put_into_packets_comes_out() {
        let text: Vec<u8> = (0..1000u32).map(|i| b'a' + (i % 26) as u8).collect();
        for byte_order in [ByteOrder::LittleEndian, ByteOrder::BigEndian] {
            for packet_bytes in [0, 38, 39, 100, 1036, 1037, 1038, 4096] {
                for length in [0, 1, 62, 63, 64, 999, 1000] {
                    let text = &text[..length];
                    let layout =
                        PacketLayout { packet_bytes, ..PacketLayout::new(byte_order, Uuid::from_u128(3)) };
                    let packed = pack(text, &layout);
                    assert_eq!(packed.len() % packet_bytes.max(38) as usize, 0);
                    let mut problems = Problems::new(&Limits::default());
                    let unpacked = unpack(&packed, &Limits::default(), &mut problems).unwrap();
                    assert_eq!(unpacked.text, text);
                    let (uuid, version) = (Uuid::from_u128(3), (1, 8));
                    assert_eq!(unpacked, UnpackedMetadata { text: text.to_vec(), byte_order, uuid, version });
                    assert!(problems.into_diagnostics().is_empty());
                }
            }
        }
    }

    #[test]
    fn a_truncated_packet_keeps_what_was_readable() {
        let order = ByteOrder::LittleEndian;
        let bytes = [packet("abc", 0, order), packet("defghi", 8, order)].concat();
        for length in 1..bytes.len() {
            let (text, diagnostics) = read(&bytes[..length]);
            assert!("abcdefghi".starts_with(&text.unwrap_or_default()));
            assert!(diagnostics.iter().all(|problem| problem.severity == Severity::Warning));
        }
        assert_eq!(read(&bytes[..80]).0.as_deref(), Some("abcdef"));
        // A truncated block contains nothing useful.
        let bytes = [packet("env {\n};\nevent {\n", 0, order), packet("};\n", 0, order)].concat();
        assert_eq!(read(&bytes[..bytes.len() - 1]).0.as_deref(), Some("env {\n};\nevent {\n};"));
        assert_eq!(read(&bytes[..bytes.len() - 3]).0.as_deref(), Some("env {\n};"));
    }

    #[test]
    fn a_packet_that_is_too_long_does_not_swallow_others() {
        let order = ByteOrder::LittleEndian;
        let [first, second, third] = ["abc", "def", "ghi"].map(|text| packet(text, 4, order));
        let size = first.len() as u32;
        for lie in [2 * size, 3 * size, size + 1, 1000 * size] {
            let mut first = first.clone();
            first[28..32].copy_from_slice(&(lie * 8).to_le_bytes());
            let (text, diagnostics) = read(&[first, second.clone(), third.clone()].concat());
            assert_eq!(text.as_deref(), Some("abcdefghi"), "{lie}");
            assert_eq!(diagnostics[0].severity, Severity::Warning);
            assert!(diagnostics[0].message.contains("starts after 44 bytes"), "{}", diagnostics[0].message);
        }
    }

    #[test]
    fn every_byte_of_a_header_can_be_wrong() {
        let order = ByteOrder::BigEndian;
        let good = [packet("abc", 0, order), packet("def", 0, order)].concat();
        for at in 0..good.len() {
            for value in [0, 1, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = value;
                let mut problems = Problems::new(&Limits::default());
                let unpacked = unpack(&bytes, &Limits::default(), &mut problems);
                assert!(unpacked.is_none_or(|unpacked| unpacked.text.len() <= bytes.len()), "{at}");
            }
        }
        for (at, value) in [(32, 1), (33, 1), (34, 1), (20, 1), (35, 3), (36, 7), (27, 0)] {
            let mut bytes = packet("abc", 0, order);
            bytes[at] = value;
            let (text, diagnostics) = read(&bytes);
            assert_eq!(text, None);
            assert_eq!(diagnostics[0].severity, Severity::Error, "{at}");
        }
    }
}
