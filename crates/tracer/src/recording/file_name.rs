//! Names of files of packets.

use std::ffi::CStr;
use std::io::Write as _;

/// Bytes of the longest name: `.stream-`, a number of 16 bits, `-`, one of 32 bits, and the zero after it.
const LONGEST: usize = 8 + 5 + 1 + 10 + 1;

/// Name of a file of packets in its directory, without memory from the allocator.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileName {
    /// The hidden name. Zeros follow.
    bytes: [u8; LONGEST],
}

impl FileName {
    /// Returns the name of a data stream's file.
    pub(super) fn new(stream: u16, number: u32) -> Self {
        let mut bytes = [0; LONGEST];
        // There is room for all numbers.
        let _ = write!(bytes.as_mut_slice(), ".stream-{stream:05}-{number:06}");
        Self { bytes }
    }

    /// Returns the name of the file before readers can see it.
    pub(super) fn hidden(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Returns the name that readers look for.
    pub(super) fn shown(&self) -> &CStr {
        let shown = self.bytes.get(1..).unwrap_or_default();
        CStr::from_bytes_until_nul(shown).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_have_room() {
        let name = FileName::new(7, 12);
        assert_eq!((name.hidden(), name.shown()), (c".stream-00007-000012", c"stream-00007-000012"));
        assert_eq!(FileName::new(u16::MAX, u32::MAX).shown(), c"stream-65535-4294967295");
    }
}
