//! Draws the number of events of each thread as bars: `cargo run -p ichnos --example histogram_by_thread -- TRACE...`
use std::collections::BTreeMap;

use ichnos::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = ichnos::open(std::env::args_os().skip(1), &OpenOptions::default())?;
    let mut tid = FieldPath::new("ctx.vtid");
    let mut counts: BTreeMap<i128, usize> = BTreeMap::new();
    let mut events = session.events()?;
    while let Some(event) = events.next_event() {
        let thread = event.meaning(Meaning::Thread).or_else(|| tid.get(&event));
        if let Some(thread) = thread.and_then(|thread| thread.as_i128()) {
            *counts.entry(thread).or_default() += 1;
        }
    }
    let most = counts.values().copied().max().unwrap_or(1);
    for (thread, count) in &counts {
        println!("{thread:>8} {count:>8} {}", "#".repeat((count * 40).div_ceil(most)));
    }
    Ok(())
}
