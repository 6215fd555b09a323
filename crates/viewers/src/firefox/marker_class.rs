//! Event classes as marker types.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use fxprof_processed_profile as fx;
use ichnos_model::class::{DisplayBase, FieldKind};
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::plan::Node;
use ichnos_model::{Event, Scope};

use crate::arguments::{ArgumentNames, ScopeNames, UNNAMED};
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::css_color::Rgb;
use ichnos_analysis::events::losses::{record_class_losses, record_loss};

/// Maximum number of categories. Further events get the category `Other`.
const MOST_CATEGORIES: usize = 200;

/// Number of fields in marker labels.
const IN_LABEL: usize = 4;

/// Form of field values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueForm {
    Integer,
    Decimal,
    Text,
    /// Integer as hexadecimal text.
    Hexadecimal,
}

/// Marker field.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkerField {
    /// Name number, 0 without a name.
    pub(super) name: u32,
    pub(super) form: ValueForm,
}

/// Field value.
#[derive(Clone, Copy, Debug)]
pub(super) enum MarkerValue {
    Number(f64),
    Text(fx::StringHandle),
}

/// Event record class as a marker type.
#[derive(Debug)]
pub(super) struct MarkerClass {
    pub(super) class: ViewerClass,
    pub(super) scopes: Vec<ScopeNames>,
    /// Fields of all scopes, in order.
    pub(super) fields: Box<[MarkerField]>,
    /// Indexes of the fields in the common context, if the names of all fields differ.
    pub(super) context: Option<Range<usize>>,
    pub(super) kind: fx::MarkerTypeHandle,
    pub(super) name: fx::StringHandle,
    pub(super) category: fx::CategoryHandle,
}

/// Names and categories of all classes.
#[derive(Debug, Default)]
pub(super) struct MarkerNames {
    pub(super) fields: ArgumentNames,
    /// Marker type names.
    types: DistinctNames,
    /// Category names and colors.
    categories: Vec<(String, Option<Rgb>, fx::CategoryHandle)>,
}

/// Set of distinct names.
#[derive(Debug, Default)]
struct DistinctNames {
    names: HashSet<String>,
    /// Next suffix of each name.
    next: HashMap<String, u32>,
}

impl DistinctNames {
    fn from_names<const N: usize>(names: [&str; N]) -> Self {
        Self { names: names.map(str::to_owned).into(), next: HashMap::new() }
    }

    /// Returns the name, with a number appended if it is taken.
    fn add(&mut self, name: String) -> String {
        if self.names.insert(name.clone()) {
            return name;
        }
        let next = self.next.entry(name.clone()).or_insert(2);
        loop {
            let numbered = format!("{name}_{next}");
            *next = next.saturating_add(1);
            if self.names.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// Returns the value form of a field.
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

/// Returns a unique identifier of letters, digits and underscores.
fn key(name: &str, known: &mut DistinctNames) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    known.add(name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect())
}

impl MarkerClass {
    /// Creates the class of an event.
    pub(super) fn for_event(
        event: &Event<'_>,
        names: &mut MarkerNames,
        profile: &mut fx::Profile,
        losses: &mut LossTable,
    ) -> Self {
        let class = ViewerClass::from_event(event);
        record_class_losses(losses, event, &class);
        if class.has_message() {
            record_loss(losses, event, LossKind::Dropped, "", "message flow");
        }
        match class.form {
            EventForm::Sample => {
                record_loss(losses, event, LossKind::Dropped, "", "sample fields other than the call stack");
            }
            EventForm::End | EventForm::KeyedEnd => {
                record_loss(losses, event, LossKind::Dropped, "", "fields of the span's end event");
            }
            _ => {}
        }
        let scopes = ScopeNames::all(event, &class, &mut names.fields);
        let (mut fields, mut context) = (Vec::new(), None);
        for scope in &scopes {
            let Some(plan) = event.plan(scope.scope) else { continue };
            let (begin, members) = (fields.len(), scope.members(plan));
            fields.extend(members.map(|(node, name)| MarkerField { name, form: form_of(plan.get(node)) }));
            if scope.scope == Scope::CommonContext {
                context = Some(begin..fields.len());
            }
        }
        let distinct: HashSet<u32> = fields.iter().map(|field| field.name).collect();
        let schema = schema(event.name(), &fields, names);
        Self {
            kind: profile.register_marker_type(schema),
            name: profile.intern_string(&class.name),
            category: names.category(&class.category, class.color(), profile),
            scopes,
            context: context.filter(|_| distinct.len() == fields.len()),
            fields: fields.into(),
            class,
        }
    }
}

/// Describes a marker type.
fn schema(name: &str, fields: &[MarkerField], names: &mut MarkerNames) -> fx::RuntimeSchemaMarkerSchema {
    // Viewers reserve these keys.
    let mut keys = DistinctNames::from_names(["type", "cause", ""]);
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
            // Viewers replace braces by a value.
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
        type_name: names.types.add(name.to_owned()),
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
    /// Returns the category with a name and, if it has one, a color. Viewers draw markers in the color of their
    /// category.
    fn category(&mut self, name: &str, color: Option<Rgb>, profile: &mut fx::Profile) -> fx::CategoryHandle {
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
        if name.is_empty() && color.is_none() {
            return fx::CategoryHandle::OTHER;
        }
        let mut known = self.categories.iter();
        if let Some((.., known)) = known.find(|(known, of, _)| known == name && *of == color) {
            return *known;
        }
        if self.categories.len() >= MOST_CATEGORIES {
            return fx::CategoryHandle::OTHER;
        }
        let own = color.map(nearest);
        let next = COLORS.get(self.categories.len() % COLORS.len()).copied();
        let shown = if name.is_empty() { "Other" } else { name };
        let category = profile.add_category(shown, own.or(next).unwrap_or(fx::CategoryColor::Gray));
        self.categories.push((name.to_owned(), color, category));
        category
    }
}

/// Returns the nearest viewer color. The colors come from the Firefox design system.
fn nearest([red, green, blue]: Rgb) -> fx::CategoryColor {
    const COLORS: [(fx::CategoryColor, Rgb); 13] = [
        (fx::CategoryColor::LightBlue, [0x45, 0xa1, 0xff]),
        (fx::CategoryColor::Red, [0xd7, 0x00, 0x22]),
        (fx::CategoryColor::LightRed, [0xff, 0x84, 0x8b]),
        (fx::CategoryColor::Orange, [0xff, 0x94, 0x00]),
        (fx::CategoryColor::Blue, [0x00, 0x60, 0xdf]),
        (fx::CategoryColor::Green, [0x12, 0xbc, 0x00]),
        (fx::CategoryColor::Purple, [0x80, 0x00, 0xd7]),
        (fx::CategoryColor::Yellow, [0xff, 0xe9, 0x00]),
        (fx::CategoryColor::Brown, [0x94, 0x63, 0x3f]),
        (fx::CategoryColor::Magenta, [0xed, 0x00, 0xb5]),
        (fx::CategoryColor::LightGreen, [0x86, 0xde, 0x74]),
        (fx::CategoryColor::Gray, [0xb1, 0xb1, 0xb3]),
        (fx::CategoryColor::DarkGray, [0x4a, 0x4a, 0x4f]),
    ];
    let distance = |of: Rgb| {
        let differences = of.iter().zip([red, green, blue]).map(|(a, b)| u32::from(a.abs_diff(b)));
        differences.map(|difference| difference * difference).sum::<u32>()
    };
    let found = COLORS.into_iter().min_by_key(|(_, of)| distance(*of));
    found.map_or(fx::CategoryColor::Gray, |(color, _)| color)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichnos_analysis::events::css_color::css_color;

    /// Must take linear time: a trace can have any number of classes with the same name.
    #[test]
    fn equal_names_get_numbers() {
        let mut names = DistinctNames::from_names(["type", "a_3"]);
        let added = ["a", "a", "a", "type", "a_2"].map(|name| names.add(name.to_owned()));
        assert_eq!(added, ["a", "a_2", "a_4", "type_2", "a_2_2"]);
        let most = 200_000;
        (0..most).for_each(|_| drop(names.add("x".to_owned())));
        assert!(names.names.contains(&format!("x_{most}")));
    }

    #[test]
    fn colors_of_css_are_those_of_the_viewer() {
        let nearest = |name| nearest(css_color(name).unwrap_or_default());
        for (name, wanted) in [
            ("red", fx::CategoryColor::Red),
            ("#00a000", fx::CategoryColor::Green),
            ("orange", fx::CategoryColor::Orange),
            ("mediumblue", fx::CategoryColor::Blue),
            ("silver", fx::CategoryColor::Gray),
            ("black", fx::CategoryColor::DarkGray),
        ] {
            assert_eq!(nearest(name), wanted, "{name}");
        }
    }
}
