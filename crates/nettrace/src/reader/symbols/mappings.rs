//! Process mappings and symbols, recorded by one-collect.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::stack::{CodeKind, Symbol};

use super::context::{SymbolContext, SymbolTexts, file_name};
use crate::reader::tables::is_kernel_address;
use crate::wire::Wire;

/// Event about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MappingEvent {
    /// A file was mapped.
    Mapping,
    /// A function in a mapping.
    Symbol,
    /// A process exists or starts.
    Process,
}

/// Mappings and symbols in a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Mappings {
    mappings: Vec<MappingRow>,
    symbols: Vec<SymbolRow>,
    /// Address space of each process, and the time in ticks at which it was seen or started.
    processes: Vec<(u32, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct MappingRow {
    process: u32,
    ticks: u64,
    id: u64,
    begin: u64,
    end: u64,
    name: MappingText,
}

#[derive(Clone, Copy, Debug)]
struct SymbolRow {
    process: u32,
    ticks: u64,
    mapping: u64,
    begin: u64,
    end: u64,
    name: MappingText,
}

/// File position of a UTF-8 text.
#[derive(Clone, Copy, Debug)]
struct MappingText {
    begin: usize,
    length: u16,
}

impl Mappings {
    /// Adds an event. Skips it if fields are missing.
    pub(super) fn add(&mut self, event: MappingEvent, context: SymbolContext, bytes: &[u8]) {
        let mut wire = Wire::new(context.payload(bytes));
        let (process, ticks) = (context.space, context.ticks);
        let text = |wire: &mut Wire<'_>| {
            let length = wire.u16()?;
            let begin = context.payload + wire.position();
            wire.take(length.into())?;
            Some(MappingText { begin, length })
        };
        match event {
            MappingEvent::Process => self.processes.push((process, ticks)),
            MappingEvent::Mapping => {
                let mut read = || {
                    let (id, begin, end, _offset) =
                        (wire.varuint64()?, wire.varuint64()?, wire.varuint64()?, wire.varuint64()?);
                    Some(MappingRow { process, ticks, id, begin, end, name: text(&mut wire)? })
                };
                self.mappings.extend(read().filter(|row| is_range(row.begin, row.end)));
            }
            MappingEvent::Symbol => {
                let mut read = || {
                    let (_id, mapping) = (wire.varuint64()?, wire.varuint64()?);
                    let (begin, end) = (wire.varuint64()?, wire.varuint64()?);
                    Some(SymbolRow { process, ticks, mapping, begin, end, name: text(&mut wire)? })
                };
                self.symbols.extend(read().filter(|row| is_range(row.begin, row.end)));
            }
        }
    }

    /// Returns all symbols with their address spaces. `time` converts ticks to nanoseconds.
    pub(super) fn symbols(
        mut self,
        bytes: &[u8],
        time: &dyn Fn(u64) -> i128,
        texts: &mut SymbolTexts,
    ) -> Vec<(u32, Symbol)> {
        let births = births(std::mem::take(&mut self.processes));
        let mut symbols = Vec::new();
        let modules = self.modules(&births, bytes, time, texts, &mut symbols);
        let mut most = (MOST_COPIES * self.symbols.len()).max(1 << 18);
        // The kernel is described for each process.
        let mut kernel: HashSet<(u64, u64, Arc<str>)> = HashSet::new();
        for row in self.symbols {
            let range = row.range();
            let kind = kind(row.begin);
            let text = row.name.get(bytes);
            let method = Some(&*text).filter(|_| kind == CodeKind::Native).and_then(jitted_method);
            let name = texts.get(method.as_ref().map_or(&text, |(_, name)| name));
            let mut add = |module: &SymbolMapping| {
                let mut symbol = module.symbol(range, kind);
                symbol.name = Some(Arc::clone(&name));
                if let Some((assembly, _)) = method {
                    symbol.module = Some(texts.get(assembly));
                    symbol.kind = CodeKind::Managed;
                }
                if kind == CodeKind::Kernel {
                    (symbol.from, symbol.until) = (i128::MIN, None);
                    if !kernel.insert((range.0, range.1, Arc::clone(&name))) {
                        return;
                    }
                }
                if let Some(rest) = most.checked_sub(1) {
                    most = rest;
                    symbols.push((module.space, symbol));
                }
            };
            match modules.get(&row.mapping) {
                // A symbol is found when its mapping is inspected, possibly long after the mapping was created, and
                // only for one of the processes that share it. Without the required rights, kernel symbols are at
                // random kernel addresses.
                Some(modules) => {
                    // All processes share one kernel, so its first mapping is enough.
                    let most = if kind == CodeKind::Kernel { 1 } else { usize::MAX };
                    modules.iter().filter(|module| module.has(range)).take(most).for_each(add);
                }
                None => {
                    let ProcessLifetime { from, until } = life_of(&births, row.process, row.ticks, row.begin);
                    add(&SymbolMapping {
                        space: space(row.process, row.begin),
                        range,
                        from: from.map_or(i128::MIN, time),
                        until: until.map(time),
                        name: None,
                    });
                }
            }
        }
        symbols
    }

    /// Adds the symbols of all mappings. Returns the mappings by id.
    fn modules(
        &mut self,
        births: &HashMap<u32, Vec<u64>>,
        bytes: &[u8],
        time: &dyn Fn(u64) -> i128,
        texts: &mut SymbolTexts,
        symbols: &mut Vec<(u32, Symbol)>,
    ) -> HashMap<u64, Vec<SymbolMapping>> {
        let life = |row: &MappingRow| life_of(births, row.process, row.ticks, row.begin);
        // Overlapping mappings become adjacent.
        self.mappings.sort_by_key(|row| (space(row.process, row.begin), row.begin, row.ticks));
        let mut modules: HashMap<u64, Vec<SymbolMapping>> = HashMap::new();
        for group in overlapping(&self.mappings) {
            // The first mapping at a place existed before it was recorded, unless another event contradicts.
            let mut first: HashMap<Option<u64>, u64> = HashMap::new();
            for row in group {
                let ticks = first.entry(life(row).from).or_insert(row.ticks);
                *ticks = row.ticks.min(*ticks);
            }
            for row in group {
                let ProcessLifetime { from, until } = life(row);
                let is_first = first.get(&from) == Some(&row.ticks);
                let from = if is_first { from } else { Some(row.ticks) };
                let name = row.name.get(bytes);
                let module = SymbolMapping {
                    space: space(row.process, row.begin),
                    range: (row.begin, row.end),
                    from: from.map_or(i128::MIN, time),
                    until: until.map(time),
                    name: Some(file_name(&name)).filter(|name| !name.is_empty()).map(|name| texts.get(name)),
                };
                symbols.push((module.space, module.symbol(module.range, kind(row.begin))));
                let same = modules.entry(row.id).or_default();
                if same.len() < MOST_OF_SAME_ID {
                    same.push(module);
                }
            }
        }
        modules
    }
}

impl SymbolRow {
    /// Returns the address range, without its end.
    fn range(&self) -> (u64, u64) {
        // The kernel's symbol list has only addresses. A symbol extends to the next symbol.
        let is_last = is_kernel_address(self.begin);
        (self.begin, self.end.saturating_add(is_last.into()))
    }
}

/// Parses a method in the runtime's list for other profilers (`/tmp/perf-PID.map`). Returns its module and name, or
/// `None` for texts in another form than `void [Module] Namespace.Type::Method(parameters)[Tier]`.
pub(super) fn jitted_method(text: &str) -> Option<(&str, String)> {
    let (_, rest) = text.split_once(" [")?;
    let (module, rest) = rest.split_once("] ")?;
    let end = rest.rfind(')')? + 1;
    let (method, tier) = rest.split_at_checked(end)?;
    let (before, parameters) = method.split_at_checked(method.find('(')?)?;
    let (kind, name) = before.rsplit_once("::")?;
    let is_method = !name.is_empty() && (tier.is_empty() || tier.starts_with('[') && tier.ends_with(']'));
    let dot = if kind.is_empty() { "" } else { "." };
    is_method.then(|| (module, format!("{kind}{dot}{name}{parameters}")))
}

/// Maximum number of known mappings with the same id. Processes that share memory have equal ids.
const MOST_OF_SAME_ID: usize = 1024;

/// Maximum average number of symbol copies in shared mappings, if there are many symbols.
const MOST_COPIES: usize = 8;

/// Mapping with symbols.
#[derive(Debug)]
struct SymbolMapping {
    space: u32,
    /// Address range, without its end.
    range: (u64, u64),
    from: i128,
    until: Option<i128>,
    name: Option<Arc<str>>,
}

impl SymbolMapping {
    fn has(&self, (begin, end): (u64, u64)) -> bool {
        self.range.0 <= begin && end <= self.range.1
    }

    /// Returns the symbol for a section of the mapping, or for the whole mapping.
    fn symbol(&self, (begin, end): (u64, u64), kind: CodeKind) -> Symbol {
        let Self { from, until, .. } = *self;
        Symbol { begin, end, from, until, name: None, module: self.name.clone(), kind }
    }
}

/// Lifetime of a process in ticks. Process ids are reused.
#[derive(Clone, Copy, Debug)]
struct ProcessLifetime {
    /// Start. `None` if the process started before the trace.
    from: Option<u64>,
    until: Option<u64>,
}

/// Returns a process's lifetime at a time. Its mappings live at most that long. The kernel never ends.
fn life_of(births: &HashMap<u32, Vec<u64>>, process: u32, ticks: u64, address: u64) -> ProcessLifetime {
    if is_kernel_address(address) {
        return ProcessLifetime { from: None, until: None };
    }
    let births = births.get(&process).map_or(&[][..], Vec::as_slice);
    let index = births.partition_point(|birth| *birth <= ticks);
    let from = index.checked_sub(1).and_then(|index| births.get(index)).copied();
    ProcessLifetime { from, until: births.get(index).copied() }
}

/// Returns the sorted start times for each reused process id.
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

/// Groups overlapping mappings. `rows` must be sorted by address space and start.
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

/// Returns `true` if these can be the start and the end of a range. A range must not cross from a process into the
/// kernel.
fn is_range(begin: u64, end: u64) -> bool {
    begin < end && is_kernel_address(begin) == is_kernel_address(end - 1)
}

/// Returns the address space of a process address. All processes share the kernel.
fn space(process: u32, address: u64) -> u32 {
    if is_kernel_address(address) { 0 } else { process }
}

fn kind(address: u64) -> CodeKind {
    if is_kernel_address(address) { CodeKind::Kernel } else { CodeKind::Native }
}

impl MappingText {
    fn get<'f>(&self, bytes: &'f [u8]) -> std::borrow::Cow<'f, str> {
        // The text was read from this position, so the range is valid.
        let bytes = bytes.get(self.begin..self.begin + usize::from(self.length)).unwrap_or_default();
        String::from_utf8_lossy(bytes)
    }
}
