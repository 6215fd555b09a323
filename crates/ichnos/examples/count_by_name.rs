//! Counts the events of traces by name: `cargo run -p ichnos --example count_by_name -- TRACE...`
use std::collections::BTreeMap;

use ichnos::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = ichnos::open(std::env::args_os().skip(1), &OpenOptions::default())?;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut events = session.events()?;
    while let Some(event) = events.next_event() {
        match counts.get_mut(event.name()) {
            Some(count) => *count += 1,
            None => {
                counts.insert(event.name().to_owned(), 1);
            }
        }
    }
    for (name, count) in &counts {
        println!("{count:>10} {name}");
    }
    println!("{:?}", events.loss());
    Ok(())
}
