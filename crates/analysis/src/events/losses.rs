//! Losses of files for viewers.

use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{Discarded, Event, Message};

use super::class::{EventForm, ViewerClass};
use ichnos_export::parts::has_dates;

/// Maximum number of losses without a time before the first event, which are shown at its time.
const MOST_EARLY: usize = 1_000;

/// Reason why a viewer cannot show an event: its size or its fields.
pub const UNDECODED: &str = "event of more than 256 MiB, or with fields that cannot be decoded";
/// Reason why a viewer cannot show an event: its time.
pub const NO_TIME: &str = "time before the clock's origin, or more than 63 bits of nanoseconds after it";

/// Loss of the end of a span within a span that ended.
pub const LOST_END: &str = "nested span without an end -> ends with this span";
/// Loss of the end of a span whose key begins again.
pub const BEGUN_AGAIN: &str = "earlier span with the same key, without an end -> ends here";
/// Loss of the end of a span whose thread ended.
pub const EXITED: &str = "span without an end -> ends with its thread";

/// Loss of an end that is earlier than its begin.
pub const BACKWARDS: &str = "span end before its begin -> begin";

/// Loss of the begin of a span, which the trace lacks.
pub const LOST_BEGIN: &str = "end without a begin -> instant event";

/// Name of the argument of spans without an end.
pub const END_MISSING: &str = "ichnos.end_missing";
/// Name of the argument of ends without a begin.
pub const BEGIN_MISSING: &str = "ichnos.begin_missing";

/// Loss of the end of a span, which is not known any more when it comes.
pub const FORGOTTEN: &str = "end of a span that began when too many spans were open";

/// Adds the losses of spans that are forgotten when another one begins. They can be of any class.
pub fn lose_spans(losses: &mut LossTable, forgotten: usize) {
    if forgotten > 0 {
        losses.note_times(LossKind::Dropped, "", "", FORGOTTEN, forgotten as u64);
    }
}

/// Returns a time that a viewer can show, `Some(None)` for an event without one.
pub fn shown_time(nanoseconds: Option<i128>) -> Option<Option<u64>> {
    match nanoseconds {
        Some(time) => Some(Some(u64::try_from(i64::try_from(time).ok()?).ok()?)),
        None => Some(None),
    }
}

/// A loss of the trace, which is shown as an instant.
#[derive(Debug)]
pub struct LossNote {
    /// Title of the note.
    pub name: &'static str,
    /// Time in nanoseconds since the origin of the clock.
    pub time: Option<u64>,
    /// `true` if the time is a date.
    pub has_date: bool,
    /// Texts with their names.
    pub texts: Vec<(&'static str, String)>,
    /// Numbers with their names.
    pub numbers: Vec<(&'static str, u64)>,
}

impl LossNote {
    /// Returns the loss that a message reports, if it reports one.
    pub fn of(message: &Message<'_>) -> Option<Self> {
        match message {
            Message::DiscardedEvents(discarded) => Some(Self::of_discarded("discarded events", discarded)),
            Message::DiscardedPackets(discarded) => Some(Self::of_discarded("discarded packets", discarded)),
            Message::Damage(damage) => Some(Self {
                name: "damage",
                time: None,
                has_date: false,
                texts: vec![("problem", damage.kind.to_string()), ("file", damage.file.clone())],
                numbers: vec![("byte", damage.bit / 8)],
            }),
            _ => None,
        }
    }

    fn of_discarded(name: &'static str, discarded: &Discarded<'_>) -> Self {
        let time = discarded.begin.or(discarded.end);
        let count = discarded.count.map(|count| ("count", count));
        let thread = discarded.thread.map(|thread| ("thread", thread));
        Self {
            name,
            time: time.and_then(|time| shown_time(Some(time.nanoseconds))?),
            has_date: has_dates(discarded.stream.clock()),
            texts: vec![("stream", discarded.stream.name.to_string())],
            numbers: count.into_iter().chain(thread).collect(),
        }
    }
}

/// Losses whose time is not known yet: before the first event.
#[derive(Debug, Default)]
pub struct EarlyLosses {
    /// Notes, at most 1,000.
    pub notes: Vec<LossNote>,
}

impl EarlyLosses {
    /// Returns the loss that a message reports, and its time or else `now`. Without a time, the loss is kept for later.
    pub fn due(
        &mut self,
        message: &Message<'_>,
        now: Option<u64>,
        losses: &mut LossTable,
    ) -> Option<(LossNote, u64)> {
        let note = LossNote::of(message)?;
        match note.time.or(now) {
            Some(time) => Some((note, time)),
            None => {
                self.add(note, losses);
                None
            }
        }
    }

    /// Keeps a loss; of very many, the rest is in the table of losses.
    fn add(&mut self, note: LossNote, losses: &mut LossTable) {
        if self.notes.len() < MOST_EARLY {
            return self.notes.push(note);
        }
        let what = "losses and damage before the first event, beyond the first 1,000";
        losses.note(LossKind::Dropped, "", "", what);
    }
}

/// Adds an event that is lost.
pub fn lose_event(losses: &mut LossTable, event: &Event<'_>, what: &str) {
    let (kind, class) = (LossKind::Dropped, event.name().to_owned());
    losses.note(kind, class, "", what);
}

/// Adds a loss of all events of a class.
pub fn lose_part(losses: &mut LossTable, event: &Event<'_>, kind: LossKind, field: &str, what: &str) {
    losses.note(kind, event.name(), field, what);
}

/// Adds the losses of a class in any viewer.
pub fn lose_parts(losses: &mut LossTable, event: &Event<'_>, class: &ViewerClass) {
    lose_part(losses, event, LossKind::Lowered, "", "fields -> arguments");
    if class.form == EventForm::Counter {
        lose_part(losses, event, LossKind::Dropped, "", "counter fields other than the values");
    }
}
