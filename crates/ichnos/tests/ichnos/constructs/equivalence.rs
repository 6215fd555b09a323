//! Equivalent values in different classes.

use ichnos::model::class::Uuid;
use ichnos_testing::constructs::Datum;

/// Returns `true` if `found` contains the complete expected value, possibly with a simpler class.
pub(super) fn is_equivalent(expected: &Datum, found: &Datum) -> bool {
    match (expected, found) {
        (_, _) if expected == found || (expected.is_empty() && found.is_empty()) => true,
        // A field without a value, found as an array that is always empty.
        (Datum::Absent | Datum::Structure(_), Datum::Array(elements)) if elements.is_empty() => {
            expected.is_empty()
        }
        (Datum::Boolean(value), Datum::Integer(digits)) => *value == (digits != "0"),
        (Datum::Boolean(value), Datum::Text(text)) => value.to_string() == *text,
        (Datum::Bits(digits), Datum::Integer(found)) => hex_bytes(digits) == decimal_bytes(found),
        (Datum::Bits(digits), Datum::Text(text)) => match text.strip_prefix("0x") {
            Some(hex) => hex_bytes(digits) == hex_bytes(hex),
            None => {
                text.bytes().all(|digit| digit.is_ascii_digit()) && hex_bytes(digits) == decimal_bytes(text)
            }
        },
        (Datum::Integer(digits), Datum::Text(text)) => {
            // Identifiers are hexadecimal.
            let is_id = [8, 16].contains(&text.len())
                && u64::from_str_radix(text, 16).is_ok_and(|id| id.to_string() == *digits);
            digits == text || is_id
        }
        (Datum::Integer(digits), Datum::Float(..)) => digits
            .parse()
            .is_ok_and(|value: f64| same_number(&Datum::double(value), found) && value.abs() < 9e15),
        (Datum::Integer(digits), Datum::Array(_) | Datum::Bytes(_)) => {
            matches!(found, Datum::Array(elements) if elements.len() == 1 && elements[0] == *expected)
                || bytes_of(found).is_some_and(|bytes| is_integer(digits, &bytes))
        }
        (Datum::Bits(digits), Datum::Array(_) | Datum::Bytes(_)) => {
            bytes_of(found).is_some_and(|bytes| without_zeros(bytes) == hex_bytes(digits))
        }
        (Datum::Float(..), Datum::Text(text)) => text.parse().is_ok_and(|value: f64| {
            same_number(expected, &Datum::double(value)) || is_shortest(expected, text)
        }),
        (Datum::Float(..), Datum::Float(..)) => same_number(expected, found),
        (Datum::Float(_, bits), Datum::Array(_) | Datum::Bytes(_)) => bytes_of(found)
            .is_some_and(|bytes| without_zeros(bytes) == without_zeros(bits.to_le_bytes().to_vec())),
        (Datum::Text(text), Datum::Bytes(_) | Datum::Array(_)) => {
            let is_optional =
                matches!(found, Datum::Array(elements) if elements.len() == 1 && elements[0] == *expected);
            is_optional || bytes_of(found).is_some_and(|bytes| bytes == text.as_bytes())
        }
        (Datum::Bytes(bytes), Datum::Array(_)) => bytes_of(found).as_ref() == Some(bytes),
        (Datum::Bytes(bytes), Datum::Text(text)) => {
            // The first numbers in a GUID are little-endian.
            let guid = text.parse().ok().map(|guid: Uuid| guid.to_bytes_le().to_vec());
            hex(bytes).eq_ignore_ascii_case(&text.replace('-', "")) || guid.as_ref() == Some(bytes)
        }
        // An optional field, found as an array.
        (Datum::Structure(_), Datum::Array(elements)) if elements.len() == 1 => {
            is_equivalent(expected, &elements[0])
        }
        // A variant, found as one array per option.
        (_, Datum::Structure(options)) if is_of_options(options) => {
            options.iter().any(|(_, option)| match option {
                Datum::Array(elements) => {
                    is_equivalent(expected, option)
                        || elements.first().is_some_and(|element| is_equivalent(expected, element))
                }
                _ => false,
            })
        }
        // A union, found as one member or as its bytes.
        (Datum::Structure(members), _) if !matches!(found, Datum::Structure(_) | Datum::Text(_)) => {
            members.iter().any(|(_, value)| is_equivalent(value, found))
        }
        // Consecutive values.
        (Datum::Array(_), Datum::Array(found)) if !found.is_empty() => {
            leaves(expected) == found.iter().flat_map(leaves).collect::<Vec<_>>()
        }
        // A field, found as the only member of a structure.
        (_, Datum::Structure(members)) if members.len() == 1 => is_equivalent(expected, &members[0].1),
        // Nested values, found as text.
        (Datum::Structure(_) | Datum::Array(_), Datum::Text(text)) => {
            let mut rest = text.as_str();
            let leaves = leaves(expected);
            !leaves.is_empty()
                && leaves.iter().all(|leaf| match rest.find(leaf.as_str()) {
                    Some(at) => {
                        rest = &rest[at + leaf.len()..];
                        true
                    }
                    None => false,
                })
        }
        _ => false,
    }
}

/// Returns `true` if a text is the shortest form of a 32-bit float.
fn is_shortest(expected: &Datum, text: &str) -> bool {
    matches!(expected, Datum::Float(32, bits) if text.parse() == Ok(f32::from_bits(*bits as u32)))
}

/// Returns `true` for arrays of which one has one element and the others are empty.
fn is_of_options(members: &[(String, Datum)]) -> bool {
    let lengths = members.iter().map(|(_, value)| match value {
        Datum::Array(elements) => elements.len(),
        _ => 2,
    });
    lengths.sum::<usize>() == 1
}

/// Returns the texts of nested values without members.
fn leaves(value: &Datum) -> Vec<String> {
    match value {
        Datum::Structure(members) => members.iter().flat_map(|(_, value)| leaves(value)).collect(),
        Datum::Array(elements) => elements.iter().flat_map(leaves).collect(),
        Datum::Text(text) => vec![text.clone()],
        Datum::Absent => Vec::new(),
        Datum::Bytes(bytes) => vec![hex(bytes)],
        other => vec![other.to_string()],
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of a value, including an array of integers.
fn bytes_of(value: &Datum) -> Option<Vec<u8>> {
    match value {
        Datum::Bytes(bytes) => Some(bytes.clone()),
        Datum::Array(elements) => elements
            .iter()
            .map(|element| match element {
                Datum::Integer(digits) => digits.parse().ok(),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// Decodes hexadecimal digits to bytes, least significant first, without trailing zeros.
fn hex_bytes(digits: &str) -> Vec<u8> {
    let reversed: Vec<u8> =
        digits.bytes().rev().map(|digit| char::from(digit).to_digit(16).unwrap_or(0) as u8).collect();
    without_zeros(reversed.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4).collect())
}

/// Returns the magnitude of a decimal number as bytes.
fn decimal_bytes(digits: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for digit in digits.trim_start_matches('-').bytes() {
        let mut carry = u32::from(digit - b'0');
        for byte in &mut bytes {
            let value = u32::from(*byte) * 10 + carry;
            *byte = value as u8;
            carry = value >> 8;
        }
        if carry > 0 {
            bytes.push(carry as u8);
        }
    }
    bytes
}

/// Returns `true` if the bytes, least significant first, are the integer in two's complement or unsigned form.
fn is_integer(digits: &str, bytes: &[u8]) -> bool {
    let mut magnitude = bytes.to_vec();
    if digits.starts_with('-') {
        let mut carry = 1;
        for byte in &mut magnitude {
            let value = u32::from(!*byte) + carry;
            *byte = value as u8;
            carry = value >> 8;
        }
    }
    without_zeros(magnitude) == decimal_bytes(digits)
}

/// Returns `true` if two floating-point numbers of any width are equal.
fn same_number(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Float(a_width, a), Datum::Float(b_width, b)) => parts(*a_width, *a) == parts(*b_width, *b),
        _ => false,
    }
}

/// Splits a number into sign, odd significand and exponent. 0, infinity and NaN have special values.
fn parts(width: u32, bits: u128) -> (bool, u128, i32) {
    let exponent_bits = match width {
        16 => 5,
        32 => 8,
        64 => 11,
        _ => 15,
    };
    let fraction_bits = width - 1 - exponent_bits;
    let negative = bits >> (width - 1) & 1 == 1;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let exponent = (bits >> fraction_bits) as i32 & ((1 << exponent_bits) - 1);
    let most = (1 << exponent_bits) - 1;
    if exponent == most {
        // All NaNs are equal, whatever their bits.
        return if fraction == 0 { (negative, 0, i32::MAX) } else { (false, 1, i32::MAX) };
    }
    let (significand, exponent) =
        if exponent == 0 { (fraction, 1) } else { (fraction | 1 << fraction_bits, exponent) };
    if significand == 0 {
        return (negative, 0, 0);
    }
    let zeros = significand.trailing_zeros();
    (negative, significand >> zeros, exponent - (most >> 1) - fraction_bits as i32 + zeros as i32)
}
