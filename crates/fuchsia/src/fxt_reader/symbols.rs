//! Modules by process and address.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::clock::ClockClass;
use ichnos_model::stack::{CodeKind, Symbol, Symbols};

use super::file::FxtFile;
use super::tables::Tables;

use crate::fxt::{Module, ModuleMapping, Profiler, Record, Records, ThreadRef};

/// Maximum number of mappings.
const MOST_MAPPINGS: usize = 1 << 18;

/// Modules and mappings read so far.
#[derive(Default)]
struct Modules {
    /// Module names by process and id.
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

    fn mapping(&mut self, mapping: &ModuleMapping, process: Option<u64>, file: &FxtFile, clock: &ClockClass) {
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

/// Reads the modules of a file. `clocks` are the data stream clocks.
pub(super) fn read(file: &FxtFile, clocks: &[ClockClass]) -> Symbols {
    let mut modules = Modules::default();
    for (number, stream) in file.index.streams.iter().enumerate() {
        let Some(clock) = clocks.get(number) else { continue };
        let mut tables = Tables::at(stream.tables.as_ref());
        for section in &stream.sections {
            let mut records = Records::starting_at(&file.bytes, section.start);
            while records.offset() < section.end
                && let Some(record) = records.next()
            {
                match record.map(|located| located.record) {
                    Ok(Record::Thread(record)) => tables.add_thread(&record),
                    Ok(Record::Profiler(Profiler::Module(module))) => {
                        modules.module(&module, process_of(&tables, module.thread));
                    }
                    Ok(Record::Profiler(Profiler::Mapping(mapping))) => {
                        modules.mapping(&mapping, process_of(&tables, mapping.thread), file, clock);
                    }
                    _ => {}
                }
            }
        }
    }
    Symbols::new(modules.symbols)
}

fn process_of(tables: &Tables, thread: ThreadRef) -> Option<u64> {
    tables.thread(thread).map(|(process, _)| process)
}
