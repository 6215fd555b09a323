//! Waiting for the end of a collector.

use std::time::{Duration, Instant};

use crate::args::CollectArgs;
use crate::exit::Failure;
use crate::progress::interrupt;

/// Time between two checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until a collector or the program should end. Prints statistics as often as the arguments say.
///
/// # Errors
/// If the statistics cannot be printed.
pub(super) fn wait_for_end(
    args: &CollectArgs,
    is_running: impl Fn() -> bool,
    print: impl Fn() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut printed = Instant::now();
    while !interrupt::is_requested() && is_running() {
        std::thread::sleep(LOOK);
        if let Some(period) = args.stats
            && printed.elapsed() >= period
        {
            printed += period;
            print()?;
        }
    }
    Ok(())
}
