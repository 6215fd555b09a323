//! Events before their class is known.

use std::borrow::Cow;

use ichnos_model::telemetry::{ElementPart, element_field};

use crate::any_value::{AnyValue, NamedValue};
use crate::exemplar::exemplar_shape;
use crate::input::lossy;
use crate::shape::AnyShape;

ichnos_model::named_enum! {
    /// Kind of an event in a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(crate) enum DraftKind {
        /// Start of a span.
        SpanBegin = "span:begin",
        /// End of a span.
        SpanEnd = "span:end",
        /// Event of a span.
        SpanEvent = "event",
        /// Log record.
        Log = "log",
        /// Data point of a metric.
        Point = "metric",
    }
}

/// An event: its time, identifiers and fields.
#[derive(Debug)]
pub(crate) struct EventDraft<'a> {
    pub(crate) kind: DraftKind,
    pub(crate) part: ElementPart,
    /// Name of the span, the event or the metric. Empty if it has none.
    pub(crate) name: Cow<'a, str>,
    /// Unit of the metric.
    pub(crate) unit: &'a str,
    /// Description of the metric.
    pub(crate) description: &'a str,
    /// `true` if it has fields that are not read.
    pub(crate) has_unread_fields: bool,
    /// Nanoseconds since 1970, or 0 for an unknown time.
    pub(crate) time: u64,
    pub(crate) ids: DraftIds,
    /// Fields that OpenTelemetry defines, then attributes.
    pub(crate) members: Vec<NamedValue<'a>>,
    /// Number of fields before the attributes.
    pub(crate) own: usize,
}

/// Identifiers of an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftIds {
    pub(crate) trace: Option<[u8; 16]>,
    pub(crate) span: Option<[u8; 8]>,
    pub(crate) parent: Option<[u8; 8]>,
    /// Linked spans of the same trace.
    pub(crate) linked: Vec<[u8; 8]>,
}

impl<'a> EventDraft<'a> {
    pub(crate) fn new(kind: DraftKind, name: Cow<'a, [u8]>, time: u64, ids: DraftIds) -> Self {
        let part = match kind {
            DraftKind::SpanBegin => ElementPart::SpanBegin,
            DraftKind::SpanEnd => ElementPart::SpanEnd,
            DraftKind::SpanEvent => ElementPart::SpanEvent,
            DraftKind::Log => ElementPart::LogRecord,
            DraftKind::Point => ElementPart::Gauge,
        };
        Self {
            kind,
            part,
            name: lossy(name),
            unit: "",
            description: "",
            has_unread_fields: false,
            time,
            ids,
            members: Vec::new(),
            own: 0,
        }
    }

    /// Appends a field.
    pub(crate) fn push(&mut self, name: &'static str, value: AnyValue<'a>) {
        self.members.push(NamedValue::new(name, value));
        self.own = self.members.len();
    }

    /// Appends a text field, unless it is empty.
    pub(crate) fn push_text(&mut self, name: &'static str, text: Cow<'a, [u8]>) {
        if !text.is_empty() {
            self.push(name, AnyValue::Text(text));
        }
    }

    /// Appends a number, unless it is 0, the default.
    pub(crate) fn push_number(&mut self, name: &'static str, number: u64) {
        if number != 0 {
            self.push(name, AnyValue::Unsigned(number));
        }
    }

    /// Appends a time, unless it is 0, which means unknown.
    pub(crate) fn push_time(&mut self, name: &'static str, time: u64) {
        if time != 0 {
            self.push(name, AnyValue::Time(time));
        }
    }

    /// Returns the shapes of the members.
    pub(crate) fn shapes(&self) -> Vec<AnyShape> {
        let shape = |(index, member): (usize, &NamedValue<'_>)| match index < self.own
            && member.name == element_field::EXEMPLARS
        {
            true => exemplar_shape(&member.value),
            false => AnyShape::new(&member.value),
        };
        self.members.iter().enumerate().map(shape).collect()
    }

    /// Appends attributes.
    pub(crate) fn push_attributes(&mut self, attributes: Vec<NamedValue<'a>>) {
        self.members.extend(attributes);
    }
}

/// Returns the name of an enumeration value, or its number. `None` for 0, the default.
pub(crate) fn name_of(names: &[&'static str], number: u64) -> Option<AnyValue<'static>> {
    let name = usize::try_from(number).ok().and_then(|number| names.get(number));
    (number != 0).then(|| name.map_or(AnyValue::Unsigned(number), |name| AnyValue::text(name)))
}
