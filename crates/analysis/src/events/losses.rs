//! Losses when viewer files are written.

use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::message::Discarded;
use ichnos_model::{Event, Message};

use super::class::{EventForm, ViewerClass};
use ichnos_export::parts::has_dates;

/// Maximum number of losses without a time before the first event. They are shown at the first event's time.
const MOST_EARLY: usize = 1_000;

/// Loss: a viewer cannot show an event's size or fields.
pub const UNDECODED: &str = "event of more than 256 MiB, or with undecodable fields";
/// Loss: a viewer cannot show an event's time.
pub const NO_TIME: &str = "time before the clock's origin, or more than 63 bits of nanoseconds after it";

/// Loss: a span's end is missing, and the span around it has ended.
pub const LOST_END: &str = "nested span without an end -> ends with this span";
/// Loss: a span's end is missing, and a span with the same key starts.
pub const BEGUN_AGAIN: &str = "earlier span with the same key, without an end -> ends here";
/// Loss: a span's end is missing, and its thread has ended.
pub const EXITED: &str = "span without an end -> ends with its thread";

/// Loss: a span ends before it starts.
pub const BACKWARDS: &str = "span end before its start -> start";

/// Loss: a span's start is missing.
pub const LOST_BEGIN: &str = "end without a start -> instant event";

/// Argument name for spans without an end.
pub const END_MISSING: &str = "ichnos.end_missing";
/// Argument name for ends without a start.
pub const BEGIN_MISSING: &str = "ichnos.begin_missing";

/// Loss: a span ends after it was forgotten because too many spans were open.
pub const FORGOTTEN: &str = "end of a span that was forgotten because too many spans were open";

/// Records spans that were forgotten when another span started. Their classes are unknown.
pub fn record_lost_spans(losses: &mut LossTable, forgotten: usize) {
    if forgotten > 0 {
        losses.note_times(LossKind::Dropped, "", "", FORGOTTEN, forgotten as u64);
    }
}

/// Returns a time that a viewer file can show: at most 63 bits of nanoseconds since the clock origin.
pub fn shown_time(nanoseconds: i128) -> Option<u64> {
    u64::try_from(i64::try_from(nanoseconds).ok()?).ok()
}

/// Trace loss, shown as an instant.
#[derive(Debug)]
pub struct LossNote {
    /// Title.
    pub name: &'static str,
    /// Time in nanoseconds since the clock origin.
    pub time: Option<i128>,
    /// `true` if the time is a date.
    pub has_date: bool,
    /// Text arguments: name and text.
    pub texts: Vec<(&'static str, String)>,
    /// Number arguments: name and number.
    pub numbers: Vec<(&'static str, u64)>,
}

impl LossNote {
    /// Returns the loss in a message, if any.
    pub fn from_message(message: &Message<'_>) -> Option<Self> {
        match message {
            Message::DiscardedEvents(discarded) => Some(Self::from_discarded("discarded events", discarded)),
            Message::DiscardedPackets(discarded) => {
                Some(Self::from_discarded("discarded packets", discarded))
            }
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

    fn from_discarded(name: &'static str, discarded: &Discarded<'_>) -> Self {
        let time = discarded.begin.or(discarded.end);
        let count = discarded.count.map(|count| ("count", count));
        let thread = discarded.thread.map(|thread| ("thread", thread));
        Self {
            name,
            time: time.map(|time| time.nanoseconds),
            has_date: has_dates(discarded.stream.clock()),
            texts: vec![("stream", discarded.stream.name.to_string())],
            numbers: count.into_iter().chain(thread).collect(),
        }
    }
}

/// Losses before the first event, when no time is known yet.
#[derive(Debug, Default)]
pub struct EarlyLosses {
    /// Losses, at most 1,000.
    pub notes: Vec<LossNote>,
}

impl EarlyLosses {
    /// Returns a message's loss with its own time as `shown` by the viewer, or else `now`. If neither is known, keeps
    /// the loss for later.
    pub fn due(
        &mut self,
        message: &Message<'_>,
        now: Option<u64>,
        shown: fn(i128) -> Option<u64>,
        losses: &mut LossTable,
    ) -> Option<(LossNote, u64)> {
        let note = LossNote::from_message(message)?;
        match note.time.and_then(shown).or(now) {
            Some(time) => Some((note, time)),
            None => {
                self.add(note, losses);
                None
            }
        }
    }

    /// Adds a loss. Beyond the maximum, it is recorded in the loss table only.
    fn add(&mut self, note: LossNote, losses: &mut LossTable) {
        if self.notes.len() < MOST_EARLY {
            return self.notes.push(note);
        }
        let what = "losses and damage before the first event, beyond the first 1,000";
        losses.note(LossKind::Dropped, "", "", what);
    }
}

/// Records a lost event.
pub fn record_lost_event(losses: &mut LossTable, event: &Event<'_>, what: &str) {
    let (kind, class) = (LossKind::Dropped, event.name().to_owned());
    losses.note(kind, class, "", what);
}

/// Records a loss for all events of a class.
pub fn record_loss(losses: &mut LossTable, event: &Event<'_>, kind: LossKind, field: &str, what: &str) {
    losses.note(kind, event.name(), field, what);
}

/// Records the losses that a class has in every viewer.
pub fn record_class_losses(losses: &mut LossTable, event: &Event<'_>, class: &ViewerClass) {
    record_loss(losses, event, LossKind::Lowered, "", "fields -> arguments");
    if class.form == EventForm::Counter {
        record_loss(losses, event, LossKind::Dropped, "", "counter fields other than the values");
    }
}
