//! Writes events of one class from values.

use ichnos_model::{
    BuildError, EventBuilder, EventValues, FieldClass, FieldKind, FieldValue, Real, VariableLengthValue,
};

use super::{StreamWriter, WriteError, lock};

/// Writes events of one class to a data stream.
///
/// Each event consists of the values set since the last one was written; all members need a value.
#[derive(Debug)]
pub struct EventWriter {
    stream: StreamWriter,
    builder: EventBuilder,
}

impl EventWriter {
    pub(super) fn new(stream: StreamWriter, builder: EventBuilder) -> Self {
        Self { stream, builder }
    }

    /// Sets the value of a member by its name; `ctx.NAME` is a member of a context if the payload has a member with
    /// that name, too. Integers can be given with or without a sign, and an optional member is present unless it is
    /// set to [`FieldValue::Null`]. [`Self::write`] checks that the value fits.
    ///
    /// # Errors
    /// If the member does not exist.
    pub fn set<'v>(&mut self, name: &str, value: impl Into<FieldValue<'v>>) -> Result<&mut Self, WriteError> {
        let member = self.builder.member(name).ok_or_else(|| BuildError::NoMember(name.to_owned()))?;
        let value = value.into();
        let fitting = match self.builder.class_of(member).map(|class| &class.kind) {
            Some(FieldKind::Optional { field, .. }) => {
                let value = fitting(field, value);
                self.builder.put_with(member, |values| {
                    let is_present = !matches!(value, FieldValue::Null);
                    values.push_optional(is_present);
                    if is_present {
                        values.push(value);
                    }
                });
                return Ok(self);
            }
            Some(_) => self.builder.class_of(member).map_or(value, |class| fitting(class, value)),
            None => value,
        };
        self.builder.put(member, fitting);
        Ok(self)
    }

    /// Sets the value of a member that contains others (a structure, an array, a variant) to the output of `write`.
    ///
    /// # Errors
    /// If the member does not exist.
    pub fn set_with(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut EventValues),
    ) -> Result<&mut Self, WriteError> {
        let member = self.builder.member(name).ok_or_else(|| BuildError::NoMember(name.to_owned()))?;
        self.builder.put_with(member, write);
        Ok(self)
    }

    /// Writes an event with the values set before, and its time in cycles of the data stream's clock, or `None`
    /// without a clock. This clears the values, even if the event is refused.
    ///
    /// # Errors
    /// If a member has no value or one that does not fit, or if the time does not fit or is before the last event of
    /// the data stream: then nothing is written. If a packet cannot be written.
    pub fn write(&mut self, time: impl Into<Option<u64>>) -> Result<(), WriteError> {
        let result = self.write_set(time.into());
        self.builder.clear();
        result
    }

    fn write_set(&mut self, time: Option<u64>) -> Result<(), WriteError> {
        self.stream.check_clock(time)?;
        if let Some(time) = time {
            self.builder.set_cycles(time);
        }
        let event = self.builder.event()?;
        let mut state = lock(&self.stream.state);
        self.stream.write(&mut state, event)
    }

    /// Returns the data stream.
    #[must_use]
    pub fn stream(&self) -> &StreamWriter {
        &self.stream
    }
}

/// Converts a number to the representation of its class, if the number does not change.
fn fitting<'v>(class: &FieldClass, value: FieldValue<'v>) -> FieldValue<'v> {
    let signed = match &class.kind {
        FieldKind::Integer { integer, .. }
        | FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => integer.signed,
        FieldKind::BitArray(_)
        | FieldKind::BitMap { .. }
        | FieldKind::VariableLength { value: VariableLengthValue::BitArray, .. } => {
            return match value {
                FieldValue::Unsigned(bits) => FieldValue::Bits(bits),
                FieldValue::Signed(bits) => u64::try_from(bits).map_or(value, FieldValue::Bits),
                _ => value,
            };
        }
        FieldKind::Float(bits) => {
            return match value {
                // The nearest number of the class.
                FieldValue::Real(Real::Double(number)) if bits.length == 32 => {
                    FieldValue::Real(Real::Single(number as f32))
                }
                _ => value,
            };
        }
        FieldKind::Blob { .. } => {
            return match value {
                FieldValue::Text(bytes) => FieldValue::Blob(bytes),
                _ => value,
            };
        }
        _ => return value,
    };
    match value {
        FieldValue::Unsigned(number) if signed => i64::try_from(number).map_or(value, FieldValue::Signed),
        FieldValue::Signed(number) if !signed => u64::try_from(number).map_or(value, FieldValue::Unsigned),
        _ => value,
    }
}
