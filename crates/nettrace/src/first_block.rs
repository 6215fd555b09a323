//! Finds the first block in a file without its start.

use memchr::memmem;

use crate::block::{BlockKind, Version};
use crate::block_view::BlockView;
use crate::object_type::{BEGIN_OBJECT, BEGIN_PRIVATE_OBJECT, NULL_REFERENCE, ObjectType, TypeRead};
use crate::wire::Wire;

/// Number of bytes that are searched for the first block.
pub(crate) const SEARCHED: usize = 4 << 20;

/// Returns the offset of the first block in a file without its start, and the format version.
pub(crate) fn find_block(bytes: &[u8]) -> Option<(usize, Version)> {
    let searched = bytes.get(..SEARCHED).unwrap_or(bytes);
    let objects = [(Version::V4, BEGIN_PRIVATE_OBJECT), (Version::V3, BEGIN_OBJECT)].map(|(version, tag)| {
        let at = memmem::find_iter(searched, &[tag, tag, NULL_REFERENCE]).find(|at| {
            let object = ObjectType::read(&mut Wire::at(searched, *at));
            matches!(object, TypeRead::Object(object) if object.kind() != BlockKind::Unknown)
        });
        at.map(|at| (at, version))
    });
    // A chain that starts in the searched bytes continues after them.
    let view = BlockView { bytes, base: 0, missing: 0, is_end: true, is_last: true };
    let chain = || (0..searched.len()).find(|at| view.is_first_block(*at));
    objects.into_iter().flatten().min_by_key(|(at, _)| *at).or_else(|| Some((chain()?, Version::V6(0))))
}

impl BlockView<'_> {
    /// Returns `true` if the first block is here. Either so many blocks follow each other that this cannot be chance,
    /// or at least two blocks lead to the end of the file or its end mark. If the last block is cut, one of them must
    /// be an event block, whose header cannot appear by chance. The first block may be a trace block.
    fn is_first_block(self, mut at: usize) -> bool {
        const LINKS: u32 = 8;
        /// Size of the parts that every trace block has, in bytes.
        const TRACE: usize = 36;
        let (mut links, mut has_events) = (0, false);
        while links < LINKS {
            let Some(header) = Wire::at(self.bytes, at).u32() else {
                return self.is_end && links > 1 && (has_events || at == self.bytes.len());
            };
            let (size, kind) = ((header & 0xff_ffff) as usize, header >> 24);
            has_events |= kind == 2 && self.has_times(at + 4);
            let is_block = match kind {
                0 => return size == 0 && self.is_end && links > 0 && at + 4 == self.bytes.len(),
                1 => links == 0 && size >= TRACE,
                2..=8 => self.looks_like(kind, at + 4, size) == Some(true),
                _ => false,
            };
            if !is_block {
                return false;
            }
            links += 1;
            at += 4 + size;
        }
        links == LINKS
    }

    /// Returns `true` if there is an event block header here, with the times of the first and the last event.
    fn has_times(self, at: usize) -> bool {
        // Skip the header size and the flags.
        let mut wire = Wire::at(self.bytes, at + 4);
        matches!((wire.u64(), wire.u64()), (Some(first), Some(last)) if first <= last)
    }
}
