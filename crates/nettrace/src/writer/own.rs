//! Writes events that were read from EventPipe files.

use std::ops::Range;

use ichnos_model::class::Uuid;
use ichnos_model::field::{Field as VisitedField, StringEncoding, Text};
use ichnos_model::{Event, Scope, Visitor};

use super::written_event::{NettraceEvent, metadata_hash};
use crate::metadata_writer::can_describe;
use crate::reader::class::context as member;
use crate::reader::trace_file::FileState;
use crate::wire::Wire;
use crate::{EventMetadata, FieldType, PayloadField, Version};

/// Event class from an EventPipe file. Their payloads are copied.
#[derive(Debug)]
pub(super) struct NativeClass {
    /// Event kind index in the file.
    pub(super) kind: usize,
    pub(super) metadata: EventMetadata,
    /// `true` if the output version cannot store all of the metadata.
    pub(super) is_lossy: bool,
    /// `true` if the events that name functions are not written as such.
    pub(super) needs_names: bool,
    /// Set if the events name the function at an address in their payload.
    pub(super) naming: Option<NamingEvent>,
}

/// Event that names a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamingEvent {
    /// Runtime method.
    Method,
    /// Symbol in a mapped file (version 6).
    Symbol,
}

/// Ids for the runtime events that contain a function name.
const METHODS: [u32; 2] = [143, 144];

impl NamingEvent {
    /// Returns the kind of events with this metadata. Returns `None` if they do not name functions.
    fn from_metadata(metadata: &EventMetadata) -> Option<Self> {
        let provider = &*metadata.provider;
        let is_method =
            provider.starts_with("Microsoft-Windows-DotNETRuntime") && METHODS.contains(&metadata.event_id);
        let is_symbol = provider == "Universal.System" && metadata.name == "ProcessSymbol";
        is_method.then_some(Self::Method).or_else(|| is_symbol.then_some(Self::Symbol))
    }

    /// Returns the first address of the function in a payload, which follows after two ids.
    pub(super) fn address(self, payload: &[u8]) -> Option<u64> {
        let wire = &mut Wire::new(payload);
        match self {
            Self::Method => Some(u64::from_le_bytes(*payload.get(16..)?.first_chunk()?)),
            Self::Symbol => {
                let _ids = (wire.varuint64()?, wire.varuint64()?);
                wire.varuint64()
            }
        }
    }
}

impl NativeClass {
    /// Returns an event's class. Returns `None` for other formats, for unknown metadata, and if metadata in the
    /// output version cannot describe the payload. With `repairs`, the payload must also match its fields.
    pub(super) fn from_event(event: &Event<'_>, is_v6: bool, repairs: bool) -> Option<Self> {
        let file = event.stream.trace.reader_data::<FileState>()?;
        let kind = file.kind_of(event)?;
        let metadata = file.metadata_of_kind(kind)?;
        if !can_describe(&metadata.fields, is_v6) || repairs && file.is_misfit(kind, event) {
            return None;
        }
        let (metadata, is_lossy) = normalized(metadata, is_v6);
        // The runtime's own naming events are copied. Names in mapped files are only in version 6.
        let needs_names = !is_v6 && file.has_provider("Universal.System");
        let naming = NamingEvent::from_metadata(&metadata);
        Some(Self { kind, metadata, is_lossy, needs_names, naming })
    }
}

/// Returns metadata as a reader of the output will see it. Also returns `true` if some is lost.
pub(super) fn normalized(metadata: &EventMetadata, is_v6: bool) -> (EventMetadata, bool) {
    let mut metadata = metadata.clone();
    metadata.has_unknown_fields = false;
    let before = metadata.clone();
    if is_v6 {
        metadata.version = metadata.version.min(u8::MAX.into());
    } else {
        metadata.level = Some(metadata.level.unwrap_or(0));
        (metadata.message_template, metadata.description) = (None, None);
        metadata.provider_guid = None;
        metadata.properties.clear();
        // Texts end at their first U+0000.
        for text in [&mut metadata.provider, &mut metadata.name] {
            text.truncate(text.find('\0').unwrap_or(text.len()));
        }
        end_names(&mut metadata.fields);
    }
    let is_lossy = metadata != before;
    (metadata, is_lossy)
}

/// Cuts field names at their first U+0000.
fn end_names(fields: &mut [PayloadField]) {
    for field in fields {
        field.name.truncate(field.name.find('\0').unwrap_or(field.name.len()));
        let mut kind = &mut field.kind;
        while let FieldType::Array(element) = kind {
            kind = element;
        }
        if let FieldType::Object(fields) = kind {
            end_names(fields);
        }
    }
}

/// Returns the hashes of a file's event kinds, as written in the same version.
pub(super) fn hashes(file: &FileState) -> &[u64] {
    let is_v6 = matches!(file.version(), Version::V6(_));
    file.hashes_of_kinds(|metadata| metadata_hash(&normalized(metadata, is_v6).0))
}

/// Returns an event's payload. Its class must be a [`NativeClass`].
pub(super) fn payload<'e>(event: &Event<'e>) -> &'e [u8] {
    event.scopes.bits.bytes()
}

/// Copies an event's payload with valid texts: a lone code unit becomes U+FFFD, and an invalid UTF-8 byte becomes `?`.
/// If all texts are valid, returns `false` and copies nothing.
pub(super) fn repair_texts(event: &Event<'_>, payload: &[u8], out: &mut Vec<u8>) -> bool {
    let mut reader = InvalidTextReader { payload, texts: Vec::new() };
    if event.visit(Scope::Payload, &mut reader).is_err() || reader.texts.is_empty() {
        return false;
    }
    out.clear();
    out.extend_from_slice(payload);
    for (encoding, range) in reader.texts {
        let Some(place) = out.get_mut(range) else { continue };
        match encoding {
            StringEncoding::Utf16Le => repair_utf16(place),
            _ => repair_utf8(place),
        }
    }
    true
}

fn repair_utf16(text: &mut [u8]) {
    let units = text.as_chunks_mut::<2>().0;
    let read: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    let mut at = 0;
    for decoded in char::decode_utf16(read) {
        let length = decoded.as_ref().map_or(1, |c| c.len_utf16());
        if decoded.is_err()
            && let Some(unit) = units.get_mut(at)
        {
            *unit = 0xfffd_u16.to_le_bytes();
        }
        at += length;
    }
}

fn repair_utf8(mut text: &mut [u8]) {
    while let Err(error) = std::str::from_utf8(text) {
        let (begin, length) = (error.valid_up_to(), error.error_len());
        let Some(rest) = text.get_mut(begin..) else { return };
        let wrong = length.unwrap_or(rest.len()).min(rest.len());
        let (invalid, rest) = rest.split_at_mut(wrong);
        invalid.fill(b'?');
        text = rest;
    }
}

/// Finds invalid texts.
struct InvalidTextReader<'p> {
    payload: &'p [u8],
    texts: Vec<(StringEncoding, Range<usize>)>,
}

impl InvalidTextReader<'_> {
    /// Returns the position of a text: it is a part of the payload, or a copy of its only occurrence.
    fn place(&self, text: &[u8]) -> Option<usize> {
        let is_inside = |at: &usize| self.payload.get(*at..at.saturating_add(text.len())) == Some(text);
        let inside = text.as_ptr().addr().checked_sub(self.payload.as_ptr().addr()).filter(is_inside);
        inside.or_else(|| {
            let mut places = memchr::memmem::find_iter(self.payload, text);
            places.next().filter(|_| places.next().is_none())
        })
    }
}

impl Visitor for InvalidTextReader<'_> {
    fn text(&mut self, _: VisitedField<'_>, value: Text<'_>) {
        if !value.write_utf8(&mut Vec::new())
            && let Some(at) = self.place(value.bytes)
        {
            self.texts.push((value.encoding, at..at + value.bytes.len()));
        }
    }
}

/// Reads an event's parts. Its class must be a [`NativeClass`]. Returns `false` if it cannot be decoded.
pub(super) fn read(event: &Event<'_>, ticks: u64, parts: &mut NettraceEvent) -> bool {
    parts.begin(ticks);
    let mut reader = ContextReader { parts, member: 0, depth: 0, is_optional: false, label: None };
    if event.visit(Scope::CommonContext, &mut reader).is_err() {
        return false;
    }
    let file = event.stream.trace.reader_data::<FileState>();
    if let Some(file) = file.filter(|file| !matches!(file.version(), Version::V6(_))) {
        parts.process = file.process_id();
    }
    true
}

/// Reads an event's common context.
struct ContextReader<'p> {
    parts: &'p mut NettraceEvent,
    /// Number of members so far.
    member: usize,
    /// Number of enclosing compound fields, except optionals.
    depth: usize,
    /// `true` within an optional member.
    is_optional: bool,
    /// Name of the current label.
    label: Option<String>,
}

impl ContextReader<'_> {
    /// Returns a value's member index, or `None` in deeper fields.
    #[inline(always)]
    fn member(&mut self) -> Option<usize> {
        if self.depth != 1 {
            return None;
        }
        // An optional member was counted when it started.
        self.member += usize::from(!self.is_optional);
        self.member.checked_sub(1)
    }
}

impl Visitor for ContextReader<'_> {
    #[inline]
    fn unsigned(&mut self, _: VisitedField<'_>, value: u64) {
        match self.member() {
            Some(member::THREAD) => self.parts.thread = value,
            Some(member::CAPTURE_THREAD) => self.parts.capture_thread = Some(value),
            Some(member::PROCESSOR) => self.parts.processor = u32::try_from(value).unwrap_or(u32::MAX),
            Some(member::STACK) => self.parts.stack = u32::try_from(value).ok(),
            Some(member::PROCESS) => self.parts.process = Some(value),
            Some(member::SPAN_ID) => self.parts.span_id = Some(value),
            Some(member::CAPTURE_PROCESS) => self.parts.capture_process = Some(value),
            _ => {}
        }
    }

    fn signed(&mut self, _: VisitedField<'_>, value: i64) {
        if let Some(name) = self.label.take() {
            self.parts.numeric_labels.push((name, value));
        }
    }

    fn guid(&mut self, _: VisitedField<'_>, value: Uuid) {
        match self.member() {
            Some(member::ACTIVITY) => self.parts.activity = value.to_bytes_le(),
            Some(member::RELATED_ACTIVITY) => self.parts.related_activity = value.to_bytes_le(),
            _ => {}
        }
    }

    fn text(&mut self, _: VisitedField<'_>, value: Text<'_>) {
        match self.member() {
            Some(member::THREAD_NAME) => self.parts.set_thread_name(&value.to_str_lossy()),
            Some(member::TRACE_ID) => {
                self.parts.trace_id =
                    value.as_str().and_then(|text| Uuid::try_parse(text).ok()).map(Uuid::into_bytes);
            }
            None => {
                let text = value.to_str_lossy().into_owned();
                match self.label.take() {
                    Some(name) => self.parts.labels.push((name, text)),
                    None => self.label = Some(text),
                }
            }
            _ => {}
        }
    }

    fn begin_structure(&mut self, _: VisitedField<'_>) {
        self.depth += 1;
    }

    fn end_structure(&mut self, _: VisitedField<'_>) {
        self.depth -= 1;
    }

    fn begin_array(&mut self, _: VisitedField<'_>, _: u64) {
        self.depth += 1;
    }

    fn end_array(&mut self, _: VisitedField<'_>) {
        self.depth -= 1;
    }

    #[inline]
    fn begin_optional(&mut self, _: VisitedField<'_>, _: bool, _: i128) {
        self.member += 1;
        self.is_optional = true;
    }

    #[inline]
    fn end_optional(&mut self, _: VisitedField<'_>) {
        self.is_optional = false;
    }
}
