//! Event record classes that are only met while reading.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::plan::{EventRecordPlans, PlanError, TracePlans};
use crate::{DataStreamClass, EventRecordClass, Limits, TraceClass};

/// An event record class that no description of the trace has: the records themselves say what they
/// consist of.
#[derive(Debug)]
pub struct LateClass {
    /// The class, compiled.
    pub plans: EventRecordPlans,
    /// How many values are kept for other fields. The fields of the class can only need each other.
    pub slots: usize,
}

/// The event record classes of a data stream class that were met up to now: a list that only grows,
/// shared by all cursors.
///
/// Whether two records are of one class is up to the reader, who has a key for each: two of the same key
/// are. Cursors keep the classes that they got, so that this is asked once per class and cursor.
#[derive(Debug)]
pub struct LateClasses {
    /// How many classes the trace declares, which have the indexes before.
    declared: usize,
    limits: Limits,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    classes: Vec<Arc<LateClass>>,
    by_key: HashMap<Box<[u8]>, usize>,
    /// What all classes take, in units of about a field class.
    size: u64,
}

/// How many bytes of keys count as much as a field class.
const KEY_BYTES: u64 = 64;

impl LateClasses {
    pub(crate) fn new(declared: usize, limits: &Limits) -> Self {
        Self { declared, limits: *limits, inner: Mutex::default() }
    }

    /// The class of this key; if it is met for the first time, `make` makes it. None if there are as
    /// many as the [`Limits`] allow, or if they are as large: then [`LateClasses::last`] has to do.
    ///
    /// # Errors
    /// If the class cannot be compiled.
    pub fn intern(
        &self,
        key: &[u8],
        make: impl FnOnce() -> EventRecordClass,
    ) -> Result<Option<Arc<LateClass>>, PlanError> {
        self.add(key, make, true)
    }

    /// Like [`LateClasses::intern`], but without regard to limits: for classes that are for all records,
    /// of which a format has a handful.
    ///
    /// # Errors
    /// If the class cannot be compiled.
    pub fn last(
        &self,
        key: &[u8],
        make: impl FnOnce() -> EventRecordClass,
    ) -> Result<Option<Arc<LateClass>>, PlanError> {
        self.add(key, make, false)
    }

    fn add(
        &self,
        key: &[u8],
        make: impl FnOnce() -> EventRecordClass,
        is_bounded: bool,
    ) -> Result<Option<Arc<LateClass>>, PlanError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = inner.by_key.get(key) {
            return Ok(inner.classes.get(*index).cloned());
        }
        let count = inner.classes.len() as u64;
        if is_bounded
            && (count >= self.limits.late_event_record_classes || inner.size >= self.limits.field_classes)
        {
            return Ok(None);
        }
        let class = Arc::new(make());
        let (mut plans, slots) = compile(&class, &self.limits)?;
        plans.index = Some(self.declared + inner.classes.len());
        let nodes = [&plans.specific_context, &plans.payload];
        let nodes: usize = nodes.into_iter().flatten().map(|plan| plan.nodes().count()).sum();
        inner.size = inner.size.saturating_add(nodes as u64 + key.len() as u64 / KEY_BYTES);
        let class = Arc::new(LateClass { plans, slots });
        let index = inner.classes.len();
        inner.by_key.insert(key.into(), index);
        inner.classes.push(Arc::clone(&class));
        Ok(Some(class))
    }

    /// The classes that were met up to now, in the order of their indexes.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<LateClass>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).classes.clone()
    }
}

/// The plans of a class that needs nothing of the scopes before it, and how many slots they use.
fn compile(class: &Arc<EventRecordClass>, limits: &Limits) -> Result<(EventRecordPlans, usize), PlanError> {
    let event_records = vec![Arc::clone(class)];
    let stream = DataStreamClass { event_records, ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let plans = TracePlans::compile(&trace, limits)?;
    let slots = plans.slots();
    let stream = plans.data_streams.into_iter().next().and_then(Arc::into_inner);
    let plans = stream.and_then(|stream| stream.event_records.into_iter().next());
    Ok((plans.unwrap_or_default(), slots))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitField, ByteOrder, FieldClass, FieldKind, Member, Trace};

    fn class(members: usize) -> EventRecordClass {
        let bits = FieldClass::new(FieldKind::Boolean(BitField::new(8, ByteOrder::LittleEndian, 8)));
        let bits = Arc::new(bits);
        let members = (0..members).map(|i| Member::new(i.to_string(), Arc::clone(&bits))).collect();
        let payload = FieldClass::new(FieldKind::Structure { members, minimum_alignment: 8 });
        EventRecordClass { payload: Some(Arc::new(payload)), ..EventRecordClass::default() }
    }

    fn trace(limits: &Limits) -> Trace {
        let stream =
            DataStreamClass { event_records: vec![Arc::new(class(1))], ..DataStreamClass::default() };
        let class = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
        Trace::new(class, "t", limits).unwrap()
    }

    #[test]
    fn a_class_is_made_once_and_counts_on_from_those_that_are_declared() {
        let trace = trace(&Limits::default());
        let late = trace.late_classes(0).unwrap();
        let first = late.intern(b"a", || class(1)).unwrap().unwrap();
        let second = late.intern(b"b", || class(2)).unwrap().unwrap();
        let again = late.intern(b"a", || unreachable!()).unwrap().unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!((first.plans.index, second.plans.index), (Some(1), Some(2)));
        assert_eq!(late.all().len(), 2);
        assert_eq!(trace.event_records(0).count(), 3);
        assert!(trace.late_classes(1).is_none());
    }

    #[test]
    fn there_are_no_more_than_the_limits_allow() {
        let mut limits = Limits { late_event_record_classes: 2, ..Limits::default() };
        let few = trace(&limits);
        let late = few.late_classes(0).unwrap();
        assert!(late.intern(b"a", || class(1)).unwrap().is_some());
        assert!(late.intern(b"b", || class(1)).unwrap().is_some());
        assert!(late.intern(b"c", || class(1)).unwrap().is_none());
        assert!(late.intern(b"b", || class(1)).unwrap().is_some());
        assert!(late.last(b"", || class(1)).unwrap().is_some());
        limits.late_event_record_classes = 100;
        limits.field_classes = 20;
        let small = trace(&limits);
        let late = small.late_classes(0).unwrap();
        assert!(late.intern(&[0; 1000], || class(5)).unwrap().is_some());
        assert!(late.intern(b"b", || class(1)).unwrap().is_none());
    }
}
