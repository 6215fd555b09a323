//! Numbers of an array.

use crate::arguments::ArgumentSink;

/// Argument writer that collects numbers as bits.
#[derive(Debug, Default)]
pub(super) struct NumberSink {
    pub(super) numbers: Vec<u64>,
}

impl ArgumentSink for NumberSink {
    fn unsigned(&mut self, _: u32, value: u64) {
        self.numbers.push(value);
    }

    fn signed(&mut self, _: u32, value: i64) {
        self.numbers.push(value.cast_unsigned());
    }

    fn double(&mut self, _: u32, value: f64) {
        self.numbers.push(value.to_bits());
    }

    fn boolean(&mut self, _: u32, _: bool) {}
    fn text(&mut self, _: u32, _: &[u8]) {}
    fn enter(&mut self, _: u32, _: bool) {}
    fn leave(&mut self) {}
}
