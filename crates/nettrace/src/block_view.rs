//! Searches bytes for blocks.

use std::ops::Range;

use memchr::memmem;

use crate::block::{BlockKind, Version};
use crate::object_type::{
    BEGIN_OBJECT, BEGIN_PRIVATE_OBJECT, NULL_REFERENCE, ObjectType, TypeRead, tag_is_begin,
};
use crate::wire::Wire;

/// Bytes to examine.
#[derive(Clone, Copy)]
pub(crate) struct BlockView<'a> {
    pub(crate) bytes: &'a [u8],
    /// File offset of the bytes.
    pub(crate) base: u64,
    /// Number of missing bytes before the file, modulo 4.
    pub(crate) missing: u64,
    /// `true` if the file ends after these bytes.
    pub(crate) is_end: bool,
    /// `true` if no more bytes exist or will be examined.
    pub(crate) is_last: bool,
}

/// Result of a search.
pub(crate) enum SearchResult {
    At(usize),
    Nothing,
    /// More bytes are needed.
    Short,
}

impl BlockView<'_> {
    /// Converts a byte range to a file range.
    pub(crate) fn absolute(self, range: Range<usize>) -> Range<u64> {
        self.base + range.start as u64..self.base + range.end as u64
    }

    /// Returns the result if bytes are missing: `None`, or `otherwise` if no more bytes will come.
    fn unknown(self, otherwise: bool) -> Option<bool> {
        self.is_last.then_some(otherwise)
    }

    /// Finds the next object with a known type, from an index on.
    pub(crate) fn find_object(self, from: usize, version: Version) -> SearchResult {
        let tag = if version == Version::V3 { BEGIN_OBJECT } else { BEGIN_PRIVATE_OBJECT };
        let rest = self.bytes.get(from..).unwrap_or_default();
        let begin = [tag, tag, NULL_REFERENCE];
        for at in memmem::find_iter(rest, &begin).map(|found| from + found) {
            match ObjectType::read(&mut Wire::at(self.bytes, at)) {
                TypeRead::Object(object)
                    if !matches!(object.kind(), BlockKind::Unknown | BlockKind::Trace) =>
                {
                    return SearchResult::At(at);
                }
                TypeRead::Short if !self.is_last => return SearchResult::Short,
                _ => {}
            }
        }
        if self.is_last { SearchResult::Nothing } else { SearchResult::Short }
    }

    /// Returns `true` if an object can end here: another object starts, or the file ends. With `may`, the end mark of
    /// the file is also possible.
    pub(crate) fn ends_here(self, at: usize, may: bool) -> Option<bool> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match rest {
            [] => self.unknown(true),
            [NULL_REFERENCE, ..] => Some(may),
            [tag, ..] if !tag_is_begin(*tag) => Some(false),
            [_] => self.unknown(true),
            [_, tag, ..] if !tag_is_begin(*tag) => Some(false),
            [_, _] => self.unknown(true),
            [_, _, tag, ..] => Some(*tag == NULL_REFERENCE),
        }
    }

    /// Returns `true` if a version 6 block may start here, after `unknown` blocks with unknown kinds. Returns `None` if
    /// more bytes are needed.
    pub(crate) fn may_follow(self, at: usize, unknown: u32) -> Option<bool> {
        // A partial header: the file was truncated.
        let Some(header) = Wire::at(self.bytes, at).u32() else { return self.unknown(true) };
        let (size, kind) = ((header & 0xff_ffff) as usize, header >> 24);
        match kind {
            // Nothing may follow the end mark.
            0 if at + 4 + size < self.bytes.len() => Some(false),
            0 => self.unknown(self.is_end && at + 4 + size == self.bytes.len()),
            1 => Some(false),
            2..=8 => self.looks_like(kind, at + 4, size),
            // Newer versions may have new kinds, but not many in a row.
            _ => {
                let end = at + 4 + size;
                match end <= self.bytes.len() {
                    true if unknown < 2 => self.may_follow(end, unknown + 1),
                    true => Some(true),
                    // The file may be truncated, if the kind is plausible for a newer version.
                    false => self.unknown(self.is_end && kind < 64),
                }
            }
        }
    }

    /// Returns `true` if a block's content looks like its kind. Returns `None` if more bytes are needed.
    pub(crate) fn looks_like(self, kind: u32, at: usize, size: usize) -> Option<bool> {
        let mut wire = Wire::at(self.bytes, at);
        match kind {
            2 if size < 20 => Some(false),
            3 if size < 2 => Some(false),
            2 => {
                let (Some(header), Some(flags)) = (wire.u16(), wire.u16()) else { return self.unknown(true) };
                Some((20..=size).contains(&header.into()) && flags < 0x100)
            }
            3 => {
                let Some(header) = wire.u16() else { return self.unknown(true) };
                Some(usize::from(header) + 2 <= size)
            }
            4 => Some(size >= 16),
            5 | 8 => Some(size >= 8),
            _ => Some(size > 0),
        }
    }

    /// Returns `true` if a block chain starts here. Returns `None` if more bytes are needed.
    pub(crate) fn is_chain(self, mut at: usize) -> Option<bool> {
        for link in 0..3 {
            let Some(header) = Wire::at(self.bytes, at).u32() else {
                return self.unknown(self.is_end && link > 1 && at == self.bytes.len());
            };
            let (size, kind) = ((header & 0xff_ffff) as usize, header >> 24);
            match kind {
                0 if link == 0 || size != 0 || at + 4 != self.bytes.len() => return Some(false),
                0 => return self.unknown(self.is_end),
                2..=8 => match self.looks_like(kind, at + 4, size) {
                    Some(true) => {}
                    other => return other,
                },
                _ => return Some(false),
            }
            let end = at + 4 + size;
            if end > self.bytes.len() {
                return self.unknown(false);
            }
            at = end;
        }
        Some(true)
    }
}
