//! References to strings and threads.

/// A string: an index in the string table of the provider, or the string itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StringRef<'a> {
    /// Index in the string table, 1 to 32,767.
    Index(u16),
    /// The string, usually UTF-8; it may be empty.
    Inline(&'a [u8]),
}

/// A thread with its process: an index in the thread table of the provider, or both ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadRef {
    /// Index in the thread table, 1 to 255.
    Index(u8),
    /// Ids of kernel objects.
    Inline {
        /// Process.
        process: u64,
        /// Thread.
        thread: u64,
    },
}

/// A process: that of an entry of the thread table of the provider, or its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessRef {
    /// Index in the thread table, 1 to 255.
    Index(u8),
    /// Id of the kernel object.
    Inline(u64),
}
