//! Writes events of one class from values.

use ichnos_model::{
    BuildError, EventBuilder, EventValues, FieldClass, FieldKind, FieldValue, Real, VariableLengthValue,
};

use super::{StreamWriter, WriteError, lock};

/// Writes events of one class to a data stream.
///
/// Each event is made of the values that were set since the last one was written; all members need one.
#[derive(Debug)]
pub struct EventWriter {
    stream: StreamWriter,
    builder: EventBuilder,
}

impl EventWriter {
    pub(super) fn new(stream: StreamWriter, builder: EventBuilder) -> Self {
        Self { stream, builder }
    }

    /// Sets the value of a member, by its name; `ctx.NAME` is a member of a context if the payload has one of that
    /// name, too. An integer can be given with or without a sign, and a member that is optional is there unless it is
    /// set to [`FieldValue::Null`]. Whether the value fits is found out by [`Self::write`].
    ///
    /// # Errors
    /// If there is no such member.
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

    /// Sets the value of a member that has others in it - a structure, an array, a variant - to what `write` appends.
    ///
    /// # Errors
    /// If there is no such member.
    pub fn set_with(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut EventValues),
    ) -> Result<&mut Self, WriteError> {
        let member = self.builder.member(name).ok_or_else(|| BuildError::NoMember(name.to_owned()))?;
        self.builder.put_with(member, write);
        Ok(self)
    }

    /// Writes an event of the values that were set, with its time in cycles of the data stream's clock; None if that
    /// has none. The values are gone then, also if the event is refused.
    ///
    /// # Errors
    /// If a member has no value, or one that does not fit; if the time does not fit, or is before that of the last
    /// event of the data stream: then nothing is written. If a packet cannot be written.
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

    /// The data stream.
    #[must_use]
    pub fn stream(&self) -> &StreamWriter {
        &self.stream
    }
}

/// A number as its class has it, where it is the same number.
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
                // The nearest number that the class has.
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
