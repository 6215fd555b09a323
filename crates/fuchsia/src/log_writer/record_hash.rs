//! Record hashes, to compare written records with the records read back.
//!
//! [`record_hash`] hashes a record that was read. The writer computes the same hash from its calls to the encoder
//! ([`ExpectedRecord`]) or from the copied message ([`copied_hash`]).

use ichnos_model::digest::ValueHash;
use ichnos_model::field::{Field, FieldValue, Text};
use ichnos_model::{Event, Scope, Visitor};

use super::copy::{PACKET, message_bytes};
use crate::log::{EncodeError, Name, Record, RecordEncoder, Value};
use crate::log_reader::any::{MONIKER, ROLLED_OUT, URL};

/// Argument with the count of records dropped before this one.
const DROPPED: &str = "num_dropped";

/// Record hash over severity, tag, and arguments with their names.
#[derive(Debug)]
pub(super) struct LogRecordHash {
    arguments: ValueHash,
    /// Hash of the component arguments and the extension. Readers do not distinguish them, and an extension can be all
    /// zeros.
    attribution: ValueHash,
    tag: u32,
    severity: i64,
    is_control: bool,
}

impl Default for LogRecordHash {
    fn default() -> Self {
        let (arguments, attribution) = (ValueHash::new(0), ValueHash::new(0));
        Self { arguments, attribution, tag: 0, severity: 0, is_control: false }
    }
}

impl LogRecordHash {
    /// Adds an argument.
    pub(super) fn argument(&mut self, name: &str, value: Value<'_>) {
        let is_attribution = matches!(name, ROLLED_OUT | MONIKER | URL);
        let hash = if is_attribution { &mut self.attribution } else { &mut self.arguments };
        let value = match value {
            // Readers end these texts at the first zero.
            Value::Text(text) if is_attribution => {
                Value::Text(text.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default().into())
            }
            value => value,
        };
        match value {
            Value::Unsigned(0) if is_attribution => return,
            Value::Text(text) if is_attribution && text.is_empty() => return,
            _ => {}
        }
        hash.bytes(name.as_bytes());
        hash.add(u64::from(value.kind()));
        match value {
            Value::Null => {}
            Value::Signed(number) => hash.add(number as u64),
            Value::Unsigned(number) => hash.add(number),
            Value::Float(number) => hash.add(number.to_bits()),
            Value::Text(text) => hash.bytes(text.as_bytes()),
            Value::Bool(value) => hash.add(u64::from(value)),
        }
    }

    fn finish(mut self) -> u64 {
        self.arguments.add(self.attribution.finish());
        self.arguments.add(u64::from(self.tag) | u64::from(self.is_control) << 32);
        self.arguments.add(self.severity as u64);
        self.arguments.finish()
    }
}

/// A record under construction, with the hash of all encoder calls.
#[derive(Debug)]
pub(super) struct ExpectedRecord<'e> {
    record: RecordEncoder<'e>,
    /// `None` if the output is not compared.
    hash: Option<LogRecordHash>,
}

impl<'e> ExpectedRecord<'e> {
    pub(super) fn new(record: RecordEncoder<'e>, is_compared: bool) -> Self {
        Self { record, hash: is_compared.then(LogRecordHash::default) }
    }

    pub(super) fn set_tag(&mut self, tag: u32) {
        self.record.set_tag(tag);
        self.hash.iter_mut().for_each(|hash| hash.tag = tag);
    }

    pub(super) fn set_control(&mut self, is_control: bool) {
        self.record.set_control(is_control);
        self.hash.iter_mut().for_each(|hash| hash.is_control = is_control);
    }

    pub(super) fn set_severity(&mut self, severity: u8) {
        self.record.set_severity(severity);
        self.hash.iter_mut().for_each(|hash| hash.severity = severity.into());
    }

    pub(super) fn words_left(&self) -> usize {
        self.record.words_left()
    }

    /// Appends an argument if it fits.
    #[inline]
    pub(super) fn argument<'n, 'v>(
        &mut self,
        name: impl Into<Name<'n>>,
        value: impl Into<Value<'v>>,
    ) -> Result<(), EncodeError> {
        let (name, value) = (name.into(), value.into());
        self.record.argument(name, value)?;
        if let Some(hash) = &mut self.hash {
            hash.argument(name.as_str(), value);
        }
        Ok(())
    }

    /// Returns the hash, for data written after the record.
    pub(super) fn hash(&mut self) -> Option<&mut LogRecordHash> {
        self.hash.as_mut()
    }

    /// Finishes the record. Returns its hash, or 0 if the output is not compared.
    pub(super) fn finish(self) -> u64 {
        self.record.finish();
        self.hash.map_or(0, LogRecordHash::finish)
    }
}

/// Returns the time in nanoseconds and the hash of a record that was read. If times are negative, clock values differ
/// from this time.
pub(super) fn record_hash(event: &Event<'_>) -> (Option<u64>, u64) {
    (event.nanoseconds().map(|time| time as u64), RecordHashVisitor::read(event, 0).hash.finish())
}

/// Returns the hash of a copied message with another tag and more dropped records.
pub(super) fn copied_hash(event: &Event<'_>, tag: u32, dropped: u64) -> u64 {
    let mut reader = RecordHashVisitor::read(event, dropped);
    if reader.more_dropped > 0 {
        reader.hash.argument(DROPPED, Value::Unsigned(reader.more_dropped));
    }
    reader.hash.tag = tag;
    reader.hash.finish()
}

/// Computes the hash of a record that was read.
#[derive(Debug, Default)]
struct RecordHashVisitor {
    hash: LogRecordHash,
    is_packet: bool,
    /// `true` during the visit of header fields.
    is_header: bool,
    /// Name of the next argument, for records beyond the class limit, which readers deliver as arrays of names and
    /// values.
    name: Option<String>,
    is_array: bool,
    is_value: bool,
    /// Number to add to the first count of dropped records.
    more_dropped: u64,
}

impl RecordHashVisitor {
    fn read(event: &Event<'_>, more_dropped: u64) -> Self {
        let is_packet = event.class.name.as_deref() == Some(PACKET);
        let mut reader = Self { is_packet, more_dropped, ..Self::default() };
        let record = message_bytes(event).filter(|_| !is_packet).map(|bytes| Record::read(bytes, 0));
        reader.hash.is_control = matches!(record, Some(Ok((record, _))) if record.is_control());
        reader.is_header = !is_packet;
        // Readers only deliver events that decode without error.
        let _ = event.visit(Scope::SpecificContext, &mut reader);
        reader.is_header = false;
        let _ = event.visit(Scope::Payload, &mut reader);
        reader
    }

    fn argument(&mut self, field: Field<'_>, value: Value<'_>) {
        match self.name.take() {
            Some(name) => self.named(&name, value),
            None => self.named(field.name().unwrap_or_default(), value),
        }
    }

    fn named(&mut self, name: &str, value: Value<'_>) {
        let value = match value {
            Value::Unsigned(number) if name == if self.is_packet { "dropped" } else { DROPPED } => {
                Value::Unsigned(number.saturating_add(std::mem::take(&mut self.more_dropped)))
            }
            value => value,
        };
        self.hash.argument(name, value);
    }
}

impl Visitor for RecordHashVisitor {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        match field.name() {
            Some("tag") if self.is_header => self.hash.tag = value as u32,
            Some(_) if self.is_header => self.hash.severity = value as i64,
            _ => self.argument(field, Value::Unsigned(value)),
        }
    }

    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        let value = match value {
            FieldValue::Signed(value) => Value::Signed(value),
            FieldValue::Boolean(value) => Value::Bool(value),
            FieldValue::Real(value) => Value::Float(value.to_f64()),
            FieldValue::Null => Value::Null,
            _ => return,
        };
        self.argument(field, value);
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if self.is_array && !self.is_value {
            self.name = Some(value.to_str_lossy().into_owned());
        } else {
            self.argument(field, Value::Text(value.bytes.into()));
        }
    }

    fn begin_array(&mut self, _: Field<'_>, _: u64) {
        self.is_array = true;
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.is_array = false;
    }

    fn begin_variant(&mut self, _: Field<'_>, _: usize, _: i128) {
        self.is_value = true;
    }

    fn end_variant(&mut self, _: Field<'_>) {
        self.is_value = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Encoder;

    /// Returns the hash of a record with one argument.
    fn hash(name: &str, value: Value<'_>, change: impl FnOnce(&mut ExpectedRecord<'_>)) -> u64 {
        let mut room = [0; 256];
        let mut encoder = Encoder::new(&mut room);
        let mut record = ExpectedRecord::new(encoder.begin(1, 0).unwrap(), true);
        record.argument(name, value).unwrap();
        change(&mut record);
        record.finish()
    }

    #[test]
    fn everything_that_a_record_says_counts() {
        let hashes = [
            hash("a", Value::Unsigned(1), |_| {}),
            hash("b", Value::Unsigned(1), |_| {}),
            hash("a", Value::Unsigned(2), |_| {}),
            hash("a", Value::Signed(1), |_| {}),
            hash("a", Value::Bool(true), |_| {}),
            hash("a", Value::Text("1".into()), |_| {}),
            hash("a", Value::Null, |_| {}),
            hash("a", Value::Unsigned(1), |record| record.set_severity(0x30)),
            hash("a", Value::Unsigned(1), |record| record.set_tag(1)),
            hash("a", Value::Unsigned(1), |record| record.set_control(true)),
            hash("a", Value::Unsigned(1), |record| record.argument("a", 1u64).unwrap()),
            hash("a", Value::Unsigned(1), |record| record.argument(URL, "1").unwrap()),
            hash("a", Value::Unsigned(1), |record| record.argument(MONIKER, "1").unwrap()),
        ];
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "{index}");
        }
        // An extension of zeros.
        assert_eq!(hash("a", Value::Unsigned(1), |record| record.argument(URL, "").unwrap()), hashes[0]);
    }
}
