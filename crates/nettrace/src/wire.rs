//! Reads primitive values from bytes. All are little-endian.

/// Reads consecutive values. Methods return `None` if the bytes end too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Wire<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Starts at a byte index.
    pub(crate) const fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Returns the number of bytes read.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Returns the unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = self.bytes.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*array)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn guid(&mut self) -> Option<[u8; 16]> {
        self.array()
    }

    /// Reads an `int` with a length. Returns `None` if it is negative.
    pub(crate) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()? as i32).ok()
    }

    /// Reads an integer in at most 10 groups of 7 bits, least significant first. Drops excess bits, as the reference
    /// reader does.
    #[inline(always)]
    pub(crate) fn varuint64(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        if first < 0x80 {
            self.at += 1;
            return Some(first.into());
        }
        self.long_varuint(10)
    }

    /// Variant of [`Wire::varuint64`] with at most 5 bytes.
    #[inline(always)]
    pub(crate) fn varuint32(&mut self) -> Option<u32> {
        let first = *self.bytes.get(self.at)?;
        if first < 0x80 {
            self.at += 1;
            return Some(first.into());
        }
        self.long_varuint(5).map(|value| value as u32)
    }

    #[inline]
    fn long_varuint(&mut self, most: usize) -> Option<u64> {
        let mut value = 0u64;
        let bytes = self.bytes.get(self.at..)?;
        for (i, byte) in bytes.iter().take(most).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if *byte < 0x80 {
                self.at += i + 1;
                return Some(value);
            }
        }
        None
    }

    /// Reads a UTF-8 text after its length in bytes (version 6).
    pub(crate) fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.varuint32()?).ok()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// Reads a UTF-16 text that ends with a 0 code unit (up to version 5).
    pub(crate) fn utf16_string(&mut self) -> Option<String> {
        let units = self.rest().as_chunks::<2>().0;
        let length = units.iter().position(|unit| *unit == [0, 0])?;
        self.at += 2 * length + 2;
        let units = units.get(..length)?.iter().map(|unit| u16::from_le_bytes(*unit));
        Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}

/// Maximum number of properties in an event or a trace.
pub(crate) const MOST_PROPERTIES: usize = 1_000;

/// Adds a property, up to a limit, because a property takes much more memory than its bytes in the file.
pub(crate) fn push_property(properties: &mut Vec<(String, String)>, property: (String, String)) {
    if properties.len() < MOST_PROPERTIES {
        properties.push(property);
    }
}

/// Decodes a zigzag number, which has its sign in the lowest bit.
pub(crate) const fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_numbers() {
        assert_eq!(Wire::new(&[0x7f]).varuint32(), Some(127));
        assert_eq!(Wire::new(&[0x80, 1]).varuint32(), Some(128));
        assert_eq!(Wire::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varuint32(), Some(u32::MAX));
        assert_eq!(Wire::new(&[0xff; 5]).varuint32(), None);
        assert_eq!(Wire::new(&[0xff; 4]).varuint64(), None);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let mut wire = Wire::new(&most);
        assert_eq!((wire.varuint64(), wire.position()), (Some(u64::MAX), 10));
        assert_eq!([0, 1, 2, 3, u64::MAX].map(zigzag), [0, -1, 1, -2, i64::MIN]);
    }

    #[test]
    fn strings() {
        assert_eq!(Wire::new(b"h\0i\0\0\0").utf16_string().as_deref(), Some("hi"));
        assert_eq!(Wire::new(b"h\0i\0\0").utf16_string(), None);
        assert_eq!(Wire::new(b"\x02hix").string().as_deref(), Some("hi"));
        assert_eq!(Wire::new(b"\x02h").string(), None);
        assert_eq!(Wire::new(&[0xff; 4]).length(), None);
    }
}
