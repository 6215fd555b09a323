//! Tar archives.

use std::cell::Cell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;

use crate::archive::{ArchiveMembers, MemberContent, MemberLink, cut_off, path_text, too_many};
use crate::decompress::{Counting, Packing, decoder, recorded_size};
use crate::store::Store;
use crate::unpack_budget::UnpackBudget;
use crate::{Bytes, IoError};

const BLOCK: u64 = 512;
/// Maximum size of the data before a member, for example its header and long names.
const MOST_OF_HEADER: u64 = 1 << 20;

/// A reader with a byte limit, because headers are kept in memory, and determine their own length.
struct LimitedReader<R> {
    reader: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        if most < buffer.len() && most == 0 {
            return Err(io::Error::other(format!(
                "the header of a member is longer than {MOST_OF_HEADER} bytes"
            )));
        }
        let read = self.reader.read(&mut buffer[..most])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for LimitedReader<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.reader.seek(position)
    }
}

/// Reads the members of a tar archive. They are parts of `bytes`: only sparse files are copied. `is_unpacked` means
/// that the archive was compressed.
pub(crate) fn members(
    bytes: &Bytes,
    is_unpacked: bool,
    budget: &mut UnpackBudget<'_>,
) -> Result<ArchiveMembers, IoError> {
    let mut members = ArchiveMembers::default();
    let mut store = Store::default();
    let left = Rc::new(Cell::new(MOST_OF_HEADER));
    let mut archive =
        tar::Archive::new(LimitedReader { reader: Cursor::new(&**bytes), left: Rc::clone(&left) });
    let entries = archive.entries_with_seek().map_err(|error| budget.damaged(Packing::Tar.name(), error))?;
    let len = bytes.len() as u64;
    let mut count = 0;
    // Position of the next header, and the member before it.
    let mut next = 0u64;
    let mut last = String::new();
    let mut is_cut = false;
    for entry in entries {
        count += 1;
        if count > budget.options.limits.entries {
            return Err(too_many(budget.path, &budget.options.limits));
        }
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // The next header is missing: keep the members found before.
                members.problems.push(broken_off(next, len, is_unpacked, &last, &error));
                is_cut = true;
                break;
            }
        };
        let path = path_text(&entry.path_bytes());
        let kind = entry.header().entry_type();
        let begin = entry.raw_file_position();
        let is_sparse = kind.is_gnu_sparse();
        let size = if is_sparse { entry.header().entry_size().unwrap_or(0) } else { entry.size() };
        let end = begin.saturating_add(size);
        next = begin.saturating_add(size.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX));
        let missing = end.saturating_sub(len);
        let cut = (missing > 0).then(|| cut_off(len, is_unpacked, &path, Some(missing)));
        if let Some(problem) = &cut {
            members.problems.push(format!("{problem}; everything before is read"));
            is_cut = true;
        }
        let content = if is_sparse {
            left.set(u64::MAX);
            Some(sparse_content(&mut entry, cut, &mut store, budget)?)
        } else if kind.is_file() || kind.is_contiguous() {
            Some(plain_content(bytes, begin, end, cut))
        } else {
            link_content(&entry)
        };
        if let Some(content) = content {
            members.insert(&path, content, budget)?;
        }
        last = path;
        left.set(MOST_OF_HEADER);
    }
    if !is_cut && next >= len {
        let unpacked = if is_unpacked { " of the unpacked data" } else { "" };
        members.problems.push(format!(
            "the tar archive lacks an end mark after the member {last:?}: it may be truncated there, at byte \
            {len}{unpacked}"
        ));
    }
    let unpacked = store.finish(budget)?;
    Ok(members.finish(&unpacked, len))
}

/// Returns the content of a link.
fn link_content(entry: &tar::Entry<'_, impl Read>) -> Option<MemberContent> {
    let kind = entry.header().entry_type();
    let target = entry.link_name_bytes().filter(|_| kind.is_hard_link() || kind.is_symlink())?;
    Some(MemberContent::Link(Box::new(MemberLink {
        target: path_text(&target),
        is_hard: kind.is_hard_link(),
    })))
}

/// Reads a sparse file. Its content is not a contiguous part of the archive.
fn sparse_content(
    entry: &mut tar::Entry<'_, impl Read>,
    cut: Option<String>,
    store: &mut Store,
    budget: &mut UnpackBudget<'_>,
) -> Result<MemberContent, IoError> {
    budget.allows(entry.size())?;
    let begin = store.len();
    let error = store.read(entry, budget)?;
    let content = MemberContent::Unpacked(begin..store.len());
    Ok(match (cut, error) {
        (Some(problem), _) => content.cut(problem),
        (None, Some(error)) => MemberContent::Broken(error.to_string().into()),
        (None, None) => content,
    })
}

/// Returns the content of a plain file, which is a part of the archive.
fn plain_content(bytes: &Bytes, begin: u64, end: u64, cut: Option<String>) -> MemberContent {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    bytes.slice(place(begin)..place(begin).saturating_add(1)).release();
    let content = MemberContent::Bytes(bytes.slice(place(begin)..place(end)));
    match cut {
        Some(problem) => content.cut(problem),
        None => content,
    }
}

/// Reads the members of a compressed tar archive, at most the first `beginning` bytes of each. All data is unpacked,
/// since this is the only way to the later members, but nothing else is kept. Data after the start of the last member
/// is skipped if the total size (see [`recorded_size`]) shows that it is the last one. `None` if anything is unusual,
/// damaged or truncated. The whole archive must then be read.
pub(crate) fn beginnings(
    bytes: &[u8],
    packing: Packing,
    beginning: u64,
    budget: &mut UnpackBudget<'_>,
) -> Result<Option<ArchiveMembers>, IoError> {
    let mut members = ArchiveMembers::default();
    let mut store = Store::default();
    let passed = Rc::new(Cell::new(0));
    let consumed = Rc::new(Cell::new(0));
    let packed = Counting { reader: bytes, counter: Rc::clone(&consumed) };
    let reader = Counting { reader: decoder(packing, packed, budget)?, counter: Rc::clone(&passed) };
    let allowance = Rc::new(Cell::new(MOST_OF_HEADER));
    let mut archive = tar::Archive::new(LimitedReader { reader, left: Rc::clone(&allowance) });
    let total_size = recorded_size(packing, bytes);
    let Ok(entries) = archive.entries() else { return Ok(None) };
    let mut next = 0;
    let mut is_over = false;
    for (count, entry) in entries.enumerate() {
        if count >= budget.options.limits.entries {
            return Err(too_many(budget.path, &budget.options.limits));
        }
        let Ok(mut entry) = entry else { return Ok(None) };
        let path = path_text(&entry.path_bytes());
        let kind = entry.header().entry_type();
        let size = entry.size();
        let whole = size.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX);
        let end = entry.raw_file_position().saturating_add(whole);
        allowance.set(u64::MAX);
        let content = if kind.is_file() || kind.is_contiguous() {
            let begin = store.len();
            if store.read_beginning(&mut entry, Some(beginning), budget)?.is_some() {
                return Ok(None);
            }
            let content = MemberContent::Unpacked(begin..store.len());
            let left = size.saturating_sub(store.len() - begin);
            is_over = left > 0 && is_last(end, total_size);
            if !is_over && !skip(&mut entry, left, &consumed, budget)? {
                return Ok(None);
            }
            if left > 0 { MemberContent::Beginning(Box::new((content, size))) } else { content }
        } else if let Some(link) = link_content(&entry) {
            link
        } else if kind.is_dir() {
            allowance.set(MOST_OF_HEADER);
            continue;
        } else {
            return Ok(None);
        };
        members.insert(&path, content, budget)?;
        next = end;
        allowance.set(MOST_OF_HEADER);
        if is_over {
            break;
        }
    }
    allowance.set(u64::MAX);
    // An end mark follows the last member, and only the end of the data shows that both are complete.
    if !is_over
        && (passed.get() <= next
            || io::copy(&mut archive.into_inner().take(1 << 20), &mut io::sink()).is_err())
    {
        return Ok(None);
    }
    let unpacked = store.finish(budget)?;
    let members = members.finish(&unpacked, passed.get());
    Ok(Some(members).filter(|members| members.problems.is_empty()))
}

/// Returns `true` if the member with this end is the last one, by the archive size modulo 2^32.
fn is_last(end: u64, total_size: Option<u32>) -> bool {
    // Less than a header and an end mark of two blocks, and a whole number of blocks.
    total_size.is_some_and(|size| size.wrapping_sub(end as u32) < 3 * BLOCK as u32)
}

/// Reads the rest of a member without keeping it. Returns `false` if there are fewer than `left` bytes. `consumed` is
/// the number of compressed bytes that were read.
fn skip(
    entry: &mut impl Read,
    mut left: u64,
    consumed: &Cell<u64>,
    budget: &mut UnpackBudget<'_>,
) -> Result<bool, IoError> {
    if left == 0 {
        return Ok(true);
    }
    let mut rest = [0; 16 << 10];
    while left > 0 {
        let Ok(read @ 1..) = entry.read(&mut rest) else { return Ok(false) };
        budget.arrived(Some(consumed.get()));
        budget.take(read as u64)?;
        left = left.saturating_sub(read as u64);
    }
    Ok(true)
}

/// Describes a member whose header cannot be read.
fn broken_off(at: u64, len: u64, is_unpacked: bool, last: &str, error: &io::Error) -> String {
    let unpacked = if is_unpacked { " of the unpacked data" } else { "" };
    // A header can consist of several blocks, the last of which is truncated.
    let error = if at.saturating_add(BLOCK) > len || error.kind() == io::ErrorKind::UnexpectedEof {
        format!("it is truncated at byte {len}{unpacked}, within the header of a member")
    } else {
        format!("{error}, at byte {at}{unpacked}")
    };
    format!("the tar archive is broken after the member {last:?}: {error}; everything before is read")
}
