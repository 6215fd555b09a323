//! Reads a data stream's messages.

use std::ops::Range;
use std::sync::Arc;

use ichnos_json::read::Reader;
use ichnos_model::class::Value;
use ichnos_model::clock::ClockValue;
use ichnos_model::cursor::{Head, MessageKind, ResumePoint};
use ichnos_model::event::{EventValues, Packet, Scopes};
use ichnos_model::message::{Damage, DamageKind, DataPosition};
use ichnos_model::plan::EventRecordPlans;
use ichnos_model::source::{NextRecord, QueuedMessage, Record, StreamLoss};
use ichnos_model::{DataStream, Event, Scope, Source, Window};

use crate::description::{UnknownMember, unknown_members};
use crate::event::{EventReader, LineClass};
use crate::fault::{LineFault, ParseResult, fault, value};
use crate::index::{RunCursor, byte_order_mark, line_at};
use crate::line::{self, LONGEST, LineType};
use crate::marks::LineTimeCursor;
use crate::members::integer_of;
use crate::rule::LineRule;
use crate::stream::LineStream;
use crate::time;

/// Reads a data stream's lines.
#[derive(Debug)]
pub(crate) struct LineSource {
    part: Arc<LineStream>,
    window: Window,
    runs: RunCursor,
    /// Current line offset.
    begin: usize,
    /// Next line offset, and the end of the current run.
    at: usize,
    end: usize,
    /// Offset at which reading has continued.
    resumed: usize,
    /// Next line other than an event.
    mark: LineTimeCursor,
    reader: EventReader,
    /// Unknown members in the current describing line.
    unknown: Vec<UnknownMember>,
    /// Current packet's line.
    packet: Option<PacketLine>,
    /// `true` if the end of the current packet is in the queue.
    is_packet_over: bool,
    packet_values: EventValues,
    is_loss_reported: bool,
}

/// Values in packet lines.
#[derive(Clone, Debug, Default)]
struct PacketLine {
    begin: Option<ClockValue>,
    end: Option<ClockValue>,
    sequence_number: Option<u64>,
    discarded_counter: Option<u64>,
    content_length: u64,
    total_length: u64,
    /// Range of the line with the packet's header and context.
    line: (usize, usize),
}

/// Place between two lines.
#[derive(Debug)]
struct LinePlace {
    stream: Arc<DataStream>,
    runs: RunCursor,
    at: usize,
    end: usize,
    mark: LineTimeCursor,
    packet: Option<PacketLine>,
    is_packet_over: bool,
    packet_values: EventValues,
}

impl LineSource {
    /// Continues at a place in the same data stream.
    pub(crate) fn resumed(mut self, place: &ResumePoint) -> Option<Self> {
        let place: &LinePlace = place.get()?;
        let part = &self.part;
        if !Arc::ptr_eq(&place.stream, &part.stream) {
            return None;
        }
        // The last run can be longer now.
        (self.at, self.resumed) = (place.at, place.at);
        self.end = if place.runs.is_done() { place.at } else { place.end };
        self.runs = part.runs.resumed(&place.runs);
        self.mark = place.mark.clone().resumed(&part.marks);
        self.packet = place.packet.clone();
        self.is_packet_over = place.is_packet_over;
        self.packet_values = place.packet_values.clone();
        Some(self)
    }

    pub(crate) fn new(part: Arc<LineStream>, window: Window) -> Self {
        Self {
            runs: part.runs.cursor(),
            reader: EventReader::new(&part),
            unknown: Vec::new(),
            window,
            begin: 0,
            at: 0,
            end: 0,
            resumed: 0,
            mark: part.marks.cursor(),
            packet: None,
            is_packet_over: false,
            packet_values: EventValues::default(),
            is_loss_reported: false,
            part,
        }
    }

    fn is_outside(&self, time: Option<i128>) -> bool {
        time.is_some() && (time < self.window.begin || self.window.end.is_some_and(|end| time > Some(end)))
    }

    /// Ends the data stream after the last line.
    fn finish(&mut self) -> NextRecord {
        let lost = self.part.file.bytes.look_for_loss();
        if !lost.is_empty() && !std::mem::replace(&mut self.is_loss_reported, true) {
            let damage = Damage::new(
                &*self.part.file.name,
                lost.start as u64 * 8,
                DamageKind::Lost { reported: true },
            );
            return NextRecord::Damage(
                damage.in_stream(&*self.part.stream.name).skipping(lost.len() as u64 * 8),
            );
        }
        NextRecord::End
    }

    /// Reads a line. Returns `None` if it does not produce a message.
    fn line(&mut self, text: &str, at: usize, next: usize) -> ParseResult<Option<QueuedMessage>> {
        // All lines from ichnos start with their type.
        let kind = match text.strip_prefix("{\"type\":\"event\",") {
            Some(_) => LineType::Event,
            None => kind_of(text)?,
        };
        match kind {
            LineType::Event => {
                self.reader.begin();
                if let Some(packet) = &self.packet
                    && let Some(text) = self.part.file.bytes.get(packet.line.0..packet.line.1)
                    && let Ok(text) = line::text(text)
                {
                    let values = &mut self.reader.values;
                    packet_scopes(&mut self.reader.values_of, text, &self.part.stream, values)?;
                }
                let begin = at + byte_order_mark(text.as_bytes());
                let is_event = self.reader.read(text, begin, self.window, &self.part)?;
                Ok(is_event.then_some(QueuedMessage::Event))
            }
            LineType::StreamBegin | LineType::EventClass | LineType::Stack => {
                self.unknown = unknown_members(kind, text, at)?;
                Ok(None)
            }
            LineType::StreamEnd => {
                // This is the last message anyway.
                let mut runs = self.runs.clone();
                let is_last = self.at >= self.end && self.part.runs.next(&mut runs).is_none();
                Ok(is_last.then_some(QueuedMessage::StreamEnd))
            }
            LineType::PacketBegin | LineType::PacketEnd => self.packet_line(kind, text, at..next).map(Some),
            LineType::DiscardedEvents | LineType::DiscardedPackets => {
                let value = value(&mut Reader::new(text))?;
                let clock = |name: &str| value.get(name).and_then(|value| self.clock(value));
                let loss = Box::new(StreamLoss {
                    count: u64_of(&value, "count"),
                    thread: u64_of(&value, "thread"),
                    begin: clock("begin"),
                    end: clock("end"),
                });
                Ok(Some(match kind {
                    LineType::DiscardedEvents => QueuedMessage::DiscardedEvents(loss),
                    _ => QueuedMessage::DiscardedPackets(loss),
                }))
            }
            LineType::Damage => {
                let damage = damage_of(&value(&mut Reader::new(text))?);
                Ok(Some(QueuedMessage::Damage(Box::new(damage))))
            }
        }
    }

    /// Reads a packet line.
    fn packet_line(&mut self, kind: LineType, text: &str, line: Range<usize>) -> ParseResult<QueuedMessage> {
        let value = value(&mut Reader::new(text))?;
        let clock = self.clock(&value);
        let number = |name: &str| u64_of(&value, name);
        let is_begin = kind == LineType::PacketBegin;
        if is_begin {
            self.packet_values.clear();
            packet_scopes(&mut self.reader.values_of, text, &self.part.stream, &mut self.packet_values)?;
            let line = (line.start, line.end);
            self.packet = Some(PacketLine { begin: clock, line, ..PacketLine::default() });
        }
        let packet = self.packet.get_or_insert_default();
        packet.sequence_number = number("sequence_number");
        if !is_begin {
            packet.end = clock;
            packet.discarded_counter = number("discarded_counter");
            // Lines from other programs may lack the sizes, which nothing depends on.
            packet.content_length = number("content_bits").unwrap_or_default();
            packet.total_length = number("total_bits").unwrap_or_default();
        }
        Ok(if is_begin { QueuedMessage::PacketBegin } else { QueuedMessage::PacketEnd })
    }

    /// Reads a clock value from an object with `ts` and `cycles`.
    fn clock(&self, value: &Value) -> Option<ClockValue> {
        let nanoseconds = value.get("ts").and_then(|time| match time {
            Value::Text(text) => text.parse().ok().or_else(|| time::date(text)),
            other => integer_of(other),
        });
        self.reader.clock_value(nanoseconds, u64_of(value, "cycles"), &self.part)
    }

    fn fault(&self, line: &[u8], at: usize, fault: &LineFault) -> Damage {
        let found = match line.get(fault.at) {
            None => "the end".to_owned(),
            Some(_) => {
                // The place is in the line.
                let rest = line.get(fault.at..).unwrap_or_default();
                let rest = rest.get(..40).unwrap_or(rest);
                format!("`{}`", String::from_utf8_lossy(rest).escape_debug())
            }
        };
        let statement =
            format!("the line cannot be read: byte {}: expected {}, found {found}", fault.at, fault.expected);
        let rule = LineRule::Line.broken(statement);
        let damage = Damage::new(&*self.part.file.name, at as u64 * 8, rule.into());
        damage.in_stream(&*self.part.stream.name).skipping(line.len() as u64 * 8)
    }

    /// Adds the unknown members of the current line as damage. Returns `true` if there are any.
    fn push_unknown(&mut self, record: &mut Record) -> bool {
        let unknown = std::mem::take(&mut self.unknown);
        for (of, member) in &unknown {
            record.push_damage(self.unknown_member(member.clone(), of));
        }
        !unknown.is_empty()
    }

    /// Creates the damage for an unknown member. `of` names the line type.
    fn unknown_member(&self, (at, member): (usize, String), of: &'static str) -> Damage {
        let kind = DamageKind::UnknownMember { member, of };
        Damage::new(&*self.part.file.name, at as u64 * 8, kind).in_stream(&*self.part.stream.name)
    }

    fn plans(&self) -> Option<&EventRecordPlans> {
        match &self.reader.class {
            LineClass::None => None,
            LineClass::Declared(index) => self.part.stream.plans().event_records.get(*index),
            LineClass::Dynamic(class) => Some(&class.plans),
        }
    }
}

/// Returns a line's type.
fn kind_of(text: &str) -> ParseResult<LineType> {
    line::LineOutline::parse(text.as_bytes()).map(|line| line.kind)
}

fn u64_of(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(integer_of)?.try_into().ok()
}

/// Reads a packet's header and context.
fn packet_scopes(
    reader: &mut crate::values::ValueReader,
    text: &str,
    stream: &DataStream,
    values: &mut EventValues,
) -> ParseResult<()> {
    let classes = [
        ("header", Scope::PacketHeader, stream.trace.class.packet_header.as_deref()),
        ("context", Scope::PacketContext, stream.class().packet_context.as_deref()),
    ];
    let mut json = Reader::new(text);
    json.expect(b'{', "an object")?;
    let mut is_first = true;
    while let Some(key) = json.key(&mut is_first)? {
        match classes.iter().find(|(name, _, _)| key.is(name)) {
            Some((_, scope, Some(class))) => reader.scope(&mut json, *scope, class, &[], values)?,
            _ => {
                json.skip()?;
            }
        }
    }
    for (name, scope, class) in classes {
        if class.is_some() && !values.has(scope) {
            return fault(&json, format!("the member `{name}` before the end of the line"));
        }
    }
    Ok(())
}

/// Reads a damage line.
pub(crate) fn damage_of(value: &Value) -> Damage {
    // A damage line is reported even if members are missing.
    let text = |name: &str| value.get(name).and_then(Value::as_text).unwrap_or_default();
    let rule = LineRule::ReportedDamage.broken(text("message"));
    let mut damage = Damage::new(text("file"), u64_of(value, "bit").unwrap_or_default(), rule.into());
    damage.stream = value.get("stream_name").and_then(Value::as_text).map(str::to_owned);
    damage.skipping(u64_of(value, "skipped_bits").unwrap_or_default())
}

impl LineSource {
    /// Returns the line's event, with its unknown members.
    #[inline]
    fn event(&mut self, record: &mut Record) -> NextRecord {
        if self.reader.unknown.is_empty() {
            return NextRecord::Event;
        }
        for member in std::mem::take(&mut self.reader.unknown) {
            record.push_damage(self.unknown_member(member, "an event"));
        }
        record.push_event();
        NextRecord::Messages
    }
}

impl Source for LineSource {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        if std::mem::take(&mut self.is_packet_over) {
            self.packet = None;
        }
        let part = Arc::clone(&self.part);
        let bytes = &part.file.bytes;
        loop {
            if self.at >= self.end {
                let Some((begin, end)) = part.runs.next(&mut self.runs) else { return self.finish() };
                (self.at, self.end) = (begin.max(self.resumed), end);
                continue;
            }
            let at = self.at;
            let (line, next) = line_at(bytes, at);
            (self.begin, self.at) = (at, next.max(at + 1));
            let mark = self.mark.take(&part.marks, at);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let read = if line.len() > LONGEST {
                Err(LineFault {
                    at: LONGEST,
                    expected: "the end of the line: it is longer than 16 MiB".into(),
                })
            } else {
                line::text(line).and_then(|text| self.line(text, at, next))
            };
            let offset = part.clock_offset;
            match read {
                Ok(None) if self.push_unknown(record) => return NextRecord::Messages,
                Ok(None) => {}
                Ok(Some(QueuedMessage::Event)) => {
                    record.time = self.reader.clock.map(|clock| clock.nanoseconds);
                    if self.is_outside(record.time) {
                        continue;
                    }
                    return self.event(record);
                }
                Ok(Some(message)) => {
                    let time = mark.and_then(|mark| mark.time).map(|time| time + offset);
                    record.time = time.or(record.time);
                    match message {
                        QueuedMessage::StreamEnd => return NextRecord::End,
                        // Filters apply to whole packets.
                        QueuedMessage::DiscardedEvents(_) | QueuedMessage::DiscardedPackets(_)
                            if self.is_outside(time) => {}
                        message => {
                            self.is_packet_over = message == QueuedMessage::PacketEnd;
                            record.messages.push(message, record.time);
                            return NextRecord::Messages;
                        }
                    }
                }
                Err(fault) => {
                    let time = mark.and_then(|mark| mark.time).map(|time| time + offset);
                    record.time = time.or(record.time);
                    return NextRecord::Damage(self.fault(line, at, &fault));
                }
            }
        }
    }

    fn checks_events(&self) -> bool {
        true
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        Some(ResumePoint::new(LinePlace {
            stream: Arc::clone(&self.part.stream),
            runs: self.runs.clone(),
            at: self.at,
            end: self.end,
            mark: self.mark.clone(),
            packet: self.packet.clone(),
            is_packet_over: self.is_packet_over,
            packet_values: self.packet_values.clone(),
        }))
    }

    fn position(&self) -> Option<DataPosition> {
        Some(DataPosition::at_byte(&*self.part.file.name, self.begin as u64))
    }

    fn event<'e>(&'e self, record: &'e Record) -> Option<Event<'e>> {
        let scopes = Scopes::from_values(&self.reader.values);
        let event = Event::new(&record.stream, self.plans()?, self.reader.clock.as_ref(), scopes);
        Some(event.with_other_clocks(&self.reader.other_clocks))
    }

    fn event_head(&self, record: &Record) -> Head {
        match self.plans().and_then(EventRecordPlans::index) {
            Some(index) => Head::event(index, record.time),
            None => Head::new(MessageKind::Event, record.time),
        }
    }

    fn packet<'p>(&'p self, record: &'p Record) -> Option<Packet<'p>> {
        let line = self.packet.as_ref()?;
        let scopes = Scopes::from_values(&self.packet_values);
        let packet = Packet::new(&record.stream, line.total_length, line.content_length, scopes)
            .with_times(line.begin, line.end)
            .with_counters(line.sequence_number, line.discarded_counter);
        Some(packet)
    }
}
