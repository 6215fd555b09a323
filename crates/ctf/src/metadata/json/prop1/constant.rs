//! Integers of PROP-1.0: JSON numbers, or objects that spell them in a base.

use super::super::object::{Object, Unknown, refuse, text};
use super::super::text::{Json, Node};
use crate::metadata::Problems;

/// An integer of up to 128 bits (CTF2-PROP-1.0, "Constant integer JSON object").
pub(super) fn integer(node: &Node, problems: &mut Problems) -> Option<i128> {
    match &node.json {
        Json::Integer(value) => Some(*value),
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
            object.finish(Unknown::Ignore, problems);
            let (base, value) = (base?, value?);
            let written = text(value, problems)?;
            // The library would accept a plus sign, the document does not.
            let integer =
                if written.starts_with('+') { None } else { i128::from_str_radix(written, base).ok() };
            if integer.is_none() {
                refuse(
                    value,
                    format!("the digits of an integer of base {base} and at most 128 bits"),
                    problems,
                );
            }
            integer
        }
        _ => {
            refuse(node, "an integer of at most 128 bits, or an object that spells one", problems);
            None
        }
    }
}

/// An unsigned integer of up to 64 bits.
pub(super) fn unsigned(node: &Node, problems: &mut Problems) -> Option<u64> {
    let value = integer(node, problems)?;
    let value = u64::try_from(value).ok();
    if value.is_none() {
        refuse(node, "an unsigned integer of at most 64 bits", problems);
    }
    value
}

/// An unsigned integer greater than 0.
pub(super) fn positive(node: &Node, problems: &mut Problems) -> Option<u64> {
    let value = unsigned(node, problems)?;
    if value == 0 {
        refuse(node, "an integer greater than 0", problems);
        return None;
    }
    Some(value)
}
