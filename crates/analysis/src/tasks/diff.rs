//! Differences between two executions.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use super::graph::{TaskEdge, TaskGraph};

/// Differences between two executions of the same task.
///
/// Operations are matched in three steps, each sorted by time: by equal label and history (all direct and indirect
/// causes), by equal label, and by equal label except for numbers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TaskDiff {
    /// Nodes in both executions: index in the first, index in the second.
    pub matched: Vec<(u32, u32)>,
    /// Number of matched nodes with the same history.
    pub same_history: usize,
    /// Nodes only in the first execution.
    pub removed: Vec<u32>,
    /// Nodes only in the second execution.
    pub added: Vec<u32>,
    /// Edge counts: between matched nodes in both executions, only in the first, only in the second.
    pub edges: [usize; 3],
    /// Differences in time by label, greatest first.
    pub steps: Vec<StepDifference>,
}

/// Time since the latest cause in both executions, for operations with the same label (except for numbers).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepDifference {
    /// Label of the operations.
    pub label: Vec<u8>,
    /// Operation counts in the first and the second execution.
    pub counts: [u64; 2],
    /// Total times, in nanoseconds.
    pub times: [i128; 2],
}

impl StepDifference {
    /// Returns the additional time of the second execution, in nanoseconds.
    #[must_use]
    pub fn change(&self) -> i128 {
        self.times[1] - self.times[0]
    }
}

impl TaskDiff {
    /// Compares two executions.
    #[must_use]
    pub fn new(first: &TaskGraph<'_>, second: &TaskGraph<'_>) -> Self {
        let hasher = RandomState::new();
        let histories = [first, second].map(|graph| histories(graph, &hasher));
        let same_labels = [first, second].map(|graph| labels(graph, |label| hasher.hash_one(label)));
        let similar_labels =
            [first, second].map(|graph| labels(graph, |label| hasher.hash_one(without_numbers(label))));
        let mut partners = vec![None; first.len() as usize];
        let mut taken = vec![false; second.len() as usize];
        match_by(&histories, &mut partners, &mut taken);
        let same_history = partners.iter().flatten().count();
        match_by(&same_labels, &mut partners, &mut taken);
        match_by(&similar_labels, &mut partners, &mut taken);
        let mut diff = Self { same_history, ..Self::default() };
        for (node, partner) in (0..).zip(&partners) {
            match partner {
                Some(partner) => diff.matched.push((node, *partner)),
                None => diff.removed.push(node),
            }
        }
        diff.added = (0..).zip(&taken).filter(|(_, is_taken)| !**is_taken).map(|(node, _)| node).collect();
        diff.compare_edges(first, second, &partners);
        diff.steps = steps(first, second);
        diff
    }

    fn compare_edges(&mut self, first: &TaskGraph<'_>, second: &TaskGraph<'_>, partners: &[Option<u32>]) {
        let partner = |node: u32| partners.get(node as usize).copied().flatten();
        for node in 0..first.len() {
            for edge in first.causes(node) {
                let is_in_both = partner(node).zip(partner(edge.node)).is_some_and(|(to, from)| {
                    let key = |other: &TaskEdge| (other.node, other.kind);
                    second.causes(to).binary_search_by_key(&(from, edge.kind), key).is_ok()
                });
                self.edges[usize::from(!is_in_both)] += 1;
            }
        }
        self.edges[2] = second.edges().saturating_sub(self.edges[0]);
    }

    /// Returns `true` if both have the same operations and edges.
    #[must_use]
    pub fn is_same_structure(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.edges[1] == 0 && self.edges[2] == 0
    }
}

/// Returns a number for the label of each node.
fn labels(graph: &TaskGraph<'_>, number: impl Fn(&[u8]) -> u64) -> Vec<u64> {
    let label = |node| number(graph.member(node).map_or(&[], |member| member.label));
    (0..graph.len()).map(label).collect()
}

/// Returns a text with each number replaced by one character.
fn without_numbers(label: &[u8]) -> Vec<u8> {
    let mut text = label.to_vec();
    text.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'0');
    text.dedup_by(|byte, before| *byte == b'0' && *before == b'0');
    text
}

/// Returns a hash for each node, made from the labels of the node and of its direct and indirect causes.
fn histories(graph: &TaskGraph<'_>, hasher: &RandomState) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(graph.len() as usize);
    for node in 0..graph.len() {
        // The order of causes must not matter.
        let causes = graph.causes(node).iter();
        let causes = causes.fold(0u64, |sum, edge| {
            let history = all.get(edge.node as usize).copied().unwrap_or_default();
            sum.wrapping_add(hasher.hash_one((history, edge.kind)))
        });
        all.push(hasher.hash_one((graph.member(node).map(|member| member.label), causes)));
    }
    all
}

/// Matches unmatched nodes with equal numbers, in order.
fn match_by(numbers: &[Vec<u64>; 2], partners: &mut [Option<u32>], taken: &mut [bool]) {
    let mut free: HashMap<u64, Vec<u32>> = HashMap::new();
    // In reverse order, because they are removed from the end.
    let candidates = (0..numbers[1].len()).rev().filter(|node| taken.get(*node) == Some(&false));
    for node in candidates {
        if let Some(number) = numbers[1].get(node) {
            free.entry(*number).or_default().push(node as u32);
        }
    }
    for (partner, number) in partners.iter_mut().zip(&numbers[0]).filter(|(partner, _)| partner.is_none()) {
        *partner = free.get_mut(number).and_then(Vec::pop);
        if let Some(is_taken) = partner.and_then(|partner| taken.get_mut(partner as usize)) {
            *is_taken = true;
        }
    }
}

fn steps(first: &TaskGraph<'_>, second: &TaskGraph<'_>) -> Vec<StepDifference> {
    // Labels that differ only in numbers share an entry with the label of the first one.
    let mut all: HashMap<Vec<u8>, StepDifference> = HashMap::new();
    for (which, graph) in [first, second].into_iter().enumerate() {
        for node in 0..graph.len() {
            let Some(member) = graph.member(node) else { continue };
            let step = all.entry(without_numbers(member.label)).or_insert_with(|| StepDifference {
                label: member.label.to_vec(),
                counts: [0; 2],
                times: [0; 2],
            });
            step.counts[which] += 1;
            let cause = graph.latest_cause(node).and_then(|edge| graph.begin(edge.node));
            if let Some((cause, own)) = cause.zip(graph.begin(node)) {
                step.times[which] += own - cause;
            }
        }
    }
    let mut steps: Vec<StepDifference> = all.into_values().collect();
    steps.sort_by(|a, b| b.change().abs().cmp(&a.change().abs()).then_with(|| a.label.cmp(&b.label)));
    steps
}
