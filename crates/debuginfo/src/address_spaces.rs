//! Binaries by process, address and time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ichnos_model::stack::{CodeKind, Symbol, Symbols, Validity};

use crate::binary_id::{BinaryId, MappingBase};

/// Binaries by process, address and time.
///
/// ```
/// use ichnos_debuginfo::{AddressSpaceEvent, AddressSpacesBuilder, LoadedBinary};
///
/// let mut builder = AddressSpacesBuilder::default();
/// let library = LoadedBinary::new(0x7f00_0000, 0x1000, "/usr/lib/libfoo.so");
/// builder.add(10, 42, AddressSpaceEvent::Load(library));
/// builder.add(20, 42, AddressSpaceEvent::Unload { base: 0x7f00_0000 });
/// let spaces = builder.build();
///
/// let path = |time| Some(&*spaces.find(42, 0x7f00_0100, time)?.binary.path);
/// assert_eq!((path(9), path(10), path(20)), (None, Some("/usr/lib/libfoo.so"), None));
/// ```
#[derive(Debug, Default)]
pub struct AddressSpaces {
    /// Modules. An address space has the number of its process.
    symbols: Symbols,
    thread_names: ThreadNames,
    mappings: HashMap<MappingKey, BinaryMapping>,
    /// Times at which the binaries of a process were listed again.
    restarts: HashMap<i64, Vec<i128>>,
    is_incomplete: bool,
}

/// Thread names by process and thread.
type ThreadNames = BTreeMap<(Option<u64>, u64), Arc<str>>;

/// Address space, first address and first time.
type MappingKey = (u32, u64, i128);

#[derive(Debug)]
struct BinaryMapping {
    binary: Arc<BinaryId>,
    base: MappingBase,
}

/// A binary at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MappedBinary<'a> {
    /// The binary.
    pub binary: &'a Arc<BinaryId>,
    /// Address at which the binary was loaded.
    pub base: u64,
    /// Meaning of this address.
    pub kind: MappingBase,
}

/// A binary that was loaded into an address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedBinary {
    /// First address.
    pub base: u64,
    /// Size in memory in bytes. A binary without size is ignored. `None` if unknown.
    pub size: Option<u64>,
    /// Path in the traced system.
    pub path: Arc<str>,
    /// Meaning of the first address.
    pub kind: MappingBase,
}

impl LoadedBinary {
    /// Creates a loaded binary.
    pub fn new(base: u64, size: u64, path: impl Into<Arc<str>>) -> Self {
        Self { base, size: Some(size), path: path.into(), kind: MappingBase::default() }
    }

    /// Sets the meaning of the first address.
    #[must_use]
    pub fn with_kind(self, kind: MappingBase) -> Self {
        Self { kind, ..self }
    }
}

/// Change in an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressSpaceEvent {
    /// Other events list all binaries again. Earlier binaries are forgotten.
    Clear,
    /// A binary was loaded, or was loaded before.
    Load(LoadedBinary),
    /// The binary at an address was unloaded.
    Unload {
        /// First address.
        base: u64,
    },
    /// Another process created this process, which starts with the same binaries.
    Fork {
        /// The other process.
        parent: i64,
    },
    /// A thread has a name.
    ThreadName {
        /// The thread.
        thread: u64,
        /// Its name.
        name: Arc<str>,
    },
    /// The binary at an address has a build id.
    BuildId {
        /// First address.
        base: u64,
        /// Build id.
        id: Arc<[u8]>,
    },
    /// The binary at an address has a separate debug file.
    DebugLink {
        /// First address.
        base: u64,
        /// File name.
        name: Arc<str>,
        /// Checksum of the file.
        crc: u32,
    },
}

/// Builder of [`AddressSpaces`]. Takes the events sorted by time.
#[derive(Debug)]
pub struct AddressSpacesBuilder {
    /// Maximum number of mappings, and of thread names.
    most: usize,
    open: HashMap<i64, BTreeMap<u64, OpenMapping>>,
    closed: Vec<(i64, OpenMapping, Option<i128>)>,
    /// Number of open and closed mappings.
    count: usize,
    thread_names: ThreadNames,
    restarts: HashMap<i64, Vec<i128>>,
    /// `true` if a binary stays until it is unloaded, and if its build id and its debug link are unknown before their
    /// events, as in Babeltrace.
    is_gradual: bool,
    is_incomplete: bool,
}

#[derive(Clone, Debug)]
struct OpenMapping {
    loaded: LoadedBinary,
    from: i128,
    build_id: Option<Arc<[u8]>>,
    debug_link: Option<(Arc<str>, u32)>,
}

impl Default for AddressSpacesBuilder {
    fn default() -> Self {
        Self::new(Self::MOST_MAPPINGS)
    }
}

impl AddressSpacesBuilder {
    /// Default maximum number of mappings.
    pub const MOST_MAPPINGS: usize = 1 << 20;

    /// Creates a builder for at most this number of mappings, and at most this number of thread names. Later mappings
    /// and names are dropped. Then [`AddressSpaces::is_incomplete`] returns `true`.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            open: HashMap::new(),
            closed: Vec::new(),
            count: 0,
            thread_names: ThreadNames::new(),
            restarts: HashMap::new(),
            is_gradual: false,
            is_incomplete: false,
        }
    }

    /// Keeps a binary until it is unloaded, also if another one is loaded at its address. Build ids and debug links are
    /// unknown before their events.
    pub(crate) fn gradual(self) -> Self {
        Self { is_gradual: true, ..self }
    }

    /// Adds a change in a process. The time is in nanoseconds from the clock origin.
    pub fn add(&mut self, time: i128, process: i64, event: AddressSpaceEvent) {
        match event {
            AddressSpaceEvent::Clear => {
                self.restarts.entry(process).or_default().push(time);
                for (_, mapping) in self.open.remove(&process).unwrap_or_default() {
                    self.closed.push((process, mapping, Some(time)));
                }
            }
            AddressSpaceEvent::Load(loaded) => self.load(time, process, loaded),
            AddressSpaceEvent::Unload { base } => {
                if let Some(mapping) = self.open.get_mut(&process).and_then(|open| open.remove(&base)) {
                    self.closed.push((process, mapping, Some(time)));
                }
            }
            AddressSpaceEvent::Fork { parent } => self.fork(time, process, parent),
            AddressSpaceEvent::ThreadName { thread, name } => {
                let thread = (u64::try_from(process).ok(), thread);
                if self.thread_names.len() < self.most || self.thread_names.contains_key(&thread) {
                    self.thread_names.insert(thread, name);
                } else {
                    self.is_incomplete = true;
                }
            }
            AddressSpaceEvent::BuildId { base, id } => {
                if let Some(mapping) = self.mapping(time, process, base) {
                    mapping.build_id = Some(id);
                }
            }
            AddressSpaceEvent::DebugLink { base, name, crc } => {
                if let Some(mapping) = self.mapping(time, process, base) {
                    mapping.debug_link = Some((name, crc));
                }
            }
        }
    }

    /// Returns a mapping whose binary becomes better known at a time.
    fn mapping(&mut self, time: i128, process: i64, base: u64) -> Option<&mut OpenMapping> {
        let mapping = self.open.get_mut(&process)?.get_mut(&base)?;
        if self.is_gradual && mapping.from < time {
            if self.count >= self.most {
                self.is_incomplete = true;
                return None;
            }
            self.count += 1;
            self.closed.push((process, mapping.clone(), Some(time)));
            mapping.from = time;
        }
        Some(mapping)
    }

    fn fork(&mut self, time: i128, process: i64, parent: i64) {
        let Some(inherited) = self.open.get(&parent).filter(|_| parent != process) else { return };
        if self.open.contains_key(&process) {
            return;
        }
        if self.count + inherited.len() > self.most {
            self.is_incomplete = true;
            return;
        }
        let mut inherited = inherited.clone();
        inherited.values_mut().for_each(|mapping| mapping.from = time);
        self.count += inherited.len();
        self.open.insert(process, inherited);
    }

    fn load(&mut self, time: i128, process: i64, loaded: LoadedBinary) {
        if loaded.size == Some(0) {
            return;
        }
        let open = self.open.entry(process).or_default();
        if let Some(known) = open.get(&loaded.base) {
            if self.is_gradual || (&known.loaded.path, known.loaded.size) == (&loaded.path, loaded.size) {
                return;
            }
            // Its unloading was not recorded.
            let known = open.remove(&loaded.base);
            self.closed.extend(known.map(|known| (process, known, Some(time))));
        }
        if self.count >= self.most {
            self.is_incomplete = true;
            return;
        }
        self.count += 1;
        let mapping = OpenMapping { loaded, from: time, build_id: None, debug_link: None };
        open.insert(mapping.loaded.base, mapping);
    }

    /// Records that some changes are missing.
    pub fn set_incomplete(&mut self, is_incomplete: bool) {
        self.is_incomplete |= is_incomplete;
    }

    /// Builds the table.
    #[must_use]
    pub fn build(mut self) -> AddressSpaces {
        for (process, open) in std::mem::take(&mut self.open) {
            self.closed.extend(open.into_values().map(|mapping| (process, mapping, None)));
        }
        let ends = self.ends();
        let mut spaces = AddressSpaces {
            is_incomplete: self.is_incomplete,
            thread_names: self.thread_names,
            restarts: self.restarts,
            ..AddressSpaces::default()
        };
        let mut symbols = Vec::new();
        let mut binaries: HashMap<BinaryId, Arc<BinaryId>> = HashMap::new();
        for (process, mapping, until) in self.closed {
            let OpenMapping { loaded, from, build_id, debug_link } = mapping;
            let id = BinaryId { path: loaded.path, build_id, debug_link };
            let binary = Arc::clone(binaries.entry(id.clone()).or_insert_with(|| Arc::new(id)));
            let end = loaded.size.map(|size| loaded.base.saturating_add(size));
            let end = end.or_else(|| ends.get(&(process, loaded.base)).copied());
            let space = address_space(process);
            symbols.push((
                space,
                Symbol {
                    begin: loaded.base,
                    end: end.unwrap_or(loaded.base),
                    from,
                    until,
                    name: None,
                    module: Some(Arc::clone(&binary.path)),
                    kind: CodeKind::Native,
                },
            ));
            spaces.mappings.insert((space, loaded.base, from), BinaryMapping { binary, base: loaded.kind });
        }
        spaces.symbols = Symbols::new(symbols);
        spaces
    }

    /// Returns end addresses for mappings without a size. Each ends at the next mapping in its process.
    fn ends(&self) -> HashMap<(i64, u64), u64> {
        /// Maximum mapping size in bytes.
        const MOST: u64 = 1 << 30;
        let mut bases: Vec<(i64, u64)> =
            self.closed.iter().map(|(process, mapping, _)| (*process, mapping.loaded.base)).collect();
        bases.sort_unstable();
        bases.dedup();
        let next = bases.iter().skip(1).map(Some).chain([None]);
        let ends = bases.iter().zip(next).map(|((process, base), next)| {
            let end = base.saturating_add(MOST);
            let next = next.filter(|(other, _)| other == process).map_or(end, |(_, next)| *next);
            ((*process, *base), end.min(next))
        });
        ends.collect()
    }
}

/// Returns the address space number for a process. Negative numbers, for example -1 for the kernel, become the largest
/// numbers.
fn address_space(process: i64) -> u32 {
    process as u32
}

impl AddressSpaces {
    /// Finds the binary at an address in a process, at a time in nanoseconds from the clock origin.
    #[must_use]
    pub fn find(&self, process: i64, address: u64, time: i128) -> Option<MappedBinary<'_>> {
        let space = address_space(process);
        let symbol = self.symbols.resolve(space, address, time)?.symbol;
        let mapping = self.mappings.get(&(space, symbol.begin, symbol.from))?;
        Some(MappedBinary { binary: &mapping.binary, base: symbol.begin, kind: mapping.base })
    }

    /// Returns the time range in which [`AddressSpaces::find`] returns the same result for this address.
    #[must_use]
    pub fn validity(&self, process: i64, address: u64, time: i128) -> Validity {
        self.symbols.validity(address_space(process), address, time)
    }

    /// Returns the time range around a time in which the binaries of a process are not listed again.
    pub(crate) fn epoch(&self, process: i64, time: i128) -> Validity {
        let restarts = self.restarts.get(&process).map(Vec::as_slice).unwrap_or_default();
        let next = restarts.partition_point(|restart| *restart <= time);
        let mut epoch = Validity::EVER;
        if let Some(last) = next.checked_sub(1).and_then(|last| restarts.get(last)) {
            epoch.from = *last;
        }
        epoch.until = restarts.get(next).copied();
        epoch
    }

    /// Returns module and thread names, and the functions that `functions` finds in a binary: first address, end and
    /// name. If there are too many functions, later functions are dropped, and the symbols are
    /// [incomplete](Symbols::is_incomplete).
    pub fn symbols(&self, functions: impl FnMut(MappedBinary<'_>) -> Vec<(u64, u64, Arc<str>)>) -> Symbols {
        /// Maximum number of functions, and of bytes in their names.
        const MOST: usize = 1 << 22;
        const MOST_NAME_BYTES: usize = 512 << 20;
        self.limited_symbols((MOST, MOST_NAME_BYTES), functions)
    }

    fn limited_symbols(
        &self,
        (mut functions_left, mut bytes_left): (usize, usize),
        mut functions: impl FnMut(MappedBinary<'_>) -> Vec<(u64, u64, Arc<str>)>,
    ) -> Symbols {
        let (mut all, mut has_room, mut is_incomplete) = (Vec::new(), true, self.is_incomplete);
        for (space, module) in self.symbols.iter() {
            let mapping = self.mappings.get(&(space, module.begin, module.from));
            if let Some(mapping) = mapping.filter(|_| has_room) {
                let mapped = MappedBinary { binary: &mapping.binary, base: module.begin, kind: mapping.base };
                for (begin, end, name) in functions(mapped) {
                    let left = (functions_left.checked_sub(1), bytes_left.checked_sub(name.len()));
                    let (Some(fewer_functions), Some(fewer_bytes)) = left else {
                        (has_room, is_incomplete) = (false, true);
                        break;
                    };
                    (functions_left, bytes_left) = (fewer_functions, fewer_bytes);
                    all.push((space, Symbol { begin, end, name: Some(name), ..module.clone() }));
                }
            }
            all.push((space, module.clone()));
        }
        let names = self.thread_names.iter().map(|(thread, name)| (*thread, Arc::clone(name)));
        let symbols = Symbols::new(all).with_thread_names(names);
        if is_incomplete { symbols.incomplete() } else { symbols }
    }

    /// Returns `true` if no process has a binary.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// Returns `true` if mappings or thread names were dropped because there are too many.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_change_over_time() {
        use AddressSpaceEvent::{BuildId, Clear, DebugLink, Load, Unload};
        let load = |base, size, path: &str| Load(LoadedBinary::new(base, size, path));
        let mut builder = AddressSpacesBuilder::default();
        for (time, process, event) in [
            (1, 7, load(100, 50, "/a")),
            (2, 7, BuildId { base: 100, id: [1, 2].into() }),
            (2, 7, BuildId { base: 999, id: [3].into() }),
            (3, 7, DebugLink { base: 100, name: "a.debug".into(), crc: 5 }),
            (3, 7, load(100, 50, "/a")),
            (3, 7, load(300, 0, "[vdso]")),
            (4, 8, load(100, 50, "/other")),
            (5, 7, load(100, 60, "/b")),
            (6, 7, Unload { base: 100 }),
            (6, 7, Unload { base: 100 }),
            (7, 7, load(u64::MAX - 1, 50, "/c")),
            (8, 7, Clear),
            (8, 9, Clear),
        ] {
            builder.add(time, process, event);
        }
        let spaces = builder.build();
        let path =
            |process, address, time| spaces.find(process, address, time).map(|found| &*found.binary.path);
        for (process, address, time, expected) in [
            (7, 100, 0, None),
            (7, 100, 1, Some("/a")),
            (7, 149, 4, Some("/a")),
            (7, 150, 4, None),
            (7, 155, 5, Some("/b")),
            (7, 155, 6, None),
            (7, 300, 6, None),
            (7, u64::MAX - 1, 7, Some("/c")),
            (7, u64::MAX - 1, 8, None),
            (8, 100, 3, None),
            (8, 100, 99, Some("/other")),
            (9, 100, 99, None),
        ] {
            assert_eq!(path(process, address, time), expected, "{process} {address} {time}");
        }
        let found = spaces.find(7, 120, 1).unwrap();
        assert_eq!((found.base, found.binary.build_id.as_deref()), (100, Some(&[1, 2][..])));
        assert_eq!(found.binary.debug_link, Some(("a.debug".into(), 5)));
        let validity = spaces.validity(7, 120, 1);
        assert_eq!((validity.from, validity.until), (1, Some(5)));
        assert_eq!(spaces.validity(10, 120, 1), Validity::EVER);
    }

    #[test]
    fn binaries_become_known_gradually() {
        use AddressSpaceEvent::{BuildId, Clear, DebugLink, Load, Unload};
        let load = |path: &str| Load(LoadedBinary::new(100, 50, path));
        let mut builder = AddressSpacesBuilder::default().gradual();
        for (time, event) in [
            (1, load("/a")),
            (2, load("/b")),
            (3, BuildId { base: 100, id: [1, 2].into() }),
            (4, DebugLink { base: 100, name: "a.debug".into(), crc: 5 }),
            (5, Unload { base: 100 }),
            (6, load("/b")),
            (6, BuildId { base: 100, id: [3].into() }),
            (7, Clear),
        ] {
            builder.add(time, 7, event);
        }
        let spaces = builder.build();
        let found = |time| {
            let id = spaces.find(7, 120, time)?.binary;
            Some((&*id.path, id.build_id.as_deref(), id.debug_link.is_some()))
        };
        let (old, new) = (Some(&[1, 2][..]), Some(&[3][..]));
        let expected = [None, Some(("/a", None, false)), Some(("/a", None, false)), Some(("/a", old, false))];
        assert_eq!([0, 1, 2, 3].map(found), expected);
        assert_eq!([4, 5, 6, 7].map(found), [Some(("/a", old, true)), None, Some(("/b", new, false)), None]);
        assert_eq!((spaces.epoch(7, 6).until, spaces.epoch(7, 7).from), (Some(7), 7));
        assert_eq!(spaces.epoch(8, 7), Validity::EVER);
    }

    #[test]
    fn mappings_without_size_end_at_the_next_one() {
        use AddressSpaceEvent::{Fork, Load, ThreadName};
        let load = |base, path: &str| {
            let binary = LoadedBinary::new(base, 0, path).with_kind(MappingBase::Code);
            Load(LoadedBinary { size: None, ..binary })
        };
        let mut builder = AddressSpacesBuilder::default();
        for (time, process, event) in [
            (1, 7, load(0x5000, "/b")),
            (2, 7, load(0x1000, "/a")),
            (3, 8, Fork { parent: 7 }),
            (3, 8, Fork { parent: 9 }),
            (4, 8, load(0x3000, "/c")),
            (5, -1, load(1 << 63, "[kernel]")),
            (6, 8, ThreadName { thread: 9, name: "worker".into() }),
        ] {
            builder.add(time, process, event);
        }
        let spaces = builder.build();
        let path =
            |process, address, time| spaces.find(process, address, time).map(|found| &*found.binary.path);
        for (process, address, time, expected) in [
            (7, 0x4fff, 2, Some("/a")),
            (7, 0x5000, 2, Some("/b")),
            (7, 0x5000 + (1 << 30), 2, None),
            (8, 0x1000, 2, None),
            (8, 0x1000, 3, Some("/a")),
            (8, 0x3000, 4, Some("/c")),
            (-1, 1 << 63, 5, Some("[kernel]")),
        ] {
            assert_eq!(path(process, address, time), expected, "{process} {address:#x} {time}");
        }
        let symbols = spaces.symbols(|mapped| vec![(mapped.base, mapped.base + 0x10, "f".into())]);
        let name = |address| symbols.resolve(7, address, 9).map(|found| found.symbol.name.as_deref());
        assert_eq!((name(0x100f), name(0x1010), name(0)), (Some(Some("f")), Some(None), None));
        assert_eq!(symbols.resolve(u32::MAX, 1 << 63, 9).unwrap().module.unwrap().as_ref(), "[kernel]");
        assert_eq!(symbols.thread_name(Some(8), 9).map(|name| &**name), Some("worker"));
    }

    #[test]
    fn dropped_mappings_and_names_are_reported() {
        use AddressSpaceEvent::{Fork, Load, ThreadName};
        let load = |base| Load(LoadedBinary::new(base, 10, "/a"));
        let name = |thread, name: &str| ThreadName { thread, name: name.into() };
        let is_incomplete = |events: &[(i64, AddressSpaceEvent)]| {
            let mut builder = AddressSpacesBuilder::new(2);
            events.iter().for_each(|(process, event)| builder.add(0, *process, event.clone()));
            let spaces = builder.build();
            assert_eq!(spaces.symbols(|_| Vec::new()).is_incomplete(), spaces.is_incomplete());
            spaces.is_incomplete()
        };
        assert!(!is_incomplete(&[(7, load(0)), (7, load(10)), (7, load(10))]));
        assert!(is_incomplete(&[(7, load(0)), (7, load(10)), (7, load(20))]));
        assert!(!is_incomplete(&[(7, load(0)), (8, Fork { parent: 7 }), (8, Fork { parent: 7 })]));
        assert!(is_incomplete(&[(7, load(0)), (7, load(10)), (8, Fork { parent: 7 })]));
        assert!(!is_incomplete(&[(7, name(1, "a")), (7, name(2, "b")), (7, name(2, "c"))]));
        assert!(is_incomplete(&[(7, name(1, "a")), (7, name(2, "b")), (7, name(3, "c"))]));
    }

    #[test]
    fn dropped_functions_are_reported() {
        let mut builder = AddressSpacesBuilder::default();
        for process in 0..3 {
            builder.add(0, process, AddressSpaceEvent::Load(LoadedBinary::new(0, 10, "/a")));
        }
        let spaces = builder.build();
        for (limits, expected) in [((3, 15), None), ((2, 99), Some(2)), ((9, 14), Some(2)), ((0, 0), Some(0))]
        {
            let symbols = spaces.limited_symbols(limits, |_| vec![(0, 1, "names".into())]);
            assert_eq!(symbols.is_incomplete(), expected.is_some(), "{limits:?}");
            let functions = symbols.iter().filter(|(_, symbol)| symbol.name.is_some()).count();
            assert_eq!((functions, symbols.len()), (expected.unwrap_or(3), functions + 3), "{limits:?}");
        }
    }
}
