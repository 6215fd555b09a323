//! Creates an event from report lines.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ichnos_model::class::DynamicClass;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldValue;
use ichnos_model::{Scope, Trace};

use super::class::LineRole;
use super::explain::describe;
use super::line_ids::{chain_of_line, decimal_id, metadata_of_line};
use super::reported_operations::{OperationKey, ReportedOperations};
use super::shape::{KeySequence, ReportShape, Shapes};
use crate::hex;
use crate::report::{ReportFault, ReportRule, parse_timestamp};
use crate::{Edge, EdgeKind, Metadata, OpId, TaskId};

/// Byte range of a line value in a buffer, and file offset.
#[derive(Debug)]
struct LineValue {
    range: Range<usize>,
    offset: usize,
}

/// Data from report lines.
#[derive(Debug, Default)]
struct ReportData {
    task: Option<TaskId>,
    operation: Option<OpId>,
    chain: Option<u16>,
    /// Metadata with a version other than 1, or with options.
    unusual: Option<Box<Metadata>>,
    /// Process, thread and severity.
    numbers: [Option<u64>; 3],
    /// Preceding operations, and the relation of the report to them.
    causes: Vec<Edge>,
    has_metadata: bool,
}

impl ReportData {
    fn clear(&mut self) {
        let mut causes = std::mem::take(&mut self.causes);
        causes.clear();
        *self = Self { causes, ..Self::default() };
    }
}

/// State for checking a file.
#[derive(Clone, Debug)]
pub(super) struct CheckState {
    operations: Arc<ReportedOperations>,
    /// File number.
    file: u32,
}

impl CheckState {
    pub(super) fn new(operations: &Arc<ReportedOperations>, file: &Arc<str>) -> Self {
        Self { operations: Arc::clone(operations), file: operations.add_file(file) }
    }
}

/// Creates events from reports, reusing memory.
#[derive(Debug)]
pub(super) struct EventMaker {
    trace: Arc<Trace>,
    /// State for reporting all broken rules. `None` to report only fatal rules.
    check: Option<CheckState>,
    shapes: Shapes,
    keys: KeySequence,
    lines: Vec<LineValue>,
    data: ReportData,
    /// Event values.
    pub(super) values: EventValues,
    pub(super) class: Option<Arc<DynamicClass>>,
    pub(super) cycles: Option<u64>,
    /// Report errors.
    pub(super) faults: VecDeque<ReportFault>,
}

impl EventMaker {
    pub(super) fn new(trace: Arc<Trace>, check: Option<CheckState>, most_shapes: usize) -> Self {
        Self {
            trace,
            check,
            shapes: Shapes::new(most_shapes),
            keys: KeySequence::default(),
            lines: Vec::new(),
            data: ReportData::default(),
            values: EventValues::default(),
            class: None,
            cycles: None,
            faults: VecDeque::new(),
        }
    }

    /// Returns the trace.
    pub(super) fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Reports a broken rule if it is fatal or if all are reported.
    pub(super) fn fault(&mut self, rule: ReportRule, offset: usize, statement: impl FnOnce() -> String) {
        if rule.is_fatal() || self.check.is_some() {
            let statement = statement();
            self.faults.push_back(ReportFault::new(rule, offset, statement));
        }
    }

    /// Like [`EventMaker::fault`], with the rule and the found bytes as the statement.
    fn found(&mut self, rule: ReportRule, offset: usize, found: &[u8]) {
        self.fault(rule, offset, || format!("{}, but there is `{}`", rule.statement(), shorten(found)));
    }

    /// Starts a report.
    pub(super) fn begin(&mut self) {
        self.keys.clear();
        self.lines.clear();
    }

    /// Adds a line with its key, its value range in the bytes for [`EventMaker::finish`], and its file offset.
    #[inline]
    pub(super) fn line(&mut self, key: &[u8], range: Range<usize>, offset: usize) {
        self.keys.push(key);
        self.lines.push(LineValue { range, offset });
    }

    /// Finishes the event for a report at this offset. Returns `false` if the limits are too low for any class.
    pub(super) fn finish(&mut self, bytes: &[u8], offset: usize) -> bool {
        self.values.clear();
        self.data.clear();
        (self.class, self.cycles) = (None, None);
        let Some(shape) = self.shapes.get(&self.keys, &self.trace) else { return false };
        self.class = Some(Arc::clone(&shape.class));
        self.understand(&shape, bytes, offset);
        self.check_operation(bytes, offset);
        self.push_contexts(&shape);
        self.push_payload(&shape, bytes);
        true
    }

    /// Parses the lines with a meaning.
    fn understand(&mut self, shape: &ReportShape, bytes: &[u8], offset: usize) {
        let lines = std::mem::take(&mut self.lines);
        for (line, role) in lines.iter().zip(&shape.roles) {
            if *role != LineRole::Other {
                // Lines are ranges of the bytes.
                self.understand_line(*role, bytes.get(line.range.clone()).unwrap_or_default(), line.offset);
            }
        }
        self.lines = lines;
        if !self.data.has_metadata && self.data.operation.is_none() {
            let rule = ReportRule::MetadataMissing;
            self.fault(rule, offset, || format!("{}, but there is none", rule.statement()));
        }
    }

    /// Checks if the operation already has another report.
    fn check_operation(&mut self, bytes: &[u8], offset: usize) {
        let Some(CheckState { operations, file }) = &self.check else { return };
        let (Some(task), Some(op)) = (self.data.task, self.data.operation) else { return };
        // All zeros do not name an operation.
        if !op.is_valid() {
            return;
        }
        // Lines are ranges of the bytes.
        let values = self.lines.iter().map(|line| bytes.get(line.range.clone()).unwrap_or_default());
        let digest = operations.digest(self.keys.keys().zip(values));
        let key = OperationKey { task, op, chain: self.data.chain };
        if let Some((first, at)) = operations.add(&key, digest, *file, offset as u64) {
            let rule = ReportRule::OperationOnce;
            self.fault(rule, offset, || {
                format!(
                    "{}, but operation {op} of task {task} has another report at {first}: byte {at}",
                    rule.statement()
                )
            });
        }
    }

    fn understand_line(&mut self, role: LineRole, value: &[u8], offset: usize) {
        match role {
            LineRole::Metadata if self.data.has_metadata => {
                self.found(ReportRule::MetadataOnce, offset, value)
            }
            LineRole::Metadata => self.metadata(value, offset),
            LineRole::Edge => self.edge(value, offset),
            LineRole::Timestamp if self.cycles.is_none() => {
                self.cycles = parse_timestamp(value);
                if self.cycles.is_none() {
                    self.found(ReportRule::Timestamp, offset, value);
                }
            }
            LineRole::Chain => {
                let chain = chain_of_line(value);
                self.data.chain = chain.or(self.data.chain);
                if chain.is_none() {
                    self.found(ReportRule::Number, offset, value);
                }
            }
            LineRole::Process => {
                self.data.numbers[0] = self.data.numbers[0].or_else(|| leading_number(value))
            }
            LineRole::Thread => self.data.numbers[1] = self.data.numbers[1].or_else(|| number(value)),
            LineRole::Severity => match number(value).filter(|level| *level <= u64::from(u8::MAX)) {
                Some(level) => self.data.numbers[2] = self.data.numbers[2].or(Some(level)),
                None => self.found(ReportRule::Number, offset, value),
            },
            LineRole::TaskId => self.data.task = self.data.task.or_else(|| TaskId::from_hex(value).ok()),
            LineRole::EventId => self.data.operation = self.data.operation.or_else(|| decimal_id(value)),
            LineRole::ParentEventId => {
                // These lines do not record the relation between operations.
                self.data.causes.extend(decimal_id(value).map(Edge::next));
            }
            LineRole::Timestamp | LineRole::Other => {}
        }
    }

    fn metadata(&mut self, value: &[u8], offset: usize) {
        self.data.has_metadata = true;
        match metadata_of_line(value) {
            Ok(ids) => {
                if let Some(error) = &ids.broken {
                    let rule = ReportRule::MetadataStrict;
                    self.fault(rule, offset, || format!("{}: {error}", rule.statement()));
                }
                self.data.chain = self.data.chain.or(ids.chain);
                self.data.unusual = ids.unusual;
                if ids.task.is_valid() {
                    (self.data.task, self.data.operation) = (Some(ids.task), Some(ids.op));
                } else {
                    self.found(ReportRule::MetadataValid, offset, value);
                }
            }
            Err(error) => {
                let rule = ReportRule::Metadata;
                self.fault(rule, offset, || {
                    format!("{}; in `{}`, {error}", rule.statement(), shorten(value))
                });
            }
        }
    }

    fn edge(&mut self, value: &[u8], offset: usize) {
        let edge = std::str::from_utf8(value).ok().and_then(|text| text.parse::<Edge>().ok());
        let Some(edge) = edge else { return self.found(ReportRule::Edge, offset, value) };
        if self.check.is_some()
            && let Some(operation) = self.data.operation
            && operation.as_bytes().len() != edge.op.as_bytes().len()
        {
            self.found(ReportRule::EdgeLength, offset, value);
        }
        self.data.causes.push(edge);
    }

    fn push_contexts(&mut self, shape: &ReportShape) {
        let (values, data) = (&mut self.values, &self.data);
        values.begin(Scope::CommonContext);
        push_id(values, data.task.as_ref().map(TaskId::as_bytes));
        push_id(values, data.operation.as_ref().map(OpId::as_bytes));
        let kinds = [EdgeKind::Down, EdgeKind::Next, EdgeKind::Up];
        let of_kind = |kind: EdgeKind| data.causes.iter().filter(move |edge| edge.kind == kind);
        for kind in kinds {
            let causes = of_kind(kind);
            let is_there = causes.clone().next().is_some();
            values.push_optional(is_there);
            if is_there {
                values.begin_array();
                for edge in causes {
                    push_text(values, edge.op.as_bytes());
                }
                values.end();
            }
        }
        push_number(values, data.chain.map(u64::from));
        let has_chains = data.causes.iter().any(|edge| edge.chain.is_some());
        values.push_optional(has_chains);
        if has_chains {
            values.begin_array();
            for edge in kinds.into_iter().flat_map(of_kind) {
                values.push(edge.chain.map_or(-1, |chain| i64::from(chain.0)));
            }
            values.end();
        }
        push_metadata(values, data.unusual.as_deref());
        if !shape.numbers.is_empty() {
            values.begin(Scope::SpecificContext);
            for role in &shape.numbers {
                push_number(
                    values,
                    match role {
                        LineRole::Process => data.numbers[0],
                        LineRole::Thread => data.numbers[1],
                        _ => data.numbers[2],
                    },
                );
            }
        }
    }

    fn push_payload(&mut self, shape: &ReportShape, bytes: &[u8]) {
        let values = &mut self.values;
        // Lines are ranges of the bytes.
        let value = |line: &LineValue| FieldValue::Text(bytes.get(line.range.clone()).unwrap_or_default());
        values.begin(Scope::Payload);
        let Some(members) = &shape.members else {
            values.begin_array();
            for (key, line) in self.keys.keys().zip(&self.lines) {
                values.begin_structure();
                values.push(FieldValue::Text(key));
                values.push(value(line));
                values.end();
            }
            return values.end();
        };
        let mut order = shape.lines.iter();
        for member in members {
            if member.is_array {
                values.begin_array();
            }
            for line in order.by_ref().take(member.lines as usize) {
                values.push(self.lines.get(*line as usize).map_or(FieldValue::Text(b""), value));
            }
            if member.is_array {
                values.end();
            }
        }
    }
}

/// Appends an optional identifier.
fn push_id(values: &mut EventValues, id: Option<&[u8]>) {
    values.push_optional(id.is_some());
    if let Some(id) = id {
        push_text(values, id);
    }
}

/// Appends metadata other than identifiers: a version other than 1, options and padding.
fn push_metadata(values: &mut EventValues, metadata: Option<&Metadata>) {
    push_number(
        values,
        metadata.map(|metadata| u64::from(metadata.version())).filter(|version| *version != 1),
    );
    let options = || metadata.into_iter().flat_map(|metadata| metadata.as_ref().options());
    let has_options = options().next().is_some();
    values.push_optional(has_options);
    if has_options {
        values.begin_array();
        options().for_each(|option| values.push(FieldValue::Text(describe(&option).as_bytes())));
        values.end();
    }
    let padding = metadata.map(|metadata| metadata.as_ref().padding()).filter(|padding| !padding.is_empty());
    push_number(values, padding.map(|padding| padding.len() as u64));
}

/// Appends bytes as uppercase hexadecimal digits.
fn push_text(values: &mut EventValues, id: &[u8]) {
    let mut text = [0; 40];
    hex::encode(id, &mut text);
    // Identifiers have at most 20 bytes.
    values.push(FieldValue::Text(text.get(..2 * id.len()).unwrap_or_default()));
}

fn push_number(values: &mut EventValues, number: Option<u64>) {
    values.push_optional(number.is_some());
    if let Some(number) = number {
        values.push(number);
    }
}

/// Parses a text that is a number.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    leading_number(text).filter(|_| text.iter().all(u8::is_ascii_digit))
}

/// Parses the number at the start of a text, for example a process number before `@` and the machine.
fn leading_number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let mut digits = digits.map(|digit| u64::from(digit - b'0'));
    let first = digits.next()?;
    digits.try_fold(first, |sum, digit| sum.checked_mul(10)?.checked_add(digit))
}

/// Returns the start of unexpected bytes for display.
pub(super) fn shorten(found: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(found.get(..MOST).unwrap_or(found));
    let text = text.escape_debug();
    if found.len() > MOST { format!("{text}…") } else { text.to_string() }
}
