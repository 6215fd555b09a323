//! String and thread references.

/// A string: an index in the provider's string table, or inline bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringRef<'a> {
    /// Index in the string table, 1 to 32,767.
    Index(u16),
    /// The string, usually UTF-8. May be empty.
    Inline(&'a [u8]),
}

/// A thread and its process: an index in the provider's thread table, or both ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadRef {
    /// Index in the thread table, 1 to 255.
    Index(u8),
    /// Kernel object ids.
    Inline {
        /// Process.
        process: u64,
        /// Thread.
        thread: u64,
    },
}

/// A process: the process of a thread table entry, or an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessRef {
    /// Index in the thread table, 1 to 255.
    Index(u8),
    /// Kernel object id.
    Inline(u64),
}
