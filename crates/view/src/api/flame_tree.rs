//! Weighted call tree.

use std::collections::{BinaryHeap, HashMap};

use ichnos::json::write::ValueWriter;

/// Maximum number of functions in an answer, and in a tree before inversion.
const MOST_NODES: usize = 5_000;
const MOST_INVERTED: usize = 20_000;

/// Maximum number of callers in an inverted tree, which can be many times larger.
const MOST_CALLERS: usize = 500_000;

/// Maximum stack depth in an answer.
const MOST_DEPTH: usize = 256;

/// Function with its callees.
#[derive(Debug, Default)]
struct StackNode {
    name: String,
    value: u64,
    children: Vec<usize>,
}

/// Call tree of all stacks. The first node is the root.
#[derive(Debug)]
pub(super) struct FlameTree {
    nodes: Vec<StackNode>,
    numbers: HashMap<(usize, String), usize>,
}

impl FlameTree {
    /// Creates a tree with the root only.
    pub(super) fn new() -> Self {
        let root = StackNode { name: "all".to_owned(), ..StackNode::default() };
        Self { nodes: vec![root], numbers: HashMap::new() }
    }

    /// Creates a tree from folded lines: function names from the outermost on, and a weight.
    pub(super) fn of_folded<'t>(lines: impl IntoIterator<Item = &'t str>) -> Self {
        let mut tree = Self::new();
        for line in lines {
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

    /// Returns the inverted tree, with the callers of each function below it, and the number of dropped functions and
    /// callers. The outermost `kept` levels stay in place.
    pub(super) fn inverted(mut self, kept: usize) -> (Self, usize) {
        // The time of dropped functions must not count for their callers.
        let own: Vec<u64> = self.nodes.iter().map(|node| self.own_time(node)).collect();
        let dropped = self.prune_to(MOST_INVERTED);
        let mut inverted = Self::new();
        let mut path = vec![0];
        let cut = self.invert(&own, &mut path, kept, &mut inverted);
        (inverted, dropped + cut)
    }

    /// Returns the time of a function without its callees.
    fn own_time(&self, node: &StackNode) -> u64 {
        let children = node.children.iter().filter_map(|child| self.nodes.get(*child));
        children.fold(node.value, |own, child| own.saturating_sub(child.value))
    }

    /// Adds the own times of the last function of a path and its callees to an inverted tree. Returns the number of
    /// dropped callers.
    fn invert(&self, own: &[u64], path: &mut Vec<usize>, kept: usize, inverted: &mut Self) -> usize {
        let last = path.last().copied().unwrap_or(0);
        let Some(StackNode { children, .. }) = self.nodes.get(last) else { return 0 };
        let mut cut = 0;
        let all_own = own;
        let own = own.get(last).copied().unwrap_or(0);
        if own > 0 {
            let (outer, inner) = path.split_at(path.len().min(kept + 1));
            let mut node = 0;
            inverted.add(node, own);
            for original in outer.iter().skip(1).chain(inner.iter().rev()) {
                if inverted.nodes.len() >= MOST_CALLERS {
                    cut += 1;
                    break;
                }
                node = inverted.child(node, self.nodes.get(*original).map_or("", |node| &node.name));
                inverted.add(node, own);
            }
        }
        for child in children {
            path.push(*child);
            cut += self.invert(all_own, path, kept, inverted);
            path.pop();
        }
        cut
    }

    /// Keeps the largest functions. Returns the number of dropped functions.
    pub(super) fn prune(&mut self) -> usize {
        self.prune_to(MOST_NODES)
    }

    fn prune_to(&mut self, most: usize) -> usize {
        let mut left = vec![false; self.nodes.len()];
        let mut largest = BinaryHeap::from([(u64::MAX, 0)]);
        for _ in 0..most {
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

    /// Dropped functions do not become time of their caller.
    #[test]
    fn inverted_trees_invent_no_time() {
        let many: String = (0..MOST_INVERTED + 10).map(|i| format!("a;f{i} 1\n")).collect();
        let (tree, dropped) = FlameTree::of_folded(many.lines()).inverted(0);
        assert!(dropped > 0);
        assert!(tree.nodes[0].children.iter().all(|child| tree.nodes[*child].name != "a"));
    }

    #[test]
    fn trees_add_what_is_below_and_keep_the_largest() {
        let mut tree = FlameTree::of_folded(["a;b 3", "a;c 4", "d 1"]);
        assert_eq!(tree.prune(), 0);
        let mut out = Vec::new();
        tree.write(ValueWriter::new(&mut out), 0);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(r#"{"name":"all","value":8,"children":[{"name":"a","value":7,"#), "{text}");
        let many: String = (0..6_000).map(|i| format!("x;f{i} {i}\n")).collect();
        let mut tree = FlameTree::of_folded(many.lines());
        assert_eq!(tree.prune(), 6_002 - MOST_NODES);
        let mut out = Vec::new();
        tree.write(ValueWriter::new(&mut out), 0);
        assert!(String::from_utf8(out).unwrap().contains("f5999"));
    }

    #[test]
    fn inverted_trees_have_callers_below_what_they_call() {
        let lines = ["t;main;read 3", "t;main;walk;read 4", "t;main 2", "u;read 1"];
        let folded = |tree: &FlameTree| {
            let mut out = Vec::new();
            tree.write(ValueWriter::new(&mut out), 0);
            String::from_utf8(out)
                .unwrap()
                .replace(['"', '{', '}'], "")
                .replace("name:", "")
                .replace(",children:[]", "")
        };
        let (tree, dropped) = FlameTree::of_folded(lines).inverted(0);
        assert_eq!(dropped, 0);
        let text = folded(&tree);
        assert!(text.starts_with("all,value:10,children:["), "{text}");
        assert!(
            text.contains("read,value:8,children:[main,value:3,children:[t,value:3],walk,value:4"),
            "{text}"
        );
        // By thread, the threads stay outermost.
        let text = folded(&FlameTree::of_folded(lines).inverted(1).0);
        assert!(text.contains("t,value:9,children:[main,value:2,read,value:7,children:["), "{text}");
        assert!(text.contains("u,value:1,children:[read,value:1]"), "{text}");
    }
}
