//! Bit-level writer for packets.

use ichnos_model::class::{BitField, ByteOrder};
use ichnos_model::field::Wide;

/// Appends bit fields to a packet.
///
/// Little-endian fields use a byte's least significant bits first, big-endian fields its most significant bits
/// (CTF2-SPEC-2.0, "Fixed-length bit array field decoding procedure").
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Packet offset in `bytes`.
    begin: usize,
    /// Packet size in bits so far.
    at: u64,
    /// Byte order of the last bit field, if known.
    order: Option<ByteOrder>,
}

impl BitWriter {
    /// Begins a packet after the written data.
    pub(super) fn begin_packet(&mut self) {
        self.begin = self.bytes.len();
        self.at = 0;
        self.order = None;
    }

    /// Returns the packet's size in bits so far.
    #[inline]
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the packet's bytes so far.
    pub(super) fn packet(&self) -> &[u8] {
        &self.bytes[self.begin..]
    }

    /// Returns the total number of bytes so far, including previous packets.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes all bytes.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.begin = 0;
        self.at = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Goes back to a bit in the packet, and removes everything after it. A byte that contains the bit keeps its bits
    /// in both byte orders, so the next field must begin like an earlier field there.
    pub(super) fn go_back(&mut self, at: u64) {
        self.at = at;
        self.order = None;
        self.bytes.truncate(self.begin + at.div_ceil(8) as usize);
    }

    /// Aligns the next field.
    #[inline]
    pub(super) fn align(&mut self, alignment: u64) {
        let mask = alignment.saturating_sub(1);
        if self.at & mask != 0 {
            self.at = (self.at | mask) + 1;
            self.fill();
        }
    }

    /// Aligns the next field, which is a bit field. Returns `false` if it would begin within a byte, after a field with
    /// the other byte order (CTF2-SPEC-2.0, "Fixed-length bit array field decoding procedure").
    #[inline]
    #[must_use]
    pub(super) fn begin_bits(&mut self, bits: BitField) -> bool {
        self.align(bits.alignment);
        let before = self.order.replace(bits.byte_order);
        self.at % 8 == 0 || before.is_none_or(|before| before == bits.byte_order)
    }

    /// Returns the byte order of the last bit field.
    pub(super) fn order(&self) -> ByteOrder {
        self.order.unwrap_or(ByteOrder::LittleEndian)
    }

    /// Adds zeros up to the start of the next field.
    fn fill(&mut self) {
        self.bytes.resize(self.begin + self.at.div_ceil(8) as usize, 0);
    }

    /// Appends whole bytes. The position must be at a byte boundary.
    #[inline]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.at += bytes.len() as u64 * 8;
    }

    /// Appends bytes at any bit, in a byte order.
    pub(super) fn bytes_at_bit(&mut self, bytes: &[u8], order: ByteOrder) {
        if self.at % 8 == 0 {
            return self.bytes(bytes);
        }
        for byte in bytes {
            self.put(u64::from(*byte), 8, order);
        }
    }

    /// Appends a value's lower bits, at most 64.
    #[inline]
    pub(super) fn put(&mut self, value: u64, length: u64, order: ByteOrder) {
        use ByteOrder::{BigEndian, LittleEndian};
        if self.at % 8 == 0 && length % 8 == 0 {
            self.at += length;
            // With constant sizes, the compiler does not emit a call for copying.
            return match (length, order) {
                (8, _) => self.bytes.push(value as u8),
                (16, LittleEndian) => self.bytes.extend_from_slice(&(value as u16).to_le_bytes()),
                (32, LittleEndian) => self.bytes.extend_from_slice(&(value as u32).to_le_bytes()),
                (64, LittleEndian) => self.bytes.extend_from_slice(&value.to_le_bytes()),
                (_, LittleEndian) => {
                    self.bytes.extend_from_slice(&value.to_le_bytes()[..(length / 8).min(8) as usize]);
                }
                (_, BigEndian) => {
                    self.bytes.extend_from_slice(&value.to_be_bytes()[8 - (length / 8).min(8) as usize..]);
                }
            };
        }
        let at = self.at;
        self.at += length;
        self.fill();
        Self::set(&mut self.bytes[self.begin..], at, value, length, order);
    }

    /// Appends an integer or bit array with a layout, at most 64 bits.
    #[inline]
    pub(super) fn put_field(&mut self, value: u64, bits: BitField) {
        let value = if bits.is_reversed() && bits.length > 0 {
            value.reverse_bits() >> (64 - bits.length.min(64))
        } else {
            value
        };
        self.put(value, bits.length, bits.byte_order);
    }

    /// Appends a number with any size.
    pub(super) fn put_wide(&mut self, value: Wide<'_>, bits: BitField) {
        let fill = if value.is_negative() { u64::MAX } else { 0 };
        let bit = |index: u64| {
            let index = if bits.is_reversed() { bits.length - 1 - index } else { index };
            value.words.get((index / 64) as usize).copied().unwrap_or(fill) >> (index % 64) & 1
        };
        // Groups of 8 bits, least significant first. Big-endian groups are in reverse order.
        let group = |from: u64, count: u64| (0..count).fold(0, |group, i| group | bit(from + i) << i);
        match bits.byte_order {
            ByteOrder::LittleEndian => {
                let mut from = 0;
                while from < bits.length {
                    let count = (bits.length - from).min(8);
                    self.put(group(from, count), count, bits.byte_order);
                    from += count;
                }
            }
            ByteOrder::BigEndian => {
                let mut end = bits.length;
                while end > 0 {
                    let count = if end % 8 == 0 { 8 } else { end % 8 };
                    end -= count;
                    self.put(group(end, count), count, bits.byte_order);
                }
            }
        }
    }

    /// Appends a variable-length number with this number of 7-bit groups (LEB128).
    pub(super) fn put_groups(&mut self, groups: u64, mut group: impl FnMut(u64) -> u8) {
        for index in 0..groups {
            let more = if index + 1 < groups { 0x80 } else { 0 };
            let byte = group(index) & 0x7f | more;
            self.put(u64::from(byte), 8, ByteOrder::LittleEndian);
        }
    }

    /// Overwrites an integer that was appended to this packet at a bit.
    pub(super) fn patch(&mut self, at: u64, value: u64, bits: BitField) {
        let value = if bits.is_reversed() && bits.length > 0 {
            value.reverse_bits() >> (64 - bits.length.min(64))
        } else {
            value
        };
        let end = at.saturating_add(bits.length).div_ceil(8) as usize;
        if let Some(packet) = self.bytes.get_mut(self.begin..)
            && packet.len() >= end
        {
            Self::set(packet, at, value, bits.length, bits.byte_order);
        }
    }

    /// Sets up to 64 bits, byte by byte.
    fn set(packet: &mut [u8], at: u64, value: u64, length: u64, order: ByteOrder) {
        let mut done = 0;
        while done < length {
            let begin = (at + done) % 8;
            let count = (8 - begin).min(length - done);
            let (bits, position) = match order {
                ByteOrder::LittleEndian => (value >> done, begin),
                ByteOrder::BigEndian => (value >> (length - done - count), 8 - begin - count),
            };
            let mask = (0xff >> (8 - count)) as u8;
            if let Some(byte) = packet.get_mut(((at + done) / 8) as usize) {
                *byte = *byte & !(mask << position) | (bits as u8 & mask) << position;
            }
            done += count;
        }
    }

    /// Replaces the bytes at the start of the packet by the same number of other bytes, where they differ. Returns
    /// `false` without a change if the differing bits do not have the expected values.
    pub(super) fn change(&mut self, from: &[u8], to: &[u8]) -> bool {
        let Some(packet) = self.bytes.get_mut(self.begin..).filter(|_| from.len() == to.len()) else {
            return false;
        };
        let Some(head) = packet.get_mut(..from.len()) else { return false };
        let pairs = || from.iter().zip(to);
        if head.iter().zip(pairs()).any(|(byte, (from, to))| (byte ^ from) & (from ^ to) != 0) {
            return false;
        }
        head.iter_mut().zip(pairs()).for_each(|(byte, (from, to))| *byte ^= from ^ to);
        true
    }

    /// Ends the packet with zeros up to its total size in bits, a multiple of 8.
    pub(super) fn pad_to(&mut self, total: u64) {
        self.at = self.at.max(total);
        self.fill();
    }
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    #[test]
    fn bits_of_both_byte_orders() {
        let mut writer = BitWriter::default();
        writer.put(0b101, 3, ByteOrder::LittleEndian);
        writer.put(0b11, 5, ByteOrder::LittleEndian);
        writer.put(0b101, 3, ByteOrder::BigEndian);
        writer.put(0x1ff, 13, ByteOrder::BigEndian);
        writer.put(0x0102, 16, ByteOrder::BigEndian);
        writer.put(0x0102, 16, ByteOrder::LittleEndian);
        writer.put(1, 1, ByteOrder::LittleEndian);
        writer.align(32);
        assert_eq!(writer.at(), 64);
        let expected = [0b0001_1101, 0b1010_0001, 0xff, 1, 2, 2, 1, 1];
        assert_eq!(writer.take(), expected);
    }

    /// Writes fields at any bit, and compares them with bit-by-bit writing.
    #[test]
    fn fields_are_set_as_single_bits_are() {
        cases(5_000, |random| {
            let order = if random.below(2) == 0 { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };
            let (at, length, value) = (random.below(40), random.below(65), random.number());
            let before = random.bytes(16);
            let mut expected = before.clone();
            for index in 0..length {
                let (bit, position) = match order {
                    ByteOrder::LittleEndian => (value >> index & 1, (at + index) % 8),
                    ByteOrder::BigEndian => (value >> (length - 1 - index) & 1, 7 - (at + index) % 8),
                };
                let byte = &mut expected[((at + index) / 8) as usize];
                *byte = *byte & !(1 << position) | (bit as u8) << position;
            }
            let mut packet = before;
            BitWriter::set(&mut packet, at, value, length, order);
            assert_eq!(packet, expected, "{length} bits at {at}, {order:?}");
        });
    }

    #[test]
    fn wide_numbers_and_groups() {
        let wide = Wide { words: &[0x0807_0605_0403_0201, 0x09], length: 72, signed: false };
        let mut writer = BitWriter::default();
        writer.put_wide(wide, BitField::new(72, ByteOrder::LittleEndian, 8));
        writer.put_wide(wide, BitField::new(72, ByteOrder::BigEndian, 8));
        writer.put_groups(2, |index| if index == 0 { 0x05 } else { 0x01 });
        let bytes = writer.take();
        assert_eq!(bytes[..9], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(bytes[9..18], [9, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[18..], [0x85, 0x01]);
    }

    #[test]
    fn changes_only_what_differs() {
        let mut writer = BitWriter::default();
        writer.bytes(&[9]);
        writer.begin_packet();
        writer.bytes(&[0xf1, 0x02, 0x03]);
        assert!(!writer.change(&[0x02], &[0x01]));
        assert!(!writer.change(&[0; 4], &[1; 4]));
        assert!(!writer.change(&[0x01], &[0x01, 0x02]));
        // The upper bits are padding with arbitrary values.
        assert!(writer.change(&[0x01, 0x02], &[0x04, 0x02]));
        assert_eq!(writer.take(), [9, 0xf4, 0x02, 0x03]);
    }

    #[test]
    fn patches_what_is_there() {
        let mut writer = BitWriter::default();
        writer.bytes(&[0xff; 4]);
        writer.begin_packet();
        writer.bytes(&[0xff; 4]);
        writer.patch(4, 0, BitField::new(8, ByteOrder::LittleEndian, 1));
        writer.patch(30, 0, BitField::new(8, ByteOrder::LittleEndian, 1));
        assert_eq!(writer.take(), [0xff, 0xff, 0xff, 0xff, 0x0f, 0xf0, 0xff, 0xff]);
    }

    /// Writes fields at any bit, in any order, and reads them with the decoder.
    #[test]
    fn random_fields_are_what_the_decoder_reads() {
        use ichnos_model::class::BitOrder;
        use ichnos_model::decode::read_bits;
        use ichnos_testing::cases;

        let in_order = |value: u64, bits: &BitField| match bits.is_reversed() {
            true => value.reverse_bits() >> (64 - bits.length),
            false => value,
        };
        let below = |length: u64| if length == 64 { u64::MAX } else { (1 << length) - 1 };
        cases(300, |random| {
            let mut writer = BitWriter::default();
            writer.bytes(&random.bytes(3));
            writer.begin_packet();
            let mut fields = Vec::new();
            let mut order = ByteOrder::LittleEndian;
            for _ in 0..random.below(40) {
                if random.percent(30) {
                    writer.align(1 << random.below(7));
                }
                if writer.at() % 8 == 0 {
                    order = random.pick(&[ByteOrder::LittleEndian, ByteOrder::BigEndian]);
                }
                let length = match random.below(4) {
                    0 => random.pick(&[8, 16, 32, 64]),
                    1 => 65 + random.below(130),
                    _ => 1 + random.below(64),
                };
                let mut bits = BitField::new(length, order, 1);
                bits.bit_order = random.pick(&[BitOrder::FirstToLast, BitOrder::LastToFirst]);
                let words: Vec<u64> = (0..length.div_ceil(64)).map(|_| random.number()).collect();
                let at = writer.at();
                if length > 64 {
                    writer.put_wide(Wide { words: &words, length, signed: false }, bits);
                } else if random.percent(30) {
                    // Bits outside the field do not count.
                    writer.put_field(0, bits);
                    writer.patch(at, words[0] & below(length), bits);
                } else if random.percent(10) {
                    writer.put_field(u64::MAX, bits);
                    writer.go_back(at);
                    writer.put_field(words[0] & below(length), bits);
                } else {
                    writer.put_field(words[0] & below(length), bits);
                }
                assert_eq!(writer.at(), at + length);
                fields.push((at, bits, words));
            }
            let packet = writer.packet();
            assert_eq!(packet.len() as u64, writer.at().div_ceil(8));
            for (at, bits, words) in fields {
                let big = bits.byte_order == ByteOrder::BigEndian;
                if bits.length <= 64 {
                    let found = in_order(read_bits(packet, at, bits.length, big), &bits);
                    assert_eq!(found, words[0] & below(bits.length), "{bits:?} at {at}");
                    continue;
                }
                // Bit by bit, because the field can be larger than a single read.
                for index in 0..bits.length {
                    let in_field = if bits.is_reversed() { bits.length - 1 - index } else { index };
                    let bit = if big { at + bits.length - 1 - in_field } else { at + in_field };
                    let found = read_bits(packet, bit, 1, big);
                    assert_eq!(
                        found,
                        words[(index / 64) as usize] >> (index % 64) & 1,
                        "bit {index} of {bits:?}"
                    );
                }
            }
        });
    }
}
