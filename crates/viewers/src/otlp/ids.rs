//! Trace and span identifiers.

use std::collections::HashMap;

use ichnos_model::digest::ValueHash;
use ichnos_model::meaning::{CauseKind, Chain, Identifier, Mention};

use ichnos_analysis::tasks::EventContent;

/// Maximum number of operations with known identifiers. Beyond it, all are forgotten.
const MOST_OPERATIONS: usize = 1 << 16;

/// Trace identifier: 16 bytes, not all zero.
pub(super) type TraceId = [u8; 16];

/// Span identifier: 8 bytes, not all zero.
pub(super) type SpanId = [u8; 8];

/// Span and trace identifier of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanIds {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
}

/// Relations of a new span.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanRelations {
    pub(super) ids: SpanIds,
    /// Parent from the trace.
    pub(super) parent: Option<SpanId>,
    /// Index of the cause that is the parent.
    pub(super) parent_cause: Option<usize>,
    /// Operation of another trace that contains the span.
    pub(super) joined: Option<SpanCause>,
}

/// Operation that caused a span. It becomes the parent if it contains the span in time, otherwise a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanCause {
    pub(super) ids: SpanIds,
    /// Operation key.
    pub(super) key: u64,
}

/// Operation identifiers of all traces.
#[derive(Debug, Default)]
pub(super) struct OperationIds {
    known: HashMap<u64, SpanIds>,
    /// Task operations by reduced key: the identifier with leading zeros, without the chain.
    named: HashMap<u64, SpanCause>,
}

/// Returns a nonzero hash.
fn hash(seed: u64, numbers: &[u64], bytes: &[u8]) -> u64 {
    let mut hash = ValueHash::new(seed);
    numbers.iter().for_each(|number| hash.add(*number));
    hash.bytes(bytes);
    hash.finish().max(1)
}

/// Decodes an identifier from hexadecimal digits. `None` for any other text.
pub(super) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut id = [0; N];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?;
    }
    Some(id)
}

/// Returns a trace identifier that is derived from a number.
pub(super) fn derived_trace(number: u64) -> TraceId {
    let mut id = TraceId::default();
    let (high, low) = id.split_at_mut(8);
    high.copy_from_slice(&hash(1, &[number], &[]).to_be_bytes());
    low.copy_from_slice(&hash(2, &[number], &[]).to_be_bytes());
    id
}

/// Returns a span identifier that is derived from the track, start and number of the span.
pub(super) fn derived_span(track: u64, begin: u64, number: u64) -> SpanId {
    hash(3, &[track, begin, number], &[]).to_be_bytes()
}

/// Returns the trace identifier of a task: up to 16 bytes with leading zeros, or a hash of more bytes.
fn trace_of_task(task: Identifier) -> TraceId {
    match task.as_bytes() {
        bytes if bytes.len() <= 16 => task.common_part(),
        bytes => derived_trace(hash(4, &[], bytes)),
    }
}

/// Returns the span identifier of an operation: up to 8 bytes with leading zeros. Longer identifiers and identifiers
/// within a chain are hashed.
fn span_of_operation(operation: Identifier, chain: Chain) -> SpanId {
    let bytes = operation.as_bytes();
    let mut id = SpanId::default();
    match (chain.number(), id.len().checked_sub(bytes.len())) {
        (None, Some(begin)) => {
            if let Some(end) = id.get_mut(begin..) {
                end.copy_from_slice(bytes);
            }
            id
        }
        (chain, _) => hash(5, &[chain.map_or(0, |chain| u64::from(chain) + 1)], bytes).to_be_bytes(),
    }
}

/// Returns the key of a task operation.
pub(super) fn operation_key(
    task: Option<Identifier>,
    trace: u32,
    operation: Identifier,
    chain: Chain,
) -> u64 {
    let chain = chain.number().map_or(0, |chain| u64::from(chain) + 1);
    match task {
        Some(task) => hash(6, &[hash(7, &[chain], task.as_bytes())], operation.as_bytes()),
        // Operations without a task belong to their trace.
        None => hash(8, &[trace.into(), chain], operation.as_bytes()),
    }
}

impl OperationIds {
    /// Returns the identifiers of a known operation.
    pub(super) fn get(&self, key: u64) -> Option<SpanIds> {
        self.known.get(&key).copied()
    }

    /// Returns the identifiers of an operation from its own events or its effects.
    fn ids_of(&self, content: &EventContent, trace: u32, operation: Identifier, chain: Chain) -> SpanIds {
        let key = operation_key(content.task, trace, operation, chain);
        self.get(key).unwrap_or_else(|| SpanIds {
            trace: content.task.map_or_else(|| derived_trace(key), trace_of_task),
            span: span_of_operation(operation, chain),
        })
    }

    /// Returns the identifiers of the event's operation.
    pub(super) fn event_ids(&self, content: &EventContent, trace: u32) -> Option<SpanIds> {
        Some(self.ids_of(content, trace, content.operation?, content.chain))
    }

    /// Returns the identifiers and key of a mentioned operation. Returns `None` if only its task is mentioned, or if
    /// the mention is uncertain.
    pub(super) fn mentioned(&self, mention: &Mention, trace: u32) -> Option<(SpanIds, u64)> {
        let operation = mention.operation?;
        let key = operation_key(Some(mention.task), trace, operation, mention.chain);
        let written = || SpanIds {
            trace: trace_of_task(mention.task),
            span: span_of_operation(operation, mention.chain),
        };
        Some((self.get(key).or_else(|| mention.is_certain.then(written))?, key))
    }

    /// Returns the mentioned operation that another event declared.
    fn joined(&self, mention: &Mention, trace: u32) -> Option<SpanCause> {
        let known = self.named.get(&name_of(mention.task, mention.operation?)).copied();
        known.or_else(|| self.mentioned(mention, trace).map(|(ids, key)| SpanCause { ids, key }))
    }

    /// Passes the causes of an event in the numbered trace, except the parent.
    pub(super) fn causes(
        &self,
        content: &EventContent,
        trace: u32,
        parent: Option<usize>,
        mut take: impl FnMut(SpanCause),
    ) {
        for (position, (cause, chain, _)) in content.causes().enumerate() {
            if parent != Some(position) && Some((cause, chain)) != event_operation(content) {
                let key = operation_key(content.task, trace, cause, chain);
                // A cause before the chain started has no chain.
                let named = content.task.and_then(|task| self.named.get(&name_of(task, cause)));
                let named = named.filter(|_| self.get(key).is_none()).copied();
                let own = || SpanCause { ids: self.ids_of(content, trace, cause, chain), key };
                take(named.unwrap_or_else(own));
            }
        }
    }

    /// Records the operation of an event and returns the identifiers and parent of its span. An operation without a
    /// task belongs to the mentioned operation. `around` is the enclosing span.
    pub(super) fn begin(
        &mut self,
        content: &EventContent,
        trace: u32,
        operation: Identifier,
        around: Option<SpanIds>,
    ) -> SpanRelations {
        let key = operation_key(content.task, trace, operation, content.chain);
        let mut causes = content.causes().enumerate();
        let parent = causes.find(|(_, (cause, chain, kind))| {
            *kind == CauseKind::Parent && Some((*cause, *chain)) != event_operation(content)
        });
        let parent =
            parent.map(|(position, (cause, chain, _))| (position, self.ids_of(content, trace, cause, chain)));
        let known_cause = || {
            let keys =
                content.causes().map(|(cause, chain, _)| operation_key(content.task, trace, cause, chain));
            keys.filter(|cause| *cause != key).find_map(|cause| self.get(cause))
        };
        let joined = content.mentions.iter().filter(|_| content.task.is_none());
        let joined = joined.filter_map(|mention| self.joined(mention, trace)).next();
        let of_trace = content.task.map(trace_of_task).or(joined.map(|joined| joined.ids.trace));
        let of_parent = parent.map(|(_, parent)| parent.trace);
        let of_trace = of_trace.or(of_parent).or(around.map(|around| around.trace));
        let of_trace = of_trace.or_else(|| Some(known_cause()?.trace));
        let of_trace = of_trace.unwrap_or_else(|| derived_trace(key));
        let ids = SpanIds { trace: of_trace, span: span_of_operation(operation, content.chain) };
        if self.known.len() >= MOST_OPERATIONS {
            self.known.clear();
            self.named.clear();
        }
        self.known.insert(key, ids);
        if let Some(task) = content.task {
            self.named.insert(name_of(task, operation), SpanCause { ids, key });
        }
        SpanRelations {
            ids,
            parent: parent.map(|(_, parent)| parent.span),
            parent_cause: parent.map(|(position, _)| position),
            joined,
        }
    }
}

/// Returns the reduced key of a task operation, which other events know.
fn name_of(task: Identifier, operation: Identifier) -> u64 {
    hash(9, &[hash(10, &[], &trace_of_task(task))], &span_of_operation(operation, Chain::NONE))
}

/// Returns the operation of an event.
fn event_operation(content: &EventContent) -> Option<(Identifier, Chain)> {
    Some((content.operation?, content.chain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_of_other_sizes_are_padded_or_hashed() {
        let id = |digits: &str| Identifier::from_text(digits.as_bytes()).unwrap();
        let w3c = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_of_task(id(w3c)), id(w3c).as_bytes());
        assert_eq!(trace_of_task(id("0102"))[14..], [1, 2]);
        assert_eq!(trace_of_task(id("0102"))[..14], [0; 14]);
        assert_ne!(trace_of_task(id(&format!("{w3c}01"))), trace_of_task(id(&format!("{w3c}02"))));
        assert_eq!(
            span_of_operation(id("00f067aa0ba902b7"), Chain::NONE),
            *id("00f067aa0ba902b7").as_bytes()
        );
        assert_eq!(span_of_operation(id("0a0b0c0d"), Chain::UNKNOWN), [0, 0, 0, 0, 10, 11, 12, 13]);
        assert_ne!(
            span_of_operation(id("0a0b"), Chain::new(1)),
            span_of_operation(id("0a0b"), Chain::new(2))
        );
        assert_ne!(span_of_operation(id(w3c), Chain::NONE), [0; 8]);
        assert_ne!(derived_trace(0), [0; 16]);
    }
}
