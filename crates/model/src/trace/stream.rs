//! Traces and their data streams.

use std::any::Any;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use super::lazy::Lazy;
use super::trace_symbols::TraceSymbols;
use crate::class::{DataStreamClass, DynamicClasses, EventRecordClass, TraceClass};
use crate::clock::ClockClass;
use crate::locks::IgnorePoison as _;
use crate::meaning::ClassMap;
use crate::plan::{DataStreamPlans, PlanError, TracePlans};
use crate::stack::{Frame, StackTable, Symbols};
use crate::trace::{Limits, ListedThread};

/// A trace: its compiled class, its name and its path.
#[derive(Debug)]
pub struct Trace {
    /// Class.
    pub class: TraceClass,
    /// Decode plans.
    pub plans: TracePlans,
    /// Display name, if the class lacks a name; may be empty.
    pub name: String,
    /// Display name from an option, in place of both names; may be empty.
    pub given_name: Option<String>,
    /// Location of the trace, for example its directory path; may be empty.
    pub path: String,
    /// Classes discovered while reading, by data stream class.
    dynamic: Vec<DynamicClasses>,
    /// Call stacks: fields with the meaning [`Stack`](crate::meaning::Meaning::Stack) contain their numbers.
    pub stacks: StackTable,
    /// Names for stack addresses.
    symbols: TraceSymbols,
    /// Call stacks of data stream classes with separate stack numbers.
    own_stacks: Vec<OwnStacks>,
    /// Index into `own_stacks`, if any, by data stream class.
    own_stacks_of: Vec<Option<usize>>,
    /// Data stream keys.
    keys: StreamKeys,
    reader_data: ReaderData,
    threads: Lazy<Arc<[ListedThread]>>,
    is_mapped: bool,
}

impl Trace {
    /// Creates a trace without a path.
    ///
    /// # Errors
    /// Fails if the class cannot be compiled; see [`TracePlans::compile`].
    pub fn new(class: TraceClass, name: impl Into<String>, limits: &Limits) -> Result<Self, PlanError> {
        let plans = TracePlans::compile(&class, limits)?;
        let dynamic =
            class.data_streams.iter().map(|stream| DynamicClasses::new(stream.event_records.len(), limits));
        let dynamic = dynamic.collect();
        let keys = StreamKeys::default();
        let stacks = StackTable::default();
        let symbols = TraceSymbols::default();
        let (name, path) = (name.into(), String::new());
        let (own_stacks, own_stacks_of) = (Vec::new(), vec![None; class.data_streams.len()]);
        let reader_data = ReaderData::default();
        Ok(Self {
            class,
            plans,
            name,
            given_name: None,
            path,
            dynamic,
            stacks,
            symbols,
            own_stacks,
            own_stacks_of,
            keys,
            reader_data,
            threads: Lazy::default(),
            is_mapped: false,
        })
    }

    /// Like [`Trace::new`], but changes the declared event record classes, and those discovered later.
    ///
    /// # Errors
    /// See [`Trace::new`].
    pub fn with_class_map(
        mut class: TraceClass,
        name: impl Into<String>,
        limits: &Limits,
        map: Option<&ClassMap>,
    ) -> Result<Self, PlanError> {
        let Some(map) = map else { return Self::new(class, name, limits) };
        map.apply_to_all(&mut class);
        let mut trace = Self::new(class, name, limits)?;
        trace.map_discovered(map);
        trace.is_mapped = map.changes_classes();
        Ok(trace)
    }

    /// Returns `true` if a map changed its classes, so that they contain more than its files.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    fn map_discovered(&self, map: &ClassMap) {
        for (dynamic, stream) in self.dynamic.iter().zip(&self.class.data_streams) {
            let scopes = DataStreamClass { event_records: Vec::new(), ..stream.clone() };
            let map = map.clone();
            dynamic.map_with(move |class| map.apply(class, &scopes));
        }
    }

    /// Keeps reader data for the writer of the same format, for details that classes lack. Only the first call counts.
    pub fn set_reader_data(&self, data: Arc<dyn Any + Send + Sync>) {
        // Later data is dropped.
        let _ = self.reader_data.0.set(data);
    }

    /// Returns the reader data, if it has this type; see [`Trace::set_reader_data`].
    #[must_use]
    pub fn reader_data<T: Any>(&self) -> Option<&T> {
        self.reader_data.0.get()?.downcast_ref()
    }

    /// Returns the event record classes in a data stream class that are discovered while reading, or `None` for an
    /// invalid index.
    #[must_use]
    pub fn dynamic_classes(&self, data_stream_class: usize) -> Option<&DynamicClasses> {
        self.dynamic.get(data_stream_class)
    }

    /// Returns all event record classes in a data stream class: declared classes, then classes discovered so far, in
    /// [`Event::class_index`](crate::Event::class_index) order.
    pub fn event_records(
        &self,
        data_stream_class: usize,
    ) -> impl Iterator<Item = Arc<EventRecordClass>> + '_ {
        let declared = self.class.data_streams.get(data_stream_class).map(|class| &class.event_records[..]);
        let dynamic = self.dynamic.get(data_stream_class);
        let dynamic =
            dynamic.into_iter().flat_map(|dynamic| (0..dynamic.count()).filter_map(|i| dynamic.described(i)));
        declared.unwrap_or_default().iter().cloned().chain(dynamic)
    }

    /// Returns the trace class with all event record classes discovered so far, sorted by id.
    #[must_use]
    pub fn class_with_dynamic(&self) -> Cow<'_, TraceClass> {
        // A class can be large: copy it only to extend it.
        if self.dynamic.iter().all(|dynamic| dynamic.count() == 0) {
            return Cow::Borrowed(&self.class);
        }
        let mut class = self.class.clone();
        for (stream, dynamic) in class.data_streams.iter_mut().zip(&self.dynamic) {
            let mut dynamic: Vec<_> =
                (0..dynamic.count()).filter_map(|index| dynamic.described(index)).collect();
            dynamic.sort_by_key(|class| class.id);
            stream.event_records.extend(dynamic);
        }
        Cow::Owned(class)
    }

    /// Sets the function that loads code address names. It may read the whole trace. The first call to
    /// [`Trace::symbols`] calls it, once. Only the first call to `set_symbols` counts.
    pub fn set_symbols(&self, load: impl Fn() -> Symbols + Send + Sync + 'static) {
        self.symbols.set(load);
    }

    /// Sets the function that returns the code address names so far, for a trace that is still arriving. Only the first
    /// call counts.
    pub fn set_arriving_symbols(&self, lookup: impl Fn() -> Arc<Symbols> + Send + Sync + 'static) {
        self.symbols.set_arriving(lookup);
    }

    /// Returns code address names; empty if the reader does not know any.
    pub fn symbols(&self) -> Arc<Symbols> {
        self.symbols.get()
    }

    /// Sets the function that lists threads. It may read a part of the trace. The first call to [`Trace::threads`]
    /// calls it, once. Only the first call to `set_threads` counts.
    pub fn set_threads(&self, load: impl Fn() -> Vec<ListedThread> + Send + Sync + 'static) {
        self.threads.set(move || {
            let mut threads = load();
            threads.sort_by_key(|thread| thread.number);
            threads.into()
        });
    }

    /// Returns the threads listed in the trace, sorted by number, for example those that ran when recording began.
    /// Empty if the reader does not know any.
    pub fn threads(&self) -> &Arc<[ListedThread]> {
        self.threads.get()
    }

    /// Assigns separate call stacks to data stream classes, by index. Their event fields contain stack numbers from
    /// these call stacks instead of [`Trace::stacks`]. Joined traces need this. For `load`, see [`Trace::set_symbols`].
    pub fn add_stacks(
        &mut self,
        data_stream_classes: impl IntoIterator<Item = usize>,
        table: StackTable,
        load: impl Fn() -> Symbols + Send + Sync + 'static,
    ) {
        let symbols = TraceSymbols::default();
        symbols.set(load);
        for class in data_stream_classes {
            if let Some(own) = self.own_stacks_of.get_mut(class) {
                *own = Some(self.own_stacks.len());
            }
        }
        self.own_stacks.push(OwnStacks { table, symbols });
    }

    /// Returns the call stacks for a data stream class, by index.
    #[must_use]
    pub fn stacks_of(&self, data_stream_class: usize) -> CallStacks<'_> {
        let own = self.own_stacks_of.get(data_stream_class).copied().flatten();
        match own.and_then(|own| self.own_stacks.get(own)) {
            Some(own) => CallStacks { table: &own.table, symbols: &own.symbols },
            None => CallStacks { table: &self.stacks, symbols: &self.symbols },
        }
    }

    /// Returns the frames of a stack in the trace's stack table, innermost first. Function and module names are those
    /// at `time`, in nanoseconds from the clock's origin, or at the end of the trace if `time` is `None`.
    #[must_use]
    pub fn frames(&self, stack: u32, time: Option<i128>) -> Vec<Frame> {
        let mut frames = self.stacks.frames(stack);
        for frame in &mut frames {
            if let Some(address) = frame.address
                && (frame.symbol.is_none() || frame.module.is_none())
                && let Some(resolved) =
                    self.symbols().resolve(frame.address_space, address, time.unwrap_or(i128::MAX))
            {
                if frame.symbol.is_none() {
                    frame.symbol.clone_from(&resolved.symbol.name);
                }
                if frame.module.is_none() {
                    frame.module = resolved.module.cloned();
                }
            }
        }
        frames
    }
}

/// Data that only the trace's format knows.
#[derive(Default)]
struct ReaderData(OnceLock<Arc<dyn Any + Send + Sync>>);

impl fmt::Debug for ReaderData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReaderData").field(&self.0.get().is_some()).finish()
    }
}

/// Call stacks shared by some data stream classes.
#[derive(Debug)]
struct OwnStacks {
    table: StackTable,
    symbols: TraceSymbols,
}

/// Call stacks for a data stream. Its fields refer to them by number.
#[derive(Clone, Copy, Debug)]
pub struct CallStacks<'a> {
    /// Stack table.
    pub table: &'a StackTable,
    symbols: &'a TraceSymbols,
}

impl<'a> CallStacks<'a> {
    /// Returns the names for stack addresses; see [`Trace::symbols`].
    #[must_use]
    pub fn symbols(&self) -> Arc<Symbols> {
        self.symbols.get()
    }
}

/// Data stream keys of a trace, which are freed with it.
#[derive(Debug, Default)]
struct StreamKeys(Mutex<Vec<u32>>);

/// Free keys: returned keys, and all keys from a number on.
struct FreeKeys {
    given_back: BinaryHeap<Reverse<u32>>,
    next: u32,
}

static FREE_KEYS: Mutex<FreeKeys> = Mutex::new(FreeKeys { given_back: BinaryHeap::new(), next: 0 });

impl StreamKeys {
    /// Takes the lowest free key.
    fn next(&self) -> u32 {
        let mut free = FREE_KEYS.lock().ignore_poison();
        let key = match free.given_back.pop() {
            Some(Reverse(key)) => key,
            None => {
                let key = free.next;
                free.next = key.saturating_add(1);
                key
            }
        };
        drop(free);
        self.0.lock().ignore_poison().push(key);
        key
    }
}

impl Drop for StreamKeys {
    fn drop(&mut self) {
        let keys = std::mem::take(self.0.get_mut().ignore_poison());
        let mut free = FREE_KEYS.lock().ignore_poison();
        free.given_back.extend(keys.into_iter().map(Reverse));
    }
}

/// A data stream: packets, or events without packets, in clock order.
#[derive(Debug)]
pub struct DataStream {
    /// Trace that it belongs to.
    pub trace: Arc<Trace>,
    /// Class index in [`TraceClass::data_streams`].
    pub class_index: usize,
    /// Id within its class, if any.
    pub id: Option<u128>,
    /// Stream name within the trace's location, for example the path of its (first) file.
    pub name: Arc<str>,
    /// Small number, unique among the data streams of open traces, for data kept by data stream. It is reused after the
    /// trace is closed, so keep an [`Arc`] of the trace with it.
    pub key: u32,
    /// Class plans, copied from the trace for direct access.
    plans: Arc<DataStreamPlans>,
}

impl DataStream {
    /// Creates a data stream. Returns `None` for an invalid class index.
    #[must_use]
    pub fn new(
        trace: Arc<Trace>,
        class_index: usize,
        id: Option<u128>,
        name: impl Into<Arc<str>>,
    ) -> Option<Self> {
        trace.class.data_streams.get(class_index)?;
        let plans = Arc::clone(trace.plans.data_streams.get(class_index)?);
        let key = trace.keys.next();
        Some(Self { trace, class_index, id, name: name.into(), key, plans })
    }

    /// Returns the class.
    #[must_use]
    pub fn class(&self) -> &DataStreamClass {
        // `new` checked the index, and classes are never removed.
        &self.trace.class.data_streams[self.class_index]
    }

    /// Returns the class's decode plans.
    #[inline]
    #[must_use]
    pub fn plans(&self) -> &DataStreamPlans {
        &self.plans
    }

    /// Returns the call stacks that event fields refer to by number.
    #[must_use]
    pub fn stacks(&self) -> CallStacks<'_> {
        self.trace.stacks_of(self.class_index)
    }

    /// Returns the default clock's class.
    #[must_use]
    pub fn clock(&self) -> Option<&ClockClass> {
        self.trace.class.clocks.get(usize::from(self.class().default_clock?))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::stack::Symbol;

    #[test]
    fn symbols_are_loaded_once_and_name_frames() {
        let class = TraceClass::new("", [], [DataStreamClass::default()]);
        let trace = Trace::new(class, "", &Limits::default()).unwrap();
        let stack = trace.stacks.intern_addresses(0, &[15, 95, 7]).unwrap();
        let loads = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&loads);
        trace.set_symbols(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            let module = Some("lib".into());
            let module = Symbol { begin: 10, end: 100, module, ..Symbol::default() };
            let name = Some("f".into());
            Symbols::new([
                (0, Symbol { begin: 10, end: 20, from: 4, name, ..Symbol::default() }),
                (0, module),
            ])
        });
        trace.set_symbols(Symbols::default);
        assert_eq!(loads.load(Ordering::Relaxed), 0);
        let named = Frame::at(15).with_module("lib").with_symbol("f");
        let rest = [Frame::at(95).with_module("lib"), Frame::at(7)];
        assert_eq!(trace.frames(stack, None), [&[named][..], &rest].concat());
        assert_eq!(trace.frames(stack, Some(3))[0], Frame::at(15).with_module("lib"));
        assert_eq!(loads.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn data_stream_classes_can_have_stacks_of_their_own() {
        let class = TraceClass::new("", [], [DataStreamClass::default(), DataStreamClass::default()]);
        let mut trace = Trace::new(class, "", &Limits::default()).unwrap();
        trace.stacks.push(None, Frame::at(1));
        let own = StackTable::default();
        own.push(None, Frame::at(2));
        let symbol = Symbol { begin: 2, end: 3, name: Some("f".into()), ..Symbol::default() };
        trace.add_stacks([1], own, move || Symbols::new([(0, symbol.clone())]));
        let trace = Arc::new(trace);
        let of = |class| {
            let stream = DataStream::new(Arc::clone(&trace), class, None, "").unwrap();
            (stream.stacks().table.frames(0), stream.stacks().symbols().len())
        };
        assert_eq!(of(0), (vec![Frame::at(1)], 0));
        assert_eq!(of(1), (vec![Frame::at(2)], 1));
    }

    #[test]
    fn keys_are_used_again_only_when_their_trace_is_gone() {
        let trace = || {
            let class = TraceClass::new("", [], [DataStreamClass::default()]);
            Arc::new(Trace::new(class, "", &Limits::default()).unwrap())
        };
        let key = |trace: &Arc<Trace>| DataStream::new(Arc::clone(trace), 0, None, "").unwrap().key;
        let kept = trace();
        let mine = [key(&kept), key(&kept)];
        assert_ne!(mine[0], mine[1]);
        // Other tests use keys, too.
        for _ in 0..10_000 {
            let other = key(&trace());
            assert!(!mine.contains(&other) && other < 5_000, "{other}");
        }
    }
}
