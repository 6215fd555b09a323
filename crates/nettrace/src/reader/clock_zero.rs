//! Compares the clock origins of several files.

use crate::{BlockKind, Container, FileItem, TraceBlock};

/// Maximum difference between clock origins of one boot, in nanoseconds. File dates have a resolution of one
/// millisecond, and wall clocks are adjusted from time to time. Two machines are unlikely to start that close together.
const ONE_BOOT: i128 = 100_000_000;

/// Returns the origin of each file's clock, in nanoseconds since 1970, if several files share a clock: the monotonic
/// clock of one boot. Their times can then be compared exactly, although file dates have a resolution of one
/// millisecond. `None` for files with separate clocks.
#[must_use]
pub fn clock_zeros(files: &[&[u8]]) -> Vec<Option<i128>> {
    let mut known: Vec<(i128, usize)> =
        files.iter().zip(0..).filter_map(|(file, index)| Some((clock_zero(file)?, index))).collect();
    known.sort_unstable();
    let mut zeros = vec![None; files.len()];
    for boot in known.chunk_by(|(a, _), (b, _)| b - a < ONE_BOOT) {
        // Milliseconds were rounded down, so the latest date is the most exact.
        if let [_, .., (greatest, _)] = boot {
            for (_, index) in boot {
                if let Some(zero) = zeros.get_mut(*index) {
                    *zero = Some(*greatest);
                }
            }
        }
    }
    zeros
}

/// Returns the origin of a file's clock if the clock counts nanoseconds, as monotonic clocks do.
fn clock_zero(file: &[u8]) -> Option<i128> {
    let mut container = Container::open_file(file).ok()?;
    if container.is_rest() {
        // The first call reports that the start is missing.
        container.next(file, 0, true);
    }
    let FileItem::Block(block) = container.next(file, 0, true) else { return None };
    let content = file.get(block.content.start as usize..block.content.end as usize)?;
    let trace = TraceBlock::read(content, container.version()).filter(|_| block.kind == BlockKind::Trace)?;
    let since = trace.sync_time.since_unix_epoch()?;
    (trace.frequency == 1_000_000_000).then(|| since - i128::from(trace.sync_ticks))
}
