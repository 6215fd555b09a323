//! An event with many fields, built member by member: its class, its bits and its expected values.

use crate::reading::{FieldTexts, damage, events, observed, trace};
use ichnos_testing::encoder::{Encoder, Order, decimal, hex, unsigned_bits};

/// Payload being built.
pub struct PayloadTable {
    /// Member classes, as JSON.
    pub members: Vec<String>,
    pub encoder: Encoder,
    pub expected: FieldTexts,
    /// Property name for a member's class: `field-type` or `field-class`.
    class_property: &'static str,
}

impl PayloadTable {
    /// Creates a packet that starts with a context of two 32-bit little-endian sizes. The payload aligns to 64 bits.
    pub fn new(class_property: &'static str) -> Self {
        let mut encoder = Encoder::default();
        encoder.int(0, 32, Order::Le).int(0, 32, Order::Le);
        Self { members: Vec::new(), encoder, expected: Vec::new(), class_property }
    }

    /// Adds a member: its class, its bits (alignment included), and its values and nested values, by the rest of their
    /// path.
    pub fn add(
        &mut self,
        name: &str,
        class: &str,
        write: impl FnOnce(&mut Encoder),
        values: &[(&str, &str)],
    ) {
        self.members.push(format!(r#"{{"name":"{name}","{}":{class}}}"#, self.class_property));
        write(&mut self.encoder);
        for (rest, value) in values {
            self.expected.push((format!("payload.{name}{rest}"), (*value).to_owned()));
        }
    }

    /// Ends the packet and checks everything through the public interface.
    pub fn check(mut self, metadata: &str) {
        let content = self.encoder.at;
        self.encoder.align(8);
        let total = self.encoder.at;
        self.encoder.patch(0, total, 32, Order::Le);
        self.encoder.patch(32, content, 32, Order::Le);
        let trace = trace(metadata.as_bytes(), &[("stream", &self.encoder.bytes)]);
        let observed = observed(&trace);
        assert_eq!(damage(&observed), Vec::<&ichnos_model::message::Damage>::new());
        let events = events(&observed);
        assert_eq!(events.len(), 1);
        for (found, expected) in events[0].fields.iter().zip(&self.expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(events[0].fields.len(), self.expected.len());
    }
}

/// Returns values that try all bits in fields with this length.
pub fn patterns(length: usize) -> Vec<Vec<bool>> {
    let alternating = (0..length).map(|i| i % 3 == 0).collect();
    let mut lone_top = vec![false; length];
    lone_top[length - 1] = true;
    let mixed = (0..length).map(|i| (i * i + i / 5) % 7 < 3).collect();
    vec![alternating, lone_top, mixed, vec![true; length], vec![false; length]]
}

/// Returns the collector's text for an integer.
pub fn integer_text(bits: &[bool], signed: bool) -> String {
    format!("{}:{}", if signed { "s" } else { "u" }, decimal(bits, signed))
}

/// Returns binary128 numbers as bits, and their values in binary64.
pub fn quadruples() -> Vec<(Vec<bool>, String)> {
    let of = |high: u64, low: u64, value: &str| {
        let bits = unsigned_bits(u128::from(high) << 64 | u128::from(low), 128);
        let digits = hex(&bits);
        (bits, format!("r:{digits}={value}"))
    };
    vec![
        of(0x3fff_8000_0000_0000, 0, "1.5"),
        of(0xc000_0000_0000_0000, 0, "-2.0"),
        // 3 * 2^-2, and a number whose lower half is not empty.
        of(0x3ffe_8000_0000_0000, 0, "0.75"),
        of(0x4000_921f_b544_42d1, 0x8469_898c_c517_01b8, "3.141592653589793"),
        of(0x7fff_0000_0000_0000, 0, "inf"),
    ]
}
