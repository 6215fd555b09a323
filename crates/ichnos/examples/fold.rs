//! Decodes every field of traces: `cargo run --release --example fold -- PATH...`

use ichnos::model::{Field, Real, Text};
use ichnos::prelude::*;

#[derive(Default)]
struct Fold(u64);
impl Fold {
    fn add(&mut self, v: u64) {
        self.0 = (self.0 ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
impl Visitor for Fold {
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.add(value);
    }
    fn signed(&mut self, _: Field<'_>, value: i64) {
        self.add(value as u64);
    }
    fn real(&mut self, _: Field<'_>, value: Real<'_>) {
        self.add(value.to_f64().to_bits());
    }
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        for b in value.bytes.chunks(8) {
            let mut w = [0; 8];
            w[..b.len()].copy_from_slice(b);
            self.add(u64::from_le_bytes(w));
        }
    }
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let session = ichnos::open([&path], &OpenOptions::default())?;
        let mut cursor = session.cursor(Window::default())?;
        let mut fold = Fold::default();
        let mut n = 0;
        while cursor.advance().is_some() {
            if let Some(Message::Event(event)) = cursor.current() {
                n += 1;
                if let Some(c) = event.clock {
                    fold.add(c.cycles);
                }
                event.visit_all(&mut fold)?;
            }
        }
        println!("{path}: {n} {:x}", fold.0);
    }
    Ok(())
}
