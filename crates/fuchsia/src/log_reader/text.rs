//! Renders messages as text.

use std::fmt;

use ichnos_model::Event;

use super::any;
use crate::log::{Meaning, Message, Record, Role};

/// Writes the message of a printf record.
pub(super) fn write_message(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    match Record::read(event.scopes.bits.data, 0) {
        Ok((record, _)) => write!(out, "{}", record.text().without_pairs()),
        Err(_) => Ok(()),
    }
}

/// Writes the message and all other arguments of a record beyond the class limit, where the class lacks meanings.
pub(super) fn write_all(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    let Ok((record, behind)) = Record::read(event.scopes.bits.data, 0) else { return Ok(()) };
    let message = Message::Record { record, behind };
    write!(out, "{}", record.text().without_pairs())?;
    let mut space = if record.known().message.is_some() { " " } else { "" };
    let is_shown = |role| !matches!(role, Role::Marker | Role::Positional | Role::Known(Meaning::Message));
    let own = record.roles().filter(|(role, _)| is_shown(*role));
    let own = own.map(|(_, argument)| (argument.name.as_str(), argument.value));
    for (name, value) in own.chain(any::behind(&message)) {
        write!(out, "{space}{name}={value}")?;
        space = " ";
    }
    Ok(())
}
