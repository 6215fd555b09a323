//! Nettrace file writer for tests, based on the format's documents and not on the reader.
//!
//! Nothing is checked: invalid files can be written, too.

/// Container version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileVersion {
    /// NetPerf.
    V3,
    /// NetTrace 4, and version 5 with its tags.
    V4,
    /// NetTrace 6.
    V6,
}

/// Block kinds, each with its number in version 6 and its earlier name.
pub mod kind {
    pub const TRACE: (u8, &str) = (1, "Trace");
    pub const EVENT: (u8, &str) = (2, "EventBlock");
    pub const METADATA: (u8, &str) = (3, "MetadataBlock");
    pub const SEQUENCE_POINT: (u8, &str) = (4, "SPBlock");
    pub const STACK: (u8, &str) = (5, "StackBlock");
    pub const THREAD: (u8, &str) = (6, "");
    pub const REMOVE_THREAD: (u8, &str) = (7, "");
    pub const LABEL_LIST: (u8, &str) = (8, "");
}

/// Byte buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u8(self, value: u8) -> Self {
        self.raw(&[value])
    }

    pub fn u16(self, value: u16) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub fn u32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub fn u64(self, value: u64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a variable-length number: 7 bits per byte, least significant first.
    pub fn var(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    /// Appends UTF-16 and a zero.
    pub fn utf16(mut self, text: &str) -> Self {
        for unit in text.encode_utf16().chain([0]) {
            self.0.extend(unit.to_le_bytes());
        }
        self
    }

    /// Appends a length and UTF-8 (version 6).
    pub fn text(self, text: &str) -> Self {
        self.var(text.len() as u64).raw(text.as_bytes())
    }

    /// Appends a 16-bit length and bytes.
    pub fn sized(self, content: Bytes) -> Self {
        self.u16(content.0.len() as u16).raw(&content.0)
    }

    pub fn all(self, parts: impl IntoIterator<Item = Bytes>) -> Self {
        parts.into_iter().fold(self, |bytes, part| bytes.raw(&part.0))
    }
}

/// Trace block content.
#[derive(Clone, Debug)]
pub struct Trace {
    pub date: [u16; 8],
    pub sync_ticks: u64,
    pub frequency: u64,
    pub pointer_size: u32,
    pub process: u32,
    pub processors: u32,
    /// Properties (version 6).
    pub properties: Vec<(String, String)>,
}

impl Default for Trace {
    fn default() -> Self {
        // 2024-05-06 07:08:09.010, a Monday, at tick 1,000.
        let date = [2024, 5, 1, 6, 7, 8, 9, 10];
        let (frequency, pointer_size) = (1_000_000_000, 8);
        Self {
            date,
            sync_ticks: 1_000,
            frequency,
            pointer_size,
            process: 77,
            processors: 4,
            properties: vec![],
        }
    }
}

/// File builder.
#[derive(Clone, Debug)]
pub struct File {
    pub form: FileVersion,
    pub bytes: Vec<u8>,
}

impl File {
    /// Creates a file with a header and the default trace block.
    pub fn new(form: FileVersion) -> Self {
        Self::with(form, &Trace::default())
    }

    /// Creates a file with a header and a trace block.
    pub fn with(form: FileVersion, trace: &Trace) -> Self {
        let mut file = Self::header(form);
        let common = trace.date.into_iter().fold(Bytes::new(), Bytes::u16);
        let common = common.u64(trace.sync_ticks).u64(trace.frequency).u32(trace.pointer_size);
        if form == FileVersion::V6 {
            let mut properties = vec![
                ("ProcessId".to_owned(), trace.process.to_string()),
                ("HardwareThreadCount".to_owned(), trace.processors.to_string()),
            ];
            properties.extend(trace.properties.iter().cloned());
            let content = common.u32(properties.len() as u32);
            let pairs = properties.iter().map(|(key, value)| Bytes::new().text(key).text(value));
            file.block(kind::TRACE, &content.all(pairs).0);
        } else {
            let version = if form == FileVersion::V3 { (3, 0) } else { (4, 4) };
            file.begin_object("Trace", version);
            file.bytes.extend(common.u32(trace.process).u32(trace.processors).u32(0).0);
            file.bytes.push(6);
        }
        file
    }

    /// Creates a file with only a header.
    pub fn header(form: FileVersion) -> Self {
        let serialization: &[u8] = b"\x14\0\0\0!FastSerialization.1";
        let bytes = match form {
            FileVersion::V3 => serialization.to_vec(),
            FileVersion::V4 => [b"Nettrace", serialization].concat(),
            FileVersion::V6 => Bytes::new().raw(b"Nettrace").u32(0).u32(6).u32(0).0,
        };
        Self { form, bytes }
    }

    /// Starts an object: tags and type (up to version 5).
    pub fn begin_object(&mut self, name: &str, (version, least_reader): (u32, u32)) {
        let tag = if self.form == FileVersion::V3 { 4 } else { 5 };
        let begin = Bytes::new().raw(&[tag, tag, 1]).u32(version).u32(least_reader);
        self.bytes.extend(begin.u32(name.len() as u32).raw(name.as_bytes()).u8(6).0);
    }

    /// Appends a block with its frame.
    pub fn block(&mut self, (number, name): (u8, &str), content: &[u8]) -> &mut Self {
        if self.form == FileVersion::V6 {
            self.bytes.extend((content.len() as u32 | u32::from(number) << 24).to_le_bytes());
            self.bytes.extend_from_slice(content);
        } else {
            let version = if self.form == FileVersion::V3 { (1, 0) } else { (2, 2) };
            self.begin_object(name, version);
            self.bytes.extend((content.len() as u32).to_le_bytes());
            self.align();
            self.bytes.extend_from_slice(content);
            self.bytes.push(6);
        }
        self
    }

    /// Appends zeros up to the next multiple of 4 bytes, counted from the start of the file.
    pub fn align(&mut self) {
        while self.bytes.len() % 4 != 0 {
            self.bytes.push(0);
        }
    }

    /// Appends the end mark, and returns the file.
    pub fn end(mut self) -> Vec<u8> {
        match self.form {
            FileVersion::V6 => self.bytes.extend([0; 4]),
            _ => self.bytes.push(1),
        }
        self.bytes
    }

    /// Appends an event block. Its header contains the events' times. Version 3 ignores `compressed`.
    pub fn events(&mut self, compressed: bool, events: &[FileEvent]) -> &mut Self {
        let rows = rows(self.form, compressed, events);
        let content = match self.form {
            FileVersion::V3 => rows,
            _ => {
                let times = events.iter().map(|event| event.time);
                let (begin, end) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
                block_header(compressed, (begin, end), 0).raw(&rows.0)
            }
        };
        self.block(kind::EVENT, &content.0)
    }

    /// Appends a metadata block. In version 3, its rows are events.
    pub fn metadata(&mut self, rows_of: &[FileMetadata]) -> &mut Self {
        if self.form == FileVersion::V6 {
            let content = Bytes::new().u16(0).all(rows_of.iter().map(|row| Bytes::new().sized(row.v6())));
            return self.block(kind::METADATA, &content.0);
        }
        let payloads = rows_of.iter().map(|row| FileEvent { payload: row.v5().0, ..FileEvent::default() });
        let events: Vec<FileEvent> = payloads.collect();
        if self.form == FileVersion::V3 {
            return self.events(false, &events);
        }
        let content = block_header(true, (0, 0), 0).raw(&rows(self.form, true, &events).0);
        self.block(kind::METADATA, &content.0)
    }

    /// Appends a sequence point. `flags` is for version 6.
    pub fn sequence_point(&mut self, time: u64, flags: u32, threads: &[(u64, u32)]) -> &mut Self {
        let head = Bytes::new().u64(time);
        let is_v6 = self.form == FileVersion::V6;
        let head = if is_v6 { head.u32(flags) } else { head };
        let threads = threads.iter().fold(head.u32(threads.len() as u32), |bytes, (thread, sequence)| {
            if is_v6 { bytes.var(*thread).var((*sequence).into()) } else { bytes.u64(*thread).u32(*sequence) }
        });
        self.block(kind::SEQUENCE_POINT, &threads.0)
    }

    /// Appends stacks of 8-byte addresses.
    pub fn stacks(&mut self, first_id: u32, stacks: &[&[u64]]) -> &mut Self {
        let head = Bytes::new().u32(first_id).u32(stacks.len() as u32);
        let content = stacks.iter().fold(head, |bytes, stack| {
            stack.iter().fold(bytes.u32(8 * stack.len() as u32), |bytes, address| bytes.u64(*address))
        });
        self.block(kind::STACK, &content.0)
    }

    /// Appends threads with an index, a system id and a name (version 6).
    pub fn threads(&mut self, threads: &[(u64, u64, &str)]) -> &mut Self {
        let rows = threads.iter().map(|(index, id, name)| {
            Bytes::new().sized(Bytes::new().var(*index).u8(1).text(name).u8(2).var(77).u8(3).var(*id))
        });
        self.block(kind::THREAD, &Bytes::new().all(rows).0)
    }
}

/// Returns the header of an event or metadata block, with `more` unknown bytes.
pub fn block_header(compressed: bool, (begin, end): (u64, u64), more: u16) -> Bytes {
    let header = Bytes::new().u16(20 + more).u16(compressed.into()).u64(begin).u64(end);
    header.raw(&vec![0xee; more.into()])
}

/// Event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEvent {
    pub metadata: u32,
    pub sequence: u32,
    pub capture_thread: u64,
    pub thread: u64,
    pub processor: u32,
    pub stack: u32,
    pub time: u64,
    pub activity: [u8; 16],
    pub related_activity: [u8; 16],
    /// Label list index (version 6).
    pub labels: u32,
    pub is_sorted: bool,
    pub payload: Vec<u8>,
    /// Stack addresses (version 3).
    pub addresses: Vec<u64>,
}

impl FileEvent {
    /// Creates an event that its own thread reports.
    pub fn new(metadata: u32, thread: u64, sequence: u32, time: u64) -> Self {
        Self { metadata, sequence, capture_thread: thread, thread, time, ..Self::default() }
    }

    pub fn with(mut self, payload: Bytes) -> Self {
        self.payload = payload.0;
        self
    }

    pub fn sorted(mut self) -> Self {
        self.is_sorted = true;
        self
    }
}

/// Returns event rows as in a block.
pub fn rows(form: FileVersion, compressed: bool, events: &[FileEvent]) -> Bytes {
    let mut before = FileEvent::default();
    let mut bytes = Bytes::new();
    for event in events {
        bytes = match (form, compressed) {
            (FileVersion::V3, _) => row_v3(bytes, event),
            (_, true) => row_compressed(bytes, event, &before, form == FileVersion::V6, false),
            (_, false) => row_full(bytes, event, form == FileVersion::V6),
        };
        before = event.clone();
    }
    bytes
}

/// Appends a compressed row. With `full`, the row also contains unchanged parts.
pub fn row_compressed(bytes: Bytes, event: &FileEvent, before: &FileEvent, is_v6: bool, full: bool) -> Bytes {
    let counts = is_v6 || event.metadata != 0;
    let usual = before.sequence.wrapping_add(counts.into());
    let has_origin = full
        || event.sequence != usual
        || event.capture_thread != before.capture_thread
        || event.processor != before.processor;
    let parts = [
        (1, full || event.metadata != before.metadata),
        (2, has_origin),
        (4, full || event.thread != before.thread),
        (8, full || event.stack != before.stack),
        (16, full || if is_v6 { event.labels != before.labels } else { event.activity != before.activity }),
        (32, !is_v6 && (full || event.related_activity != before.related_activity)),
        (64, event.is_sorted),
        (128, full || event.payload.len() != before.payload.len()),
    ];
    let flags = parts.iter().filter(|(_, is_there)| *is_there).fold(0u8, |flags, (flag, _)| flags | flag);
    let mut bytes = bytes.u8(flags);
    if flags & 1 != 0 {
        bytes = bytes.var(event.metadata.into());
    }
    if flags & 2 != 0 {
        let delta = event.sequence.wrapping_sub(before.sequence).wrapping_sub(1);
        bytes = bytes.var(delta.into()).var(event.capture_thread).var(event.processor.into());
    }
    if flags & 4 != 0 {
        bytes = bytes.var(event.thread);
    }
    if flags & 8 != 0 {
        bytes = bytes.var(event.stack.into());
    }
    bytes = bytes.var(event.time.wrapping_sub(before.time));
    if flags & 16 != 0 {
        bytes = if is_v6 { bytes.var(event.labels.into()) } else { bytes.raw(&event.activity) };
    }
    if flags & 32 != 0 {
        bytes = bytes.raw(&event.related_activity);
    }
    if flags & 128 != 0 {
        bytes = bytes.var(event.payload.len() as u64);
    }
    bytes.raw(&event.payload)
}

fn row_full(bytes: Bytes, event: &FileEvent, is_v6: bool) -> Bytes {
    let sorted = if event.is_sorted { 0 } else { 1 << 31 };
    let row = Bytes::new().u32(event.metadata | sorted).u32(event.sequence).u64(event.thread);
    let row = row.u64(event.capture_thread).u32(event.processor).u32(event.stack).u64(event.time);
    let row = match is_v6 {
        true => row.u32(event.labels),
        false => row.raw(&event.activity).raw(&event.related_activity),
    };
    let mut row = row.u32(event.payload.len() as u32).raw(&event.payload);
    // The block starts at a multiple of 4 bytes, and so does each row.
    while !is_v6 && row.0.len() % 4 != 0 {
        row = row.u8(0);
    }
    bytes.u32(row.0.len() as u32).raw(&row.0)
}

fn row_v3(bytes: Bytes, event: &FileEvent) -> Bytes {
    let row = Bytes::new().u32(event.metadata).u32(event.thread as u32).u64(event.time);
    let row = row.raw(&event.activity).raw(&event.related_activity);
    let row = row.u32(event.payload.len() as u32).raw(&event.payload).u32(8 * event.addresses.len() as u32);
    let mut row = event.addresses.iter().fold(row, |row, address| row.u64(*address));
    while row.0.len() % 4 != 0 {
        row = row.u8(0);
    }
    bytes.u32(row.0.len() as u32).raw(&row.0)
}

/// Event description.
#[derive(Clone, Debug, Default)]
pub struct FileMetadata {
    pub id: u32,
    pub provider: String,
    pub event_id: u32,
    pub name: String,
    pub keywords: u64,
    pub version: u32,
    pub level: u32,
    /// Fields in the version's form, without their count.
    pub fields: Vec<Bytes>,
    /// Tags after the fields, with their frames (up to version 5). Optional metadata without its size (version 6).
    pub tags: Bytes,
}

impl FileMetadata {
    /// Describes an event of the provider `Tests`. Its event number equals `id`.
    pub fn new(id: u32, name: &str, fields: impl IntoIterator<Item = Bytes>) -> Self {
        let fields = fields.into_iter().collect();
        let (provider, name) = ("Tests".to_owned(), name.to_owned());
        Self { id, provider, event_id: id, name, level: 4, fields, ..Self::default() }
    }

    /// Returns the bytes before the fields (up to version 5).
    pub fn v5_head(&self) -> Bytes {
        let head = Bytes::new().u32(self.id).utf16(&self.provider).u32(self.event_id).utf16(&self.name);
        head.u64(self.keywords).u32(self.version).u32(self.level)
    }

    /// Returns the description for versions 3 to 5.
    pub fn v5(&self) -> Bytes {
        self.v5_head().u32(self.fields.len() as u32).all(self.fields.iter().cloned()).raw(&self.tags.0)
    }

    /// Returns the description for version 6, without the row size.
    pub fn v6(&self) -> Bytes {
        let head = Bytes::new().var(self.id.into()).text(&self.provider).var(self.event_id.into());
        let fields = head.text(&self.name).u16(self.fields.len() as u16);
        let sized = self.fields.iter().map(|field| Bytes::new().sized(field.clone()));
        let tags = self.tags.clone().u8(8).u8(self.level as u8).u8(9).u8(self.version as u8);
        fields.all(sized).sized(tags.u8(3).u64(self.keywords))
    }
}

/// Returns a field for versions up to 5: type, then name.
pub fn field_v5(code: u32, name: &str) -> Bytes {
    Bytes::new().u32(code).utf16(name)
}

/// Returns a field for version 6: name, then type.
pub fn field_v6(name: &str, kind: &[u8]) -> Bytes {
    Bytes::new().text(name).raw(kind)
}

/// Returns a field with a simple type code.
pub fn field(form: FileVersion, code: u8, name: &str) -> Bytes {
    if form == FileVersion::V6 { field_v6(name, &[code]) } else { field_v5(code.into(), name) }
}

/// Returns a metadata tag (version 5).
pub fn tag_v5(kind: u8, content: Bytes) -> Bytes {
    Bytes::new().u32(content.0.len() as u32).u8(kind).raw(&content.0)
}

/// Returns a field for the tag `V2Params`: length, name, then type.
pub fn field_v2(name: &str, kind: Bytes) -> Bytes {
    let field = Bytes::new().utf16(name).raw(&kind.0);
    Bytes::new().u32(4 + field.0.len() as u32).raw(&field.0)
}
