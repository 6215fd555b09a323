//! Cache of encoded common contexts.

use ichnos_model::lower::LoweredTrace;
use ichnos_model::{Event, EventValues, Scope};

use super::bit_writer::BitWriter;

/// Maximum number of contexts in the cache: a power of two.
const MOST: usize = 1 << 10;

/// Value of `found` at which searching is no longer worthwhile.
const FEWEST: i32 = -10_000;

/// Value of `found` from which on contexts are kept.
const SOME: i32 = -64;

/// Common contexts of earlier events, if they are values: many events have the same.
#[derive(Debug, Default)]
pub(super) struct ContextCache {
    /// `None` until known.
    is_usable: Option<bool>,
    /// Contexts by digest of their values; empty until one is kept.
    kept: Vec<Context>,
    /// Number of contexts that were found minus the number of those that were not.
    found: i32,
}

#[derive(Clone, Debug, Default)]
struct Context {
    values: EventValues,
    /// Encoded context; empty if there is none.
    bytes: Vec<u8>,
}

/// Scopes whose values determine a common context.
const SCOPES: [Scope; 2] = [Scope::CommonContext, Scope::Resource];

fn place_of(values: &EventValues) -> usize {
    let [context, resource] = SCOPES.map(|scope| values.digest(scope));
    (context ^ resource.rotate_left(16)) as usize % MOST
}

impl ContextCache {
    /// Returns the values of the common context of an event, if it can be cached.
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
        let is_of_values = values.has(Scope::CommonContext) || event.plan(Scope::CommonContext).is_none();
        (is_usable && is_of_values && out.at() % 8 == 0 && self.found > FEWEST).then_some(values)
    }

    /// Writes the common context of an event, if it is cached.
    #[inline]
    pub(super) fn put(&mut self, out: &mut BitWriter, event: &Event<'_>, lowered: &LoweredTrace) -> bool {
        let Some(values) = self.values(out, event, lowered) else { return false };
        let kept = self.kept.get(place_of(values)).filter(|kept| {
            !kept.bytes.is_empty() && SCOPES.iter().all(|scope| kept.values.is_same(*scope, values))
        });
        let Some(kept) = kept else {
            self.found -= 1;
            return false;
        };
        self.found = self.found.saturating_add(1);
        out.bytes(&kept.bytes);
        true
    }

    /// Caches the common context of an event, which was written from bit `begin` on.
    pub(super) fn keep(&mut self, out: &BitWriter, begin: u64, event: &Event<'_>, lowered: &LoweredTrace) {
        let Some(values) = self.values(out, event, lowered) else { return };
        let bytes = usize::try_from(begin / 8).ok().and_then(|begin| out.packet().get(begin..));
        let Some(bytes) = bytes.filter(|_| begin % 8 == 0) else { return };
        if self.kept.is_empty() {
            // With very many data streams of few events each, caching would cost more than it saves.
            if self.found > SOME {
                return;
            }
            self.kept.resize(MOST, Context::default());
        }
        let kept = &mut self.kept[place_of(values)];
        kept.values.clear();
        kept.bytes.clear();
        if SCOPES.iter().all(|scope| kept.values.copy_numbers(*scope, values)) {
            kept.bytes.extend_from_slice(bytes);
        }
    }
}
