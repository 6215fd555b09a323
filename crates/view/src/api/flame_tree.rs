//! Calls of functions, as a tree with weights.

use std::collections::{BinaryHeap, HashMap};

use ichnos::json::write::ValueWriter;

/// Maximum number of functions of an answer.
const MOST_NODES: usize = 5_000;

/// Maximum depth of stacks in an answer.
const MOST_DEPTH: usize = 256;

/// A function and what it calls.
#[derive(Debug, Default)]
struct StackNode {
    name: String,
    value: u64,
    children: Vec<usize>,
}

/// Calls of all stacks; the first one is their root.
#[derive(Debug)]
pub(super) struct FlameTree {
    nodes: Vec<StackNode>,
    numbers: HashMap<(usize, String), usize>,
}

impl FlameTree {
    /// Reads lines of functions from the outermost one on, each with a weight.
    pub(super) fn of_folded(text: &str) -> Self {
        let root = StackNode { name: "all".to_owned(), ..StackNode::default() };
        let mut tree = Self { nodes: vec![root], numbers: HashMap::new() };
        for line in text.lines() {
            let Some((stack, weight)) = line.rsplit_once(' ') else { continue };
            let weight = weight.parse().unwrap_or(0);
            let mut node = 0;
            tree.add(node, weight);
            for name in stack.split(';').take(MOST_DEPTH) {
                node = tree.child(node, name);
                tree.add(node, weight);
            }
        }
        tree
    }

    pub(super) fn add(&mut self, node: usize, weight: u64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.value = node.value.saturating_add(weight);
        }
    }

    pub(super) fn child(&mut self, parent: usize, name: &str) -> usize {
        if let Some(child) = self.numbers.get(&(parent, name.to_owned())) {
            return *child;
        }
        let child = self.nodes.len();
        self.nodes.push(StackNode { name: name.to_owned(), ..StackNode::default() });
        self.numbers.insert((parent, name.to_owned()), child);
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children.push(child);
        }
        child
    }

    /// Leaves the largest functions. Returns the number of those that are left out.
    pub(super) fn prune(&mut self) -> usize {
        let mut left = vec![false; self.nodes.len()];
        let mut largest = BinaryHeap::from([(u64::MAX, 0)]);
        for _ in 0..MOST_NODES {
            let Some((_, node)) = largest.pop() else { break };
            left[node] = true;
            largest.extend(self.nodes[node].children.iter().map(|child| (self.nodes[*child].value, *child)));
        }
        for node in &mut self.nodes {
            node.children.retain(|child| left[*child]);
        }
        left.iter().filter(|is_left| !**is_left).count()
    }

    pub(super) fn write(&self, place: ValueWriter<'_>, node: usize) {
        let Some(StackNode { name, value, children }) = self.nodes.get(node) else { return place.null() };
        let mut object = place.object();
        object.member("name").string(name);
        object.member("value").unsigned(*value);
        let mut list = object.member("children").array();
        children.iter().for_each(|child| self.write(list.element(), *child));
        list.end();
        object.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_add_what_is_below_and_keep_the_largest() {
        let mut tree = FlameTree::of_folded("a;b 3\na;c 4\nd 1\n");
        assert_eq!(tree.prune(), 0);
        let mut out = Vec::new();
        tree.write(ValueWriter::new(&mut out), 0);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(r#"{"name":"all","value":8,"children":[{"name":"a","value":7,"#), "{text}");
        let many: String = (0..6_000).map(|i| format!("x;f{i} {i}\n")).collect();
        let mut tree = FlameTree::of_folded(&many);
        assert_eq!(tree.prune(), 6_002 - MOST_NODES);
        let mut out = Vec::new();
        tree.write(ValueWriter::new(&mut out), 0);
        assert!(String::from_utf8(out).unwrap().contains("f5999"));
    }
}
