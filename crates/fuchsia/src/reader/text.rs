//! Messages that have to be rendered.

use std::fmt;

use ichnos_model::Event;

use super::any;
use crate::log::Record;

/// Writes the message of a record of printf.
pub(super) fn write_message(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    match Record::read(event.scopes.bits.data, 0) {
        Ok((record, _)) => write!(out, "{}", record.text().without_pairs()),
        Err(_) => Ok(()),
    }
}

/// Writes the message of a record of any class, with all pairs.
pub(super) fn write_all(event: &Event<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    match any::record(event.scopes.bits.data) {
        Some(record) => write!(out, "{}", record.text()),
        None => Ok(()),
    }
}
