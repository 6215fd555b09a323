//! Traces: opened ones, their data streams, and diagnostics of their descriptions.

pub use crate::diagnostic::{Diagnostic, FileDiagnostic, FileRole, Severity};
pub use crate::limits::Limits;
pub use crate::listed_thread::ListedThread;
pub use crate::opened_trace::{OpenedTrace, SplitPoint, StreamSummary, TracerQuirk, Window};
pub use crate::stream::{CallStacks, DataStream, Trace};
pub use crate::text_position::{DeclaredAt, TextPosition};
