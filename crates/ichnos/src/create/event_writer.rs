//! Writes the events of one class from values.

use ichnos_model::event::{BuildError, EventBuilder, EventValues};
use ichnos_model::field::FieldValue;
use ichnos_model::locks::IgnorePoison as _;

use super::{StreamWriter, WriteError};

/// Writer for the events of one class in a data stream.
///
/// Each event consists of the values set since the previous event. All members need a value.
#[derive(Debug)]
pub struct EventWriter {
    stream: StreamWriter,
    builder: EventBuilder,
}

impl EventWriter {
    pub(super) fn new(stream: StreamWriter, builder: EventBuilder) -> Self {
        Self { stream, builder }
    }

    /// Sets the value of a member by its name. `ctx.NAME` is a context member if the payload also has a member with
    /// that name. Integers can be signed or unsigned. An optional member is present unless it is set to
    /// [`FieldValue::Null`]. [`Self::write`] checks that the value fits.
    ///
    /// # Errors
    /// If the member does not exist.
    pub fn set<'v>(&mut self, name: &str, value: impl Into<FieldValue<'v>>) -> Result<&mut Self, WriteError> {
        self.builder.set(name, value)?;
        Ok(self)
    }

    /// Sets the value of a compound member (a structure, array or variant) to the output of `write`.
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

    /// Writes an event with the given values. `time` is in cycles of the data stream's clock, or `None` without a
    /// clock. The values are then cleared, even if the event is refused.
    ///
    /// # Errors
    /// If a member lacks a value or its value does not fit, or if the time does not fit or is before the last event
    /// of the data stream. Then nothing is written. Also if a packet cannot be written.
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
        let mut state = self.stream.state.lock().ignore_poison();
        self.stream.write(&mut state, event)
    }

    /// Returns the data stream.
    #[must_use]
    pub fn stream(&self) -> &StreamWriter {
        &self.stream
    }
}
