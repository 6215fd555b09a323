//! Event record classes discovered while reading.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use crate::class::{DataStreamClass, EventRecordClass, TraceClass};
use crate::locks::IgnorePoison as _;
use crate::plan::{EventRecordPlans, PlanError, TracePlans};
use crate::trace::Limits;

/// An event record class that the trace metadata lacks, because the records describe themselves.
#[derive(Debug)]
pub struct DynamicClass {
    /// Compiled class.
    pub plans: EventRecordPlans,
    /// Number of values kept for other fields. Fields of the class depend only on each other.
    pub slots: usize,
}

/// Discovered event record classes of a data stream class. The list only grows, and all cursors share it.
///
/// The reader defines a key for each class: records with the same key have the same class. A class is kept in one of
/// two ways:
/// - compiled ([`DynamicClasses::intern`]), which takes some thousand bytes;
/// - as a key ([`DynamicClasses::index`]), if the key describes the class completely. The class takes little more than
///   its key, is [compiled](DynamicClasses::get) on demand, and stays compiled while it is in use.
pub struct DynamicClasses {
    /// Number of classes that the trace declares. They have the lower indexes.
    declared: usize,
    limits: Limits,
    describe: OnceLock<Describe>,
    map: OnceLock<MapOwn>,
    inner: Mutex<ClassRegistry>,
}

/// Creates a class from its key.
type Describe = Box<dyn Fn(&[u8]) -> EventRecordClass + Send + Sync>;

/// Changes a class before it is compiled.
type MapOwn = Box<dyn Fn(&mut EventRecordClass) + Send + Sync>;

#[derive(Debug, Default)]
struct ClassRegistry {
    classes: Vec<CacheEntry>,
    by_key: HashMap<Arc<[u8]>, u32>,
    /// Total size of all classes, in units of about a field class.
    size: u64,
    /// Maximum number and size of classes.
    most: u64,
    most_size: u64,
}

#[derive(Debug)]
struct CacheEntry {
    key: Arc<[u8]>,
    class: CachedClass,
}

#[derive(Debug)]
enum CachedClass {
    Kept(Arc<DynamicClass>),
    /// The compiled class, while it is in use.
    OfKey(Weak<DynamicClass>),
}

/// Number of key bytes that count as much as a field class.
const KEY_BYTES: u64 = 64;

impl DynamicClasses {
    pub(crate) fn new(declared: usize, limits: &Limits) -> Self {
        let inner = ClassRegistry {
            most: limits.dynamic_event_record_classes,
            most_size: limits.field_classes,
            ..ClassRegistry::default()
        };
        let (describe, map) = (OnceLock::new(), OnceLock::new());
        Self { declared, limits: *limits, describe, map, inner: Mutex::new(inner) }
    }

    /// Sets the function that creates a class from its key, for [`DynamicClasses::index`]. Only the first call counts.
    pub fn describe_with(&self, describe: impl Fn(&[u8]) -> EventRecordClass + Send + Sync + 'static) {
        let _ = self.describe.set(Box::new(describe));
    }

    /// Sets the function that changes each class before it is added. Only the first call counts.
    pub(crate) fn map_with(&self, map: impl Fn(&mut EventRecordClass) + Send + Sync + 'static) {
        let _ = self.map.set(Box::new(map));
    }

    /// Lowers the limits on the number of classes and of their field classes, for data stream classes that share the
    /// trace limits.
    pub fn limit_to(&self, classes: u64, field_classes: u64) {
        let mut inner = self.lock();
        inner.most = inner.most.min(classes);
        inner.most_size = inner.most_size.min(field_classes);
    }

    /// Returns the class with this key. `make` creates it if the key is new. `None` if the number or the size of
    /// classes reached the [`Limits`]: then use [`DynamicClasses::last`].
    ///
    /// # Errors
    /// If the class cannot be compiled.
    pub fn intern(
        &self,
        key: &[u8],
        make: impl FnOnce() -> EventRecordClass,
    ) -> Result<Option<Arc<DynamicClass>>, PlanError> {
        self.add(key, || self.mapped(make()), true)
    }

    /// Like [`DynamicClasses::intern`], but ignores the limits: for the handful of classes in a format that fit all
    /// records.
    ///
    /// # Errors
    /// If the class cannot be compiled.
    pub fn last(
        &self,
        key: &[u8],
        make: impl FnOnce() -> EventRecordClass,
    ) -> Result<Option<Arc<DynamicClass>>, PlanError> {
        self.add(key, || self.mapped(make()), false)
    }

    /// Returns the class with the same key as a class in another list, and adds it if it is new, without regard to the
    /// limits. `index` counts from 0 within the discovered classes of the other list. `None` for an invalid index.
    ///
    /// # Errors
    /// If the class cannot be compiled.
    pub fn adopt(&self, other: &Self, index: usize) -> Result<Option<Arc<DynamicClass>>, PlanError> {
        let (key, kept) = match other.lock().classes.get(index) {
            Some(CacheEntry { key, class: CachedClass::Kept(class) }) => {
                (Arc::clone(key), Some(Arc::clone(&class.plans.class)))
            }
            Some(CacheEntry { key, .. }) => (Arc::clone(key), None),
            None => return Ok(None),
        };
        match kept {
            // The other list has already changed it.
            Some(class) => self.add(&key, || (*class).clone(), false),
            None => self.index(&key, true).map_or(Ok(None), |index| self.get(index)),
        }
    }

    fn add(
        &self,
        key: &[u8],
        make: impl FnOnce() -> EventRecordClass,
        is_bounded: bool,
    ) -> Result<Option<Arc<DynamicClass>>, PlanError> {
        let mut inner = self.lock();
        if let Some(index) = inner.by_key.get(key) {
            let index = *index as usize;
            return self.compiled(&mut inner, index);
        }
        if is_bounded && inner.is_full() {
            return Ok(None);
        }
        let index = self.declared + inner.classes.len();
        let class = Arc::new(compile(make(), index, &self.limits)?);
        let nodes = [&class.plans.specific_context, &class.plans.payload];
        let nodes: usize = nodes.into_iter().flatten().map(|plan| plan.nodes().count()).sum();
        inner.push(key, CachedClass::Kept(Arc::clone(&class)), nodes as u64);
        Ok(Some(class))
    }

    /// Returns the index of the class with this key, for [`DynamicClasses::get`], counted from 0 within the discovered
    /// classes. A new class is kept as its key. `None` if the number or the size of classes reached the [`Limits`],
    /// unless `is_last` marks one of the handful of classes that fit all records.
    pub fn index(&self, key: &[u8], is_last: bool) -> Option<usize> {
        let mut inner = self.lock();
        if let Some(index) = inner.by_key.get(key) {
            return Some(*index as usize);
        }
        if !is_last && inner.is_full() {
            return None;
        }
        inner.push(key, CachedClass::OfKey(Weak::new()), 1);
        inner.classes.len().checked_sub(1)
    }

    /// Returns the compiled class with this index. `None` for an invalid index, or if the class is kept as its key and
    /// there is no [function](DynamicClasses::describe_with) to create it.
    ///
    /// # Errors
    /// If the class cannot be compiled.
    pub fn get(&self, index: usize) -> Result<Option<Arc<DynamicClass>>, PlanError> {
        self.compiled(&mut self.lock(), index)
    }

    /// Returns the number of classes discovered so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().classes.len()
    }

    /// Returns the class with this index without compiling it; see [`DynamicClasses::get`].
    #[must_use]
    pub fn described(&self, index: usize) -> Option<Arc<EventRecordClass>> {
        let key = match self.lock().classes.get(index)? {
            CacheEntry { class: CachedClass::Kept(class), .. } => {
                return Some(Arc::clone(&class.plans.class));
            }
            CacheEntry { key, .. } => Arc::clone(key),
        };
        Some(Arc::new(self.mapped(self.describe.get()?(&key))))
    }

    fn compiled(
        &self,
        inner: &mut ClassRegistry,
        index: usize,
    ) -> Result<Option<Arc<DynamicClass>>, PlanError> {
        let Some(entry) = inner.classes.get_mut(index) else { return Ok(None) };
        let weak = match &mut entry.class {
            CachedClass::Kept(class) => return Ok(Some(Arc::clone(class))),
            CachedClass::OfKey(weak) => weak,
        };
        if let Some(class) = weak.upgrade() {
            return Ok(Some(class));
        }
        let Some(describe) = self.describe.get() else { return Ok(None) };
        let class =
            Arc::new(compile(self.mapped(describe(&entry.key)), self.declared + index, &self.limits)?);
        *weak = Arc::downgrade(&class);
        Ok(Some(class))
    }

    fn mapped(&self, mut class: EventRecordClass) -> EventRecordClass {
        if let Some(map) = self.map.get() {
            map(&mut class);
        }
        class
    }

    fn lock(&self) -> MutexGuard<'_, ClassRegistry> {
        self.inner.lock().ignore_poison()
    }
}

impl fmt::Debug for DynamicClasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicClasses")
            .field("declared", &self.declared)
            .field("inner", &self.inner)
            .finish()
    }
}

impl ClassRegistry {
    fn is_full(&self) -> bool {
        self.classes.len() as u64 >= self.most || self.size >= self.most_size
    }

    fn push(&mut self, key: &[u8], class: CachedClass, size: u64) {
        // The memory limit bounds the number of keys.
        let Ok(index) = u32::try_from(self.classes.len()) else { return };
        let key: Arc<[u8]> = key.into();
        self.size = self.size.saturating_add(size + key.len() as u64 / KEY_BYTES);
        self.by_key.insert(Arc::clone(&key), index);
        self.classes.push(CacheEntry { key, class });
    }
}

/// Compiles a class that does not depend on earlier scopes.
fn compile(class: EventRecordClass, index: usize, limits: &Limits) -> Result<DynamicClass, PlanError> {
    let event_records = vec![Arc::new(class)];
    let stream = DataStreamClass { event_records, ..DataStreamClass::default() };
    let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
    let plans = TracePlans::compile(&trace, limits)?;
    let slots = plans.slots();
    // Exactly one class of one data stream class was compiled, and nobody else holds it.
    let stream = plans.data_streams.into_iter().next().and_then(Arc::into_inner);
    let plans = stream.and_then(|stream| stream.event_records.into_iter().next()).unwrap_or_default();
    Ok(DynamicClass { plans: EventRecordPlans { index: Some(index), ..plans }, slots })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{BitField, ByteOrder, FieldClass, FieldKind, Member};
    use crate::trace::Trace;

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
        let dynamic = trace.dynamic_classes(0).unwrap();
        let first = dynamic.intern(b"a", || class(1)).unwrap().unwrap();
        let second = dynamic.intern(b"b", || class(2)).unwrap().unwrap();
        let again = dynamic.intern(b"a", || unreachable!()).unwrap().unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!((first.plans.index, second.plans.index), (Some(1), Some(2)));
        assert_eq!(dynamic.count(), 2);
        assert_eq!(trace.event_records(0).count(), 3);
        assert!(trace.dynamic_classes(1).is_none());
    }

    #[test]
    fn there_are_no_more_than_the_limits_allow() {
        let mut limits = Limits { dynamic_event_record_classes: 2, ..Limits::default() };
        let few = trace(&limits);
        let dynamic = few.dynamic_classes(0).unwrap();
        assert!(dynamic.intern(b"a", || class(1)).unwrap().is_some());
        assert!(dynamic.intern(b"b", || class(1)).unwrap().is_some());
        assert!(dynamic.intern(b"c", || class(1)).unwrap().is_none());
        assert!(dynamic.intern(b"b", || class(1)).unwrap().is_some());
        assert!(dynamic.last(b"", || class(1)).unwrap().is_some());
        // A share of the limits does not exceed them.
        few.dynamic_classes(0).unwrap().limit_to(9, 9);
        assert!(dynamic.intern(b"c", || class(1)).unwrap().is_none());
        limits.dynamic_event_record_classes = 100;
        trace(&limits).dynamic_classes(0).inspect(|shared| {
            shared.limit_to(1, 20);
            assert!(shared.intern(b"a", || class(1)).unwrap().is_some());
            assert!(shared.intern(b"b", || class(1)).unwrap().is_none());
        });
        limits.field_classes = 20;
        let small = trace(&limits);
        let dynamic = small.dynamic_classes(0).unwrap();
        assert!(dynamic.intern(&[0; 1000], || class(5)).unwrap().is_some());
        assert!(dynamic.intern(b"b", || class(1)).unwrap().is_none());
    }

    #[test]
    fn a_class_of_a_key_is_made_when_it_is_needed() {
        let limits = Limits { dynamic_event_record_classes: 2, ..Limits::default() };
        let trace = trace(&limits);
        let dynamic = trace.dynamic_classes(0).unwrap();
        let first = dynamic.index(b"a", false).unwrap();
        assert!(dynamic.get(first).unwrap().is_none());
        dynamic.describe_with(|key| class(key.len()));
        let second = dynamic.index(b"bb", false).unwrap();
        assert_eq!((first, second, dynamic.index(b"a", false)), (0, 1, Some(0)));
        assert!(dynamic.index(b"c", false).is_none());
        assert_eq!(dynamic.index(b"last", true), Some(2));
        let members = |index: usize| {
            dynamic.get(index).unwrap().unwrap().plans.payload.as_ref().unwrap().nodes().count() - 1
        };
        assert_eq!((members(0), members(1), members(2)), (1, 2, 4));
        // The class stays the same while it is in use.
        let one = dynamic.get(1).unwrap().unwrap();
        assert!(Arc::ptr_eq(&one, &dynamic.get(1).unwrap().unwrap()));
        assert_eq!(one.plans.index, Some(2));
        assert!(Arc::ptr_eq(&one, &dynamic.intern(b"bb", || unreachable!()).unwrap().unwrap()));
        assert_eq!(trace.event_records(0).count(), 4);
        assert!(dynamic.get(3).unwrap().is_none());
    }

    #[test]
    fn another_list_has_the_same_classes_at_other_indexes() {
        let (one, two) = (trace(&Limits::default()), trace(&Limits::default()));
        let (from, to) = (one.dynamic_classes(0).unwrap(), two.dynamic_classes(0).unwrap());
        to.describe_with(|key| class(key.len()));
        to.intern(b"first", || class(1)).unwrap();
        from.intern(b"kept", || class(3)).unwrap();
        from.index(b"of key", false);
        for (index, members) in [(0, 3), (1, 6)] {
            let adopted = to.adopt(from, index).unwrap().unwrap();
            assert_eq!(adopted.plans.index, Some(index + 2));
            assert_eq!(adopted.plans.payload.as_ref().unwrap().nodes().count() - 1, members);
            assert!(Arc::ptr_eq(&adopted, &to.adopt(from, index).unwrap().unwrap()));
        }
        assert!(to.adopt(from, 2).unwrap().is_none());
    }
}
