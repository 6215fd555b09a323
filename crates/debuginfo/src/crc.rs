//! Checksum of debug links.

/// Remainders for each byte.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut remainder, mut bit) = (byte as u32, 0);
        while bit < 8 {
            remainder = if remainder & 1 == 1 { remainder >> 1 ^ 0xedb8_8320 } else { remainder >> 1 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// Returns the CRC-32 of a file, as in `.gnu_debuglink` sections.
pub(crate) fn crc32(data: &[u8]) -> u32 {
    let next = |crc: u32, byte: &u8| TABLE[(crc as u8 ^ byte) as usize] ^ crc >> 8;
    !data.iter().fold(u32::MAX, next)
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_checksums() {
        for (data, crc) in [("", 0), ("123456789", 0xcbf4_3926), ("a", 0xe8b7_be43)] {
            assert_eq!(super::crc32(data.as_bytes()), crc, "{data}");
        }
    }
}
