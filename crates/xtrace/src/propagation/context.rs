//! Where an execution is in its task.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::event::Event;
use super::random;
use super::tracer::Tracer;
use crate::edge::{Edge, EdgeKind};
use crate::id::{OpId, TaskId};
use crate::metadata::{Metadata, OptionsFull, ValidMetadata};
use crate::option::{ChainId, Severity};

/// The most edges to an event, as a context that joins others and does nothing must not grow for ever.
const MAX_EDGES: usize = 256;

/// Where an execution is: its task, its last operation, and other operations that its next event follows.
///
/// See [the module](super) for what can be done with it.
#[derive(Clone, Debug)]
pub struct Context {
    metadata: ValidMetadata,
    /// The edge from the last operation to the next event.
    kind: EdgeKind,
    /// The chain of the last operation: after a fork another one than that of the metadata.
    op_chain: Option<ChainId>,
    /// Edges to the next event from elsewhere.
    edges: Vec<Edge>,
    /// How many were too many.
    edges_left_out: u64,
    /// What came beside a traceparent and is to be passed on with the next one.
    trace_state: Option<Arc<str>>,
    /// Whether something of another task was to be joined.
    had_other_task: bool,
}

/// Something belongs to another task: it does not cause anything here. The next report says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentTask;

impl fmt::Display for DifferentTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("that belongs to another task")
    }
}

impl std::error::Error for DifferentTask {}

impl Context {
    /// The begin of a new task. Identifiers of tasks and operations have 8 bytes.
    #[must_use]
    pub fn start() -> Self {
        Self::start_task(TaskId::from(random::nonzero::<8>()))
    }

    /// The begin of a new task with a threshold, which all programs that the task passes through use: its metadata have
    /// the option [`Severity`]. Without one, each program uses that of its own [`Tracer`].
    #[must_use]
    pub fn start_with_threshold(threshold: Severity) -> Self {
        let mut context = Self::start();
        // Metadata without options have room for one.
        let _ = context.set_threshold(threshold);
        context
    }

    /// The begin of a task with an identifier from elsewhere, or with a random one if this is all zeros.
    #[must_use]
    pub fn start_task(task: TaskId) -> Self {
        let task = if task.is_valid() { task } else { TaskId::from(random::nonzero::<8>()) };
        Self::of(ValidMetadata::of_nonzero(Metadata::new(task, OpId::from([0; 8]))))
    }

    /// Where the operation is that metadata name: usually they came with a message.
    #[must_use]
    pub fn of(metadata: ValidMetadata) -> Self {
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

    /// The task.
    #[must_use]
    pub fn task_id(&self) -> TaskId {
        self.metadata.task_id()
    }

    /// What to send with a message, in the same layer.
    ///
    /// They name the last event: what was [joined](Self::join) since then is not in them. So an event should come
    /// first, if only to say that the message was sent.
    #[must_use]
    pub fn metadata(&self) -> &ValidMetadata {
        &self.metadata
    }

    /// Sets how important events must be to be reported, here and wherever the metadata come from now on. Contexts that
    /// were forked or sent before keep their threshold. [`Severity::UNSET`] removes it; [`Severity::ALL`], and any other
    /// number above [`Severity::DEBUG`] but [`Severity::NONE`], is sent as [`Severity::DEBUG`], which reports all levels,
    /// too.
    ///
    /// # Errors
    /// If the metadata have no room for the option.
    pub fn set_threshold(&mut self, threshold: Severity) -> Result<(), OptionsFull> {
        // Only levels are sent, and *none*: the original library keeps the low three bits, which of *all* are those of
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

    /// The same execution in the layer below.
    #[must_use]
    pub fn down(&self) -> Self {
        Self { kind: EdgeKind::Down, ..self.clone() }
    }

    /// Back from a layer below: the next event follows what happened there, too.
    ///
    /// # Errors
    /// If it belongs to another task.
    pub fn up_from(&mut self, lower: Self) -> Result<(), DifferentTask> {
        self.follow(lower, EdgeKind::Up)
    }

    /// A second execution that goes on at the same time. It gets a random chain, and its first event follows the
    /// last one here.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut fork = self.clone();
        let own = chain_of(&self.metadata);
        let chain = u16::from_be_bytes(random::any());
        // Without room for the option, operations are still distinguished by their own identifiers.
        let _ = fork.metadata.set_option(ChainId::NUMBER, &chain.to_be_bytes());
        let chain = chain_of(&fork.metadata);
        for edge in &mut fork.edges {
            *edge = moved(*edge, own, chain);
        }
        fork
    }

    /// Another execution ends here: the next event follows its last one, too.
    ///
    /// # Errors
    /// If it belongs to another task.
    pub fn join(&mut self, other: Self) -> Result<(), DifferentTask> {
        self.follow(other, EdgeKind::Next)
    }

    /// A message arrived in this layer: the next event follows the operation that sent it, too.
    ///
    /// # Errors
    /// If it belongs to another task.
    pub fn receive(&mut self, metadata: ValidMetadata) -> Result<(), DifferentTask> {
        self.follow(Self::of(metadata), EdgeKind::Next)
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
            // From the last operation here there is an edge anyway.
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

    /// The tracestate that came beside a traceparent; empty if there is none.
    #[must_use]
    pub fn trace_state(&self) -> &str {
        self.trace_state.as_deref().unwrap_or_default()
    }

    /// Keeps a tracestate, which is passed on beside the next traceparent, as the recommendation demands.
    pub fn set_trace_state(&mut self, state: &str) {
        self.trace_state = (!state.is_empty()).then(|| state.into());
    }

    /// Something happens. Nothing is changed before the event is [sent](Event::send).
    pub fn event<'e>(&'e mut self, tracer: &'e Tracer, label: &str) -> Event<'e> {
        Event::new(self, tracer, Severity::UNSET, label)
    }

    /// Something of a certain importance happens. It is not reported, and then changes nothing, if that is above
    /// the threshold of the task.
    pub fn event_of<'e>(&'e mut self, tracer: &'e Tracer, severity: Severity, label: &str) -> Event<'e> {
        Event::new(self, tracer, severity, label)
    }

    /// Returns true if events of a severity are reported: by the threshold of the metadata, or that of the tracer where
    /// the metadata have none.
    #[must_use]
    pub fn reports(&self, tracer: &Tracer, severity: Severity) -> bool {
        Severity::threshold_of(self.metadata.as_ref()).or(tracer.threshold()).reports(severity)
    }

    /// A new operation with a random identifier of the same length.
    pub(super) fn next(&self, tracer: &Tracer) -> Next {
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
            // Identifiers that were drawn are not all zeros.
            let _ = changed.advance(op, self.kind, tracer.registry());
            Some(changed)
        };
        Next { op, edge, changed }
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// What went wrong since the last event.
    pub(super) fn errors(&self) -> impl Iterator<Item = Cow<'static, str>> {
        // The words of the original library.
        let other_task = self.had_other_task.then_some(Cow::Borrowed("Edge with different taskId"));
        let left_out = (self.edges_left_out > 0)
            .then(|| Cow::Owned(format!("{} more edges are left out", self.edges_left_out)));
        other_task.into_iter().chain(left_out)
    }

    /// An event was reported: it is the last operation now.
    pub(super) fn advance_to(&mut self, next: Next) {
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

/// An operation that is not the last one of its context yet.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) op: OpId,
    /// From the last one; None if the task begins.
    pub(super) edge: Option<Edge>,
    /// The metadata if more than the operation is changed. To copy them otherwise takes longer than the rest.
    pub(super) changed: Option<Box<ValidMetadata>>,
}

/// An edge of a context of one chain in a context of another one. An edge without a chain is within that of its
/// context.
fn moved(edge: Edge, from: Option<ChainId>, to: Option<ChainId>) -> Edge {
    Edge { chain: edge.chain.or(from).filter(|chain| Some(*chain) != to), ..edge }
}

fn chain_of(metadata: &ValidMetadata) -> Option<ChainId> {
    ChainId::of(metadata.as_ref()).ok().flatten()
}

impl From<ValidMetadata> for Context {
    fn from(metadata: ValidMetadata) -> Self {
        Self::of(metadata)
    }
}
