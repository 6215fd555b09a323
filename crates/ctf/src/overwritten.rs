//! Blocks of bytes that were never written, or overwritten, as crashes and faulty media leave them.

use std::ops::Range;

/// Size in bytes of the blocks that file systems write, or lose, as a whole.
pub(crate) const BLOCK: usize = 4096;

/// Minimum size in bytes of a block at the end of a file.
const SMALLEST: usize = 32;

/// Returns `true` if bytes are all 0 or all 0xff.
pub(crate) fn is_uniform(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| [0, 0xff].contains(first) && bytes.iter().all(|byte| byte == first))
}

/// Returns the first block of a file that begins in a range of it and looks as if it was never written, or overwritten,
/// and what it consists of. Only the first bytes of other blocks are read.
pub(crate) fn suspicious_block(file: &[u8], range: Range<usize>) -> Option<(Range<usize>, &'static str)> {
    let begin = range.start.checked_next_multiple_of(BLOCK)?;
    (begin..range.end.min(file.len())).step_by(BLOCK).find_map(|begin| {
        let end = begin.saturating_add(BLOCK).min(file.len());
        let block = file.get(begin..end).filter(|block| block.len() >= SMALLEST)?;
        let found = match block.first()? {
            0 if is_uniform(block) => "zeros",
            0xff if is_uniform(block) => "bytes of 0xff",
            _ if file.get(begin.checked_sub(BLOCK)?..begin) == Some(block) => {
                "a copy of the 4,096 bytes before"
            }
            _ => return None,
        };
        Some((begin..end, found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_equal_bytes_and_copies_are_found() {
        let block =
            |first: u8| (0..BLOCK).map(move |i| first.wrapping_add((i % 251) as u8)).collect::<Vec<_>>();
        let file = [block(1), block(2), block(2), vec![0; BLOCK], block(3), vec![0xff; 40]].concat();
        let at = |byte: usize| {
            suspicious_block(&file, byte..file.len()).map(|(range, what)| (range.start / BLOCK, what))
        };
        assert_eq!(at(0), Some((2, "a copy of the 4,096 bytes before")));
        assert_eq!(at(2 * BLOCK + 1), Some((3, "zeros")));
        assert_eq!(at(3 * BLOCK + 1), Some((5, "bytes of 0xff")));
        assert_eq!(suspicious_block(&file, 0..2 * BLOCK), None);
        // Too short to prove anything.
        assert_eq!(suspicious_block(&file[..file.len() - 10], 4 * BLOCK..file.len()), None);
    }
}
