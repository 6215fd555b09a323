//! Blocks of bytes that were never written, or overwritten, as crashes and faulty media leave them.

use std::ops::Range;

/// Size in bytes of the blocks that file systems write, or lose, as a whole.
pub(crate) const BLOCK: usize = 4096;

/// Minimum size in bytes of a block at the end of a file, or of a packet: fewer equal bytes prove nothing.
pub(crate) const SMALLEST: usize = 32;

/// Returns `true` if bytes are all 0 or all 0xff.
fn is_uniform(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| [0, 0xff].contains(first) && bytes.iter().all(|byte| byte == first))
}

/// Returns the index from which on all bytes are 0, or all are 0xff; the number of bytes if the last one is neither.
pub(crate) fn uniform_from(bytes: &[u8]) -> usize {
    let Some(last) = bytes.last().filter(|last| [0, 0xff].contains(*last)) else { return bytes.len() };
    bytes.iter().rposition(|byte| byte != last).map_or(0, |other| other + 1)
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

    #[test]
    fn equal_bytes_at_the_end_are_found() {
        assert_eq!(uniform_from(&[]), 0);
        assert_eq!(uniform_from(&[0, 0]), 0);
        assert_eq!(uniform_from(&[0, 1]), 2);
        assert_eq!(uniform_from(&[0, 0xff, 0, 0]), 2);
        assert_eq!(uniform_from(&[0, 0xff]), 1);
    }
}
