//! Selects variant options by value.

use std::borrow::Cow;

use ichnos_json::read::Reader;
use ichnos_model::class::{
    FieldClass, FieldKind, IntegerProperties, Length, Member, Value, VariableLengthValue,
};
use ichnos_model::field::{Real, StringEncoding};
use uuid::Uuid;

use crate::fault::value;
use crate::members::integer_of;
use crate::shape::is_integer;

/// Returns `true` if a value can be a field of a class. `work` is the remaining number of comparisons.
pub(crate) fn looks_like(mut json: Reader<'_>, class: &FieldClass, work: &mut u64) -> bool {
    let Some(less) = work.checked_sub(1) else { return false };
    *work = less;
    let first = json.peek();
    if let Some(integer) = class.integer() {
        if integer.mappings.is_some() {
            return labels_fit(json, integer);
        }
        if first == Some(b'"') && integer.wall_clock.is_some() {
            return true;
        }
        return integer_fits(json, class.bits().map(|bits| bits.length), integer.signed);
    }
    if let Some(members) = class.members() {
        return members_fit(json, members, work);
    }
    match &class.kind {
        FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {
            matches!(first, Some(b't' | b'f'))
        }
        FieldKind::BitArray(_) | FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
            has_keys(json, &["bits"])
        }
        FieldKind::BitMap { .. } => has_keys(json, &["bits", "flags"]),
        FieldKind::Float(bits) => float_fits(json, bits.length),
        FieldKind::String { encoding, .. } => match first {
            // Encodings other than UTF-8 are named in the object.
            Some(b'{') if *encoding == StringEncoding::Utf8 => has_keys(json, &["$bytes"]),
            Some(b'{') => has_keys(json, &["$bytes", "encoding"]),
            first => first == Some(b'"'),
        },
        FieldKind::Blob { .. } => first_key(json).is_some_and(|key| key == "$blob"),
        FieldKind::Guid { .. } => {
            let text = json.string().ok().and_then(|text| text.plain());
            text.is_some_and(|text| text.len() == 36 && Uuid::parse_str(text).is_ok())
        }
        FieldKind::Array { element, length, .. } => {
            let count = matching_elements(json, element, work);
            count
                .is_some_and(|count| matches!(length, Length::Dynamic(_)) || *length == Length::Static(count))
        }
        FieldKind::Optional { .. } if first == Some(b'n') => true,
        FieldKind::Optional { .. } | FieldKind::Variant { .. } => {
            class.children().any(|child| looks_like(json.clone(), child.class(), work))
        }
        FieldKind::Null { .. } => first == Some(b'n'),
        _ => false,
    }
}

/// Returns `true` if a value can be an integer with this number of bits. `None` means any number of bits.
fn integer_fits(mut json: Reader<'_>, length: Option<u64>, signed: bool) -> bool {
    let digits = match json.peek() {
        Some(b'"') => json.string().ok().and_then(|text| text.plain()),
        Some(b'{') => {
            return length.is_none_or(|length| length > 64)
                && json.skip().is_ok_and(|text| text.contains("\"$int\""));
        }
        _ => json.number().ok(),
    };
    let Some(digits) = digits.filter(|digits| is_integer(digits)) else { return false };
    match (digits.parse::<i128>(), length) {
        (Ok(value), Some(length)) if length < 127 => match signed {
            true => (-(1i128 << (length - 1))..1i128 << (length - 1)).contains(&value),
            false => (0..1i128 << length).contains(&value),
        },
        (Ok(value), _) => signed || value >= 0,
        (Err(_), length) => length.is_none_or(|length| length > 64),
    }
}

/// Returns `true` if a value can be a floating-point number with this number of bits.
fn float_fits(mut json: Reader<'_>, length: u64) -> bool {
    match json.peek() {
        Some(b'{') => first_key(json).is_some_and(|key| match length {
            16 | 32 | 64 => key == "$float",
            length => key.strip_prefix("$float").and_then(|text| text.parse().ok()) == Some(length),
        }),
        Some(b'-' | b'0'..=b'9') => {
            // An invalid number does not fit, and is reported when it is read.
            let number = json.number().unwrap_or_default();
            match length {
                16 => number.parse().ok().and_then(Real::exact_half).is_some(),
                // The shortest decimal form of a 32-bit number has at most 9 digits.
                32 => number.parse().is_ok_and(|value: f64| {
                    let single = value as f32;
                    single.is_finite() && number.parse() == Ok(single) && shortest_digits(number) <= 9
                }),
                64 => true,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Returns the number of array elements if all of them match a class.
fn matching_elements(mut json: Reader<'_>, element: &FieldClass, work: &mut u64) -> Option<u64> {
    json.take(b'[').then_some(())?;
    let (mut is_first, mut count) = (true, 0);
    while json.element(&mut is_first) == Ok(true) {
        if !looks_like(json.clone(), element, work) || json.skip().is_err() {
            return None;
        }
        count += 1;
    }
    Some(count)
}

/// Returns `true` if a value is an object with these members. Optional members can be missing.
fn members_fit(mut json: Reader<'_>, members: &[Member], work: &mut u64) -> bool {
    let is_optional = |member: &Member| matches!(member.class.kind, FieldKind::Optional { .. });
    let mut names = members.iter().filter(|member| !member.class.is_padding());
    if !json.take(b'{') {
        return false;
    }
    let mut is_first = true;
    while let Ok(Some(key)) = json.key(&mut is_first) {
        let is_it = names.by_ref().find(|member| key.is(&member.name) || !is_optional(member));
        let is_it = is_it.filter(|member| key.is(&member.name));
        if !is_it.is_some_and(|member| looks_like(json.clone(), &member.class, work)) || json.skip().is_err()
        {
            return false;
        }
    }
    names.all(is_optional)
}

/// Returns the number of digits without leading and trailing zeros.
fn shortest_digits(number: &str) -> usize {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

fn first_key(mut json: Reader<'_>) -> Option<Cow<'_, str>> {
    json.take(b'{').then_some(())?;
    Some(json.key(&mut true).ok()??.text())
}

/// Returns `true` if a value is an object with these keys.
fn has_keys(mut json: Reader<'_>, names: &[&str]) -> bool {
    let (mut is_first, mut names) = (true, names.iter());
    if !json.take(b'{') {
        return false;
    }
    while let Ok(Some(key)) = json.key(&mut is_first) {
        if !names.next().is_some_and(|name| key.is(name)) || json.skip().is_err() {
            return false;
        }
    }
    names.next().is_none()
}

/// Returns `true` if a value and its labels match an enumeration.
fn labels_fit(mut json: Reader<'_>, integer: &IntegerProperties) -> bool {
    if !has_keys(json.clone(), &["value", "labels"]) {
        return false;
    }
    let Ok(value) = value(&mut json) else { return false };
    let Some(number) = value.get("value").and_then(integer_of) else { return true };
    let Some(Value::Array(labels)) = value.get("labels") else { return false };
    let Some(mappings) = &integer.mappings else { return false };
    let names = mappings.names_of(number);
    names.eq(labels.iter().filter_map(Value::as_text)) && (integer.signed || number >= 0)
}
