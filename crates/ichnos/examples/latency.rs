//! Prints the time between two events with the same field value, for example a request and its response: `cargo run
//! -p ichnos --example latency -- TRACE BEGIN END FIELD`
use std::collections::HashMap;

use ichnos::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, begin, end, field] = &arguments[..] else { return Err("TRACE BEGIN END FIELD".into()) };
    let session = ichnos::open([trace], &OpenOptions::default())?;
    let mut events = session.events()?;
    let mut field = FieldPath::new(field);
    let mut open: HashMap<i128, i128> = HashMap::new();
    let mut latencies = Vec::new();
    while let Some(event) = events.next_event() {
        let (is_begin, is_end) = (event.name() == begin, event.name() == end);
        if !is_begin && !is_end {
            continue;
        }
        let key = field.get(&event).and_then(|value| value.as_i128());
        let (Some(key), Some(time)) = (key, event.nanoseconds()) else { continue };
        if is_end && let Some(begun) = open.remove(&key) {
            latencies.push(time - begun);
        }
        if is_begin {
            open.insert(key, time);
        }
    }
    latencies.sort_unstable();
    println!("{} pairs, {} begun and not ended", latencies.len(), open.len());
    if let [least, .., greatest] = latencies[..] {
        let median = latencies[(latencies.len() - 1) / 2];
        println!("least {least} ns, median {median} ns, greatest {greatest} ns");
    }
    Ok(())
}
