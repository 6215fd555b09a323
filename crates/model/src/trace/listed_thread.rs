//! Threads listed in a trace.

/// A thread listed in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListedThread {
    /// Thread number, unique at any time.
    pub number: u64,
    /// Process number, if known.
    pub process: Option<u64>,
    /// Name; may be empty.
    pub name: Box<str>,
}
