//! What is being read: traces and their data streams.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::plan::{DataStreamPlans, PlanError, TracePlans};
use crate::{ClockClass, DataStreamClass, EventRecordClass, LateClasses, Limits, TraceClass};

/// A trace: its class, compiled, and what it is called.
#[derive(Debug)]
pub struct Trace {
    /// Class.
    pub class: TraceClass,
    /// Decode plans of the class.
    pub plans: TracePlans,
    /// What people call the trace, if its class has no name; empty if there is nothing to call it.
    pub name: String,
    /// Where the trace lies, for instance the path of its folder; empty if nowhere.
    pub path: String,
    /// By data stream class: the classes that are met while reading.
    late: Vec<LateClasses>,
}

impl Trace {
    /// A trace of this class that lies nowhere.
    ///
    /// # Errors
    /// If the class cannot be compiled; see [`TracePlans::compile`].
    pub fn new(class: TraceClass, name: impl Into<String>, limits: &Limits) -> Result<Self, PlanError> {
        let plans = TracePlans::compile(&class, limits)?;
        let late =
            class.data_streams.iter().map(|stream| LateClasses::new(stream.event_records.len(), limits));
        let late = late.collect();
        Ok(Self { class, plans, name: name.into(), path: String::new(), late })
    }

    /// The event record classes of a data stream class that are met while reading, by the index of the
    /// latter; None if there is no such data stream class.
    #[must_use]
    pub fn late_classes(&self, data_stream_class: usize) -> Option<&LateClasses> {
        self.late.get(data_stream_class)
    }

    /// All event record classes of a data stream class: those that were declared, then those that have
    /// been met up to now. Their order is that of [`Event::class_index`](crate::Event::class_index).
    pub fn event_records(
        &self,
        data_stream_class: usize,
    ) -> impl Iterator<Item = Arc<EventRecordClass>> + '_ {
        let declared = self.class.data_streams.get(data_stream_class).map(|class| &class.event_records[..]);
        let late = self.late.get(data_stream_class);
        let late = late.into_iter().flat_map(|late| (0..late.count()).filter_map(|i| late.described(i)));
        declared.unwrap_or_default().iter().cloned().chain(late)
    }

    /// The class of the trace with all event record classes that have been met up to now, those by id.
    #[must_use]
    pub fn class_with_late(&self) -> Cow<'_, TraceClass> {
        // A class can be large: it is only copied to add something to it.
        if self.late.iter().all(|late| late.count() == 0) {
            return Cow::Borrowed(&self.class);
        }
        let mut class = self.class.clone();
        for (stream, late) in class.data_streams.iter_mut().zip(&self.late) {
            let mut late: Vec<_> = (0..late.count()).filter_map(|index| late.described(index)).collect();
            late.sort_by_key(|class| class.id);
            stream.event_records.extend(late);
        }
        Cow::Owned(class)
    }
}

/// A data stream: packets, or events without packets, in the order of their clock.
#[derive(Debug)]
pub struct DataStream {
    /// The trace that it belongs to.
    pub trace: Arc<Trace>,
    /// Its class, as an index into [`TraceClass::data_streams`].
    pub class_index: usize,
    /// Its id within its class, if it has one.
    pub id: Option<u128>,
    /// What the stream is called where it lies, for instance the path of its (first) file.
    pub name: String,
    /// A number that no other stream of this process has.
    pub key: u32,
    /// The plans of its class: those of the trace, where each event finds them at once.
    plans: Arc<DataStreamPlans>,
}

impl DataStream {
    /// A data stream; None if the trace has no class of this index.
    #[must_use]
    pub fn new(
        trace: Arc<Trace>,
        class_index: usize,
        id: Option<u128>,
        name: impl Into<String>,
    ) -> Option<Self> {
        static KEYS: AtomicU32 = AtomicU32::new(0);
        trace.class.data_streams.get(class_index)?;
        let plans = Arc::clone(trace.plans.data_streams.get(class_index)?);
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        Some(Self { trace, class_index, id, name: name.into(), key, plans })
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> &DataStreamClass {
        // `new` checked the index, and classes never go away.
        &self.trace.class.data_streams[self.class_index]
    }

    /// The decode plans of its class.
    #[inline]
    #[must_use]
    pub fn plans(&self) -> &DataStreamPlans {
        &self.plans
    }

    /// The class of its default clock.
    #[must_use]
    pub fn clock(&self) -> Option<&ClockClass> {
        self.trace.class.clocks.get(usize::from(self.class().default_clock?))
    }
}
