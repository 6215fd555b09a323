//! Short texts that are often appended.

/// Maximum length of a text that is copied as one block, in bytes.
const SIZE: usize = 40;

/// Short constant text that is often appended. Copying a block of a constant size takes a few instructions, but
/// copying other texts takes a call.
#[derive(Clone, Debug)]
pub(crate) struct ShortText {
    /// Text padded with zeros.
    block: [u8; SIZE],
    /// Text length, if the text fits into the block.
    length: u8,
    /// Text that is longer than a block.
    long: Option<Box<[u8]>>,
}

impl ShortText {
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut block = [0; SIZE];
        if let Some(place) = block.get_mut(..text.len()) {
            place.copy_from_slice(text);
            return Self { block, length: text.len() as u8, long: None };
        }
        Self { block, length: 0, long: Some(text.into()) }
    }

    /// Appends the text.
    #[inline(always)]
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        if let Some(long) = &self.long {
            return out.extend_from_slice(long);
        }
        let end = out.len() + usize::from(self.length);
        out.extend_from_slice(&self.block);
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length() {
        for length in 0..100u8 {
            let text: Vec<u8> = (1..=length).collect();
            let mut out = vec![0];
            ShortText::new(&text).push(&mut out);
            assert_eq!(out[1..], text);
        }
    }
}
