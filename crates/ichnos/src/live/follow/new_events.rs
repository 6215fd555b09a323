//! Search for events that were not delivered yet.

use ichnos_model::cursor::MessageKind;
use ichnos_model::{Cursor as _, OpenedTrace};

use super::follow_cursor::FollowCursor;
use super::known_stream::StreamPosition;

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
        while cursor.advance() {
            let Some(head) = cursor.head() else { break };
            match head.kind {
                MessageKind::Event => {
                    found += 1;
                    if limit.is_none() {
                        after.add(head.nanoseconds());
                    }
                }
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
