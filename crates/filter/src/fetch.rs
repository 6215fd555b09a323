//! Fetches only the fields of an event that an expression needs.

use std::ops::Range;

use ichnos_model::class::Uuid;
use ichnos_model::field::{Field, FieldValue, Text};
use ichnos_model::log::LogText;
use ichnos_model::{Event, Scope, Visitor};

use super::value::FilterValue;

/// Field to fetch, or several variant options. An event contains at most one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) scope: Scope,
    pub(super) targets: Vec<PlanNode>,
    /// `true` to fetch the elements of the array, too.
    pub(super) has_elements: bool,
}

/// Plan node in a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlanNode {
    pub(super) node: usize,
    /// Enclosing arrays with a wanted element, outermost first.
    pub(super) elements: Vec<ElementOf>,
    /// Element node, if elements are wanted.
    pub(super) element: Option<usize>,
}

/// Array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementOf {
    /// Array node.
    pub(super) array: usize,
    /// Element node.
    pub(super) element: usize,
    /// Element index. Negative indexes count from the end.
    pub(super) index: i64,
}

/// Fields to fetch from a scope.
#[derive(Debug)]
pub(super) struct ScopeFetch {
    scope: Scope,
    registers: Vec<usize>,
    wanted: Vec<WantedField>,
    tracks: Vec<ElementOf>,
    /// Range of relevant nodes.
    nodes: Range<usize>,
}

#[derive(Debug)]
struct WantedField {
    node: usize,
    register: usize,
    part: FieldPart,
    /// Enclosing arrays, as a range in the tracks of the scope.
    tracks: Range<usize>,
}

/// Part of a field to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldPart {
    Value,
    /// Length of an array, and positions of its elements.
    Array,
    /// Array element.
    Element,
}

/// Bit for the rendered message. It does not belong to a scope.
pub(super) const MESSAGE: u8 = 1 << 7;

/// Returns the bit for a scope.
pub(super) const fn bit(scope: Scope) -> u8 {
    1 << scope as u8
}

impl ScopeFetch {
    /// Returns the fields that these registers need, by scope.
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
                let part = if *has_elements { FieldPart::Array } else { FieldPart::Value };
                fetch.wanted.push(WantedField { node: target.node, register, part, tracks: tracks.clone() });
                if let Some(node) = target.element.filter(|_| *has_elements) {
                    fetch.wanted.push(WantedField { node, register, part: FieldPart::Element, tracks });
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

/// Fetched fields of an event. The memory is reused for the next event.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// Scopes that were fetched.
    done: u8,
    slots: Vec<FetchedValue>,
    /// String and BLOB bytes.
    bytes: Vec<u8>,
    /// Array elements, with their registers.
    elements: Vec<(usize, FetchedValue)>,
    counters: Vec<ElementCounter>,
    /// Array element that a condition tests.
    element: FetchedValue,
    /// Rendered message.
    message: FetchedValue,
}

/// Current and wanted element index of an array.
#[derive(Clone, Copy, Debug, Default)]
struct ElementCounter {
    current: i64,
    wanted: i64,
}

/// Fetched value.
#[derive(Clone, Copy, Debug, Default)]
enum FetchedValue {
    #[default]
    Nothing,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    /// Start and end of a text in the bytes.
    Text(usize, usize),
    Blob(usize, usize),
    Guid(Uuid),
    /// Structure or another compound value.
    Structure,
    /// Array length, and the index of the first element if elements were fetched.
    Array(u64, usize),
}

impl Fetched {
    /// Removes the values of the previous event.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.done = 0;
        self.bytes.clear();
        self.elements.clear();
    }

    /// Fetches scopes that were not fetched yet.
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
            self.slots.resize(registers, FetchedValue::Nothing);
        }
        for fetch in all.iter().filter(|fetch| missing & bit(fetch.scope) != 0) {
            for register in &fetch.registers {
                self.slots[*register] = FetchedValue::Nothing;
            }
            self.counters.clear();
            self.counters.resize(fetch.tracks.len(), ElementCounter::default());
            // Readers check that events can be visited. Unreadable fields count as missing.
            let _ = if fetch.tracks.is_empty() {
                event.visit(fetch.scope, &mut Fetcher::<false> { fetch, fetched: self })
            } else {
                event.visit(fetch.scope, &mut Fetcher::<true> { fetch, fetched: self })
            };
        }
        if missing & MESSAGE != 0 {
            self.message = match event.class.log.as_ref().and_then(|role| role.text) {
                Some(text) => self.render(event, text),
                None => FetchedValue::Nothing,
            };
        }
    }

    fn render(&mut self, event: &Event<'_>, text: LogText) -> FetchedValue {
        /// Maximum message length in bytes. Longer messages are cut.
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
        // The only possible error is reaching the limit.
        let _ = (text.write)(event, &mut Message(&mut self.bytes, begin + LONGEST));
        FetchedValue::Text(begin, self.bytes.len())
    }

    fn value_of(&self, slot: FetchedValue) -> FilterValue<'_> {
        match slot {
            FetchedValue::Boolean(value) => FilterValue::Boolean(value),
            FetchedValue::Integer(value) => FilterValue::Integer(value),
            FetchedValue::Float(value) => FilterValue::Float(value),
            FetchedValue::Text(begin, end) => {
                FilterValue::Text(self.bytes.get(begin..end).unwrap_or_default())
            }
            FetchedValue::Blob(begin, end) => {
                FilterValue::Blob(self.bytes.get(begin..end).unwrap_or_default())
            }
            FetchedValue::Guid(value) => FilterValue::Guid(value),
            FetchedValue::Nothing | FetchedValue::Structure | FetchedValue::Array(..) => FilterValue::Unknown,
        }
    }

    /// Returns the value in a register.
    #[inline]
    pub(super) fn value(&self, register: usize) -> FilterValue<'_> {
        self.slots.get(register).map_or(FilterValue::Unknown, |slot| self.value_of(*slot))
    }

    /// Returns `true` if a register contains a value.
    pub(super) fn has(&self, register: usize) -> bool {
        !matches!(self.slots.get(register), None | Some(FetchedValue::Nothing))
    }

    /// Returns the length of an array.
    pub(super) fn array_length(&self, register: usize) -> Option<u64> {
        match self.slots.get(register) {
            Some(FetchedValue::Array(length, _)) => Some(*length),
            _ => None,
        }
    }

    /// Returns a range with all fetched elements of an array, and possibly others. `None` if the array is missing.
    pub(super) fn elements(&self, register: usize) -> Option<Range<usize>> {
        match self.slots.get(register) {
            Some(FetchedValue::Array(_, begin)) => Some(*begin..self.elements.len()),
            _ => None,
        }
    }

    /// Selects the element for a condition. Returns `false` if it belongs to another array.
    pub(super) fn set_element(&mut self, register: usize, index: usize) -> bool {
        let element = self.elements.get(index).filter(|(of, _)| *of == register);
        self.element = element.map(|(_, slot)| *slot).unwrap_or_default();
        element.is_some()
    }

    pub(super) fn element(&self) -> FilterValue<'_> {
        self.value_of(self.element)
    }

    pub(super) fn message(&self) -> FilterValue<'_> {
        self.value_of(self.message)
    }
}

/// Visitor that keeps the wanted fields of a scope.
struct Fetcher<'f, const TRACKS: bool> {
    fetch: &'f ScopeFetch,
    fetched: &'f mut Fetched,
}

impl<const TRACKS: bool> Fetcher<'_, TRACKS> {
    /// Starts a field or an array, and calls `slot` if its value is wanted. `length` is the number of elements.
    #[inline]
    fn begin(
        &mut self,
        field: Field<'_>,
        length: Option<u64>,
        slot: impl FnOnce(&mut Fetched) -> FetchedValue,
    ) {
        let node = field.index();
        if self.fetch.nodes.contains(&node) {
            self.look(node, length, slot);
        }
    }

    #[inline]
    fn look(&mut self, node: usize, length: Option<u64>, slot: impl FnOnce(&mut Fetched) -> FetchedValue) {
        if TRACKS {
            self.count(node, length);
        }
        let mut slot = Some(slot);
        let mut known = FetchedValue::Nothing;
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
                (FieldPart::Value, Some(slot @ FetchedValue::Nothing)) => *slot = known,
                (FieldPart::Array, Some(slot @ FetchedValue::Nothing)) => {
                    *slot = FetchedValue::Array(length.unwrap_or(0), begin)
                }
                (FieldPart::Element, Some(FetchedValue::Array(..))) => {
                    self.fetched.elements.push((wanted.register, known))
                }
                _ => {}
            }
        }
    }

    /// Starts to count array elements.
    fn count(&mut self, node: usize, length: Option<u64>) {
        for (track, counter) in self.fetch.tracks.iter().zip(&mut self.fetched.counters) {
            if track.element == node {
                counter.current = counter.current.saturating_add(1);
            }
            if track.array == node {
                let length = i64::try_from(length.unwrap_or(0)).unwrap_or(i64::MAX);
                let wanted = if track.index < 0 { length.saturating_add(track.index) } else { track.index };
                // An index before the first element never matches.
                *counter = ElementCounter { current: -1, wanted: if wanted < 0 { i64::MAX } else { wanted } };
            }
        }
    }
}

impl<const TRACKS: bool> Visitor for Fetcher<'_, TRACKS> {
    // Inlined into each visitor method: most fields are only compared with the range of wanted nodes.
    #[inline(always)]
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        self.begin(field, None, |fetched| match value {
            FieldValue::Unsigned(value) | FieldValue::Bits(value) => FetchedValue::Integer(value.into()),
            FieldValue::Signed(value) => FetchedValue::Integer(value.into()),
            FieldValue::Integer(value) => FetchedValue::Integer(value),
            FieldValue::Wide(value) => value.as_i128().map_or(FetchedValue::Nothing, FetchedValue::Integer),
            FieldValue::Boolean(value) => FetchedValue::Boolean(value),
            FieldValue::Real(value) => FetchedValue::Float(value.to_f64()),
            FieldValue::Blob(bytes) => {
                let begin = fetched.bytes.len();
                fetched.bytes.extend_from_slice(bytes);
                FetchedValue::Blob(begin, fetched.bytes.len())
            }
            FieldValue::Guid(value) => FetchedValue::Guid(value),
            _ => FetchedValue::Nothing,
        });
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.begin(field, None, |fetched| {
            let begin = fetched.bytes.len();
            value.write_utf8(&mut fetched.bytes);
            FetchedValue::Text(begin, fetched.bytes.len())
        });
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, None, |_| FetchedValue::Structure);
    }

    fn begin_array(&mut self, field: Field<'_>, length: u64) {
        self.begin(field, Some(length), |_| FetchedValue::Array(length, 0));
    }

    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.begin(field, None, |_| FetchedValue::Nothing);
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.begin(field, None, |_| FetchedValue::Nothing);
    }
}
