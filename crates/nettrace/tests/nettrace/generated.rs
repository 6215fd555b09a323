//! Random files in all versions and with all their features: all kinds of descriptions, threads, stacks, labels,
//! losses.

use ichnos_testing::Random;

use crate::builder::{Bytes, Event, File, Form, Metadata, Trace, field_v2, field_v6, kind, tag_v5};
use crate::order::random_phase;

/// Field type.
#[derive(Clone, Debug)]
enum RandomType {
    /// Code of a type without parts.
    Scalar(u8),
    Object(Vec<(String, RandomType)>),
    Array(Box<RandomType>),
    /// Version 6.
    Fixed(Box<RandomType>, u16),
}

impl RandomType {
    /// Creates a type. With `arrays`, it may contain arrays.
    fn random(random: &mut Random, form: Form, arrays: bool, depth: u32) -> Self {
        let inner = |random: &mut Random| Box::new(Self::random(random, form, arrays, depth + 1));
        match random.below(if depth < 3 { 10 } else { 1 }) {
            7 if arrays => Self::Array(inner(random)),
            8 if arrays && form == Form::V6 => Self::Fixed(inner(random), random.below(4) as u16),
            7..=9 => {
                let members = 0..1 + random.below(3);
                Self::Object(members.map(|index| (format!("m{index}"), *inner(random))).collect())
            }
            _ => Self::Scalar(match random.percent(30) && form == Form::V6 {
                true => random.pick(&[20, 21, 23, 26]),
                false => random.pick(&[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]),
            }),
        }
    }

    /// Returns the description up to version 5, in the field list.
    fn v1(&self) -> Bytes {
        match self {
            Self::Object(members) => {
                let head = Bytes::new().u32(1).u32(members.len() as u32);
                head.all(members.iter().map(|(name, kind)| kind.v1().utf16(name)))
            }
            Self::Scalar(code) => Bytes::new().u32((*code).into()),
            Self::Array(_) | Self::Fixed(..) => unreachable!("the list has no arrays"),
        }
    }

    /// Returns the description up to version 5, in the tag.
    fn v2(&self) -> Bytes {
        match self {
            Self::Object(members) => {
                let head = Bytes::new().u32(1).u32(members.len() as u32);
                head.all(members.iter().map(|(name, kind)| field_v2(name, kind.v2())))
            }
            Self::Scalar(code) => Bytes::new().u32((*code).into()),
            Self::Array(element) | Self::Fixed(element, _) => Bytes::new().u32(19).raw(&element.v2().0),
        }
    }

    fn v6(&self) -> Bytes {
        match self {
            Self::Object(members) => {
                let head = Bytes::new().u8(1).u16(members.len() as u16);
                head.all(members.iter().map(|(name, kind)| Bytes::new().sized(field_v6(name, &kind.v6().0))))
            }
            Self::Scalar(code) => Bytes::new().u8(*code),
            Self::Array(element) => Bytes::new().u8(19).raw(&element.v6().0),
            Self::Fixed(element, count) => Bytes::new().u8(22).raw(&element.v6().0).u16(*count),
        }
    }

    /// Appends a value.
    fn value(&self, random: &mut Random, bytes: Bytes) -> Bytes {
        match self {
            Self::Object(members) => members.iter().fold(bytes, |bytes, (_, kind)| kind.value(random, bytes)),
            Self::Array(element) => {
                let count = random.below(4) as u16;
                (0..count).fold(bytes.u16(count), |bytes, _| element.value(random, bytes))
            }
            Self::Fixed(element, count) => (0..*count).fold(bytes, |bytes, _| element.value(random, bytes)),
            Self::Scalar(3) => bytes.u32(random.below(3) as u32),
            Self::Scalar(5 | 6 | 26) => bytes.u8(random.byte()),
            Self::Scalar(4 | 7 | 8) => bytes.u16(random.number() as u16),
            Self::Scalar(9 | 10 | 13) => bytes.u32(random.number() as u32),
            Self::Scalar(15 | 17) => bytes.raw(&random.bytes(16)),
            Self::Scalar(18) => bytes.utf16(random.pick(&["", "text", "gr\u{fc}ezi \u{1d11e}"])),
            Self::Scalar(20 | 21) => {
                let shift = random.below(64);
                bytes.var(random.number() >> shift)
            }
            Self::Scalar(23) => bytes.u8(b'a' + random.below(26) as u8),
            Self::Scalar(_) => bytes.u64(random.number()),
        }
    }
}

/// Event kind: its description, and its field types.
struct RandomEvent {
    metadata: Metadata,
    /// `None` for an undescribed payload.
    kinds: Option<Vec<RandomType>>,
}

impl RandomEvent {
    fn random(random: &mut Random, form: Form, number: u32) -> Self {
        let name = random.pick(&["Request/Start", "Request/Stop", "Step", "Number", ""]);
        let mut metadata = Metadata::new(0, name, []);
        // Some rows are equal except for their ids.
        metadata.event_id = 1 + number % 5;
        metadata.provider = random.pick(&["Tests", "Other-Provider", "Tests"]).to_owned();
        metadata.keywords = random.pick(&[0, 5, u64::MAX, 0xf000_0000_0001]);
        (metadata.version, metadata.level) = (random.below(3) as u32, random.below(6) as u32);
        if random.is_one_in(8) {
            return Self { metadata, kinds: None };
        }
        let arrays = form == Form::V6 || form == Form::V4 && random.is_one_in(2);
        let kinds: Vec<RandomType> =
            (0..random.below(4)).map(|_| RandomType::random(random, form, arrays, 0)).collect();
        let fields = || kinds.iter().enumerate().map(|(index, kind)| (format!("f{index}"), kind));
        match form {
            Form::V6 => {
                metadata.fields = fields().map(|(name, kind)| field_v6(&name, &kind.v6().0)).collect();
                metadata.tags = optional_metadata(random);
            }
            _ if arrays => {
                let head = Bytes::new().u32(kinds.len() as u32);
                metadata.tags = tag_v5(2, head.all(fields().map(|(name, kind)| field_v2(&name, kind.v2()))));
            }
            _ => metadata.fields = fields().map(|(name, kind)| kind.v1().utf16(&name)).collect(),
        }
        if form == Form::V4 && random.is_one_in(3) {
            let opcode = tag_v5(1, Bytes::new().u8(random.below(11) as u8));
            metadata.tags = metadata.tags.raw(&opcode.0);
        }
        Self { metadata, kinds: Some(kinds) }
    }

    fn payload(&self, random: &mut Random) -> Vec<u8> {
        let Some(kinds) = &self.kinds else {
            let length = random.index(20);
            return random.bytes(length);
        };
        kinds.iter().fold(Bytes::new(), |bytes, kind| kind.value(random, bytes)).0
    }
}

/// Returns optional parts of a version 6 row.
fn optional_metadata(random: &mut Random) -> Bytes {
    let parts = [
        Bytes::new().u8(1).u8(random.below(11) as u8),
        Bytes::new().u8(4).text("{f0} of {f1}"),
        Bytes::new().u8(5).text("a description"),
        Bytes::new().u8(6).text("key").text("value"),
        Bytes::new().u8(7).raw(&random.bytes(16)),
    ];
    Bytes::new().all(parts.into_iter().filter(|_| random.is_one_in(4)))
}

/// Returns a version 6 label list.
fn labels(random: &mut Random) -> Bytes {
    let count = 1 + random.below(3);
    (0..count).fold(Bytes::new(), |bytes, index| {
        let last = if index + 1 == count { 0x80 } else { 0 };
        let number = random.number();
        match 1 + random.below(10) as u8 {
            kind @ 1..=3 => bytes.u8(kind | last).raw(&[1 + random.below(5) as u8; 16]),
            4 => bytes.u8(4 | last).u64(1 + random.below(9)),
            5 => bytes.u8(5 | last).text("key").text(random.pick(&["", "value", "7"])),
            6 => bytes.u8(6 | last).text("number").var(number >> random.below(64)),
            8 => bytes.u8(8 | last).u64(number),
            10 => bytes.u8(10 | last).u8(random.below(3) as u8),
            kind => bytes.u8(kind | last).u8(random.below(6) as u8),
        }
    })
}

/// Writes a random file.
struct RandomWriter<'r> {
    random: &'r mut Random,
    file: File,
    kinds: Vec<RandomEvent>,
    /// Ids of the event kinds, one per row.
    ids: Vec<u32>,
    threads: u64,
    /// Thread indexes in version 6, otherwise thread ids.
    indexes: Vec<u64>,
    /// Sequence number of each thread's last event.
    sequences: Vec<u32>,
    next_stack: u32,
    next_labels: u32,
}

impl RandomWriter<'_> {
    /// Describes all event kinds, with new ids.
    fn write_metadata(&mut self) {
        let Self { random, kinds, ids, .. } = self;
        let first = 1 + random.below(300) as u32;
        ids.clear();
        let rows: Vec<Metadata> = kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                let id = first + 7 * index as u32;
                ids.push(id);
                Metadata { id, ..kind.metadata.clone() }
            })
            .collect();
        for rows in rows.chunks(3) {
            self.file.metadata(rows);
        }
    }

    /// Describes all threads in version 6, with new indexes.
    fn write_threads(&mut self) {
        let first = self.random.below(1_000);
        for thread in 0..self.threads {
            let index = if self.file.form == Form::V6 { first + 3 * thread } else { thread };
            self.indexes[thread as usize] = index;
            self.write_thread(index, thread);
        }
    }

    fn write_thread(&mut self, index: u64, thread: u64) {
        if self.file.form != Form::V6 {
            return;
        }
        let mut row = Bytes::new().var(index);
        if self.random.is_one_in(2) {
            row = row.u8(1).text(self.random.pick(&["main", "worker", ""]));
        }
        if self.random.is_one_in(2) {
            row = row.u8(2).var(self.random.pick(&[77, 78, 1 << 40]));
        }
        row = row.u8(3).var(thread);
        if self.random.is_one_in(5) {
            row = row.u8(4).text("property").text("value");
        }
        self.file.block(kind::THREAD, &Bytes::new().sized(row).0);
    }

    /// Removes a version 6 thread, and may lose some of its last events. Another thread gets its index.
    fn remove_thread(&mut self) {
        let thread = self.random.index(self.indexes.len());
        let lost = self.random.below(2) as u32;
        let (index, sequence) = (self.indexes[thread], self.sequences[thread] + lost);
        self.file.block(kind::REMOVE_THREAD, &Bytes::new().var(index).var(sequence.into()).0);
        self.sequences[thread] = 0;
        self.write_thread(index, thread as u64);
    }

    /// Writes some stacks and label lists for the events in the phase.
    fn write_tables(&mut self) -> (u32, u32) {
        let Self { random, file, next_stack, next_labels, .. } = self;
        let (stacks, lists) = (1 + random.below(4) as u32, random.below(4) as u32);
        let addresses: Vec<Vec<u64>> =
            (0..stacks).map(|_| (0..random.below(5)).map(|_| 1 + random.below(9)).collect()).collect();
        let slices: Vec<&[u64]> = addresses.iter().map(Vec::as_slice).collect();
        file.stacks(*next_stack, &slices);
        *next_stack += stacks;
        if file.form != Form::V6 || lists == 0 {
            return (stacks, 0);
        }
        let content = Bytes::new().u32(*next_labels).u32(lists);
        file.block(kind::LABEL_LIST, &content.all((0..lists).map(|_| labels(random))).0);
        *next_labels += lists;
        (stacks, lists)
    }

    /// Adds the missing parts of the events in a phase.
    fn fill(&mut self, events: &mut [Event], (stacks, lists): (u32, u32)) {
        let Self { random, file, kinds, ids, threads, indexes, sequences, .. } = self;
        for event in events {
            let capture = event.capture_thread as usize;
            let lost = if random.is_one_in(20) { random.below(4) as u32 } else { 0 };
            sequences[capture] += 1 + lost;
            event.sequence = sequences[capture];
            let about = if random.is_one_in(9) { random.below(*threads) as usize } else { capture };
            (event.capture_thread, event.thread) = (indexes[capture], indexes[about]);
            event.processor = random.pick(&[0, 1, 300, u32::MAX]);
            let kind = random.index(kinds.len());
            (event.metadata, event.payload) = (ids[kind], kinds[kind].payload(random));
            match file.form {
                Form::V3 => event.addresses = (0..random.below(4)).map(|_| 1 + random.below(9)).collect(),
                // 0 means without a stack.
                _ => {
                    event.stack = random.below(1 + u64::from(stacks)) as u32;
                    event.stack += if event.stack > 0 { self.next_stack - stacks - 1 } else { 0 };
                }
            }
            if lists > 0 && random.is_one_in(2) {
                event.labels = self.next_labels - 1 - random.below(lists.into()) as u32;
            }
            if file.form != Form::V6 && random.is_one_in(3) {
                event.activity = [random.below(3) as u8; 16];
                event.related_activity = [random.below(2) as u8; 16];
            }
        }
    }

    /// Writes the sequence point after a phase.
    fn write_point(&mut self, phase: u64) {
        let Self { random, file, indexes, sequences, .. } = self;
        if file.form == Form::V3 {
            return;
        }
        let is_v6 = file.form == Form::V6;
        let mut listed = Vec::new();
        for (index, sequence) in indexes.iter().zip(sequences) {
            // Some of the thread's last events are lost.
            *sequence += if random.is_one_in(6) { random.below(3) as u32 } else { 0 };
            if *sequence > 0 || !is_v6 {
                listed.push((*index, *sequence));
            }
        }
        let flags = if is_v6 { random.below(4) as u32 } else { 0 };
        file.sequence_point(1_000 * phase + 600, flags, &listed);
        (self.next_stack, self.next_labels) = (1, 1);
        if flags & 1 != 0 {
            self.sequences.fill(0);
            self.write_threads();
        }
        if flags & 2 != 0 {
            self.write_metadata();
        }
    }
}

/// Shape of a random file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileShape {
    /// Maximum number of phases, each ended by a sequence point.
    pub(crate) phases: u64,
    /// Percentage of compressed event blocks.
    pub(crate) compressed: u64,
    /// `true` if some event kinds name functions.
    pub(crate) has_rundown: bool,
}

/// Writes a random file.
pub(crate) fn random_file(random: &mut Random, form: Form) -> Vec<u8> {
    random_file_of(random, form, FileShape { phases: 4, compressed: 50, has_rundown: false })
}

/// Writes a random file with this shape.
pub(crate) fn random_file_of(random: &mut Random, form: Form, shape: FileShape) -> Vec<u8> {
    let properties = if form == Form::V6 && random.is_one_in(2) { 1 } else { 0 };
    let properties = vec![("Key".to_owned(), "value".to_owned()); properties];
    let frequency = random.pick(&[1_000_000_000, 10_000_000, 3_124_099]);
    let file = File::with(form, &Trace { properties, frequency, ..Trace::default() });
    let threads = 1 + random.below(5);
    let kinds = (0..1 + random.below(8) as u32).map(|number| RandomEvent::random(random, form, number));
    let mut kinds: Vec<RandomEvent> = kinds.collect();
    if shape.has_rundown {
        kinds[0].metadata.provider = "Microsoft-Windows-DotNETRuntimeRundown".to_owned();
    }
    let mut writer = RandomWriter {
        random,
        file,
        kinds,
        ids: Vec::new(),
        threads,
        indexes: vec![0; threads as usize],
        sequences: vec![0; threads as usize],
        next_stack: 1,
        next_labels: 1,
    };
    writer.write_threads();
    writer.write_metadata();
    for phase in 0..1 + writer.random.below(shape.phases) {
        let mut events = random_phase(writer.random, threads, phase);
        let tables = if form == Form::V3 { (0, 0) } else { writer.write_tables() };
        writer.fill(&mut events, tables);
        let mut rest = &events[..];
        while !rest.is_empty() {
            let (block, behind) = rest.split_at(1 + writer.random.index(rest.len()));
            let compressed = writer.random.percent(shape.compressed);
            writer.file.events(compressed, block);
            rest = behind;
        }
        writer.write_point(phase);
        if form == Form::V6 && writer.random.is_one_in(2) {
            writer.remove_thread();
        }
    }
    writer.file.end()
}
