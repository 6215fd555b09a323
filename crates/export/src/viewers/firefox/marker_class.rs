//! Classes of events as types of markers.

use std::collections::HashSet;

use fxprof_processed_profile as fx;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::plan::Node;
use ichnos_model::{DisplayBase, Event, FieldKind};

use crate::viewers::arguments::{ScopeNames, UNNAMED};
use crate::viewers::class::{EventForm, ViewerClass};
use crate::viewers::losses::{lose_part, lose_parts};
use crate::viewers::names::NumberedNames;

/// Maximum number of categories; further ones are the category `Other`.
const MOST_CATEGORIES: usize = 200;

/// Number of fields in the labels of markers.
const IN_LABEL: usize = 4;

/// Form of the values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    Integer,
    Decimal,
    Text,
    /// Integer as a text of hexadecimal digits.
    Hexadecimal,
}

/// Field of a marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkerField {
    /// Number of its name, 0 without one.
    pub(super) name: u32,
    pub(super) form: ValueForm,
}

/// Value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum MarkerValue {
    Number(f64),
    Text(fx::StringHandle),
}

/// An event record class as a type of markers.
#[derive(Debug)]
pub(super) struct MarkerClass {
    pub(super) class: ViewerClass,
    pub(super) scopes: Vec<ScopeNames>,
    /// Fields of all scopes, in order.
    pub(super) fields: Box<[MarkerField]>,
    pub(super) kind: fx::MarkerTypeHandle,
    pub(super) name: fx::StringHandle,
    pub(super) category: fx::CategoryHandle,
}

/// Names and categories of all classes.
#[derive(Debug, Default)]
pub(super) struct MarkerNames {
    pub(super) fields: NumberedNames,
    /// Names of types of markers.
    types: HashSet<String>,
    categories: Vec<(String, fx::CategoryHandle)>,
}

/// Returns the form of the values of a field.
fn form_of(node: Option<&Node>) -> ValueForm {
    match node.map(|node| &node.class.kind) {
        Some(FieldKind::Integer { bits, integer }) if integer.mappings.is_none() && bits.length <= 64 => {
            match integer.preferred_base {
                DisplayBase::Hexadecimal => ValueForm::Hexadecimal,
                _ => ValueForm::Integer,
            }
        }
        Some(FieldKind::Float(_)) => ValueForm::Decimal,
        _ => ValueForm::Text,
    }
}

/// Returns a name that no other of the list has, of letters, digits and underscores.
fn key(name: &str, known: &mut HashSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    unique(plain, known)
}

fn unique(name: String, known: &mut HashSet<String>) -> String {
    let mut unique = name.clone();
    let mut number = 1;
    while !known.insert(unique.clone()) {
        number += 1;
        unique = format!("{name}_{number}");
    }
    unique
}

impl MarkerClass {
    /// Makes the class of an event.
    pub(super) fn of(
        event: &Event<'_>,
        names: &mut MarkerNames,
        profile: &mut fx::Profile,
        losses: &mut LossTable,
    ) -> Self {
        let class = ViewerClass::of(event);
        lose_parts(losses, event, &class);
        if class.message.is_some() {
            lose_part(losses, event, LossKind::Dropped, "", "flow of a message");
        }
        match class.form {
            EventForm::Sample => {
                lose_part(losses, event, LossKind::Dropped, "", "fields of a sample besides its call stack");
            }
            EventForm::End | EventForm::KeyedEnd => {
                lose_part(losses, event, LossKind::Dropped, "", "fields of the event that ends a span");
            }
            _ => {}
        }
        let scopes = ScopeNames::all(event, &class, &mut names.fields);
        let mut fields = Vec::new();
        for scope in &scopes {
            let Some(plan) = event.plan(scope.scope) else { continue };
            let members = scope.members(plan);
            fields.extend(members.map(|(node, name)| MarkerField { name, form: form_of(plan.get(node)) }));
        }
        let schema = schema(event.name(), &fields, names);
        Self {
            kind: profile.register_marker_type(schema),
            name: profile.intern_string(&class.name),
            category: names.category(&class.category, profile),
            scopes,
            fields: fields.into(),
            class,
        }
    }
}

/// Describes a type of markers.
fn schema(name: &str, fields: &[MarkerField], names: &mut MarkerNames) -> fx::RuntimeSchemaMarkerSchema {
    // Viewers use these keys themselves.
    let mut keys = HashSet::from(["type".to_owned(), "cause".to_owned(), String::new()]);
    let mut label = "{marker.name}".to_owned();
    let mut unnamed = 0..;
    let mut described = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let name = match field.name {
            0 => format!("{UNNAMED}{}", unnamed.next().unwrap_or(0)),
            number => names.fields.name(number).to_owned(),
        };
        let key = key(&name, &mut keys);
        if index < IN_LABEL {
            // Braces of a name would be a place for a value.
            let shown = name.replace(['{', '}'], "_");
            label.push_str(&format!(" {shown}={{marker.data.{key}}}"));
        }
        let format = match field.form {
            ValueForm::Integer => fx::MarkerFieldFormat::Integer,
            ValueForm::Decimal => fx::MarkerFieldFormat::Decimal,
            ValueForm::Text | ValueForm::Hexadecimal => fx::MarkerFieldFormat::String,
        };
        let flags = fx::MarkerFieldFlags::SEARCHABLE;
        described.push(fx::RuntimeSchemaMarkerField { key, label: name, format, flags });
    }
    fx::RuntimeSchemaMarkerSchema {
        type_name: unique(name.to_owned(), &mut names.types),
        description: None,
        locations: fx::MarkerLocations::MARKER_CHART
            | fx::MarkerLocations::MARKER_TABLE
            | fx::MarkerLocations::TIMELINE_OVERVIEW,
        chart_label: Some("{marker.name}".to_owned()),
        tooltip_label: Some("{marker.name}".to_owned()),
        table_label: Some(label),
        fields: described,
        graphs: Vec::new(),
    }
}

impl MarkerNames {
    /// Returns the category with a name.
    fn category(&mut self, name: &str, profile: &mut fx::Profile) -> fx::CategoryHandle {
        const COLORS: [fx::CategoryColor; 8] = [
            fx::CategoryColor::Blue,
            fx::CategoryColor::Green,
            fx::CategoryColor::Orange,
            fx::CategoryColor::Purple,
            fx::CategoryColor::Yellow,
            fx::CategoryColor::Brown,
            fx::CategoryColor::Magenta,
            fx::CategoryColor::LightBlue,
        ];
        if name.is_empty() {
            return fx::CategoryHandle::OTHER;
        }
        if let Some((_, known)) = self.categories.iter().find(|(known, _)| known == name) {
            return *known;
        }
        if self.categories.len() >= MOST_CATEGORIES {
            return fx::CategoryHandle::OTHER;
        }
        let color = COLORS.get(self.categories.len() % COLORS.len()).copied();
        let category = profile.add_category(name, color.unwrap_or(fx::CategoryColor::Gray));
        self.categories.push((name.to_owned(), category));
        category
    }
}
