//! Binaries in the address spaces of processes, over time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ichnos_model::stack::{CodeKind, Symbol, Symbols, Validity};

use crate::binary::BinaryId;

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
    symbols: Symbols,
    /// Numbers of address spaces in `symbols`, by process.
    spaces: HashMap<i64, u32>,
    mappings: HashMap<MappingKey, Mapping>,
    is_incomplete: bool,
}

/// Address space, first address and first time.
type MappingKey = (u32, u64, i128);

#[derive(Debug)]
struct Mapping {
    binary: Arc<BinaryId>,
    is_position_independent: Option<bool>,
}

/// A binary at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MappedBinary<'a> {
    /// The binary.
    pub binary: &'a Arc<BinaryId>,
    /// Address at which the binary was loaded.
    pub base: u64,
    /// `true` if addresses in the binary are relative to its base. `None` if unknown.
    pub is_position_independent: Option<bool>,
}

/// A binary that was loaded into an address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedBinary {
    /// First address.
    pub base: u64,
    /// Size in memory in bytes. A binary without size is ignored.
    pub size: u64,
    /// Path in the traced system.
    pub path: Arc<str>,
    /// `true` if addresses in the binary are relative to its base. `None` if unknown.
    pub is_position_independent: Option<bool>,
}

impl LoadedBinary {
    /// Creates a loaded binary.
    pub fn new(base: u64, size: u64, path: impl Into<Arc<str>>) -> Self {
        Self { base, size, path: path.into(), is_position_independent: None }
    }

    /// Sets the kind of its addresses.
    #[must_use]
    pub fn position_independent(self, is_position_independent: bool) -> Self {
        Self { is_position_independent: Some(is_position_independent), ..self }
    }
}

/// A change of an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressSpaceEvent {
    /// All binaries will be listed. Earlier ones are forgotten.
    Clear,
    /// A binary was loaded, or was loaded before.
    Load(LoadedBinary),
    /// The binary at an address was unloaded.
    Unload {
        /// First address.
        base: u64,
    },
    /// Build id of the binary at an address.
    BuildId {
        /// First address.
        base: u64,
        /// Build id.
        id: Arc<[u8]>,
    },
    /// Separate debug file of the binary at an address.
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
#[derive(Debug, Default)]
pub struct AddressSpacesBuilder {
    open: HashMap<i64, BTreeMap<u64, OpenMapping>>,
    closed: Vec<(i64, OpenMapping, Option<i128>)>,
    /// Number of open and closed mappings.
    count: usize,
    is_incomplete: bool,
}

#[derive(Debug)]
struct OpenMapping {
    loaded: LoadedBinary,
    from: i128,
    build_id: Option<Arc<[u8]>>,
    debug_link: Option<(Arc<str>, u32)>,
}

impl AddressSpacesBuilder {
    /// Maximum number of mappings. Later mappings are dropped.
    pub const MOST_MAPPINGS: usize = 1 << 20;

    /// Adds a change in the address space of a process at a time, in nanoseconds from the clock origin.
    pub fn add(&mut self, time: i128, process: i64, event: AddressSpaceEvent) {
        match event {
            AddressSpaceEvent::Clear => {
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
            AddressSpaceEvent::BuildId { base, id } => {
                if let Some(mapping) = self.mapping(process, base) {
                    mapping.build_id = Some(id);
                }
            }
            AddressSpaceEvent::DebugLink { base, name, crc } => {
                if let Some(mapping) = self.mapping(process, base) {
                    mapping.debug_link = Some((name, crc));
                }
            }
        }
    }

    fn mapping(&mut self, process: i64, base: u64) -> Option<&mut OpenMapping> {
        self.open.get_mut(&process)?.get_mut(&base)
    }

    fn load(&mut self, time: i128, process: i64, loaded: LoadedBinary) {
        if loaded.size == 0 {
            return;
        }
        let open = self.open.entry(process).or_default();
        if let Some(known) = open.get(&loaded.base) {
            if (&known.loaded.path, known.loaded.size) == (&loaded.path, loaded.size) {
                return;
            }
            // Its unloading was not recorded.
            let known = open.remove(&loaded.base);
            self.closed.extend(known.map(|known| (process, known, Some(time))));
        }
        if self.count >= Self::MOST_MAPPINGS {
            self.is_incomplete = true;
            return;
        }
        self.count += 1;
        let mapping = OpenMapping { loaded, from: time, build_id: None, debug_link: None };
        open.insert(mapping.loaded.base, mapping);
    }

    /// Builds the table.
    #[must_use]
    pub fn build(mut self) -> AddressSpaces {
        for (process, open) in std::mem::take(&mut self.open) {
            self.closed.extend(open.into_values().map(|mapping| (process, mapping, None)));
        }
        let mut spaces = AddressSpaces { is_incomplete: self.is_incomplete, ..AddressSpaces::default() };
        let mut symbols = Vec::new();
        let mut binaries: HashMap<BinaryId, Arc<BinaryId>> = HashMap::new();
        for (process, mapping, until) in self.closed {
            let Ok(next) = u32::try_from(spaces.spaces.len()) else { break };
            let space = *spaces.spaces.entry(process).or_insert(next);
            let OpenMapping { loaded, from, build_id, debug_link } = mapping;
            let id = BinaryId { path: loaded.path, build_id, debug_link };
            let binary = Arc::clone(binaries.entry(id.clone()).or_insert_with(|| Arc::new(id)));
            symbols.push((
                space,
                Symbol {
                    begin: loaded.base,
                    end: loaded.base.saturating_add(loaded.size),
                    from,
                    until,
                    name: None,
                    module: Some(Arc::clone(&binary.path)),
                    kind: CodeKind::Native,
                },
            ));
            let is_position_independent = loaded.is_position_independent;
            spaces.mappings.insert((space, loaded.base, from), Mapping { binary, is_position_independent });
        }
        spaces.symbols = Symbols::new(symbols);
        spaces
    }
}

impl AddressSpaces {
    /// Finds the binary at an address of a process, at a time in nanoseconds from the clock origin.
    #[must_use]
    pub fn find(&self, process: i64, address: u64, time: i128) -> Option<MappedBinary<'_>> {
        let space = *self.spaces.get(&process)?;
        let symbol = self.symbols.resolve(space, address, time)?.symbol;
        let mapping = self.mappings.get(&(space, symbol.begin, symbol.from))?;
        let Mapping { binary, is_position_independent } = mapping;
        Some(MappedBinary { binary, base: symbol.begin, is_position_independent: *is_position_independent })
    }

    /// Returns the time range in which [`AddressSpaces::find`] returns the same result for this address.
    #[must_use]
    pub fn validity(&self, process: i64, address: u64, time: i128) -> Validity {
        match self.spaces.get(&process) {
            Some(space) => self.symbols.validity(*space, address, time),
            None => Validity::EVER,
        }
    }

    /// Returns `true` if no process has a binary.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// Returns `true` if mappings were dropped because there are too many.
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
}
