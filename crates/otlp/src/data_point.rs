//! Metrics and their data points.

use std::borrow::Cow;
use std::ops::Range;

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::draft::{DraftIds, DraftKind, EventDraft, name_of};
use crate::fault::Decoded;
use crate::input::{EncodedMessage, FieldName, lossy};
use crate::schema::{metric, point};
use ichnos_model::telemetry::{ElementPart, TEMPORALITIES, element_field};

/// Kind of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum PointForm {
    #[default]
    Number,
    Sum,
    Histogram,
    Exponential,
    Summary,
}

impl PointForm {
    fn of_field(field: u32) -> Self {
        match field {
            metric::SUM => Self::Sum,
            metric::HISTOGRAM => Self::Histogram,
            metric::EXPONENTIAL => Self::Exponential,
            metric::SUMMARY => Self::Summary,
            _ => Self::Number,
        }
    }

    fn part(self) -> ElementPart {
        match self {
            Self::Number => ElementPart::Gauge,
            Self::Sum => ElementPart::Sum,
            Self::Histogram => ElementPart::Histogram,
            Self::Exponential => ElementPart::ExponentialHistogram,
            Self::Summary => ElementPart::Summary,
        }
    }

    fn fields(self) -> &'static [FieldName] {
        match self {
            Self::Number | Self::Sum => point::NUMBER,
            Self::Histogram => point::HISTOGRAM,
            Self::Exponential => point::EXPONENTIAL,
            Self::Summary => point::SUMMARY,
        }
    }
}

/// Properties of a metric, without its data points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct MetricHead {
    name: String,
    unit: String,
    form: PointForm,
    temporality: u64,
    is_monotonic: bool,
}

impl MetricHead {
    /// Returns its memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.name.capacity() + self.unit.capacity()
    }

    /// Decodes a metric without its data points.
    pub(crate) fn decode(message: &EncodedMessage<'_>) -> Decoded<Self> {
        let mut head = Self::default();
        message.fields(metric::FIELDS, |field, input| {
            match field {
                metric::NAME => head.name = lossy(input.text()?).into_owned(),
                metric::UNIT => head.unit = lossy(input.text()?).into_owned(),
                field => {
                    head.form = PointForm::of_field(field);
                    input.fields(metric::DATA, |field, input| {
                        match field {
                            metric::TEMPORALITY => {
                                head.temporality = input.enumeration(&TEMPORALITIES)?;
                            }
                            _ => head.is_monotonic = input.boolean()?,
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })?;
        Ok(head)
    }

    /// Passes the data points of a metric to `take`, with their ranges.
    pub(crate) fn points(
        message: &EncodedMessage<'_>,
        mut take: impl FnMut(EncodedMessage<'_>, Range<usize>) -> Decoded<()>,
    ) -> Decoded<()> {
        message.fields(metric::FIELDS, |field, input| match field {
            metric::NAME | metric::UNIT => input.text().map(drop),
            _ => input.fields(metric::POINTS, |_, input| {
                input.each(|input| {
                    let (point, range) = input.message()?;
                    take(point, range)
                })
            }),
        })
    }
}

/// A data point.
#[derive(Debug, Default)]
pub(crate) struct DataPoint<'a> {
    start: u64,
    pub(crate) time: u64,
    /// Values with their names.
    values: Vec<NamedValue<'a>>,
    attributes: Vec<NamedValue<'a>>,
    flags: u64,
}

impl<'a> DataPoint<'a> {
    /// Decodes a data point of a metric.
    pub(crate) fn decode(message: &EncodedMessage<'a>, head: &MetricHead) -> Decoded<Self> {
        let (mut found, mut values) = (Self::default(), ValueDecoder::default());
        let names = head.form.fields();
        message.fields(names, |field, input| {
            let name = names.iter().find(|(_, number)| *number == field).map_or("", |(name, _)| name);
            match name {
                "startTimeUnixNano" => found.start = input.unsigned()?,
                "timeUnixNano" => found.time = input.unsigned()?,
                "attributes" => values.pairs(input, &mut found.attributes)?,
                "flags" => found.flags = input.unsigned()?,
                "asInt" => found.push(element_field::VALUE, AnyValue::Integer(input.signed()?)),
                "asDouble" => found.push(element_field::VALUE, AnyValue::Double(input.double()?)),
                "count" => found.push(element_field::COUNT, AnyValue::Unsigned(input.unsigned()?)),
                "sum" => found.push(element_field::SUM, AnyValue::Double(input.double()?)),
                "min" => found.push(element_field::MIN, AnyValue::Double(input.double()?)),
                "max" => found.push(element_field::MAX, AnyValue::Double(input.double()?)),
                "bucketCounts" => {
                    let mut counts = found.take(element_field::BUCKET_COUNTS);
                    let at = input.offset();
                    input.packed(
                        |text| text.parse().ok(),
                        |count| {
                            values.count(at)?;
                            counts.push(AnyValue::Unsigned(count));
                            Ok(())
                        },
                    )?;
                    found.push(element_field::BUCKET_COUNTS, AnyValue::Array(counts));
                }
                _ => {
                    let mut bounds = found.take(element_field::EXPLICIT_BOUNDS);
                    let at = input.offset();
                    input.packed(
                        |text| Some(text.parse::<f64>().ok()?.to_bits()),
                        |bits| {
                            values.count(at)?;
                            bounds.push(AnyValue::Double(f64::from_bits(bits)));
                            Ok(())
                        },
                    )?;
                    found.push(element_field::EXPLICIT_BOUNDS, AnyValue::Array(bounds));
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Adds a value, in place of an earlier one with its name.
    fn push(&mut self, name: &'static str, value: AnyValue<'a>) {
        self.values.retain(|known| known.name != name);
        self.values.push(NamedValue::new(name, value));
    }

    /// Removes and returns the elements of an array.
    fn take(&mut self, name: &str) -> Vec<AnyValue<'a>> {
        let at = self.values.iter().position(|known| known.name == name);
        match at.map(|at| self.values.remove(at).value) {
            Some(AnyValue::Array(elements)) => elements,
            _ => Vec::new(),
        }
    }

    /// Returns the data point as an event.
    pub(crate) fn into_draft<'h>(self, head: &'h MetricHead) -> EventDraft<'h>
    where
        'a: 'h,
    {
        let draft = EventDraft::new(
            DraftKind::Point,
            Cow::Borrowed(head.name.as_bytes()),
            self.time,
            DraftIds::default(),
        );
        let mut draft = EventDraft { unit: &head.unit, part: head.form.part(), ..draft };
        if !self.attributes.is_empty() {
            // Viewers show each series of the metric under this name.
            draft.push_text("metric", Cow::Borrowed(head.name.as_bytes()));
            draft.push("series", AnyValue::Text(Cow::Owned(series(&self.attributes))));
        }
        for NamedValue { name, value } in self.values {
            draft.members.push(NamedValue { name, value });
            draft.own = draft.members.len();
        }
        if let Some(temporality) = name_of(&TEMPORALITIES, head.temporality) {
            draft.push(element_field::TEMPORALITY, temporality);
        }
        if head.is_monotonic {
            draft.push(element_field::MONOTONIC, AnyValue::Boolean(true));
        }
        draft.push_time(element_field::START_TIME, self.start);
        draft.push_number(element_field::FLAGS, self.flags);
        draft.push_attributes(self.attributes);
        draft
    }
}

/// Maximum length of the name of a series, in bytes.
const MOST_SERIES: usize = 1 << 10;

/// Returns the attributes of a data point as text: `a=1, b=x`.
fn series(attributes: &[NamedValue<'_>]) -> Vec<u8> {
    let mut text = Vec::new();
    for attribute in attributes {
        if !text.is_empty() {
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(attribute.name.as_bytes());
        text.push(b'=');
        text.extend_from_slice(&attribute.value.to_text());
        if text.len() > MOST_SERIES {
            break;
        }
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.truncate(text.floor_char_boundary(MOST_SERIES));
    text.into_bytes()
}
