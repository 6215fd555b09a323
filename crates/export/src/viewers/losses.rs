//! Losses of files for viewers.

use ichnos_model::Event;
use ichnos_model::lower::{LossEntry, LossKind, LossTable};

use super::class::{EventForm, ViewerClass};

/// Reasons why a viewer cannot show an event.
pub(super) const UNDECODED: &str = "event of more than 256 MiB, or with fields that cannot be decoded";
pub(super) const NO_TIME: &str =
    "time before the origin of the clock, or more than 63 bits of nanoseconds after it";

/// Returns a time that a viewer can show, `Some(None)` for an event without one.
pub(super) fn shown_time(nanoseconds: Option<i128>) -> Option<Option<u64>> {
    match nanoseconds {
        Some(time) => Some(Some(u64::try_from(i64::try_from(time).ok()?).ok()?)),
        None => Some(None),
    }
}

/// Adds an event that is lost.
pub(super) fn lose_event(losses: &mut LossTable, event: &Event<'_>, what: &str) {
    let (kind, class) = (LossKind::Dropped, event.name().to_owned());
    losses.add(LossEntry { kind, class, field: String::new(), what: what.to_owned() }, 1);
}

/// Adds a loss of all events of a class.
pub(super) fn lose_part(losses: &mut LossTable, event: &Event<'_>, kind: LossKind, field: &str, what: &str) {
    let (class, field) = (event.name().to_owned(), field.to_owned());
    losses.add(LossEntry { kind, class, field, what: what.to_owned() }, 1);
}

/// Adds the losses of a class in any viewer.
pub(super) fn lose_parts(losses: &mut LossTable, event: &Event<'_>, class: &ViewerClass) {
    lose_part(losses, event, LossKind::Lowered, "", "fields -> arguments");
    if class.form == EventForm::Counter {
        lose_part(losses, event, LossKind::Dropped, "", "fields of a counter besides its values");
    }
}
