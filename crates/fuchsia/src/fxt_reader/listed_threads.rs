//! Threads and processes that a file names.

use ichnos_model::trace::ListedThread;

use super::index::FileIndex;

/// Returns the threads with a known name or process. A process counts as a thread of itself, which gives it a name.
pub(super) fn list(index: &FileIndex) -> Vec<ListedThread> {
    let unnamed = index.owners.keys().filter(|id| !index.names.contains_key(id));
    let ids = index.names.keys().chain(unnamed);
    let listed = |id: &u64| ListedThread {
        number: *id,
        process: index.owners.get(id).copied(),
        name: index.names.get(id).map_or("", |name| name).into(),
    };
    ids.map(listed).collect()
}
