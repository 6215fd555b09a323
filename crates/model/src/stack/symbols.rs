//! Function and module names by address and time.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name and kind of an address range during a time range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// First address.
    pub begin: u64,
    /// Address after the last one.
    pub end: u64,
    /// Start of the time range, in nanoseconds from the origin of the trace clock; `i128::MIN` if before the trace, or
    /// unknown.
    pub from: i128,
    /// Exclusive end of the time range. `None`: until the end of the trace, or until something else is loaded there.
    pub until: Option<i128>,
    /// Function name; `None` for a module without function details.
    pub name: Option<Arc<str>>,
    /// Name of the containing module.
    pub module: Option<Arc<str>>,
    /// Code kind.
    pub kind: CodeKind,
}

/// Code kind in an address range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CodeKind {
    /// Unknown.
    #[default]
    Unknown,
    /// Machine code of a program or a library, compiled before it ran.
    Native,
    /// Virtual machine code, compiled before or while it ran.
    Managed,
    /// Kernel code.
    Kernel,
}

/// Symbols at an address and a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved<'a> {
    /// Function, or the module if the function is unknown.
    pub symbol: &'a Symbol,
    /// The function's module, or the module loaded at the address.
    pub module: Option<&'a Arc<str>>,
    /// Code kind of the function, or of the module loaded at the address.
    pub kind: CodeKind,
    /// Time range in which the address has the same symbols.
    pub validity: Validity,
}

/// Time range in which the symbols at an address stay the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validity {
    /// Start in nanoseconds from the clock's origin; `i128::MIN` if unbounded.
    pub from: i128,
    /// Exclusive end; `None` if unbounded.
    pub until: Option<i128>,
}

/// Names for the code addresses in a trace: function and module by address and time.
///
/// A place in memory has one content at a time. If several ranges contain an address, the range loaded last counts, and
/// earlier ranges do not come back after it is unloaded. If ranges were loaded at the same time (for example before the
/// trace, `i128::MIN`), the range unloaded first counts until then. For equally long ranges, the narrowest counts, then
/// the last one given. Functions and modules (symbols without a name) are two separate layers: loading a function does
/// not end its module, nor the other way round.
///
/// ```
/// use ichnos_model::stack::{Symbol, Symbols};
///
/// let library = Symbol { begin: 0, end: 100, module: Some("lib".into()), ..Symbol::default() };
/// let old = Symbol { begin: 10, end: 20, from: i128::MIN, name: Some("old".into()), ..Symbol::default() };
/// let new = Symbol { begin: 15, end: 25, from: 7, name: Some("new".into()), ..Symbol::default() };
/// let symbols = Symbols::new([library, old, new].map(|symbol| (0, symbol)));
///
/// let name = |address, time| symbols.resolve(0, address, time)?.symbol.name.as_deref();
/// assert_eq!((name(16, 6), name(16, 7), name(12, 7)), (Some("old"), Some("new"), Some("old")));
/// let at_90 = symbols.resolve(0, 90, 7).unwrap();
/// assert_eq!((&at_90.symbol.name, at_90.module.map(|module| &**module)), (&None, Some("lib")));
/// assert_eq!(symbols.resolve(0, 100, 7), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Symbols by address space.
    spaces: BTreeMap<u32, Space>,
    /// Thread names by process, if known, and thread.
    threads: BTreeMap<(Option<u64>, u64), Arc<str>>,
    is_incomplete: bool,
}

/// Symbols in an address space.
#[derive(Clone, Debug, Default)]
struct Space {
    functions: Layer,
    modules: Layer,
}

impl Symbols {
    /// Indexes symbols by their address space number: 0 if there is only one. Symbols with an empty address or time
    /// range are ignored. For `n` symbols, this takes O(n log n) steps and at most as much memory.
    #[must_use]
    pub fn new(symbols: impl IntoIterator<Item = (u32, Symbol)>) -> Self {
        let mut spaces: BTreeMap<u32, [Vec<Symbol>; 2]> = BTreeMap::new();
        for (space, symbol) in symbols {
            if symbol.begin < symbol.end && symbol.until.is_none_or(|until| symbol.from < until) {
                let layer = usize::from(symbol.name.is_none());
                spaces.entry(space).or_default()[layer].push(symbol);
            }
        }
        let layers = |[functions, modules]: [Vec<Symbol>; 2]| Space {
            functions: Layer::new(functions),
            modules: Layer::new(modules),
        };
        let spaces = spaces.into_iter().map(|(space, symbols)| (space, layers(symbols))).collect();
        Self { spaces, threads: BTreeMap::new(), is_incomplete: false }
    }

    /// Adds thread names that other events in the trace reveal, by process, if known, and thread.
    #[must_use]
    pub fn with_thread_names(self, names: impl IntoIterator<Item = ((Option<u64>, u64), Arc<str>)>) -> Self {
        Self { threads: names.into_iter().collect(), ..self }
    }

    /// Declares that some symbols or thread names are missing, because there are too many.
    #[must_use]
    pub fn incomplete(self) -> Self {
        Self { is_incomplete: true, ..self }
    }

    /// Returns `true` if some symbols or thread names are missing, because there are too many.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Returns a thread name, for events that do not contain it.
    #[must_use]
    pub fn thread_name(&self, process: Option<u64>, thread: u64) -> Option<&Arc<str>> {
        self.threads.get(&(process, thread))
    }

    /// Returns all thread names.
    pub fn thread_names(&self) -> impl Iterator<Item = ((Option<u64>, u64), &Arc<str>)> {
        self.threads.iter().map(|(thread, name)| (*thread, name))
    }

    /// Returns the symbols at an address and a time, in nanoseconds from the clock's origin, or `None` if unknown. For
    /// `n` symbols, this takes O(log n) steps if functions do not overlap, and never more than O(log² n).
    #[must_use]
    pub fn resolve(&self, space: u32, address: u64, time: i128) -> Option<Resolved<'_>> {
        self.find(space, address, time).0
    }

    /// Returns the time range in which [`Symbols::resolve`] returns the same result for this address, even if the
    /// result is `None`.
    #[must_use]
    pub fn validity(&self, space: u32, address: u64, time: i128) -> Validity {
        self.find(space, address, time).1
    }

    /// Returns all symbols with their address space numbers, as in [`Symbols::new`].
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Symbol)> {
        self.spaces.iter().flat_map(|(number, space)| {
            let symbols = space.functions.symbols.iter().chain(&space.modules.symbols);
            symbols.map(|symbol| (*number, symbol))
        })
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spaces.values().map(|space| space.functions.symbols.len() + space.modules.symbols.len()).sum()
    }

    /// Returns `true` if there are no symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    fn find(&self, space: u32, address: u64, time: i128) -> (Option<Resolved<'_>>, Validity) {
        let Some(space) = self.spaces.get(&space) else { return (None, Validity::EVER) };
        let (function, validity) = space.functions.find(address, time);
        if let Some(symbol) = function
            && symbol.module.is_some()
            && symbol.kind != CodeKind::Unknown
        {
            let Symbol { module, kind, .. } = symbol;
            return (Some(Resolved { symbol, module: module.as_ref(), kind: *kind, validity }), validity);
        }
        let (module, other) = space.modules.find(address, time);
        let validity = validity.and(other);
        let resolved = function.or(module).map(|symbol| {
            let own = symbol.module.as_ref();
            let kind = match symbol.kind {
                CodeKind::Unknown => module.map_or(CodeKind::Unknown, |module| module.kind),
                kind => kind,
            };
            Resolved {
                symbol,
                module: own.or(module.and_then(|module| module.module.as_ref())),
                kind,
                validity,
            }
        });
        (resolved, validity)
    }
}

impl FromIterator<(u32, Symbol)> for Symbols {
    fn from_iter<I: IntoIterator<Item = (u32, Symbol)>>(symbols: I) -> Self {
        Self::new(symbols)
    }
}

impl Validity {
    /// All times.
    pub const EVER: Self = Self { from: i128::MIN, until: None };

    /// Returns `true` if the range contains this time.
    #[must_use]
    pub fn contains(&self, time: i128) -> bool {
        self.from <= time && self.until.is_none_or(|until| time < until)
    }

    /// Returns the intersection of both ranges.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let until = [self.until, other.until].into_iter().flatten().min();
        Self { from: self.from.max(other.from), until }
    }
}

/// Symbols with a single winner at each address and time: a segment tree over address bounds. A node lists the symbols
/// that cover all addresses of the node, but not all addresses of its parent. Each symbol is in O(log n) lists, and in
/// a single list if it overlaps no other symbol.
#[derive(Clone, Debug, Default)]
struct Layer {
    /// Symbols sorted by [`loading_order`].
    symbols: Vec<Symbol>,
    /// Sorted bounds of all symbols. Leaf `i` of the tree is between the bounds `i` and `i + 1`.
    bounds: Vec<u64>,
    /// Start of each node's list in `lists`, followed by the end of the last list. Node 1 is the root. The children of
    /// node `i` are `2 * i` and `2 * i + 1`.
    begins: Vec<usize>,
    /// Symbol indexes, in order within each list.
    lists: Vec<u32>,
}

/// Sorts symbols by loading time, then by unloading time (latest first), then by width (widest first).
fn loading_order(a: &Symbol, b: &Symbol) -> Ordering {
    let end = |symbol: &Symbol| symbol.until.unwrap_or(i128::MAX);
    let key = |symbol: &Symbol| (symbol.from, Reverse(end(symbol)), Reverse(symbol.end - symbol.begin));
    key(a).cmp(&key(b))
}

impl Layer {
    fn new(mut symbols: Vec<Symbol>) -> Self {
        // Indexes have 32 bits. More symbols would not fit into memory.
        symbols.truncate(u32::MAX as usize);
        symbols.sort_by(loading_order);
        let mut bounds: Vec<u64> = symbols.iter().flat_map(|symbol| [symbol.begin, symbol.end]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        bounds.shrink_to_fit();
        let leaves = bounds.len().saturating_sub(1);
        // First the length of each list, then its start, then (while filling) the place for its next index.
        let mut begins = vec![0; 2 * leaves + 1];
        for symbol in &symbols {
            nodes_of(symbol, &bounds, |node| begins[node + 1] += 1);
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        let mut lists = vec![0; sum];
        let mut next = begins.clone();
        for (symbol, index) in symbols.iter().zip(0..) {
            nodes_of(symbol, &bounds, |node| {
                lists[next[node]] = index;
                next[node] += 1;
            });
        }
        Self { symbols, bounds, begins, lists }
    }

    /// Winning symbol, and the validity of the result, even without a symbol.
    fn find(&self, address: u64, time: i128) -> (Option<&Symbol>, Validity) {
        let behind = self.bounds.partition_point(|bound| *bound <= address);
        if behind == 0 || behind == self.bounds.len() {
            return (None, Validity::EVER);
        }
        let mut best: Option<u32> = None;
        let mut last_load: Option<i128> = None;
        let mut validity = Validity::EVER;
        let mut node = behind - 1 + self.bounds.len() - 1;
        while node > 0 {
            let list = self.list(node);
            node /= 2;
            let loaded = list.partition_point(|index| self.at(*index).from <= time);
            if let Some(next) = list.get(loaded) {
                validity = validity.and(Validity { from: i128::MIN, until: Some(self.at(*next).from) });
            }
            let Some(last) = list[..loaded].last() else { continue };
            let from = self.at(*last).from;
            match last_load.map_or(Ordering::Greater, |last| from.cmp(&last)) {
                Ordering::Less => continue,
                Ordering::Equal => {}
                Ordering::Greater => {
                    (best, last_load) = (None, Some(from));
                    validity.from = from;
                }
            }
            // Symbols loaded at that time: first those still loaded, then those unloaded.
            let group = &list[list[..loaded].partition_point(|index| self.at(*index).from < from)..loaded];
            let there = group.partition_point(|index| self.at(*index).until.is_none_or(|until| time < until));
            if let Some(until) = group.get(there).and_then(|index| self.at(*index).until) {
                validity.from = validity.from.max(until);
            }
            best = best.max(group[..there].last().copied());
        }
        let best = best.map(|index| self.at(index));
        let until = best.and_then(|symbol| symbol.until);
        (best, validity.and(Validity { from: i128::MIN, until }))
    }

    fn list(&self, node: usize) -> &[u32] {
        match self.begins.get(node..node + 2) {
            // Lists are stored in order, so the range always exists.
            Some([begin, end]) => self.lists.get(*begin..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    fn at(&self, index: u32) -> &Symbol {
        // Lists contain only valid indexes.
        &self.symbols[index as usize]
    }
}

/// Calls `visit` with the tree nodes that together cover a symbol.
fn nodes_of(symbol: &Symbol, bounds: &[u64], mut visit: impl FnMut(usize)) {
    let leaves = bounds.len() - 1;
    let leaf = |address: u64| bounds.partition_point(|bound| *bound < address) + leaves;
    let (mut begin, mut end) = (leaf(symbol.begin), leaf(symbol.end));
    while begin < end {
        if begin % 2 == 1 {
            visit(begin);
            begin += 1;
        }
        if end % 2 == 1 {
            end -= 1;
            visit(end);
        }
        begin /= 2;
        end /= 2;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ichnos_testing::{Random, cases, in_cpu_time};

    use super::*;

    fn symbol(range: (u64, u64), times: (i128, Option<i128>), name: &str) -> Symbol {
        let name = (!name.is_empty()).then(|| name.into());
        Symbol { begin: range.0, end: range.1, from: times.0, until: times.1, name, ..Symbol::default() }
    }

    fn of<const N: usize>(symbols: [Symbol; N]) -> Symbols {
        symbols.into_iter().map(|symbol| (0, symbol)).collect()
    }

    fn name(symbols: &Symbols, address: u64, time: i128) -> Option<&str> {
        symbols.resolve(0, address, time)?.symbol.name.as_deref()
    }

    #[test]
    fn a_later_load_ends_an_earlier_one() {
        let symbols = of([
            symbol((10, 20), (0, None), "old"),
            symbol((10, 15), (5, Some(8)), "new"),
            symbol((10, 20), (9, None), "newest"),
        ]);
        let names = [-1, 0, 4, 5, 7, 8, 9].map(|time| name(&symbols, 12, time));
        assert_eq!(names, [None, Some("old"), Some("old"), Some("new"), Some("new"), None, Some("newest")]);
        assert_eq!(name(&symbols, 17, 8), Some("old"));
        let validity = symbols.validity(0, 12, 8);
        assert_eq!((validity.from, validity.until), (8, Some(9)));
        let validity = symbols.resolve(0, 12, 6).unwrap().validity;
        assert_eq!((validity.from, validity.until), (5, Some(8)));
        assert_eq!(symbols.resolve(1, 12, 6), None);
    }

    #[test]
    fn what_was_there_before_the_trace_counts_until_it_is_unloaded() {
        let symbols = of([
            symbol((0, 9), (i128::MIN, None), "there at the end"),
            symbol((0, 5), (i128::MIN, Some(3)), "unloaded"),
            symbol((4, 5), (i128::MIN, None), "narrow"),
        ]);
        assert_eq!([2, 3].map(|time| name(&symbols, 2, time)), [Some("unloaded"), Some("there at the end")]);
        assert_eq!([2, 3].map(|time| name(&symbols, 4, time)), [Some("unloaded"), Some("narrow")]);
    }

    #[test]
    fn functions_lie_in_modules() {
        let module = |range, module: &str| Symbol {
            module: Some(module.into()),
            kind: CodeKind::Native,
            ..symbol(range, (5, None), "")
        };
        let symbols = of([
            module((0, 100), "a"),
            module((50, 100), "b"),
            symbol((40, 60), (0, Some(9)), "f"),
            Symbol { module: Some("own".into()), ..symbol((0, 4), (0, None), "g") },
        ]);
        let module = |address, time| {
            let resolved = symbols.resolve(0, address, time)?;
            Some((resolved.symbol.name.as_deref(), resolved.module.map(|module| &**module), resolved.kind))
        };
        assert_eq!(module(45, 4), Some((Some("f"), None, CodeKind::Unknown)));
        assert_eq!(module(45, 5), Some((Some("f"), Some("a"), CodeKind::Native)));
        assert_eq!(module(55, 5), Some((Some("f"), Some("b"), CodeKind::Native)));
        assert_eq!(module(55, 9), Some((None, Some("b"), CodeKind::Native)));
        assert_eq!(module(3, 5), Some((Some("g"), Some("own"), CodeKind::Native)));
        let validity = symbols.validity(0, 45, 5);
        assert_eq!((validity.from, validity.until), (5, Some(9)));
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let symbols = of([
            symbol((5, 5), (0, None), "no address"),
            symbol((6, 5), (0, None), "backward"),
            symbol((5, 6), (2, Some(2)), "no time"),
        ]);
        assert_eq!((symbols.len(), symbols.resolve(0, 5, 2)), (0, None));
        assert!(symbols.is_empty());
    }

    /// Slow reference implementation of [`Symbols::find`], written from its description.
    fn naive(symbols: &[Symbol], address: u64, time: i128) -> Option<usize> {
        let loaded = || {
            symbols.iter().enumerate().filter(move |(_, symbol)| {
                symbol.begin <= address && address < symbol.end && symbol.from <= time
            })
        };
        let from = loaded().map(|(_, symbol)| symbol.from).max()?;
        let there = loaded()
            .filter(|(_, symbol)| symbol.from == from && symbol.until.is_none_or(|until| time < until));
        let best = there.min_by_key(|(index, symbol)| {
            (symbol.until.unwrap_or(i128::MAX), symbol.end - symbol.begin, Reverse(*index))
        })?;
        Some(best.0)
    }

    #[test]
    fn any_symbols_resolve_as_described_and_as_long_as_they_say() {
        cases(300, |random: &mut Random| {
            let symbols: Vec<Symbol> = (0..random.below(30))
                .map(|index| {
                    let begin = random.below(20);
                    let from = if random.below(3) == 0 { i128::MIN } else { i128::from(random.below(10)) };
                    let until = (random.below(2) == 0).then(|| i128::from(random.below(12)));
                    symbol((begin, begin + random.below(8)), (from, until), &index.to_string())
                })
                .collect();
            let built: Symbols = symbols.iter().map(|symbol| (3, symbol.clone())).collect();
            let used: Vec<Symbol> = symbols
                .into_iter()
                .filter(|symbol| {
                    symbol.begin < symbol.end && symbol.until.is_none_or(|until| symbol.from < until)
                })
                .collect();
            let again: Symbols = built.iter().map(|(space, symbol)| (space, symbol.clone())).collect();
            assert!(built.iter().eq(again.iter()) && built.len() == again.iter().count());
            for address in 0..30 {
                let answers: Vec<_> = (-1..14).map(|time| naive(&used, address, time)).collect();
                for (time, expected) in (-1..14).zip(&answers) {
                    let found = built.resolve(3, address, time).map(|resolved| resolved.symbol);
                    assert_eq!(found, expected.map(|index| &used[index]), "{address} at {time}");
                    let validity = built.validity(3, address, time);
                    assert!(validity.contains(time), "{validity:?} {time}");
                    for (other, answer) in (-1..14).zip(&answers) {
                        assert!(!validity.contains(other) || answer == expected, "{address} at {other}");
                    }
                }
            }
        });
    }

    #[test]
    fn many_that_overlap_do_not_take_long() {
        let count = 100_000;
        in_cpu_time(Duration::from_secs(20), "nested symbols", || {
            let symbols: Symbols =
                (0..count).map(|i| (0, symbol((i, 2 * count - i), (i.into(), None), "nested"))).collect();
            for address in 0..count {
                let resolved = symbols.resolve(0, address, i128::MAX).unwrap();
                assert_eq!(resolved.symbol.begin, address);
            }
        });
    }
}
