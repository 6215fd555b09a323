//! The container: from bytes to blocks, of all versions.
//!
//! Versions up to 5 are objects of the library FastSerialization, each with its type before it; version 6 has blocks
//! with a size and a kind. Both come out as [`Block`]s. Nothing is read from anywhere: [`Container::next`] looks at
//! the bytes that there are, and says when it needs more.

use std::ops::Range;

use memchr::memmem;

use crate::rule::{Fault, Rule};
use crate::wire::Wire;

/// The version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// `.netperf`: .NET Core 2.1, and newer runtimes if they are asked for it.
    V3,
    /// `.nettrace` since .NET Core 3.0. What is called version 5 is this with tags in its metadata.
    V4,
    /// What one-collect writes since 2025: major version 6, and this minor version.
    V6(u32),
}

/// What a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// What is known of the whole trace.
    Trace,
    /// Events.
    Event,
    /// Descriptions of events.
    Metadata,
    /// Call stacks.
    Stack,
    /// A barrier, with sequence numbers of threads.
    SequencePoint,
    /// Threads (version 6).
    Thread,
    /// Threads that are gone (version 6).
    RemoveThread,
    /// Lists of labels (version 6).
    LabelList,
    /// Something that this reader does not know.
    Unknown,
}

/// A block of a file. Offsets are in bytes from the begin of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it contains.
    pub kind: BlockKind,
    /// Where it begins.
    pub begin: u64,
    /// Where its content lies.
    pub content: Range<u64>,
    /// Whether all of its content is there.
    pub is_whole: bool,
}

/// What comes next in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A block.
    Block(Block),
    /// Something is wrong. The next step is behind it.
    Fault(Fault),
    /// More bytes are needed.
    More,
    /// The end of the file.
    End,
}

/// Why a file cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is something else.
    #[error("this is no EventPipe file: expected `Nettrace` or `!FastSerialization.1` at its begin")]
    NotNettrace,
    /// It is of a version that is too old.
    #[error(
        "EventPipe's format of version {0} is not supported: only previews of .NET Core 2 wrote it; record the trace \
         with .NET Core 2.1 or newer"
    )]
    TooOld(i32),
    /// It is of a version that is too new.
    #[error("EventPipe's format of version {0} is too new: this reader knows versions 3 to 6")]
    TooNew(u32),
    /// It ends before its first object is complete.
    #[error("the file ends after {0} bytes, within its header")]
    Short(u64),
    /// Its first object is no trace.
    #[error("byte {offset}: expected the object `Trace`, found {found}")]
    NoTrace {
        /// Offset in bytes.
        offset: u64,
        /// What is there.
        found: String,
    },
}

const MAGIC: &[u8] = b"Nettrace";
const FAST_SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization.1";

// Tags of FastSerialization.
const NULL_REFERENCE: u8 = 1;
const BEGIN_OBJECT: u8 = 4;
const BEGIN_PRIVATE_OBJECT: u8 = 5;
const END_OBJECT: u8 = 6;

/// Size of the payload of the object `Trace` in bytes, since version 3.
const TRACE_SIZE: u64 = 48;

/// Whether a file begins like one of EventPipe's; also true of versions that cannot be read.
#[must_use]
pub fn recognise(beginning: &[u8]) -> bool {
    beginning.starts_with(FAST_SERIALIZATION)
        || beginning.starts_with(MAGIC)
            && (beginning.get(8..).is_some_and(|rest| rest.starts_with(FAST_SERIALIZATION))
                || beginning.get(8..12) == Some(&[0; 4]))
}

/// Finds the blocks of a file, one after the other.
#[derive(Clone, Debug)]
pub struct Container {
    version: Version,
    /// Where the next block begins, from the begin of the file.
    at: u64,
    is_complete: bool,
    /// What is wrong behind the block that was given last.
    fault: Option<Fault>,
    is_done: bool,
    /// From where on it is known that no chain of blocks begins (version 6): the bytes are looked through once.
    chainless_from: Option<u64>,
}

impl Container {
    /// Reads the header of a file of which these are the first bytes; None if more are needed, unless `is_all`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(beginning: &[u8], is_all: bool) -> Result<Option<Self>, Refusal> {
        let short = || if is_all { Err(Refusal::Short(beginning.len() as u64)) } else { Ok(None) };
        let is_prefix =
            |of: &[u8]| beginning.starts_with(of.get(..beginning.len().min(of.len())).unwrap_or(of));
        if !(is_prefix(MAGIC) || is_prefix(FAST_SERIALIZATION)) || beginning.is_empty() && is_all {
            return Err(Refusal::NotNettrace);
        }
        let opened = |version, at| Self {
            version,
            at,
            is_complete: false,
            fault: None,
            is_done: false,
            chainless_from: None,
        };
        if !beginning.starts_with(MAGIC) {
            return match beginning.len() < FAST_SERIALIZATION.len() {
                true => short(),
                false => opened(Version::V3, FAST_SERIALIZATION.len() as u64).check_trace(beginning, is_all),
            };
        }
        let mut wire = Wire::at(beginning, MAGIC.len());
        match wire.u32() {
            None => short(),
            Some(0) => match (wire.u32(), wire.u32()) {
                (Some(6), Some(minor)) => Ok(Some(opened(Version::V6(minor), wire.position() as u64))),
                (Some(major @ 7..), _) => Err(Refusal::TooNew(major)),
                (Some(major), Some(_)) => Err(Refusal::TooOld(major as i32)),
                _ => short(),
            },
            Some(_) => {
                let Some(header) = beginning.get(8..8 + FAST_SERIALIZATION.len()) else { return short() };
                if header != FAST_SERIALIZATION {
                    return Err(Refusal::NotNettrace);
                }
                opened(Version::V4, 32).check_trace(beginning, is_all)
            }
        }
    }

    /// Checks the type of the first object, which has the version of the format.
    fn check_trace(self, beginning: &[u8], is_all: bool) -> Result<Option<Self>, Refusal> {
        let mut wire = Wire::at(beginning, self.at as usize);
        let Some(object) = ObjectType::read(&mut wire) else {
            // The longest type there is.
            let is_short = wire.rest().len() < 32;
            return match (is_short, is_all) {
                (true, false) => Ok(None),
                (true, true) => Err(Refusal::Short(beginning.len() as u64)),
                _ => Err(Refusal::NoTrace { offset: self.at, found: "no object".to_owned() }),
            };
        };
        if object.kind() != BlockKind::Trace {
            let found = format!("`{}`", String::from_utf8_lossy(object.name).escape_debug());
            return Err(Refusal::NoTrace { offset: self.at, found });
        }
        match (self.version, object.version, object.least_reader) {
            (_, ..3, _) => Err(Refusal::TooOld(object.version)),
            (_, _, 5..) => Err(Refusal::TooNew(object.least_reader as u32)),
            _ => Ok(Some(self)),
        }
    }

    /// The version of the file.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Where the next block begins, in bytes from the begin of the file.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Whether the end of the stream was marked: the session was stopped in an orderly manner.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The next block in `bytes`, which begin at `base` bytes from the begin of the file, at the
    /// [position](Self::position) or before. `is_all`: there are no more bytes.
    pub fn next(&mut self, bytes: &[u8], base: u64, is_all: bool) -> Step {
        if let Some(fault) = self.fault.take() {
            return Step::Fault(fault);
        }
        if self.is_done {
            return Step::End;
        }
        let Some(at) = self.at.checked_sub(base).and_then(|at| usize::try_from(at).ok()) else {
            return Step::End;
        };
        let view = View { bytes, base, is_all };
        let step = match self.version {
            Version::V6(_) => self.next_block(view, at),
            _ => self.next_object(view, at),
        };
        match step {
            Some(step) => step,
            None if is_all => {
                // Part of the frame of a block.
                let rest = bytes.len().saturating_sub(at) as u64;
                self.is_done = true;
                let found =
                    if rest == 0 { "the end of the file".to_owned() } else { format!("{rest} bytes") };
                let statement = format!("expected a block or the mark of the end, found {found}");
                Step::Fault(Fault::new(Rule::StreamEnd, self.at, statement).skipping(rest))
            }
            None => Step::More,
        }
    }

    // -----------------------------------------------------------------------------------------
    // Versions 3 to 5

    fn next_object(&mut self, view: View<'_>, at: usize) -> Option<Step> {
        let begin = self.at;
        let tag = *view.bytes.get(at)?;
        if tag == NULL_REFERENCE {
            self.is_complete = true;
            self.is_done = true;
            self.at += 1;
            return Some(Step::End);
        }
        let mut wire = Wire::at(view.bytes, at);
        let Some(object) = ObjectType::read(&mut wire) else {
            if wire.rest().len() < LONGEST_TYPE && view.bytes.len() - at < LONGEST_TYPE && tag_is_begin(tag) {
                // Perhaps the type is not complete yet.
                if !view.is_all {
                    return None;
                }
                return view
                    .resync(at + 1, self.version)
                    .map(|found| self.skip_to(view, begin, found, Rule::ObjectBegin));
            }
            let found = view.resync(at + 1, self.version);
            return Some(match found {
                Some(found) => self.skip_to(view, begin, found, Rule::ObjectBegin),
                None if view.is_all => {
                    self.is_done = true;
                    let rest = (view.bytes.len() - at) as u64;
                    let statement = format!("expected the begin of an object, found a byte {tag}");
                    Step::Fault(Fault::new(Rule::ObjectBegin, begin, statement).skipping(rest))
                }
                None => return None,
            });
        };
        let kind = object.kind();
        let known = if kind == BlockKind::Trace { 4 } else { 2 };
        let (version, least_reader) = (object.version, object.least_reader);
        let content = if kind == BlockKind::Trace {
            let begin = wire.position();
            begin..begin.checked_add(TRACE_SIZE as usize)?
        } else {
            let size = wire.u32()? as i32;
            // Padding to 4 bytes, counted from the begin of the file.
            let padding = (view.base + wire.position() as u64).wrapping_neg() % 4;
            let begin = wire.position() + padding as usize;
            match usize::try_from(size) {
                Ok(size) => begin..begin.checked_add(size)?,
                Err(_) => begin..usize::MAX,
            }
        };
        let absolute = |range: Range<usize>| view.base + range.start as u64..view.base + range.end as u64;
        let end = (content.end != usize::MAX).then(|| skip_tagged(view.bytes, content.end));
        match end {
            Some(Tagged::End(end)) => {
                self.at = view.base + end as u64;
                if least_reader > known && kind != BlockKind::Unknown {
                    let statement = format!(
                        "expected at most version {known}, found {version}, which needs a newer reader"
                    );
                    let size = content.len() as u64;
                    return Some(Step::Fault(
                        Fault::new(Rule::ObjectVersion, begin, statement).skipping(size),
                    ));
                }
                Some(Step::Block(Block { kind, begin, content: absolute(content), is_whole: true }))
            }
            Some(Tagged::Short) if !view.is_all => None,
            _ => {
                // Too long, or no end: up to the next object that can be recognised, or to the end of the file.
                let data = content.start.min(view.bytes.len());
                let next = view.resync(data, self.version);
                let until = next.unwrap_or(view.bytes.len());
                let is_truncated = next.is_none() && content.end >= view.bytes.len();
                let available = until.saturating_sub(data) as u64;
                self.at = view.base + until as u64;
                let statement = match is_truncated {
                    true if content.end != usize::MAX => {
                        format!("the block of {} bytes ends after {available} bytes", content.len())
                    }
                    _ => "expected the end of the object behind its payload, found something else".to_owned(),
                };
                let rule = if is_truncated { Rule::StreamEnd } else { Rule::ObjectEnd };
                self.is_done = next.is_none();
                self.fault = Some(Fault::new(rule, if is_truncated { self.at } else { begin }, statement));
                let end = until.min(content.end).max(data);
                Some(Step::Block(Block { kind, begin, content: absolute(data..end), is_whole: false }))
            }
        }
    }

    fn skip_to(&mut self, view: View<'_>, begin: u64, found: usize, rule: Rule) -> Step {
        self.at = view.base + found as u64;
        let skipped = self.at - begin;
        let what = if rule == Rule::ObjectBegin { "an object" } else { "a block" };
        Step::Fault(
            Fault::new(rule, begin, format!("expected {what}, found something else")).skipping(skipped),
        )
    }

    // -----------------------------------------------------------------------------------------
    // Version 6

    fn next_block(&mut self, view: View<'_>, at: usize) -> Option<Step> {
        let begin = self.at;
        let header = Wire::at(view.bytes, at).u32()?;
        let (size, kind) = ((header & 0xff_ffff) as usize, (header >> 24) as u8);
        if kind == 0 {
            self.is_complete = true;
            self.is_done = true;
            self.at += 4;
            return Some(Step::End);
        }
        let data = at + 4;
        let end = data.checked_add(size)?;
        let absolute = |range: Range<usize>| view.base + range.start as u64..view.base + range.end as u64;
        if end > view.bytes.len() && !view.is_all {
            return None;
        }
        // A size that was changed is noticed by what follows.
        if end <= view.bytes.len() && view.may_follow(end) != Some(false) {
            self.at = view.base + end as u64;
            return Some(Step::Block(Block {
                kind: kind_of(kind),
                begin,
                content: absolute(data..end),
                is_whole: true,
            }));
        }
        let next = match self.chainless_from {
            Some(_) => None,
            None => (data..view.bytes.len()).find(|at| view.is_chain(*at)),
        };
        if next.is_none() {
            self.chainless_from.get_or_insert(begin);
        }
        let is_truncated = next.is_none() && end > view.bytes.len();
        let until = match next {
            Some(next) => next,
            // What follows cannot be made sense of, and there is nothing better.
            None if !is_truncated => end,
            None => view.bytes.len(),
        };
        self.at = view.base + until as u64;
        let available = until.saturating_sub(data) as u64;
        let statement = match is_truncated {
            true => format!("the block of {size} bytes ends after {available} bytes"),
            false => format!("expected a block behind the block of {size} bytes, found something else"),
        };
        let rule = if is_truncated { Rule::StreamEnd } else { Rule::BlockSize };
        self.is_done = is_truncated;
        self.fault = Some(Fault::new(rule, if is_truncated { self.at } else { begin }, statement));
        let content = absolute(data..until.min(end).max(data));
        Some(Step::Block(Block { kind: kind_of(kind), begin, content, is_whole: false }))
    }
}

/// The most bytes that the type of an object has, as far as it is known: two tags, three numbers, the name.
const LONGEST_TYPE: usize = 96;

const fn tag_is_begin(tag: u8) -> bool {
    matches!(tag, BEGIN_OBJECT | BEGIN_PRIVATE_OBJECT)
}

const fn kind_of(kind: u8) -> BlockKind {
    match kind {
        1 => BlockKind::Trace,
        2 => BlockKind::Event,
        3 => BlockKind::Metadata,
        4 => BlockKind::SequencePoint,
        5 => BlockKind::Stack,
        6 => BlockKind::Thread,
        7 => BlockKind::RemoveThread,
        8 => BlockKind::LabelList,
        _ => BlockKind::Unknown,
    }
}

/// The type of an object.
struct ObjectType<'a> {
    version: i32,
    least_reader: i32,
    name: &'a [u8],
}

impl<'a> ObjectType<'a> {
    fn read(wire: &mut Wire<'a>) -> Option<Self> {
        let mut next = *wire;
        let tags = (next.u8()?, next.u8()?, next.u8()?);
        if !(tag_is_begin(tags.0) && tag_is_begin(tags.1) && tags.2 == NULL_REFERENCE) {
            return None;
        }
        let (version, least_reader) = (next.u32()? as i32, next.u32()? as i32);
        let length = next.length().filter(|length| *length <= LONGEST_TYPE - 16)?;
        let name = next.take(length)?;
        if next.u8()? != END_OBJECT {
            return None;
        }
        *wire = next;
        Some(Self { version, least_reader, name })
    }

    fn kind(&self) -> BlockKind {
        match self.name {
            b"Trace" | b"Microsoft.DotNet.Runtime.EventPipeFile" => BlockKind::Trace,
            b"EventBlock" => BlockKind::Event,
            b"MetadataBlock" => BlockKind::Metadata,
            b"StackBlock" => BlockKind::Stack,
            b"SPBlock" => BlockKind::SequencePoint,
            _ => BlockKind::Unknown,
        }
    }
}

/// What is behind the payload of an object.
enum Tagged {
    /// The object ends here.
    End(usize),
    /// The bytes end first.
    Short,
    /// Something that does not belong there.
    Wrong,
}

/// Skips values with tags, which newer versions may add to an object, up to its end.
fn skip_tagged(bytes: &[u8], at: usize) -> Tagged {
    let mut wire = Wire::at(bytes, at);
    loop {
        let Some(tag) = wire.u8() else { return Tagged::Short };
        let size = match tag {
            END_OBJECT => return Tagged::End(wire.position()),
            // Byte, Int16, Int32, Int64.
            8..=11 => 1 << (tag - 8),
            // String, Blob.
            13 | 14 => match wire.u32().map(|size| usize::try_from(size as i32)) {
                Some(Ok(size)) => size,
                Some(Err(_)) => return Tagged::Wrong,
                None => return Tagged::Short,
            },
            _ => return Tagged::Wrong,
        };
        if wire.take(size).is_none() {
            return Tagged::Short;
        }
    }
}

/// The bytes that there are.
#[derive(Clone, Copy)]
struct View<'a> {
    bytes: &'a [u8],
    base: u64,
    is_all: bool,
}

impl View<'_> {
    /// Where the next object of a known type begins, from an index on.
    fn resync(self, from: usize, version: Version) -> Option<usize> {
        let tag = if version == Version::V3 { BEGIN_OBJECT } else { BEGIN_PRIVATE_OBJECT };
        let rest = self.bytes.get(from..)?;
        let begin = [tag, tag, NULL_REFERENCE];
        let mut found = memmem::find_iter(rest, &begin).map(|found| from + found).take(1 << 20);
        found.find(|at| {
            ObjectType::read(&mut Wire::at(self.bytes, *at))
                .is_some_and(|object| !matches!(object.kind(), BlockKind::Unknown | BlockKind::Trace))
        })
    }

    /// Whether a block of version 6 may begin here; None if there are not enough bytes to say.
    fn may_follow(self, at: usize) -> Option<bool> {
        if at == self.bytes.len() && self.is_all {
            return Some(true);
        }
        let header = Wire::at(self.bytes, at).u32();
        let Some(header) = header else { return if self.is_all { Some(false) } else { None } };
        let (size, kind) = ((header & 0xff_ffff) as usize, header >> 24);
        Some(match kind {
            0 => true,
            1 => false,
            2..=8 => self.looks_like(kind, at + 4, size) != Some(false),
            // Newer kinds are possible; many of them in a row are not.
            _ => !self.is_all || at + 4 + size <= self.bytes.len(),
        })
    }

    /// Whether the content of a block looks like that of its kind; None if it cannot be said.
    fn looks_like(self, kind: u32, at: usize, size: usize) -> Option<bool> {
        let mut wire = Wire::at(self.bytes, at);
        match kind {
            2 => {
                let (header, flags) = (wire.u16()?, wire.u16()?);
                Some((20..=size).contains(&header.into()) && flags < 0x100)
            }
            3 => Some(usize::from(wire.u16()?) + 2 <= size),
            4 => Some(size >= 16),
            5 | 8 => Some(size >= 8),
            _ => None,
        }
    }

    /// Whether a chain of blocks begins here.
    fn is_chain(self, mut at: usize) -> bool {
        for link in 0..3 {
            let Some(header) = Wire::at(self.bytes, at).u32() else {
                return link > 0 && at == self.bytes.len();
            };
            let (size, kind) = ((header & 0xff_ffff) as usize, header >> 24);
            match kind {
                0 => return link > 0 && size == 0 && at + 4 == self.bytes.len(),
                2..=8 if self.looks_like(kind, at + 4, size) != Some(false) => {}
                _ => return false,
            }
            let Some(end) = at.checked_add(4 + size).filter(|end| *end <= self.bytes.len()) else {
                return false;
            };
            at = end;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trace_is_refused() {
        let open = |bytes: &[u8]| Container::open(bytes, true).map(|_| ()).unwrap_err();
        assert_eq!(open(b""), Refusal::NotNettrace);
        assert_eq!(open(b"Nettrac"), Refusal::Short(7));
        assert_eq!(open(b"Nettrace!!!!!!!!!!!!!!!!!!!!!!!!!!!!"), Refusal::NotNettrace);
        assert_eq!(open(b"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0"), Refusal::TooNew(7));
        assert_eq!(open(b"Nettrace\0\0\0\0\x05\0\0\0\0\0\0\0"), Refusal::TooOld(5));
        assert_eq!(open(&[MAGIC, FAST_SERIALIZATION].concat()), Refusal::Short(32));
        assert!(Container::open(&MAGIC[..3], false).unwrap().is_none());
        let old = |version: u8| {
            let object = [b"\x04\x04\x01", &[version, 0, 0, 0][..], b"\0\0\0\0\x05\0\0\0Trace\x06"].concat();
            Container::open(&[FAST_SERIALIZATION, &object].concat(), true)
        };
        assert_eq!(old(2).unwrap_err(), Refusal::TooOld(2));
        assert_eq!(old(3).unwrap().unwrap().version(), Version::V3);
    }
}
