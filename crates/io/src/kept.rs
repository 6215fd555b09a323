//! What formats keep of growing files from one opening to the next.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::{DataStream, Trace};

/// What formats keep of growing files, so that the next opening reads only what was appended. Clones share it.
///
/// The default keeps nothing.
#[derive(Clone, Default)]
pub struct Kept(Option<Arc<KeptData>>);

#[derive(Default)]
struct KeptData {
    /// States by file name.
    states: Mutex<HashMap<String, KeptState>>,
    traces: Mutex<HashMap<String, KeptTrace>>,
    /// Number of files that were replaced by others.
    replaced: AtomicU64,
}

struct KeptState {
    beginning: FilePrint,
    state: Box<dyn Any + Send>,
}

/// Maximum number of states, and of traces.
const MOST: usize = 1 << 14;

/// Number of bytes at the start and before the end of a file that are compared.
const COMPARED: usize = 4 << 10;

/// Length of a file, and a hash of some of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePrint {
    length: usize,
    hash: u64,
}

impl FilePrint {
    /// Describes a file.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let first = bytes.get(..COMPARED).unwrap_or(bytes);
        let last = bytes.get(bytes.len().saturating_sub(COMPARED)..).unwrap_or_default();
        Self::of_parts(bytes.len(), first, last)
    }

    /// Describes a file by its length, and its first and last [`bytes`](Self::part_length).
    #[must_use]
    pub fn of_parts(length: usize, first: &[u8], last: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        (first, last).hash(&mut hasher);
        Self { length, hash: hasher.finish() }
    }

    /// Returns the number of bytes to compare at the start and at the end of a file with this length.
    #[must_use]
    pub fn part_length(length: usize) -> usize {
        length.min(COMPARED)
    }

    /// Returns the length of the file.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns `true` if a file begins with the described one, as far as the compared bytes show.
    #[must_use]
    pub fn begins(&self, bytes: &[u8]) -> bool {
        bytes.get(..self.length).is_some_and(|beginning| Self::new(beginning) == *self)
    }
}

/// Trace that is the same each time its growing files are opened, with its data streams.
#[derive(Clone)]
pub struct KeptTrace {
    trace: Arc<Trace>,
    /// Changes with data outside the class, and when files are replaced.
    version: (u64, u64),
    /// Data streams by number.
    streams: Arc<Mutex<HashMap<usize, Arc<DataStream>>>>,
}

impl Kept {
    /// Keeps data from now on.
    #[must_use]
    pub fn enabled() -> Self {
        Self(Some(Arc::default()))
    }

    /// Takes the state of a file, if the file begins with the bytes from which the state was made.
    #[must_use]
    pub fn take<T: Any + Send>(&self, name: &str, bytes: &[u8]) -> Option<T> {
        let kept = self.0.as_ref()?.states.lock().ignore_poison().remove(name)?;
        if !kept.beginning.begins(bytes) {
            self.0.as_ref()?.replaced.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        kept.state.downcast().ok().map(|state| *state)
    }

    /// Notes the content of a file without a state, so that a replaced file gets another trace. Call it before
    /// [`trace`](Self::trace).
    pub fn note(&self, name: &str, bytes: &[u8]) {
        let _: Option<()> = self.take(name, bytes);
        self.put(name, bytes, ());
    }

    /// Keeps the state of a file. `bytes` are those from which it was made.
    pub fn put<T: Any + Send>(&self, name: &str, bytes: &[u8], state: T) {
        if let Some(kept) = &self.0 {
            let kept_state = KeptState { beginning: FilePrint::new(bytes), state: Box::new(state) };
            let mut states = kept.states.lock().ignore_poison();
            // Files that are gone stay. Without their states, others are read from their start once more.
            if states.len() >= MOST {
                states.clear();
            }
            states.insert(name.to_owned(), kept_state);
        }
    }

    /// Returns the former trace at a path if it has the same class and version, and no file was replaced since then.
    /// Otherwise returns the given trace.
    #[must_use]
    pub fn trace(&self, path: &str, version: u64, trace: Trace) -> KeptTrace {
        let replaced = self.0.as_ref().map_or(0, |kept| kept.replaced.load(Ordering::Relaxed));
        let version = (version, replaced);
        let new = |trace: Trace| KeptTrace { trace: Arc::new(trace), version, streams: Arc::default() };
        let Some(kept) = &self.0 else { return new(trace) };
        let mut traces = kept.traces.lock().ignore_poison();
        let is_same = |former: &&KeptTrace| {
            let names = |trace: &Trace| (trace.name.clone(), trace.given_name.clone(), trace.path.clone());
            former.version == version
                && former.trace.class == trace.class
                && names(&former.trace) == names(&trace)
        };
        if let Some(former) = traces.get(path).filter(is_same) {
            return former.clone();
        }
        let new = new(trace);
        if traces.len() >= MOST {
            traces.clear();
        }
        traces.insert(path.to_owned(), new.clone());
        new
    }
}

impl KeptTrace {
    /// Returns the trace.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the former data stream with a number if it has the same properties, otherwise a new one. `None` for an
    /// invalid class.
    #[must_use]
    pub fn stream(
        &self,
        number: usize,
        class: usize,
        id: Option<u128>,
        name: &str,
    ) -> Option<Arc<DataStream>> {
        let mut streams = self.streams.lock().ignore_poison();
        let is_same =
            |former: &&Arc<DataStream>| (former.class_index, former.id, &*former.name) == (class, id, name);
        if let Some(former) = streams.get(&number).filter(is_same) {
            return Some(Arc::clone(former));
        }
        let stream = Arc::new(DataStream::new(Arc::clone(&self.trace), class, id, name)?);
        streams.insert(number, Arc::clone(&stream));
        Some(stream)
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kept").field(&self.0.is_some()).finish()
    }
}

impl fmt::Debug for KeptTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptTrace").field("path", &self.trace.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_have_grown_are_continued() {
        let bytes: Vec<u8> = (0..20_000u32).flat_map(u32::to_le_bytes).collect();
        let (first, rest) = bytes.split_at(50_000);
        let kept = Kept::enabled();
        kept.put("a", first, 7u32);
        assert_eq!(kept.take::<u32>("b", &bytes), None);
        assert_eq!(kept.take::<u32>("a", &bytes), Some(7));
        assert_eq!(kept.take::<u32>("a", &bytes), None);
        for other in [rest, &[first, rest, b"x"].concat()[1..], &first[..first.len() - 1]] {
            kept.put("a", first, 7u32);
            assert_eq!(kept.take::<u32>("a", other), None);
        }
        Kept::default().put("a", first, 7u32);
        assert_eq!(Kept::default().take::<u32>("a", &bytes), None);
    }
}
