//! Short texts that are often appended.

/// Maximum length of a text that is copied as one block, in bytes.
const SIZE: usize = 40;

/// Short constant text that is often appended. Copying a block of a constant size takes a few instructions, but
/// copying other texts takes a call.
#[derive(Clone, Debug)]
pub(crate) struct ShortText {
    /// Text padded with zeros, with one byte more than is copied.
    block: [u8; SIZE + 1],
    /// Text length, if the text fits into the block.
    length: u8,
    /// Text that is longer than a block.
    long: Option<Box<[u8]>>,
}

impl ShortText {
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut block = [0; SIZE + 1];
        if let Some(place) = block.get_mut(..text.len()).filter(|place| place.len() <= SIZE) {
            place.copy_from_slice(text);
            return Self { block, length: text.len() as u8, long: None };
        }
        Self { block, length: 0, long: Some(text.into()) }
    }

    /// Appends the text. With `is_first`, its first byte is left out.
    #[inline]
    pub(crate) fn push(&self, out: &mut Vec<u8>, is_first: bool) {
        let skipped = usize::from(is_first);
        if let Some(long) = &self.long {
            return out.extend_from_slice(long.get(skipped..).unwrap_or_default());
        }
        let end = out.len() + usize::from(self.length).saturating_sub(skipped);
        if let Some(block) = self.block.get(skipped..).and_then(<[u8]>::first_chunk::<SIZE>) {
            out.extend_from_slice(block);
        }
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
            let block = ShortText::new(&text);
            let mut out = vec![0];
            block.push(&mut out, false);
            assert_eq!(out[1..], text);
            block.push(&mut out, true);
            assert_eq!(out[1 + text.len()..], *text.get(1..).unwrap_or_default());
        }
    }
}
