//! Reads field values whose class is known.

use std::borrow::Cow;
use std::collections::HashMap;

use ichnos_json::read::Reader;
use ichnos_model::Scope;
use ichnos_model::class::{
    BitField, FieldClass, FieldKind, FieldLocation, IntegerProperties, Length, Member, VariableLengthValue,
    VariantOption,
};
use ichnos_model::event::EventValues;
use ichnos_model::field::{FieldValue, Real, StringEncoding, Wide};
use uuid::Uuid;

use crate::fault::{LineFault, ParseResult, fault};
use crate::selectors::{EnclosingStructure, MemberPlace};
use crate::shape::{ValueShape, is_integer, special};
use crate::stacks::StackNumberMap;
use crate::time;
use crate::variants::looks_like;

/// Maximum number of field comparisons for finding variant options in a scope. There is a minimum for short lines, and
/// a number for each byte of the line.
const FEW_COMPARED: u64 = 1 << 13;
const COMPARED_PER_BYTE: u64 = 64;

/// Reads values into reused memory.
#[derive(Debug, Default)]
pub(crate) struct ValueReader {
    text: String,
    bytes: Vec<u8>,
    words: Vec<u64>,
    /// Remaining number of field comparisons for finding variant options.
    work: u64,
    /// `true` if strings can hold any value as JSON text.
    pub(crate) takes_json: bool,
    /// `true` to accept only values whose shape gives exactly this undescribed class. Rejects digits in strings, and
    /// whole numbers as floating-point numbers. Also rejects ambiguous values.
    pub(crate) is_strict: bool,
}

/// Names and values in an object, to find members in any order.
#[derive(Default)]
struct ObjectEntries<'a> {
    names: Vec<Cow<'a, str>>,
    /// `None` for a value that was taken.
    values: Vec<Option<Reader<'a>>>,
}

/// Finds object members.
#[derive(Default)]
struct MemberFinder<'n> {
    /// Number of members taken from the front.
    first: usize,
    /// Member indexes by name, first member last. Only for objects with many members.
    by_name: Option<HashMap<&'n str, Vec<usize>>>,
}

impl<'n> MemberFinder<'n> {
    /// Maximum number of members for a linear search.
    const FEW: usize = 32;

    /// Takes the first remaining value with a name.
    fn take<'a>(
        &mut self,
        names: &'n [Cow<'a, str>],
        values: &mut [Option<Reader<'a>>],
        name: &str,
    ) -> Option<Reader<'a>> {
        while values.get(self.first).is_some_and(Option::is_none) {
            self.first += 1;
        }
        let at = if names.len() <= Self::FEW {
            // Beyond the last name, nothing is found.
            let rest = names.get(self.first..).unwrap_or_default();
            let rest = rest.iter().zip(values.get(self.first..).unwrap_or_default());
            self.first + rest.into_iter().position(|(known, value)| known == name && value.is_some())?
        } else {
            let by_name = self.by_name.get_or_insert_with(|| {
                let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
                for (at, name) in names.iter().enumerate().rev() {
                    by_name.entry(name).or_default().push(at);
                }
                by_name
            });
            by_name.get_mut(name)?.pop()?
        };
        values.get_mut(at)?.take()
    }
}

impl ValueReader {
    /// Reads a scope's value: an object, unless its class is not a structure. `stacks` contains the members with
    /// call stack numbers, in order.
    pub(crate) fn scope(
        &mut self,
        json: &mut Reader<'_>,
        scope: Scope,
        class: &FieldClass,
        stacks: &[(u32, StackNumberMap<'_>)],
        values: &mut EventValues,
    ) -> ParseResult<()> {
        let begin = json.offset();
        self.work = FEW_COMPARED + COMPARED_PER_BYTE * json.text().len() as u64;
        values.begin(scope);
        json.peek();
        let FieldKind::Structure { members, .. } = &class.kind else {
            let root = Member::new("", class.clone());
            let around = EnclosingStructure::from_scope(scope, json.clone(), &[]);
            let place = MemberPlace { structure: &around, member: &root };
            return self.field(json, place, class, values, true);
        };
        let around = EnclosingStructure::from_scope(scope, json.clone(), members);
        if self.members(json, &around, members, stacks, values, false).is_ok() {
            return Ok(());
        }
        // Retry with another member order.
        json.seek(begin);
        values.begin(scope);
        self.members(json, &around, members, stacks, values, true)
    }

    /// Reads members in exactly this order.
    pub(crate) fn members_in_order(
        &mut self,
        json: &mut Reader<'_>,
        members: &[Member],
        values: &mut EventValues,
    ) -> ParseResult<()> {
        let around = EnclosingStructure::from_scope(Scope::Payload, json.clone(), members);
        self.members(json, &around, members, &[], values, false)
    }

    fn members<'a>(
        &mut self,
        json: &mut Reader<'a>,
        around: &EnclosingStructure<'_, 'a>,
        members: &[Member],
        stacks: &[(u32, StackNumberMap<'_>)],
        values: &mut EventValues,
        in_any_order: bool,
    ) -> ParseResult<()> {
        let begin = json.offset();
        json.expect(b'{', "an object")?;
        if in_any_order {
            json.seek(begin);
            return self.members_in_any_order(json, around, members, stacks, values);
        }
        let mut is_first = true;
        let mut key = json.key(&mut is_first)?;
        for (index, member) in members.iter().enumerate() {
            if matches!(member.class.kind, FieldKind::Padding(_)) {
                continue;
            }
            if key.is_some_and(|key| key.is(&member.name)) {
                let place = MemberPlace { structure: around, member };
                match stack(stacks, index) {
                    Some(numbers) => self.stack(json, place, numbers, values)?,
                    None => self.field(json, place, &member.class, values, in_any_order)?,
                }
                key = json.key(&mut is_first)?;
            } else if member.class.is_optional_by_values() && !self.is_strict {
                values.push_optional(false);
            } else {
                return fault(json, format!("the member `{}`", member.name));
            }
        }
        if key.is_some() {
            return fault(json, "no further members");
        }
        Ok(())
    }

    fn members_in_any_order<'a>(
        &mut self,
        json: &mut Reader<'a>,
        around: &EnclosingStructure<'_, 'a>,
        members: &[Member],
        stacks: &[(u32, StackNumberMap<'_>)],
        values: &mut EventValues,
    ) -> ParseResult<()> {
        let mut entries = ObjectEntries::default();
        let mut is_first = true;
        json.expect(b'{', "an object")?;
        while let Some(key) = json.key(&mut is_first)? {
            json.peek();
            entries.names.push(key.text());
            entries.values.push(Some(json.clone()));
            json.skip()?;
        }
        let mut finder = MemberFinder::default();
        for (index, member) in members.iter().enumerate() {
            if matches!(member.class.kind, FieldKind::Padding(_)) {
                continue;
            }
            match finder.take(&entries.names, &mut entries.values, &member.name) {
                Some(mut value) => {
                    let place = MemberPlace { structure: around, member };
                    match stack(stacks, index) {
                        Some(numbers) => self.stack(&mut value, place, numbers, values)?,
                        None => self.field(&mut value, place, &member.class, values, true)?,
                    }
                }
                None if matches!(member.class.kind, FieldKind::Optional { .. }) => {
                    values.push_optional(false)
                }
                None => {
                    return fault(json, format!("the member `{}` before the end of the object", member.name));
                }
            }
        }
        let rest = entries.names.iter().zip(&entries.values).find(|(_, value)| value.is_some());
        match rest {
            Some((name, Some(json))) => fault(json, format!("a member of the class, not `{name}`")),
            _ => Ok(()),
        }
    }

    /// Reads a field.
    fn field<'a>(
        &mut self,
        json: &mut Reader<'a>,
        place: MemberPlace<'_, 'a>,
        class: &FieldClass,
        values: &mut EventValues,
        in_any_order: bool,
    ) -> ParseResult<()> {
        if self.is_strict && !is_just(json, class) {
            return fault(json, "the same shape as the previous event");
        }
        match &class.kind {
            FieldKind::Integer { bits, integer } => self.integer(json, Some(*bits), integer, values),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
                self.integer(json, None, integer, values)
            }
            FieldKind::Boolean(_) | FieldKind::VariableLength { value: VariableLengthValue::Boolean, .. } => {
                boolean(json, values)
            }
            FieldKind::BitArray(bits) | FieldKind::BitMap { bits, .. } => {
                self.bits(json, Some(*bits), values)
            }
            FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
                self.bits(json, None, values)
            }
            FieldKind::Float(bits) => self.float(json, bits.length, values),
            FieldKind::String { encoding, .. } => self.string(json, *encoding, values),
            FieldKind::Blob { length, .. } => self.blob(json, length, values),
            FieldKind::Guid { .. } => guid(json, values),
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                values.begin_structure();
                json.peek();
                let around = EnclosingStructure::within(place, json.clone(), members);
                self.members(json, &around, members, &[], values, in_any_order)?;
                values.end();
                Ok(())
            }
            FieldKind::Array { element, length, .. } => {
                self.array(json, place, (element, length), values, in_any_order)
            }
            FieldKind::Optional { field, .. } => {
                if !matches!(field.kind, FieldKind::Null { .. }) && json.literal("null") {
                    values.push_optional(false);
                    return Ok(());
                }
                values.push_optional(true);
                self.field(json, place, field, values, in_any_order)
            }
            FieldKind::Variant { options, selector, .. } => {
                let option = self.option(json, place, options, selector)?;
                values.push_variant(option);
                self.field(json, place, &options[option].class, values, in_any_order)
            }
            FieldKind::Null { .. } => {
                if !json.literal("null") {
                    return fault(json, "null");
                }
                values.push(FieldValue::Null);
                Ok(())
            }
            _ => fault(json, "a field of a known class"),
        }
    }

    fn blob(&mut self, json: &mut Reader<'_>, length: &Length, values: &mut EventValues) -> ParseResult<()> {
        let begin = json.offset();
        self.tagged(json, "$blob", "a BLOB: an object with `$blob`")?;
        if let Length::Static(length) = length
            && *length != self.bytes.len() as u64
        {
            json.seek(begin);
            return fault(json, format!("{length} bytes"));
        }
        values.push(FieldValue::Blob(&self.bytes));
        Ok(())
    }

    fn array<'a>(
        &mut self,
        json: &mut Reader<'a>,
        place: MemberPlace<'_, 'a>,
        (element, length): (&FieldClass, &Length),
        values: &mut EventValues,
        in_any_order: bool,
    ) -> ParseResult<()> {
        json.expect(b'[', "an array")?;
        values.begin_array();
        let (mut is_first, mut count) = (true, 0);
        while json.element(&mut is_first)? {
            self.field(json, place, element, values, in_any_order)?;
            count += 1;
        }
        values.end();
        match length {
            Length::Static(length) if *length != count => {
                fault(json, format!("{length} elements before the end of the array"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the option index for a value. Prefers the selected option if the value matches it, otherwise returns the
    /// first match.
    fn option<'a>(
        &mut self,
        json: &mut Reader<'a>,
        place: MemberPlace<'_, 'a>,
        options: &[VariantOption],
        selector: &FieldLocation,
    ) -> ParseResult<usize> {
        json.peek();
        let selected = match selector.is_by_values() {
            true => None,
            false => place.structure.value(selector, &mut self.work),
        };
        let selected =
            selected.and_then(|value| options.iter().position(|option| option.ranges.contains(value)));
        let mut fits = |option: &VariantOption| looks_like(json.clone(), &option.class, &mut self.work);
        let selected = selected.filter(|option| fits(&options[*option]));
        match selected.or_else(|| options.iter().position(fits)) {
            Some(option) => Ok(option),
            None if self.work == 0 => fault(json, "a line with fewer variant values"),
            None => fault(json, "a value of a variant option"),
        }
    }

    /// Reads a call stack number, and appends its number in the table.
    fn stack<'a>(
        &mut self,
        json: &mut Reader<'a>,
        place: MemberPlace<'_, 'a>,
        numbers: &StackNumberMap<'_>,
        values: &mut EventValues,
    ) -> ParseResult<()> {
        let class = &*place.member.class;
        let (begin, mut value) = (json.offset(), json.clone());
        let number = value.number().ok().or_else(|| value.string().ok()?.plain());
        let found = number.and_then(|number| number.parse().ok()).and_then(|number: u32| numbers.get(number));
        let Some(found) = found else { return self.field(json, place, class, values, true) };
        let is_optional = match &class.kind {
            FieldKind::Integer { integer, .. } if !integer.signed => false,
            FieldKind::Optional { field, .. } if field.integer().is_some_and(|integer| !integer.signed) => {
                true
            }
            _ => {
                json.seek(begin);
                return self.field(json, place, class, values, true);
            }
        };
        json.seek(value.offset());
        if is_optional {
            values.push_optional(true);
        }
        values.push(u64::from(found));
        Ok(())
    }

    /// Reads an integer. Without `bits`, its length is variable.
    fn integer(
        &mut self,
        json: &mut Reader<'_>,
        bits: Option<BitField>,
        integer: &IntegerProperties,
        values: &mut EventValues,
    ) -> ParseResult<()> {
        if integer.mappings.is_some() {
            json.expect(b'{', "an object with `value`, as the integer has labels")?;
            let (mut is_first, mut is_found) = (true, false);
            while let Some(key) = json.key(&mut is_first)? {
                if key.is("value") && !is_found {
                    is_found = true;
                    self.plain_integer(json, bits, integer, values)?;
                } else {
                    json.skip()?;
                }
            }
            return if is_found {
                Ok(())
            } else {
                fault(json, "the member `value` before the end of the object")
            };
        }
        self.plain_integer(json, bits, integer, values)
    }

    fn plain_integer(
        &mut self,
        json: &mut Reader<'_>,
        bits: Option<BitField>,
        integer: &IntegerProperties,
        values: &mut EventValues,
    ) -> ParseResult<()> {
        json.peek();
        let at = json.offset();
        let wide;
        let length = bits.map_or(64, |bits| bits.length);
        let digits: &str = match json.peek() {
            Some(b'"') => {
                let text = json.string()?;
                let Some(text) = text.plain() else { return wrong_integer(at, bits, integer) };
                if let Some(clock) = integer.wall_clock
                    && let Some(nanoseconds) = time::date(text)
                {
                    let since = nanoseconds - i128::from(clock.epoch_seconds()) * 1_000_000_000;
                    let cycles = since.checked_mul(clock.frequency().into());
                    // Smallest clock value with this date.
                    let cycles = cycles.map(|cycles| -(-cycles).div_euclid(1_000_000_000));
                    // The empty text is rejected below.
                    wide = cycles.map(|cycles| cycles.to_string()).unwrap_or_default();
                    &wide
                } else {
                    text
                }
            }
            Some(b'{') => self.tagged_integer(json)?,
            _ => json.number()?,
        };
        if bits.is_none() || length <= 64 {
            if integer.signed {
                if let Some(value) = digits.parse::<i64>().ok().filter(|value| fits_signed(*value, length)) {
                    values.push(value);
                    return Ok(());
                }
            } else if let Some(value) =
                digits.parse::<u64>().ok().filter(|value| fits_unsigned(*value, length))
            {
                values.push(value);
                return Ok(());
            }
            if bits.is_some() {
                return wrong_integer(at, bits, integer);
            }
        }
        self.wide(digits, bits.map(|bits| bits.length), integer.signed)
            .filter(|_| is_integer(digits))
            .map(|wide| values.push(FieldValue::Wide(wide)))
            .map_or_else(|| wrong_integer(at, bits, integer), Ok)
    }

    /// Reads `{"$int": "DIGITS"}`. Returns the digits.
    fn tagged_integer<'a>(&mut self, json: &mut Reader<'a>) -> ParseResult<&'a str> {
        json.expect(b'{', "an integer")?;
        let mut is_first = true;
        let key = json.key(&mut is_first)?;
        if !key.is_some_and(|key| key.is("$int")) {
            return fault(json, "the member `$int`");
        }
        let digits = json.string()?.plain();
        json.expect(b'}', "the end of the object")?;
        match digits {
            Some(digits) => Ok(digits),
            None => fault(json, "a string of digits"),
        }
    }

    /// Returns the words in an integer with more than 64 bits. Returns `None` if it is invalid or too large.
    fn wide(&mut self, digits: &str, length: Option<u64>, signed: bool) -> Option<Wide<'_>> {
        /// Maximum number of digits. No class allows more.
        const MOST_DIGITS: usize = 20_000;
        let (is_negative, digits) = match digits.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, digits),
        };
        if digits.is_empty() || digits.len() > MOST_DIGITS || is_negative && !signed {
            return None;
        }
        let words = &mut self.words;
        words.clear();
        for chunk in digits.as_bytes().chunks(18) {
            let (mut carry, mut scale) = (0u128, 1u128);
            for digit in chunk {
                carry = carry * 10 + u128::from(char::from(*digit).to_digit(10)?);
                scale *= 10;
            }
            for word in words.iter_mut() {
                carry += u128::from(*word) * scale;
                *word = carry as u64;
                carry >>= 64;
            }
            if carry != 0 {
                words.push(carry as u64);
            }
        }
        let used = words.len() as u64 * 64 - words.last().map_or(0, |word| u64::from(word.leading_zeros()));
        let is_power = words.iter().map(|word| word.count_ones()).sum::<u32>() == 1;
        // In two's complement, the smallest number needs no additional sign bit.
        let needed = if signed && !(is_negative && is_power) { used + 1 } else { used };
        // Variable-length integers have groups of 7 bits.
        let length = length.unwrap_or_else(|| needed.max(65).div_ceil(7) * 7);
        if needed > length {
            return None;
        }
        words.resize(usize::try_from(length.div_ceil(64)).ok()?, 0);
        if is_negative {
            let mut carry = true;
            for word in words.iter_mut() {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        Some(Wide { words, length, signed })
    }

    /// Reads `{"bits": INTEGER}`, with or without flags.
    fn bits(
        &mut self,
        json: &mut Reader<'_>,
        bits: Option<BitField>,
        values: &mut EventValues,
    ) -> ParseResult<()> {
        json.expect(b'{', "an object with `bits`")?;
        let (mut is_first, mut is_found) = (true, false);
        while let Some(key) = json.key(&mut is_first)? {
            if !key.is("bits") || is_found {
                json.skip()?;
                continue;
            }
            is_found = true;
            json.peek();
            let at = json.offset();
            let digits = match json.peek() {
                // Digits need no escapes, and the empty text is rejected below.
                Some(b'"') => json.string()?.plain().unwrap_or_default(),
                Some(b'{') => self.tagged_integer(json)?,
                _ => json.number()?,
            };
            let length = bits.map_or(64, |bits| bits.length);
            let narrow = digits.parse().ok().filter(|value| length <= 64 && fits_unsigned(*value, length));
            match narrow {
                Some(value) => values.push(FieldValue::Bits(value)),
                None if bits.is_none_or(|bits| bits.length > 64) && is_integer(digits) => {
                    let wide = self.wide(digits, bits.map(|bits| bits.length), false);
                    let wide = wide.ok_or(LineFault { at, expected: format!("{length} bits").into() })?;
                    values.push(FieldValue::Wide(wide));
                }
                None => return Err(LineFault { at, expected: format!("{length} bits").into() }),
            }
        }
        if is_found { Ok(()) } else { fault(json, "the member `bits` before the end of the object") }
    }

    fn float(&mut self, json: &mut Reader<'_>, length: u64, values: &mut EventValues) -> ParseResult<()> {
        const EXPECTED: &str = "a floating-point number of the size of the class";
        json.peek();
        let at = json.offset();
        let wrong = || LineFault { at, expected: EXPECTED.into() };
        if json.peek() != Some(b'{') {
            let number = json.number()?;
            let real = match length {
                16 => Real::exact_half(number.parse().map_err(|_| wrong())?),
                32 => number.parse().ok().map(Real::Single),
                64 => number.parse().ok().map(Real::Double),
                _ => None,
            };
            values.push(FieldValue::Real(real.ok_or_else(wrong)?));
            return Ok(());
        }
        json.take(b'{');
        let mut is_first = true;
        let key = json.key(&mut is_first)?.and_then(|key| key.plain()).ok_or_else(wrong)?;
        let text = json.string()?.plain().ok_or_else(wrong)?;
        json.expect(b'}', "the end of the object")?;
        let special = match text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        };
        let real = match (key, special, length) {
            ("$float", Some(value), 16) => Real::Half(if value.is_nan() {
                0x7e00
            } else if value > 0.0 {
                0x7c00
            } else {
                0xfc00
            }),
            ("$float", Some(value), 32) => Real::Single(value as f32),
            ("$float", Some(value), 64) => Real::Double(value),
            (key, None, length)
                if length > 64
                    && key.strip_prefix("$float").and_then(|length| length.parse().ok()) == Some(length)
                    && text.len() as u64 == length / 4 =>
            {
                let words = &mut self.words;
                words.clear();
                for digits in text.as_bytes().rchunks(16) {
                    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
                    let word = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                    words.push(word.ok_or_else(wrong)?);
                }
                Real::Wide(Wide { words, length, signed: false })
            }
            _ => return Err(wrong()),
        };
        values.push(FieldValue::Real(real));
        Ok(())
    }

    fn string(
        &mut self,
        json: &mut Reader<'_>,
        encoding: StringEncoding,
        values: &mut EventValues,
    ) -> ParseResult<()> {
        if json.peek() == Some(b'"') {
            let quoted = json.string()?;
            let text = match quoted.plain() {
                Some(text) => text,
                None => {
                    self.text.clear();
                    quoted.push_to(&mut self.text);
                    &self.text
                }
            };
            if encoding == StringEncoding::Utf8 {
                values.push(text);
            } else {
                encode(&mut self.bytes, text, encoding);
                values.push(FieldValue::Text(&self.bytes));
            }
            return Ok(());
        }
        if self.takes_json && !is_bytes(json) {
            values.push(json.skip()?);
            return Ok(());
        }
        self.tagged(json, "$bytes", "a string")?;
        values.push(FieldValue::Text(&self.bytes));
        Ok(())
    }

    /// Reads an object whose first member has hexadecimal digits. Stores their bytes.
    fn tagged(
        &mut self,
        json: &mut Reader<'_>,
        name: &'static str,
        expected: &'static str,
    ) -> ParseResult<()> {
        json.expect(b'{', expected)?;
        let mut is_first = true;
        if !json.key(&mut is_first)?.is_some_and(|key| key.is(name)) {
            return fault(json, expected);
        }
        json.peek();
        let at = json.offset();
        let digits = json.string()?.as_written().as_bytes();
        self.bytes.clear();
        for pair in digits.chunks(2) {
            let digit = |index: usize| char::from(*pair.get(index)?).to_digit(16);
            let byte = digit(0).zip(digit(1)).map(|(high, low)| (high << 4 | low) as u8);
            self.bytes.push(byte.ok_or(LineFault { at, expected: "pairs of hexadecimal digits".into() })?);
        }
        while json.key(&mut is_first)?.is_some() {
            json.skip()?;
        }
        Ok(())
    }
}

fn boolean(json: &mut Reader<'_>, values: &mut EventValues) -> ParseResult<()> {
    let value = json.literal("true");
    if !value && !json.literal("false") {
        return fault(json, "a boolean");
    }
    values.push(value);
    Ok(())
}

fn guid(json: &mut Reader<'_>, values: &mut EventValues) -> ParseResult<()> {
    json.peek();
    let at = json.offset();
    let guid = json.string()?.plain().and_then(|text| Uuid::parse_str(text).ok());
    values.push(guid.ok_or(LineFault { at, expected: "a GUID".into() })?);
    Ok(())
}

fn stack<'s, 'n>(stacks: &'s [(u32, StackNumberMap<'n>)], index: usize) -> Option<&'s StackNumberMap<'n>> {
    let at = stacks.binary_search_by_key(&index, |(member, _)| *member as usize).ok()?;
    stacks.get(at).map(|(_, numbers)| numbers)
}

fn fits_unsigned(value: u64, length: u64) -> bool {
    length >= 64 || value >> length == 0
}

fn fits_signed(value: i64, length: u64) -> bool {
    length >= 64 || (value >> (length - 1)) == 0 || (value >> (length - 1)) == -1
}

#[cold]
fn wrong_integer<T>(at: usize, bits: Option<BitField>, integer: &IntegerProperties) -> ParseResult<T> {
    let sign = if integer.signed { "a signed" } else { "an unsigned" };
    let expected = match bits {
        Some(bits) => format!("{sign} integer of {} bits", bits.length),
        None => format!("{sign} integer"),
    };
    Err(LineFault { at, expected: expected.into() })
}

/// Returns `true` if the shape of a value gives exactly this undescribed class. This quick check accepts some other
/// values.
fn is_just(json: &Reader<'_>, class: &FieldClass) -> bool {
    let mut json = json.clone();
    let first = json.peek();
    match &class.kind {
        FieldKind::Integer { bits, integer } => {
            // The reader checks that the number is an integer and fits.
            bits.length == 64
                && matches!(first, Some(b'-' | b'0'..=b'9'))
                && match integer.signed {
                    true => !json.literal("-0"),
                    false => !json.number().is_ok_and(|digits| digits.parse::<i64>().is_ok()),
                }
        }
        FieldKind::Float(_) => json.number().is_ok_and(|number| !is_integer(number) || number == "-0"),
        FieldKind::String { .. } => first == Some(b'"'),
        FieldKind::Structure { .. } => {
            // The object may represent a value without a JSON type.
            json.take(b'{')
                && !json.key(&mut true).ok().flatten().is_some_and(|key| key.text().starts_with('$'))
        }
        FieldKind::Array { element, .. } => {
            let is_empty = json.take(b'[') && json.take(b']');
            !is_empty || matches!(element.kind, FieldKind::Null { .. })
        }
        FieldKind::Boolean(_) | FieldKind::Null { .. } => true,
        // Missing or different values are possible.
        _ => false,
    }
}

/// Returns `true` if a value represents a string's bytes.
fn is_bytes(json: &Reader<'_>) -> bool {
    json.clone().skip().is_ok_and(|text| special(text) == Some(ValueShape::Text))
}

/// Converts a text to another encoding.
fn encode(out: &mut Vec<u8>, text: &str, encoding: StringEncoding) {
    out.clear();
    for c in text.chars() {
        let (code, mut units) = (u32::from(c), [0; 2]);
        match encoding {
            StringEncoding::Utf8 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            StringEncoding::Utf16Be => {
                out.extend(c.encode_utf16(&mut units).iter().flat_map(|unit| unit.to_be_bytes()));
            }
            StringEncoding::Utf16Le => {
                out.extend(c.encode_utf16(&mut units).iter().flat_map(|unit| unit.to_le_bytes()));
            }
            StringEncoding::Utf32Be => out.extend_from_slice(&code.to_be_bytes()),
            StringEncoding::Utf32Le => out.extend_from_slice(&code.to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_are_found_again() {
        let mut reader = ValueReader::default();
        for (digits, length, signed) in [
            ("18446744073709551616", 65, false),
            ("340282366920938463463374607431768211455", 128, false),
            ("-170141183460469231731687303715884105728", 128, true),
            ("-1", 128, true),
            ("0", 128, true),
            ("115792089237316195423570985008687907853269984665640564039457584007913129639935", 256, false),
        ] {
            let mut out = Vec::new();
            reader.wide(digits, Some(length), signed).unwrap().write_decimal(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), digits);
        }
        assert!(reader.wide("340282366920938463463374607431768211456", Some(128), false).is_none());
        assert!(reader.wide("170141183460469231731687303715884105728", Some(128), true).is_none());
        assert!(reader.wide("-1", Some(128), false).is_none());
        assert!(reader.wide("1x", Some(128), false).is_none());
    }
}
