//! Data points of OpenTelemetry input.

use ichnos_model::telemetry::{ElementPart, element_field};

use super::batch::OtlpSignal;
use super::element_class::ElementEvent;
use super::encoding::{OtlpField, PackedForm};
use super::log_records::ElementEncoder;
use super::message_sink::{EXEMPLARS, EXPONENTIAL_EXEMPLARS, HISTOGRAM_EXEMPLARS, QUANTILES};
use super::number_sink::NumberSink;
use super::point_value::PointValue;
use super::schema::{exponential, histogram, metric};
use crate::arguments::ScopeArguments;

impl ElementEncoder {
    /// Appends a data point. Returns `false` if it is too large.
    pub(super) fn push_element_point(
        &mut self,
        read: &ElementEvent<'_, '_>,
        time: u64,
        out: &mut Vec<u8>,
    ) -> bool {
        let encoding = self.encoding;
        let at = encoding.begin_element(out, OtlpSignal::Metrics.element());
        encoding.known_time(out, metric::START, read.number(element_field::START_TIME));
        encoding.known_time(out, metric::TIME, time);
        let (mut fits, exemplars) = (true, element_field::EXEMPLARS);
        let (attributes, flags) = match read.element.role.part {
            ElementPart::Histogram => {
                self.push_histogram(read, out);
                fits &= self.push_messages(read, exemplars, &HISTOGRAM_EXEMPLARS, out);
                (histogram::ATTRIBUTES, histogram::FLAGS)
            }
            ElementPart::ExponentialHistogram => {
                self.push_exponential(read, out);
                fits &= self.push_messages(read, exemplars, &EXPONENTIAL_EXEMPLARS, out);
                (exponential::ATTRIBUTES, exponential::FLAGS)
            }
            ElementPart::Summary => {
                encoding.fixed(out, histogram::COUNT, read.number(element_field::COUNT));
                self.push_doubles(read, &[(histogram::SUM, element_field::SUM)], out);
                fits &= self.push_messages(read, element_field::QUANTILES, &QUANTILES, out);
                (metric::ATTRIBUTES, metric::FLAGS)
            }
            _ => {
                match read.point_value() {
                    Some(PointValue::Integer(value)) => encoding.fixed_integer(out, metric::INTEGER, value),
                    Some(PointValue::Double(value)) => encoding.double(out, metric::DOUBLE, value),
                    None => {}
                }
                fits &= self.push_messages(read, exemplars, &EXEMPLARS, out);
                (metric::ATTRIBUTES, metric::FLAGS)
            }
        };
        encoding.count(out, flags, read.number(element_field::FLAGS));
        encoding.begin_list(out, attributes);
        fits &= self.push_element_attributes(read, attributes, out);
        encoding.end_list(out);
        encoding.end(out, at) && fits
    }

    /// Appends the fields that only histograms have.
    fn push_histogram(&mut self, read: &ElementEvent<'_, '_>, out: &mut Vec<u8>) {
        let encoding = self.encoding;
        encoding.fixed(out, histogram::COUNT, read.number(element_field::COUNT));
        let doubles = [
            (histogram::SUM, element_field::SUM),
            (histogram::MIN, element_field::MIN),
            (histogram::MAX, element_field::MAX),
        ];
        self.push_doubles(read, &doubles, out);
        let counts = self.numbers(read, element_field::BUCKET_COUNTS);
        encoding.packed(out, histogram::BUCKET_COUNTS, &counts, PackedForm::Count);
        let bounds = self.numbers(read, element_field::EXPLICIT_BOUNDS);
        encoding.packed(out, histogram::EXPLICIT_BOUNDS, &bounds, PackedForm::Double);
    }

    /// Appends the fields that only exponential histograms have.
    fn push_exponential(&mut self, read: &ElementEvent<'_, '_>, out: &mut Vec<u8>) {
        let encoding = self.encoding;
        encoding.fixed(out, histogram::COUNT, read.number(element_field::COUNT));
        let doubles = [
            (histogram::SUM, element_field::SUM),
            (exponential::MIN, element_field::MIN),
            (exponential::MAX, element_field::MAX),
            (exponential::ZERO_THRESHOLD, element_field::ZERO_THRESHOLD),
        ];
        self.push_doubles(read, &doubles, out);
        encoding.short_signed(out, exponential::SCALE, read.signed(element_field::SCALE));
        encoding.known_time(out, exponential::ZERO_COUNT, read.number(element_field::ZERO_COUNT));
        for (field, offset, counts) in [
            (exponential::POSITIVE, element_field::POSITIVE_OFFSET, element_field::POSITIVE_COUNTS),
            (exponential::NEGATIVE, element_field::NEGATIVE_OFFSET, element_field::NEGATIVE_COUNTS),
        ] {
            let (offset, counts) = (read.signed(offset), self.numbers(read, counts));
            if offset != 0 || !counts.is_empty() {
                let at = encoding.begin(out, field);
                encoding.short_signed(out, exponential::OFFSET, offset);
                encoding.packed(out, exponential::BUCKET_COUNTS, &counts, PackedForm::Varint);
                encoding.end(out, at);
            }
        }
    }

    /// Appends floating-point numbers that are not left out.
    fn push_doubles(&self, read: &ElementEvent<'_, '_>, fields: &[(OtlpField, &str)], out: &mut Vec<u8>) {
        for (field, name) in fields {
            read.double(name).into_iter().for_each(|value| self.encoding.double(out, *field, value));
        }
    }

    /// Returns the bits of the numbers in an array.
    fn numbers(&mut self, read: &ElementEvent<'_, '_>, name: &str) -> Vec<u64> {
        let Some(names) = read.element.list(name) else { return Vec::new() };
        let mut visitor = ScopeArguments::new(NumberSink::default(), names, &mut self.text);
        // Delivered events can always be decoded.
        let _ = read.event.visit_members(names.scope, &mut visitor);
        visitor.arguments.numbers
    }
}
