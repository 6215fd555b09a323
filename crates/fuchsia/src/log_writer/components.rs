//! Record tags and their components.

use std::collections::{HashMap, HashSet};

/// Maximum number of tags in use.
const MOST_TAGS: usize = 1 << 18;

/// Maximum total component size in bytes, the same as in the reader.
const MOST_BYTES: usize = 16 << 20;

/// Maximum tag value (31 bits).
const MOST_TAG: u32 = u32::MAX >> 1;

/// A component: moniker and URL, separated by a zero.
#[derive(Debug, Default)]
pub(super) struct ComponentName(String);

impl ComponentName {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Sets the component. Unknown texts are empty.
    pub(super) fn set(&mut self, moniker: &str, url: &str) {
        self.0.clear();
        self.0.push_str(moniker);
        self.0.push('\0');
        self.0.push_str(url);
    }

    /// Returns `true` if moniker and URL are unknown.
    pub(super) fn is_empty(&self) -> bool {
        self.0.len() < 2
    }

    pub(super) fn moniker(&self) -> &str {
        self.0.split_once('\0').map_or("", |(moniker, _)| moniker)
    }

    pub(super) fn url(&self) -> &str {
        self.0.split_once('\0').map_or("", |(_, url)| url)
    }
}

/// Tags in the written log.
#[derive(Debug, Default)]
pub(super) struct ComponentTags {
    /// `true` to keep the tags of the only source.
    is_same: bool,
    used: HashSet<u32>,
    /// Output tag by data stream key and input tag.
    by_stream: HashMap<(u32, u32), u32>,
    of_components: HashMap<Box<str>, u32>,
    next: u32,
    /// Components named by control records.
    named: HashMap<u32, Box<str>>,
    /// Total component size in bytes.
    size: usize,
}

impl ComponentTags {
    /// Creates the tags. `is_same` keeps tags, for records from a single log.
    pub(super) fn new(is_same: bool) -> Self {
        Self { is_same, ..Self::default() }
    }

    /// Returns the output tag for a data stream tag, or `None` if there are too many.
    pub(super) fn for_stream(&mut self, stream: u32, tag: u32) -> Option<u32> {
        if self.is_same {
            return Some(tag);
        }
        if let Some(known) = self.by_stream.get(&(stream, tag)) {
            return Some(*known);
        }
        let own = self.allocate(tag)?;
        self.by_stream.insert((stream, tag), own);
        Some(own)
    }

    /// Returns the tag of a component, or `None` if there are too many.
    pub(super) fn for_component(&mut self, component: &ComponentName) -> Option<u32> {
        if let Some(known) = self.of_components.get(&*component.0) {
            return Some(*known);
        }
        let size = self.size + component.0.len();
        if size > MOST_BYTES {
            return None;
        }
        let own = self.allocate(0)?;
        self.size = size;
        self.of_components.insert(component.0.as_str().into(), own);
        Some(own)
    }

    /// Returns an unused tag, preferably `wanted`.
    fn allocate(&mut self, wanted: u32) -> Option<u32> {
        if self.used.len() >= MOST_TAGS {
            return None;
        }
        if wanted != 0 && self.used.insert(wanted) {
            return Some(wanted);
        }
        // Terminates because the limit is below the number of possible tags.
        loop {
            self.next = if self.next >= MOST_TAG { 1 } else { self.next + 1 };
            if self.used.insert(self.next) {
                return Some(self.next);
            }
        }
    }

    /// Returns `true` if readers already know the component of a tag.
    pub(super) fn is_named(&self, tag: u32, component: &ComponentName) -> bool {
        self.named.get(&tag).is_some_and(|known| **known == *component.0)
    }

    /// Stores that a control record names the component of a tag. Returns `false` if there are too many.
    pub(super) fn name(&mut self, tag: u32, component: &ComponentName) -> bool {
        let before = self.named.get(&tag).map_or(0, |known| known.len());
        let size = self.size - before + component.0.len();
        if size > MOST_BYTES || !self.named.contains_key(&tag) && self.named.len() >= MOST_TAGS {
            return false;
        }
        self.size = size;
        self.named.insert(tag, component.0.as_str().into());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(moniker: &str) -> ComponentName {
        let mut component = ComponentName::default();
        component.set(moniker, "url");
        component
    }

    #[test]
    fn tags_of_several_logs_do_not_meet() {
        let mut tags = ComponentTags::new(false);
        assert_eq!(tags.for_stream(0, 7), Some(7));
        assert_eq!(tags.for_stream(1, 7), Some(1));
        assert_eq!(tags.for_stream(1, 1), Some(2));
        assert_eq!(tags.for_stream(0, 7), Some(7));
        assert_eq!(tags.for_component(&component("a")), Some(3));
        assert_eq!(tags.for_component(&component("a")), Some(3));
        assert_eq!(ComponentTags::new(true).for_stream(9, 5), Some(5));
    }

    #[test]
    fn a_tag_is_named_anew_when_it_stands_for_something_else() {
        let mut tags = ComponentTags::new(true);
        let (a, b) = (component("a"), component("b"));
        assert!(!tags.is_named(1, &a) && tags.name(1, &a) && tags.is_named(1, &a));
        assert!(!tags.is_named(1, &b) && tags.name(1, &b) && !tags.is_named(1, &a));
        assert_eq!((a.moniker(), a.url(), a.is_empty()), ("a", "url", false));
        let long = component(&"x".repeat(MOST_BYTES));
        assert!(!tags.name(2, &long) && tags.for_component(&long).is_none());
        assert!(ComponentName::default().is_empty());
    }
}
