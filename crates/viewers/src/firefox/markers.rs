//! Event markers and loss markers.

use std::borrow::Cow;

use fxprof_processed_profile as fx;

use super::marker_class::{MarkerClass, MarkerValue};
use super::marker_values::MarkerValues;
use ichnos_analysis::events::losses::LossNote;

/// Event marker.
#[derive(Debug)]
pub(super) struct EventMarker<'v> {
    kind: fx::MarkerTypeHandle,
    name: fx::StringHandle,
    category: fx::CategoryHandle,
    /// Values of all fields, in order.
    values: Cow<'v, [MarkerValue]>,
    /// Text of missing fields.
    absent: fx::StringHandle,
}

impl<'v> EventMarker<'v> {
    pub(super) fn new(class: &MarkerClass, name: fx::StringHandle, values: &MarkerValues<'v>) -> Self {
        let MarkerValues { values, absent, .. } = *values;
        let values = Cow::Borrowed(values);
        Self { kind: class.kind, name, category: class.category, values, absent }
    }

    /// Returns a marker that owns its values.
    pub(super) fn into_owned(self) -> EventMarker<'static> {
        EventMarker { values: Cow::Owned(self.values.into_owned()), ..self }
    }
}

impl fx::Marker for EventMarker<'_> {
    fn marker_type(&self, _: &mut fx::Profile) -> fx::MarkerTypeHandle {
        self.kind
    }

    fn name(&self, _: &mut fx::Profile) -> fx::StringHandle {
        self.name
    }

    fn category(&self, _: &mut fx::Profile) -> fx::CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> fx::StringHandle {
        match self.values.get(field as usize) {
            Some(MarkerValue::Text(text)) => *text,
            _ => self.absent,
        }
    }

    fn number_field_value(&self, field: u32) -> f64 {
        match self.values.get(field as usize) {
            Some(MarkerValue::Number(number)) => *number,
            // `NaN` becomes `null` in JSON.
            _ => f64::NAN,
        }
    }
}

/// Marker of a loss in the trace.
#[derive(Debug)]
pub(super) struct LossMarker {
    name: fx::StringHandle,
    details: fx::StringHandle,
}

impl LossMarker {
    pub(super) fn new(profile: &mut fx::Profile, note: &LossNote) -> Self {
        let texts = note.texts.iter().map(|(name, text)| format!("{name}: {text}"));
        let numbers = note.numbers.iter().map(|(name, number)| format!("{name}: {number}"));
        let details: Vec<String> = texts.chain(numbers).collect();
        Self { name: profile.intern_string(note.name), details: profile.intern_string(&details.join(", ")) }
    }
}

impl fx::StaticSchemaMarker for LossMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "losses and damage";
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.details}");
    const FIELDS: &'static [fx::StaticSchemaMarkerField] = &[fx::StaticSchemaMarkerField {
        key: "details",
        label: "Details",
        format: fx::MarkerFieldFormat::String,
        flags: fx::MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut fx::Profile) -> fx::StringHandle {
        self.name
    }

    fn category(&self, _: &mut fx::Profile) -> fx::CategoryHandle {
        fx::CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> fx::StringHandle {
        self.details
    }

    fn number_field_value(&self, _: u32) -> f64 {
        f64::NAN
    }
}
