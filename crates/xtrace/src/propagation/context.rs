//! Position of an execution in its task.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::random;
use super::tracer::Tracer;
use crate::edge::{Edge, EdgeKind};
use crate::id::{OpId, TaskId};
use crate::metadata::{Metadata, OptionsFull, ValidMetadata};
use crate::option::{ChainId, Severity};

/// Maximum number of edges to an event, so that a context that only joins others cannot grow without bound.
const MAX_EDGES: usize = 256;

/// Position of an execution: its task, its last operation, and the other operations that its next event follows.
///
/// [The module](super) describes its use.
#[derive(Clone, Debug)]
pub struct Context {
    metadata: ValidMetadata,
    /// Edge kind from the last operation to the next event.
    kind: EdgeKind,
    /// Chain of the last operation. After a fork, it differs from the metadata.
    op_chain: Option<ChainId>,
    /// Further edges to the next event.
    edges: Vec<Edge>,
    /// Number of edges dropped beyond the limit.
    edges_left_out: u64,
    /// Tracestate received with a traceparent. The next traceparent includes it.
    trace_state: Option<Arc<str>>,
    /// `true` after an attempt to join a context from another task.
    had_other_task: bool,
}

/// Error for a context from another task, which is then ignored. The next report mentions it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentTask;

impl fmt::Display for DifferentTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("that belongs to another task")
    }
}

impl std::error::Error for DifferentTask {}

impl Context {
    /// Starts a new task. Task and operation identifiers have 8 bytes.
    #[must_use]
    pub fn start() -> Self {
        Self::start_task(TaskId::from(random::nonzero::<8>()))
    }

    /// Starts a new task with a threshold for all programs that the task passes through, stored in the option
    /// [`Severity`]. Without it, each program uses the threshold of its own [`Tracer`].
    #[must_use]
    pub fn start_with_threshold(threshold: Severity) -> Self {
        let mut context = Self::start();
        // Metadata without other options always has room.
        let _ = context.set_threshold(threshold);
        context
    }

    /// Starts a task with a given identifier, or with a random identifier if it is all zeros.
    #[must_use]
    pub fn start_task(task: TaskId) -> Self {
        let task = if task.is_valid() { task } else { TaskId::from(random::nonzero::<8>()) };
        Self::from_metadata(ValidMetadata::from_nonzero(Metadata::new(task, OpId::from([0; 8]))))
    }

    /// Continues at the last operation in metadata, which usually came with a message.
    #[must_use]
    pub fn from_metadata(metadata: ValidMetadata) -> Self {
        let op_chain = chain_of(&metadata);
        Self {
            metadata,
            kind: EdgeKind::Next,
            op_chain,
            edges: Vec::new(),
            edges_left_out: 0,
            trace_state: None,
            had_other_task: false,
        }
    }

    /// Returns the task.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        self.metadata.task_id()
    }

    /// Returns the metadata to send with a message in the same layer.
    ///
    /// It names the last event, but not the contexts [joined](Self::join) since then. So the program should first
    /// report an event, for example for sending the message.
    #[must_use]
    pub fn metadata(&self) -> &ValidMetadata {
        &self.metadata
    }

    /// Sets the minimum importance of reported events, here and in all programs that receive the metadata from now on.
    ///
    /// Contexts that were forked or sent before keep their threshold. [`Severity::UNSET`] removes it. [`Severity::ALL`]
    /// and any other number above [`Severity::DEBUG`], except [`Severity::NONE`], are sent as [`Severity::DEBUG`],
    /// which also reports all levels.
    ///
    /// # Errors
    /// If the option does not fit into the metadata.
    pub fn set_threshold(&mut self, threshold: Severity) -> Result<(), OptionsFull> {
        // Only levels and *none* are sent. The original library keeps the low three bits, where *all* would become
        // *emergency*.
        let threshold = match threshold {
            Severity::UNSET => {
                self.metadata.remove_option(Severity::NUMBER);
                return Ok(());
            }
            Severity::NONE => Severity::NONE,
            threshold => threshold.min(Severity::DEBUG),
        };
        self.metadata.set_option(Severity::NUMBER, &[threshold.0])
    }

    /// Returns the same execution in the layer below.
    #[must_use]
    pub fn down(&self) -> Self {
        Self { kind: EdgeKind::Down, ..self.clone() }
    }

    /// Returns from a lower layer: the next event also follows the last event there.
    ///
    /// # Errors
    /// If it belongs to another task.
    pub fn up_from(&mut self, lower: Self) -> Result<(), DifferentTask> {
        self.follow(lower, EdgeKind::Up)
    }

    /// Forks a concurrent execution. It gets a random chain, and its first event follows the last event here.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut fork = self.clone();
        let own = chain_of(&self.metadata);
        let chain = u16::from_be_bytes(random::any());
        // If the option does not fit, operations still have different identifiers.
        let _ = fork.metadata.set_option(ChainId::NUMBER, &chain.to_be_bytes());
        let chain = chain_of(&fork.metadata);
        for edge in &mut fork.edges {
            *edge = moved(*edge, own, chain);
        }
        fork
    }

    /// Joins another execution that ends here: the next event also follows its last event.
    ///
    /// # Errors
    /// If it belongs to another task.
    pub fn join(&mut self, other: Self) -> Result<(), DifferentTask> {
        self.follow(other, EdgeKind::Next)
    }

    /// Receives a message in this layer: the next event also follows the operation that sent it.
    ///
    /// # Errors
    /// If it belongs to another task.
    pub fn receive(&mut self, metadata: ValidMetadata) -> Result<(), DifferentTask> {
        self.follow(Self::from_metadata(metadata), EdgeKind::Next)
    }

    fn follow(&mut self, other: Self, kind: EdgeKind) -> Result<(), DifferentTask> {
        if other.task_id() != self.task_id() {
            self.had_other_task = true;
            return Err(DifferentTask);
        }
        let (op, op_here) = (other.metadata.op_id(), self.metadata.op_id());
        let (from, to) = (chain_of(&other.metadata), chain_of(&self.metadata));
        if op != op_here && op.is_valid() {
            let chain = other.op_chain.filter(|chain| Some(*chain) != to);
            self.add(Edge { op, kind, chain });
        }
        for edge in other.edges {
            // Skips a duplicate of the edge from the last operation here.
            if edge.op != op_here || edge.kind != self.kind {
                self.add(moved(edge, from, to));
            }
        }
        self.edges_left_out += other.edges_left_out;
        self.had_other_task |= other.had_other_task;
        Ok(())
    }

    fn add(&mut self, edge: Edge) {
        if self.edges.len() >= MAX_EDGES {
            self.edges_left_out += 1;
        } else if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }

    /// Returns the tracestate received with a traceparent. Empty without a traceparent.
    #[must_use]
    pub fn trace_state(&self) -> &str {
        self.trace_state.as_deref().unwrap_or_default()
    }

    /// Stores a tracestate, to be sent with the next traceparent as the recommendation requires.
    pub fn set_trace_state(&mut self, state: &str) {
        self.trace_state = (!state.is_empty()).then(|| state.into());
    }

    /// Returns `true` if events with this severity are reported. The threshold comes from the metadata, or else from
    /// the tracer.
    #[must_use]
    pub fn reports(&self, tracer: &Tracer, severity: Severity) -> bool {
        Severity::threshold_of(self.metadata.as_ref()).or(tracer.threshold()).reports(severity)
    }

    /// Creates a new operation with a random identifier of the same length.
    pub(super) fn next(&self, tracer: &Tracer) -> NextOperation {
        let op = match self.metadata.op_id().as_bytes().len() {
            4 => OpId::from(random::nonzero::<4>()),
            _ => OpId::from(random::nonzero::<8>()),
        };
        let old = self.metadata.op_id();
        let chain = self.op_chain.filter(|chain| Some(*chain) != chain_of(&self.metadata));
        let edge = old.is_valid().then_some(Edge { op: old, kind: self.kind, chain });
        let changed = if tracer.registry().copies_all() {
            None
        } else {
            let mut changed = Box::new(self.metadata.clone());
            // Generated identifiers are never all zeros.
            let _ = changed.advance(op, self.kind, tracer.registry());
            Some(changed)
        };
        NextOperation { op, edge, changed }
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the errors since the last event.
    pub(super) fn errors(&self) -> impl Iterator<Item = Cow<'static, str>> {
        // Error text from the original library.
        let other_task = self.had_other_task.then_some(Cow::Borrowed("Edge with different taskId"));
        let left_out = (self.edges_left_out > 0)
            .then(|| Cow::Owned(format!("{} more edges are left out", self.edges_left_out)));
        other_task.into_iter().chain(left_out)
    }

    /// Makes a reported event the last operation.
    pub(super) fn advance_to(&mut self, next: NextOperation) {
        match next.changed {
            Some(changed) => self.metadata = *changed,
            None => self.metadata.replace_op(next.op),
        }
        self.op_chain = chain_of(&self.metadata);
        self.kind = EdgeKind::Next;
        self.edges.clear();
        self.edges_left_out = 0;
        self.had_other_task = false;
    }
}

/// A new operation that is not yet the last operation of its context.
#[derive(Debug)]
pub(super) struct NextOperation {
    pub(super) op: OpId,
    /// Edge from the last operation. `None` at the start of the task.
    pub(super) edge: Option<Edge>,
    /// New metadata if more than the operation changes. Otherwise a copy would take longer than everything else.
    pub(super) changed: Option<Box<ValidMetadata>>,
}

/// Converts an edge from a context with one chain to a context with another chain. An edge without a chain stays within
/// the chain of its context.
fn moved(edge: Edge, from: Option<ChainId>, to: Option<ChainId>) -> Edge {
    Edge { chain: edge.chain.or(from).filter(|chain| Some(*chain) != to), ..edge }
}

fn chain_of(metadata: &ValidMetadata) -> Option<ChainId> {
    ChainId::from_metadata(metadata.as_ref()).ok().flatten()
}

impl From<ValidMetadata> for Context {
    fn from(metadata: ValidMetadata) -> Self {
        Self::from_metadata(metadata)
    }
}
