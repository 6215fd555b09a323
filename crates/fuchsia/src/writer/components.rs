//! The tags of records, and the components that they stand for.

use std::collections::{HashMap, HashSet};

/// Most tags that are known at once.
const MOST_TAGS: usize = 1 << 18;

/// Bytes of the components that tags stand for, at most: as the reader has it.
const MOST_BYTES: usize = 16 << 20;

/// The greatest tag: 31 bits.
const MOST_TAG: u32 = u32::MAX >> 1;

/// A component: its moniker and its URL, with a zero between them.
#[derive(Debug, Default)]
pub(super) struct Component(String);

impl Component {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Sets it; what is not known of it is empty.
    pub(super) fn set(&mut self, moniker: &str, url: &str) {
        self.0.clear();
        self.0.push_str(moniker);
        self.0.push('\0');
        self.0.push_str(url);
    }

    /// Whether nothing is known of it.
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

/// The tags of the records that are written.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// Whether they are those of the only source.
    is_same: bool,
    used: HashSet<u32>,
    /// By key of the data stream and tag there.
    of_streams: HashMap<(u32, u32), u32>,
    of_components: HashMap<Box<str>, u32>,
    next: u32,
    /// The components that control records named.
    named: HashMap<u32, Box<str>>,
    /// Bytes that the components take.
    size: usize,
}

impl Tags {
    /// `is_same`: all records come from one log, whose tags stay as they are.
    pub(super) fn new(is_same: bool) -> Self {
        Self { is_same, ..Self::default() }
    }

    /// The tag of what has another one in a data stream; None if there are too many.
    pub(super) fn of_stream(&mut self, stream: u32, tag: u32) -> Option<u32> {
        if self.is_same {
            return Some(tag);
        }
        if let Some(known) = self.of_streams.get(&(stream, tag)) {
            return Some(*known);
        }
        let own = self.allocate(tag)?;
        self.of_streams.insert((stream, tag), own);
        Some(own)
    }

    /// The tag that stands for a component; None if there are too many.
    pub(super) fn of_component(&mut self, component: &Component) -> Option<u32> {
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

    /// A tag that is not used, if possible this one.
    fn allocate(&mut self, wanted: u32) -> Option<u32> {
        if self.used.len() >= MOST_TAGS {
            return None;
        }
        if wanted != 0 && self.used.insert(wanted) {
            return Some(wanted);
        }
        // There are fewer in use than there are.
        loop {
            self.next = if self.next >= MOST_TAG { 1 } else { self.next + 1 };
            if self.used.insert(self.next) {
                return Some(self.next);
            }
        }
    }

    /// Whether readers know that a tag stands for a component.
    pub(super) fn is_named(&self, tag: u32, component: &Component) -> bool {
        self.named.get(&tag).is_some_and(|known| **known == *component.0)
    }

    /// A control record names the component of a tag from here on; false if there are too many.
    pub(super) fn name(&mut self, tag: u32, component: &Component) -> bool {
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

    fn component(moniker: &str) -> Component {
        let mut component = Component::default();
        component.set(moniker, "url");
        component
    }

    #[test]
    fn tags_of_several_logs_do_not_meet() {
        let mut tags = Tags::new(false);
        assert_eq!(tags.of_stream(0, 7), Some(7));
        assert_eq!(tags.of_stream(1, 7), Some(1));
        assert_eq!(tags.of_stream(1, 1), Some(2));
        assert_eq!(tags.of_stream(0, 7), Some(7));
        assert_eq!(tags.of_component(&component("a")), Some(3));
        assert_eq!(tags.of_component(&component("a")), Some(3));
        assert_eq!(Tags::new(true).of_stream(9, 5), Some(5));
    }

    #[test]
    fn a_tag_is_named_anew_when_it_stands_for_something_else() {
        let mut tags = Tags::new(true);
        let (a, b) = (component("a"), component("b"));
        assert!(!tags.is_named(1, &a) && tags.name(1, &a) && tags.is_named(1, &a));
        assert!(!tags.is_named(1, &b) && tags.name(1, &b) && !tags.is_named(1, &a));
        assert_eq!((a.moniker(), a.url(), a.is_empty()), ("a", "url", false));
        let long = component(&"x".repeat(MOST_BYTES));
        assert!(!tags.name(2, &long) && tags.of_component(&long).is_none());
        assert!(Component::default().is_empty());
    }
}
