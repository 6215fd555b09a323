//! Appends scope fields to a record as arguments.

use std::fmt::{self, Write};

use ichnos_model::class::{FieldKind, Uuid};
use ichnos_model::field::{Field, FieldContainer, Real, StringEncoding, Text, Wide};
use ichnos_model::{Scope, Visitor};

use super::components::ComponentName;
use super::foreign_class::{NumberPart, ScopeEncoding, TextPart, Treatment};
use super::losses::{Change, ClassNumber, LossPlace, Losses};
use super::record_hash::ExpectedRecord;
use crate::log::{MAX_TEXT, Name, Value};

/// Event data outside of the arguments, and buffers reused for the next event.
#[derive(Debug, Default)]
pub(super) struct EventParts {
    pub(super) severity: Option<i64>,
    /// Number of events dropped or deleted before this event, from its fields.
    pub(super) dropped: u64,
    /// Number of those events that the log service deleted.
    pub(super) rolled_out: Option<u64>,
    /// Component from the event itself.
    pub(super) own: ComponentParts,
    /// Component from the resource.
    pub(super) known: ComponentParts,
    has_message: bool,
    /// `true` to replace invalid UTF-8 in messages.
    replaces_invalid: bool,
    /// Name of the next argument.
    path: String,
    /// Containers of the next field, each with its name length.
    containers: Vec<(FieldContainer, usize)>,
    text: Vec<u8>,
}

/// Component fields.
#[derive(Debug, Default)]
pub(super) struct ComponentParts {
    moniker: String,
    url: String,
    has_moniker: bool,
    has_url: bool,
}

impl ComponentParts {
    fn clear(&mut self) {
        self.moniker.clear();
        self.url.clear();
        (self.has_moniker, self.has_url) = (false, false);
    }

    /// Returns `true` if the event has neither field.
    pub(super) fn is_absent(&self) -> bool {
        !(self.has_moniker || self.has_url)
    }

    /// Returns `true` if the event has both fields, possibly empty.
    pub(super) fn is_complete(&self) -> bool {
        self.has_moniker && self.has_url
    }

    pub(super) fn is_empty(&self) -> bool {
        self.moniker.is_empty() && self.url.is_empty()
    }

    pub(super) fn moniker(&self) -> &str {
        &self.moniker
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Sets a component that tags can refer to.
    pub(super) fn write(&self, component: &mut ComponentName) {
        component.set(&self.moniker, &self.url);
    }
}

impl EventParts {
    /// Sets whether invalid UTF-8 in messages becomes U+FFFD.
    pub(super) fn replace_invalid(&mut self, replaces: bool) {
        self.replaces_invalid = replaces;
    }

    /// Clears the data of the last event.
    pub(super) fn clear(&mut self) {
        self.severity = None;
        self.dropped = 0;
        self.rolled_out = None;
        self.own.clear();
        self.known.clear();
        self.has_message = false;
        self.containers.clear();
    }

    /// Appends a message rendered by `make`.
    pub(super) fn render(
        &mut self,
        record: &mut ExpectedRecord<'_>,
        losses: &mut Losses,
        class: ClassNumber,
        make: impl FnOnce(&mut dyn Write) -> fmt::Result,
    ) {
        self.text.clear();
        let mut writer = BoundedText { text: &mut self.text, is_cut: false };
        // The text simply ends at a rendering error.
        let _ = make(&mut writer);
        let is_cut = writer.is_cut;
        self.has_message = true;
        let place = LossPlace::event(class);
        if is_cut {
            losses.add(place, Change::Cut);
        }
        push_text(record, "message", &self.text, losses, place);
    }
}

/// Collects text up to the size of a record.
struct BoundedText<'t> {
    text: &'t mut Vec<u8>,
    is_cut: bool,
}

impl Write for BoundedText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = MAX_TEXT.saturating_sub(self.text.len());
        let fitting = text
            .get(..left.min(text.len()))
            .unwrap_or_else(|| text.get(..text.floor_char_boundary(left)).unwrap_or_default());
        self.text.extend_from_slice(fitting.as_bytes());
        self.is_cut |= fitting.len() < text.len();
        if self.is_cut { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Appends a text, cut if it does not fit.
pub(super) fn push_text(
    record: &mut ExpectedRecord<'_>,
    name: &str,
    text: &[u8],
    losses: &mut Losses,
    place: LossPlace,
) {
    if record.argument(name, crate::log::Text::from(text)).is_ok() {
        return;
    }
    let before = 1 + name.len().div_ceil(8);
    let Some(room) = record.words_left().checked_sub(before) else {
        return losses.add(place, Change::NoRoom);
    };
    let mut end = (room * 8).min(MAX_TEXT).min(text.len());
    let begins_within = |byte: &u8| byte & 0xc0 == 0x80;
    while end > 0 && text.get(end).is_some_and(begins_within) {
        end -= 1;
    }
    let cut = crate::log::Text::from(text.get(..end).unwrap_or_default());
    let change = match record.argument(name, cut) {
        Ok(()) if end > 0 => Change::Cut,
        _ => Change::NoRoom,
    };
    losses.add(place, change);
}

/// Appends the fields of a scope.
pub(super) struct ArgumentWriter<'a, 'e> {
    pub(super) scope: &'a ScopeEncoding,
    pub(super) record: &'a mut ExpectedRecord<'e>,
    pub(super) parts: &'a mut EventParts,
    pub(super) losses: &'a mut Losses,
    pub(super) class: ClassNumber,
    /// `true` for a control record, which names its own component.
    pub(super) is_control: bool,
}

impl ArgumentWriter<'_, '_> {
    #[cold]
    fn record_loss(&mut self, field: Field<'_>, change: Change) {
        self.losses.add(self.place(field), change);
    }

    fn place(&self, field: Field<'_>) -> LossPlace {
        LossPlace { class: self.class, scope: self.scope.scope, node: field.index() as u32 }
    }

    #[inline]
    fn treatment(&self, field: Field<'_>) -> Treatment {
        self.scope.treatment(field.index())
    }

    #[inline]
    fn is_pair(&self, field: Field<'_>) -> bool {
        self.treatment(field) == Treatment::Pair
    }

    fn push<'n>(&mut self, field: Field<'_>, name: impl Into<Name<'n>>, value: Value<'_>) {
        if self.record.argument(name, value).is_err() {
            self.record_loss(field, Change::NoRoom);
        }
    }

    fn number(&mut self, field: Field<'_>, part: NumberPart, number: i128) {
        let as_unsigned = u64::try_from(number).ok();
        let count = as_unsigned.unwrap_or(0);
        let own = self.scope.name(field.index());
        let name = match part {
            NumberPart::Severity => {
                self.parts.severity = Some(number.clamp(i64::MIN.into(), i64::MAX.into()) as i64);
                return;
            }
            NumberPart::RolledOut => {
                self.parts.dropped = self.parts.dropped.saturating_add(count);
                if self.is_control {
                    return self.push(field, "rolled_out", Value::Unsigned(count));
                }
                let sum = self.parts.rolled_out.get_or_insert_default();
                *sum = sum.saturating_add(count);
                return;
            }
            NumberPart::Dropped => {
                self.parts.dropped = self.parts.dropped.saturating_add(count);
                if count == 0 && self.scope.scope != Scope::Payload {
                    return;
                }
                if own == "dropped_logs" { own } else { "num_dropped" }
            }
            NumberPart::Process => "pid",
            NumberPart::Thread => "tid",
            NumberPart::Line => "line",
        };
        // The argument name comes from the class and not from the writer.
        let value = match as_unsigned {
            Some(number) => Value::Unsigned(number),
            None => {
                self.losses.add(self.place(field), Change::Negative);
                Value::Signed(number as i64)
            }
        };
        if self.record.argument(name, value).is_err() {
            self.losses.add(self.place(field), Change::NoRoom);
        }
    }

    fn text_part(&mut self, field: Field<'_>, part: TextPart, text: Text<'_>) {
        let is_kept = text.encoding == StringEncoding::Utf8 && !self.parts.replaces_invalid;
        if part == TextPart::Message && is_kept && !self.parts.has_message {
            // Messages keep any bytes.
            self.parts.has_message = true;
            return push_text(self.record, "message", text.bytes, self.losses, self.place(field));
        }
        let mut own = std::mem::take(&mut self.parts.text);
        let bytes = self.utf8(field, text, &mut own);
        let utf8 = || std::str::from_utf8(bytes).unwrap_or_default();
        let name = match part {
            TextPart::Message => {
                self.parts.has_message = true;
                "message"
            }
            TextPart::Tag => "tag",
            TextPart::File => "file",
            TextPart::Component if self.is_control => "moniker",
            TextPart::ComponentUrl if self.is_control => "url",
            _ => "",
        };
        if matches!(part, TextPart::Component | TextPart::ComponentUrl) {
            let is_own = self.scope.scope == Scope::Payload;
            let parts = if is_own { &mut self.parts.own } else { &mut self.parts.known };
            let (to, is_there) = match part {
                TextPart::Component => (&mut parts.moniker, &mut parts.has_moniker),
                _ => (&mut parts.url, &mut parts.has_url),
            };
            *is_there = true;
            to.clear();
            to.push_str(utf8());
        }
        if !name.is_empty() {
            push_text(self.record, name, bytes, self.losses, self.place(field));
        }
        self.parts.text = own;
    }

    /// Returns a text in UTF-8. `own` is the buffer for a conversion.
    fn utf8<'t>(&mut self, field: Field<'_>, text: Text<'t>, own: &'t mut Vec<u8>) -> &'t [u8] {
        if let Some(text) = text.as_str() {
            return text.as_bytes();
        }
        own.clear();
        if !text.write_utf8(own) {
            self.record_loss(field, Change::InvalidText);
        }
        own
    }

    /// Sets the name of the next argument.
    fn name_argument(&mut self, field: Field<'_>) {
        let EventParts { path, containers, .. } = &mut *self.parts;
        match containers.last_mut() {
            None | Some((FieldContainer::Root, _)) => {
                path.clear();
                path.push_str(self.scope.name(field.index()));
            }
            Some((FieldContainer::Wrapper, _)) => {}
            Some((FieldContainer::Structure(count), name)) => {
                *count += 1;
                path.truncate(*name);
                path.push('.');
                // Names that exceed the record can be cut.
                let own = field.name().unwrap_or_default();
                let most = (self.record.words_left() * 8 + 8).saturating_sub(path.len());
                let end = own.floor_char_boundary(most);
                path.push_str(own.get(..end).unwrap_or_default());
            }
            Some((FieldContainer::Array(count), name)) => {
                path.truncate(*name);
                let _ = write!(path, "[{count}]");
                *count += 1;
            }
        }
    }

    /// Appends a pair.
    fn pair(&mut self, field: Field<'_>, value: Value<'_>) {
        self.name_argument(field);
        if self.record.argument(self.parts.path.as_str(), value).is_err() {
            self.record_loss(field, Change::NoRoom);
        }
    }

    /// Appends a pair with a text value.
    fn text_pair(&mut self, field: Field<'_>, text: &[u8]) {
        self.name_argument(field);
        let place = self.place(field);
        push_text(self.record, &self.parts.path, text, self.losses, place);
    }

    /// Appends a pair with a text value that `make` writes.
    fn made_pair(&mut self, field: Field<'_>, make: impl FnOnce(&mut Vec<u8>)) {
        let mut text = std::mem::take(&mut self.parts.text);
        text.clear();
        make(&mut text);
        self.text_pair(field, &text);
        self.parts.text = text;
    }

    fn enter(&mut self, field: Field<'_>, container: FieldContainer) {
        if self.is_pair(field) {
            self.name_argument(field);
            self.parts.containers.push((container, self.parts.path.len()));
        }
    }

    fn leave(&mut self, field: Field<'_>) {
        if !self.is_pair(field) {
            return;
        }
        if let Some((FieldContainer::Structure(0) | FieldContainer::Array(0), _)) =
            self.parts.containers.pop()
        {
            self.record_loss(field, Change::Empty);
        }
    }
}

fn push_hex(text: &mut Vec<u8>, bits: u64) {
    let _ = std::io::Write::write_fmt(text, format_args!("{bits:#x}"));
}

/// Maximum number of BLOB bytes that can fit into a record.
const MOST_BLOB: usize = MAX_TEXT / 2 + 1;

impl Visitor for ArgumentWriter<'_, '_> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        match self.treatment(field) {
            Treatment::Number(part) => self.number(field, part, value.into()),
            Treatment::Pair => self.pair(field, Value::Unsigned(value)),
            _ => {}
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        match self.treatment(field) {
            Treatment::Number(part) => self.number(field, part, value.into()),
            Treatment::Pair => self.pair(field, Value::Signed(value)),
            _ => {}
        }
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        if !self.is_pair(field) {
            return;
        }
        self.made_pair(field, |text| match &field.class().kind {
            FieldKind::BitMap { .. } | FieldKind::BitArray(_) => {
                text.extend_from_slice(b"0x");
                value.write_radix(4, text);
            }
            _ => value.write_decimal(text),
        });
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        if self.is_pair(field) {
            self.pair(field, Value::Bool(value));
        }
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        if self.is_pair(field) {
            self.made_pair(field, |text| push_hex(text, bits));
        }
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.bit_array(field, bits);
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        if self.is_pair(field) {
            if matches!(value, Real::Wide(_)) {
                self.record_loss(field, Change::Rounded);
            }
            self.pair(field, Value::Float(value.to_f64()));
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        match self.treatment(field) {
            Treatment::Text(part) => self.text_part(field, part, value),
            Treatment::Pair => match value.as_str() {
                Some(text) => self.text_pair(field, text.as_bytes()),
                None => {
                    let mut own = std::mem::take(&mut self.parts.text);
                    let bytes = self.utf8(field, value, &mut own);
                    self.text_pair(field, bytes);
                    self.parts.text = own;
                }
            },
            _ => {}
        }
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        if !self.is_pair(field) {
            return;
        }
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.made_pair(field, |text| {
            for byte in bytes.iter().take(MOST_BLOB) {
                text.push(DIGITS[usize::from(byte >> 4)]);
                text.push(DIGITS[usize::from(byte & 0xf)]);
            }
        });
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        if self.is_pair(field) {
            self.made_pair(field, |text| {
                let _ = std::io::Write::write_fmt(text, format_args!("{value}"));
            });
        }
    }

    fn null(&mut self, field: Field<'_>) {
        if self.is_pair(field) {
            self.name_argument(field);
            self.record_loss(field, Change::Null);
        }
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.enter(field, FieldContainer::Structure(0));
    }

    fn end_structure(&mut self, field: Field<'_>) {
        self.leave(field);
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.enter(field, FieldContainer::Array(0));
    }

    fn end_array(&mut self, field: Field<'_>) {
        self.leave(field);
    }

    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.enter(field, FieldContainer::Wrapper);
    }

    fn end_optional(&mut self, field: Field<'_>) {
        self.leave(field);
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.enter(field, FieldContainer::Wrapper);
    }

    fn end_variant(&mut self, field: Field<'_>) {
        self.leave(field);
    }
}
