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
}

/// Appends a variable-length integer.
#[inline]
fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn push_key(out: &mut Vec<u8>, field: u32, wire: u32) {
    push_varint(out, u64::from(field << 3 | wire));
}

/// Appends an unsigned integer, an enumeration value or a boolean.
#[inline]
pub(super) fn push_unsigned(out: &mut Vec<u8>, field: u32, value: u64) {
    push_key(out, field, wire::VARINT);
    push_varint(out, value);
}

/// Appends a message of two unsigned integers, whose length is known in advance.
#[inline]
pub(super) fn push_pair(out: &mut Vec<u8>, field: u32, pair: [(u32, u64); 2]) {
    let sizes = pair.map(|(field, value)| varint_size((field << 3).into()) + varint_size(value));
    push_key(out, field, wire::LENGTH_DELIMITED);
    push_varint(out, sizes.iter().sum::<u32>().into());
    for (field, value) in pair {
        push_unsigned(out, field, value);
    }
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

/// Ends a message that started at `begin`. Returns `false` if it is too long.
#[inline]
pub(super) fn end(out: &mut [u8], begin: usize) -> bool {
    let size = out.len() - begin;
    let Some(length) = begin.checked_sub(LENGTH).and_then(|at| out.get_mut(at..begin)) else { return false };
    for (index, byte) in length.iter_mut().enumerate() {
        let is_last = index + 1 == LENGTH;
        *byte = (size >> (7 * index)) as u8 & 0x7f | if is_last { 0 } else { 0x80 };
    }
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
}
