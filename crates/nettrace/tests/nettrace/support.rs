//! Test helpers: recorded files, and copies of events for comparisons.

use std::path::{Path, PathBuf};

use ichnos_io::{Bytes, IoLimits, Tree};
use ichnos_model::class::{EventRecordClass, FieldKind, IntegerProperties, Uuid, Value, VariableLengthValue};
use ichnos_model::field::{Field, Real, Text};
use ichnos_model::{Event, Message, OpenedTrace, Scope, Visitor, Window};
use ichnos_nettrace::{BlockKind, Container, FileItem, NettraceFile, NettraceOptions, TraceBlock, Version};

/// Returns the bytes of a file, decompressed if necessary.
pub fn bytes_of(path: &Path) -> Bytes {
    let tree = Tree::open(path, &IoLimits::default()).unwrap_or_else(|error| panic!("{error}"));
    let [entry] = &tree.entries[..] else { panic!("{}: expected one file", path.display()) };
    entry.read().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the path of a file with this name, possibly with the extension of a compressed file.
pub fn find(traces: &Path, name: &str) -> PathBuf {
    let folders = ["perfview", "dotnetdiag", "runtime"];
    let paths = folders.iter().flat_map(|folder| {
        [name.to_owned(), format!("{name}.zst")].map(|name| traces.join(folder).join(name))
    });
    paths.into_iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("{name}: there is no such file"))
}

/// File, and the contents of its trace block.
pub struct Opened {
    pub file: NettraceFile,
    pub block: TraceBlock,
    pub is_v3: bool,
}

impl Opened {
    pub fn new(path: &Path) -> Self {
        Self::with(path, &NettraceOptions::default())
    }

    pub fn with(path: &Path, options: &NettraceOptions) -> Self {
        Self::of_bytes(&path.to_string_lossy(), bytes_of(path), options)
    }

    pub fn of_bytes(name: &str, bytes: Bytes, options: &NettraceOptions) -> Self {
        let mut container = Container::open(&bytes, true).unwrap().unwrap();
        let block = loop {
            match container.next(&bytes, 0, true) {
                FileItem::Block(block) if block.kind == BlockKind::Trace => {
                    let content = &bytes[block.content.start as usize..block.content.end as usize];
                    break TraceBlock::read(content, container.version()).unwrap();
                }
                FileItem::Block(_) | FileItem::Fault(_) => {}
                FileItem::More | FileItem::End => panic!("{name}: no trace block"),
            }
        };
        let file = NettraceFile::open(name, bytes, options).unwrap();
        Self { file, block, is_v3: container.version() == Version::V3 }
    }

    /// Opens a file. Returns `None` if it ends within its trace block.
    pub fn try_of_bytes(name: &str, bytes: Vec<u8>) -> Option<Self> {
        NettraceFile::open(name, bytes.clone().into(), &NettraceOptions::default()).ok()?;
        Some(Self::of_bytes(name, bytes.into(), &NettraceOptions::default()))
    }

    /// Passes all messages to a function.
    pub fn each(&self, mut take: impl FnMut(&Message<'_>)) {
        for mut cursor in self.file.cursors(Window::default()) {
            while cursor.advance() {
                take(&cursor.current().expect("a message"));
            }
        }
    }

    /// Returns the time of an event in ticks since the start of the session.
    pub fn since_begin(&self, event: &Event<'_>) -> i128 {
        i128::from(event.clock.expect("a time").cycles) - i128::from(self.block.sync_ticks)
    }
}

/// Returns a property from the class of an event, in the namespace `nettrace`.
pub fn property<'c>(class: &'c EventRecordClass, name: &str) -> Option<&'c Value> {
    class.attributes.get("nettrace")?.get(name)
}

/// Copy of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    Integer(Integer),
    Boolean(bool),
    /// The number. `true` for 32 bits.
    Real(f64, bool),
    Text(String),
    Blob(Vec<u8>),
    Guid(Uuid),
    Structure(Vec<(String, Shown)>),
    Array(Vec<Shown>),
}

/// Copy of an integer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Integer {
    pub value: i128,
    /// Number of bits; 64 for variable length.
    pub bits: u64,
    /// Name of the value.
    pub name: Option<String>,
    /// Names of the set bits, if bits have names.
    pub flags: Option<Vec<String>>,
    /// Nanoseconds since 1970, for dates.
    pub date: Option<i128>,
}

impl Shown {
    pub fn integer(&self) -> Option<&Integer> {
        match self {
            Self::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Structure(members) => members,
            _ => &[],
        }
    }

    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }

    /// Returns the member with this name.
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|member| member.0 == name).map(|member| &member.1)
    }
}

/// Returns the fields in a scope of an event.
pub fn fields(event: &Event<'_>, scope: Scope) -> Vec<(String, Shown)> {
    let mut copy = Copy { open: vec![(String::new(), Shown::Structure(Vec::new()))], optional: None };
    event.visit(scope, &mut copy).unwrap();
    let Some((_, Shown::Structure(mut members))) = copy.open.pop() else { panic!("a structure") };
    // The scope itself is an unnamed structure.
    match members.pop() {
        Some((_, Shown::Structure(members))) => members,
        None => Vec::new(),
        other => panic!("{other:?}"),
    }
}

/// Copies fields.
struct Copy {
    open: Vec<(String, Shown)>,
    /// Name of the current optional field. The field in it is unnamed.
    optional: Option<String>,
}

impl Copy {
    fn add(&mut self, name: Option<&str>, value: Shown) {
        let optional = self.optional.take();
        let name = optional.as_deref().or(name);
        match &mut self.open.last_mut().expect("something open").1 {
            Shown::Structure(members) => members.push((name.unwrap_or_default().to_owned(), value)),
            Shown::Array(elements) => elements.push(value),
            other => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, field: Field<'_>, value: Shown) {
        let name = self.optional.take().or_else(|| field.name().map(str::to_owned));
        self.open.push((name.unwrap_or_default(), value));
    }

    fn end(&mut self) {
        let (name, value) = self.open.pop().expect("something open");
        self.add(Some(&name), value);
    }

    fn integer(&mut self, field: Field<'_>, value: i128) {
        let (bits, properties): (u64, Option<&IntegerProperties>) = match &field.class().kind {
            FieldKind::Integer { bits, integer } => (bits.length, Some(integer)),
            FieldKind::VariableLength { value: VariableLengthValue::Integer(integer), .. } => {
                (64, Some(integer))
            }
            FieldKind::BitMap { bits, .. } => (bits.length, None),
            _ => (64, None),
        };
        let flags = match &field.class().kind {
            FieldKind::BitMap { flags, .. } => Some(
                (0..bits)
                    .filter(|bit| value >> bit & 1 == 1)
                    .flat_map(|bit| flags.names_of(bit.into()).map(str::to_owned).collect::<Vec<_>>())
                    .collect(),
            ),
            _ => None,
        };
        let name = properties
            .and_then(|properties| properties.mappings.as_ref())
            .and_then(|mappings| mappings.names_of(value).next().map(str::to_owned));
        let date = properties
            .and_then(|properties| properties.wall_clock)
            .and_then(|clock| clock.nanoseconds(value));
        self.add(field.name(), Shown::Integer(Integer { value, bits, name, flags, date }));
    }
}

impl Visitor for Copy {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.integer(field, value.into());
    }

    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.integer(field, value.into());
    }

    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.add(field.name(), Shown::Boolean(value));
    }

    fn bit_map(&mut self, field: Field<'_>, bits: u64) {
        self.integer(field, bits.into());
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        self.add(field.name(), Shown::Real(value.to_f64(), matches!(value, Real::Single(_))));
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.add(field.name(), Shown::Text(value.to_str_lossy().into_owned()));
    }

    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.add(field.name(), Shown::Blob(bytes.to_vec()));
    }

    fn guid(&mut self, field: Field<'_>, value: Uuid) {
        self.add(field.name(), Shown::Guid(value));
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        self.begin(field, Shown::Structure(Vec::new()));
    }

    fn end_structure(&mut self, _: Field<'_>) {
        self.end();
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        self.optional = present.then(|| field.name().unwrap_or_default().to_owned());
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.begin(field, Shown::Array(Vec::new()));
    }

    fn end_array(&mut self, _: Field<'_>) {
        self.end();
    }
}
