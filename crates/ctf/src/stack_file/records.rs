//! Lines of a call stack file.

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use ichnos_json::read::{Error, Raw, Reader};
use ichnos_model::{CodeKind, Frame, Symbol, TextPosition};

/// Values of the member `type`.
pub(super) mod kind {
    pub(crate) const HEAD: &str = "call-stacks";
    pub(crate) const FRAME: &str = "frame";
    pub(crate) const STACK: &str = "stack";
    pub(crate) const SYMBOL: &str = "symbol";
    pub(crate) const THREAD: &str = "thread";
    pub(crate) const END: &str = "end";
}

/// Member with the kind of the line.
pub(super) const TYPE: &str = "type";

/// Member of the first line.
pub(super) const CLASSES: &str = "data_stream_classes";

/// Version of the lines that this reader knows.
pub(super) const VERSION: u64 = 1;

/// Maximum number of members of a line. Known lines have fewer.
const MOST_MEMBERS: usize = 32;

/// Approximate memory of the content of a line in bytes. A text also takes its own bytes.
const TEXT_MEMORY: u64 = 64;
pub(super) const FRAME_MEMORY: u64 = 192;
pub(super) const STACK_MEMORY: u64 = 48;
const SYMBOL_MEMORY: u64 = 320;
pub(super) const CLASS_MEMORY: u64 = 64;
const THREAD_MEMORY: u64 = 128;

/// Names of the kinds of code. Unknown code has no name.
const CODE_KINDS: [(CodeKind, &str); 3] =
    [(CodeKind::Native, "native"), (CodeKind::Managed, "managed"), (CodeKind::Kernel, "kernel")];

/// Returns the name of a kind of code.
pub(super) fn name_of_code(code: CodeKind) -> Option<&'static str> {
    CODE_KINDS.iter().find(|(kind, _)| *kind == code).map(|(_, name)| *name)
}

/// Reason why parts of a stack file are not used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StackFileError {
    #[error("the call stacks cannot be read: {0}")]
    Unreadable(String),
    /// The first line is not that of a stack file.
    #[error("this is not a file of call stacks: skipped")]
    Head,
    #[error("skipped call stacks of the unknown version {0}")]
    Version(u64),
    /// A line is not as it must be.
    #[error("the call stacks are damaged, expected {expected}; the rest is skipped")]
    Malformed { position: TextPosition, expected: String },
    /// The last line is missing.
    #[error("the call stacks are truncated; the rest is missing")]
    CutOff,
    /// The content would take more memory than this, in bytes.
    #[error("the call stacks take more than {0} bytes of memory, the limit; the rest is skipped")]
    TooLarge(u64),
    /// The file of another directory of the trace has different stacks for the same numbers.
    #[error("the directories of the trace have different call stacks of the same numbers; all are skipped")]
    Conflict,
}

impl StackFileError {
    /// Position in the file, if the problem has one.
    pub(crate) fn position(&self) -> TextPosition {
        match self {
            Self::Malformed { position, .. } => *position,
            _ => TextPosition::default(),
        }
    }
}

/// Problem of a line.
enum LineFault {
    Json(Error),
    /// A member is missing or has a wrong value: its name, and the offset in the line.
    Member(&'static str, usize),
    TooLarge,
}

impl From<Error> for LineFault {
    fn from(error: Error) -> Self {
        Self::Json(error)
    }
}

type Parsed<T> = Result<T, LineFault>;

/// Content of a line.
pub(super) enum StackRecord {
    /// Frame of later stacks.
    Frame,
    Stack {
        number: u32,
        caller: Option<u32>,
        frame: Frame,
    },
    /// Address space and symbol.
    Symbol(u32, Symbol),
    /// Process, if known, and thread, with the thread's name.
    Thread((Option<u64>, u64), Arc<str>),
}

/// Reads the lines of a stack file.
pub(super) struct StackRecords<'b> {
    bytes: &'b [u8],
    /// Offset of the line that was read last.
    begin: usize,
    /// Offset of the next line.
    at: usize,
    /// Number of the line that was read last, from 1 on.
    number: u32,
    line: LineMembers<'b>,
    /// Ids of the data stream classes of the stacks. Empty: all classes.
    pub(super) classes: Vec<u128>,
    texts: HashSet<Arc<str>>,
    frames: Vec<Frame>,
    stacks: u32,
    memory: u64,
    /// Memory left, in bytes.
    pub(super) left: u64,
}

impl<'b> StackRecords<'b> {
    /// Reads the first line.
    pub(super) fn new(bytes: &'b [u8], memory: u64) -> Result<Self, StackFileError> {
        let mut records = Self {
            bytes,
            begin: 0,
            at: 0,
            number: 0,
            line: LineMembers::default(),
            classes: Vec::new(),
            texts: HashSet::new(),
            frames: Vec::new(),
            stacks: 0,
            memory,
            left: memory,
        };
        let line = records.next_line().ok_or(StackFileError::Head)?;
        if !records.line.read(line).is_ok_and(|found| found.is(kind::HEAD)) {
            return Err(StackFileError::Head);
        }
        match records.head() {
            Ok(VERSION) => Ok(records),
            Ok(version) => Err(StackFileError::Version(version)),
            Err(fault) => Err(records.error(fault)),
        }
    }

    /// Returns the next record, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<StackRecord>, StackFileError> {
        let line = self.next_line().ok_or(StackFileError::CutOff)?;
        self.record(line).map_err(|fault| self.error(fault))
    }

    /// Returns the error that a member of the last line has a wrong value.
    pub(super) fn malformed(&self, name: &'static str) -> StackFileError {
        self.error(self.line.fault(name))
    }

    /// Returns the next line without its line feed. The text after the last line feed is not a line.
    fn next_line(&mut self) -> Option<&'b [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest)?)?;
        (self.begin, self.at) = (self.at, self.at + line.len() + 1);
        self.number = self.number.saturating_add(1);
        Some(line)
    }

    fn error(&self, fault: LineFault) -> StackFileError {
        let (offset, expected) = match fault {
            LineFault::Json(error) => (error.offset, error.kind.expected().to_owned()),
            LineFault::Member(name, offset) => (offset, format!("a valid `{name}`")),
            LineFault::TooLarge => return StackFileError::TooLarge(self.memory),
        };
        let column = u32::try_from(offset + 1).unwrap_or(u32::MAX);
        let offset = (self.begin + offset) as u64;
        StackFileError::Malformed { position: TextPosition { line: self.number, column, offset }, expected }
    }

    fn charge(&mut self, memory: u64) -> Parsed<()> {
        self.left = self.left.checked_sub(memory).ok_or(LineFault::TooLarge)?;
        Ok(())
    }

    /// Reads the data stream classes of the first line. Returns its version.
    fn head(&mut self) -> Parsed<u64> {
        if let Some(mut json) = self.line.get(CLASSES) {
            let mut is_first = true;
            json.expect(b'[', "an array")?;
            while json.element(&mut is_first)? {
                self.charge(CLASS_MEMORY)?;
                let id = json.number()?.parse();
                self.classes.push(id.map_err(|_| LineFault::Member(CLASSES, json.offset()))?);
            }
        }
        self.line.needed_number("version")
    }

    fn record(&mut self, line: &'b [u8]) -> Parsed<Option<StackRecord>> {
        let (record, memory) = match &*self.line.read(line)?.text() {
            kind::FRAME => (self.frame()?, FRAME_MEMORY),
            kind::STACK => (self.stack()?, STACK_MEMORY),
            kind::SYMBOL => (self.symbol()?, SYMBOL_MEMORY),
            kind::THREAD => (self.thread()?, THREAD_MEMORY),
            kind::END => return Ok(None),
            _ => return Err(self.line.fault(TYPE)),
        };
        self.charge(memory)?;
        Ok(Some(record))
    }

    fn frame(&mut self) -> Parsed<StackRecord> {
        if self.line.needed_number::<usize>("frame")? != self.frames.len() {
            return Err(self.line.fault("frame"));
        }
        let mut frame = Frame::default().in_space(self.address_space()?);
        frame.address = self.line.number("address")?;
        frame.symbol = self.text("symbol")?;
        frame.module = self.text("module")?;
        self.frames.push(frame);
        Ok(StackRecord::Frame)
    }

    fn stack(&mut self) -> Parsed<StackRecord> {
        let number: u32 = self.line.needed_number("stack")?;
        if number != self.stacks {
            return Err(self.line.fault("stack"));
        }
        let frame = self.frames.get(self.line.needed_number::<usize>("frame")?);
        let frame = frame.ok_or_else(|| self.line.fault("frame"))?.clone();
        let caller: Option<u32> = self.line.number("caller")?;
        if caller.is_some_and(|caller| caller >= number) {
            return Err(self.line.fault("caller"));
        }
        self.stacks = number.checked_add(1).ok_or_else(|| self.line.fault("stack"))?;
        Ok(StackRecord::Stack { number, caller, frame })
    }

    fn symbol(&mut self) -> Parsed<StackRecord> {
        let kind = match self.line.string("kind")? {
            None => CodeKind::Unknown,
            Some(name) => {
                let known = CODE_KINDS.iter().find(|(_, known)| name.is(known));
                known.ok_or_else(|| self.line.fault("kind"))?.0
            }
        };
        let begin: u64 = self.line.needed_number("begin")?;
        let end: u64 = self.line.needed_number("end")?;
        if end < begin {
            return Err(self.line.fault("end"));
        }
        let symbol = Symbol {
            begin,
            end,
            from: self.line.number("from")?.unwrap_or(i128::MIN),
            until: self.line.number("until")?,
            name: self.text("name")?,
            module: self.text("module")?,
            kind,
        };
        Ok(StackRecord::Symbol(self.address_space()?, symbol))
    }

    fn thread(&mut self) -> Parsed<StackRecord> {
        let thread = (self.line.number("process")?, self.line.needed_number("thread")?);
        let name = self.text("name")?.ok_or_else(|| self.line.fault("name"))?;
        Ok(StackRecord::Thread(thread, name))
    }

    /// Returns the address space of a line. A single address space is not written.
    fn address_space(&self) -> Parsed<u32> {
        Ok(self.line.number("address_space")?.unwrap_or(0))
    }

    /// Returns the text of a member. Equal texts share their memory.
    fn text(&mut self, name: &'static str) -> Parsed<Option<Arc<str>>> {
        let Some(raw) = self.line.string(name)? else { return Ok(None) };
        if raw.plain().is_none() && raw.as_written().len() as u64 > self.left {
            // Resolving its escapes makes a copy.
            return Err(LineFault::TooLarge);
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

/// LineMembers of a line. Unknown members are ignored.
#[derive(Default)]
struct LineMembers<'b> {
    /// Length of the line in bytes.
    length: usize,
    /// Names, and readers at the values.
    all: Vec<(Raw<'b>, Reader<'b, [u8]>)>,
}

impl<'b> LineMembers<'b> {
    /// Reads a line. Returns its kind.
    fn read(&mut self, line: &'b [u8]) -> Parsed<Raw<'b>> {
        self.length = line.len();
        self.all.clear();
        let mut json = Reader::new(line);
        let mut is_first = true;
        json.expect(b'{', "an object")?;
        while let Some(name) = json.key(&mut is_first)? {
            if self.all.len() == MOST_MEMBERS {
                return Ok(json.error("fewer members")?);
            }
            self.all.push((name, json.clone()));
            json.skip()?;
        }
        if json.peek().is_some() {
            return Ok(json.error("the end of the line")?);
        }
        self.string(TYPE)?.ok_or_else(|| self.fault(TYPE))
    }

    /// Returns a reader at the value of a member.
    fn get(&self, name: &str) -> Option<Reader<'b, [u8]>> {
        self.all.iter().find(|(other, _)| other.is(name)).map(|(_, json)| json.clone())
    }

    /// Returns the fault that a member is missing, or has a wrong value.
    fn fault(&self, name: &'static str) -> LineFault {
        LineFault::Member(name, self.get(name).map_or(self.length, |json| json.offset()))
    }

    fn string(&self, name: &'static str) -> Parsed<Option<Raw<'b>>> {
        Ok(self.get(name).map(|mut json| json.string()).transpose()?)
    }

    fn number<N: FromStr>(&self, name: &'static str) -> Parsed<Option<N>> {
        let Some(mut json) = self.get(name) else { return Ok(None) };
        let number = json.number()?.parse();
        number.map(Some).map_err(|_| self.fault(name))
    }

    fn needed_number<N: FromStr>(&self, name: &'static str) -> Parsed<N> {
        self.number(name)?.ok_or_else(|| self.fault(name))
    }
}
