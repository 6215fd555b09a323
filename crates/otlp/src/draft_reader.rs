//! Turns decoded parts of requests into events.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::class::DynamicClass;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldValue;
use ichnos_model::telemetry::element_field;
use ichnos_model::{DataStream, Scope};

use crate::any_value::{AnyValue, NamedValue};
use crate::class::{DraftOrigin, DraftShape, event_class, find_class, push_class_key};
use crate::digits::to_hex;
use crate::draft::{DraftIds, DraftKind, EventDraft};
use crate::origin::{InstrumentationScope, name_text_pair};
use crate::shape::{AnyShape, rename_repeated};
use crate::shared_limits::MOST_TEXT;

/// Maximum number of field classes of an event with its own class.
const MOST_SHAPES: usize = 1 << 10;

/// Makes events of a data stream, reusing memory.
#[derive(Debug, Default)]
pub(crate) struct DraftReader {
    key: Vec<u8>,
}

impl DraftReader {
    /// Writes the values of an event. Returns its class, or `None` if the limits are too low for any class.
    pub(crate) fn read(
        &mut self,
        mut draft: EventDraft<'_>,
        origin: DraftOrigin<'_>,
        stream: &DataStream,
        values: &mut EventValues,
    ) -> Option<Arc<DynamicClass>> {
        let renamed = rename_repeated(&mut draft.members);
        let mut shapes = draft.shapes();
        let is_small =
            shapes.iter().map(AnyShape::size).sum::<usize>() <= MOST_SHAPES && draft.name.len() <= MOST_TEXT;
        let shape = DraftShape { shapes: &shapes, renamed: &renamed, is_shared: false };
        let class = if is_small { self.class(&draft, shape, origin, stream) } else { None };
        let empty = InstrumentationScope::default();
        let (class, scope) = match class {
            Some(class) => (class, origin.scope),
            None => {
                draft = Self::any(draft, &renamed, origin.scope);
                shapes = draft.shapes();
                let origin = DraftOrigin { scope: &empty, ..origin };
                let shape = DraftShape { shapes: &shapes, renamed: &[], is_shared: true };
                (self.class(&draft, shape, origin, stream)?, &empty)
            }
        };
        values.clear();
        push_ids(&draft.ids, values);
        scope.attributes.push(Scope::SpecificContext, values);
        values.begin(Scope::Payload);
        for (member, shape) in draft.members.iter().zip(&shapes) {
            shape.push(&member.value, values);
        }
        origin.resource.attributes.push(Scope::Resource, values);
        Some(class)
    }

    fn class(
        &mut self,
        draft: &EventDraft<'_>,
        shape: DraftShape<'_>,
        origin: DraftOrigin<'_>,
        stream: &DataStream,
    ) -> Option<Arc<DynamicClass>> {
        self.key.clear();
        push_class_key(draft, shape, origin, &mut self.key);
        find_class(stream, &self.key, shape.is_shared, || event_class(draft, shape, origin, &self.key))
    }

    /// Returns the event with its name, its fields and its scope as texts, for the class that all events of its kind
    /// share beyond the limits.
    fn any(
        mut draft: EventDraft<'_>,
        renamed: &[(usize, String)],
        scope: &InstrumentationScope,
    ) -> EventDraft<'static> {
        let key = draft.members.iter().take(draft.own).find_map(|member| match member.value {
            AnyValue::Key(key) => Some(key),
            _ => None,
        });
        let ids = std::mem::take(&mut draft.ids);
        let mut any = EventDraft::new(draft.kind, Cow::Borrowed(b""), draft.time, ids);
        any.part = draft.part;
        any.has_unread_fields = draft.has_unread_fields || scope.is_cut();
        if let Some(key) = key {
            any.push("span", AnyValue::Key(key));
        }
        any.push("name", AnyValue::text(&draft.name).into_owned());
        any.push("scope", AnyValue::Array(scope.attributes.name_text_pairs()).into_owned());
        if draft.kind == DraftKind::Point {
            any.push(element_field::UNIT, AnyValue::text(draft.unit).into_owned());
            any.push(element_field::DESCRIPTION, AnyValue::text(draft.description).into_owned());
        }
        let original: HashMap<usize, &str> =
            renamed.iter().map(|(index, name)| (*index, name.as_str())).collect();
        let pair = |(index, member): (usize, &'_ NamedValue<'_>)| {
            let name = original.get(&index).copied().unwrap_or(&member.name);
            name_text_pair(name, member.value.to_text()).into_owned()
        };
        let fields = draft.members.iter().enumerate().map(pair).collect();
        any.push(element_field::OWN_FIELDS, AnyValue::Unsigned(draft.own as u64));
        any.push(element_field::FIELDS, AnyValue::Array(fields));
        any
    }
}

/// Writes the common context.
fn push_ids(ids: &DraftIds, values: &mut EventValues) {
    values.begin(Scope::CommonContext);
    let mut push = |id: Option<&[u8]>| {
        values.push_optional(id.is_some());
        if let Some(id) = id {
            values.push(FieldValue::Text(to_hex(id).as_bytes()));
        }
    };
    push(ids.trace.as_ref().map(|id| &id[..]));
    push(ids.span.as_ref().map(|id| &id[..]));
    push(ids.parent.as_ref().map(|id| &id[..]));
    values.push_optional(!ids.linked.is_empty());
    if !ids.linked.is_empty() {
        values.begin_array();
        ids.linked.iter().for_each(|id| values.push(FieldValue::Text(to_hex(id).as_bytes())));
        values.end();
    }
}
