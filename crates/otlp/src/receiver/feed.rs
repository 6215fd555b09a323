//! Events of received requests, sorted by time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ichnos_io::ReadOptions;
use ichnos_model::class::DynamicClass;
use ichnos_model::clock::{ClockClass, ClockValue};
use ichnos_model::cursor::{Head, MessageKind};
use ichnos_model::event::{EventValues, Scopes};
use ichnos_model::live::LivePoll;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::plan::EventRecordPlans;
use ichnos_model::{DataStream, Event, Message};

use super::live_streams::ResourceStreams;
use super::queue::RequestQueue;
use super::received_request::{ReceivedRequest, wall_clock};
use crate::class::DraftOrigin;
use crate::draft_reader::DraftReader;
use crate::fault::{Decoded, RequestFault};
use crate::origin::Resource;
use crate::rule::RequestRule;

/// A request with the position of its next event. Ordered by the time of this event, then by arrival.
struct WaitingEvents {
    /// Time of the next event, but not after its arrival: clocks of other machines can be wrong.
    time: u64,
    /// Number of the request.
    number: u64,
    next: usize,
    request: ReceivedRequest,
    /// Data stream and resource for each resource of the request.
    streams: Vec<(Arc<DataStream>, Arc<Resource>)>,
}

impl WaitingEvents {
    /// Opens a request. `None` if it has no events.
    fn new(
        request: ReceivedRequest,
        number: u64,
        streams: Vec<(Arc<DataStream>, Arc<Resource>)>,
    ) -> Option<Self> {
        let time = request.places.first()?.time.min(request.arrived);
        Some(Self { time, number, next: 0, request, streams })
    }

    fn key(&self) -> (u64, u64) {
        (self.time, self.number)
    }

    /// Moves to the next event. Returns `false` after the last one.
    fn advance(&mut self) -> bool {
        self.next += 1;
        let place = self.request.places.get(self.next);
        self.time = place.map_or(self.time, |place| place.time.min(self.request.arrived));
        place.is_some()
    }
}

impl PartialEq for WaitingEvents {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for WaitingEvents {}

impl PartialOrd for WaitingEvents {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WaitingEvents {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// An event that was read.
#[derive(Debug)]
struct ReadEvent {
    stream: Arc<DataStream>,
    class: Arc<DynamicClass>,
    clock: Option<ClockValue>,
}

/// Current message.
#[derive(Debug)]
enum FeedMessage {
    Nothing,
    StreamBegin(Arc<DataStream>),
    Event(ReadEvent),
    Damage(Damage),
    StreamEnd(Arc<DataStream>),
}

/// Delivers the events of received requests.
pub(super) struct RequestFeed {
    queue: Arc<RequestQueue>,
    name: String,
    delay: u64,
    /// Nanoseconds that are added to all times.
    offset: i128,
    streams: ResourceStreams,
    open: BinaryHeap<Reverse<WaitingEvents>>,
    /// Number of requests so far.
    requests: u64,
    /// Data streams whose start was delivered, by key.
    begun: BTreeMap<u32, Arc<DataStream>>,
    reader: DraftReader,
    values: EventValues,
    current: FeedMessage,
    /// Event after the start of its data stream.
    waiting: Option<ReadEvent>,
    /// Statements about what is left out of resources, scopes and metrics, each reported once.
    cuts: HashSet<String>,
    damage: VecDeque<Damage>,
    is_closed: bool,
}

/// Maximum number of statements about what is left out.
const MOST_CUTS: usize = 1_000;

impl RequestFeed {
    pub(super) fn new(
        queue: Arc<RequestQueue>,
        name: String,
        options: ReadOptions,
        delay: Duration,
    ) -> io::Result<Self> {
        let streams = ResourceStreams::new(name.clone(), options)?;
        let offset = streams.shared.clock().map_or(0, |clock| clock.nanoseconds(0));
        Ok(Self {
            offset,
            queue,
            name,
            delay: u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX),
            streams,
            open: BinaryHeap::new(),
            requests: 0,
            begun: BTreeMap::new(),
            reader: DraftReader::default(),
            values: EventValues::default(),
            current: FeedMessage::Nothing,
            waiting: None,
            cuts: HashSet::new(),
            damage: VecDeque::new(),
            is_closed: false,
        })
    }

    /// Returns the data stream that describes the input.
    pub(super) fn stream(&self) -> Arc<DataStream> {
        Arc::clone(&self.streams.shared)
    }

    /// Opens requests that have arrived.
    fn open_requests(&mut self) {
        if self.is_closed {
            return;
        }
        let (requests, is_closed) = self.queue.take();
        self.is_closed = is_closed;
        for request in requests {
            let streams = request.contexts.resources().iter().map(|resource| self.streams.get(resource));
            let streams = streams.collect();
            self.requests += 1;
            request.cuts.iter().for_each(|cut| self.note_cut(&cut.message));
            self.open.extend(WaitingEvents::new(request, self.requests, streams).map(Reverse));
        }
    }

    /// Reports what is left out. Exporters send the same metrics again and again.
    fn note_cut(&mut self, statement: &str) {
        if self.cuts.len() < MOST_CUTS && self.cuts.insert(statement.to_owned()) {
            let rule = RequestRule::Limit.broken(statement);
            self.damage.push_back(Damage::new(&*self.name, 0, rule.into()));
        }
    }

    /// Moves to the next message: see [`LiveFeed::poll`](ichnos_model::live::LiveFeed::poll).
    pub(super) fn poll(&mut self) -> LivePoll {
        if let Some(event) = self.waiting.take() {
            return self.deliver(event);
        }
        self.open_requests();
        if let Some(damage) = self.damage.pop_front() {
            self.current = FeedMessage::Damage(damage);
            return LivePoll::Message(Head::new(MessageKind::Damage, None));
        }
        let now = wall_clock();
        let before = now.saturating_sub(self.delay);
        let is_ready = |Reverse(open): &Reverse<WaitingEvents>| self.is_closed || open.time <= before;
        if !self.open.peek().is_some_and(is_ready) {
            return if self.is_closed {
                self.end()
            } else {
                LivePoll::Pending(Some(i128::from(before) + self.offset))
            };
        }
        let Some(Reverse(mut open)) = self.open.pop() else { return self.end() };
        let read = self.read(&open);
        if open.advance() {
            self.open.push(Reverse(open));
        }
        match read {
            Ok(event) => self.begin_stream(event),
            Err(fault) => {
                let kind = DamageKind::Unreadable(fault.to_string());
                self.current = FeedMessage::Damage(Damage::new(&*self.name, 0, kind));
                LivePoll::Message(Head::new(MessageKind::Damage, None))
            }
        }
    }

    /// Reads the next event of a request.
    fn read(&mut self, open: &WaitingEvents) -> Decoded<ReadEvent> {
        let WaitingEvents { request, streams, next, .. } = open;
        let unknown = || RequestFault::new(0, "expected an event of a known resource and a known scope");
        let place = request.places.get(*next).ok_or_else(unknown)?;
        let (context, scope, _) = request.contexts.get(place.context).ok_or_else(unknown)?;
        let (stream, resource) = streams.get(context.resource as usize).ok_or_else(unknown)?;
        let (element, part) = place.element(&request.body, request.encoding, &request.contexts)?;
        let draft = element.into_draft(part);
        let time = draft.time;
        let class = self.reader.read(draft, DraftOrigin { resource, scope }, stream, &mut self.values);
        let no_class =
            || RequestFault::new(place.range().start, "expected an event with a class within the limits");
        let class = class.ok_or_else(no_class)?;
        let value = |clock: &ClockClass| ClockValue { nanoseconds: clock.nanoseconds(time), cycles: time };
        let clock = stream.clock().map(value).filter(|_| time != 0);
        Ok(ReadEvent { stream: Arc::clone(stream), class, clock })
    }

    /// Delivers an event, or first the start of its data stream.
    fn begin_stream(&mut self, event: ReadEvent) -> LivePoll {
        if self.begun.contains_key(&event.stream.key) {
            return self.deliver(event);
        }
        let stream = Arc::clone(&event.stream);
        self.begun.insert(stream.key, Arc::clone(&stream));
        self.waiting = Some(event);
        self.current = FeedMessage::StreamBegin(stream);
        LivePoll::Message(Head::new(MessageKind::StreamBegin, None))
    }

    fn deliver(&mut self, event: ReadEvent) -> LivePoll {
        // The merge must not wait for events from the future.
        let now = i128::from(wall_clock()) + self.offset;
        let time = event.clock.map(|clock| clock.nanoseconds.min(now));
        let head = match event.class.plans.index() {
            Some(index) => Head::event(index, time),
            None => Head::new(MessageKind::Event, time),
        };
        self.current = FeedMessage::Event(event);
        LivePoll::Message(head)
    }

    /// Ends the data streams, then the feed.
    fn end(&mut self) -> LivePoll {
        match self.begun.pop_first() {
            Some((_, stream)) => {
                self.current = FeedMessage::StreamEnd(stream);
                LivePoll::Message(Head::new(MessageKind::StreamEnd, None))
            }
            None => {
                self.current = FeedMessage::Nothing;
                LivePoll::End
            }
        }
    }

    /// Returns the current message.
    pub(super) fn current(&self) -> Option<Message<'_>> {
        Some(match &self.current {
            FeedMessage::Nothing => return None,
            FeedMessage::StreamBegin(stream) => Message::StreamBegin(stream),
            FeedMessage::StreamEnd(stream) => Message::StreamEnd(stream),
            FeedMessage::Damage(damage) => Message::Damage(damage),
            FeedMessage::Event(ReadEvent { stream, class, clock }) => {
                let plans: &EventRecordPlans = &class.plans;
                let scopes = Scopes::from_values(&self.values);
                Message::Event(Event::new(stream, plans, clock.as_ref(), scopes))
            }
        })
    }
}
