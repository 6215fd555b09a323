//! Text of traces on terminals, and times and durations as text.

pub use crate::printable::{is_printable, printable};
pub use crate::terminal::{TerminalText, TerminalWriter, for_terminal};
pub use crate::time::{JsonTime, duration, rfc3339};
