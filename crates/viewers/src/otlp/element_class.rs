//! Classes from OpenTelemetry input: their events are written as the elements that they came from.

use std::borrow::Cow;
use std::sync::Arc;

use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::meaning::{CauseKind, Meaning};
use ichnos_model::plan::Node;
use ichnos_model::telemetry::{ElementPart, ElementRole, element_field};
use ichnos_model::{Event, Scope};

use super::ids::{SpanId, TraceId, from_hex};
use super::point_value::PointValue;
use crate::arguments::{ArgumentNames, ArgumentSink, ScopeArguments, ScopeNames};
use ichnos_analysis::events::losses::record_loss;
use ichnos_analysis::events::tracks::name_key;

/// Keys in arrays that hold names and texts.
const NAME: &str = "name";

/// Loss reasons.
const MIXED: &str = "list or array without a common type, or of an exemplar -> texts";
const ORIGINS: &str = "attributes of a resource or scope: too many, or long names -> texts";
const UNREAD: &str =
    "metadata of a metric, entities of a resource, or long texts and attributes that events share";
const SHARED: &str = "event beyond the limit of classes: fields -> attributes with texts";

/// Own fields that are no single values.
const LISTS: [&str; 8] = [
    element_field::BODY,
    element_field::LINKS,
    element_field::BUCKET_COUNTS,
    element_field::EXPLICIT_BOUNDS,
    element_field::POSITIVE_COUNTS,
    element_field::NEGATIVE_COUNTS,
    element_field::QUANTILES,
    element_field::EXEMPLARS,
];

/// Class whose events come from OpenTelemetry elements.
#[derive(Debug)]
pub(super) struct ElementClass {
    pub(super) role: Arc<ElementRole>,
    /// Keys of the name and the description, which can be long.
    text_keys: [u64; 2],
    /// Trace, span and parent identifiers.
    ids: [Option<FieldRef>; 3],
    own: OwnFields,
    pub(super) attributes: Option<ScopeNames>,
    /// Names for own fields that are no single values.
    lists: Vec<(&'static str, ScopeNames)>,
    pub(super) scope: OriginFields,
    pub(super) resource: OriginFields,
    /// Names for the scope array and the field array, if the class is shared beyond the limits.
    shared: Option<[ScopeNames; 2]>,
}

/// Fields that OpenTelemetry defines.
#[derive(Debug)]
pub(super) struct OwnFields(Vec<(String, FieldRef)>);

/// Fields of a resource or a scope.
#[derive(Debug)]
pub(super) struct OriginFields {
    pub(super) own: OwnFields,
    pub(super) attributes: Option<ScopeNames>,
    /// `true` if the attributes are an array of names and texts.
    pub(super) is_list: bool,
    /// `true` if the values can differ between events of a data stream.
    pub(super) varies: bool,
}

/// Identifiers of an element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ElementIds {
    pub(super) trace: Option<TraceId>,
    pub(super) span: Option<SpanId>,
    pub(super) parent: Option<SpanId>,
}

impl ElementClass {
    /// Prepares the class of an event. `None` if its events do not come from elements, or have lost their fields.
    pub(super) fn for_event(
        event: &Event<'_>,
        names: &mut ArgumentNames,
        losses: &mut LossTable,
    ) -> Option<Self> {
        let role = event.class.element.clone()?;
        if role.has_lowered_values {
            record_loss(losses, event, LossKind::Lowered, "", MIXED);
        }
        if role.has_changed_origin {
            record_loss(losses, event, LossKind::Lowered, "", ORIGINS);
        }
        if role.has_unread_fields {
            record_loss(losses, event, LossKind::Dropped, "", UNREAD);
        }
        if role.is_shared {
            record_loss(losses, event, LossKind::Lowered, "", SHARED);
        }
        let own = OwnFields::selected(event, Scope::Payload, |name| role.attribute(name).is_none());
        let attributes = ScopeNames::selected(event, Scope::Payload, names, |_, name| {
            role.attribute(name).map(str::to_owned)
        });
        let mut only = |field: &str| {
            own.get(field)?;
            ScopeNames::selected(event, Scope::Payload, names, |_, name| {
                (name == field).then(|| name.to_owned())
            })
        };
        let lists = LISTS.into_iter().filter_map(|field| Some((field, only(field)?))).collect();
        let shared = only("scope").zip(only(element_field::FIELDS)).map(<[ScopeNames; 2]>::from);
        let id = |meaning| FieldRef::for_meaning(event, meaning);
        Some(Self {
            ids: [id(Meaning::TaskId), id(Meaning::OperationId), id(Meaning::Cause(CauseKind::Parent))],
            own,
            attributes,
            lists,
            scope: OriginFields::of_scope(event, &role, names),
            resource: OriginFields::of_resource(event, &role, names),
            shared: shared.filter(|_| role.is_shared),
            text_keys: [&role.name, &role.description].map(|text| name_key(text)),
            role,
        })
    }

    /// Returns the names for an own field that is no single value, such as [`element_field::LINKS`].
    pub(super) fn list(&self, field: &str) -> Option<&ScopeNames> {
        self.lists.iter().find(|(name, _)| *name == field).map(|(_, names)| names)
    }

    /// Reads an event of the class.
    pub(super) fn read<'c, 'e>(
        &'c self,
        event: &'c Event<'e>,
        names: &ArgumentNames,
        text: &mut Vec<u8>,
    ) -> ElementEvent<'c, 'e> {
        let mut shared = SharedFields::default();
        if let Some([scope, fields]) = &self.shared {
            shared.scope = read_pairs(event, scope, names, text);
            shared.attributes = read_pairs(event, fields, names, text);
            let count = self.own.get(element_field::OWN_FIELDS);
            let count = count.map(|_| self.own.number(event, element_field::OWN_FIELDS));
            shared.separate(self.role.part, count.map(|count| usize::try_from(count).unwrap_or(usize::MAX)));
        }
        ElementEvent { element: self, event, shared }
    }
}

/// Name and text.
pub(super) type TextPair = (String, String);

/// Fields of an event whose class is shared beyond the limits.
#[derive(Debug, Default)]
pub(super) struct SharedFields {
    own: Vec<TextPair>,
    pub(super) attributes: Vec<TextPair>,
    pub(super) scope: Vec<TextPair>,
}

impl SharedFields {
    /// Separates attributes from the first `count` fields. Lists become attributes, too. Earlier versions did not count
    /// the fields.
    fn separate(&mut self, part: ElementPart, count: Option<usize>) {
        let known = own_names(part);
        let is_own = |pairs: &[TextPair], at: usize| {
            let is_new = |name: &str| pairs.iter().take(at).all(|(earlier, _)| earlier != name);
            pairs.get(at).is_some_and(|(name, _)| known.contains(&&**name) && is_new(name))
        };
        let pairs = std::mem::take(&mut self.attributes);
        let count = count.unwrap_or_else(|| (0..).take_while(|at| is_own(&pairs, *at)).count());
        for (index, pair) in pairs.into_iter().enumerate() {
            let is_own = index < count && known.contains(&&*pair.0);
            if is_own { self.own.push(pair) } else { self.attributes.push(pair) }
        }
    }
}

/// Event that is a part of an element.
#[derive(Debug)]
pub(super) struct ElementEvent<'c, 'e> {
    pub(super) element: &'c ElementClass,
    pub(super) event: &'c Event<'e>,
    pub(super) shared: SharedFields,
}

/// Returns the names of the fields that OpenTelemetry defines for a part, in classes that are shared.
fn own_names(part: ElementPart) -> &'static [&'static str] {
    use element_field::*;
    match part {
        ElementPart::SpanBegin => &[SPAN, KIND, TRACE_STATE, FLAGS, DROPPED_ATTRIBUTES, DROPPED_LINKS],
        ElementPart::SpanEnd => &[SPAN, END_TIME, STATUS, STATUS_MESSAGE, DROPPED_EVENTS],
        ElementPart::SpanEvent => &[DROPPED_ATTRIBUTES],
        ElementPart::LogRecord => {
            &[SEVERITY, SEVERITY_TEXT, MESSAGE, OBSERVED_TIME, TIME_IS_OBSERVED, FLAGS, DROPPED_ATTRIBUTES]
        }
        _ => &[
            "metric",
            "series",
            VALUE,
            COUNT,
            SUM,
            MIN,
            MAX,
            SCALE,
            ZERO_COUNT,
            ZERO_THRESHOLD,
            POSITIVE_OFFSET,
            NEGATIVE_OFFSET,
            TEMPORALITY,
            MONOTONIC,
            START_TIME,
            FLAGS,
        ],
    }
}

impl<'e> ElementEvent<'_, 'e> {
    /// Returns the name of the element.
    pub(super) fn name(&self) -> Cow<'_, str> {
        match self.element.shared {
            Some(_) => self.element.own.text(self.event, NAME),
            None => Cow::Borrowed(&self.element.role.name),
        }
    }

    /// Returns the description of the metric.
    pub(super) fn description(&self) -> Cow<'_, str> {
        match self.element.shared {
            Some(_) => self.element.own.text(self.event, element_field::DESCRIPTION),
            None => Cow::Borrowed(&self.element.role.description),
        }
    }

    /// Returns the keys of the name and the description.
    pub(super) fn text_keys(&self) -> [u64; 2] {
        match self.element.shared {
            Some(_) => [self.name(), self.description()].map(|text| name_key(&text)),
            None => self.element.text_keys,
        }
    }

    /// Returns the metric unit, if several metrics share the class.
    pub(super) fn shared_unit(&self) -> Option<Cow<'_, str>> {
        self.element.shared.as_ref().map(|_| self.element.own.text(self.event, element_field::UNIT))
    }

    /// Returns the name of the scope, or an empty text.
    pub(super) fn scope_name(&self) -> Cow<'_, str> {
        match self.shared.scope.iter().find(|(name, _)| name == element_field::SCOPE_NAME) {
            Some((_, text)) => Cow::Borrowed(text),
            None => self.element.scope.own.text(self.event, element_field::SCOPE_NAME),
        }
    }

    /// Returns the identifiers.
    pub(super) fn ids(&self) -> ElementIds {
        let [trace, span, parent] = &self.element.ids;
        let text = |field: &Option<FieldRef>| self.event.get(field.as_ref()?)?.as_str();
        ElementIds {
            trace: text(trace).and_then(from_hex),
            span: text(span).and_then(from_hex),
            parent: text(parent).and_then(from_hex),
        }
    }

    fn shared_text(&self, name: &str) -> Option<&str> {
        self.shared.own.iter().find(|(own, _)| own == name).map(|(_, text)| &**text)
    }

    /// Returns a number, or 0, the default.
    pub(super) fn number(&self, name: &str) -> u64 {
        match self.shared_text(name) {
            Some(text) => text.parse().unwrap_or(0),
            None => self.element.own.number(self.event, name),
        }
    }

    /// Returns a signed number, or 0, the default.
    pub(super) fn signed(&self, name: &str) -> i64 {
        let number = match self.shared_text(name) {
            Some(text) => text.parse().ok(),
            None => self.value(name).and_then(|value| value.as_i64()),
        };
        number.unwrap_or(0)
    }

    /// Returns a floating-point number.
    pub(super) fn double(&self, name: &str) -> Option<f64> {
        match self.shared_text(name) {
            Some(text) => text.parse().ok(),
            None => self.value(name)?.as_f64(),
        }
    }

    /// Returns the value of a data point.
    pub(super) fn point_value(&self) -> Option<PointValue> {
        if let Some(text) = self.shared_text(element_field::VALUE) {
            let integer = text.parse().ok().map(PointValue::Integer);
            return integer.or_else(|| text.parse().ok().map(PointValue::Double));
        }
        match self.value(element_field::VALUE)? {
            FieldValue::Real(value) => Some(PointValue::Double(value.to_f64())),
            value => value.as_i64().map(PointValue::Integer),
        }
    }

    /// Returns a text, by default an empty text.
    pub(super) fn text(&self, name: &str) -> Cow<'_, str> {
        match self.shared_text(name) {
            Some(text) => Cow::Borrowed(text),
            None => self.element.own.text(self.event, name),
        }
    }

    /// Returns `true` for a field that is not left out.
    pub(super) fn has(&self, name: &str) -> bool {
        self.shared_text(name).is_some() || self.element.own.get(name).is_some()
    }

    /// Returns `true` for a boolean that is set.
    pub(super) fn is_true(&self, name: &str) -> bool {
        match self.shared_text(name) {
            Some(text) => text == "true",
            None => self.value(name).and_then(|value| value.as_bool()).unwrap_or(false),
        }
    }

    /// Returns the number of an enumeration value: a name, or a number without a name.
    pub(super) fn enumeration(&self, field: &str, names: &[&str]) -> u64 {
        let text = self.text(field);
        let named = names.iter().position(|name| **name == *text);
        named.map_or_else(|| self.number(field), |number| number as u64)
    }

    /// Returns the value of a field that OpenTelemetry defines.
    fn value(&self, name: &str) -> Option<FieldValue<'e>> {
        self.event.get(self.element.own.get(name)?)
    }
}

/// Reads an array of names and texts.
fn read_pairs(
    event: &Event<'_>,
    array: &ScopeNames,
    names: &ArgumentNames,
    text: &mut Vec<u8>,
) -> Vec<TextPair> {
    let sink = PairSink { names, pairs: Vec::new() };
    let mut visitor = ScopeArguments::new(sink, array, text);
    // Delivered events can always be decoded.
    let _ = event.visit_members(array.scope, &mut visitor);
    visitor.arguments.pairs
}

/// Argument writer that collects names and texts.
struct PairSink<'n> {
    names: &'n ArgumentNames,
    pairs: Vec<TextPair>,
}

impl ArgumentSink for PairSink<'_> {
    fn unsigned(&mut self, _: u32, _: u64) {}
    fn signed(&mut self, _: u32, _: i64) {}
    fn boolean(&mut self, _: u32, _: bool) {}
    fn double(&mut self, _: u32, _: f64) {}

    fn text(&mut self, name: u32, text: &[u8]) {
        let text = || String::from_utf8_lossy(text).into_owned();
        match (self.names.name(name), self.pairs.last_mut()) {
            (NAME, _) => self.pairs.push((text(), String::new())),
            (_, Some((_, value))) => *value = text(),
            _ => {}
        }
    }

    fn enter(&mut self, _: u32, _: bool) {}
    fn leave(&mut self) {}
}

impl OwnFields {
    /// Finds members of a scope, by name.
    fn selected(event: &Event<'_>, scope: Scope, select: impl Fn(&str) -> bool) -> Self {
        let mut found = Vec::new();
        let Some(plan) = event.plan(scope) else { return Self(found) };
        for member in (0..).map_while(|index| plan.member(index)) {
            let name = plan.get(member).and_then(|node| node.name.as_deref()).unwrap_or_default();
            if select(name)
                && let Some(field) = FieldRef::for_node(event, scope, member)
            {
                found.push((name.to_owned(), field));
            }
        }
        Self(found)
    }

    fn get(&self, name: &str) -> Option<&FieldRef> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, field)| field)
    }

    /// Returns a number, or 0, the default.
    pub(super) fn number(&self, event: &Event<'_>, name: &str) -> u64 {
        self.get(name).and_then(|field| event.get(field)?.as_u64()).unwrap_or(0)
    }

    /// Returns a text, by default an empty text.
    pub(super) fn text<'e>(&self, event: &Event<'e>, name: &str) -> Cow<'e, str> {
        let bytes = self.get(name).and_then(|field| event.get(field)?.as_bytes());
        String::from_utf8_lossy(bytes.unwrap_or_default())
    }
}

/// Names of the members of a resource or a scope.
#[derive(Debug)]
struct OriginNames<'r> {
    /// Fields that OpenTelemetry defines.
    own: &'static [&'static str],
    /// Members with the names of their attributes.
    renamed: &'r [(String, String)],
}

impl OriginNames<'_> {
    /// Returns the name of the attribute in a renamed member.
    fn renamed(&self, member: &str) -> Option<&str> {
        self.renamed.iter().find(|(renamed, _)| renamed == member).map(|(_, name)| name.as_str())
    }

    fn is_own(&self, member: &str) -> bool {
        self.own.contains(&member) && self.renamed(member).is_none()
    }
}

impl OriginFields {
    /// Finds the fields of the scope, in the specific context.
    fn of_scope(event: &Event<'_>, role: &ElementRole, names: &mut ArgumentNames) -> Self {
        let known = OriginNames { own: &element_field::OF_SCOPE, renamed: &role.renamed_in_scope };
        Self::selected(event, Scope::SpecificContext, &known, &[], names)
    }

    /// Finds the fields of the resource. Formats without resources have them in the common context.
    fn of_resource(event: &Event<'_>, role: &ElementRole, names: &mut ArgumentNames) -> Self {
        let known = OriginNames { own: &element_field::OF_RESOURCE, renamed: &role.renamed_in_resource };
        let kinds = [CauseKind::Parent, CauseKind::Related].map(Meaning::Cause);
        let ids = [Meaning::TaskId, Meaning::OperationId].into_iter().chain(kinds);
        let ids = ids.flat_map(|meaning| event.class.meanings.members(meaning));
        let ids: Vec<usize> = ids
            .filter(|member| member.scope == Scope::CommonContext)
            .map(|member| member.index as usize)
            .collect();
        let (scope, hidden) = match event.plan(Scope::Resource) {
            Some(_) => (Scope::Resource, &[][..]),
            None => (Scope::CommonContext, ids.as_slice()),
        };
        Self::selected(event, scope, &known, hidden, names)
    }

    /// Finds the fields of a scope in the event, except those with some indexes.
    fn selected(
        event: &Event<'_>,
        scope: Scope,
        known: &OriginNames<'_>,
        hidden: &[usize],
        names: &mut ArgumentNames,
    ) -> Self {
        let is_attribute = known.renamed(element_field::ATTRIBUTES).is_some();
        let is_list = !is_attribute && is_list(event, scope, hidden);
        Self {
            varies: is_list || scope != Scope::Resource,
            own: OwnFields::selected(event, scope, |name| known.is_own(name)),
            attributes: ScopeNames::selected(event, scope, names, |index, name| {
                let is_attribute = !known.is_own(name) && !hidden.contains(&index);
                is_attribute.then(|| known.renamed(name).unwrap_or(name).to_owned())
            }),
            is_list,
        }
    }

    /// Reads attributes that are an array of names and texts.
    pub(super) fn pairs(
        &self,
        event: &Event<'_>,
        names: &ArgumentNames,
        text: &mut Vec<u8>,
    ) -> Vec<TextPair> {
        let array = self.attributes.as_ref().filter(|_| self.is_list);
        array.map_or_else(Vec::new, |array| read_pairs(event, array, names, text))
    }
}

/// Returns `true` if the only member of a scope, beside those with some indexes, is an array of names and texts, in place
/// of many attributes.
fn is_list(event: &Event<'_>, scope: Scope, hidden: &[usize]) -> bool {
    let Some(plan) = event.plan(scope) else { return false };
    let members = (0..).map_while(|index| Some((index, plan.member(index)?)));
    let serves_decoding =
        |member| plan.within(member).all(|node| plan.get(node).is_some_and(Node::only_serves_decoding));
    let mut members = members.filter(|(index, member)| !hidden.contains(index) && !serves_decoding(*member));
    let (Some((_, member)), None) = (members.next(), members.next()) else { return false };
    let names = plan.within(member).filter_map(|node| plan.get(node)?.name.as_deref());
    names.eq([element_field::ATTRIBUTES, NAME, "value"])
}
