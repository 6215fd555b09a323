//! Mappings and symbols of processes, which one-collect finds out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::{CodeKind, Symbol};

use super::{Said, Texts, file_name};
use crate::reader::tables::is_kernel_address;
use crate::wire::Wire;

/// An event about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MappingEvent {
    /// A file is mapped.
    Mapping,
    /// A function lies in a mapping.
    Symbol,
    /// A process is there, or begins.
    Process,
}

/// What a file says of mappings and symbols.
#[derive(Debug, Default)]
pub(super) struct Mappings {
    mappings: Vec<MappingRow>,
    symbols: Vec<SymbolRow>,
    /// Address space of each process, and when it was there or began, in ticks.
    processes: Vec<(u32, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct MappingRow {
    process: u32,
    ticks: u64,
    id: u64,
    begin: u64,
    end: u64,
    name: Text,
}

#[derive(Clone, Copy, Debug)]
struct SymbolRow {
    process: u32,
    ticks: u64,
    mapping: u64,
    begin: u64,
    end: u64,
    name: Text,
}

/// Where a text in UTF-8 lies in the file.
#[derive(Clone, Copy, Debug)]
struct Text {
    begin: usize,
    length: u16,
}

impl Mappings {
    /// Takes an event; one that does not have all of its fields is left out.
    pub(super) fn add(&mut self, event: MappingEvent, said: Said, bytes: &[u8]) {
        let mut wire = Wire::new(said.payload(bytes));
        let (process, ticks) = (said.space, said.ticks);
        let text = |wire: &mut Wire<'_>| {
            let length = wire.u16()?;
            let begin = said.payload + wire.position();
            wire.take(length.into())?;
            Some(Text { begin, length })
        };
        match event {
            MappingEvent::Process => self.processes.push((process, ticks)),
            MappingEvent::Mapping => {
                let mut read = || {
                    let (id, begin, end, _offset) =
                        (wire.varuint64()?, wire.varuint64()?, wire.varuint64()?, wire.varuint64()?);
                    Some(MappingRow { process, ticks, id, begin, end, name: text(&mut wire)? })
                };
                self.mappings.extend(read().filter(|row| row.begin < row.end));
            }
            MappingEvent::Symbol => {
                let mut read = || {
                    let (_id, mapping) = (wire.varuint64()?, wire.varuint64()?);
                    let (begin, end) = (wire.varuint64()?, wire.varuint64()?);
                    Some(SymbolRow { process, ticks, mapping, begin, end, name: text(&mut wire)? })
                };
                self.symbols.extend(read().filter(|row| row.begin < row.end));
            }
        }
    }

    /// All symbols, with their address spaces. `time`: nanoseconds from ticks.
    pub(super) fn symbols(
        mut self,
        bytes: &[u8],
        time: &dyn Fn(u64) -> i128,
        texts: &mut Texts,
    ) -> Vec<(u32, Symbol)> {
        let births = births(self.processes);
        let life_of = |process: u32, ticks: u64, address: u64| {
            if is_kernel_address(address) {
                return Life { from: None, until: None };
            }
            let births = births.get(&process).map_or(&[][..], Vec::as_slice);
            let index = births.partition_point(|birth| *birth <= ticks);
            let from = index.checked_sub(1).and_then(|index| births.get(index)).copied();
            Life { from, until: births.get(index).copied() }
        };
        let life = |row: &MappingRow| life_of(row.process, row.ticks, row.begin);
        // Those that overlap are next to each other then.
        self.mappings.sort_by_key(|row| (space(row.process, row.begin), row.begin, row.ticks));
        let mut symbols = Vec::new();
        // By process and id: name and times, in the order of time.
        let mut modules: HashMap<(u32, u64), Vec<(u64, Module)>> = HashMap::new();
        for group in overlapping(&self.mappings) {
            // What is mapped first at a place was there before that was noticed, if nothing says otherwise.
            let mut first: HashMap<Option<u64>, u64> = HashMap::new();
            for row in group {
                let ticks = first.entry(life(row).from).or_insert(row.ticks);
                *ticks = row.ticks.min(*ticks);
            }
            for row in group {
                let Life { from, until } = life(row);
                let is_first = first.get(&from) == Some(&row.ticks);
                let from = if is_first { from } else { Some(row.ticks) };
                let module = Module {
                    name: row.name.module(bytes, texts),
                    from: from.map_or(i128::MIN, time),
                    until: until.map(time),
                };
                let symbol = Symbol {
                    begin: row.begin,
                    end: row.end,
                    from: module.from,
                    until: module.until,
                    name: None,
                    module: module.name.clone(),
                    kind: kind(row.begin),
                };
                symbols.push((space(row.process, row.begin), symbol));
                modules.entry((row.process, row.id)).or_default().push((row.ticks, module));
            }
        }
        modules.values_mut().for_each(|modules| modules.sort_by_key(|(ticks, _)| *ticks));
        // The kernel is described for each process.
        let mut kernel: HashSet<(u64, u64, Arc<str>)> = HashSet::new();
        for row in self.symbols {
            // A symbol is found when its mapping is looked at, which can be long after it was made.
            let modules = modules.get(&(row.process, row.mapping)).map_or(&[][..], Vec::as_slice);
            let behind = modules.partition_point(|(ticks, _)| *ticks <= row.ticks);
            let module = modules.get(behind.saturating_sub(1)).map(|(_, module)| module);
            let name = texts.get(&row.name.get(bytes));
            let mut symbol = Symbol {
                begin: row.begin,
                end: row.end,
                module: module.and_then(|module| module.name.clone()),
                kind: kind(row.begin),
                ..Symbol::default()
            };
            if symbol.kind == CodeKind::Kernel {
                // The list of its symbols has addresses only: their ends are the last address before the next one.
                symbol.end = row.end.saturating_add(1);
                symbol.from = i128::MIN;
                if !kernel.insert((symbol.begin, symbol.end, Arc::clone(&name))) {
                    continue;
                }
            } else {
                let life = life_of(row.process, row.ticks, row.begin);
                symbol.from = module.map_or(life.from.map_or(i128::MIN, time), |module| module.from);
                symbol.until = module.map_or(life.until.map(time), |module| module.until);
            }
            symbol.name = Some(name);
            symbols.push((space(row.process, row.begin), symbol));
        }
        symbols
    }
}

/// A mapping, for its symbols.
#[derive(Debug)]
struct Module {
    name: Option<Arc<str>>,
    from: i128,
    until: Option<i128>,
}

/// When there was a process of an id, in ticks: ids are used again.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// None: since before the trace.
    from: Option<u64>,
    until: Option<u64>,
}

/// When processes began whose id another one had before, in order.
fn births(mut processes: Vec<(u32, u64)>) -> HashMap<u32, Vec<u64>> {
    processes.sort_unstable();
    processes.dedup();
    let of_same = processes.chunk_by(|a, b| a.0 == b.0);
    let later = of_same.filter_map(|same| {
        let ((process, _), later) = same.split_first()?;
        Some((*process, later.iter().map(|(_, ticks)| *ticks).collect()))
    });
    later.collect()
}

/// Groups of mappings of which each overlaps another one of its group, and none of another group. They are in the
/// order of address spaces and begins.
fn overlapping(rows: &[MappingRow]) -> Vec<&[MappingRow]> {
    let mut groups = Vec::new();
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let mut end = first.end;
        let within = |row: &&MappingRow| {
            let is_within =
                space(row.process, row.begin) == space(first.process, first.begin) && row.begin < end;
            end = end.max(row.end);
            is_within
        };
        let count = rest.iter().take_while(within).count().max(1);
        let (group, behind) = rest.split_at(count);
        groups.push(group);
        rest = behind;
    }
    groups
}

/// The space that an address of a process is in: all processes share the kernel.
fn space(process: u32, address: u64) -> u32 {
    if is_kernel_address(address) { 0 } else { process }
}

fn kind(address: u64) -> CodeKind {
    if is_kernel_address(address) { CodeKind::Kernel } else { CodeKind::Native }
}

impl Text {
    fn get<'f>(&self, bytes: &'f [u8]) -> std::borrow::Cow<'f, str> {
        let bytes = bytes.get(self.begin..self.begin + usize::from(self.length)).unwrap_or_default();
        String::from_utf8_lossy(bytes)
    }

    /// The name of the file of a path; None if it has none.
    fn module(&self, bytes: &[u8], texts: &mut Texts) -> Option<Arc<str>> {
        let path = self.get(bytes);
        let name = file_name(&path);
        (!name.is_empty()).then(|| texts.get(name))
    }
}
