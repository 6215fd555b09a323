//! New messages of a look at growing files.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_flow::Merge;
use ichnos_model::class::{DynamicClass, FieldKind};
use ichnos_model::cursor::{Head, MessageKind, StreamCursor as _};
use ichnos_model::event::{Event, EventBuilder, EventValues, Scopes};
use ichnos_model::field::FieldRef;
use ichnos_model::meaning::{Meaning, MemberIndex};
use ichnos_model::message::Message;
use ichnos_model::{Cursor as _, DataStream};

use crate::Session;

/// New messages, merged by time.
///
/// Each session has traces of its own. Sinks keep data by trace and class, so events are delivered as events of the data
/// streams that were opened first, as long as their classes are the same.
pub(super) struct Delivery {
    /// Ends and starts of data streams before all other messages.
    changes: Vec<StreamChange>,
    /// Number of these messages that were reached.
    reached: usize,
    merge: Merge,
    /// Delivered data streams, by key of the data stream in the session.
    homes: HashMap<u32, HomeStream>,
    first: Option<Arc<DataStream>>,
    /// Class of the current event, if it is dynamic.
    class: Option<Arc<DynamicClass>>,
    /// Values of the current event if its call stacks have other numbers in the delivered data stream.
    values: Option<EventValues>,
    /// `true` if no further messages follow.
    pub(super) is_last: bool,
    _session: Session,
}

/// Start or end of a delivered data stream.
pub(super) enum StreamChange {
    Begin(Arc<DataStream>),
    End(Arc<DataStream>),
}

/// Data stream to which events are delivered.
pub(super) struct HomeStream {
    stream: Arc<DataStream>,
    /// Data stream in the session.
    source: Arc<DataStream>,
    /// Dynamic classes by index in the session.
    classes: Vec<Option<Arc<DynamicClass>>>,
    /// Call stack numbers by number in the session.
    stacks: HashMap<u32, Option<u32>>,
}

impl HomeStream {
    pub(super) fn new(stream: Arc<DataStream>, source: Arc<DataStream>) -> Self {
        Self { stream, source, classes: Vec::new(), stacks: HashMap::new() }
    }

    /// Returns `true` if events are delivered as they are.
    fn is_source(&self) -> bool {
        Arc::ptr_eq(&self.stream, &self.source)
    }

    /// Returns the dynamic class of an event in the trace of the delivered data stream. `None` if it has the same.
    fn class_of(&mut self, index: usize) -> Option<Arc<DynamicClass>> {
        if Arc::ptr_eq(&self.stream.trace, &self.source.trace) {
            return None;
        }
        let index = index.checked_sub(self.source.class().event_records.len())?;
        if let Some(Some(known)) = self.classes.get(index) {
            return Some(Arc::clone(known));
        }
        let of = |stream: &'_ DataStream| stream.class_index;
        let from = self.source.trace.dynamic_classes(of(&self.source))?;
        let to = self.stream.trace.dynamic_classes(of(&self.stream))?;
        let class = to.adopt(from, index).ok()??;
        if self.classes.len() <= index {
            self.classes.resize(index + 1, None);
        }
        self.classes[index] = Some(Arc::clone(&class));
        Some(class)
    }
}

impl HomeStream {
    /// Returns the values of an event with the call stack numbers of the delivered data stream. `None` if it has none, or
    /// if it cannot be decoded.
    fn with_stacks(&mut self, event: &Event<'_>, class: Option<&Arc<DynamicClass>>) -> Option<EventValues> {
        let members: Vec<MemberIndex> = event.class.meanings.members(Meaning::Stack).collect();
        if members.is_empty() || Arc::ptr_eq(&self.stream.trace, &self.source.trace) {
            return None;
        }
        let stream = Arc::clone(&self.stream);
        let mut builder = match class {
            Some(class) => EventBuilder::dynamic(stream, Arc::clone(class))?,
            None => EventBuilder::new(stream, event.class_index()?)?,
        };
        builder.copy_from(event).ok()?;
        for member in members {
            let number = FieldRef::for_member(event, member).and_then(|field| event.get(&field)?.as_u64());
            let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else { continue };
            let number = self.stack(number);
            let class = builder.class_of(member).map(|class| &class.kind);
            let is_optional = matches!(class, Some(FieldKind::Optional { .. }));
            builder.put_with(member, |values| {
                if is_optional {
                    values.push_optional(number.is_some());
                }
                if number.is_some() || !is_optional {
                    values.push(u64::from(number.unwrap_or(u32::MAX)));
                }
            });
        }
        let mut values = EventValues::default();
        values.copy_from(&builder.event().ok()?).ok()?;
        Some(values)
    }

    /// Returns the number of a call stack in the trace of the delivered data stream. `None` if it is unknown, or if there
    /// are too many.
    fn stack(&mut self, number: u32) -> Option<u32> {
        let Self { stream, source, stacks, .. } = self;
        *stacks.entry(number).or_insert_with(|| {
            let frames = source.stacks().table.frames(number);
            stream.stacks().table.intern(frames.into_iter().rev())
        })
    }
}

impl StreamChange {
    fn head(&self) -> Head {
        let kind = match self {
            Self::Begin(_) => MessageKind::StreamBegin,
            Self::End(_) => MessageKind::StreamEnd,
        };
        Head::new(kind, None)
    }

    fn message(&self) -> Message<'_> {
        match self {
            Self::Begin(stream) => Message::StreamBegin(stream),
            Self::End(stream) => Message::StreamEnd(stream),
        }
    }
}

impl Delivery {
    pub(super) fn new(
        changes: Vec<StreamChange>,
        merge: Merge,
        homes: impl IntoIterator<Item = HomeStream>,
        is_last: bool,
        session: Session,
    ) -> Self {
        let homes: Vec<_> = homes.into_iter().collect();
        let first = homes.first().map(|home| Arc::clone(&home.stream));
        let homes = homes.into_iter().map(|home| (home.source.key, home)).collect();
        Self {
            changes,
            reached: 0,
            merge,
            homes,
            first,
            class: None,
            values: None,
            is_last,
            _session: session,
        }
    }

    /// Returns the first delivered data stream.
    pub(super) fn first_stream(&self) -> Option<Arc<DataStream>> {
        self.first.clone()
    }

    /// Moves to the next message.
    pub(super) fn next_head(&mut self) -> Option<Head> {
        if let Some(change) = self.changes.get(self.reached) {
            self.reached += 1;
            return Some(change.head());
        }
        self.changes.clear();
        let head = self.merge.next_head()?;
        (self.class, self.values) = (None, None);
        if let Some(Message::Event(event)) = self.merge.current()
            && let Some(home) = self.homes.get_mut(&event.stream.key)
            && !home.is_source()
            && let Some(index) = event.class_index()
        {
            self.class = home.class_of(index);
            self.values = home.with_stacks(&event, self.class.as_ref());
        }
        Some(head)
    }

    /// Returns the current message.
    pub(super) fn current(&self) -> Option<Message<'_>> {
        if let Some(change) = self.reached.checked_sub(1).and_then(|reached| self.changes.get(reached)) {
            return Some(change.message());
        }
        let mut message = self.merge.current()?;
        let Some(home) = message.stream().and_then(|stream| self.homes.get(&stream.key)) else {
            return Some(message);
        };
        match &mut message {
            Message::Event(event) => *event = self.at_home(event, home),
            Message::PacketBegin(packet) | Message::PacketEnd(packet) => packet.stream = &home.stream,
            Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => loss.stream = &home.stream,
            Message::StreamBegin(stream) | Message::StreamEnd(stream) => *stream = &home.stream,
            _ => {}
        }
        Some(message)
    }

    /// Returns an event as an event of the delivered data stream.
    fn at_home<'d>(&'d self, event: &Event<'d>, home: &'d HomeStream) -> Event<'d> {
        if home.is_source() {
            return *event;
        }
        let declared = || home.stream.plans().event_records.get(event.class_index()?);
        let plans = self.class.as_ref().map(|class| &class.plans).or_else(declared);
        let scopes = self.values.as_ref().map_or(event.scopes, Scopes::from_values);
        let moved = Event::new(&home.stream, plans.unwrap_or(event.plans()), event.clock, scopes);
        moved.with_other_clocks(event.other_clocks)
    }
}
