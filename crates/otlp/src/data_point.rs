//! Metrics and their data points.

use std::borrow::Cow;
use std::ops::Range;

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::draft::{DraftIds, DraftKind, EventDraft, name_of};
use crate::exemplar::exemplar;
use crate::fault::Decoded;
use crate::input::{EncodedMessage, FieldInput, FieldName, lossy};
use crate::schema::{metric, point};
use crate::shared_limits::cut_text;
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
    description: String,
    unit: String,
    form: PointForm,
    temporality: u64,
    is_monotonic: bool,
    /// `true` if it has metadata, which are not read.
    has_metadata: bool,
    /// Statements about texts that are cut: see [`cut_text`].
    pub(crate) cuts: Vec<String>,
}

/// Maximum length of a metric name in messages, in bytes.
const MOST_SHOWN: usize = 64;

impl MetricHead {
    /// Returns its memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let cuts = self.cuts.iter().map(|cut| size_of::<String>() + cut.capacity()).sum::<usize>();
        size_of::<Self>() + self.name.capacity() + self.description.capacity() + self.unit.capacity() + cuts
    }

    /// Decodes a metric without its data points.
    pub(crate) fn decode(message: &EncodedMessage<'_>) -> Decoded<Self> {
        let mut head = Self::default();
        let (mut name, mut description, mut unit) = (Cow::default(), Cow::default(), Cow::default());
        message.fields(metric::FIELDS, |field, input| {
            match field {
                metric::NAME => name = input.text()?,
                metric::DESCRIPTION => description = input.text()?,
                metric::UNIT => unit = input.text()?,
                metric::METADATA => {
                    head.has_metadata = true;
                    input.skip()?;
                }
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
        head.set_texts(name, description, unit);
        Ok(head)
    }

    /// Sets the texts, of limited length.
    fn set_texts(&mut self, name: Cow<'_, [u8]>, description: Cow<'_, [u8]>, unit: Cow<'_, [u8]>) {
        let Self { cuts, .. } = self;
        let name = lossy(cut_text(name, format_args!("the name of a metric"), cuts));
        let shown = name.get(..name.floor_char_boundary(MOST_SHOWN)).unwrap_or_default();
        let description =
            cut_text(description, format_args!("the description of the metric {shown:?}"), cuts);
        let unit = cut_text(unit, format_args!("the unit of the metric {shown:?}"), cuts);
        (self.description, self.unit) = (lossy(description).into_owned(), lossy(unit).into_owned());
        self.name = name.into_owned();
    }

    /// Passes the data points of a metric to `take`, with their ranges.
    pub(crate) fn points(
        message: &EncodedMessage<'_>,
        mut take: impl FnMut(EncodedMessage<'_>, Range<usize>) -> Decoded<()>,
    ) -> Decoded<()> {
        message.fields(metric::FIELDS, |field, input| match field {
            metric::NAME | metric::DESCRIPTION | metric::UNIT => input.text().map(drop),
            metric::METADATA => input.skip(),
            _ => input.fields(metric::POINTS, |_, input| {
                input.each(|input| {
                    let (point, range) = input.message()?;
                    take(point, range)
                })
            }),
        })
    }
}

/// Form of the numbers in a repeated field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberForm {
    Double,
    /// Counts of 8 bytes in protobuf.
    Count,
    /// Counts of any length in protobuf.
    Varint,
}

/// Decodes the value at a quantile.
fn quantile<'a>(input: FieldInput<'a, '_>) -> Decoded<AnyValue<'a>> {
    let (mut quantile, mut value) = (0.0, 0.0);
    input.fields(point::QUANTILES, |field, input| {
        match field {
            point::QUANTILE => quantile = input.double()?,
            _ => value = input.double()?,
        }
        Ok(())
    })?;
    let members = [(element_field::QUANTILE, quantile), (element_field::VALUE, value)];
    Ok(AnyValue::List(members.map(|(name, number)| NamedValue::new(name, AnyValue::Double(number))).into()))
}

/// A data point.
#[derive(Debug, Default)]
pub(crate) struct DataPoint<'a> {
    start: u64,
    pub(crate) time: u64,
    /// Values with their names.
    values: Vec<NamedValue<'a>>,
    quantiles: Vec<AnyValue<'a>>,
    exemplars: Vec<AnyValue<'a>>,
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
                    found.numbers(element_field::BUCKET_COUNTS, NumberForm::Count, input, &mut values)?;
                }
                "explicitBounds" => {
                    found.numbers(element_field::EXPLICIT_BOUNDS, NumberForm::Double, input, &mut values)?;
                }
                "quantileValues" => input.each(|input| {
                    values.count(input.offset())?;
                    found.quantiles.push(quantile(input)?);
                    Ok(())
                })?,
                "exemplars" => input.each(|input| {
                    values.count(input.offset())?;
                    found.exemplars.push(exemplar(input, &mut values)?);
                    Ok(())
                })?,
                name => found.exponential(name, input, &mut values)?,
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Decodes a field that only exponential histograms have.
    fn exponential(
        &mut self,
        name: &str,
        input: FieldInput<'a, '_>,
        values: &mut ValueDecoder,
    ) -> Decoded<()> {
        let [offset, counts] = match name {
            "scale" => {
                self.push_integer(element_field::SCALE, input.zigzag()?);
                return Ok(());
            }
            "zeroCount" => {
                let count = input.unsigned()?;
                if count != 0 {
                    self.push(element_field::ZERO_COUNT, AnyValue::Unsigned(count));
                }
                return Ok(());
            }
            "zeroThreshold" => {
                let threshold = input.double()?;
                if threshold != 0.0 {
                    self.push(element_field::ZERO_THRESHOLD, AnyValue::Double(threshold));
                }
                return Ok(());
            }
            "positive" => [element_field::POSITIVE_OFFSET, element_field::POSITIVE_COUNTS],
            _ => [element_field::NEGATIVE_OFFSET, element_field::NEGATIVE_COUNTS],
        };
        input.fields(point::BUCKETS, |field, input| {
            match field {
                point::OFFSET => self.push_integer(offset, input.zigzag()?),
                _ => self.numbers(counts, NumberForm::Varint, input, values)?,
            }
            Ok(())
        })
    }

    /// Adds a number, unless it is 0, the default.
    fn push_integer(&mut self, name: &'static str, number: i32) {
        if number != 0 {
            self.push(name, AnyValue::Integer(number.into()));
        }
    }

    /// Decodes a repeated field of numbers. Nothing is added without numbers.
    fn numbers(
        &mut self,
        name: &'static str,
        form: NumberForm,
        input: FieldInput<'a, '_>,
        values: &mut ValueDecoder,
    ) -> Decoded<()> {
        let mut numbers = self.take(name);
        let at = input.offset();
        let parse = |text: &str| match form {
            NumberForm::Double => Some(text.parse::<f64>().ok()?.to_bits()),
            NumberForm::Count | NumberForm::Varint => text.parse().ok(),
        };
        input.packed(form == NumberForm::Varint, parse, |bits| {
            values.count(at)?;
            numbers.push(match form {
                NumberForm::Double => AnyValue::Double(f64::from_bits(bits)),
                NumberForm::Count | NumberForm::Varint => AnyValue::Unsigned(bits),
            });
            Ok(())
        })?;
        if !numbers.is_empty() {
            self.push(name, AnyValue::Array(numbers));
        }
        Ok(())
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
        let (unit, description) = (&*head.unit, &*head.description);
        let (part, has_unread_fields) = (head.form.part(), head.has_metadata || !head.cuts.is_empty());
        let mut draft = EventDraft { unit, description, part, has_unread_fields, ..draft };
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
        for (name, list) in
            [(element_field::QUANTILES, self.quantiles), (element_field::EXEMPLARS, self.exemplars)]
        {
            if !list.is_empty() {
                draft.push(name, AnyValue::Array(list));
            }
        }
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
