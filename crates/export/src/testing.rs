//! Handmade events for tests.

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex};

use ichnos_export::{Resolution, ResumableSink, SinkState as _, StreamOrder};
use ichnos_model::class::{
    BitField, ByteOrder, DataStreamClass, EventRecordClass, FieldClass, FieldKind, IntegerProperties, Member,
    Role, Roles, StringLength, Value, VariableLengthValue,
};
use ichnos_model::clock::{ClockClass, ClockOrigin, ClockValue, WallClock};
use ichnos_model::decode::{PacketBits, Position, UNKNOWN};
use ichnos_model::event::{EventValues, Packet, Scopes};
use ichnos_model::field::StringEncoding;
use ichnos_model::log::LogRole;
use ichnos_model::meaning::Meanings;
use ichnos_model::message::Discarded;
use ichnos_model::trace::Limits;
use ichnos_model::{DataStream, Event, Message, Sink, Trace, TraceClass};

/// Bytes that can be inspected while a sink writes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl SharedBytes {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends a message to a sink.
pub(crate) fn send(sink: &mut impl Sink, message: &Message<'_>) {
    assert!(sink.message(message).unwrap().is_continue());
}

pub(crate) fn class(kind: FieldKind) -> Arc<FieldClass> {
    Arc::new(FieldClass::new(kind))
}

pub(crate) fn bits(length: u64) -> BitField {
    BitField::new(length, ByteOrder::LittleEndian, 8)
}

pub(crate) fn integer(length: u64, integer: IntegerProperties) -> Arc<FieldClass> {
    class(FieldKind::Integer { bits: bits(length), integer })
}

pub(crate) fn u8_class() -> Arc<FieldClass> {
    integer(8, IntegerProperties::default())
}

pub(crate) fn structure(members: Vec<(&str, Arc<FieldClass>)>) -> Arc<FieldClass> {
    let members = members.into_iter().map(|(name, class)| Member::new(name, class)).collect();
    class(FieldKind::Structure { members, minimum_alignment: 1 })
}

/// Returns members of kinds that CTF lacks, with the bytes of their payload: a GUID, the same time as a date of three
/// clocks, a value that is not a date, and two UTF-16 characters. The second UTF-16 character is half a character.
pub(crate) fn guid_dates_characters() -> (Vec<(&'static str, Arc<FieldClass>)>, Vec<u8>) {
    let character = || {
        let (encoding, length) = (StringEncoding::Utf16Le, StringLength::Static(2));
        class(FieldKind::String { encoding, length, alignment: 8 })
    };
    let date = |signed, clock| Arc::new(FieldClass::wall_clock(signed, clock));
    let seconds = IntegerProperties { wall_clock: Some(WallClock::UNIX_SECONDS), ..Default::default() };
    let variable = VariableLengthValue::Integer(seconds);
    let members = vec![
        ("id", Arc::new(FieldClass::guid())),
        ("filetime", date(true, WallClock::FILETIME)),
        ("ticks", date(false, WallClock::DOTNET_TICKS)),
        ("var", class(FieldKind::VariableLength { value: variable, alignment: 8 })),
        ("none", date(true, WallClock::FILETIME)),
        ("c", character()),
        ("half", character()),
    ];
    // 6B29FC40-CA47-1067-B31D-00DD010662DA: the example from MS-DTYP.
    let mut bytes = b"\x40\xfc\x29\x6b\x47\xca\x67\x10\xb3\x1d\x00\xdd\x01\x06\x62\xda".to_vec();
    let unix_ticks = 15_659_573_009_480_911;
    bytes.extend_from_slice(&(unix_ticks + 11_644_473_600 * 10_000_000i64).to_le_bytes());
    bytes.extend_from_slice(&(unix_ticks as u64 + 62_135_596_800 * 10_000_000).to_le_bytes());
    // 1,565,957,300 in groups of 7 bits.
    bytes.extend_from_slice(&[0xb4, 0xb9, 0xda, 0xea, 0x05]);
    bytes.extend_from_slice(&i64::MIN.to_le_bytes());
    bytes.extend_from_slice(&[0xe9, 0, 0x3d, 0xd8]);
    (members, bytes)
}

/// Trace with one data stream class and one event record class, `ev` with id 3.
pub(crate) struct Fixture {
    pub(crate) stream: DataStream,
}

impl Fixture {
    /// Creates a fixture with this event payload. Its packet context has a hidden sequence number and `cpu`.
    pub(crate) fn new(payload: Arc<FieldClass>) -> Self {
        Self::with(payload, |_| {})
    }

    pub(crate) fn with(payload: Arc<FieldClass>, change: impl FnOnce(&mut TraceClass)) -> Self {
        let mut sequence_number = FieldClass::clone(&u8_class());
        sequence_number.roles = Roles::only(Role::PacketSequenceNumber);
        let mut clock = ClockClass::new("clock", 1_000_000_000);
        clock.name = Some("clock".to_owned());
        clock.origin = ClockOrigin::UnixEpoch;
        let event = EventRecordClass {
            id: 3,
            name: Some("ev".to_owned()),
            log_level: Some(4),
            payload: Some(payload),
            ..EventRecordClass::default()
        };
        let stream = DataStreamClass {
            default_clock: Some(0),
            packet_context: Some(structure(vec![("number", Arc::new(sequence_number)), ("cpu", u8_class())])),
            event_records: vec![Arc::new(event)],
            ..DataStreamClass::default()
        };
        let mut trace = TraceClass {
            dialect: "CTF 1.8".to_owned(),
            environment: vec![
                ("hostname".to_owned(), Value::Text("host".to_owned())),
                ("vpid".to_owned(), Value::Integer(7)),
            ],
            clocks: vec![clock],
            default_clock_precision: Some(0),
            data_streams: vec![stream],
            ..TraceClass::default()
        };
        change(&mut trace);
        let mut trace = Trace::new(trace, "trace", &Limits::default()).unwrap();
        trace.path = "path/trace".to_owned();
        let stream = DataStream::new(Arc::new(trace), 0, Some(1), "stream").unwrap();
        Self { stream }
    }

    /// Turns the events into log records.
    pub(crate) fn with_log(self, role: LogRole, meanings: Meanings) -> Self {
        let mut class = TraceClass::clone(&self.stream.trace.class);
        let event = Arc::make_mut(&mut class.data_streams[0].event_records[0]);
        event.log = Some(Arc::new(role));
        event.meanings = meanings;
        let mut trace = Trace::new(class, "trace", &Limits::default()).unwrap();
        trace.path = "path/trace".to_owned();
        Self { stream: DataStream::new(Arc::new(trace), 0, Some(1), "stream").unwrap() }
    }

    fn scopes<R>(&self, payload: &[u8], f: impl FnOnce(Scopes<'_>) -> R) -> R {
        let mut data = vec![9, 2];
        data.extend_from_slice(payload);
        let slots = vec![Cell::new(UNKNOWN); self.stream.trace.plans.slots()];
        let at = |bit| Position::at(bit);
        let begins = [at(0), at(0), at(16), at(16), at(16), at(16)];
        f(Scopes::new(PacketBits::whole(&data), &begins, &slots, &(&Limits::default()).into()))
    }

    fn clock(&self, nanoseconds: i64) -> Option<ClockValue> {
        self.stream.class().default_clock?;
        Some(ClockValue { nanoseconds: nanoseconds.into(), cycles: nanoseconds as u64 })
    }

    pub(crate) fn event(&self, sink: &mut impl Sink, time: i64, payload: &[u8]) {
        self.event_at(sink, time, &[], payload);
    }

    /// Sends an event with some fields as values.
    pub(crate) fn event_with(&self, sink: &mut impl Sink, payload: &[u8], values: &EventValues) {
        let clock = self.clock(0);
        self.scopes(payload, |scopes| {
            let plans = &self.stream.plans().event_records[0];
            let event = Event::new(&self.stream, plans, clock.as_ref(), scopes.with_values(values));
            send(sink, &Message::Event(event));
        });
    }

    /// Sends an event of another class.
    pub(crate) fn event_of(&self, sink: &mut impl Sink, class: usize, payload: &[u8]) {
        self.event_of_at(sink, class, 0, payload);
    }

    /// Sends an event of another class at a time.
    pub(crate) fn event_of_at(&self, sink: &mut impl Sink, class: usize, time: i64, payload: &[u8]) {
        let clock = self.clock(time);
        self.scopes(payload, |scopes| {
            let plans = &self.stream.plans().event_records[class];
            send(sink, &Message::Event(Event::new(&self.stream, plans, clock.as_ref(), scopes)));
        });
    }

    /// Sends an event with values of further clocks.
    pub(crate) fn event_at(&self, sink: &mut impl Sink, time: i64, others: &[(u16, u64)], payload: &[u8]) {
        let clock = self.clock(time);
        self.scopes(payload, |scopes| {
            let plans = &self.stream.plans().event_records[0];
            let event = Event::new(&self.stream, plans, clock.as_ref(), scopes);
            send(sink, &Message::Event(event.with_other_clocks(others)));
        });
    }

    pub(crate) fn packet(&self, sink: &mut impl Sink, time: i64, begins: bool) {
        self.scopes(&[], |scopes| {
            let packet = Packet::new(&self.stream, 128, 120, scopes)
                .with_times(self.clock(time), self.clock(time))
                .with_counters(Some(9), None);
            let message = if begins { Message::PacketBegin(packet) } else { Message::PacketEnd(packet) };
            send(sink, &message);
        });
    }

    pub(crate) fn begin(&self, sink: &mut impl Sink) {
        send(sink, &Message::StreamBegin(&self.stream));
    }

    pub(crate) fn end(&self, sink: &mut impl Sink) {
        send(sink, &Message::StreamEnd(&self.stream));
        sink.finish().unwrap();
    }

    /// Checks that a sink reports a truncated payload.
    pub(crate) fn reports_what_is_undecoded(&self, sink: &mut impl Sink) {
        self.event(sink, 0, &[]);
        self.event(sink, 0, &[1]);
        let error = sink.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(ichnos_export::Undecoded::from_error(&error).map(|undecoded| undecoded.count), Some(1));
    }

    pub(crate) fn discarded(&self, count: Option<u64>) -> Discarded<'_> {
        Discarded {
            stream: &self.stream,
            count,
            thread: None,
            begin: self.clock(1_000_000_000),
            end: self.clock(2_000_000_000),
        }
    }
}

/// Writes the same messages with a single sink and with a sink for each chunk, and compares the texts. `write` writes
/// the messages of a chunk. Returns the number of fixups.
pub(crate) fn compare_chunks<S: ResumableSink>(
    fixture: &Fixture,
    chunks: usize,
    make: impl Fn(SharedBytes) -> S,
    mut write: impl FnMut(usize, &mut S),
) -> usize {
    let whole = SharedBytes::default();
    let mut sink = make(whole.clone());
    (0..chunks).for_each(|chunk| write(chunk, &mut sink));
    sink.finish().unwrap();
    let order = StreamOrder::new([&fixture.stream]);
    let mut state = S::State::default();
    let (mut joined, mut resolved) = (Vec::new(), 0);
    for chunk in 0..chunks {
        let mut again = None;
        loop {
            let before = state.clone();
            let out = SharedBytes::default();
            let mut sink = make(out.clone());
            if chunk > 0 {
                sink.resume(&order, again.clone());
            }
            write(chunk, &mut sink);
            if chunk + 1 == chunks {
                sink.finish().unwrap()
            } else {
                sink.pause().unwrap()
            }
            let text = out.text();
            let (mut at, mut fixed, mut is_right) = (0, Vec::new(), !sink.must_rewrite());
            while let Some(fixup) = sink.next_fixup() {
                resolved += 1;
                fixed.extend_from_slice(&text.as_bytes()[at..fixup.offset as usize]);
                at = fixup.offset as usize;
                match state.resolve(&fixup.cause, &mut fixed) {
                    Resolution::Keep => {}
                    Resolution::Remove => at += fixup.length as usize,
                    Resolution::Rewrite => is_right = false,
                }
            }
            if !is_right {
                assert!(again.is_none(), "a sink that knows what comes before is right");
                again = Some(before.clone());
                state = before;
                continue;
            }
            fixed.extend_from_slice(&text.as_bytes()[at..]);
            joined.extend(fixed);
            state = state.then(sink.state());
            break;
        }
    }
    assert_eq!(String::from_utf8(joined).unwrap(), whole.text());
    resolved
}
