//! Thread that a trace lists.

/// A thread that a trace lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListedThread {
    /// Its number, which is unique at a time.
    pub number: u64,
    /// The number of its process, if it is known.
    pub process: Option<u64>,
    /// Its name; may be empty.
    pub name: Box<str>,
}
