//! Cache for encoded common contexts.

use ichnos_model::event::{EventValues, ValueCache};
use ichnos_model::lower::LoweredTrace;
use ichnos_model::{Event, Scope};

use super::bit_writer::BitWriter;

/// Maximum number of cached contexts.
const MOST: usize = 1 << 10;

/// Earlier events' common contexts, if they are values, because many events have the same context.
#[derive(Debug)]
pub(super) struct ContextCache {
    /// `None`: unknown.
    is_usable: Option<bool>,
    encoded: ValueCache,
}

impl Default for ContextCache {
    fn default() -> Self {
        // A common context is created from both.
        Self { is_usable: None, encoded: ValueCache::new(&[Scope::CommonContext, Scope::Resource], MOST) }
    }
}

impl ContextCache {
    /// Returns the values in an event's common context, if it can be cached.
    #[inline]
    fn values<'e>(
        &mut self,
        out: &BitWriter,
        event: &'e Event<'_>,
        lowered: &LoweredTrace,
    ) -> Option<&'e EventValues> {
        let is_usable = *self.is_usable.get_or_insert_with(|| {
            let streams = &lowered.trace().plans.data_streams;
            let plan = streams.get(event.stream.class_index).and_then(|plans| plans.common_context.as_ref());
            // It then has the same bits at each byte.
            plan.is_some_and(|plan| plan.nodes().all(|node| node.alignment() <= 8))
        });
        let values = event.scopes.values?;
        let is_by_values = values.has(Scope::CommonContext) || event.plan(Scope::CommonContext).is_none();
        (is_usable && is_by_values && out.at() % 8 == 0 && self.encoded.is_useful()).then_some(values)
    }

    /// Writes an event's common context, if it is cached.
    #[inline]
    pub(super) fn put(&mut self, out: &mut BitWriter, event: &Event<'_>, lowered: &LoweredTrace) -> bool {
        let Some(values) = self.values(out, event, lowered) else { return false };
        let bytes = self.encoded.get(values);
        bytes.is_some_and(|bytes| {
            out.bytes(bytes);
            true
        })
    }

    /// Caches an event's common context, which was written from bit `begin` on.
    pub(super) fn keep(&mut self, out: &BitWriter, begin: u64, event: &Event<'_>, lowered: &LoweredTrace) {
        let Some(values) = self.values(out, event, lowered) else { return };
        let bytes = usize::try_from(begin / 8).ok().and_then(|begin| out.packet().get(begin..));
        if let Some(bytes) = bytes.filter(|_| begin % 8 == 0) {
            self.encoded.keep(values, bytes);
        }
    }
}
