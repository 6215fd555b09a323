//! Modules at addresses of processes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_model::{ClockClass, CodeKind, Symbol, Symbols};

use super::tables::Tables;
use super::trace::FxtFile;
use crate::fxt::{Mapping, Module, Profiler, Record, Records};

/// Maximum number of places of modules in memory.
const MOST_MAPPINGS: usize = 1 << 18;

/// Numbers of the address spaces of processes.
#[derive(Debug, Default)]
pub(super) struct AddressSpaces(Mutex<HashMap<u64, u32>>);

impl AddressSpaces {
    /// Returns the number of the address space of a process.
    pub(super) fn get(&self, process: u64) -> u32 {
        let mut spaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(spaces.len()).unwrap_or(u32::MAX);
        *spaces.entry(process).or_insert(next)
    }
}

/// Places of modules in memory, as far as the file was read.
#[derive(Default)]
struct Modules {
    /// Names by process and id.
    names: HashMap<(u64, u16), Arc<str>>,
    symbols: Vec<(u32, Symbol)>,
}

impl Modules {
    fn module(&mut self, module: &Module<'_>, process: Option<u64>) {
        if self.names.len() < MOST_MAPPINGS {
            let name = String::from_utf8_lossy(module.name);
            self.names.insert((process.unwrap_or(0), module.id), name.into());
        }
    }

    fn mapping(&mut self, mapping: &Mapping, process: Option<u64>, file: &FxtFile, clock: &ClockClass) {
        let process = process.unwrap_or(0);
        let Some(name) = self.names.get(&(process, mapping.module)) else { return };
        if self.symbols.len() >= MOST_MAPPINGS {
            return;
        }
        let symbol = Symbol {
            begin: mapping.begin,
            end: mapping.begin.saturating_add(mapping.size),
            from: clock.nanoseconds(mapping.ticks),
            module: Some(Arc::clone(name)),
            kind: CodeKind::Native,
            ..Symbol::default()
        };
        self.symbols.push((file.spaces.get(process), symbol));
    }
}

/// Reads the modules of a file. `clocks` are those of its data streams.
pub(super) fn read(file: &FxtFile, clocks: &[ClockClass]) -> Symbols {
    let mut modules = Modules::default();
    for (number, stream) in file.index.streams.iter().enumerate() {
        let Some(clock) = clocks.get(number) else { continue };
        let mut tables = Tables::default();
        for section in &stream.sections {
            let mut records = Records::starting_at(&file.bytes, section.start);
            while records.offset() < section.end
                && let Some(record) = records.next()
            {
                match record.map(|located| located.record) {
                    Ok(Record::Thread(record)) => tables.add_thread(&record),
                    Ok(Record::Profiler(Profiler::Module(module))) => {
                        modules.module(&module, tables.process(module.process));
                    }
                    Ok(Record::Profiler(Profiler::Mapping(mapping))) => {
                        modules.mapping(&mapping, tables.process(mapping.process), file, clock);
                    }
                    _ => {}
                }
            }
        }
    }
    Symbols::new(modules.symbols)
}
