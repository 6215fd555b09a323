//! Unwritten or overwritten blocks, left by crashes and faulty media.

use std::ops::Range;

use crate::rule::Overwritten;

/// Size in bytes of the blocks that file systems write, or lose, as a whole.
pub(crate) const BLOCK: usize = 4096;

/// Minimum size in bytes of a block at the end of a file or packet. Fewer equal bytes prove nothing.
pub(crate) const SMALLEST: usize = 32;

/// Minimum number of distinguishable clock values for equal bytes to count as evidence. With this many, recorded times
/// do not match a block's times by accident.
const MANY_TIMES: u64 = 1 << 24;

/// Event record times before a block, as the evidence to judge it.
///
/// Periodic events can fill equal blocks, and many events can have the same time. So a block is only wrong if its first
/// time is later than the previous time, and not explained by a short timestamp.
#[derive(Debug, Default)]
pub(crate) struct TimeSteps(Vec<u64>);

/// First event record that begins in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstInBlock {
    /// Step to its time.
    pub(crate) step: u64,
    /// `true` if the previous event record's header is partly in the block, so that the step skips over it.
    pub(crate) is_split: bool,
    /// Number of clock values that its timestamp can distinguish. `None`: the timestamp records the full clock value.
    pub(crate) times: Option<u64>,
    /// `true` if the file ends inside the block.
    pub(crate) is_short: bool,
}

impl TimeSteps {
    /// Adds the step to the time of an event record before the block.
    pub(crate) fn add(&mut self, step: u64) {
        self.0.push(step);
    }

    /// Returns `true` if the first event record in the block shows that it was overwritten.
    pub(crate) fn show_overwritten(&self, found: Overwritten, first: FirstInBlock) -> bool {
        let FirstInBlock { step, is_split, times, is_short } = first;
        let is_copy = found == Overwritten::Copy;
        if step == 0 {
            return false;
        }
        if times.is_none_or(|times| times >= MANY_TIMES) {
            // If events are periodic, each step occurs in each period.
            return !(is_copy && self.0.contains(&step));
        }
        // A slow clock may not have ticked before. A short copy may be a coincidence.
        let largest = self.0.iter().max().copied().unwrap_or_default();
        largest > 0 && !(is_copy && is_short) && step > largest.saturating_mul(1 + u64::from(is_split))
    }
}

/// Returns `true` if bytes are all 0 or all 0xff.
fn is_uniform(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| [0, 0xff].contains(first) && bytes.iter().all(|byte| byte == first))
}

/// Returns the index from which all bytes are 0, or all are 0xff, or the length if the last byte is neither.
pub(crate) fn uniform_from(bytes: &[u8]) -> usize {
    let Some(last) = bytes.last().filter(|last| [0, 0xff].contains(*last)) else { return bytes.len() };
    bytes.iter().rposition(|byte| byte != last).map_or(0, |other| other + 1)
}

/// Returns the first block in a range that looks unwritten or overwritten, and its content. Blocks with other first
/// bytes are not read further.
pub(crate) fn suspicious_block(file: &[u8], range: Range<usize>) -> Option<(Range<usize>, Overwritten)> {
    let begin = range.start.checked_next_multiple_of(BLOCK)?;
    (begin..range.end.min(file.len())).step_by(BLOCK).find_map(|begin| {
        let end = begin.saturating_add(BLOCK).min(file.len());
        let block = file.get(begin..end).filter(|block| block.len() >= SMALLEST)?;
        let found = match block.first()? {
            0 if is_uniform(block) => Overwritten::Zeros,
            0xff if is_uniform(block) => Overwritten::Ones,
            _ if file.get(begin.checked_sub(BLOCK)?..)?.starts_with(block) => Overwritten::Copy,
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
        assert_eq!(at(0), Some((2, Overwritten::Copy)));
        assert_eq!(at(2 * BLOCK + 1), Some((3, Overwritten::Zeros)));
        assert_eq!(at(3 * BLOCK + 1), Some((5, Overwritten::Ones)));
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
