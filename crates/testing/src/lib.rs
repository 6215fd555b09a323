//! Helpers for tests in several crates: seeded [random numbers](Random), [CPU time limits](in_cpu_time) that do not
//! depend on the machine load, [memory use](PrivateMemory) of other processes, a [bit encoder](encoder), [traces with
//! one construct](constructs), [random traces](proposals) for the two CTF 2 proposals, [ELF
//! files](elf_library), [.NET runtimes](DotnetRuntimes), [recorded traces](recorded()) and [selections](is_like_another) of them, [document tables](compare_table), [HTTP
//! bodies](join_chunks), LTTng's daemons (`Lttng`), and programs that read what ichnos writes: [Google's trace processor](TraceProcessor),
//! [Microsoft's TraceEvent](TraceEventLibrary), [Python](find_python) and [DuckDB](DuckDb).
#![forbid(unsafe_code)]
// Test helpers may panic like tests.
#![allow(clippy::panic, clippy::unwrap_used)]

mod chunked_body;
pub mod constructs;
mod cpu_time;
mod document_table;
mod dotnet_runtimes;
mod elf_file;
pub mod encoder;
// Byte builders are named after the parts in their documents.
#[allow(missing_docs)]
pub mod fxt_file;
mod kernel_queries;
// LTTng's daemons need Unix.
#[cfg(unix)]
mod lttng;
#[allow(missing_docs)]
pub mod nettrace_file;
mod private_memory;
pub mod proposals;
mod python;
mod random;
mod recorded;
mod trace_event_library;
mod trace_processor;

pub use chunked_body::join_chunks;
pub use cpu_time::in_cpu_time;
pub use document_table::compare_table;
pub use dotnet_runtimes::DotnetRuntimes;
pub use elf_file::{ELF_BUILD_ID, ElfForm, elf_library, elf_with_sections};
pub use kernel_queries::{DuckDb, KernelQuery};
#[cfg(unix)]
pub use lttng::Lttng;
pub use private_memory::{PrivateMemory, private_memory};
pub use python::find_python;
pub use random::{Random, cases};
pub use recorded::{is_complete_sweep, is_like_another, is_turn, recorded, sample_size};
pub use trace_event_library::{TraceEventDump, TraceEventLibrary};
pub use trace_processor::TraceProcessor;
