//! Protocol Buffers messages, written in place.

/// Reserved bytes for the length of an open message.
const LENGTH: usize = 4;

/// Maximum message size for that length.
const MOST: usize = (1 << (7 * LENGTH)) - 1;

/// Wire types.
mod wire {
    pub(super) const VARINT: u32 = 0;
    pub(super) const FIXED64: u32 = 1;
    pub(super) const LENGTH_DELIMITED: u32 = 2;
    pub(super) const FIXED32: u32 = 5;
}

/// Returns the bytes of a variable-length integer, and their number.
#[inline(always)]
fn varint(value: u64) -> ([u8; 16], usize) {
    // Spreads groups of seven bits over the bytes of a word.
    let low = value & 0x0fff_ffff | (value & 0xff_ffff_f000_0000) << 4;
    let low = low & 0x0000_3fff_0000_3fff | (low & 0x0fff_c000_0fff_c000) << 2;
    let low = low & 0x007f_007f_007f_007f | (low & 0x3f80_3f80_3f80_3f80) << 1;
    let size = varint_size(value) as usize;
    if size <= 8 {
        let more = 0x0080_8080_8080_8080 & !(u64::MAX << (8 * (size - 1)));
        return (u128::from(low | more).to_le_bytes(), size);
    }
    let high = value >> 56;
    let high = if size == 9 { high } else { high & 0x7f | 0x80 | (high >> 7) << 8 };
    ((u128::from(low | 0x8080_8080_8080_8080) | u128::from(high) << 64).to_le_bytes(), size)
}

/// Appends a variable-length integer.
#[inline]
pub(super) fn push_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    // Append a block of fixed size and truncate it.
    let (bytes, size) = varint(value);
    let end = out.len() + size;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

#[inline]
fn push_key(out: &mut Vec<u8>, field: u32, wire: u32) {
    push_varint(out, u64::from(field << 3 | wire));
}

/// Fields of limited size, put together before they are appended. Fields that need more than `N` bytes are left out, so
/// `N` must be 16 bytes more than all fields need.
pub(super) struct Head<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Head<N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    /// Returns the size of the fields in bytes.
    #[inline(always)]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Puts the first `length` of some bytes.
    #[inline(always)]
    fn put<const M: usize>(&mut self, bytes: [u8; M], length: usize) {
        let rest = self.bytes.get_mut(self.length..).and_then(|rest| rest.first_chunk_mut());
        debug_assert!(rest.is_some(), "a head needs more than {N} bytes");
        if let Some(rest) = rest {
            *rest = bytes;
            self.length += length;
        }
    }

    #[inline(always)]
    fn varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.put([value as u8], 1);
        }
        let (bytes, size) = varint(value);
        self.put(bytes, size);
    }

    #[inline(always)]
    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    /// Puts an unsigned integer.
    #[inline(always)]
    pub(super) fn unsigned(&mut self, field: u32, value: u64) {
        self.key(field, wire::VARINT);
        self.varint(value);
    }

    /// Starts an inner message. Its length is written by [`end`].
    #[inline(always)]
    pub(super) fn begin(&mut self, field: u32) {
        self.key(field, wire::LENGTH_DELIMITED);
        self.put([0; LENGTH], LENGTH);
    }

    /// Appends the fields.
    #[inline(always)]
    pub(super) fn push_to(self, out: &mut Vec<u8>) {
        // Append a block of fixed size and truncate it.
        let end = out.len() + self.length;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

/// Appends an unsigned integer, an enumeration value or a boolean.
#[inline]
pub(super) fn push_unsigned(out: &mut Vec<u8>, field: u32, value: u64) {
    push_key(out, field, wire::VARINT);
    push_varint(out, value);
}

/// Appends a message of two unsigned integers, whose length is known in advance.
#[inline(always)]
pub(super) fn push_pair(out: &mut Vec<u8>, field: u32, pair: [(u32, u64); 2]) {
    let [(first_field, first), (second_field, second)] = pair;
    let Some([tag, first_key, second_key]) = short_keys([
        (field, wire::LENGTH_DELIMITED),
        (first_field, wire::VARINT),
        (second_field, wire::VARINT),
    ])
    .filter(|_| first < 0x80) else {
        return push_long_pair(out, field, pair);
    };
    let (bytes, size) = varint(second);
    let head = [tag, 3 + size as u8, first_key, first as u8, second_key];
    // Append a block of fixed size and truncate it.
    let end = out.len() + head.len() + size;
    let mut block = [0; 21];
    let (begin, rest) = block.split_at_mut(head.len());
    begin.copy_from_slice(&head);
    rest.copy_from_slice(&bytes);
    out.extend_from_slice(&block);
    out.truncate(end);
}

/// Appends a message of two unsigned integers with any fields.
#[inline(never)]
fn push_long_pair(out: &mut Vec<u8>, field: u32, pair: [(u32, u64); 2]) {
    let sizes = pair.map(|(field, value)| varint_size((field << 3).into()) + varint_size(value));
    push_key(out, field, wire::LENGTH_DELIMITED);
    push_varint(out, sizes.iter().sum::<u32>().into());
    for (field, value) in pair {
        push_unsigned(out, field, value);
    }
}

/// Returns the keys of fields whose keys take a byte.
#[inline(always)]
fn short_keys<const N: usize>(fields: [(u32, u32); N]) -> Option<[u8; N]> {
    let is_short = fields.iter().all(|(field, _)| *field < 16);
    is_short.then(|| fields.map(|(field, wire)| (field << 3 | wire) as u8))
}

/// Appends a message of an unsigned integer and a text, as [`begin`] and [`end`] write it. Returns `false` if it is too
/// long.
#[inline(always)]
pub(super) fn push_named_bytes(
    out: &mut Vec<u8>,
    field: u32,
    (name_field, name): (u32, u64),
    (text_field, text): (u32, &[u8]),
) -> bool {
    let keys = short_keys([
        (field, wire::LENGTH_DELIMITED),
        (name_field, wire::VARINT),
        (text_field, wire::LENGTH_DELIMITED),
    ]);
    let Some([tag, name_key, text_key]) = keys.filter(|_| name < 0x80 && text.len() < 0x80) else {
        let at = begin(out, field);
        push_unsigned(out, name_field, name);
        push_bytes(out, text_field, text);
        return end(out, at);
    };
    let size = text.len() as u8;
    let [a, b, c, d] = length(4 + text.len());
    out.extend_from_slice(&[tag, a, b, c, d, name_key, name as u8, text_key, size]);
    out.extend_from_slice(text);
    true
}

/// Returns the size of a variable-length integer in bytes.
#[inline]
const fn varint_size(value: u64) -> u32 {
    (value | 1).ilog2() / 7 + 1
}

/// Appends a signed integer (`int64`, `int32`).
#[inline]
pub(super) fn push_signed(out: &mut Vec<u8>, field: u32, value: i64) {
    push_unsigned(out, field, value as u64);
}

/// Appends a 64-bit integer (`fixed64`).
#[inline]
pub(super) fn push_fixed(out: &mut Vec<u8>, field: u32, value: u64) {
    push_key(out, field, wire::FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a 32-bit integer (`fixed32`).
pub(super) fn push_short_fixed(out: &mut Vec<u8>, field: u32, value: u32) {
    push_key(out, field, wire::FIXED32);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a floating-point number (`double`).
#[inline]
pub(super) fn push_double(out: &mut Vec<u8>, field: u32, value: f64) {
    push_fixed(out, field, value.to_bits());
}

/// Appends a text or bytes.
#[inline]
pub(super) fn push_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    push_key(out, field, wire::LENGTH_DELIMITED);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Starts an inner message as a field. Returns the position for [`end`].
#[inline]
pub(super) fn begin(out: &mut Vec<u8>, field: u32) -> usize {
    push_key(out, field, wire::LENGTH_DELIMITED);
    out.extend_from_slice(&[0; LENGTH]);
    out.len()
}

/// Returns a message length as [`LENGTH`] bytes, or its lowest bits if it is too long.
#[inline(always)]
fn length(size: usize) -> [u8; LENGTH] {
    let size = size as u32;
    let groups = size & 0x7f | (size & 0x3f80) << 1 | (size & 0x1f_c000) << 2 | (size & 0xfe0_0000) << 3;
    (groups | 0x0080_8080).to_le_bytes()
}

/// Ends a message that started at `begin`. Returns `false` if it is too long.
#[inline]
pub(super) fn end(out: &mut [u8], begin: usize) -> bool {
    let size = out.len() - begin;
    let place =
        begin.checked_sub(LENGTH).and_then(|at| out.get_mut(at..)).and_then(|out| out.first_chunk_mut());
    let Some(place) = place else { return false };
    *place = length(size);
    size <= MOST
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    #[derive(Clone, PartialEq, prost::Message)]
    struct Inner {
        #[prost(string, tag = "3")]
        text: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    struct Pair {
        #[prost(uint64, tag = "1")]
        first: u64,
        #[prost(uint64, tag = "16")]
        second: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    struct Outer {
        #[prost(uint64, tag = "1")]
        unsigned: u64,
        #[prost(int64, tag = "2")]
        signed: i64,
        #[prost(double, tag = "44")]
        double: f64,
        #[prost(fixed64, tag = "47")]
        fixed: u64,
        #[prost(message, repeated, tag = "12")]
        inner: Vec<Inner>,
        #[prost(message, repeated, tag = "13")]
        pairs: Vec<Pair>,
    }

    #[test]
    fn messages_are_read_by_prost() {
        let mut out = Vec::new();
        push_unsigned(&mut out, 1, u64::MAX);
        push_signed(&mut out, 2, -7);
        push_double(&mut out, 44, 2.5);
        push_fixed(&mut out, 47, 1 << 63);
        let texts = [String::new(), "a".repeat(300)];
        for text in &texts {
            let at = begin(&mut out, 12);
            push_bytes(&mut out, 3, text.as_bytes());
            assert!(end(&mut out, at));
        }
        push_pair(&mut out, 13, [(1, 0), (16, u64::MAX)]);
        push_pair(&mut out, 13, [(1, 127), (16, 128)]);
        let pair = |first, second| Pair { first, second };
        let pairs = vec![pair(0, u64::MAX), pair(127, 128)];
        let inner = texts.map(|text| Inner { text }).into();
        let wanted = Outer { unsigned: u64::MAX, signed: -7, double: 2.5, fixed: 1 << 63, inner, pairs };
        assert_eq!(Outer::decode(&*out).unwrap(), wanted);
    }

    /// Appends an integer byte by byte.
    fn push_varint_bytewise(out: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    #[test]
    fn varints_are_those_written_byte_by_byte() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let edges = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let random = std::iter::repeat_with(|| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed >> (seed % 64)
        });
        for value in edges.chain(random.take(20_000)).chain([u64::MAX]) {
            let (mut fast, mut slow) = (b"x".to_vec(), b"x".to_vec());
            push_varint(&mut fast, value);
            push_varint_bytewise(&mut slow, value);
            assert_eq!(fast, slow, "{value:#x}");
            let mut head = Head::<64>::new();
            head.varint(5);
            head.varint(value);
            let mut out = Vec::new();
            head.push_to(&mut out);
            assert_eq!((out.first(), out.get(1..)), (Some(&5), fast.get(1..)), "{value:#x}");
        }
    }

    #[test]
    fn short_pairs_are_like_long_pairs() {
        for first in [0, 1, 127, 128, u64::MAX] {
            for second in (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit]).chain([u64::MAX]) {
                for fields in [[4, 1, 3], [15, 15, 15], [16, 1, 3], [4, 16, 3], [4, 1, 2_000]] {
                    let [field, first_field, second_field] = fields;
                    let pair = [(first_field, first), (second_field, second)];
                    let (mut short, mut long) = (b"x".to_vec(), b"x".to_vec());
                    push_pair(&mut short, field, pair);
                    push_long_pair(&mut long, field, pair);
                    assert_eq!(short, long, "{fields:?} {first} {second}");
                }
            }
        }
    }

    #[test]
    fn messages_of_known_length_are_those_of_unknown_length() {
        for (name, size) in [(1, 0), (127, 1), (128, 127), (1 << 20, 128), (u64::MAX, 20_000)] {
            let text = vec![b'a'; size];
            let (mut known, mut unknown) = (Vec::new(), Vec::new());
            assert!(push_named_bytes(&mut known, 4, (1, name), (6, &text)));
            let at = begin(&mut unknown, 4);
            push_unsigned(&mut unknown, 1, name);
            push_bytes(&mut unknown, 6, &text);
            assert!(end(&mut unknown, at));
            assert_eq!(known, unknown, "{name} {size}");
        }
    }

    #[test]
    fn lengths_have_a_fixed_size() {
        for size in [0, 1, 127, 128, 16_383, 16_384, (1 << 21) - 1, 1 << 21, MOST] {
            let bytes = length(size);
            let value = bytes.iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
            assert_eq!((value, bytes.map(|byte| byte >> 7)), (size, [1, 1, 1, 0]));
        }
    }
}
