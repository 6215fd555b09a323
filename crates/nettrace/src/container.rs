//! Container format: splits bytes into blocks, for all versions.
//!
//! Files up to version 5 contain FastSerialization objects, each after its type. Version 6 has blocks with a size
//! and a kind. Both are returned as [`Block`]s. Nothing here reads input: [`Container::next`] examines the given bytes,
//! and returns when it needs more.

use std::ops::Range;

use crate::block::{Block, BlockKind, Version};
use crate::block_view::{BlockView, SearchResult};
use crate::first_block::find_block;
use crate::object_type::{
    BEGIN_OBJECT, BEGIN_PRIVATE_OBJECT, LONGEST_TYPE, NULL_REFERENCE, ObjectType, Tagged, TypeRead,
    skip_tagged,
};
use crate::rule::{Fault, Rule};
use crate::wire::Wire;

/// Next item in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileItem {
    /// A block.
    Block(Block),
    /// A rule violation. The next call continues after it.
    Fault(Fault),
    /// More bytes are needed.
    More,
    /// End of the file.
    End,
}

/// Reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The file has another format.
    #[error("not an EventPipe file: expected `Nettrace` or `!FastSerialization.1` at the start")]
    NotNettrace,
    /// The version is too old.
    #[error(
        "EventPipe format version {0} is not supported: only .NET Core 2 previews wrote it; record the trace \
        with .NET Core 2.1 or newer"
    )]
    TooOld(i32),
    /// The version is too new.
    #[error("EventPipe format version {0} is too new: this reader knows versions up to 6")]
    TooNew(u32),
    /// The file ends within its first object.
    #[error("the file ends after {0} bytes, within its header")]
    Short(u64),
    /// The first object is not a trace.
    #[error("byte {offset}: expected the object `Trace`, found {found}")]
    NoTrace {
        /// Offset in bytes.
        offset: u64,
        /// First object's name.
        found: String,
    },
}

const MAGIC: &[u8] = b"Nettrace";
const FAST_SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization.1";

/// Payload size of the object `Trace` since version 3, in bytes.
const TRACE_SIZE: u64 = 48;

/// Returns `true` if a file starts like an EventPipe file, even with an unsupported version.
#[must_use]
pub fn recognize(beginning: &[u8]) -> bool {
    beginning.starts_with(FAST_SERIALIZATION) && !is_of_other_library(beginning)
        || beginning.starts_with(MAGIC)
            && (beginning.get(8..).is_some_and(|rest| rest.starts_with(FAST_SERIALIZATION))
                || beginning.get(8..12) == Some(&[0; 4]))
}

/// Returns `true` if a file's first object is not `Trace`. TraceEvent and dotnet-gcdump use FastSerialization for
/// other files.
fn is_of_other_library(beginning: &[u8]) -> bool {
    /// Offset of the name's length, after tags and versions.
    const LENGTH: usize = FAST_SERIALIZATION.len() + 11;
    let rest = beginning.get(LENGTH..).unwrap_or_default();
    let Some((length, name)) = rest.split_first_chunk::<4>() else { return false };
    let length = u32::from_le_bytes(*length) as usize;
    let name = name.get(..length).unwrap_or(name);
    // A damaged name must not count as another name.
    !b"Trace".starts_with(name) && name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'.')
}

/// Iterates over the blocks of a file.
#[derive(Clone, Debug)]
pub struct Container {
    version: Version,
    /// Next block's byte offset in the file.
    at: u64,
    /// Number of missing bytes before the file, modulo 4. Blocks are aligned to the start of the original file.
    missing: u64,
    /// `true` if the start of the file is missing.
    is_rest: bool,
    is_complete: bool,
    /// Fault after the last returned block.
    fault: Option<Fault>,
    is_done: bool,
    /// Resync position: no block chain starts before this offset (version 6). Prevents repeated scans.
    chainless_until: u64,
    /// File offset up to which bytes are needed for the next result.
    needed: u64,
}

/// Maximum block size in bytes. Larger sizes are damage. Recorded blocks have 100 KB to 1 MB, in version 6 less
/// than 16 MiB.
pub(crate) const MOST_BLOCK_BYTES: usize = 64 << 20;

/// Maximum look-ahead for a block's end, in bytes. Results do not depend on the number of available bytes, and no
/// more bytes must be kept.
pub(crate) const LOOK_AHEAD: usize = MOST_BLOCK_BYTES + (16 << 20);

impl Container {
    /// Reads a file's header from its first bytes. Returns `None` if more bytes are needed, unless `is_all`.
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
        let opened = Self::at;
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

    /// Returns the container at a block.
    const fn at(version: Version, at: u64) -> Self {
        Self {
            version,
            at,
            missing: 0,
            is_rest: false,
            is_complete: false,
            fault: None,
            is_done: false,
            chainless_until: 0,
            needed: 0,
        }
    }

    /// Opens a whole file. If its start is missing, opens it at its first block.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn open_file(bytes: &[u8]) -> Result<Self, Refusal> {
        match Self::open(bytes, true) {
            Err(refusal @ Refusal::NotNettrace) => Self::open_rest(bytes).ok_or(refusal),
            opened => opened?.ok_or(Refusal::Short(bytes.len() as u64)),
        }
    }

    /// Opens a file at its first block if its start is missing. The first call of `next` returns a fault.
    fn open_rest(bytes: &[u8]) -> Option<Self> {
        let (begin, version) = find_block(bytes)?;
        let begin = begin as u64;
        // The alignment of the first blocks shows how many bytes are missing, modulo 4.
        let with_missing = |missing| Self { missing, ..Self::at(version, begin) };
        let whole_blocks = |container: &Self| {
            let mut container = container.clone();
            let is_whole = |item: &FileItem| matches!(item, FileItem::Block(Block { is_whole: true, .. }));
            std::iter::repeat_with(|| container.next(bytes, 0, true)).take(3).take_while(is_whole).count()
        };
        // `max_by_key` returns the last of several maxima, so iterate backwards.
        let found = (0..4).rev().map(with_missing).max_by_key(whole_blocks)?;
        Some(found.without_beginning())
    }

    /// Returns `true` if the start of the file is missing.
    pub(crate) fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// Returns the number of missing bytes before the file, modulo 4.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// Removes bytes before the next block from the file. Their number must be a multiple of 4, because blocks are aligned
    /// to the start of the original file.
    pub(crate) fn remove_front(&mut self, length: u64) {
        self.at = self.at.saturating_sub(length);
        self.chainless_until = self.chainless_until.saturating_sub(length);
        self.needed = self.needed.saturating_sub(length);
        if let Some(fault) = &mut self.fault {
            fault.offset = fault.offset.saturating_sub(length);
        }
    }

    /// Checks the type of the first object, which contains the format version.
    fn check_trace(self, beginning: &[u8], is_all: bool) -> Result<Option<Self>, Refusal> {
        let mut wire = Wire::at(beginning, self.at as usize);
        let object = match ObjectType::read(&mut wire) {
            TypeRead::Object(object) => object,
            TypeRead::Short if is_all => return Err(Refusal::Short(beginning.len() as u64)),
            TypeRead::Short => return Ok(None),
            TypeRead::Wrong => {
                return Err(Refusal::NoTrace { offset: self.at, found: "no object".to_owned() });
            }
        };
        if object.kind() != BlockKind::Trace {
            let found = format!("`{}`", String::from_utf8_lossy(object.name).escape_debug());
            return Err(Refusal::NoTrace { offset: self.at, found });
        }
        match (self.version, object.version, object.least_reader) {
            (_, ..3, _) => Err(Refusal::TooOld(object.version)),
            (_, _, 6..) => Err(Refusal::TooNew(object.least_reader as u32)),
            // A version 4 file without its first word.
            (Version::V3, version, _) if version > 3 => {
                Ok(Some(Self { version: Version::V4, ..self }.without_beginning()))
            }
            _ => Ok(Some(self)),
        }
    }

    /// Marks the start of the file as missing. The first call of `next` returns a fault.
    fn without_beginning(self) -> Self {
        let begin = self.at;
        let statement = format!("expected `Nettrace`, found a block at byte {begin}: the start is missing");
        let fault = Fault::new(Rule::FileHeader, 0, statement).skipping(begin);
        Self { is_rest: true, fault: Some(fault), ..self }
    }

    /// Returns the file's version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the next block's byte offset in the file.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Continues at a block's file offset.
    pub fn seek(&mut self, offset: u64) {
        let Self { version, missing, is_rest, .. } = *self;
        *self = Self { missing, is_rest, ..Self::at(version, offset) };
    }

    /// Returns `true` if there is an end mark, because the session was stopped properly.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the next block. `bytes` start at file offset `base`, at or before the [position](Self::position).
    /// `is_all` means that no more bytes follow.
    pub fn next(&mut self, bytes: &[u8], base: u64, is_all: bool) -> FileItem {
        if let Some(fault) = self.fault.take() {
            return FileItem::Fault(fault);
        }
        if self.is_done {
            return FileItem::End;
        }
        let Some(at) = self.at.checked_sub(base).and_then(|at| usize::try_from(at).ok()) else {
            return FileItem::End;
        };
        let most = at.saturating_add(LOOK_AHEAD);
        let is_end = is_all && bytes.len() <= most;
        let view = BlockView {
            bytes: bytes.get(..most).unwrap_or(bytes),
            base,
            missing: self.missing,
            is_end,
            is_last: is_end || bytes.len() >= most,
        };
        self.needed = base + bytes.len() as u64 + 1;
        let step = match self.version {
            Version::V6(_) => self.next_block(view, at),
            _ => self.next_object(view, at),
        };
        match step {
            Some(step) => step,
            None if view.is_end => {
                // A partial block header.
                let rest = bytes.len().saturating_sub(at) as u64;
                self.is_done = true;
                let found =
                    if rest == 0 { "the end of the file".to_owned() } else { format!("{rest} bytes") };
                let statement = format!("expected a block or the end mark, found {found}");
                FileItem::Fault(Fault::new(Rule::StreamEnd, self.at, statement).skipping(rest))
            }
            None => FileItem::More,
        }
    }

    /// Returns the minimum file offset up to which the caller should provide bytes after [`FileItem::More`].
    #[must_use]
    pub fn needed(&self) -> u64 {
        self.needed
    }

    /// Requests more bytes, at least up to this index. Bytes from `from` on are scanned again, so the caller should
    /// double their number.
    fn more(&mut self, view: BlockView<'_>, from: usize, until: usize) -> Option<FileItem> {
        let looked_at = view.bytes.len().saturating_sub(from);
        self.needed = view.base + until.max(view.bytes.len() + 1 + looked_at) as u64;
        None
    }

    // -----------------------------------------------------------------------------------------
    // Versions 3 to 5

    fn next_object(&mut self, view: BlockView<'_>, at: usize) -> Option<FileItem> {
        if *view.bytes.get(at)? == NULL_REFERENCE {
            return self.end_mark(view, at);
        }
        let mut wire = Wire::at(view.bytes, at);
        let object = match ObjectType::read(&mut wire) {
            TypeRead::Object(object) => object,
            // The type may be incomplete.
            TypeRead::Short if !view.is_last => return None,
            read => return self.resync(view, at, matches!(read, TypeRead::Short)),
        };
        let kind = object.kind();
        let known = if kind == BlockKind::Trace { 5 } else { 2 };
        let (version, least_reader) = (object.version, object.least_reader);
        let behind = wire.position();
        let (content, end) = match kind {
            BlockKind::Trace => {
                let content = behind..behind + TRACE_SIZE as usize;
                (Some(content.clone()), skip_tagged(view.bytes, content.end))
            }
            BlockKind::Unknown => match self.unknown_object(view, behind)? {
                Some((content, end)) => (Some(content), Tagged::End(end)),
                None => (sized_content(view, behind)?, Tagged::Wrong),
            },
            _ => {
                let content = sized_content(view, behind)?;
                let end = content.as_ref().map(|content| skip_tagged(view.bytes, content.end));
                (content, end.unwrap_or(Tagged::Wrong))
            }
        };
        match (end, content) {
            (Tagged::End(end), Some(content)) => {
                let begin = self.at;
                self.at = view.base + end as u64;
                if least_reader > known && kind != BlockKind::Unknown {
                    let statement = format!(
                        "expected at most version {known}, found {version}, which needs a newer reader"
                    );
                    let size = content.len() as u64;
                    return Some(FileItem::Fault(
                        Fault::new(Rule::ObjectVersion, begin, statement).skipping(size),
                    ));
                }
                Some(FileItem::Block(Block { kind, begin, content: view.absolute(content), is_whole: true }))
            }
            (Tagged::Short, Some(content)) if !view.is_last => self.more(view, content.end, content.end + 1),
            (_, content) => self.damaged_object(view, kind, behind, content),
        }
    }

    /// Reads the end mark, unless this is an object with a damaged first byte.
    fn end_mark(&mut self, view: BlockView<'_>, at: usize) -> Option<FileItem> {
        match view.bytes.get(at + 1..).unwrap_or_default() {
            [] | [BEGIN_OBJECT | BEGIN_PRIVATE_OBJECT] if !view.is_last => None,
            [BEGIN_OBJECT | BEGIN_PRIVATE_OBJECT, NULL_REFERENCE, ..] => self.resync(view, at, false),
            _ => {
                self.is_complete = true;
                self.is_done = true;
                self.at += 1;
                Some(FileItem::End)
            }
        }
    }

    /// Returns the start of an object that is too long or lacks its end. Reading continues at the next recognized
    /// object, or at the end of the file.
    fn damaged_object(
        &mut self,
        view: BlockView<'_>,
        kind: BlockKind,
        behind: usize,
        content: Option<Range<usize>>,
    ) -> Option<FileItem> {
        let begin = self.at;
        let data = content.as_ref().map_or(behind + 4, |content| content.start).min(view.bytes.len());
        let (until, is_found) = match view.find_object(data, self.version) {
            SearchResult::At(next) => (next, true),
            SearchResult::Short => return self.more(view, data, 0),
            SearchResult::Nothing => (view.bytes.len(), false),
        };
        let size = content.as_ref().map(Range::len);
        let end = content.map_or(usize::MAX, |content| content.end);
        let is_truncated = !is_found && view.is_end && end >= view.bytes.len();
        let available = until.saturating_sub(data) as u64;
        self.at = view.base + until as u64;
        let statement = match size {
            Some(size) if is_truncated => format!("the block of {size} bytes ends after {available} bytes"),
            _ => "expected the end of the object after its payload, found something else".to_owned(),
        };
        let rule = if is_truncated { Rule::StreamEnd } else { Rule::ObjectEnd };
        self.is_done = !is_found && view.is_end;
        self.fault = Some(Fault::new(rule, if is_truncated { self.at } else { begin }, statement));
        let content = view.absolute(data..until.min(end).max(data));
        Some(FileItem::Block(Block { kind, begin, content, is_whole: false }))
    }

    /// Continues at the next object, because none starts here. `is_short` means that the bytes could be the start of an
    /// object.
    fn resync(&mut self, view: BlockView<'_>, at: usize, is_short: bool) -> Option<FileItem> {
        let begin = self.at;
        let (until, rule) = match view.find_object(at + 1, self.version) {
            SearchResult::At(next) => (next, Rule::ObjectBegin),
            SearchResult::Short => return self.more(view, at, 0),
            SearchResult::Nothing if view.is_end && is_short => return None,
            // Keep bytes that could be the start of an object.
            SearchResult::Nothing if !view.is_end => (view.bytes.len() - LONGEST_TYPE, Rule::ObjectBegin),
            SearchResult::Nothing => {
                self.is_done = true;
                (view.bytes.len(), Rule::ObjectBegin)
            }
        };
        self.at = view.base + until as u64;
        let fault = Fault::new(rule, begin, "expected an object, found something else");
        Some(FileItem::Fault(fault.skipping(self.at - begin)))
    }

    /// Returns the content and the end of an object with an unknown type. It is either a block with its size, or
    /// consists of tagged values. If both are possible, the earlier end wins. Returns `None` if more bytes are needed,
    /// and `Some(None)` if neither is possible.
    #[allow(clippy::option_option)]
    fn unknown_object(
        &mut self,
        view: BlockView<'_>,
        behind: usize,
    ) -> Option<Option<(Range<usize>, usize)>> {
        let bytes = view.bytes;
        let tagged = match skip_tagged(bytes, behind) {
            // Without values, the end of the file after this byte is more likely a block size.
            Tagged::End(end) if end == behind + 1 => (view.ends_here(end, false), end),
            Tagged::End(end) => (view.ends_here(end, true), end),
            Tagged::Short if !view.is_last => (None, usize::MAX),
            _ => (Some(false), usize::MAX),
        };
        if let (Some(true), end) = tagged {
            return Some(Some((behind..end - 1, end)));
        }
        let content = sized_content(view, behind)?;
        let sized = content.as_ref().map(|content| match skip_tagged(bytes, content.end) {
            Tagged::End(end) => (view.ends_here(end, true), end),
            Tagged::Short if !view.is_last => (None, content.end + 1),
            _ => (Some(false), usize::MAX),
        });
        match (sized, content) {
            (Some((Some(true), end)), Some(content)) => Some(Some((content, end))),
            (Some((None, end)), _) => {
                self.more(view, behind, end.min(view.bytes.len() + LOOK_AHEAD));
                None
            }
            _ if tagged.0.is_none() => {
                self.more(view, behind, 0);
                None
            }
            _ => Some(None),
        }
    }

    // -----------------------------------------------------------------------------------------
    // Version 6

    fn next_block(&mut self, view: BlockView<'_>, at: usize) -> Option<FileItem> {
        let begin = self.at;
        let header = Wire::at(view.bytes, at).u32()?;
        let (size, kind) = ((header & 0xff_ffff) as usize, (header >> 24) as u8);
        let data = at + 4;
        let end = data.checked_add(size)?;
        // Newer versions may have content in the end mark. If more bytes follow, this is a block with a damaged kind.
        if kind == 0 && (size == 0 || view.is_end && end >= view.bytes.len()) {
            self.is_complete = true;
            self.is_done = true;
            self.at = view.base + end.min(view.bytes.len()) as u64;
            return Some(FileItem::End);
        }
        if kind == 0 && end == view.bytes.len() && !view.is_last {
            return None;
        }
        if end > view.bytes.len() && !view.is_last {
            self.needed = view.base + end as u64;
            return None;
        }
        if end <= view.bytes.len() {
            // The bytes after the block reveal a damaged size.
            match view.may_follow(end, 0) {
                Some(true) => {
                    self.at = view.base + end as u64;
                    let content = view.absolute(data..end);
                    return Some(FileItem::Block(Block {
                        kind: kind_of(kind),
                        begin,
                        content,
                        is_whole: true,
                    }));
                }
                Some(false) => {}
                None => return None,
            }
        }
        let next = self.find_chain(view, data)?;
        if next.is_none() && !view.is_last {
            return None;
        }
        let is_truncated = next.is_none() && end > view.bytes.len();
        let until = match next {
            Some(next) => next,
            // The bytes after the block are unknown, but there is no better end.
            None if !is_truncated => end,
            None => view.bytes.len(),
        };
        self.at = view.base + until as u64;
        let available = until.saturating_sub(data) as u64;
        let statement = match is_truncated {
            true => format!("the block of {size} bytes ends after {available} bytes"),
            false => format!("expected a block after the block of {size} bytes, found something else"),
        };
        let rule = if is_truncated { Rule::StreamEnd } else { Rule::BlockSize };
        self.is_done = is_truncated;
        self.fault = Some(Fault::new(rule, if is_truncated { self.at } else { begin }, statement));
        let content = view.absolute(data..until.min(end).max(data));
        Some(FileItem::Block(Block { kind: kind_of(kind), begin, content, is_whole: false }))
    }

    /// Searches for a block chain from a position on. Returns `None` if more bytes are needed.
    #[allow(clippy::option_option)]
    fn find_chain(&mut self, view: BlockView<'_>, from: usize) -> Option<Option<usize>> {
        let searched = self.chainless_until.saturating_sub(view.base) as usize;
        for at in from.max(searched)..view.bytes.len() {
            if view.is_chain(at)? {
                return Some(Some(at));
            }
            self.chainless_until = view.base + at as u64 + 1;
        }
        Some(None)
    }
}

/// Returns a block object's content, after its size and padding. Returns `None` if more bytes are needed, and
/// `Some(None)` if the size is invalid.
#[allow(clippy::option_option)]
fn sized_content(view: BlockView<'_>, behind: usize) -> Option<Option<Range<usize>>> {
    let mut wire = Wire::at(view.bytes, behind);
    let Some(size) = wire.u32() else { return if view.is_end { None } else { view.is_last.then_some(None) } };
    // Padding to 4 bytes, relative to the start of the file.
    let padding = (view.base + view.missing + wire.position() as u64).wrapping_neg() % 4;
    let begin = wire.position() + padding as usize;
    let size = usize::try_from(size as i32).ok().filter(|size| *size <= MOST_BLOCK_BYTES);
    Some(size.map(|size| begin..begin + size))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trace_is_refused() {
        let open = |bytes: &[u8]| Container::open(bytes, true).map(|_| ()).unwrap_err();
        assert_eq!(open(b""), Refusal::NotNettrace);
        assert_eq!(open(b"Nettrac"), Refusal::Short(7));
        let block = b"\x05\x05\x01\x02\0\0\0\x02\0\0\0\x07\0\0\0SPBlock\x06";
        assert_eq!(find_block(&[b"the end of a block", &block[..]].concat()), Some((18, Version::V4)));
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
        let new = |version: u8| {
            let versions = [version, 0, 0, 0, version, 0, 0, 0];
            let object = [b"\x05\x05\x01", &versions[..], b"\x05\0\0\0Trace\x06"].concat();
            Container::open(&[MAGIC, FAST_SERIALIZATION, &object].concat(), true)
        };
        assert_eq!([4, 5].map(|version| new(version).unwrap().unwrap().version()), [Version::V4; 2]);
        assert_eq!(new(6).unwrap_err(), Refusal::TooNew(6));
    }

    /// TraceEvent and dotnet-gcdump use FastSerialization, too.
    #[test]
    fn other_objects_of_the_library_are_not_recognized() {
        let file = |name: &[u8]| {
            let header = [FAST_SERIALIZATION, b"\x05\x05\x01\x03\0\0\0\0\0\0\0"].concat();
            [&header, &u32::try_from(name.len()).unwrap().to_le_bytes()[..], name, b"\x06"].concat()
        };
        let trace = file(b"Trace");
        for end in FAST_SERIALIZATION.len()..=trace.len() {
            assert!(recognize(&trace[..end]), "{end}");
        }
        // A damaged name.
        assert!(recognize(&file(b"Tr\xffce")));
        for name in [&b"Microsoft.Diagnostics.Tracing.Etlx.TraceLog"[..], b"GCHeapDump"] {
            assert!(!recognize(&file(name)[..64.min(file(name).len())]));
        }
    }
}
