//! Traces: their data streams, limits for reading them, and diagnostics of their metadata.

mod diagnostic;
mod lazy;
mod limits;
mod listed_thread;
mod opened_trace;
mod stream;
mod text_position;
mod trace_symbols;
mod wrapped_trace;

pub use self::diagnostic::{Diagnostic, FileDiagnostic, FileRole, Severity};
pub use self::limits::Limits;
pub use self::listed_thread::ListedThread;
pub use self::opened_trace::{
    OpenedTrace, SplitPoint, StreamSummary, TracerQuirk, Window, advance_to, skip_events,
};
pub use self::stream::{CallStacks, DataStream, Trace};
pub use self::text_position::{DeclaredAt, TextPosition};
pub use self::wrapped_trace::{CursorStart, WrappedTrace};
