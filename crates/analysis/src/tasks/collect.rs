//! Collects tasks and operations.

use std::hash::BuildHasher as _;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use ichnos_model::event::StreamTable;
use ichnos_model::key_hash::KeyState;
use ichnos_model::meaning::{EventRole, FindMentions};
use ichnos_model::{DataStream, Event, Message, Sink};
use std::collections::HashMap;

use super::fields::{EventContent, TaskFields};
use super::operations::{
    CollectedTasks, EventOrigin, IdScope, MOST, NO_TIME, NONE, Naming, OpenEdge, Operation, OperationEdge,
    TaskEvent, TaskLink,
};
use super::{Tasks, join};
use crate::events::{EventId, TimelinePlace};
use ichnos_export::parts::has_dates;

/// Options for [`TaskCollector`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskOptions {
    /// Functions that find operations in texts. Events in other formats join the tasks that they name.
    pub find_mentions: Vec<FindMentions>,
    /// Keep the events that are shown next to operations, not only their number.
    pub with_events: bool,
    /// Correct machine clocks if an effect seems to come before its cause.
    pub correct_clocks: bool,
    /// Maximum number of operations, of edges and of kept events. `None` for the maximum that ichnos supports. Events
    /// that need more operations or edges are [left out](Tasks::left_out). Further events of an operation are only
    /// counted.
    pub most: Option<usize>,
}

/// Collector of tasks in events of any format. Class members must mean a task, an operation or causes, or the event
/// text must name an operation.
pub struct TaskCollector {
    options: TaskOptions,
    /// Trace index by data stream.
    streams: StreamTable<u32, (), Option<TaskClassState>>,
    /// Trace addresses by index. The stream table keeps the traces alive.
    traces: Vec<usize>,
    /// Tracer name numbers by trace.
    tracers: Vec<u32>,
    content: EventContent,
    text: Vec<u8>,
    /// Identifier and track of the current event, if known.
    event_id: Option<(EventId, u32)>,
    last_group: (Option<IdScope>, u32),
    by_place: HashMap<EventOrigin, u32, KeyState>,
    /// Hasher for copied events, with constant keys so that every run gives the same result.
    hasher: KeyState,
    all: CollectedTasks,
}

/// Event record class state.
#[derive(Debug)]
struct TaskClassState {
    fields: TaskFields,
    name: u32,
    role: EventRole,
}

impl std::fmt::Debug for TaskCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskCollector").field("options", &self.options).finish_non_exhaustive()
    }
}

impl TaskCollector {
    /// Collects all tasks.
    #[must_use]
    pub fn new(options: TaskOptions) -> Self {
        Self {
            options,
            streams: StreamTable::default(),
            traces: Vec::new(),
            tracers: Vec::new(),
            content: EventContent::default(),
            text: Vec::new(),
            event_id: None,
            last_group: (None, 0),
            by_place: HashMap::default(),
            hasher: KeyState::constant(),
            all: CollectedTasks::default(),
        }
    }

    /// Returns the collected tasks.
    #[must_use]
    pub fn finish(mut self) -> Tasks {
        join::join(&mut self.all);
        Tasks::new(self.all, self.options.correct_clocks)
    }

    /// Takes an event with its identifier and track. They are kept for the [operation](super::TaskMember::event) or
    /// [joined event](super::JoinedEvent::event), unless there are too many.
    pub fn event_at(&mut self, event: &Event<'_>, place: &TimelinePlace) {
        self.event_id = Some((place.event(), place.track));
        self.event(event);
        self.event_id = None;
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let Self { streams, options, content, all, .. } = self;
        let Some((trace, _, classes)) = streams.get_mut(event.stream) else { return };
        let finders = &options.find_mentions;
        let class = classes.for_event(event, || {
            let fields = TaskFields::from_event(event, !finders.is_empty());
            (!fields.is_empty()).then(|| TaskClassState {
                name: all.names.number(event.name().as_bytes()),
                fields,
                role: event.class.role,
            })
        });
        let Some(class) = class else { return };
        class.fields.read(event, finders, content);
        all.too_long += u64::from(content.too_long);
        if content.operation.is_none() && content.mentions.is_empty() {
            return;
        }
        let (trace, name, role) = (*trace, class.name, class.role);
        let time = event.nanoseconds().map_or(NO_TIME, |time| {
            i64::try_from(time).unwrap_or(if time < 0 { NO_TIME + 1 } else { i64::MAX })
        });
        let most = self.most();
        let all = &mut self.all;
        let numbers = [all.operations.len(), all.edges.len(), all.open_edges.len(), all.mentioned.len()];
        if numbers.into_iter().any(|number| number >= most) {
            all.left_out += 1;
            return;
        }
        self.take(trace, time, name, role);
    }

    /// Returns the maximum number of operations, of edges and of further events.
    fn most(&self) -> usize {
        self.options.most.map_or(MOST, |most| most.min(MOST))
    }

    /// Returns the number for the current event identifier, or [`NONE`].
    fn number_event_id(&mut self) -> u32 {
        // One for each operation, further event and mention.
        let most = 3 * self.most();
        let ids = &mut self.all.event_ids;
        match self.event_id.filter(|_| ids.len() < most) {
            Some(id) => {
                ids.push(id);
                ids.len() as u32 - 1
            }
            None => NONE,
        }
    }

    /// Adds an event's content.
    fn take(&mut self, trace: u32, time: i64, name: u32, role: EventRole) {
        let content = std::mem::take(&mut self.content);
        let place = self.place(&content, trace);
        let label = if content.message.is_empty() { name } else { self.all.names.number(&content.message) };
        let event_id = self.number_event_id();
        if let Some(id) = content.operation {
            let group = self.group(content.task.map_or(IdScope::Trace(trace), IdScope::Task));
            let mut fingerprint = self.hasher.hash_one((time, label, place)) as u32;
            for (cause, chain, kind) in content.causes() {
                fingerprint = fingerprint.rotate_left(5) ^ self.hasher.hash_one((cause, chain, kind)) as u32;
            }
            let chain = content.chain;
            let found = Operation {
                id,
                chain,
                events: 1,
                group,
                begin: time,
                end: time,
                naming: Naming::new(role == EventRole::Begin, content.causes().next().is_some()),
                named_at: time,
                label,
                place,
                event_id,
                fingerprint,
            };
            self.operation(found, if role == EventRole::End { name } else { label }, &content);
        } else {
            let event =
                TaskEvent { operation: NONE, group: NONE, time, label, place, event_id, is_mention: true };
            self.all.mentioned.extend(content.mentions.iter().map(|mention| (*mention, event)));
        }
        self.content = content;
    }

    /// Adds an event to an operation. `label` is used if this event names the operation.
    fn operation(&mut self, found: Operation, label: u32, content: &EventContent) {
        let Operation { chain, begin: time, place, event_id, group, .. } = found;
        let all = &mut self.all;
        let number = match all.find(group, chain, found.id) {
            None => all.add(found),
            Some(number) => {
                let Some(known) = all.operations.get_mut(number as usize) else { return };
                // Without a time, two events with the same content are two events.
                if known.fingerprint == found.fingerprint && time != NO_TIME {
                    all.copies.push(number);
                    return;
                }
                let before = *known;
                let is_named = known.merge(&found);
                if self.options.with_events && self.options.most.is_none_or(|most| all.events.len() < most) {
                    // The naming event becomes the operation. Others are shown next to it.
                    let (time, label, place, event_id) = match is_named {
                        true => (before.named_at, before.label, before.place, before.event_id),
                        false => (time, label, place, event_id),
                    };
                    let operation = number;
                    let is_mention = false;
                    all.events.push(TaskEvent { operation, group, time, label, place, event_id, is_mention });
                }
                number
            }
        };
        all.marked_roots.extend(content.is_marked_root.then_some(number));
        if !content.title.is_empty() {
            all.titles.push((number, all.names.number(&content.title)));
        }
        for (cause, chain, kind) in content.causes() {
            let to = number;
            match all.find(group, chain, cause) {
                // An operation that causes itself is ignored.
                Some(from) if from == to => {}
                Some(from) => all.edges.push(OperationEdge { from, to, kind }),
                None => {
                    all.open_edges.push(OpenEdge { from: cause, chain, to, kind, is_of_other_task: false })
                }
            }
        }
        if matches!(all.groups.get(group as usize), Some(IdScope::Trace(_))) {
            let links =
                content.mentions.iter().map(|mention| TaskLink { operation: number, mention: *mention });
            all.links.extend(links);
        }
    }

    fn group(&mut self, group: IdScope) -> u32 {
        if let (Some(last), number) = self.last_group
            && last == group
        {
            return number;
        }
        let number = self.all.group(group);
        self.last_group = (Some(group), number);
        number
    }

    fn place(&mut self, content: &EventContent, trace: u32) -> u32 {
        self.text.clear();
        content.push_place(&mut self.text);
        let CollectedTasks { names, places, .. } = &mut self.all;
        let tracer = self.tracers.get(trace as usize).copied().unwrap_or(NONE);
        let place =
            EventOrigin { machine: names.number(content.machine()), text: names.number(&self.text), tracer };
        *self.by_place.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as u32 - 1
        })
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let address = Arc::as_ptr(&stream.trace).addr();
        let known = self.traces.iter().position(|trace| *trace == address);
        let trace = known.unwrap_or_else(|| {
            self.traces.push(address);
            let tracer = stream.trace.class.tracer().as_bytes();
            self.tracers.push(self.all.names.number(tracer));
            self.traces.len() - 1
        });
        self.all.has_dates |= has_dates(stream.clock());
        self.streams.insert(stream, trace as u32, || ());
    }
}

impl Sink for TaskCollector {
    #[inline]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if let Message::Event(event) = message {
            self.event(event);
        }
        Ok(ControlFlow::Continue(()))
    }
}
