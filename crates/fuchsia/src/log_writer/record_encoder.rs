//! Encodes messages as records.

use std::io;
use std::sync::Arc;

use ichnos_io::{OutputBlock, Worker, WorkerFlow};
use ichnos_model::lower::{LossEntry, LossKind};
use ichnos_model::{ClassDigest, Discarded, Event, Message, Scope};

use super::arguments::{ArgumentWriter, EventParts, push_text};
use super::class_encoding::{ClassEncoding, severity};
use super::components::{Component, ComponentTags};
use super::copy::{Copy, breaks_rule, message_bytes};
use super::log_rules::LogRules;
use super::losses::{Change, ClassNumber, LossPlace, Losses, NO_EXTENSION};
use super::record_hash::{ExpectedRecord, RecordHash, copied_hash};
use crate::log::{Encoder, Framing, MAX_RECORD_WORDS, Message as LogMessage, Severity, Value};
use crate::log_reader::any::{MONIKER, ROLLED_OUT, URL};

/// State of a data stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Index of the group with its classes.
    group: usize,
    /// `true` if it was read from a Fuchsia log.
    is_log: bool,
    /// Number of events discarded since the last record.
    discarded: u64,
}

/// Classes of a data stream class, by index.
#[derive(Debug)]
struct ClassGroup {
    /// Address of the trace, and index of the data stream class in it.
    of: (usize, usize),
    classes: Vec<Option<Box<ClassEncoding>>>,
}

/// Encoded records with their framing.
#[derive(Debug)]
struct Framed {
    framing: Framing,
    bytes: Vec<u8>,
    /// `true` if the extension of the last record still has to be written, before the next one.
    lacks_extension: bool,
    /// Number of extensions that were added to copied records.
    added_extensions: u64,
    /// Number of records, and checksums of their times and values.
    digest: ClassDigest,
}

impl Framed {
    /// Appends a message and its extension; `values` is its hash.
    fn push(&mut self, message: &[u8], behind: &[u8], time: i64, values: u64) {
        self.digest.add(Some(time as u64), values);
        match self.framing {
            Framing::Records => {}
            Framing::ExtendedRecords => {
                if self.lacks_extension {
                    self.bytes.extend_from_slice(&[0; 16]);
                    self.added_extensions += 1;
                }
                self.lacks_extension = behind.is_empty();
            }
            Framing::Datagrams => {
                // Records have 12 bits for their size; copies were checked.
                let size = (message.len() + behind.len()) as u32;
                self.bytes.extend_from_slice(&size.to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(message);
        self.bytes.extend_from_slice(behind);
    }
}

/// Encodes messages as records.
#[derive(Debug)]
pub(super) struct LogEncoder {
    rules: Arc<LogRules>,
    /// By key.
    streams: Vec<Option<Stream>>,
    groups: Vec<ClassGroup>,
    tags: ComponentTags,
    losses: Losses,
    framed: Framed,
    events: u64,
    /// Time of the last record of an event.
    last: i64,
    copy: Copy,
    parts: EventParts,
    component: Component,
    /// Buffer for a record.
    room: Box<[u8]>,
    /// Extension of the record.
    extension: Vec<u8>,
    /// `true` to return all remaining bytes.
    is_flushed: bool,
}

impl LogEncoder {
    pub(super) fn new(rules: Arc<LogRules>) -> Self {
        Self { room: Self::room(), ..Self::without_room(rules) }
    }

    /// Returns a buffer for a record.
    pub(super) fn room() -> Box<[u8]> {
        vec![0; MAX_RECORD_WORDS * 8].into()
    }

    /// Creates an encoder that borrows the buffer of others while it works: there can be many.
    pub(super) fn without_room(rules: Arc<LogRules>) -> Self {
        let (framing, keeps_tags) = (rules.framing(), rules.keeps_tags());
        let parts = EventParts::default();
        Self {
            rules,
            streams: Vec::new(),
            groups: Vec::new(),
            tags: ComponentTags::new(keeps_tags),
            losses: Losses::default(),
            framed: Framed {
                framing,
                bytes: Vec::new(),
                lacks_extension: false,
                added_extensions: 0,
                digest: ClassDigest::default(),
            },
            events: 0,
            last: 0,
            copy: Copy::default(),
            parts,
            component: Component::default(),
            room: Box::default(),
            extension: Vec::new(),
            is_flushed: false,
        }
    }

    /// Swaps the buffer for a record.
    pub(super) fn swap_room(&mut self, room: &mut Box<[u8]>) {
        std::mem::swap(&mut self.room, room);
    }

    /// Finishes a part, whose records are counted by [`Self::records`] and nowhere else.
    pub(super) fn finish_part(&mut self) -> io::Result<()> {
        let records = std::mem::take(&mut self.framed.digest);
        self.finish()?;
        self.framed.digest = records;
        Ok(())
    }

    /// Returns the digest of written records that are not counted elsewhere.
    pub(super) fn records(&self) -> ClassDigest {
        self.framed.digest
    }

    /// Returns the number of encoded bytes that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.framed.bytes.len()
    }

    /// Returns the state of a data stream.
    fn stream(&mut self, stream: &ichnos_model::DataStream) -> &mut Stream {
        let key = stream.key as usize;
        if self.streams.len() <= key {
            self.streams.resize(key + 1, None);
        }
        let (groups, output) = (&mut self.groups, &self.rules);
        self.streams[key].get_or_insert_with(|| {
            let trace = std::sync::Arc::as_ptr(&stream.trace).addr();
            let of = (trace, stream.class_index);
            let group = groups.iter().position(|group| group.of == of).unwrap_or_else(|| {
                let is_log = output.is_log(trace);
                if !is_log {
                    output.with_losses(|table| {
                        table.add_packets(stream);
                        table.add_members(
                            Scope::EventRecordHeader,
                            stream.plans().event_record_header.as_ref(),
                        );
                    });
                }
                groups.push(ClassGroup { of, classes: Vec::new() });
                groups.len() - 1
            });
            Stream { group, is_log: output.is_log(trace), discarded: 0 }
        })
    }

    fn lose(&self, kind: LossKind, what: &str, count: u64) {
        let loss = LossEntry { kind, class: String::new(), field: String::new(), what: what.to_owned() };
        self.rules.with_losses(|table| table.add(loss, count));
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Stream { group, is_log, discarded } = *self.stream(event.stream);
        let Some(index) = event.class_index() else {
            self.lose(LossKind::Dropped, "event of an unknown class", 1);
            return Ok(());
        };
        let class = ClassNumber { group: group as u32, class: index as u32 };
        let mut left = discarded;
        let can_copy = is_log && !(self.rules.repairs() && breaks_rule(event));
        self.parts.replace_invalid(self.rules.repairs() || !is_log);
        let (copy, tags, losses) = (&mut self.copy, &mut self.tags, &mut self.losses);
        if can_copy && copy.take(event, self.framed.framing, &mut left, tags, losses, class) {
            if !copy.component.is_empty() {
                let time = event.clock.map_or(0, |clock| clock.nanoseconds as i64);
                std::mem::swap(&mut self.component, &mut copy.component);
                self.name_component(self.copy.tag, time, class);
            }
            self.last = event.clock.map_or(self.last, |clock| clock.nanoseconds as i64);
            let values = match self.rules.is_compared() {
                true => copied_hash(event, self.copy.tag, self.copy.added),
                false => 0,
            };
            let (message, behind) = self.copy.bytes.split_at(self.copy.size.min(self.copy.bytes.len()));
            self.framed.push(message, behind, self.last, values);
            self.events += 1;
            self.stream(event.stream).discarded = left;
            return Ok(());
        }
        let Some(known) = self.groups.get_mut(group) else { return Ok(()) };
        if known.classes.len() <= index {
            known.classes.resize_with(index + 1, || None);
        }
        let Some(place) = known.classes.get_mut(index) else { return Ok(()) };
        if place.is_none() {
            let made = self.rules.with_losses(|table| ClassEncoding::of(event, table));
            *place = Some(Box::new(made));
        }
        self.encode(event, class, discarded);
        if is_log && message_bytes(event).is_some_and(|bytes| has_trailing(event, bytes)) {
            self.losses.add(LossPlace::event(class), Change::Trailing);
        }
        self.stream(event.stream).discarded = 0;
        if self.losses.is_full() {
            self.name_losses();
        }
        Ok(())
    }

    /// Encodes an event as a record.
    fn encode(&mut self, event: &Event<'_>, class: ClassNumber, discarded: u64) {
        let Self { groups, parts, losses, room, tags, .. } = self;
        let encoding =
            groups.get(class.group as usize).and_then(|group| group.classes.get(class.class as usize));
        let Some(Some(encoding)) = encoding else { return };
        let place = LossPlace::event(class);
        parts.clear();
        let time = event_time(event, self.last, losses, place);
        self.last = time;
        let mut encoder = Encoder::new(room);
        // The buffer holds any record.
        let Ok(record) = encoder.begin(time, 0) else { return };
        let mut record = ExpectedRecord::new(record, self.rules.is_compared());
        push_fields(event, encoding, &mut record, parts, losses, class);
        record.set_severity(severity(event.class.log.as_deref(), parts.severity));
        let more = discarded.saturating_sub(parts.dropped);
        if more > 0 && record.argument("num_dropped", more).is_err() {
            losses.add_many(place, Change::DroppedCount, more);
        }

        // Origin of the event: its own component goes into the extension or the last arguments, the one of
        // the resource into the tag.
        let is_extended = self.framed.framing == Framing::ExtendedRecords;
        self.extension.clear();
        self.component.clear();
        let mut tag = 0;
        if encoding.is_control {
            parts.own.write(&mut self.component);
            match tags.of_component(&self.component) {
                Some(known) => {
                    tag = known;
                    record.set_control(true);
                    if parts.rolled_out.is_none() {
                        tags.name(tag, &self.component);
                    }
                }
                None => losses.add(place, Change::Tag),
            }
            self.component.clear();
        } else if is_extended {
            let origin = if parts.own.is_absent() { &parts.known } else { &parts.own };
            if !origin.is_complete() || parts.rolled_out.is_none() {
                losses.add(place, Change::NoExtension);
            }
            push_extension(
                &mut self.extension,
                parts.rolled_out.unwrap_or(0),
                origin.moniker(),
                origin.url(),
                losses,
                place,
                record.hash(),
            );
        } else {
            push_appended(&mut record, parts, losses, place);
            if !parts.known.is_empty() {
                parts.known.write(&mut self.component);
                match tags.of_component(&self.component) {
                    Some(known) => tag = known,
                    None => {
                        losses.add(place, Change::Component);
                        self.component.clear();
                    }
                }
            }
        }
        record.set_tag(tag);
        let values = record.finish();
        let size = encoder.written().len();
        if !self.component.is_empty() && !self.tags.is_named(tag, &self.component) {
            self.name_component(tag, time, class);
        }
        self.framed.push(self.room.get(..size).unwrap_or_default(), &self.extension, time, values);
        self.events += 1;
    }

    /// Writes a control record that names the component of a tag from here on.
    #[cold]
    fn name_component(&mut self, tag: u32, time: i64, class: ClassNumber) {
        let place = LossPlace::event(class);
        if !self.tags.name(tag, &self.component) {
            return self.losses.add(place, Change::Component);
        }
        let mut room = vec![0; MAX_RECORD_WORDS * 8];
        let mut encoder = Encoder::new(&mut room);
        let Ok(record) = encoder.begin(time, 0) else { return };
        let mut record = ExpectedRecord::new(record, self.rules.is_compared());
        record.set_severity(Severity::Info.raw());
        record.set_control(true);
        record.set_tag(tag);
        for (name, text) in [("moniker", self.component.moniker()), ("url", self.component.url())] {
            if !text.is_empty() {
                push_text(&mut record, name, text.as_bytes(), &mut self.losses, place);
            }
        }
        let values = record.finish();
        self.framed.push(encoder.written(), &[], time, values);
        self.losses.add(place, Change::AddedComponent);
    }

    fn discarded(&mut self, discarded: &Discarded<'_>) {
        match discarded.count {
            Some(count) => {
                let sum = &mut self.stream(discarded.stream).discarded;
                *sum = sum.saturating_add(count);
            }
            None => self.lose(LossKind::Dropped, "loss of an unknown number of events", 1),
        }
        if discarded.thread.is_some() {
            self.lose(LossKind::Dropped, "thread of discarded events", 1);
        }
    }

    /// Adds names to the counted losses.
    #[cold]
    fn name_losses(&mut self) {
        let Self { rules: output, groups, losses, .. } = self;
        output.with_losses(|table| losses.move_to(table, |place| names_of(groups, place)));
    }
}

/// Returns the names of a class and its field.
fn names_of(groups: &[ClassGroup], place: LossPlace) -> (String, String) {
    let ClassNumber { group, class } = place.class;
    let classes = groups.get(group as usize).map(|group| &group.classes);
    let encoding = classes.and_then(|classes| classes.get(class as usize)).and_then(Option::as_deref);
    let Some(encoding) = encoding else { return Default::default() };
    let scopes = encoding.contexts.iter().chain(&encoding.payload);
    let mut scopes = scopes.filter(|scope| scope.scope == place.scope && place.node != LossPlace::WHOLE);
    // Nodes within a member are counted with it.
    let field = scopes
        .next()
        .map(|scope| format!("{}.{}", place.scope.short_name(), scope.member_name(place.node as usize)));
    (encoding.name.clone(), field.unwrap_or_default())
}

/// Returns the time of an event on the clock of records; `last` is the time of the record before.
fn event_time(event: &Event<'_>, last: i64, losses: &mut Losses, place: LossPlace) -> i64 {
    let Some(clock) = event.clock else {
        losses.add(place, Change::NoTime);
        return last;
    };
    i64::try_from(clock.nanoseconds).unwrap_or_else(|_| {
        losses.add(place, Change::TimeOutOfRange);
        clock.nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    })
}

/// Appends the fields of an event: contexts, a rendered message if needed, then the payload.
fn push_fields(
    event: &Event<'_>,
    encoding: &ClassEncoding,
    record: &mut ExpectedRecord<'_>,
    parts: &mut EventParts,
    losses: &mut Losses,
    class: ClassNumber,
) {
    let place = LossPlace::event(class);
    if let Some(process) = encoding.process
        && record.argument("pid", process).is_err()
    {
        losses.add(place, Change::NoRoom);
    }
    if let Some(name) = &encoding.process_name {
        push_text(record, "tag", name.as_bytes(), losses, place);
    }
    let is_control = encoding.is_control;
    for scope in &encoding.contexts {
        if scope.scope == Scope::Resource && !event.has_resource() {
            continue;
        }
        let mut writer = ArgumentWriter { scope, record, parts, losses, class, is_control: false };
        if event.visit(scope.scope, &mut writer).is_err() {
            losses.add(place, Change::Undecodable);
        }
    }
    if let Some(text) = event.class.log.as_deref().and_then(|log| log.text) {
        parts.render(record, losses, class, |out| (text.write)(event, out));
    }
    if let Some(message) = &encoding.message {
        push_text(record, "message", message.as_bytes(), losses, place);
    }
    if let Some(scope) = &encoding.payload {
        let mut writer = ArgumentWriter { scope, record, parts, losses, class, is_control };
        if event.visit(Scope::Payload, &mut writer).is_err() {
            losses.add(place, Change::Undecodable);
        }
    }
}

/// Appends the event's own origin, as the archivist does.
fn push_appended(record: &mut ExpectedRecord<'_>, parts: &EventParts, losses: &mut Losses, place: LossPlace) {
    if let Some(count) = parts.rolled_out
        && record.argument(ROLLED_OUT, count).is_err()
    {
        losses.add(place, Change::NoRoom);
    }
    for (name, text) in [(MONIKER, parts.own.moniker()), (URL, parts.own.url())] {
        if !text.is_empty() {
            push_text(record, name, text.as_bytes(), losses, place);
        }
    }
}

/// Writes an extension.
fn push_extension(
    out: &mut Vec<u8>,
    rolled_out: u64,
    moniker: &str,
    url: &str,
    losses: &mut Losses,
    place: LossPlace,
    hash: Option<&mut RecordHash>,
) {
    let mut fitting = |text| {
        let cut = fitting(text);
        if cut.len() < text.len() {
            losses.add(place, Change::Cut);
        }
        cut
    };
    let texts = [fitting(moniker), fitting(url)];
    if let Some(hash) = hash {
        hash.argument(ROLLED_OUT, Value::Unsigned(rolled_out));
        hash.argument(MONIKER, texts[0].into());
        hash.argument(URL, texts[1].into());
    }
    for text in texts {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(&rolled_out.to_le_bytes());
    for text in texts {
        out.extend_from_slice(text.as_bytes());
        out.resize(out.len().next_multiple_of(8), 0);
    }
}

/// Cuts a text to the maximum length in an extension.
fn fitting(text: &str) -> &str {
    text.get(..text.floor_char_boundary(crate::log::MAX_TEXT)).unwrap_or_default()
}

/// Returns `true` if unexpected bytes follow the record of a Fuchsia log event.
fn has_trailing(event: &Event<'_>, bytes: &[u8]) -> bool {
    event.class.name.as_deref() != Some("log_packet")
        && matches!(LogMessage::read(bytes, 0), Ok(message @ LogMessage::Record { behind: [_, ..], .. })
            if message.attribution().is_none())
}

impl Worker for LogEncoder {
    fn message(&mut self, message: &Message<'_>) -> io::Result<WorkerFlow> {
        match message {
            Message::Event(event) => self.event(event)?,
            Message::DiscardedEvents(discarded) => self.discarded(discarded),
            Message::DiscardedPackets(_) => self.lose(LossKind::Dropped, "loss of packets", 1),
            Message::Damage(damage) => {
                // Copies of records that break other rules are as they were.
                if damage.skipped > 0 || damage.kind.rule().is_none_or(|rule| rule.fatal) {
                    let what = format!("damaged data: {}", damage.kind);
                    self.lose(LossKind::Dropped, &what, 1);
                }
                if damage.skipped == 0 {
                    // Copies of records keep their errors.
                    self.rules.add_damage();
                }
            }
            _ => {}
        }
        let is_full = self.framed.bytes.len() >= self.rules.block_bytes().max(1);
        Ok(if is_full { WorkerFlow::Block } else { WorkerFlow::Continue })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.is_flushed = true;
        Ok(())
    }

    fn take(&mut self) -> Option<OutputBlock> {
        let most = if std::mem::take(&mut self.is_flushed) { 1 } else { self.rules.block_bytes().max(1) };
        (self.framed.bytes.len() >= most).then(|| self.block())
    }

    fn finish(&mut self) -> io::Result<()> {
        let discarded = self.streams.iter_mut().flatten();
        let discarded = discarded.map(|stream| std::mem::take(&mut stream.discarded));
        let discarded = discarded.fold(0, u64::saturating_add);
        if discarded > 0 {
            self.lose(
                LossKind::Dropped,
                "number of events that were discarded after the last one",
                discarded,
            );
        }
        match std::mem::take(&mut self.framed.added_extensions) {
            0 => {}
            count => self.lose(LossKind::Lowered, NO_EXTENSION, count),
        }
        self.name_losses();
        self.rules.add_records(std::mem::take(&mut self.framed.digest));
        self.is_flushed = true;
        Ok(())
    }
}

impl LogEncoder {
    fn block(&mut self) -> OutputBlock {
        let room = Vec::with_capacity(self.framed.bytes.capacity());
        OutputBlock {
            bytes: std::mem::replace(&mut self.framed.bytes, room),
            events: std::mem::take(&mut self.events),
            ..OutputBlock::default()
        }
    }
}
