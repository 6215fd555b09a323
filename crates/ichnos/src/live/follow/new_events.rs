//! Search for events that were not delivered yet.

use ichnos_model::cursor::MessageKind;
use ichnos_model::{Cursor as _, OpenedTrace};

use super::follow_cursor::FollowCursor;
use super::known_stream::StreamPosition;

/// Number of events between two places.
const STRIDE: u64 = 4096;

/// Result of a search for new events.
pub(super) struct NewEvents {
    /// Number of events to deliver.
    pub(super) count: u64,
    /// `true` if events are held back behind new damage.
    pub(super) has_more: bool,
    /// Position after the events to deliver.
    pub(super) after: StreamPosition,
}

impl NewEvents {
    /// Finds the events after a position. Damage can come from data that is not complete yet, so events after it are new
    /// only if the previous look had seen it.
    pub(super) fn find(trace: &dyn OpenedTrace, stream: usize, position: &StreamPosition) -> Self {
        let mut after = StreamPosition { seen_damage: 0, ..position.clone() };
        let (mut found, mut limit) = (0u64, None);
        let Some(mut cursor) = FollowCursor::new(trace, stream, position, None) else {
            return Self { count: 0, has_more: false, after };
        };
        // `true` if the current message is directly after an event to deliver.
        let mut is_behind_event = false;
        while cursor.advance() {
            let Some(head) = cursor.head() else { break };
            let was_behind_event = std::mem::take(&mut is_behind_event);
            match head.kind {
                MessageKind::Event => {
                    found += 1;
                    if limit.is_none() {
                        is_behind_event = true;
                        after.add(head.nanoseconds());
                        if after.events % STRIDE == 0 {
                            after.keep(cursor.place());
                        }
                    }
                }
                // Further data will come after it.
                MessageKind::StreamEnd if was_behind_event => after.keep(cursor.place()),
                MessageKind::Damage => {
                    after.seen_damage = position.events.saturating_add(found).saturating_add(1);
                    if after.seen_damage > position.seen_damage {
                        limit = limit.or(Some(found));
                    }
                }
                _ => {}
            }
        }
        let count = limit.unwrap_or(found);
        Self { count, has_more: count < found, after }
    }
}
