//! Component names in a graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::ComponentKind;

/// Component names, by kind in graph order.
#[derive(Debug, Default)]
pub(super) struct ComponentNames {
    all: BTreeSet<String>,
    /// First number that may be free after a name.
    next_numbers: BTreeMap<String, u64>,
    pub(super) sources: Vec<String>,
    pub(super) filters: Vec<String>,
    pub(super) sinks: Vec<String>,
}

impl ComponentNames {
    /// Returns `true` if a component has this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.all.contains(name)
    }

    /// Adds a name.
    pub(super) fn add(&mut self, name: &str, kind: ComponentKind) {
        self.all.insert(name.to_owned());
        let names = match kind {
            ComponentKind::Source => &mut self.sources,
            ComponentKind::Filter => &mut self.filters,
            ComponentKind::Sink => &mut self.sinks,
        };
        names.push(name.to_owned());
    }

    /// Returns a new name: the wanted one, with a number if it is taken.
    pub(super) fn unique(&mut self, wanted: &str) -> String {
        if !self.contains(wanted) {
            return wanted.to_owned();
        }
        let number = self.next_numbers.entry(wanted.to_owned()).or_default();
        loop {
            let name = format!("{wanted}-{number}");
            *number = number.saturating_add(1);
            if !self.all.contains(&name) {
                return name;
            }
        }
    }

    /// Adds a new name like the wanted one without a place in the graph, and returns it.
    pub(super) fn reserve(&mut self, wanted: &str) -> String {
        let name = self.unique(wanted);
        self.all.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = ComponentNames::default();
        assert_eq!(names.unique("a"), "a");
        names.add("a", ComponentKind::Source);
        names.add("a-1", ComponentKind::Sink);
        assert_eq!(names.reserve("a"), "a-0");
        assert_eq!(names.reserve("a"), "a-2");
        assert_eq!(names.reserve("b"), "b");
        assert_eq!(names.reserve("b"), "b-0");
        assert_eq!((names.sources, names.sinks), (vec!["a".to_owned()], vec!["a-1".to_owned()]));
    }
}
