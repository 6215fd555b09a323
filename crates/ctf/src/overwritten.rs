//! Blocks of bytes that were never written, or overwritten, as crashes and faulty media leave them.

use std::ops::Range;

use crate::rule::Overwritten;

/// Size in bytes of the blocks that file systems write, or lose, as a whole.
pub(crate) const BLOCK: usize = 4096;

/// Minimum size in bytes of a block at the end of a file, or of a packet: fewer equal bytes prove nothing.
pub(crate) const SMALLEST: usize = 32;

/// Steps between the times of event records before a block, by which it is judged.
///
/// Periodic events can fill equal blocks, and events at one time can have equal bytes. So times are only wrong if they go
/// back, or if they do what none does in the block before.
#[derive(Debug, Default)]
pub(crate) struct TimeSteps {
    steps: Vec<u64>,
    /// Number of steps of 0 in a row up to now, and the maximum.
    standing: usize,
    most_standing: usize,
}

impl TimeSteps {
    /// Adds the step to the time of an event record before the block.
    pub(crate) fn add(&mut self, step: u64) {
        self.steps.push(step);
        self.standing = if step == 0 { self.standing + 1 } else { 0 };
        self.most_standing = self.most_standing.max(self.standing);
    }

    /// Returns `true` if the step to the first event record in the block shows that it was overwritten. If the event record
    /// before is partly in the block, `is_split` is true, and the step leads over it.
    pub(crate) fn is_wrong(&self, step: u64, is_split: bool, found: Overwritten) -> bool {
        match found {
            // If events are periodic, each step occurs in each period, and a step over a split one does so before the
            // first event record of the block before.
            Overwritten::Copy if !self.steps.is_empty() => !self.steps.contains(&step),
            _ => {
                let largest = self.steps.iter().max().copied().unwrap_or_default().max(1);
                step > largest.saturating_mul(1 + u64::from(is_split))
            }
        }
    }

    /// Returns `true` if so many steps of 0 in a row are more than those before.
    pub(crate) fn stands_too_long(&self, standing: usize) -> bool {
        standing > self.most_standing
    }
}

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
