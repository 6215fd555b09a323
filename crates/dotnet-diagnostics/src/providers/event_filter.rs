//! Filters for event ids.

/// Filter for the event ids of a provider, applied after keywords and level. .NET 10 and later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFilter {
    /// Enable only the events in the list. Otherwise, the events in the list are disabled.
    pub is_enabling: bool,
    /// Event ids.
    pub ids: Vec<u32>,
}
