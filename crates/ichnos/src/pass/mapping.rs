//! Changes the events and losses of a pass.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::event::{BuildError, EventBuilder};
use ichnos_model::message::Discarded;
use ichnos_model::{Event, Message};

type MapFn = dyn Fn(&Event<'_>, &mut EventBuilder) -> Result<(), BuildError> + Send + Sync;

/// Function that changes events: see [`Pass::map`](crate::Pass::map).
#[derive(Clone)]
pub(super) struct EventMapping(Arc<MapFn>);

impl std::fmt::Debug for EventMapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventMapping")
    }
}

impl EventMapping {
    pub(super) fn new(
        map: impl Fn(&Event<'_>, &mut EventBuilder) -> Result<(), BuildError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(map))
    }

    /// Returns the mapping state of a thread.
    pub(super) fn mapper(&self) -> EventMapper {
        EventMapper { mapping: self.clone(), builders: HashMap::new() }
    }
}

type MapLossFn = dyn Fn(&mut Discarded<'_>) -> bool + Send + Sync;

/// Function that changes losses: see [`Pass::map_losses`](crate::Pass::map_losses).
#[derive(Clone)]
pub(super) struct LossMapping(Arc<MapLossFn>);

impl std::fmt::Debug for LossMapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LossMapping")
    }
}

impl LossMapping {
    pub(super) fn new(map: impl Fn(&mut Discarded<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(map))
    }

    /// Changes the loss in a message. Returns `false` if the message is dropped.
    pub(super) fn map(&self, message: &mut Message<'_>) -> bool {
        match message {
            Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => (self.0)(loss),
            _ => true,
        }
    }
}

/// Mapping state of one thread.
pub(super) struct EventMapper {
    mapping: EventMapping,
    /// Builders by the address of the trace, which the builder keeps alive, and the indexes of the data stream class
    /// and the event class.
    builders: HashMap<(usize, usize, Option<usize>), EventBuilder>,
}

impl EventMapper {
    /// Passes the changed event to `take`.
    pub(super) fn map(
        &mut self,
        event: &Event<'_>,
        take: &mut dyn FnMut(&Event<'_>) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<ControlFlow<()>> {
        let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
        let trace = Arc::as_ptr(&event.stream.trace).addr();
        let key = (trace, event.stream.class_index, event.class_index());
        let builder = match self.builders.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(EventBuilder::like(event).ok_or_else(|| invalid("unknown class".to_owned()))?)
            }
        };
        builder.copy_from(event).map_err(|error| invalid(error.to_string()))?;
        (self.mapping.0)(event, builder).map_err(|error| invalid(error.to_string()))?;
        let built = builder.event().map_err(|error| invalid(error.to_string()))?;
        let mut changed = *event;
        (changed.scopes, changed.clock) = (built.scopes, built.clock);
        take(&changed)
    }
}
