//! Bars and lines made from block characters.

/// Blocks filled from the left, in eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Blocks filled from below, in eighths.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a bar for a count, `width` characters long for the greatest count. Any count above 0 is visible.
pub(super) fn bar(count: u64, greatest: u64, width: usize) -> String {
    let eighths = u128::from(count) * 8 * width as u128 / u128::from(greatest.max(1));
    let eighths = (eighths as usize).min(8 * width).max(usize::from(count > 0));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns one character for each count. Its height is relative to the greatest count.
pub(super) fn line(counts: impl IntoIterator<Item = u64>, greatest: u64) -> String {
    let height = |count: u64| match count {
        0 => ' ',
        count => {
            let height = (u128::from(count) * 8).div_ceil(u128::from(greatest.max(1)));
            HEIGHTS[(height as usize).clamp(1, 8) - 1]
        }
    };
    counts.into_iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        assert_eq!(bar(0, 8, 4), "");
        assert_eq!(bar(1, 1_000_000, 4), "▏");
        assert_eq!(bar(8, 8, 4), "████");
        assert_eq!(bar(3, 8, 4), "█▌");
        assert_eq!(bar(u64::MAX, u64::MAX, 2), "██");
        assert_eq!(bar(0, 0, 2), "");
        assert_eq!(line([0, 1, 4, 8, 7], 8), " ▁▄█▇");
        assert_eq!(line([u64::MAX, 1], u64::MAX), "█▁");
    }
}
