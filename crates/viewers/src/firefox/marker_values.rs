//! Event fields as marker values.

use std::borrow::Cow;

use fxprof_processed_profile as fx;
use ichnos_model::Event;

use super::marker_class::{MarkerClass, MarkerField, MarkerValue, ValueForm};
use crate::arguments::{ArgumentNames, ArgumentSink, ContextArguments, ScopeArguments};
use crate::json_arguments::{EXACT, JsonArguments};
use ichnos_export::number;

/// Text of a missing field, because each marker has all class fields. Missing numbers are `null`.
const ABSENT: &str = "(absent)";

/// Texts of a profile, and reused buffers.
#[derive(Debug, Default)]
pub(super) struct MarkerReader {
    values: Vec<MarkerValue>,
    text: Vec<u8>,
    json: Vec<u8>,
    open: Vec<u8>,
    made: Vec<u8>,
    /// Text of missing fields, once it is in the profile.
    absent: Option<fx::StringHandle>,
    /// Last new text.
    newest: Option<fx::StringHandle>,
    /// Total text size in bytes.
    pub(super) text_bytes: usize,
}

/// Values of an event.
#[derive(Debug)]
pub(super) struct MarkerValues<'v> {
    pub(super) values: &'v [MarkerValue],
    pub(super) absent: fx::StringHandle,
    /// `true` if all fields can be decoded.
    pub(super) is_whole: bool,
    /// `true` if all integers are exact.
    pub(super) is_exact: bool,
}

impl MarkerReader {
    /// Returns a text handle of the profile.
    pub(super) fn intern(&mut self, profile: &mut fx::Profile, text: &str) -> fx::StringHandle {
        let handle = profile.intern_string(text);
        count(text, handle, &mut self.newest, &mut self.text_bytes);
        handle
    }

    /// Reads the values of an event. `context` has those of the last common context of its data stream, and is followed
    /// by the number of its own.
    pub(super) fn read(
        &mut self,
        (event, class): (&Event<'_>, &MarkerClass),
        (context, number): (&mut ContextArguments<MarkerValue>, Option<u64>),
        names: &ArgumentNames,
        profile: &mut fx::Profile,
    ) -> MarkerValues<'_> {
        let absent = *self.absent.get_or_insert_with(|| profile.intern_string(ABSENT));
        self.values.clear();
        self.values.extend(class.fields.iter().map(|field| match field.form {
            ValueForm::Integer | ValueForm::Decimal => MarkerValue::Number(f64::NAN),
            ValueForm::Text | ValueForm::Hexadecimal => MarkerValue::Text(absent),
        }));
        let mut is_whole = true;
        let mut arguments = MarkerArguments {
            fields: &class.fields,
            next: 0,
            values: &mut self.values,
            names,
            profile,
            json: &mut self.json,
            open: &mut self.open,
            made: &mut self.made,
            depth: 0,
            place: None,
            newest: &mut self.newest,
            text_bytes: &mut self.text_bytes,
            is_exact: true,
        };
        for scope in &class.scopes {
            let place = class.context.clone().unwrap_or_default();
            let number = number.filter(|_| class.context.is_some());
            if let Some(known) = context.get(scope, number)
                && let Some(values) = arguments.values.get_mut(place.clone())
                && values.len() == known.len()
            {
                values.copy_from_slice(known);
                arguments.next = place.end;
                continue;
            }
            let mut visitor = ScopeArguments::new(arguments, scope, &mut self.text);
            let is_decoded = event.visit_members(scope.scope, &mut visitor).is_ok();
            is_whole &= is_decoded;
            arguments = visitor.arguments;
            arguments.close();
            if is_decoded && arguments.is_exact {
                context.keep(scope, number, arguments.values.get(place).unwrap_or_default());
            }
        }
        let is_exact = arguments.is_exact;
        MarkerValues { values: &self.values, absent, is_whole, is_exact }
    }
}

/// Counts the bytes of a new text.
fn count(
    text: &str,
    handle: fx::StringHandle,
    newest: &mut Option<fx::StringHandle>,
    text_bytes: &mut usize,
) {
    // New texts get larger handles than all others.
    if newest.is_none_or(|newest| handle > newest) {
        *newest = Some(handle);
        *text_bytes = text_bytes.saturating_add(text.len());
    }
}

/// Argument writer that stores field values, with nested arguments as JSON.
struct MarkerArguments<'w> {
    fields: &'w [MarkerField],
    /// Index after the last field.
    next: usize,
    values: &'w mut Vec<MarkerValue>,
    names: &'w ArgumentNames,
    profile: &'w mut fx::Profile,
    /// JSON of the current value.
    json: &'w mut Vec<u8>,
    open: &'w mut Vec<u8>,
    made: &'w mut Vec<u8>,
    /// Number of objects and arrays around the next argument.
    depth: u32,
    /// Index of the enclosing field.
    place: Option<usize>,
    newest: &'w mut Option<fx::StringHandle>,
    text_bytes: &'w mut usize,
    is_exact: bool,
}

impl MarkerArguments<'_> {
    /// Returns the index of the next field with a name, and skips missing fields.
    fn find(&mut self, name: u32) -> Option<usize> {
        let rest = self.fields.get(self.next..)?;
        let found = self.next + rest.iter().position(|field| field.name == name)?;
        self.next = found + 1;
        Some(found)
    }

    fn set(&mut self, place: Option<usize>, value: MarkerValue) {
        if let Some(place) = place.and_then(|place| self.values.get_mut(place)) {
            *place = value;
        }
    }

    fn set_text(&mut self, place: Option<usize>, text: &[u8]) {
        // Checking texts that are valid is faster than replacing invalid bytes.
        let text = std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed);
        let handle = self.profile.intern_string(&text);
        count(&text, handle, self.newest, self.text_bytes);
        self.set(place, MarkerValue::Text(handle));
    }

    fn set_made(&mut self, place: Option<usize>, push: impl FnOnce(&mut Vec<u8>)) {
        let mut made = std::mem::take(self.made);
        made.clear();
        push(&mut made);
        self.set_text(place, &made);
        *self.made = made;
    }

    fn integer(&mut self, name: u32, number: f64, is_exact: bool, hexadecimal: u64, value: i128) {
        let place = self.find(name);
        match place.and_then(|place| self.fields.get(place)).map(|field| field.form) {
            Some(ValueForm::Integer | ValueForm::Decimal) => {
                self.is_exact &= is_exact;
                self.set(place, MarkerValue::Number(number));
            }
            Some(ValueForm::Hexadecimal) => self.set_made(place, |out| {
                out.extend_from_slice(b"0x");
                let begin = out.len();
                number::push_hex_upper(out, hexadecimal);
                out.get_mut(begin..).unwrap_or_default().make_ascii_lowercase();
            }),
            _ => self.set_made(place, |out| number::push_integer(out, value)),
        }
    }

    /// Passes an argument to the JSON of the enclosing field.
    fn nested(&mut self, pass: impl FnOnce(&mut JsonArguments<'_>)) {
        let mut arguments = JsonArguments::resume(self.json, self.names, self.open);
        pass(&mut arguments);
    }

    /// Closes containers that a failed decoding left open.
    fn close(&mut self) {
        while self.depth > 0 {
            self.leave();
        }
    }
}

impl ArgumentSink for MarkerArguments<'_> {
    fn unsigned(&mut self, name: u32, value: u64) {
        match self.depth {
            0 => self.integer(name, value as f64, value <= EXACT, value, value.into()),
            _ => self.nested(|json| json.unsigned(name, value)),
        }
    }

    fn signed(&mut self, name: u32, value: i64) {
        match self.depth {
            0 => {
                let is_exact = value.unsigned_abs() <= EXACT;
                self.integer(name, value as f64, is_exact, value.cast_unsigned(), value.into());
            }
            _ => self.nested(|json| json.signed(name, value)),
        }
    }

    fn boolean(&mut self, name: u32, value: bool) {
        if self.depth > 0 {
            return self.nested(|json| json.boolean(name, value));
        }
        let place = self.find(name);
        self.set_text(place, if value { b"true" } else { b"false" });
    }

    fn double(&mut self, name: u32, value: f64) {
        if self.depth > 0 {
            return self.nested(|json| json.double(name, value));
        }
        let place = self.find(name);
        match place.and_then(|place| self.fields.get(place)).map(|field| field.form) {
            Some(ValueForm::Decimal | ValueForm::Integer) => self.set(place, MarkerValue::Number(value)),
            _ => self.set_made(place, |out| out.extend_from_slice(value.to_string().as_bytes())),
        }
    }

    fn text(&mut self, name: u32, text: &[u8]) {
        if self.depth > 0 {
            return self.nested(|json| json.text(name, text));
        }
        let place = self.find(name);
        self.set_text(place, text);
    }

    fn enter(&mut self, name: u32, is_array: bool) {
        if self.depth == 0 {
            self.place = self.find(name);
            self.json.clear();
            self.open.clear();
        }
        let at_root = self.depth == 0;
        self.depth += 1;
        self.nested(|json| if at_root { json.begin_root(is_array) } else { json.enter(name, is_array) });
    }

    fn leave(&mut self) {
        self.nested(|json| json.leave());
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            let json = std::mem::take(self.json);
            self.set_text(self.place, &json);
            *self.json = json;
        }
    }
}
