//! Counts for `cat --stats`.

use std::time::Duration;

use ichnos::PassCounts;
use ichnos::export::text::{count, grouped};
use ichnos::io::WriteReport;

use crate::progress::Console;

/// Prints the number of messages, the elapsed time, and the checksum if the format has one.
pub(crate) fn print(counts: &PassCounts, printed: &WriteReport, elapsed: Duration, console: Console) {
    let seconds = elapsed.as_secs_f64();
    // No rate for times too short to measure.
    let rate = if seconds >= 0.1 {
        format!(" ({} per second)", grouped((counts.events as f64 / seconds) as u64))
    } else {
        String::new()
    };
    console.print(&format!("{} in {seconds:.3} s{rate}", count(counts.events, "event")));
    console.print(&format!(
        "{} and {} discarded by the tracer, {}",
        count(counts.discarded_events, "event"),
        count(counts.discarded_packets, "packet"),
        count(counts.damages, "damaged place")
    ));
    if let Some(checksum) = printed.checksum {
        console.print(&format!(
            "{}, {}, checksum {checksum:016x}",
            count(printed.packets, "packet"),
            count(printed.bytes, "byte"),
        ));
    }
}
