//! Event classes prepared for a viewer.

use std::borrow::Cow;
use std::sync::Arc;

use ichnos_model::class::FieldKind;
use ichnos_model::digest::ValueHash;
use ichnos_model::field::{FieldRef, FieldValue};
use ichnos_model::meaning::{EventDisplay, EventRole, EventTrack, Meaning, MemberIndex};
use ichnos_model::{Event, Scope};

use super::counter::{CounterFields, CounterValue};
use super::css_color::{Rgb, css_color};
pub use super::event_place::EventPlace;
use super::flows::FlowEnd;
use super::last_context::{LastContext, PlaceNodes, alignment};
use super::name_fields::NameFields;
use super::named_objects::{NamedObjects, ObjectFields};
use super::span_edge::SpanEdge;
use super::text_field::TextField;
use super::thread_fields::ThreadFields;
use super::tracks::name_key;
use crate::span_name::{category_and_span, has_span_name, span_name};
use crate::tasks::TaskFields;

/// Timeline element for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventForm {
    /// Instant on the event's track.
    Instant,
    /// Slice start on the event's track.
    Begin,
    /// Slice end on the event's track.
    End,
    /// Slice start with a key.
    KeyedBegin,
    /// Slice end with a key.
    KeyedEnd,
    /// Whole slice on the event's track.
    Complete,
    /// Counter values.
    Counter,
    /// Sample with a call stack.
    Sample,
    /// Thread switch on a processor.
    Switch,
    /// Wakeup: a thread can run.
    Wakeup,
    /// Instant that starts a thread, which can run.
    ThreadStart,
    /// Slice end, and start of the next slice.
    Frame,
}

impl EventForm {
    /// Returns the form for an event role. `has` returns `true` for meanings of the class's members.
    fn for_role(role: EventRole, has: impl Fn(Meaning) -> bool) -> Self {
        let has_key = has(Meaning::PairKey);
        match role {
            EventRole::Begin if has_key => Self::KeyedBegin,
            EventRole::End if has_key => Self::KeyedEnd,
            EventRole::Begin => Self::Begin,
            EventRole::End => Self::End,
            EventRole::Counter => Self::Counter,
            EventRole::Sample if has(Meaning::Stack) => Self::Sample,
            EventRole::Switch => Self::Switch,
            EventRole::Wakeup => Self::Wakeup,
            EventRole::ThreadStart => Self::ThreadStart,
            EventRole::Frame => Self::Frame,
            EventRole::Instant if has(Meaning::Duration) => Self::Complete,
            _ => Self::Instant,
        }
    }
}

/// Marks process numbers made from names, for processes without an identifier.
const NAMED_PROCESS: u64 = 1 << 63;

/// Returns `true` if the process number was made from a name.
pub fn is_named_process(process: u64) -> bool {
    process & NAMED_PROCESS != 0
}

/// Scopes with fields that viewers show.
pub const SCOPES: [Scope; 4] =
    [Scope::Payload, Scope::SpecificContext, Scope::CommonContext, Scope::Resource];

/// Event record class prepared for a viewer.
#[derive(Debug)]
pub struct ViewerClass {
    /// Form of events that have all fields. [`Self::form_of`] returns the form of a single event.
    pub form: EventForm,
    /// Category, for example the provider.
    pub category: String,
    /// Class name without the category.
    pub name: String,
    /// Name hash, and `true` if the name tells which span an end event closes.
    edge: (u64, bool),
    process: ProcessFields,
    thread: Option<FieldRef>,
    processor: Option<FieldRef>,
    /// Process name, thread name, and the text that identifies the thread, which serves as its name.
    place_names: [Option<TextField>; 3],
    keys: Vec<FieldRef>,
    counter: CounterFields,
    stack: Option<FieldRef>,
    duration: Option<FieldRef>,
    /// Fields that name single events.
    names: NameFields,
    /// Object that events name.
    pub object: Option<ObjectFields>,
    /// Fields about threads other than the event's own.
    pub threads: Option<ThreadFields>,
    /// Message end (send or receive) if a message key is present.
    message: Option<FlowEnd>,
    display: Arc<EventDisplay>,
    /// Operation and task fields, if the class has any.
    pub tasks: Option<TaskFields>,
    /// Members that viewers do not show.
    hidden: Vec<MemberIndex>,
    context: ContextUse,
}

/// Use of the common context.
#[derive(Clone, Copy, Debug, Default)]
struct ContextUse {
    /// Alignment of contexts in bytes, if they can be compared.
    alignment: Option<u64>,
    /// Place fields, if no other scope has any.
    place: Option<PlaceNodes>,
}

impl ContextUse {
    /// Finds the use of the common context in the event's class, given its place fields.
    fn from_event(
        event: &Event<'_>,
        process: &ProcessFields,
        thread: Option<&FieldRef>,
        names: &[Option<TextField>; 3],
    ) -> Self {
        let [machine, component] = process.names.each_ref().map(field_of);
        let [process_name, thread_name, _] = names.each_ref().map(field_of);
        let fields = [process.number.as_ref(), machine, component, thread, process_name, thread_name];
        let is_in_context = |field: &FieldRef| field.scope() == Scope::CommonContext;
        let is_whole = fields.into_iter().flatten().all(is_in_context);
        let nodes = fields.map(|field| field.map_or(u32::MAX, FieldRef::node));
        Self { alignment: alignment(event), place: is_whole.then_some(nodes) }
    }
}

/// Returns the thread name of a class that also has a thread number: a further text member with the same meaning.
fn named_thread(event: &Event<'_>) -> Option<TextField> {
    let mut threads = event.class.meanings.members(Meaning::Thread).skip(1);
    threads.find_map(|member| {
        let field = FieldRef::for_member(event, member)?;
        let is_text = matches!(field.class(event)?.kind, FieldKind::String { .. });
        is_text.then(|| TextField::new(event, field))
    })
}

/// Returns the text that identifies threads in the event's class. `None` for a number.
fn thread_text(event: &Event<'_>) -> Option<TextField> {
    let thread = FieldRef::for_meaning(event, Meaning::Thread)?;
    let is_number = thread.class(event).is_some_and(|class| class.integer().is_some());
    (!is_number).then(|| TextField::new(event, thread))
}

fn field_of(text: &Option<TextField>) -> Option<&FieldRef> {
    text.as_ref().map(TextField::field)
}

/// Returns a text, which is kept in `place` unless it is borrowed.
fn kept<'t>(text: Cow<'t, str>, place: &'t mut String) -> &'t str {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => {
            *place = text;
            place
        }
    }
}

/// Process fields in an event class.
#[derive(Debug)]
pub struct ProcessFields {
    number: Option<FieldRef>,
    /// Process number of the whole trace, for events without their own.
    trace_process: Option<u64>,
    /// Machine name and component name, used if no number is known.
    names: [Option<TextField>; 2],
}

impl ProcessFields {
    /// Finds the process fields in the event's class.
    pub fn from_event(event: &Event<'_>) -> Self {
        let number = FieldRef::for_meaning(event, Meaning::Process);
        let trace_process = event.stream.trace.class.environment_number("vpid");
        let is_numbered = number.is_some() || trace_process.is_some();
        let name = |meaning| if is_numbered { None } else { TextField::for_meaning(event, meaning) };
        Self { number, trace_process, names: [name(Meaning::Machine), name(Meaning::Component)] }
    }

    /// Returns an event's process number. If only names are known, the number is made from them.
    #[inline]
    pub fn number(&self, event: &Event<'_>) -> Option<u64> {
        let number = self.number.as_ref().and_then(|number| event.get(number));
        let number = number.filter(|number| !matches!(number, FieldValue::Null));
        number.map(|number| number.key()).or(self.trace_process).or_else(|| self.number_from_names(event))
    }

    fn number_from_names(&self, event: &Event<'_>) -> Option<u64> {
        let [machine, component] = &self.names;
        let component = component.as_ref()?.get(event).filter(|name| !name.is_empty())?;
        // Components without a machine name share one unnamed machine.
        let machine = machine.as_ref().and_then(|machine| machine.get(event)).unwrap_or_default();
        let mut hash = ValueHash::new(name_key(&machine));
        hash.bytes(component.as_bytes());
        Some(hash.finish() | NAMED_PROCESS)
    }
}

impl ViewerClass {
    /// Prepares the class of an event.
    pub fn from_event(event: &Event<'_>) -> Self {
        let class = event.class;
        let first = |meaning| FieldRef::for_meaning(event, meaning);
        let all = |meaning| class.meanings.members(meaning);
        let keys =
            all(Meaning::PairKey).filter_map(|key| FieldRef::for_member(event, key)).collect::<Vec<_>>();
        let counter = CounterFields::from_event(event);
        let has = |meaning| class.meanings.members(meaning).next().is_some();
        let form = match class.role {
            EventRole::Counter if counter.is_empty() => EventForm::Instant,
            role => EventForm::for_role(role, has),
        };
        let message = match class.role {
            EventRole::Send => Some(FlowEnd::Begin),
            EventRole::Receive => Some(FlowEnd::End),
            _ => None,
        };
        let message = message.filter(|_| !keys.is_empty());
        let display = class.display.clone().unwrap_or_default();
        let (category, name) = match class.role {
            EventRole::Begin | EventRole::End => category_and_span(event),
            _ => event.category_and_name(),
        };
        let name = match class.role {
            EventRole::Begin | EventRole::End => span_name(event),
            _ => display.name.as_deref().unwrap_or(name),
        };
        let tasks = has(Meaning::OperationId).then(|| TaskFields::from_event(event, false));
        let text = |meaning| TextField::for_meaning(event, meaning);
        let process_name = text(Meaning::ProcessName).or_else(|| text(Meaning::Component));
        let is_hidden = |meaning| matches!(meaning, Meaning::Stack | Meaning::Hidden);
        let hidden = class.meanings.iter().filter(|(_, meaning)| is_hidden(*meaning));
        let (process, thread) = (ProcessFields::from_event(event), first(Meaning::Thread));
        let thread_name = text(Meaning::ThreadName).or_else(|| named_thread(event));
        let place_names = [process_name, thread_name, thread_text(event)];
        Self {
            context: ContextUse::from_event(event, &process, thread.as_ref(), &place_names),
            form,
            category: display.category.as_deref().unwrap_or(category).to_owned(),
            name: name.to_owned(),
            edge: (name_key(name), has_span_name(event)),
            process,
            thread,
            processor: FieldRef::for_processor(event),
            place_names,
            keys,
            counter,
            stack: first(Meaning::Stack),
            duration: first(Meaning::Duration),
            names: NameFields::from_event(event),
            object: ObjectFields::from_event(event),
            threads: ThreadFields::from_event(event),
            message,
            display,
            tasks,
            hidden: hidden.map(|(member, _)| member).collect(),
        }
    }

    /// Returns a number that successive events of a data stream share if the values in their common contexts are equal.
    /// `None` if that is unknown. `last` is the last context of the data stream.
    #[inline]
    pub fn context(&self, event: &Event<'_>, last: &mut LastContext) -> Option<u64> {
        last.number(event, self.context.alignment?)
    }

    /// Returns an event's place, given the number of its context.
    #[inline]
    pub fn place<'p>(
        &self,
        event: &Event<'p>,
        context: Option<u64>,
        last: &'p mut LastContext,
    ) -> EventPlace<'p> {
        let own = || self.own_place(event);
        let place = match (context, &self.context.place) {
            (Some(context), Some(nodes)) => {
                if !last.has_place(context, nodes) {
                    let mut texts = Default::default();
                    last.set_place(context, *nodes, self.add_names(event, own(), &mut texts));
                }
                last.place()
            }
            _ => self.add_names(event, own(), last.texts()),
        };
        self.keep_track(EventPlace { processor: self.processor_of(event), ..place })
    }

    /// Returns an event's place, without names.
    pub fn unnamed_place<'e>(&self, event: &Event<'e>) -> EventPlace<'e> {
        self.keep_track(EventPlace { processor: self.processor_of(event), ..self.own_place(event) })
    }

    /// Drops the parts of a place that the class's track does not need.
    #[inline]
    fn keep_track<'p>(&self, place: EventPlace<'p>) -> EventPlace<'p> {
        match self.display.track {
            EventTrack::Process => EventPlace { thread: None, thread_name: None, ..place },
            EventTrack::Processor => EventPlace { processor: place.processor, ..EventPlace::default() },
            EventTrack::Trace => EventPlace::default(),
            _ => place,
        }
    }

    /// Returns `true` if events go to the tracks of their threads.
    pub fn is_of_thread(&self) -> bool {
        self.display.track == EventTrack::Thread
    }

    /// Returns the event color from a map.
    pub fn color(&self) -> Option<Rgb> {
        self.display.color.as_deref().and_then(css_color)
    }

    /// Returns `true` if a map gives the class another name, and events do not begin or end spans.
    pub fn is_renamed(&self) -> bool {
        use EventForm::{Begin, End, KeyedBegin, KeyedEnd};
        self.display.name.is_some() && !matches!(self.form, Begin | End | KeyedBegin | KeyedEnd)
    }

    /// Returns an event's counter unit.
    pub fn unit<'u>(&'u self, event: &Event<'u>) -> Option<Cow<'u, str>> {
        self.counter.unit(event).or(self.display.unit.as_deref().map(Cow::Borrowed))
    }

    /// Returns a single event's name, used instead of the class name. `text` is a buffer for it.
    pub fn event_name<'t>(
        &self,
        event: &Event<'t>,
        (trace, process): (u32, Option<u64>),
        objects: &NamedObjects,
        text: &'t mut String,
    ) -> Option<&'t str> {
        if self.names.is_empty() {
            return None;
        }
        self.names.name(event, &self.name, (trace.into(), process), objects, text)
    }

    /// Reads an event's process and thread.
    fn own_place<'e>(&self, event: &Event<'e>) -> EventPlace<'e> {
        let thread = self.thread.as_ref().and_then(|thread| event.get(thread));
        let thread = thread.filter(|value| !matches!(value, FieldValue::Null));
        EventPlace {
            process: self.process.number(event),
            thread: thread.map(|thread| thread.key()),
            ..EventPlace::default()
        }
    }

    /// Adds an event's process name and thread name. `texts` are buffers for them.
    fn add_names<'p>(
        &self,
        event: &Event<'p>,
        place: EventPlace<'p>,
        texts: &'p mut [String; 2],
    ) -> EventPlace<'p> {
        let text = |field: &Option<TextField>| field.as_ref()?.get(event);
        let [process_name, thread_name, thread_text] = &self.place_names;
        let process_name = text(process_name);
        // A thread may be identified by its name alone.
        let thread_name = text(thread_name).or_else(|| text(thread_text));
        let [process_place, thread_place] = texts;
        EventPlace {
            process_name: process_name.map(|name| kept(name, process_place)),
            thread_name: thread_name.map(|name| kept(name, thread_place)),
            ..place
        }
    }

    /// Returns the names that match span ends to starts. `name` is the event's own name, if it has one.
    pub fn edge(&self, name: Option<&str>) -> SpanEdge {
        let (kind, is_named) = self.edge;
        SpanEdge { name: name.map_or(kind, name_key), kind, is_unnamed: !is_named }
    }

    /// Returns an event's form. It is an instant if the key, the duration or the values are missing.
    #[inline]
    pub fn form_of(&self, event: &Event<'_>) -> EventForm {
        let is_complete = match self.form {
            EventForm::KeyedBegin | EventForm::KeyedEnd => self.has_key(event),
            EventForm::Complete => self.duration(event).is_some(),
            EventForm::Counter => self.counter.has_value(event),
            _ => true,
        };
        if is_complete { self.form } else { EventForm::Instant }
    }

    /// Returns `true` if an event has all members of the key.
    fn has_key(&self, event: &Event<'_>) -> bool {
        self.keys.iter().all(|key| event.get(key).is_some_and(|key| !matches!(key, FieldValue::Null)))
    }

    /// Returns the message key of a send or receive event.
    pub fn message(&self, event: &Event<'_>) -> Option<(FlowEnd, u64)> {
        let end = self.message?;
        self.has_key(event).then(|| (end, self.key(event)))
    }

    /// Returns `true` if events send or receive messages.
    pub fn has_message(&self) -> bool {
        self.message.is_some()
    }

    /// Returns `true` if events can change thread states or tell why a thread waits.
    pub fn has_states(&self) -> bool {
        use EventForm::{Begin, End, Switch, ThreadStart, Wakeup};
        matches!(self.form, Switch | Wakeup | ThreadStart | Begin | End)
    }

    /// Returns `true` if the class has a member for the processor.
    pub fn has_processor(&self) -> bool {
        self.processor.is_some()
    }

    /// Returns the processor number in an event, for any track.
    fn processor_of(&self, event: &Event<'_>) -> Option<u64> {
        let value = event.get(self.processor.as_ref()?)?;
        Some(value).filter(|value| !matches!(value, FieldValue::Null)).map(|value| value.key())
    }

    /// Returns the processor number in an event that may be the first on this processor. `is_known` is `true` if the
    /// data stream already had such an event: all its packets have the same processor. Counters return `None` because
    /// they can describe another processor.
    #[inline]
    pub fn new_processor(&self, event: &Event<'_>, is_known: bool) -> Option<u64> {
        let scope = self.processor.as_ref()?.scope();
        let is_told = is_known && scope == Scope::PacketContext || self.form == EventForm::Counter;
        if is_told { None } else { self.processor_of(event) }
    }

    /// Returns a slice event's key.
    pub fn key(&self, event: &Event<'_>) -> u64 {
        let mut hash = ValueHash::new(0);
        for key in self.keys.iter().filter_map(|key| event.get(key)) {
            hash.add(key.key());
        }
        hash.finish()
    }

    /// Returns an event's span key. Keys are unique within a trace, so the trace number is included.
    pub fn span_key(&self, event: &Event<'_>, trace: u32) -> u64 {
        self.key(event) ^ u64::from(trace)
    }

    /// Returns the key of the event's frames.
    pub fn frame_key(&self, event: &Event<'_>) -> u64 {
        self.key(event) ^ self.edge.0
    }

    /// Returns the number that distinguishes counters with the same name, or 0.
    pub fn counter_number(&self, event: &Event<'_>) -> u64 {
        let key = self.keys.first().and_then(|key| event.get(key));
        key.filter(|key| !matches!(key, FieldValue::Null)).map_or(0, |key| key.key())
    }

    /// Returns the counter name: the event's own name, else the class name.
    pub fn counter_name<'n>(&'n self, event: &Event<'n>) -> Cow<'n, str> {
        self.counter.name(event).unwrap_or(Cow::Borrowed(&self.name))
    }

    /// Passes each counter value of an event to `take`.
    pub fn counter_values(&self, event: &Event<'_>, take: impl FnMut(CounterValue<'_>)) {
        self.counter.for_each(event, take);
    }

    /// Returns an event's call stack number.
    #[inline]
    pub fn stack(&self, event: &Event<'_>) -> Option<u32> {
        u32::try_from(event.get(self.stack.as_ref()?)?.as_u64()?).ok()
    }

    /// Returns `true` if events can have call stacks.
    pub fn has_stacks(&self) -> bool {
        self.stack.is_some()
    }

    /// Returns an event's duration in nanoseconds, unless it is unknown or negative.
    pub fn duration(&self, event: &Event<'_>) -> Option<u64> {
        let cycles = event.get(self.duration.as_ref()?)?.as_u64()?;
        let (begin, clock) = (event.clock?, event.stream.clock()?);
        let end = clock.nanoseconds(begin.cycles.saturating_add(cycles));
        u64::try_from(end.saturating_sub(begin.nanoseconds)).ok()
    }

    /// Returns `true` if viewers do not show a root member of a scope. `node` is its node in the plan.
    pub fn is_hidden(&self, event: &Event<'_>, scope: Scope, node: usize) -> bool {
        let is_node = |member: &MemberIndex| {
            member.scope == scope
                && event.plan(scope).and_then(|plan| plan.member(member.index as usize)) == Some(node)
        };
        self.hidden.iter().any(is_node)
    }
}
