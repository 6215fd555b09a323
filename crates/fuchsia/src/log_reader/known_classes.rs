//! Recently used classes of a source.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::Arc;

use ichnos_model::DataStream;
use ichnos_model::class::DynamicClass;

use super::class::{self, MessageLayout};
use super::shape::{self, RecordShape};
use crate::log::{self, Record};

/// Minimum number of classes that a source keeps.
const FEWEST_KNOWN: usize = 8;

/// A class in use, and the shape of its records.
#[derive(Debug)]
pub(super) struct KnownClass {
    pub(super) class: Arc<DynamicClass>,
    /// Index in the dynamic classes.
    dynamic: usize,
    /// Shape hash, if `by_hash` contains it.
    hash: Option<u64>,
    /// `true` if the class was used since the last eviction check.
    pub(super) was_met: bool,
    /// Record shape. `None` if records must be examined individually.
    pub(super) shape: Option<RecordShape>,
    /// `true` if records contain a count of dropped records.
    pub(super) counts_drops: bool,
    /// Class index.
    pub(super) index: usize,
}

/// Classes in use. Unused classes are evicted when there are too many.
#[derive(Debug)]
pub(super) struct KnownClasses {
    classes: Vec<KnownClass>,
    /// Maximum number of classes.
    most: usize,
    /// Next eviction candidate.
    hand: usize,
    by_dynamic: HashMap<usize, usize>,
    by_hash: HashMap<u64, usize, BuildHasherDefault<NoHash>>,
    seed: u64,
}

impl KnownClasses {
    /// Creates an empty table for at most `most` classes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            classes: Vec::new(),
            most: most.max(FEWEST_KNOWN),
            hand: 0,
            by_dynamic: HashMap::new(),
            by_hash: HashMap::default(),
            seed: std::hash::RandomState::new().hash_one(0),
        }
    }

    /// Returns the class at an index.
    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> Option<&KnownClass> {
        self.classes.get(index)
    }

    /// Returns the class at an index, and protects it from the next eviction check.
    pub(super) fn use_class(&mut self, index: usize) -> Option<&KnownClass> {
        let known = self.classes.get_mut(index)?;
        known.was_met = true;
        Some(known)
    }

    /// Returns the class of a record that differs from the previous record, and its size in words.
    #[inline(never)]
    pub(super) fn find(&self, words: &[[u8; 8]]) -> Option<(usize, usize)> {
        let index = *self.by_hash.get(&shape::hash(words, self.seed))?;
        let size = self.classes.get(index)?.shape.as_ref()?.size_of_match(words)?;
        Some((index, size))
    }

    /// Returns the known class of a message, or `None` if there are too many classes.
    pub(super) fn class_of(
        &mut self,
        stream: &DataStream,
        key: &[u8],
        form: &MessageLayout<'_>,
    ) -> Option<usize> {
        let dynamic = stream.trace.dynamic_classes(stream.class_index)?;
        // Even the largest record leads to a valid class.
        let dynamic = dynamic.index(key, matches!(form, MessageLayout::Legacy(_)))?;
        self.by_dynamic.get(&dynamic).copied().or_else(|| self.add(stream, dynamic, Some(form)))
    }

    /// Returns the known class for records beyond the class limit.
    pub(super) fn any(&mut self, stream: &DataStream) -> Option<usize> {
        let dynamic = stream.trace.dynamic_classes(stream.class_index)?.index(class::ANY_KEY, true)?;
        self.by_dynamic.get(&dynamic).copied().or_else(|| self.add(stream, dynamic, None))
    }

    /// Adds a class to the known classes, for messages with this form if given.
    fn add(
        &mut self,
        stream: &DataStream,
        dynamic: usize,
        form: Option<&MessageLayout<'_>>,
    ) -> Option<usize> {
        let classes = stream.trace.dynamic_classes(stream.class_index)?;
        let class = classes.get(dynamic).ok().flatten()?;
        let record = match form {
            Some(MessageLayout::Record(record)) => Some(record),
            _ => None,
        };
        let shape = record.and_then(RecordShape::from_record);
        let hash = record.filter(|_| shape.is_some()).map(|record| {
            let words = record.as_bytes().as_chunks::<8>().0;
            shape::hash(words, self.seed)
        });
        let counts_drops = match form {
            None => false,
            Some(MessageLayout::Record(record)) => counts_drops(record),
            Some(_) => true,
        };
        let known = KnownClass {
            dynamic,
            hash: hash.filter(|hash| !self.by_hash.contains_key(hash)),
            was_met: true,
            shape,
            counts_drops,
            index: class.plans.index().unwrap_or(usize::MAX),
            class,
        };
        let place = self.make_room();
        self.by_dynamic.insert(dynamic, place);
        if let Some(hash) = known.hash {
            self.by_hash.insert(hash, place);
        }
        match self.classes.get_mut(place) {
            Some(old) => *old = known,
            None => self.classes.push(known),
        }
        Some(place)
    }

    /// Returns the index for a new known class, evicting an unused class if necessary.
    fn make_room(&mut self) -> usize {
        if self.classes.len() < self.most {
            return self.classes.len();
        }
        loop {
            self.hand = if self.hand + 1 < self.classes.len() { self.hand + 1 } else { 0 };
            let Some(known) = self.classes.get_mut(self.hand) else { return self.classes.len() };
            if !std::mem::take(&mut known.was_met) {
                self.by_dynamic.remove(&known.dynamic);
                if let Some(hash) = known.hash {
                    self.by_hash.remove(&hash);
                }
                return self.hand;
            }
        }
    }
}

/// Returns `true` if records like this one contain a count of dropped records.
fn counts_drops(record: &Record<'_>) -> bool {
    let is_count = |argument: &log::Argument<'_>| {
        argument.meaning() == log::Meaning::Dropped
            || argument.name == "$__rolled_out"
            || record.is_control() && argument.name == "rolled_out"
    };
    record.arguments().flatten().any(|argument| is_count(&argument))
}

/// Hasher for keys that already are hashes.
#[derive(Clone, Copy, Debug, Default)]
struct NoHash(u64);

impl Hasher for NoHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
