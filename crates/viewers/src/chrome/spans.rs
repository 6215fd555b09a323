//! Open spans of Chrome traces.

use std::sync::Arc;

use ichnos_model::Event;

use super::class::{ChromeClass, ChromePrefix};
use ichnos_analysis::events::class::{EventForm, EventPlace, ViewerClass};
use ichnos_analysis::events::keyed_spans::{KeyedSpans, Kinds, span_id};
use ichnos_analysis::events::names::NumberedNames;
use ichnos_analysis::events::nested_spans::NestedSpans;
use ichnos_analysis::events::span_edge::SpanEdge;
use ichnos_analysis::events::tracks::{TrackKind, track_id};

/// Maximum number of event names that are kept until their spans end.
const MOST_NAMES: usize = 1 << 16;

/// Span names. Viewers pair events by category and name.
#[derive(Debug, Default)]
pub(super) struct ChromeSpans {
    keyed: KeyedSpans<KeyedName>,
    /// Open spans without keys, with their category numbers and start times.
    pub(super) nested: NestedSpans<(u64, u64)>,
    /// Event names that started spans with keys.
    names: NumberedNames,
    /// Classes with a name for each event that started spans without keys.
    own_named: Kinds<u64>,
}

/// Identifier and names of a span with a key.
#[derive(Clone, Debug)]
pub(super) struct KeyedName {
    pub(super) id: u64,
    pub(super) prefix: Arc<ChromePrefix>,
    /// Name number of the event that started the span, if it has its own name. 0 if that name was not kept.
    own: Option<u32>,
}

/// Event name.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChromeName<'n> {
    OfClass,
    Own(&'n str),
    Nothing,
}

impl ChromeSpans {
    /// Returns the name of an event that starts or ends a span without a key. An end is nameless if the start may
    /// have its own name: it then ends the innermost span.
    pub(super) fn nested<'n>(
        &mut self,
        class: &ViewerClass,
        form: EventForm,
        name: Option<&'n str>,
    ) -> ChromeName<'n> {
        let kind = class.edge(None).kind;
        let is_begin = form == EventForm::Begin;
        if is_begin && name.is_some() {
            self.own_named.add(kind);
        }
        match name {
            Some(name) if is_begin || self.own_named.has(kind) => ChromeName::Own(name),
            None if !is_begin && self.own_named.has(kind) => ChromeName::Nothing,
            _ => ChromeName::OfClass,
        }
    }

    /// Starts or ends a span of a track with these names and this category. Calls `lost` for each inner span without
    /// an end and for each forgotten span. Returns `None` if nothing ends. Otherwise returns the start time, and
    /// `true` for an end that viewers would not find by its name and category.
    pub(super) fn begin_or_end(
        &mut self,
        is_begin: bool,
        (track, edge, category): (u64, SpanEdge, u64),
        time: u64,
        mut lost: impl FnMut(SpanLoss),
    ) -> Option<(bool, u64)> {
        if is_begin {
            lost(SpanLoss::Forgotten(self.nested.begin(track, edge, (category, time))));
            return Some((false, time));
        }
        let (begun, begin) = self.nested.end(track, edge, |_| lost(SpanLoss::Within))?;
        Some((edge.is_unnamed || begun != category, begin))
    }

    /// Starts or ends a span with a key in a process of the numbered trace. Returns the identifier and names of the
    /// span and of an open span with the same key. Returns `None` for an end without a start.
    pub(super) fn keyed(
        &mut self,
        class: &ChromeClass,
        event: &Event<'_>,
        (place, trace): (&EventPlace<'_>, u32),
        name: Option<&str>,
    ) -> Option<(KeyedName, Option<KeyedName>)> {
        let Self { keyed, names, .. } = self;
        let key = class.class.span_key(event, trace);
        // Events without a process share the keys of process 0.
        let key = track_id(TrackKind::Slice, [place.process.unwrap_or_default(), key]);
        let edge = class.class.edge(name);
        let is_end = class.class.form == EventForm::KeyedEnd;
        if is_end {
            let begun = keyed.end(key, edge, |_| None);
            if begun.is_some() || !keyed.has_refused() {
                return begun.map(|begun| (begun, None));
            }
        }
        let own = name.map(|name| if names.count() < MOST_NAMES { names.number(name) } else { 0 });
        let begun = KeyedName { id: span_id(key, edge), prefix: Arc::clone(&class.prefix), own };
        let again = if is_end { None } else { keyed.begin(key, edge, begun.clone()) };
        Some((begun, again))
    }

    /// Returns the name of a span with a key. `name` is the event name.
    pub(super) fn name<'n>(&'n self, span: &KeyedName, name: Option<&'n str>) -> ChromeName<'n> {
        match (span.own, name) {
            (None, _) => ChromeName::OfClass,
            (Some(0), Some(name)) => ChromeName::Own(name),
            (Some(0), None) => ChromeName::Nothing,
            (Some(number), _) => ChromeName::Own(self.names.name(number)),
        }
    }
}

/// Lost span ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpanLoss {
    /// Span inside a span that ends.
    Within,
    /// Number of forgotten open spans.
    Forgotten(usize),
}
