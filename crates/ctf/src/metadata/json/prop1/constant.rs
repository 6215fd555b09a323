//! PROP-1.0 integers: JSON numbers, or objects with digits in a base.

use ichnos_model::class::WideInteger;

use super::super::object::{NARROW, Object, UnknownProperties, greater_than_0, or_refuse, refuse, text};
use super::super::text::{Json, JsonNode};
use crate::metadata::Problems;

/// Reads an integer with up to `most` bits, excluding its sign (CTF2-PROP-1.0, "Constant integer JSON object"). `what`
/// is the expected value in error messages.
fn spelled(node: &JsonNode, most: u64, what: &str, problems: &mut Problems) -> Option<WideInteger> {
    match &node.json {
        Json::Integer(value) => Some(WideInteger::from(*value)),
        Json::BigInteger(digits) if digits.len() as u64 / 3 <= most => {
            let integer = WideInteger::parse(digits, 10).filter(|integer| integer.bits() <= most);
            or_refuse(integer, node, what, problems)
        }
        Json::Object(_) => {
            let mut object = Object::open(node, problems)?;
            let base = match object.get("base") {
                None => Some(10),
                Some(node) => match node.json {
                    Json::Integer(2) => Some(2),
                    Json::Integer(8) => Some(8),
                    Json::Integer(10) => Some(10),
                    Json::Integer(16) => Some(16),
                    _ => {
                        refuse(node, "2, 8, 10 or 16", problems);
                        None
                    }
                },
            };
            let value = object.require("value", problems);
            object.finish(UnknownProperties::Ignore, problems);
            let (base, value) = (base?, value?);
            let written = text(value, problems)?;
            // Parsing so few digits takes negligible time. Some of them may be zeros.
            let is_short = written.len() as u64 <= most.saturating_mul(2);
            let integer = if is_short { WideInteger::parse(written, base) } else { None };
            let integer = integer.filter(|integer| integer.bits() <= most);
            or_refuse(integer, value, format!("the base-{base} digits of {what}"), problems)
        }
        _ => {
            refuse(node, format!("{what}, or an object with its digits"), problems);
            None
        }
    }
}

/// Reads an integer with up to 128 bits, including its sign.
pub(super) fn integer(node: &JsonNode, problems: &mut Problems) -> Option<i128> {
    let value = spelled(node, 128, NARROW, problems)?;
    or_refuse(value.as_i128(), node, NARROW, problems)
}

/// Reads an integer with up to `most` bits, excluding its sign.
pub(super) fn wide_integer(node: &JsonNode, most: u64, problems: &mut Problems) -> Option<WideInteger> {
    let most = most.max(128);
    spelled(node, most, &format!("an integer of at most {most} bits"), problems)
}

/// Reads a class id: an unsigned integer with up to 128 bits.
pub(super) fn id(node: &JsonNode, problems: &mut Problems) -> Option<u128> {
    const WHAT: &str = "an unsigned integer of at most 128 bits";
    let id = spelled(node, 128, WHAT, problems)?.as_u128();
    or_refuse(id, node, WHAT, problems)
}

/// Reads an unsigned integer with up to 64 bits.
pub(super) fn unsigned(node: &JsonNode, problems: &mut Problems) -> Option<u64> {
    let value = u64::try_from(integer(node, problems)?).ok();
    or_refuse(value, node, "an unsigned integer of at most 64 bits", problems)
}

/// Reads an unsigned integer greater than 0.
pub(super) fn positive(node: &JsonNode, problems: &mut Problems) -> Option<u64> {
    greater_than_0(unsigned(node, problems)?, node, problems)
}
