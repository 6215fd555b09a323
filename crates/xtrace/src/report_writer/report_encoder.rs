//! Encodes events as reports.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::Arc;

use ichnos_io::{ClassTreatment, EncoderRules, MessageEncoder, WrittenClass};
use ichnos_model::digest::TraceDigest;
use ichnos_model::event::{ClassList, StreamTable};
use ichnos_model::meaning::{Identifier, Mention};
use ichnos_model::message::Damage;
use ichnos_model::{DataStream, Event};

use super::foreign::ForeignEvent;
use super::foreign_class::ForeignClass;
use super::identifiers::{OperationTasks, hash, op_of, op_of_hash, ops_of_mention, task_of, task_of_mention};
use super::losses::{Loss, LossCounts};
use super::open_reports::{ClassPlace, OpenReport, OpenReports, push_edge, push_metadata};
use super::own::ReportClass;
use super::repair::ReportRepair;
use super::report_block::{ReportBlock, ReportChanges, event_hash};
use super::rules::ReportRules;
use super::threads::{ChainThread, ThreadChains};
use crate::option::ChainId;
use crate::reader::line_ids::operation_of;
use crate::reader::reported_operations::{OperationKey, WINDOW};
use crate::recent_map::RecentMap;
use crate::report::{LineBuffer, parse_timestamp, push_nanos};
use crate::{Edge, OpId, TaskId};

/// An event class.
type ReportedClass = WrittenClass<ReportClass, ForeignClass, Loss>;

/// Event classes in a data stream class.
#[derive(Debug)]
struct ReportedClasses {
    /// Number of the source trace.
    trace: u32,
    classes: ClassList<ReportedClass>,
}

/// Encodes events as reports.
#[derive(Debug)]
pub(super) struct ReportEncoder {
    rules: Arc<ReportRules>,
    streams: StreamTable<(), ReportedClasses, ()>,
    /// Addresses of traces added during writing.
    added_traces: Vec<usize>,
    /// Lines of the current report.
    lines: LineBuffer,
    block: ReportBlock,
    foreign: ForeignReports,
    /// Repair of broken reports, if the output must be valid.
    repair: Option<ReportRepair>,
}

/// State for events from other formats.
#[derive(Debug)]
struct ForeignReports {
    event: ForeignEvent,
    open: OpenReports,
    tasks: OperationTasks,
    threads: ThreadChains,
    /// Operations that already have a report. Readers that check reports remember at most as many.
    /// `true` means that a report that was read for this operation would be a different report.
    written: RecentMap<u64, bool>,
    hasher: RandomState,
    /// Number of operations added to events after their report.
    late: u64,
    /// Number of written reports that a reader refuses, because they follow a report that events joined.
    damages: u64,
}

impl ReportEncoder {
    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let Self { streams, rules, added_traces, .. } = self;
        streams.insert(stream, (), || {
            let source = rules.source_of(&stream.trace).unwrap_or_else(|| {
                let address = Arc::as_ptr(&stream.trace).addr();
                let known = added_traces.iter().position(|trace| *trace == address);
                let number = known.unwrap_or_else(|| {
                    added_traces.push(address);
                    added_traces.len() - 1
                });
                rules.shared.sources.len() + number
            });
            ReportedClasses { trace: source as u32, classes: ClassList::default() }
        });
    }

    fn write_event(&mut self, event: &Event<'_>, index: usize) {
        if !self.streams.has(event.stream) {
            self.add_stream(event.stream);
        }
        let Some(group) = self.streams.class_index(event.stream) else { return };
        let place = ClassPlace { group, class: index };
        let Self { streams, rules, lines, block, foreign, repair, .. } = self;
        let Some(ReportedClasses { trace, classes }) = streams.class_mut(group) else { return };
        let number = *trace;
        let class = classes.place(index).get_or_insert_with(|| Box::new(written_class(event, rules, index)));
        let ReportedClass { treatment, losses, .. } = &mut **class;
        match &*treatment {
            ClassTreatment::Own(own) => {
                let clock = event.stream.clock();
                let is_moved =
                    clock.is_some_and(|clock| (clock.offset_seconds, clock.offset_cycles) != (0, 0));
                let is_direct = !is_moved && !rules.is_mixed && repair.is_none();
                if is_direct && block.push_event(own, event) {
                    return;
                }
                if !own.read(event, lines) {
                    return losses.add(Loss::Fields, 1);
                }
                if is_moved {
                    correct_time(event, lines, losses);
                }
                if repair.as_mut().is_some_and(|repair| !repair.repair(lines, losses)) {
                    return;
                }
                let is_taken = rules.is_mixed && foreign.take_report(place, lines, block, losses);
                if !is_taken {
                    count(block.push(lines, 1), 1, losses);
                }
            }
            ClassTreatment::Foreign(foreign_class) => {
                foreign.event.read(event, foreign_class);
                let thread = rules.chains_orphans.then_some(ChainThread {
                    trace: number,
                    process: foreign.event.process,
                    thread: foreign.event.thread,
                    stream: if foreign.event.thread.is_some() { 0 } else { event.stream.key.into() },
                });
                let time = event.nanoseconds().map(|time| nanoseconds(time, losses));
                let written = ForeignWriting {
                    class: foreign_class,
                    place,
                    trace: number,
                    thread,
                    time,
                    cause: None,
                    is_mention: false,
                };
                foreign.take(written, lines, block, losses);
            }
        }
        while self.foreign.open.is_full() {
            self.write_oldest();
        }
    }

    /// Writes all waiting reports.
    fn write_open(&mut self) {
        while self.write_oldest() {}
    }

    /// Writes the oldest waiting report. Returns `false` if there are none.
    fn write_oldest(&mut self) -> bool {
        let Some(mut report) = self.foreign.open.pop() else { return false };
        let foreign = &mut self.foreign;
        if report.is_changed {
            let id = foreign.hasher.hash_one(report.key());
            if let Some(is_changed) = foreign.written.get_mut(&id) {
                *is_changed = true;
            }
        }
        let changes = self.block.push(&mut report.lines, report.events);
        // The class is known, because the report contains one of its events.
        let classes = self.streams.class_mut(report.class.group);
        if let Some(class) = classes.and_then(|classes| classes.classes.get_mut(report.class.class)) {
            count(changes, report.events, &mut class.losses);
        }
        self.foreign.open.recycle(report);
        true
    }
}

fn written_class(event: &Event<'_>, rules: &ReportRules, index: usize) -> ReportedClass {
    ReportedClass::new(event, ReportClass::from_event(event), || {
        let class = (Arc::as_ptr(&event.stream.trace).addr(), event.stream.class_index, index);
        rules.with_losses_of_class(class, |table| ForeignClass::new(event, table))
    })
}

/// Returns a time that reports can represent.
fn nanoseconds(time: i128, losses: &mut LossCounts) -> u64 {
    // Readers report later times as damage.
    const MOST: u64 = i64::MAX as u64;
    u64::try_from(time).ok().filter(|time| *time <= MOST).unwrap_or_else(|| {
        losses.add(Loss::TimeRange, 1);
        if time < 0 { 0 } else { MOST }
    })
}

/// Replaces the time of a report if its clock was moved.
fn correct_time(event: &Event<'_>, lines: &mut LineBuffer, losses: &mut LossCounts) {
    let Some(time) = event.nanoseconds() else { return };
    let time = nanoseconds(time, losses);
    let is_time = |key: &[u8], value: &[u8]| key == b"Timestamp" && parse_timestamp(value).is_some();
    let known = lines.lines().find(|line| is_time(line.key, line.value));
    if known.is_some_and(|line| parse_timestamp(line.value) == Some(time)) {
        return;
    }
    losses.add(Loss::OtherTime, 1);
    lines.retain(|key, value| !is_time(key, value));
    lines.push_with(b"Timestamp", |bytes| push_nanos(bytes, time));
}

/// Counts the changes in a report with this number of events.
fn count(changes: ReportChanges, events: u64, losses: &mut LossCounts) {
    if changes.is_dropped {
        losses.add(Loss::Size, events);
    }
    if changes.has_invalid_text {
        losses.add(Loss::NotUtf8, 1);
    }
    if changes.lacks_version {
        losses.add(Loss::Head, 1);
    }
    if changes.is_reordered {
        losses.add(Loss::Order, 1);
    }
}

/// An event to write.
#[derive(Clone, Copy)]
struct ForeignWriting<'w> {
    class: &'w ForeignClass,
    place: ClassPlace,
    /// Trace number.
    trace: u32,
    /// Thread for the chain of an event without an operation.
    thread: Option<ChainThread>,
    time: Option<u64>,
    /// Preceding operation that its texts mention.
    cause: Option<Edge>,
    /// `true` if it only mentions its operation.
    is_mention: bool,
}

impl ForeignReports {
    /// Writes the event that was read.
    fn take(
        &mut self,
        writing: ForeignWriting<'_>,
        lines: &mut LineBuffer,
        block: &mut ReportBlock,
        losses: &mut LossCounts,
    ) {
        let chain = self.event.chain();
        self.event.count_losses(losses);
        let mention = if self.event.task.is_none() { self.mentioned() } else { None };
        let scoped = |operation| (scope_of(writing.trace, chain), operation);
        match (self.event.operation, self.event.task, writing.thread) {
            (Some(operation), task, _) => {
                let task = match (task, mention) {
                    (Some(task), _) => task_of(&task),
                    (None, Some(mention)) => self.tasks.set(scoped(operation), mention.task),
                    (None, None) => self.task_of_operation(writing.trace, chain, operation, losses),
                };
                let key = OperationKey { task, op: op_of(&operation), chain };
                // It follows the operation that it mentions.
                let cause = mention.filter(|mention| mention.task == task && mention.op != key.op);
                let cause = cause.map(|mention| Edge {
                    chain: mention.chain.filter(|_| mention.chain != chain).map(ChainId),
                    ..Edge::next(mention.op)
                });
                self.operation(key, ForeignWriting { cause, ..writing }, lines, block, losses);
            }
            (None, None, _) if mention.is_some() => {
                if let Some(key) = mention {
                    self.operation(key, ForeignWriting { is_mention: true, ..writing }, lines, block, losses);
                }
            }
            // An event of the task.
            (None, Some(task), _) => {
                lines.clear();
                push_metadata(lines, &OperationKey { task: task_of(&task), op: OpId::from([0; 8]), chain });
                self.event.edges().for_each(|edge| push_edge(lines, &edge));
                push_fields(&self.event, writing, lines);
                count(block.push(lines, 1), 1, losses);
            }
            (None, None, Some(thread)) => {
                losses.add(Loss::Chained, 1);
                let (task, op, before) = self.threads.next(thread);
                lines.clear();
                push_metadata(lines, &OperationKey { task, op, chain: None });
                if let Some(before) = before {
                    push_edge(lines, &Edge::next(before));
                }
                push_fields(&self.event, writing, lines);
                count(block.push(lines, 1), 1, losses);
            }
            (None, None, None) => losses.add(Loss::Orphan, 1),
        }
    }

    /// Returns the task of an operation without a task.
    fn task_of_operation(
        &mut self,
        trace: u32,
        chain: Option<u16>,
        operation: Identifier,
        losses: &mut LossCounts,
    ) -> TaskId {
        let causes = self.event.causes().map(|(cause, own)| (scope_of(trace, own.or(chain)), cause));
        let task = self.tasks.task((scope_of(trace, chain), operation), causes.clone());
        let tasks = &self.tasks;
        let others = causes.filter(|cause| tasks.known(*cause).is_some_and(|other| other != task));
        losses.add(Loss::OtherTask, others.count() as u64);
        task
    }

    /// Writes an event of an operation: starts its report, or adds lines to it.
    fn operation(
        &mut self,
        key: OperationKey,
        writing: ForeignWriting<'_>,
        lines: &mut LineBuffer,
        block: &mut ReportBlock,
        losses: &mut LossCounts,
    ) {
        let event = &self.event;
        let edges = event.edges().chain(writing.cause);
        match self.open.get(&key) {
            Some(report) if report.is_mention && !writing.is_mention => {
                lines.clear();
                push_metadata(lines, &key);
                let known = report.lines.lines().filter(|line| line.key == b"Edge");
                known.for_each(|line| lines.push(line.key, line.value));
                edges.filter(|edge| report.adds_edge(edge)).for_each(|edge| push_edge(lines, &edge));
                push_fields(event, writing, lines);
                begin_with(report, writing.place, lines, &mut self.late, block, losses);
                return self.open.count(&key);
            }
            Some(report) => {
                lines.clear();
                push_event(event, &writing, lines);
                if !lines.is_cut() && report.fits(lines) {
                    losses.add(Loss::Joined, 1);
                    edges.for_each(|edge| report.push_edge(&edge));
                    lines.lines().for_each(|line| report.lines.push(line.key, line.value));
                    report.events += 1;
                    report.is_changed = true;
                    return self.open.count(&key);
                }
            }
            None => {
                let id = self.hasher.hash_one(key);
                if self.written.get(&id).is_none() {
                    self.written.insert(id, false);
                    losses.add(Loss::Joined, writing.is_mention.into());
                    let report = self.open.begin(key, writing.place);
                    begin(report, event, writing);
                    return self.open.count(&key);
                }
            }
        }
        losses.add(Loss::Late, 1);
        lines.clear();
        push_late(lines, &key, &mut self.late);
        self.event.edges().chain(writing.cause).for_each(|edge| push_edge(lines, &edge));
        push_fields(&self.event, writing, lines);
        count(block.push(lines, 1), 1, losses);
    }

    /// Returns the operation that the event's texts mention: the first known operation, or else the first unambiguous
    /// operation.
    fn mentioned(&self) -> Option<OperationKey> {
        let keys = |mention: &Mention| {
            let task = task_of_mention(&mention.task);
            let chain = mention.chain.number().and_then(|chain| u16::try_from(chain).ok());
            let ops = mention.operation.map_or([None; 2], |operation| ops_of_mention(&operation));
            ops.map(|op| op.map(|op| OperationKey { task, op, chain }))
        };
        let is_known = |key: &OperationKey| self.written.get(&self.hasher.hash_one(key)).is_some();
        let mentions = &self.event.mentions;
        let known = mentions.iter().find_map(|mention| keys(mention).into_iter().flatten().find(is_known));
        let certain = || mentions.iter().filter(|mention| mention.is_certain);
        known.or_else(|| certain().find_map(|mention| keys(mention)[0]))
    }

    /// Takes a report between events from other formats, which can join it. Returns `false` if it must be written at
    /// once.
    fn take_report(
        &mut self,
        place: ClassPlace,
        lines: &mut LineBuffer,
        block: &mut ReportBlock,
        losses: &mut LossCounts,
    ) -> bool {
        let Some(key) = operation_of(lines.lines().map(|line| (line.key, line.value))) else { return false };
        let id = self.hasher.hash_one(key);
        match self.open.get(&key) {
            Some(report) if report.is_mention => {
                begin_with(report, place, lines, &mut self.late, block, losses);
            }
            Some(report) => {
                // A copy of it is only valid while nothing joins it. If something has joined it, `--verify` would
                // refuse the output because of a copy that is valid in the input.
                report.is_closed = true;
                if report.is_changed {
                    self.damages += 1;
                }
                return false;
            }
            None => match self.written.get(&id) {
                None => {
                    self.written.insert(id, false);
                    let report = self.open.begin(key, place);
                    std::mem::swap(&mut report.lines, lines);
                    (report.events, report.is_changed) = (1, false);
                }
                Some(is_changed) => {
                    if *is_changed {
                        self.damages += 1;
                    }
                    return false;
                }
            },
        }
        self.open.count(&key);
        true
    }
}

/// Returns the scope in which operations without a task are unique: a chain in a trace.
fn scope_of(trace: u32, chain: Option<u16>) -> u32 {
    trace ^ u32::from(chain.unwrap_or(0)) << 16
}

/// Starts the report of an operation with an event.
fn begin(report: &mut OpenReport, event: &ForeignEvent, writing: ForeignWriting<'_>) {
    let key = *report.key();
    (report.is_mention, report.events) = (writing.is_mention, 1);
    push_metadata(&mut report.lines, &key);
    event.edges().chain(writing.cause).for_each(|edge| report.push_edge(&edge));
    if writing.is_mention {
        push_time(&writing, &mut report.lines);
        push_event(event, &writing, &mut report.lines);
    } else {
        push_fields(event, writing, &mut report.lines);
    }
}

/// Starts the report of an operation that was only mentioned so far. `lines` are the first event's lines and are
/// replaced. Mentions follow, or become a late event if they do not fit.
fn begin_with(
    report: &mut OpenReport,
    place: ClassPlace,
    lines: &mut LineBuffer,
    late: &mut u64,
    block: &mut ReportBlock,
    losses: &mut LossCounts,
) {
    std::mem::swap(&mut report.lines, lines);
    (report.is_mention, report.class) = (false, place);
    if lines.is_cut() {
        losses.add(Loss::Size, std::mem::replace(&mut report.events, 1));
        return;
    }
    let events = lines.lines().filter(|line| line.key == b"Event");
    if report.fits(lines) {
        events.for_each(|line| report.lines.push(line.key, line.value));
        report.events += 1;
        return;
    }
    let mut others = LineBuffer::default();
    push_late(&mut others, report.key(), late);
    events.for_each(|line| others.push(line.key, line.value));
    let events = std::mem::replace(&mut report.events, 1);
    losses.add(Loss::Late, events);
    count(block.push(&mut others, events), events, losses);
}

/// Adds metadata for a new operation that follows an operation with a closed report, and the edge between them.
fn push_late(lines: &mut LineBuffer, key: &OperationKey, late: &mut u64) {
    *late += 1;
    let op = op_of_hash(hash(*late, key.op.as_bytes()));
    push_metadata(lines, &OperationKey { op, ..*key });
    push_edge(lines, &Edge::next(key.op));
}

/// Adds an event to the report of its operation.
fn push_event(event: &ForeignEvent, writing: &ForeignWriting<'_>, lines: &mut LineBuffer) {
    lines.push_with(b"Event", |value| event.push_as_value(writing.time, writing.class, value));
}

/// Adds the time of an event.
fn push_time(writing: &ForeignWriting<'_>, lines: &mut LineBuffer) {
    if let Some(time) = writing.time {
        lines.push_with(b"Timestamp", |value| push_nanos(value, time));
    }
}

/// Adds the other lines of an event.
fn push_fields(event: &ForeignEvent, writing: ForeignWriting<'_>, lines: &mut LineBuffer) {
    push_time(&writing, lines);
    for (key, value) in &writing.class.constant {
        lines.push(key.as_bytes(), value.as_bytes());
    }
    let key: &[u8] = if event.has_label { b"Class" } else { b"Label" };
    if !writing.class.name.is_empty() {
        lines.push(key, writing.class.name.as_bytes());
    }
    event.lines.lines().for_each(|line| lines.push(line.key, line.value));
}

impl MessageEncoder for ReportEncoder {
    type Rules = ReportRules;

    const IS_UNESCAPED: bool = true;

    fn shared(rules: &ReportRules) -> &EncoderRules {
        &rules.shared
    }

    fn new(rules: Arc<ReportRules>) -> Self {
        Self {
            block: ReportBlock::new(rules.is_json, rules.shared.is_compared),
            repair: rules.shared.repairs.then(ReportRepair::default),
            rules,
            streams: StreamTable::default(),
            added_traces: Vec::new(),
            lines: LineBuffer::default(),
            foreign: ForeignReports {
                event: ForeignEvent::default(),
                open: OpenReports::default(),
                tasks: OperationTasks::new(),
                threads: ThreadChains::default(),
                written: RecentMap::new(2 * WINDOW),
                hasher: RandomState::new(),
                late: 0,
                damages: 0,
            },
        }
    }

    fn event(&mut self, event: &Event<'_>, index: usize) -> io::Result<()> {
        self.write_event(event, index);
        Ok(())
    }

    fn drops_damaged(&mut self, damage: &Damage, shared: &EncoderRules) -> bool {
        // A part can receive the damage before a report of another part.
        shared.add_damages(1);
        // Lines that break report rules are written unchanged.
        damage.skipped > 0 || damage.kind.rule().is_none()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_open();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_open();
        self.block.end();
        let classes = self.streams.classes_mut().flat_map(|group| group.classes.values_mut());
        self.rules.shared.with_losses(|table| {
            classes.for_each(|class| class.losses.move_to(&class.name, table));
        });
        Ok(())
    }

    fn ready(&self) -> usize {
        self.block.bytes.len()
    }

    fn waiting(&self) -> usize {
        self.block.bytes.len() + self.foreign.open.bytes()
    }

    fn take_bytes(&mut self) -> (Vec<u8>, u64) {
        let size = self.block.bytes.len();
        // The next block probably has a similar size, unless this is the last block or there are very many parts.
        let room = if size < self.rules.shared.block_bytes { 0 } else { size + size / 8 };
        let bytes = std::mem::replace(&mut self.block.bytes, Vec::with_capacity(room));
        (bytes, std::mem::take(&mut self.block.events))
    }

    fn take_digest(&mut self) -> TraceDigest {
        let mut digest = TraceDigest::from_hashed(event_hash, self.block.take_digest());
        digest.damages = std::mem::take(&mut self.foreign.damages);
        digest
    }
}
