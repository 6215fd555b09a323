//! Lines in a call stack file.

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use ichnos_json::read::{self, Raw, Reader};
use ichnos_model::stack::{CodeKind, Frame, Symbol};
use ichnos_model::trace::TextPosition;

/// Line version that this reader supports.
pub(super) const VERSION: u64 = 1;

/// Maximum number of members in a line. Known lines have fewer.
const MOST_MEMBERS: usize = 32;

// Approximate memory in bytes of a text without its characters, and of each kind of line without its texts.
const TEXT_MEMORY: u64 = 64;
pub(super) const FRAME_MEMORY: u64 = 192;
pub(super) const STACK_MEMORY: u64 = 48;
const SYMBOL_MEMORY: u64 = 320;
pub(super) const CLASS_MEMORY: u64 = 64;
const THREAD_MEMORY: u64 = 128;

/// Code kinds and their names. Unknown code is not written.
pub(super) const CODE_KINDS: [(CodeKind, &str); 3] =
    [(CodeKind::Native, "native"), (CodeKind::Managed, "managed"), (CodeKind::Kernel, "kernel")];

/// Reason why parts of a stack file are not used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StackFileError {
    #[error("the call stacks cannot be read: {0}")]
    Unreadable(String),
    /// The first line is not a stack file header.
    #[error("this is not a call stack file: skipped")]
    Head,
    #[error("skipped call stacks with the unknown version {0}")]
    Version(u64),
    #[error("the call stacks are damaged, expected {expected}; the rest is skipped")]
    Malformed { position: TextPosition, expected: String },
    /// The last line is missing.
    #[error("the call stacks are truncated; the rest is missing")]
    CutOff,
    /// The content would exceed this memory limit in bytes.
    #[error("the call stacks take more than {0} bytes of memory, the limit; the rest is skipped")]
    TooLarge(u64),
    /// Another directory of the trace has a file with different stacks for the same numbers.
    #[error("the directories of the trace have different call stacks with the same numbers; all are skipped")]
    Conflict,
}

impl StackFileError {
    /// Position in the file, if known.
    pub(crate) fn position(&self) -> TextPosition {
        match self {
            Self::Malformed { position, .. } => *position,
            _ => TextPosition::default(),
        }
    }
}

type RecordResult<T> = Result<T, StackFileError>;

/// Line content.
pub(super) enum StackRecord {
    /// Frame for later stacks.
    Frame,
    Stack {
        number: u32,
        caller: Option<u32>,
        frame: Frame,
    },
    /// Address space and symbol.
    Symbol(u32, Symbol),
    /// Process if known, thread, and thread name.
    Thread((Option<u64>, u64), Arc<str>),
}

/// Reads the lines of a stack file.
#[derive(Default)]
pub(super) struct StackRecords<'b> {
    /// Unread bytes.
    rest: &'b [u8],
    line: StackLine<'b>,
    /// Data stream class ids of the stacks. Empty: all classes.
    pub(super) classes: Vec<u128>,
    texts: HashSet<Arc<str>>,
    frames: Vec<Frame>,
    stacks: u32,
    memory: u64,
    /// Remaining memory in bytes.
    pub(super) left: u64,
}

impl<'b> StackRecords<'b> {
    /// Reads the first line.
    pub(super) fn new(bytes: &'b [u8], memory: u64) -> RecordResult<Self> {
        let mut records = Self { rest: bytes, memory, left: memory, ..Self::default() };
        if !records.next_line().is_ok_and(|kind| kind.is("call-stacks")) {
            return Err(StackFileError::Head);
        }
        match records.line.needed_number::<u64>("version")? {
            VERSION => records.read_classes()?,
            version => return Err(StackFileError::Version(version)),
        }
        Ok(records)
    }

    /// Returns the next record, or `None` at the end.
    pub(super) fn next(&mut self) -> RecordResult<Option<StackRecord>> {
        let (record, memory) = match &*self.next_line()?.text() {
            "frame" => (self.frame()?, FRAME_MEMORY),
            "stack" => (self.stack()?, STACK_MEMORY),
            "symbol" => (self.symbol()?, SYMBOL_MEMORY),
            "thread" => (self.thread()?, THREAD_MEMORY),
            "end" => return Ok(None),
            _ => return Err(self.malformed("type")),
        };
        self.charge(memory)?;
        Ok(Some(record))
    }

    /// Returns the error for a missing or wrong member in the last line.
    pub(super) fn malformed(&self, name: &str) -> StackFileError {
        self.line.malformed(name)
    }

    /// Reads the next line. Returns its kind. Bytes after the last line feed are not a line.
    fn next_line(&mut self) -> RecordResult<Raw<'b>> {
        let length = memchr::memchr(b'\n', self.rest).ok_or(StackFileError::CutOff)?;
        let (line, rest) = self.rest.split_at(length);
        // The rest starts with the line feed.
        self.rest = rest.get(1..).unwrap_or_default();
        self.line.read(line)
    }

    fn charge(&mut self, memory: u64) -> RecordResult<()> {
        self.left = self.left.checked_sub(memory).ok_or(StackFileError::TooLarge(self.memory))?;
        Ok(())
    }

    fn read_classes(&mut self) -> RecordResult<()> {
        const NAME: &str = "data_stream_classes";
        let Some(mut json) = self.line.get(NAME) else { return Ok(()) };
        let mut is_first = true;
        json.expect(b'[', "an array").map_err(|_| self.malformed(NAME))?;
        while json.element(&mut is_first).is_ok_and(|has_next| has_next) {
            self.charge(CLASS_MEMORY)?;
            let id = json.number().ok().and_then(|id| id.parse().ok());
            self.classes.push(id.ok_or_else(|| self.malformed(NAME))?);
        }
        Ok(())
    }

    fn frame(&mut self) -> RecordResult<StackRecord> {
        if self.line.needed_number::<usize>("frame")? != self.frames.len() {
            return Err(self.malformed("frame"));
        }
        let mut frame = Frame::default().in_space(self.address_space()?);
        frame.address = self.line.number("address")?;
        frame.symbol = self.text("symbol")?;
        frame.module = self.text("module")?;
        self.frames.push(frame);
        Ok(StackRecord::Frame)
    }

    fn stack(&mut self) -> RecordResult<StackRecord> {
        let number: u32 = self.line.needed_number("stack")?;
        let next = number.checked_add(1).filter(|_| number == self.stacks);
        self.stacks = next.ok_or_else(|| self.malformed("stack"))?;
        let frame = self.frames.get(self.line.needed_number::<usize>("frame")?);
        let frame = frame.ok_or_else(|| self.malformed("frame"))?.clone();
        let caller: Option<u32> = self.line.number("caller")?;
        if caller.is_some_and(|caller| caller >= number) {
            return Err(self.malformed("caller"));
        }
        Ok(StackRecord::Stack { number, caller, frame })
    }

    fn symbol(&mut self) -> RecordResult<StackRecord> {
        let kind = match self.line.string("kind")? {
            None => CodeKind::Unknown,
            Some(name) => {
                let known = CODE_KINDS.iter().find(|(_, known)| name.is(known));
                known.ok_or_else(|| self.malformed("kind"))?.0
            }
        };
        let begin: u64 = self.line.needed_number("begin")?;
        let end: u64 = self.line.needed_number("end")?;
        if end < begin {
            return Err(self.malformed("end"));
        }
        let from = self.line.number("from")?.unwrap_or(i128::MIN);
        let until = self.line.number("until")?;
        let (name, module) = (self.text("name")?, self.text("module")?);
        let symbol = Symbol { begin, end, from, until, name, module, kind };
        Ok(StackRecord::Symbol(self.address_space()?, symbol))
    }

    fn thread(&mut self) -> RecordResult<StackRecord> {
        let thread = (self.line.number("process")?, self.line.needed_number("thread")?);
        let name = self.text("name")?.ok_or_else(|| self.malformed("name"))?;
        Ok(StackRecord::Thread(thread, name))
    }

    /// Returns the address space of a line. A single address space is not written.
    fn address_space(&self) -> RecordResult<u32> {
        Ok(self.line.number("address_space")?.unwrap_or(0))
    }

    /// Returns a text member. Equal texts share their memory.
    fn text(&mut self, name: &str) -> RecordResult<Option<Arc<str>>> {
        let Some(raw) = self.line.string(name)? else { return Ok(None) };
        if raw.plain().is_none() && raw.as_written().len() as u64 > self.left {
            // Unescaping makes a copy.
            return Err(StackFileError::TooLarge(self.memory));
        }
        let text = raw.text();
        if let Some(known) = self.texts.get(&*text) {
            return Ok(Some(Arc::clone(known)));
        }
        self.charge(TEXT_MEMORY.saturating_add(text.len() as u64))?;
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        Ok(Some(text))
    }
}

/// Members of a line. Unknown members are ignored.
#[derive(Default)]
struct StackLine<'b> {
    /// Line number, starting at 1.
    number: u32,
    /// Line offset in the file.
    offset: usize,
    /// Line length without the line feed.
    length: usize,
    /// Member names, and readers positioned at their values.
    members: Vec<(Raw<'b>, Reader<'b, [u8]>)>,
}

impl<'b> StackLine<'b> {
    /// Reads the line after this line. Returns its kind.
    fn read(&mut self, line: &'b [u8]) -> RecordResult<Raw<'b>> {
        self.offset += if self.number == 0 { 0 } else { self.length + 1 };
        self.number = self.number.saturating_add(1);
        self.length = line.len();
        self.members.clear();
        if let Err(error) = self.read_members(Reader::new(line)) {
            return Err(self.error(error.offset, error.kind.expected().to_owned()));
        }
        self.string("type")?.ok_or_else(|| self.malformed("type"))
    }

    fn read_members(&mut self, mut json: Reader<'b, [u8]>) -> read::Result<()> {
        let mut is_first = true;
        json.expect(b'{', "an object")?;
        while let Some(name) = json.key(&mut is_first)? {
            if self.members.len() == MOST_MEMBERS {
                return json.error("fewer members");
            }
            self.members.push((name, json.clone()));
            json.skip()?;
        }
        if json.peek().is_none() { Ok(()) } else { json.error("the end of the line") }
    }

    fn error(&self, offset: usize, expected: String) -> StackFileError {
        let column = u32::try_from(offset + 1).unwrap_or(u32::MAX);
        let position = TextPosition { line: self.number, column, offset: (self.offset + offset) as u64 };
        StackFileError::Malformed { position, expected }
    }

    /// Returns the error for a missing or wrong member.
    fn malformed(&self, name: &str) -> StackFileError {
        let offset = self.get(name).map_or(self.length, |json| json.offset());
        self.error(offset, format!("a valid `{name}`"))
    }

    /// Returns a reader positioned at a member's value.
    fn get(&self, name: &str) -> Option<Reader<'b, [u8]>> {
        self.members.iter().find(|(other, _)| other.is(name)).map(|(_, json)| json.clone())
    }

    fn string(&self, name: &str) -> RecordResult<Option<Raw<'b>>> {
        self.get(name).map(|mut json| json.string().map_err(|_| self.malformed(name))).transpose()
    }

    fn number<N: FromStr>(&self, name: &str) -> RecordResult<Option<N>> {
        let Some(mut json) = self.get(name) else { return Ok(None) };
        let number = json.number().ok().and_then(|number| number.parse().ok());
        number.map(Some).ok_or_else(|| self.malformed(name))
    }

    fn needed_number<N: FromStr>(&self, name: &str) -> RecordResult<N> {
        self.number(name)?.ok_or_else(|| self.malformed(name))
    }
}
