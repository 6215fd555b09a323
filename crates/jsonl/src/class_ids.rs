//! Ids of event record classes that no line describes.
//!
//! Events refer to their class by its id, so no two classes of a data stream class can have the same one. But
//! events of one id can have different shapes, and then they are of several classes. The class of the first
//! such event in the file keeps the id. The ids of all others, and those of events without an id, are hashes
//! of the events' shapes. So an id does not depend on the set and the order of the events that are read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use ichnos_model::IgnorePoison as _;

use crate::event;
use crate::index::{Runs, line_at};
use crate::line;
use crate::stream::StreamPart;

/// Assigns ids to the classes of a data stream class.
#[derive(Debug)]
pub(crate) struct ClassIds {
    /// Lines of all data streams of the class.
    lines: Vec<Arc<Runs>>,
    /// Offset of the first event of each id that no line describes.
    first: OnceLock<HashMap<u128, usize>>,
    /// Ids in use, with the next candidate for each.
    given: Mutex<HashMap<u128, u128>>,
}

impl ClassIds {
    pub(crate) fn new(lines: Vec<Arc<Runs>>) -> Self {
        Self { lines, first: OnceLock::new(), given: Mutex::default() }
    }

    /// Returns the id of a new class of events with the id `own` (if any) and the shape of `key`.
    pub(crate) fn give(&self, own: Option<u128>, key: &[u8], part: &StreamPart) -> u128 {
        let keeps_own = own.is_some_and(|own| self.is_of_first(own, key, part));
        let mut given = self.given.lock().ignore_poison();
        if let Some(own) = own
            && keeps_own
            && !given.contains_key(&own)
        {
            given.insert(own, own.wrapping_add(1));
            return own;
        }
        let hash = hash(key);
        let mut id = given.get(&hash).copied().unwrap_or(hash);
        while given.contains_key(&id) || part.classes.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        given.insert(hash, id.wrapping_add(1));
        given.insert(id, id.wrapping_add(1));
        id
    }

    /// Returns `true` if the first event of an id has this shape.
    fn is_of_first(&self, id: u128, key: &[u8], part: &StreamPart) -> bool {
        let first = self.first.get_or_init(|| self.find_first(part));
        let bytes = &part.file.bytes;
        let Some(at) = first.get(&id) else { return false };
        let Ok(text) = line::text(line_at(bytes, *at).0) else { return false };
        event::key_of(text, part).is_some_and(|first| first == key)
    }

    /// Searches all lines.
    fn find_first(&self, part: &StreamPart) -> HashMap<u128, usize> {
        let mut first: HashMap<u128, usize> = HashMap::new();
        let bytes = &part.file.bytes;
        // There can be no more classes anyway.
        let most = usize::try_from(part.file.limits.dynamic_event_record_classes).unwrap_or(usize::MAX);
        for runs in &self.lines {
            let mut cursor = runs.cursor();
            while let Some((begin, end)) = runs.next(&mut cursor) {
                let mut at = begin;
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
        first
    }
}

/// Returns a number that every JSON reader accepts, and that is almost unique.
pub(crate) fn hash(key: &[u8]) -> u128 {
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    u128::from((hash ^ hash >> 48) & 0xffff_ffff_ffff)
}
