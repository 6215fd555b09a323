//! Values of fixed-length fields, derived from their bits.

use crate::Random;
use crate::encoder::{bits, decimal, hex, unsigned_bits};

use super::types::{Integer, Kind};

/// Formats a value. `bits` starts with the least significant bit.
pub(super) fn text_of(kind: &Kind, bits: &[bool]) -> String {
    match kind {
        Kind::BitArray(_) | Kind::VariableBitArray => format!("a:{}", hex(bits)),
        Kind::Boolean(_) | Kind::VariableBoolean => format!("b:{}", bits.contains(&true)),
        Kind::Integer(_, integer) | Kind::VariableInteger(integer) => integer_text(integer, bits),
        Kind::Float(_) => float_text(bits),
        _ => unreachable!("not of bits"),
    }
}

fn integer_text(integer: &Integer, bits: &[bool]) -> String {
    format!("{}:{}", if integer.signed { "s" } else { "u" }, decimal(bits, integer.signed))
}

/// Returns bits as an unsigned number.
fn unsigned(bits: &[bool]) -> u128 {
    bits.iter().rev().fold(0, |value, bit| value << 1 | u128::from(*bit))
}

fn float_text(bits: &[bool]) -> String {
    let whole = unsigned(bits);
    match bits.len() {
        16 => format!("r:{:?}", half(whole as u16)),
        32 => format!("r:{:?}", f64::from(f32::from_bits(whole as u32))),
        64 => format!("r:{:?}", f64::from_bits(whole as u64)),
        _ => {
            let known = QUADRUPLES.iter().find(|(known, _)| *known == whole).map(|(_, value)| *value);
            format!("r:{}={:?}", hex(bits), known.unwrap_or_default())
        }
    }
}

/// Returns the value of a normal 16-bit float.
fn half(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 31) - 15;
    let value = (1.0 + f64::from(bits & 1023) / 1024.0) * 2f64.powi(exponent);
    if bits >> 15 == 1 { -value } else { value }
}

/// 128-bit floats and their values.
const QUADRUPLES: [(u128, f64); 3] = [
    (0x3fff_8000_0000_0000_0000_0000_0000_0000, 1.5),
    (0xc000_0000_0000_0000_0000_0000_0000_0000, -2.0),
    (0x4000_921f_b544_42d1_8469_898c_c517_01b8, std::f64::consts::PI),
];

/// Returns the bits of a random finite float.
pub(super) fn random_float(random: &mut Random, size: usize) -> Vec<bool> {
    match size {
        16 => unsigned_bits((random.below(30) + 1).wrapping_shl(10).into(), 16),
        32 => bits((random.below(100_000) as f32 / 64.0).to_bits().into(), 32),
        64 => bits((random.below(100_000) as f64 / -128.0).to_bits().into(), 64),
        _ => unsigned_bits(random.pick(&QUADRUPLES).0, size),
    }
}

/// Returns random bits: single bits, all bits, or any.
pub(super) fn random_bits(random: &mut Random, size: usize) -> Vec<bool> {
    match random.below(6) {
        0 => vec![false; size],
        1 => vec![true; size],
        2 => (0..size).map(|bit| bit + 1 == size).collect(),
        3 => (0..size).map(|bit| bit < 3 && bit + 1 < size).collect(),
        _ => (0..size).map(|_| random.percent(50)).collect(),
    }
}
