//! Counts what is in traces: `cargo run --example count -- PATH...`

use ichnos::prelude::*;

fn main() {
    for path in std::env::args().skip(1) {
        let session = match ichnos::open([&path], &OpenOptions::default()) {
            Ok(session) => session,
            Err(ichnos::OpenError::Refused(refused)) => {
                for d in refused.iter().flat_map(|r| &r.diagnostics).take(2) {
                    println!("{path}: REFUSED {d}");
                }
                continue;
            }
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let mut counts = std::collections::BTreeMap::new();
        match session.cursor(Window::default()) {
            Ok(mut cursor) => {
                let mut last = None;
                let mut back = 0;
                while let Some(head) = cursor.advance() {
                    *counts.entry(head.kind).or_insert(0u64) += 1;
                    if head.nanoseconds.is_some() {
                        if head.nanoseconds < last {
                            back += 1;
                        }
                        last = head.nanoseconds;
                    }
                    if let Some(Message::Damage(damage)) = cursor.current()
                        && counts[&head.kind] < 4
                    {
                        println!("   {damage}");
                    }
                }
                if back > 0 {
                    println!("   backwards: {back}");
                }
            }
            Err(error) => println!("   {error}"),
        }
        println!("{path}: {counts:?}");
    }
}
