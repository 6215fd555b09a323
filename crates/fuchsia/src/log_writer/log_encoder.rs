//! Encodes events as log records.

use std::io;
use std::sync::Arc;

use ichnos_io::{EncoderRules, MessageEncoder};
use ichnos_model::digest::{ClassDigest, TraceDigest};
use ichnos_model::event::{ClassList, StreamTable};
use ichnos_model::message::{Damage, Discarded};
use ichnos_model::{DataStream, Event, Scope};

use super::arguments::{ArgumentWriter, EventParts, push_text};
use super::components::{ComponentName, ComponentTags};
use super::copy::{Copy, breaks_rule, message_bytes};
use super::foreign_class::{ForeignClass, severity};
use super::log_rules::{KEPT_METADATA, LogRules, record_clock};
use super::losses::{Change, ClassNumber, LossPlace, Losses};
use super::record_hash::{ExpectedRecord, LogRecordHash, copied_hash, record_hash};
use crate::log::{Encoder, Framing, MAX_RECORD_WORDS, Message as LogMessage, Severity, Value};
use crate::log_reader::any::{MONIKER, ROLLED_OUT, URL};

/// State of a data stream.
#[derive(Clone, Copy, Debug)]
struct LogStream {
    /// Class index.
    group: usize,
    /// `true` if the stream was read from a Fuchsia log.
    is_log: bool,
    /// Number of events discarded since the last record.
    discarded: u64,
}

/// Encoded records with their framing.
#[derive(Debug)]
struct FramedRecords {
    framing: Framing,
    bytes: Vec<u8>,
    /// `true` if the last record still needs its extension, to be written before the next record.
    lacks_extension: bool,
    /// Number of extensions added to copied records.
    added_extensions: u64,
    /// Record count, and checksums for times and values.
    digest: ClassDigest,
}

impl FramedRecords {
    /// Appends a message and its extension. `values` is its hash.
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
                // Records have 12 bits for their size, and copies were checked.
                let size = (message.len() + behind.len()) as u32;
                self.bytes.extend_from_slice(&size.to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(message);
        self.bytes.extend_from_slice(behind);
    }
}

/// Encodes events as log records.
#[derive(Debug)]
pub(super) struct LogEncoder {
    rules: Arc<LogRules>,
    streams: StreamTable<LogStream, ClassList<ForeignClass>, ()>,
    tags: ComponentTags,
    losses: Losses,
    framed: FramedRecords,
    events: u64,
    /// Time of the last event record.
    last: i64,
    copy: Copy,
    parts: EventParts,
    component: ComponentName,
    /// Buffer for a record, shared by all steps.
    room: Box<[u8]>,
    /// Extension of the current record.
    extension: Vec<u8>,
}

impl LogEncoder {
    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let Self { streams, rules, .. } = self;
        let is_log = rules.is_log(&stream.trace);
        streams.insert(stream, LogStream { group: 0, is_log, discarded: 0 }, || {
            if !is_log {
                rules.shared.with_losses(|table| {
                    table.add_packets(stream);
                    let header = stream.plans().event_record_header.as_ref();
                    table.add_members(Scope::EventRecordHeader, header);
                });
            }
            ClassList::default()
        });
        let group = streams.class_index(stream);
        if let (Some(state), Some(group)) = (streams.state_mut(stream), group) {
            state.group = group;
        }
    }

    /// Returns the state of a data stream.
    #[inline]
    fn stream(&mut self, stream: &DataStream) -> Option<&mut LogStream> {
        if !self.streams.has(stream) {
            self.add_stream(stream);
        }
        self.streams.state_mut(stream)
    }

    fn write_event(&mut self, event: &Event<'_>, index: usize) {
        let Some(LogStream { group, is_log, discarded }) = self.stream(event.stream).copied() else { return };
        let class = ClassNumber { group: group as u32, class: index as u32 };
        let mut left = discarded;
        let can_copy = is_log && !(self.rules.shared.repairs && breaks_rule(event));
        self.parts.replace_invalid(self.rules.shared.repairs || !is_log);
        let (copy, tags, losses) = (&mut self.copy, &mut self.tags, &mut self.losses);
        if can_copy && copy.take(event, self.framed.framing, &mut left, tags, losses, class) {
            if !copy.component.is_empty() {
                let time = event.clock.map_or(0, |clock| clock.nanoseconds as i64);
                std::mem::swap(&mut self.component, &mut copy.component);
                self.name_component(self.copy.tag, time, class);
            }
            self.last = event.clock.map_or(self.last, |clock| clock.nanoseconds as i64);
            let values = match self.rules.shared.is_compared {
                true => copied_hash(event, self.copy.tag, self.copy.added),
                false => 0,
            };
            let (message, behind) = self.copy.bytes.split_at(self.copy.size.min(self.copy.bytes.len()));
            self.framed.push(message, behind, self.last, values);
            self.events += 1;
            if left != discarded {
                self.set_discarded(event, left);
            }
            return;
        }
        let Some(classes) = self.streams.class_mut(group) else { return };
        let shared = &self.rules.shared;
        classes
            .place(index)
            .get_or_insert_with(|| Box::new(shared.with_losses(|table| ForeignClass::new(event, table))));
        self.encode(event, class, discarded);
        if is_log && message_bytes(event).is_some_and(|bytes| has_trailing(event, bytes)) {
            self.losses.add(LossPlace::event(class), Change::Trailing);
        }
        self.set_discarded(event, 0);
        if self.losses.is_full() {
            self.move_losses();
        }
    }

    /// Sets the number of events discarded after an event.
    #[inline]
    fn set_discarded(&mut self, event: &Event<'_>, discarded: u64) {
        if let Some(stream) = self.streams.state_mut(event.stream) {
            stream.discarded = discarded;
        }
    }

    /// Encodes an event as a record.
    fn encode(&mut self, event: &Event<'_>, class: ClassNumber, discarded: u64) {
        let Self { streams, parts, losses, room, tags, .. } = self;
        let Some(encoding) = class_at(streams, class) else { return };
        if room.is_empty() {
            *room = vec![0; MAX_RECORD_WORDS * 8].into();
        }
        let place = LossPlace::event(class);
        parts.clear();
        let time = event_time(event, self.last, losses, place);
        self.last = time;
        let mut encoder = Encoder::new(room);
        // The buffer has room for any record.
        let Ok(record) = encoder.begin(time, 0) else { return };
        let mut record = ExpectedRecord::new(record, self.rules.shared.is_compared);
        push_fields(event, encoding, &mut record, parts, losses, class);
        record.set_severity(severity(event.class.log.as_deref(), parts.severity));
        let more = discarded.saturating_sub(parts.dropped);
        if more > 0 && record.argument("num_dropped", more).is_err() {
            losses.add_many(place, Change::DroppedCount, more);
        }

        // Origin of the event: its own component becomes the extension or the last arguments, and the resource
        // component becomes the tag.
        let is_extended = self.framed.framing == Framing::ExtendedRecords;
        self.extension.clear();
        self.component.clear();
        let mut tag = 0;
        if encoding.is_control {
            parts.own.write(&mut self.component);
            match tags.for_component(&self.component) {
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
                match tags.for_component(&self.component) {
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
        let mut record = ExpectedRecord::new(record, self.rules.shared.is_compared);
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

    /// Moves the counted losses to the table.
    #[cold]
    fn move_losses(&mut self) {
        let Self { rules, streams, losses, .. } = self;
        rules.shared.with_losses(|table| losses.move_to(table, |place| names_of(streams, place)));
    }
}

/// Returns a class by its number.
#[inline]
fn class_at(
    streams: &StreamTable<LogStream, ClassList<ForeignClass>, ()>,
    class: ClassNumber,
) -> Option<&ForeignClass> {
    streams.class(class.group as usize)?.get(class.class as usize)
}

/// Returns a class name and a field name.
fn names_of(
    streams: &StreamTable<LogStream, ClassList<ForeignClass>, ()>,
    place: LossPlace,
) -> (String, String) {
    let Some(class) = class_at(streams, place.class) else { return Default::default() };
    let scopes = class.contexts.iter().chain(&class.payload);
    let mut scopes = scopes.filter(|scope| scope.scope == place.scope && place.node != LossPlace::WHOLE);
    // Nodes inside a member count as this member.
    let field = scopes
        .next()
        .map(|scope| format!("{}.{}", place.scope.short_name(), scope.member_name(place.node as usize)));
    (class.name.clone(), field.unwrap_or_default())
}

/// Returns the event time on the record clock. `last` is the previous record's time.
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

/// Appends the event fields: contexts, a rendered message if needed, then the payload.
fn push_fields(
    event: &Event<'_>,
    encoding: &ForeignClass,
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

/// Appends the event's own origin, in the same way as the archivist.
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
    hash: Option<&mut LogRecordHash>,
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

impl MessageEncoder for LogEncoder {
    type Rules = LogRules;

    fn shared(rules: &LogRules) -> &EncoderRules {
        &rules.shared
    }

    fn new(rules: Arc<LogRules>) -> Self {
        let framed = FramedRecords {
            framing: rules.framing,
            bytes: Vec::new(),
            lacks_extension: false,
            added_extensions: 0,
            digest: ClassDigest::default(),
        };
        Self {
            tags: ComponentTags::new(rules.keeps_tags),
            rules,
            streams: StreamTable::default(),
            losses: Losses::default(),
            framed,
            events: 0,
            last: 0,
            copy: Copy::default(),
            parts: EventParts::default(),
            component: ComponentName::default(),
            room: Box::default(),
            extension: Vec::new(),
        }
    }

    fn record_stream(rules: &LogRules, stream: &DataStream, added: &[Arc<DataStream>]) {
        let Some(clock) = stream.clock() else { return };
        if added.iter().all(|known| known.clock() != Some(clock)) {
            rules.shared.with_losses(|table| {
                record_clock(clock, &mut table.for_class(""));
                table.add_clock_metadata(clock, KEPT_METADATA);
            });
        }
    }

    fn event(&mut self, event: &Event<'_>, index: usize) -> io::Result<()> {
        self.write_event(event, index);
        Ok(())
    }

    fn discarded(&mut self, discarded: &Discarded<'_>, _: &EncoderRules) -> io::Result<()> {
        match (discarded.count, self.stream(discarded.stream)) {
            (Some(count), Some(stream)) => stream.discarded = stream.discarded.saturating_add(count),
            _ => self.losses.add(LossPlace::TRACE, Change::UnknownCount),
        }
        if discarded.thread.is_some() {
            self.losses.add(LossPlace::TRACE, Change::Thread);
        }
        Ok(())
    }

    fn drops_damaged(&mut self, damage: &Damage, shared: &EncoderRules) -> bool {
        // Copied records keep their errors.
        if damage.skipped == 0 {
            shared.add_damages(1);
        }
        // Copied records that break non-fatal rules are unchanged.
        damage.skipped > 0 || damage.kind.rule().is_none_or(|rule| rule.fatal)
    }

    fn finish(&mut self) -> io::Result<()> {
        let discarded = self.streams.states_mut().map(|stream| std::mem::take(&mut stream.discarded));
        let discarded = discarded.fold(0, u64::saturating_add);
        let extensions = std::mem::take(&mut self.framed.added_extensions);
        for (change, count) in [(Change::LastDiscarded, discarded), (Change::NoExtension, extensions)] {
            if count > 0 {
                self.losses.add_many(LossPlace::TRACE, change, count);
            }
        }
        self.move_losses();
        Ok(())
    }

    fn ready(&self) -> usize {
        self.framed.bytes.len()
    }

    fn take_bytes(&mut self) -> (Vec<u8>, u64) {
        let room = Vec::with_capacity(self.framed.bytes.capacity());
        (std::mem::replace(&mut self.framed.bytes, room), std::mem::take(&mut self.events))
    }

    fn take_digest(&mut self) -> TraceDigest {
        TraceDigest::from_hashed(record_hash, std::mem::take(&mut self.framed.digest))
    }

    fn swap_buffer(&mut self, buffer: &mut Box<[u8]>) {
        std::mem::swap(&mut self.room, buffer);
    }
}
