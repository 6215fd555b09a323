//! Fetches the fields of an event that an expression needs, and no others.

use std::ops::Range;

use ichnos_model::{Event, Field, LogText, Real, Scope, Text, Uuid, Visitor, Wide};

use super::value::Value;

/// A field that is fetched, or one of several of which at most one is there (options of variants).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) scope: Scope,
    pub(super) targets: Vec<Target>,
    /// Whether the elements of the array that it is are fetched, too.
    pub(super) has_elements: bool,
}

/// A node of the plan of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) node: usize,
    /// The arrays around it of which one element is wanted, the outermost first.
    pub(super) elements: Vec<ElementOf>,
    /// If its elements are wanted: their node.
    pub(super) element: Option<usize>,
}

/// An element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementOf {
    /// The node of the array.
    pub(super) array: usize,
    /// The node of its elements.
    pub(super) element: usize,
    /// From the end if negative.
    pub(super) index: i64,
}

/// What is fetched of a scope.
#[derive(Debug)]
pub(super) struct ScopeFetch {
    scope: Scope,
    registers: Vec<usize>,
    wanted: Vec<Wanted>,
    tracks: Vec<ElementOf>,
    /// The nodes that are looked at at all.
    nodes: Range<usize>,
}

#[derive(Debug)]
struct Wanted {
    node: usize,
    register: usize,
    part: Part,
    /// The arrays around it, among the tracks of the scope.
    tracks: Range<usize>,
}

/// What of a field is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Value,
    /// It is an array: how many elements it has, and where they are.
    Array,
    /// It is an element of that.
    Element,
}

/// Of what a scope is that an event has no plan of: the message that its class renders.
pub(super) const MESSAGE: u8 = 1 << 7;

/// The bit of a scope in a set of them.
pub(super) const fn bit(scope: Scope) -> u8 {
    1 << scope as u8
}

impl ScopeFetch {
    /// What is fetched of all scopes for these registers.
    pub(super) fn all(registers: &[Register]) -> Vec<Self> {
        let scopes =
            Scope::ALL.into_iter().filter(|scope| registers.iter().any(|register| register.scope == *scope));
        scopes.map(|scope| Self::new(scope, registers)).collect()
    }

    fn new(scope: Scope, all: &[Register]) -> Self {
        let mut fetch =
            Self { scope, registers: Vec::new(), wanted: Vec::new(), tracks: Vec::new(), nodes: 0..0 };
        for (register, Register { targets, has_elements, .. }) in
            all.iter().enumerate().filter(|(_, register)| register.scope == scope)
        {
            fetch.registers.push(register);
            for target in targets {
                let begin = fetch.tracks.len();
                fetch.tracks.extend(&target.elements);
                let tracks = begin..fetch.tracks.len();
                let part = if *has_elements { Part::Array } else { Part::Value };
                fetch.wanted.push(Wanted { node: target.node, register, part, tracks: tracks.clone() });
                if let Some(node) = target.element.filter(|_| *has_elements) {
                    fetch.wanted.push(Wanted { node, register, part: Part::Element, tracks });
                }
            }
        }
        let nodes = fetch.wanted.iter().map(|wanted| wanted.node);
        let nodes = nodes.chain(fetch.tracks.iter().flat_map(|track| [track.array, track.element]));
        let around = |range: Range<usize>, node| range.start.min(node)..range.end.max(node + 1);
        fetch.nodes =
            nodes.map(|node| node..node + 1).reduce(|range, node| around(range, node.start)).unwrap_or(0..0);
        fetch
    }
}

/// What was fetched of an event: memory that is used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// The scopes that were fetched.
    done: u8,
    slots: Vec<Slot>,
    /// Of strings and BLOBs.
    bytes: Vec<u8>,
    /// Of arrays, with their registers.
    elements: Vec<(usize, Slot)>,
    counters: Vec<Counter>,
    /// The element that a condition is about.
    element: Slot,
    /// The message that the class renders.
    message: Slot,
}

/// Which element of an array is current, and which is wanted.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    current: i64,
    wanted: i64,
}

/// A value that was fetched.
#[derive(Clone, Copy, Debug, Default)]
enum Slot {
    #[default]
    Nothing,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    /// From an index in the bytes on.
    Text(usize, usize),
    Blob(usize, usize),
    Guid(Uuid),
    /// A structure or the like.
    Structure,
    /// This many elements, from an index in the elements on, if they were fetched.
    Array(u64, usize),
}

impl Fetched {
    /// Forgets the event before.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.done = 0;
        self.bytes.clear();
        self.elements.clear();
    }

    /// Fetches scopes, if that has not been done.
    #[inline]
    pub(super) fn fetch(&mut self, event: &Event<'_>, scopes: u8, all: &[ScopeFetch], registers: usize) {
        if scopes & !self.done != 0 {
            self.fetch_missing(event, scopes & !self.done, all, registers);
        }
    }

    #[inline(never)]
    fn fetch_missing(&mut self, event: &Event<'_>, missing: u8, all: &[ScopeFetch], registers: usize) {
        self.done |= missing;
        if self.slots.len() < registers {
            self.slots.resize(registers, Slot::Nothing);
        }
        for fetch in all.iter().filter(|fetch| missing & bit(fetch.scope) != 0) {
            for register in &fetch.registers {
                self.slots[*register] = Slot::Nothing;
            }
            self.counters.clear();
            self.counters.resize(fetch.tracks.len(), Counter::default());
            // Readers deliver events that can be visited; what cannot be is not there.
            let _ = if fetch.tracks.is_empty() {
                event.visit(fetch.scope, &mut Fetcher::<false> { fetch, fetched: self })
            } else {
                event.visit(fetch.scope, &mut Fetcher::<true> { fetch, fetched: self })
            };
        }
        if missing & MESSAGE != 0 {
            self.message = match event.class.log.as_ref().and_then(|role| role.text) {
                Some(text) => self.render(event, text),
                None => Slot::Nothing,
            };
        }
    }

    fn render(&mut self, event: &Event<'_>, text: LogText) -> Slot {
        /// What a message is cut to.
        const LONGEST: usize = 1 << 20;
        struct Message<'b>(&'b mut Vec<u8>, usize);
        impl std::fmt::Write for Message<'_> {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                if self.0.len() + text.len() > self.1 {
                    return Err(std::fmt::Error);
                }
                self.0.extend_from_slice(text.as_bytes());
                Ok(())
            }
        }
        let begin = self.bytes.len();
        // An error is one of the limit.
        let _ = (text.write)(event, &mut Message(&mut self.bytes, begin + LONGEST));
        Slot::Text(begin, self.bytes.len())
    }

    fn value_of(&self, slot: Slot) -> Value<'_> {
        match slot {
            Slot::Boolean(value) => Value::Boolean(value),
            Slot::Integer(value) => Value::Integer(value),
            Slot::Float(value) => Value::Float(value),
            Slot::Text(begin, end) => Value::Text(self.bytes.get(begin..end).unwrap_or_default()),
            Slot::Blob(begin, end) => Value::Blob(self.bytes.get(begin..end).unwrap_or_default()),
            Slot::Guid(value) => Value::Guid(value),
            Slot::Nothing | Slot::Structure | Slot::Array(..) => Value::Unknown,
        }
    }

    /// The value of a register.
    #[inline]
    pub(super) fn value(&self, register: usize) -> Value<'_> {
        self.slots.get(register).map_or(Value::Unknown, |slot| self.value_of(*slot))
    }

    /// Whether a register has anything at all.
    pub(super) fn has(&self, register: usize) -> bool {
        !matches!(self.slots.get(register), None | Some(Slot::Nothing))
    }

    /// How many elements the array has.
    pub(super) fn array_length(&self, register: usize) -> Option<u64> {
        match self.slots.get(register) {
            Some(Slot::Array(length, _)) => Some(*length),
            _ => None,
        }
    }

    /// Where the elements of an array are that were fetched, perhaps among others; None if the array is not there.
    pub(super) fn elements(&self, register: usize) -> Option<Range<usize>> {
        match self.slots.get(register) {
            Some(Slot::Array(_, begin)) => Some(*begin..self.elements.len()),
            _ => None,
        }
    }

    /// Makes this one of all elements the one that a condition is about; false if it is of another array.
    pub(super) fn set_element(&mut self, register: usize, index: usize) -> bool {
        let element = self.elements.get(index).filter(|(of, _)| *of == register);
        self.element = element.map(|(_, slot)| *slot).unwrap_or_default();
        element.is_some()
    }

    pub(super) fn element(&self) -> Value<'_> {
        self.value_of(self.element)
    }

    pub(super) fn message(&self) -> Value<'_> {
        self.value_of(self.message)
    }
}

/// Takes what is wanted of a scope.
struct Fetcher<'f, const TRACKS: bool> {
    fetch: &'f ScopeFetch,
    fetched: &'f mut Fetched,
}

impl<const TRACKS: bool> Fetcher<'_, TRACKS> {
    /// A field begins; an array with its number of elements. Calls `slot` for its value if it is wanted.
    #[inline]
    fn begin(&mut self, field: Field<'_>, length: Option<u64>, slot: impl FnOnce(&mut Fetched) -> Slot) {
        let node = field.index();
        if self.fetch.nodes.contains(&node) {
            self.look(node, length, slot);
        }
    }

    #[inline]
    fn look(&mut self, node: usize, length: Option<u64>, slot: impl FnOnce(&mut Fetched) -> Slot) {
        if TRACKS {
            self.count(node, length);
        }
        let mut slot = Some(slot);
        let mut known = Slot::Nothing;
        for wanted in self.fetch.wanted.iter().filter(|wanted| wanted.node == node) {
            let counters = self.fetched.counters.get(wanted.tracks.clone()).unwrap_or_default();
            if TRACKS && counters.iter().any(|counter| counter.current != counter.wanted) {
                continue;
            }
            if let Some(slot) = slot.take() {
                known = slot(self.fetched);
            }
            let begin = self.fetched.elements.len();
            match (wanted.part, self.fetched.slots.get_mut(wanted.register)) {
                (Part::Value, Some(slot @ Slot::Nothing)) => *slot = known,
                (Part::Array, Some(slot @ Slot::Nothing)) => *slot = Slot::Array(length.unwrap_or(0), begin),
                (Part::Element, Some(Slot::Array(..))) => {
                    self.fetched.elements.push((wanted.register, known))
                }
                _ => {}
            }
        }
    }

    /// Counts elements.
    fn count(&mut self, node: usize, length: Option<u64>) {
        for (track, counter) in self.fetch.tracks.iter().zip(&mut self.fetched.counters) {
            if track.element == node {
                counter.current = counter.current.saturating_add(1);
            }
            if track.array == node {
                let length = i64::try_from(length.unwrap_or(0)).unwrap_or(i64::MAX);
                let wanted = if track.index < 0 { length.saturating_add(track.index) } else { track.index };
                // None of the elements is the one before the first.
                *counter = Counter { current: -1, wanted: if wanted < 0 { i64::MAX } else { wanted } };
            }
        }
    }
}

impl Fetched {
    fn add_bytes(&mut self, bytes: &[u8]) -> (usize, usize) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        (begin, self.bytes.len())
    }
}

impl<const TRACKS: bool> Visitor for Fetcher<'_, TRACKS> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.begin(field, None, |_| Slot::Integer(value.into()));
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.begin(field, None, |_| Slot::Integer(value.into()));
    }

    fn wide(&mut self, field: Field<'_>, value: Wide<'_>) {
        self.begin(field, None, |_| value.as_i128().map_or(Slot::Nothing, Slot::Integer));
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.begin(field, None, |_| Slot::Boolean(value));
    }

    fn bit_array(&mut self, field: Field<'_>, bits: u64) {
        self.begin(field, None, |_| Slot::Integer(bits.into()));
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.begin(field, None, |_| Slot::Integer(bits.into()));
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.begin(field, None, |_| Slot::Float(value.to_f64()));
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.begin(field, None, |fetched| {
            let begin = fetched.bytes.len();
            value.write_utf8(&mut fetched.bytes);
            Slot::Text(begin, fetched.bytes.len())
        });
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.begin(field, None, |fetched| {
            let (begin, end) = fetched.add_bytes(bytes);
            Slot::Blob(begin, end)
        });
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.begin(field, None, |_| Slot::Guid(value));
    }

    fn null(&mut self, field: Field<'_>) {
        self.begin(field, None, |_| Slot::Nothing);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, None, |_| Slot::Structure);
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.begin(field, Some(length), |_| Slot::Array(length, 0));
    }

    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.begin(field, None, |_| Slot::Nothing);
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.begin(field, None, |_| Slot::Nothing);
    }

    fn begin_union(&mut self, field: Field<'_>) {
        self.begin(field, None, |_| Slot::Structure);
    }
}
