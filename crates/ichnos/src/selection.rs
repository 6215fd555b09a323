//! Selection of data streams and events.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_export::{CsvColumn, CsvColumns, JsonTime};
use ichnos_filter::{Filter, Selector};
use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::cursor::{ExcludedClasses, Head, MessageKind, StreamCursor};
use ichnos_model::event::EventCounts;
use ichnos_model::key_hash::KeyState;
use ichnos_model::message::Discarded;
use ichnos_model::plan::EventRecordPlans;
use ichnos_model::{DataStream, Event, Message, Window};

use crate::{OpenError, Reader, Session};

/// Function that returns `true` for selected names.
type NameTest = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Function that returns `true` for selected events.
type EventTest = Arc<dyn Fn(&Event<'_>) -> bool + Send + Sync>;

/// Selection of data streams and events. All added conditions must be true. The default selects everything.
///
/// ```
/// # fn count(session: &ichnos::Session) -> Result<u64, ichnos::OpenError> {
/// use ichnos::{Pass, Selection};
/// use ichnos::model::{Message, Window};
///
/// let selection = Selection::default().streams(|name| name.contains("cpu0")).events(|name| name == "tick");
/// let reader = selection.reader(session, Window::default())?;
/// # Ok(reader.data_streams().len() as u64)
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Selection {
    streams: Option<NameTest>,
    events: Option<NameTest>,
    filter: Option<Selector>,
    condition: Option<EventTest>,
    /// Time window for losses.
    losses_in: Window,
    /// Results of `events` by data stream class address and event record class index. Event record classes can move:
    /// dynamic classes are kept in memory only while they are in use.
    known_classes: HashMap<(usize, usize), bool, KeyState>,
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selection")
            .field("streams", &self.streams.is_some())
            .field("events", &self.events.is_some())
            .field("filter", &self.filter.is_some())
            .field("condition", &self.condition.is_some())
            .finish_non_exhaustive()
    }
}

impl Selection {
    /// Selects data streams by name. A name ends with the file name.
    #[must_use]
    pub fn streams(self, wants: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { streams: Some(Arc::new(wants)), ..self }
    }

    /// Selects events by class name. A class without a name is not selected.
    #[must_use]
    pub fn events(self, wants: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { events: Some(Arc::new(wants)), known_classes: HashMap::default(), ..self }
    }

    /// Selects events with any name.
    #[must_use]
    pub fn all_events(self) -> Self {
        Self { events: None, known_classes: HashMap::default(), ..self }
    }

    /// Selects events by an expression.
    #[must_use]
    pub fn filter(self, filter: &Filter) -> Self {
        Self { filter: Some(filter.selector()), ..self }
    }

    /// Selects events by a function. It is called for each event that the names do not reject.
    #[must_use]
    pub fn condition(self, wants: impl Fn(&Event<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self { condition: Some(Arc::new(wants)), ..self }
    }

    /// Selects losses that overlap a window, for a reader with a larger window.
    #[must_use]
    pub fn losses_in(self, window: Window) -> Self {
        Self { losses_in: window, ..self }
    }

    /// Reads the selected data streams of a session in a window. Unselected event classes are excluded where that is
    /// faster.
    ///
    /// # Errors
    /// If clocks are not correlated: see [`Session::reader`].
    pub fn reader<'s>(&self, session: &'s Session, window: Window) -> Result<Reader<'s>, OpenError> {
        // The data streams of live traces are known when their messages arrive.
        let wants = |stream: &DataStream| session.is_live() || self.wants_stream(&stream.name);
        let mut reader = session.reader_of(window, wants)?;
        self.exclude(&mut reader);
        Ok(reader)
    }

    /// Makes a reader skip unselected event classes.
    pub fn exclude(&self, reader: &mut Reader<'_>) {
        if self.wants_all_events() {
            return;
        }
        let mut by_name: HashMap<(usize, usize), Option<Arc<ExcludedClasses>>> = HashMap::new();
        let mut unnamed = |stream: &DataStream| {
            self.events.as_ref()?;
            let known = by_name.entry((Arc::as_ptr(&stream.trace).addr(), stream.class_index));
            let wants = |plans: &EventRecordPlans| self.wants_class(&plans.class);
            let find =
                || ExcludedClasses::new(stream.plans().event_records.iter().map(|plans| !wants(plans)));
            known.or_insert_with(|| find().map(Arc::new)).clone()
        };
        reader.exclude(|stream| unnamed(stream).or_else(|| self.excluded_by_filter(stream)));
    }

    /// Returns the classes of a data stream that the filter never selects.
    #[must_use]
    pub fn excluded_by_filter(&self, stream: &DataStream) -> Option<Arc<ExcludedClasses>> {
        self.filter.as_ref()?.filter().excluded_classes(stream)
    }

    /// Returns the selector of the filter.
    #[must_use]
    pub fn selector(&self) -> Option<&Selector> {
        self.filter.as_ref()
    }

    /// Returns `true` if all events are selected without a check.
    #[inline(always)]
    #[must_use]
    pub fn wants_all_events(&self) -> bool {
        self.events.is_none() && self.filter.is_none() && self.condition.is_none()
    }

    /// Returns `true` if a data stream with this name is selected, or a file outside data streams.
    #[must_use]
    pub fn wants_stream(&self, name: &str) -> bool {
        self.streams.as_ref().is_none_or(|wants| wants(name))
    }

    /// Returns `true` if events of a class can be selected.
    #[must_use]
    pub fn wants_class(&self, class: &EventRecordClass) -> bool {
        self.events.as_ref().is_none_or(|wants| class.name.as_deref().is_some_and(|name| wants(name)))
    }

    /// Calls `take` for each known class whose events are selected, with its data stream class, if at least one such
    /// data stream is selected. Traces [with dynamic classes](ichnos_model::OpenedTrace::has_dynamic_classes) only
    /// know the classes of earlier events.
    pub fn for_each_class(
        &self,
        session: &Session,
        mut take: impl FnMut(&DataStreamClass, &EventRecordClass),
    ) {
        for trace in session.traces() {
            let streams = trace.data_streams();
            let streams = streams.iter().filter(|stream| self.wants_stream(&stream.name));
            let classes: HashSet<usize> = streams.map(|stream| stream.class_index).collect();
            let trace = trace.trace();
            for (index, stream) in trace.class.data_streams.iter().enumerate() {
                if classes.contains(&index) {
                    let records = trace.event_records(index).filter(|record| self.wants_class(record));
                    records.for_each(|record| take(stream, &record));
                }
            }
        }
    }

    /// Returns the table columns of the selected events: properties, and all fields of known classes. Returns `None`
    /// for more than [`CsvColumns::MOST`] columns.
    #[must_use]
    pub fn csv_columns(&self, session: &Session, time: JsonTime) -> Option<Vec<CsvColumn>> {
        let mut columns = CsvColumns::new(time);
        let mut last: Option<*const DataStreamClass> = None;
        self.for_each_class(session, |stream, record| {
            // Classes keep their addresses while the session is open.
            if last.replace(stream) != Some(std::ptr::from_ref(stream)) {
                columns.add_stream(stream);
            }
            columns.add(record);
        });
        columns.columns()
    }

    /// Returns `true` if a message is selected. Its data stream must be selected.
    pub fn wants(&mut self, message: &Message<'_>) -> bool {
        match message {
            Message::Event(event) => self.wants_event(event),
            Message::DiscardedEvents(loss) | Message::DiscardedPackets(loss) => self.wants_loss(loss),
            // File outside data streams, because it is unreadable.
            Message::Damage(damage) if damage.stream.is_none() => self.wants_stream(&damage.file),
            _ => true,
        }
    }

    #[cold]
    fn wants_loss(&self, loss: &Discarded<'_>) -> bool {
        let Window { begin, end } = self.losses_in;
        let is_early = loss.end.zip(begin).is_some_and(|(last, begin)| last.nanoseconds < begin);
        let is_late = loss.begin.zip(end).is_some_and(|(first, end)| first.nanoseconds > end);
        !is_early && !is_late
    }

    /// Returns `true` if an event is selected.
    #[inline]
    pub fn wants_event(&mut self, event: &Event<'_>) -> bool {
        self.wants_name(event)
            && self.condition.as_ref().is_none_or(|wants| wants(event))
            && self.filter.as_mut().is_none_or(|selector| selector.selects(event))
    }

    /// Advances a cursor and counts at most `most` selected events, up to the first message that is not an event.
    /// Returns the head of the current message, or `None` after the last message.
    pub(crate) fn count_events(
        &mut self,
        cursor: &mut dyn StreamCursor,
        most: u32,
        counts: &mut EventCounts,
    ) -> Option<Head> {
        if self.wants_all_events() {
            return cursor.count_events(most, counts);
        }
        for _ in 0..most {
            let head = cursor.next_head()?;
            if head.kind != MessageKind::Event {
                break;
            }
            if cursor.current().is_some_and(|message| self.wants(&message)) {
                counts.add(head.class_index(), head.nanoseconds());
            }
        }
        cursor.head()
    }

    fn wants_name(&mut self, event: &Event<'_>) -> bool {
        let Some(wants) = &self.events else { return true };
        let test = || event.class.name.as_deref().is_some_and(|name| wants(name));
        // Other classes do not belong to the trace.
        let Some(index) = event.class_index() else { return test() };
        let stream = std::ptr::from_ref(event.stream.class()).addr();
        *self.known_classes.entry((stream, index)).or_insert_with(test)
    }
}
