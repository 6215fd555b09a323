//! Traces for viewers: [`Perfetto`] and [`Chrome`].
//!
//! What an event is to a viewer follows from the [role](ichnos_model::EventRole) of its class and the
//! [meanings](ichnos_model::Meaning) of its members alone, whatever its format:
//!
//! | event | becomes |
//! |---|---|
//! | begin, end without a key | begin and end of a slice of its thread |
//! | begin, end with a key | begin and end of a slice of a track of its own |
//! | counter | a value of a counter for each of its values |
//! | sample with a call stack | a sample |
//! | other events | an instant of the thread |
//! | operation with causes | ends of flows |
//! | discarded events and packets, damage | an instant of the track *losses and damage* |
//!
//! An event without a thread is on the track of its processor, or of its data stream.

mod arguments;
mod chrome;
mod class;
mod flows;
mod names;
mod perfetto;
mod protobuf;
mod tracks;

pub use chrome::Chrome;
pub use perfetto::Perfetto;

use ichnos_model::Event;
use ichnos_model::lower::{LossEntry, LossKind, LossTable};

use class::{EventForm, ViewerClass};

/// Reasons why a viewer cannot show an event.
const UNDECODED: &str = "event of more than 256 MiB, or with fields that cannot be decoded";
const NO_TIME: &str = "time before the origin of the clock, or more than 63 bits of nanoseconds after it";

/// Returns a time that a viewer can show, `Some(None)` for an event without one.
fn shown_time(nanoseconds: Option<i128>) -> Option<Option<u64>> {
    match nanoseconds {
        Some(time) => Some(Some(u64::try_from(i64::try_from(time).ok()?).ok()?)),
        None => Some(None),
    }
}

/// Adds an event that is lost.
fn lose_event(losses: &mut LossTable, event: &Event<'_>, what: &str) {
    let (kind, class) = (LossKind::Dropped, event.name().to_owned());
    losses.add(LossEntry { kind, class, field: String::new(), what: what.to_owned() }, 1);
}

/// Adds a loss of all events of a class.
fn lose_part(losses: &mut LossTable, event: &Event<'_>, kind: LossKind, field: &str, what: &str) {
    let (class, field) = (event.name().to_owned(), field.to_owned());
    losses.add(LossEntry { kind, class, field, what: what.to_owned() }, 1);
}

/// Adds the losses of a class in any viewer.
fn lose_parts(losses: &mut LossTable, event: &Event<'_>, class: &ViewerClass) {
    lose_part(losses, event, LossKind::Lowered, "", "fields -> arguments");
    if class.form == EventForm::Counter {
        lose_part(losses, event, LossKind::Dropped, "", "fields of a counter besides its values");
    }
}
