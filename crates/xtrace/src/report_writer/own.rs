//! Reads events that were read from reports, or converted from them.

use std::collections::HashSet;

use ichnos_json::write;
use ichnos_model::class::FieldKind;
use ichnos_model::field::{Field, StringEncoding, Text};
use ichnos_model::meaning::Meaning;
use ichnos_model::plan::Plan;
use ichnos_model::{Event, Scope, Visitor};

use crate::reader::class::{ANY_MEMBER, CLASS_NAME, DIALECT};
use crate::report::{LineBuffer, VERSION, WrittenKey};

/// An event class for reports.
#[derive(Debug)]
pub(super) struct ReportClass {
    pub(super) keys: Vec<OwnKey>,
    /// Line use of each payload node.
    pub(super) nodes: Box<[LineNode]>,
    /// `true` if lines can be written in their order and without changes in any dialect.
    pub(super) is_direct: bool,
}

/// A class key.
#[derive(Debug)]
pub(super) struct OwnKey {
    pub(super) name: Box<str>,
    pub(super) text: WrittenKey,
    /// The key as JSON: a comma, the key and the start of its value list.
    pub(super) json: Vec<u8>,
}

impl OwnKey {
    fn new(name: &str) -> Self {
        let mut json = b",".to_vec();
        write::push_string(&mut json, name);
        json.extend_from_slice(b":[");
        Self { name: name.into(), text: WrittenKey::new(name.as_bytes()), json }
    }
}

/// Use of a payload node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineNode {
    Nothing,
    /// A value for the key with this index.
    Value(u32),
    /// A key before its value, in reports beyond the class limit.
    AnyKey,
    AnyValue,
}

impl ReportClass {
    /// Returns the report class, or `None` for any other class.
    pub(super) fn from_event(event: &Event<'_>) -> Option<Self> {
        if event.class.name.as_deref() != Some(CLASS_NAME) {
            return None;
        }
        let plan = event.plan(Scope::Payload)?;
        let is_own = event.stream.trace.class.dialect == DIALECT;
        let nodes = vec![LineNode::Nothing; plan.nodes().count()].into();
        let mut class = Self { keys: Vec::new(), nodes, is_direct: true };
        let mut has_metadata = false;
        let meanings = &event.class.meanings;
        for (index, member) in plan.children(0).enumerate() {
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
                // Other formats store array lengths as members, and specific context numbers that lines also contain.
                _ if node.is_needed() => {}
                FieldKind::Optional { .. } if is_number(meanings.get(Scope::Payload, index)) => {}
                _ => return None,
            }
            has_metadata |= matches!(name, "X-Trace" | "EventID");
        }
        let names: HashSet<&str> = class.keys.iter().map(|key| &*key.name).collect();
        class.is_direct &= names.len() == class.keys.len();
        // Traces from other formats can have a class with this name.
        (is_own || has_metadata).then_some(class)
    }

    fn add_key(&mut self, name: &str, node: usize) -> Option<()> {
        let key = u32::try_from(self.keys.len()).ok()?;
        // In JSON, such a line can look like the first line of a report.
        self.is_direct &= name.as_bytes() != VERSION;
        self.keys.push(OwnKey::new(name));
        *self.nodes.get_mut(node)? = LineNode::Value(key);
        Some(())
    }

    /// Adds the members of a line structure.
    fn add_any(&mut self, plan: &Plan, line: usize) -> Option<()> {
        self.is_direct = false;
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

    /// Reads the lines of a report, replacing `lines`. Returns `false` if the event cannot be decoded.
    pub(super) fn read(&self, event: &Event<'_>, lines: &mut LineBuffer) -> bool {
        lines.clear();
        let mut reader = LineReader { class: self, lines, key: Vec::new() };
        event.visit(Scope::Payload, &mut reader).is_ok()
    }
}

/// Returns `true` for the meaning of a specific context number.
fn is_number(meaning: Option<Meaning>) -> bool {
    matches!(meaning, Some(Meaning::Process | Meaning::Thread | Meaning::Severity))
}

/// Collects lines.
struct LineReader<'r> {
    class: &'r ReportClass,
    lines: &'r mut LineBuffer,
    /// Key of the next value, for reports beyond the class limit.
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
                let key = self.class.keys.get(*key as usize).map_or(&b""[..], |key| key.name.as_bytes());
                self.lines.push_with(key, write);
            }
            Some(LineNode::AnyKey) => {
                self.key.clear();
                // Class keys are texts as well.
                value.write_utf8(&mut self.key);
            }
            Some(LineNode::AnyValue) => self.lines.push_with(&self.key, write),
            Some(LineNode::Nothing) | None => {}
        }
    }
}
