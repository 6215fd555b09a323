//! Threads that runtime events describe, and their names.

use std::collections::BTreeMap;

use ichnos_model::trace::ListedThread;

use super::index::NettraceIndex;
use super::tables::ThreadTable;
use super::trace_file::FileState;
use super::walk::Walker;
use crate::wire::Wire;
use crate::{Block, EventMetadata, EventRow};

/// Maximum number of threads.
const MOST: usize = 1 << 16;

/// Thread names by flags in `ThreadCreated` and `ThreadDC`.
const NAMES: [(u32, &str); 3] = [(2, "finalizer"), (1, "garbage collector"), (4, "thread pool worker")];

/// Returns the threads in a file. `command_line` belongs to the process. The first thread is named after the program,
/// as the process is.
pub(super) fn list(file: &FileState, command_line: Option<&str>) -> Vec<ListedThread> {
    let process = file.process_id();
    let mut reader = ThreadReader::new(file);
    if reader.sources.contains(&true) {
        file.walk(&mut reader);
    }
    let mut names = reader.names;
    if let (Some(process), Some(program)) = (process, command_line.and_then(program)) {
        names.insert(process, program);
    }
    let listed = |(number, name): (u64, &str)| ListedThread { number, process, name: name.into() };
    names.into_iter().map(listed).collect()
}

/// Returns the name of the program in a command line, without its directory. For `dotnet`, returns the assembly name.
fn program(command_line: &str) -> Option<&str> {
    let mut words = command_line.split_whitespace().map(|word| {
        let word = word.trim_matches('"');
        word.rsplit(['/', '\\']).next().unwrap_or(word)
    });
    let first = words.next().filter(|word| !word.is_empty())?;
    let is_host = matches!(first, "dotnet" | "dotnet.exe");
    let assembly = words.next().and_then(|word| word.strip_suffix(".dll")).filter(|_| is_host);
    Some(assembly.or(first.strip_suffix(".exe")).unwrap_or(first))
}

/// Walker that collects thread kinds.
struct ThreadReader<'f> {
    file: &'f FileState,
    /// `true` for each class with events about threads.
    sources: Vec<bool>,
    names: BTreeMap<u64, &'static str>,
}

impl<'f> ThreadReader<'f> {
    fn new(file: &'f FileState) -> Self {
        let NettraceIndex { classes, .. } = &file.index;
        Self { file, sources: classes.iter().map(is_about_thread).collect(), names: BTreeMap::new() }
    }

    #[cold]
    fn record(&mut self, row: &EventRow) -> Option<()> {
        let mut wire = Wire::new(self.file.bytes.get(row.payload.clone())?);
        let (_thread, _domain, flags, _index) = (wire.u64()?, wire.u64()?, wire.u32()?, wire.u32()?);
        let number = u64::from(wire.u32()?);
        let (_, name) = NAMES.into_iter().find(|(flag, _)| flags & flag != 0)?;
        if self.names.len() < MOST {
            self.names.insert(number, name);
        }
        Some(())
    }
}

/// Returns `true` for `ThreadCreated` and `ThreadDC`.
fn is_about_thread(metadata: &EventMetadata) -> bool {
    matches!(
        (&*metadata.provider, metadata.event_id),
        ("Microsoft-Windows-DotNETRuntime", 85) | ("Microsoft-Windows-DotNETRuntimeRundown", 159)
    )
}

impl Walker for ThreadReader<'_> {
    fn block(&mut self, _: &Block) {}

    #[inline(always)]
    fn event(&mut self, row: &EventRow, class: u32, _: &ThreadTable) {
        if self.sources.get(class as usize) == Some(&true) {
            self.record(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn programs_have_the_names_of_their_files() {
        for (line, wanted) in [
            ("/opt/x/dosai-linux /opt/x/Dosai.dll --version", Some("dosai-linux")),
            ("/usr/bin/dotnet /srv/shop.dll", Some("shop")),
            ("dotnet build", Some("dotnet")),
            ("\"C:\\x\\Shop.exe\" -a", Some("Shop")),
            ("", None),
        ] {
            assert_eq!(program(line), wanted, "{line}");
        }
    }
}
