//! When the clocks of several files were 0.

use crate::{BlockKind, Container, Step, TraceBlock};

/// Clocks of one boot of a machine seem to have been 0 at times that are less than this apart, in nanoseconds: files
/// say when they begin to the millisecond, and wall clocks are set right now and then. No two machines are likely to
/// start as close together as that.
const ONE_BOOT: i128 = 100_000_000;

/// When the clock of each file was 0, in nanoseconds since 1970, if several of the files have the same clock: the
/// monotonic clock of one boot of a machine. Their times can be compared exactly then, though each file says its
/// date only to the millisecond. None for files that have their clock to themselves.
#[must_use]
pub fn clock_zeros(files: &[&[u8]]) -> Vec<Option<i128>> {
    let mut known: Vec<(i128, usize)> =
        files.iter().zip(0..).filter_map(|(file, index)| Some((clock_zero(file)?, index))).collect();
    known.sort_unstable();
    let mut zeros = vec![None; files.len()];
    for boot in known.chunk_by(|(a, _), (b, _)| b - a < ONE_BOOT) {
        // Milliseconds were rounded down, so the greatest one is nearest.
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

/// When the clock of a file was 0, if it counts nanoseconds, as monotonic clocks do.
fn clock_zero(file: &[u8]) -> Option<i128> {
    let mut container = Container::open(file, true).ok()??;
    let Step::Block(block) = container.next(file, 0, true) else { return None };
    let content = file.get(block.content.start as usize..block.content.end as usize)?;
    let trace = TraceBlock::read(content, container.version()).filter(|_| block.kind == BlockKind::Trace)?;
    let since = trace.sync_time.since_unix_epoch()?;
    (trace.frequency == 1_000_000_000).then(|| since - i128::from(trace.sync_ticks))
}
