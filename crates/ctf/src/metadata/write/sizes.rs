//! Size of the metadata to write. Classes may be shared, so a few objects can represent a very large number of classes.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::TraceClass;
use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Mappings, Member};

use super::places::RootClasses;
use crate::metadata::{Dialect, memory};

/// Class count and nesting depth, and the shared classes.
#[derive(Debug, Default)]
pub(super) struct ClassSizes {
    /// Class count. Shared classes count at each use.
    pub(super) classes: u64,
    /// Nesting depth.
    pub(super) depth: u32,
    /// Approximate memory in bytes of all classes when they are read, without labels. Shared classes count at each use.
    memory: u64,
    /// Approximate label memory in bytes. Shared classes count at each use.
    labels: u64,
    /// Approximate label memory in bytes. Shared classes count once.
    own_labels: u64,
    has_relative: bool,
    known: HashMap<*const FieldClass, Size>,
}

#[derive(Clone, Copy, Debug)]
struct Size {
    classes: u64,
    depth: u32,
    uses: u32,
    memory: u64,
    labels: u64,
    has_relative: bool,
}

impl ClassSizes {
    /// Visits all root fields in a trace class, up to `most` levels deep.
    pub(super) fn for_trace(trace: &TraceClass, most: u32) -> Self {
        let mut sizes = Self::default();
        for root in trace.roots() {
            let size = sizes.visit(root, most);
            sizes.classes = sizes.classes.saturating_add(size.classes);
            sizes.depth = sizes.depth.max(size.depth);
            sizes.memory = sizes.memory.saturating_add(size.memory);
            sizes.labels = sizes.labels.saturating_add(size.labels);
            sizes.has_relative |= size.has_relative;
        }
        sizes
    }

    /// Returns a lower bound in bytes of the memory for reading the metadata in a dialect. Shared classes need memory
    /// again if a dialect repeats them.
    pub(super) fn memory_in(&self, dialect: Dialect) -> u64 {
        match dialect {
            Dialect::Spec2 => 0,
            Dialect::Prop1 if !self.has_relative => self.memory.saturating_add(self.own_labels),
            _ => self.memory.saturating_add(self.labels),
        }
    }

    /// Returns `true` if a class is used several times and large enough for an alias.
    pub(super) fn is_shared(&self, class: &Arc<FieldClass>) -> bool {
        let is_empty = matches!(&class.kind, FieldKind::Structure { members, .. } if members.is_empty());
        let is_large = class.is_compound() && !is_empty || class.mappings().is_some();
        is_large && self.known.get(&Arc::as_ptr(class)).is_some_and(|size| size.uses > 1)
    }

    /// Returns `true` if a class contains relative field locations.
    pub(super) fn has_relative(&self, class: &Arc<FieldClass>) -> bool {
        self.known.get(&Arc::as_ptr(class)).is_some_and(|size| size.has_relative)
    }

    fn visit(&mut self, class: &Arc<FieldClass>, most: u32) -> Size {
        if let Some(known) = self.known.get_mut(&Arc::as_ptr(class)) {
            known.uses = known.uses.saturating_add(1);
            return *known;
        }
        let (memory, labels) = own_memory(class);
        let mut size =
            Size { classes: 1, depth: 0, uses: 1, memory, labels, has_relative: is_relative(class) };
        if most > 0 {
            let mut add = |class: &Arc<FieldClass>| {
                let inner = self.visit(class, most - 1);
                size.classes = size.classes.saturating_add(inner.classes);
                size.depth = size.depth.max(inner.depth);
                size.memory = size.memory.saturating_add(inner.memory);
                size.labels = size.labels.saturating_add(inner.labels);
                size.has_relative |= inner.has_relative;
            };
            class.children().for_each(|child| add(child.class()));
        }
        size.depth = size.depth.saturating_add(1);
        self.own_labels = self.own_labels.saturating_add(labels);
        self.known.insert(Arc::as_ptr(class), size);
        size
    }
}

/// Returns the approximate memory of a class itself in bytes: without labels, and for its labels.
fn own_memory(class: &FieldClass) -> (u64, u64) {
    let of_names = |mappings: &Mappings| -> u64 {
        mappings.iter().map(|label| memory::of_label(label.name, label.ranges.len())).sum()
    };
    let labels = class.mappings().map_or(0, of_names);
    let of_member =
        |member: &Member| memory::of_member(&member.name) + memory::of_attributes(&member.attributes);
    let members: u64 = class.members().unwrap_or_default().iter().map(of_member).sum();
    (memory::of_field_class() + memory::of_attributes(&class.attributes) + members, labels)
}

/// Returns `true` if a class itself has a relative field location.
fn is_relative(class: &FieldClass) -> bool {
    class.needed_location().is_some_and(|location| location.origin.is_none())
}

/// Returns the root field classes on which a field in these classes can depend.
pub(super) fn roots_of<'c>(
    trace: &'c TraceClass,
    stream: Option<&'c DataStreamClass>,
    event: Option<&'c EventRecordClass>,
) -> RootClasses<'c> {
    [
        trace.packet_header.as_deref(),
        stream.and_then(|stream| stream.packet_context.as_deref()),
        stream.and_then(|stream| stream.event_record_header.as_deref()),
        stream.and_then(|stream| stream.common_context.as_deref()),
        event.and_then(|event| event.specific_context.as_deref()),
        event.and_then(|event| event.payload.as_deref()),
    ]
}
