//! Encodes values and records the expected fields.

use std::collections::HashMap;

use crate::Random;
use crate::encoder::{Encoder, Order, bits, unsigned_bits};

use super::fixed::{random_bits, random_float, text_of};
use super::types::{FieldType, Id, Integer, Kind, Length, TypeLocation, TypeRole, Values};
use super::{ExpectedFields, Proposal};

/// Number of groups in variable-length sizes. The sizes are known only after everything is encoded.
const SIZE_GROUPS: usize = 5;

/// Encodes a packet.
#[derive(Debug)]
pub(super) struct PacketEncoder {
    proposal: Proposal,
    pub(super) encoder: Encoder,
    random: Random,
    saved: HashMap<Id, i128>,
    pub(super) roles: HashMap<TypeRole, i128>,
    pub(super) clocks: Vec<u64>,
    pub(super) uuid: [u8; 16],
    pub(super) fields: ExpectedFields,
}

impl PacketEncoder {
    pub(super) fn new(proposal: Proposal, seed: u64, clocks: Vec<u64>) -> Self {
        Self {
            proposal,
            encoder: Encoder::default(),
            random: Random::new(seed),
            saved: HashMap::new(),
            roles: HashMap::new(),
            clocks,
            uuid: [0; 16],
            fields: Vec::new(),
        }
    }

    /// Chooses a value for an integer with this width.
    fn value(&mut self, integer: &Integer, size: usize) -> Option<i128> {
        match &integer.values {
            Values::Any => {
                let labels = integer.labels.as_ref().filter(|labels| !labels.is_empty())?;
                if self.random.percent(40) {
                    return None;
                }
                let (_, ranges) = &labels[self.random.index(labels.len())];
                let (lower, upper) = *ranges.get(self.random.index(ranges.len().max(1)))?;
                Some(if self.random.percent(50) { lower } else { upper })
            }
            Values::Of(values) => Some(values[self.random.index(values.len())]),
            Values::Decoy => Some(i128::from(self.random.below(100)) & ((1 << size.min(64)) - 1)),
            Values::CompactId(most) => {
                Some(self.roles.get(&TypeRole::Event).copied().unwrap_or(0).min(*most))
            }
            Values::TypeRole(role) => Some(match role {
                TypeRole::Clock(_) | TypeRole::Begin => {
                    let clock = if let TypeRole::Clock(clock) = role { *clock } else { 0 };
                    self.clocks[clock] += 1 + self.random.below(100);
                    let value = i128::from(self.clocks[clock]);
                    if size < 64 { value & ((1 << size) - 1) } else { value }
                }
                role => self.roles.get(role).copied().unwrap_or(0),
            }),
        }
    }

    fn save(&mut self, class: &FieldType, bits: &[bool], signed: bool) {
        let Some(id) = class.saves else { return };
        let is_negative = signed && bits.last() == Some(&true);
        let value = (0..128)
            .rev()
            .fold(0i128, |value, i| value << 1 | i128::from(bits.get(i).copied().unwrap_or(is_negative)));
        self.saved.insert(id, value);
    }

    fn length(&self, length: &Length) -> u64 {
        match length {
            Length::Static(length) => *length,
            Length::Dynamic(location) => self.located(location) as u64,
        }
    }

    fn located(&self, location: &TypeLocation) -> i128 {
        let Some(value) = self.saved.get(&location.id) else { panic!("no value for {}", location.json) };
        *value
    }

    /// Encodes a field.
    pub(super) fn field(&mut self, class: &FieldType, path: &str) {
        self.encoder.align(class.effective_alignment(self.proposal));
        let note = |this: &mut Self, text: String| this.fields.push((path.to_owned(), text));
        match &class.kind {
            Kind::Null => note(self, "null".to_owned()),
            Kind::BitArray(size) | Kind::Boolean(size) | Kind::Integer(size, _) | Kind::Float(size) => {
                let bits = self.fixed_bits(&class.kind, *size);
                self.encoder.fixed(&bits, class.order);
                let signed = matches!(&class.kind, Kind::Integer(_, integer) if integer.signed);
                self.save(class, &bits, signed);
                note(self, text_of(&class.kind, &bits));
            }
            Kind::VariableBitArray | Kind::VariableBoolean => {
                let groups = 1 + self.random.index(12);
                let bits = random_bits(&mut self.random, groups * 7);
                self.encoder.leb(&bits);
                note(self, text_of(&class.kind, &bits));
            }
            Kind::VariableInteger(integer) => {
                let bits = self.variable_bits(integer);
                self.encoder.leb(&bits);
                self.save(class, &bits, integer.signed);
                note(self, text_of(&class.kind, &bits));
            }
            Kind::String => {
                let text = self.text(10);
                self.encoder.raw(text.as_bytes()).raw(&[0]);
                note(self, format!("t:{text}"));
            }
            Kind::Text(length) => {
                let length = self.length(length) as usize;
                let (bytes, text) = self.text_of_length(length);
                for byte in bytes {
                    self.encoder.int(i128::from(byte), 8, class.order);
                }
                note(self, format!("t:{text}"));
            }
            Kind::Blob(length) => {
                let length = self.length(length) as usize;
                let bytes = if class.roles.contains(&TypeRole::Uuid) {
                    self.uuid.to_vec()
                } else {
                    self.random.bytes(length)
                };
                self.encoder.raw(&bytes);
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                note(self, format!("x:{digits}"));
            }
            Kind::Structure(fields) => {
                for field in fields {
                    self.field(&field.class, &format!("{path}.{}", field.name));
                }
            }
            Kind::Array(length, element) => {
                let length = self.length(length);
                note(self, format!("#{length}"));
                let is_uuid = class.roles.contains(&TypeRole::Uuid);
                for index in 0..length {
                    let path = format!("{path}[{index}]");
                    if is_uuid {
                        let byte = self.uuid[index as usize];
                        self.encoder.raw(&[byte]);
                        self.fields.push((path, format!("u:{byte}")));
                    } else {
                        self.field(element, &path);
                    }
                }
            }
            Kind::Optional { selector, ranges, class } => {
                let value = self.located(selector);
                let is_present = match ranges {
                    Some(ranges) => ranges.iter().any(|(lower, upper)| (*lower..=*upper).contains(&value)),
                    None => value != 0,
                };
                if is_present {
                    self.field(class, path);
                } else {
                    note(self, "none".to_owned());
                }
            }
            Kind::Variant { tag, choices } => {
                let value = self.located(tag);
                let is_in = |(lower, upper): &(i128, i128)| (*lower..=*upper).contains(&value);
                let Some(choice) = choices.iter().find(|choice| choice.ranges.iter().any(is_in)) else {
                    panic!("no option for {value} of {}", tag.json)
                };
                match &choice.name {
                    Some(name) => self.field(&choice.class, &format!("{path}<{name}>")),
                    None => self.field(&choice.class, path),
                }
            }
            Kind::Union(size, fields) => {
                let mut bits = random_bits(&mut self.random, *size);
                for field in fields {
                    self.constrain(&field.class, &mut bits);
                }
                self.encoder.fixed(&bits, class.order);
                for field in fields {
                    self.view(&field.class, &bits, &format!("{path}.{}", field.name));
                }
            }
        }
    }

    fn fixed_bits(&mut self, kind: &Kind, size: usize) -> Vec<bool> {
        match kind {
            Kind::Float(_) => random_float(&mut self.random, size),
            Kind::Integer(_, integer) => match self.value(integer, size) {
                Some(value) => bits(value, size),
                None => random_bits(&mut self.random, size),
            },
            _ => random_bits(&mut self.random, size),
        }
    }

    fn variable_bits(&mut self, integer: &Integer) -> Vec<bool> {
        let is_late = matches!(
            integer.values,
            Values::TypeRole(TypeRole::Total | TypeRole::Content | TypeRole::EndClock(_))
        );
        match self.value(integer, usize::MAX) {
            Some(value) if is_late => unsigned_bits(value as u128, SIZE_GROUPS * 7),
            Some(value) => {
                let used = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
                let used = 128 - used as usize + usize::from(integer.signed);
                bits(value, used.max(1).next_multiple_of(7))
            }
            None => {
                let groups = 1 + self.random.index(12);
                random_bits(&mut self.random, groups * 7)
            }
        }
    }

    fn text(&mut self, most: u64) -> String {
        let length = self.random.below(most);
        let parts = ["a", "Z", " ", "\u{e9}", "\u{20ac}", "\u{1f600}", "\"", "\\", "\n"];
        (0..length).map(|_| self.random.pick(&parts)).collect()
    }

    /// Chooses a text with this length, and returns it with the part before its terminator.
    fn text_of_length(&mut self, length: usize) -> (Vec<u8>, String) {
        let mut bytes: Vec<u8> = (0..length).map(|_| b'a' + self.random.below(26) as u8).collect();
        if length > 1 && self.random.percent(25) {
            let end = self.random.index(length);
            bytes[end] = 0;
        }
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text).into_owned();
        (bytes, text)
    }

    /// Adjusts the bits of a union so that they are valid for a member.
    fn constrain(&mut self, class: &FieldType, union: &mut [bool]) {
        match &class.kind {
            Kind::Integer(size, integer) if !matches!(integer.values, Values::Any) => {
                if let Some(value) = self.value(integer, *size) {
                    union.copy_from_slice(&bits(value, *size));
                }
            }
            Kind::Text(_) => {
                for byte in union.chunks_mut(8) {
                    byte.copy_from_slice(&bits(i128::from(b'a' + self.random.below(26) as u8), 8));
                }
            }
            Kind::Structure(fields) => {
                let mut at = 0;
                for field in fields {
                    let size = fixed_size(&field.class);
                    let begin = if class.order == Order::Le { at } else { union.len() - at - size };
                    self.constrain(&field.class, &mut union[begin..begin + size]);
                    at += size;
                }
            }
            _ => {}
        }
    }

    /// Records the values of a union member.
    fn view(&mut self, class: &FieldType, union: &[bool], path: &str) {
        let part = |at: usize, size: usize| {
            let begin = if class.order == Order::Le { at } else { union.len() - at - size };
            &union[begin..begin + size]
        };
        match &class.kind {
            Kind::Structure(fields) => {
                let mut at = 0;
                for field in fields {
                    let size = fixed_size(&field.class);
                    self.view(&field.class, part(at, size), &format!("{path}.{}", field.name));
                    at += size;
                }
            }
            Kind::Array(Length::Static(length), element) => {
                self.fields.push((path.to_owned(), format!("#{length}")));
                let size = fixed_size(element);
                for index in 0..*length as usize {
                    self.view(element, part(index * size, size), &format!("{path}[{index}]"));
                }
            }
            Kind::Text(_) => {
                let bytes = (0..union.len() / 8).map(|byte| {
                    let bits = part(byte * 8, 8);
                    bits.iter().rev().fold(0, |value, bit| value << 1 | u8::from(*bit))
                });
                let text = String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned();
                self.fields.push((path.to_owned(), format!("t:{text}")));
            }
            kind => {
                let signed = matches!(kind, Kind::Integer(_, integer) if integer.signed);
                self.save(class, union, signed);
                self.fields.push((path.to_owned(), text_of(kind, union)));
            }
        }
    }
}

/// Returns the size of a union member.
pub(super) fn fixed_size(class: &FieldType) -> usize {
    match &class.kind {
        Kind::BitArray(size) | Kind::Boolean(size) | Kind::Integer(size, _) | Kind::Float(size) => *size,
        Kind::Structure(fields) => fields.iter().map(|field| fixed_size(&field.class)).sum(),
        Kind::Array(Length::Static(length), element) => *length as usize * fixed_size(element),
        Kind::Text(Length::Static(length)) => *length as usize * 8,
        _ => unreachable!("not in a union"),
    }
}
