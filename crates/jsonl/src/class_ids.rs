//! Ids for event record classes without a describing line.
//!
//! An event refers to its class by id, so ids must be unique in a data stream class. Events with one id can still have
//! different shapes. Then they belong to different classes. The first event with the id in the file determines the
//! class that keeps the id. All other classes, and classes whose events lack an id, use a hash of the event's shape as
//! their id. So an id does not depend on the set and the order of the events that are read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ichnos_model::class::EventRecordClass;
use ichnos_model::locks::IgnorePoison as _;

use crate::event;
use crate::index::{Runs, line_at};
use crate::line;
use crate::stream::LineStream;

/// Assigns ids to the event record classes in a data stream class.
#[derive(Debug)]
pub(crate) struct ClassIdAllocator {
    known: Mutex<KnownLines>,
    /// Taken ids. The value is the next candidate if the id is requested again.
    taken: Mutex<HashMap<u128, u128>>,
}

/// Lines of all data streams in a class.
#[derive(Debug)]
struct KnownLines {
    lines: Vec<Arc<Runs>>,
    /// Offset of the first event with each undescribed id, up to `searched`.
    first: HashMap<u128, usize>,
    /// Length of the file up to which `first` is known.
    searched: usize,
}

impl ClassIdAllocator {
    pub(crate) fn new(lines: Vec<Arc<Runs>>) -> Self {
        let known = KnownLines { lines, first: HashMap::new(), searched: 0 };
        Self { known: Mutex::new(known), taken: Mutex::default() }
    }

    /// Sets the lines of a longer file.
    pub(crate) fn extend(&self, lines: Vec<Arc<Runs>>) {
        self.known.lock().ignore_poison().lines = lines;
    }

    /// Returns the id for a new class. `own` is the id in its events, `key` identifies their shape.
    pub(crate) fn allocate(&self, own: Option<u128>, key: &[u8], part: &LineStream) -> u128 {
        let keeps_own = own.is_some_and(|own| self.is_of_first(own, key, part));
        let mut taken = self.taken.lock().ignore_poison();
        if let Some(own) = own
            && keeps_own
            && !taken.contains_key(&own)
        {
            taken.insert(own, own.wrapping_add(1));
            return own;
        }
        let hash = EventRecordClass::id_from_key(key);
        let mut id = taken.get(&hash).copied().unwrap_or(hash);
        while taken.contains_key(&id) || part.classes.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        taken.insert(hash, id.wrapping_add(1));
        taken.insert(id, id.wrapping_add(1));
        id
    }

    /// Returns `true` if the first event with this id has this shape.
    fn is_of_first(&self, id: u128, key: &[u8], part: &LineStream) -> bool {
        let Some(at) = self.known.lock().ignore_poison().find(id, part) else { return false };
        let Ok(text) = line::text(line_at(&part.file.bytes, at).0) else { return false };
        event::key_of(text, part).is_some_and(|first| first == key)
    }
}

impl KnownLines {
    /// Returns the offset of the first event with an id.
    fn find(&mut self, id: u128, part: &LineStream) -> Option<usize> {
        let known = self.first.get(&id).copied();
        if known.is_none() && self.searched < part.file.bytes.len() {
            self.search(part);
        }
        known.or_else(|| self.first.get(&id).copied())
    }

    /// Searches the lines that were not searched yet for the first event with each id.
    fn search(&mut self, part: &LineStream) {
        let Self { lines, first, searched } = self;
        let bytes = &part.file.bytes;
        // The limit on classes also limits the ids.
        let most = usize::try_from(part.file.limits.dynamic_event_record_classes).unwrap_or(usize::MAX);
        for runs in lines {
            let mut cursor = runs.cursor();
            while let Some((begin, end)) = runs.next(&mut cursor) {
                let mut at = begin.max(*searched);
                while at < end {
                    let (line, next) = line_at(bytes, at);
                    let id = line::text(line).ok().and_then(|text| event::undescribed_id(text, part));
                    if let Some(id) = id {
                        let is_full = first.len() >= most && !first.contains_key(&id);
                        if !is_full {
                            first.entry(id).and_modify(|known| *known = at.min(*known)).or_insert(at);
                        }
                    }
                    at = next.max(at + 1);
                }
            }
        }
        *searched = bytes.len();
    }
}
