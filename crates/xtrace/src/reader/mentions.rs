//! Finds operations mentioned in texts.

use ichnos_model::meaning::{Chain, Identifier, Mention};

use crate::find_identifiers;

/// Finds the operations mentioned in a text by metadata (including version 2), by a traceparent, or by labeled
/// identifiers.
pub(crate) fn find_mentions(text: &[u8], take: &mut dyn FnMut(Mention)) {
    for (_, found) in find_identifiers(text) {
        let task = match &found {
            crate::Identifier::Metadata { task, .. } => Identifier::new(task.as_bytes()),
            crate::Identifier::Version2(metadata) => Identifier::new(&metadata.task),
            crate::Identifier::TraceParent(parent) => Identifier::new(&parent.trace_id()),
            crate::Identifier::Labeled(ids) => Identifier::new(&ids.trace_id),
        };
        if let Some(task) = task {
            // Any 18-digit number can be metadata.
            let is_certain = !matches!(found, crate::Identifier::Metadata { .. });
            let chain = match &found {
                crate::Identifier::Metadata { chain, .. } => {
                    chain.map_or(Chain::NONE, |id| Chain::new(id.0.into()))
                }
                _ => Chain::UNKNOWN,
            };
            let operation = found.op_id().and_then(|op| Identifier::new(op.as_bytes()));
            take(Mention { task, operation, chain, is_certain });
        }
    }
}
