//! How much there is to write: classes may be shared, so that few of them stand for very many.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::{
    DataStreamClass, EventRecordClass, FieldClass, FieldKind, Length, StringLength, TraceClass,
};

use super::places::Roots;

/// How many classes there are when shared ones are counted once for each use, how deep they nest, and which are
/// shared.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// All classes, shared ones once for each use.
    pub(super) classes: u64,
    /// Levels of nesting.
    pub(super) depth: u32,
    known: HashMap<*const FieldClass, Size>,
}

#[derive(Clone, Copy, Debug)]
struct Size {
    classes: u64,
    depth: u32,
    uses: u32,
    has_relative: bool,
}

impl Sizes {
    /// Looks at all root fields of a trace class; no deeper than `most` levels.
    pub(super) fn of(trace: &TraceClass, most: u32) -> Self {
        let mut sizes = Self::default();
        for root in roots(trace) {
            let size = sizes.visit(root, most);
            sizes.classes = sizes.classes.saturating_add(size.classes);
            sizes.depth = sizes.depth.max(size.depth);
        }
        sizes
    }

    /// Whether a class is used several times and large enough to be written only once.
    pub(super) fn is_shared(&self, class: &Arc<FieldClass>) -> bool {
        let is_large = match &class.kind {
            FieldKind::Structure { members, .. } => !members.is_empty(),
            FieldKind::Variant { .. } | FieldKind::BitMap { .. } => true,
            FieldKind::Array { .. } | FieldKind::Optional { .. } | FieldKind::Union { .. } => true,
            _ => class.integer().is_some_and(|integer| integer.mappings.is_some()),
        };
        is_large && self.known.get(&Arc::as_ptr(class)).is_some_and(|size| size.uses > 1)
    }

    /// Whether there are relative field locations in a class.
    pub(super) fn has_relative(&self, class: &Arc<FieldClass>) -> bool {
        self.known.get(&Arc::as_ptr(class)).is_some_and(|size| size.has_relative)
    }

    fn visit(&mut self, class: &Arc<FieldClass>, most: u32) -> Size {
        if let Some(known) = self.known.get_mut(&Arc::as_ptr(class)) {
            known.uses = known.uses.saturating_add(1);
            return *known;
        }
        let mut size = Size { classes: 1, depth: 0, uses: 1, has_relative: is_relative(class) };
        if most > 0 {
            let mut add = |class: &Arc<FieldClass>| {
                let inner = self.visit(class, most - 1);
                size.classes = size.classes.saturating_add(inner.classes);
                size.depth = size.depth.max(inner.depth);
                size.has_relative |= inner.has_relative;
            };
            match &class.kind {
                FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                    members.iter().for_each(|member| add(&member.class));
                }
                FieldKind::Array { element, .. } => add(element),
                FieldKind::Optional { field, .. } => add(field),
                FieldKind::Variant { options, .. } => options.iter().for_each(|option| add(&option.class)),
                _ => {}
            }
        }
        size.depth = size.depth.saturating_add(1);
        self.known.insert(Arc::as_ptr(class), size);
        size
    }
}

/// Whether a class has a relative field location itself.
fn is_relative(class: &FieldClass) -> bool {
    let location = match &class.kind {
        FieldKind::String { length: StringLength::Dynamic(location), .. }
        | FieldKind::Blob { length: Length::Dynamic(location), .. }
        | FieldKind::Array { length: Length::Dynamic(location), .. }
        | FieldKind::Optional { selector: location, .. }
        | FieldKind::Variant { selector: location, .. } => location,
        _ => return false,
    };
    location.origin.is_none()
}

/// The classes of all root fields.
fn roots(trace: &TraceClass) -> impl Iterator<Item = &Arc<FieldClass>> {
    let streams = trace.data_streams.iter().flat_map(|stream| {
        let own = [&stream.packet_context, &stream.event_record_header, &stream.common_context];
        let events = stream.event_records.iter().flat_map(|event| [&event.specific_context, &event.payload]);
        own.into_iter().chain(events)
    });
    std::iter::once(&trace.packet_header).chain(streams).flatten()
}

/// The classes of the root fields that fields of an event record class can need, or of less than that.
pub(super) fn roots_of<'c>(
    trace: &'c TraceClass,
    stream: Option<&'c DataStreamClass>,
    event: Option<&'c EventRecordClass>,
) -> Roots<'c> {
    [
        trace.packet_header.as_deref(),
        stream.and_then(|stream| stream.packet_context.as_deref()),
        stream.and_then(|stream| stream.event_record_header.as_deref()),
        stream.and_then(|stream| stream.common_context.as_deref()),
        event.and_then(|event| event.specific_context.as_deref()),
        event.and_then(|event| event.payload.as_deref()),
    ]
}
