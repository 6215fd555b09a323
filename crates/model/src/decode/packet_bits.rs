//! Decoding input and limits.

/// Packet bits.
#[derive(Clone, Copy, Debug)]
pub struct PacketBits<'a> {
    /// Bytes from the start of the packet on.
    pub data: &'a [u8],
    /// Content size in bits. The data may end earlier if the packet is truncated.
    pub content: u64,
}

impl<'a> PacketBits<'a> {
    /// Creates packet bits with all of `data` as content.
    #[must_use]
    pub fn whole(data: &'a [u8]) -> Self {
        Self { data, content: data.len() as u64 * 8 }
    }

    /// Returns the end of the readable bits: the end of the content or of the data.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.content.min(self.data.len() as u64 * 8)
    }

    /// Returns the readable whole bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        let content = usize::try_from(self.content / 8).unwrap_or(usize::MAX);
        &self.data[..content.min(self.data.len())]
    }
}

/// Decoding limits.
#[derive(Clone, Copy, Debug)]
pub struct DecodeLimits {
    /// See [`Limits::integer_bits`](crate::trace::Limits::integer_bits).
    pub integer_bits: u64,
    /// See [`Limits::zero_size_elements`](crate::trace::Limits::zero_size_elements).
    pub zero_size_elements: u64,
}

impl From<&crate::trace::Limits> for DecodeLimits {
    fn from(limits: &crate::trace::Limits) -> Self {
        Self { integer_bits: limits.integer_bits, zero_size_elements: limits.zero_size_elements }
    }
}
