//! Converts call stacks from other formats to profiler records.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::Event;
use ichnos_model::field::FieldRef;
use ichnos_model::stack::Symbols;

use super::class_losses::{ClassLoss, ClassLosses};

/// Maximum number of frames in a record.
const MOST_FRAMES: usize = u8::MAX as usize;

/// A module in memory.
#[derive(Debug)]
struct ModulePlace {
    /// Load time in nanoseconds since the clock origin.
    from: i128,
    begin: u64,
    size: u64,
    name: Arc<str>,
}

/// A mapping that the trace still lacks.
#[derive(Debug)]
pub(super) struct NewModule {
    pub(super) id: u16,
    /// `true` if this is the first mapping of the module.
    pub(super) is_new: bool,
    pub(super) begin: u64,
    pub(super) size: u64,
    pub(super) name: Arc<str>,
}

/// Provider index, address space, and process id.
type ProcessKey = (usize, PlacesKey, u64);

/// Pointer to the symbols of a trace, and address space number.
type PlacesKey = (usize, u32);

/// Modules and mappings written so far.
#[derive(Debug, Default)]
struct WrittenModules {
    /// Number of mappings.
    places: usize,
    ids: HashMap<Arc<str>, u16>,
}

/// Writes call stacks, and the modules for their addresses.
#[derive(Debug, Default)]
pub(super) struct StackWriter {
    places: HashMap<PlacesKey, Arc<[ModulePlace]>>,
    written: HashMap<ProcessKey, WrittenModules>,
    /// Addresses of the current stack, as word bytes.
    pub(super) addresses: Vec<u8>,
}

impl StackWriter {
    /// Reads the call stack in an event field. Returns its address space, or `None` without addresses.
    pub(super) fn read(
        &mut self,
        event: &Event<'_>,
        field: &FieldRef,
        losses: &mut ClassLosses,
    ) -> Option<u32> {
        let stack = event.get(field).and_then(|stack| u32::try_from(stack.as_u64()?).ok())?;
        self.addresses.clear();
        let mut space = None;
        let mut lost = 0;
        for (_, frame) in event.stream.stacks().table.view().frames(stack) {
            match frame.address {
                Some(address) if self.addresses.len() < MOST_FRAMES * 8 => {
                    space = space.or(Some(frame.address_space));
                    self.addresses.extend_from_slice(&address.to_le_bytes());
                }
                _ => lost += 1,
            }
        }
        losses.add(ClassLoss::Frames, lost);
        space
    }

    /// Returns the next module that is loaded in the address space at the event time but not yet written for this
    /// process.
    pub(super) fn next_module(
        &mut self,
        event: &Event<'_>,
        space: u32,
        provider: usize,
        process: u64,
    ) -> Option<NewModule> {
        let stacks = event.stream.stacks();
        let key = (std::ptr::from_ref(stacks.table).addr(), space);
        let places = self.places.entry(key).or_insert_with(|| places_of(&stacks.symbols(), space));
        let written = self.written.entry((provider, key, process)).or_default();
        let place = places.get(written.places)?;
        if event.nanoseconds().is_some_and(|now| now < place.from) {
            return None;
        }
        written.places += 1;
        let next = u16::try_from(written.ids.len()).ok();
        let (id, is_new) = match (written.ids.get(&place.name), next) {
            (Some(id), _) => (*id, false),
            (None, next) => (next?, true),
        };
        if is_new {
            written.ids.insert(Arc::clone(&place.name), id);
        }
        let ModulePlace { begin, size, ref name, .. } = *place;
        Some(NewModule { id, is_new, begin, size, name: Arc::clone(name) })
    }
}

/// Returns the modules of an address space, sorted by time.
fn places_of(symbols: &Symbols, space: u32) -> Arc<[ModulePlace]> {
    let modules = symbols.iter().filter(|(of, symbol)| *of == space && symbol.name.is_none());
    let places = modules.filter_map(|(_, symbol)| {
        let (begin, size) = (symbol.begin, symbol.end.checked_sub(symbol.begin)?);
        Some(ModulePlace { from: symbol.from, begin, size, name: symbol.module.clone()? })
    });
    let mut places: Vec<_> = places.collect();
    places.sort_by_key(|place| place.from);
    places.into()
}
