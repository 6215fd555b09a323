//! Events of traces that were read from reports, or converted from them.

use ichnos_model::plan::Plan;
use ichnos_model::{Event, Field, FieldKind, Scope, StringEncoding, Text, Visitor};

use crate::reader::class::{ANY_MEMBER, CLASS_NAME, DIALECT};
use crate::report::LineBuffer;

/// A class of events that are reports.
#[derive(Debug)]
pub(super) struct ReportClass {
    keys: Vec<Box<str>>,
    /// For each node of the payload: the index of its key.
    nodes: Box<[LineNode]>,
}

/// Use of a node of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineNode {
    Nothing,
    /// A value of the key with this index.
    Value(u32),
    /// A key, whose value follows: of reports beyond the limit of classes.
    AnyKey,
    AnyValue,
}

impl ReportClass {
    /// Returns `None` for any other class.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        if event.class.name.as_deref() != Some(CLASS_NAME) {
            return None;
        }
        let plan = event.plan(Scope::Payload)?;
        let is_own = event.stream.trace.class.dialect == DIALECT;
        let mut class =
            Self { keys: Vec::new(), nodes: vec![LineNode::Nothing; plan.nodes().count()].into() };
        let mut has_metadata = false;
        for member in plan.children(0) {
            let node = plan.get(member)?;
            let name = node.name.as_deref()?;
            match &node.class.kind {
                FieldKind::String { .. } => class.add_key(name, member)?,
                FieldKind::Array { .. } => {
                    let element = plan.children(member).next()?;
                    match &plan.get(element)?.class.kind {
                        FieldKind::String { .. } => class.add_key(name, element)?,
                        FieldKind::Structure { .. } if name == ANY_MEMBER => {
                            class.add_any(plan, element)?;
                            has_metadata = true;
                        }
                        _ => return None,
                    }
                }
                // Other formats have the lengths of arrays as members.
                _ if node.is_needed() => {}
                _ => return None,
            }
            has_metadata |= matches!(name, "X-Trace" | "EventID");
        }
        // Traces of other formats can have classes of this name.
        (is_own || has_metadata).then_some(class)
    }

    fn add_key(&mut self, name: &str, node: usize) -> Option<()> {
        let key = u32::try_from(self.keys.len()).ok()?;
        self.keys.push(name.into());
        *self.nodes.get_mut(node)? = LineNode::Value(key);
        Some(())
    }

    /// Adds the members of a structure that is a line.
    fn add_any(&mut self, plan: &Plan, line: usize) -> Option<()> {
        for (member, wanted) in
            plan.children(line).zip([("key", LineNode::AnyKey), ("value", LineNode::AnyValue)])
        {
            if plan.get(member)?.name.as_deref() != Some(wanted.0) {
                return None;
            }
            *self.nodes.get_mut(member)? = wanted.1;
        }
        Some(())
    }

    /// Reads the lines of a report, replacing `lines`; returns `false` if the event cannot be decoded.
    pub(super) fn read(&self, event: &Event<'_>, lines: &mut LineBuffer) -> bool {
        lines.clear();
        let mut reader = LineReader { class: self, lines, key: Vec::new() };
        event.visit(Scope::Payload, &mut reader).is_ok()
    }
}

/// Reads lines.
struct LineReader<'r> {
    class: &'r ReportClass,
    lines: &'r mut LineBuffer,
    /// Key of the next value, of reports beyond the limit of classes.
    key: Vec<u8>,
}

impl Visitor for LineReader<'_> {
    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let write = |bytes: &mut Vec<u8>| match value.encoding {
            StringEncoding::Utf8 => bytes.extend_from_slice(value.bytes),
            _ => {
                let _ = value.write_utf8(bytes);
            }
        };
        match self.class.nodes.get(field.index()) {
            Some(LineNode::Value(key)) => {
                let key = self.class.keys.get(*key as usize).map_or(&b""[..], |key| key.as_bytes());
                self.lines.push_with(key, write);
            }
            Some(LineNode::AnyKey) => {
                self.key.clear();
                // Keys of classes are texts, too.
                value.write_utf8(&mut self.key);
            }
            Some(LineNode::AnyValue) => self.lines.push_with(&self.key, write),
            Some(LineNode::Nothing) | None => {}
        }
    }
}
