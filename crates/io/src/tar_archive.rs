//! Tar archives.

use std::io::Cursor;

use crate::archive::{Content, Members, cut_off, too_many};
use crate::decompress::{Budget, Packing};
use crate::links::Link;
use crate::store::Store;
use crate::{Bytes, IoError};

const BLOCK: u64 = 512;

/// The members of a tar archive. They are parts of `bytes`: nothing is copied but sparse files.
/// `is_unpacked`: the archive was compressed.
pub(crate) fn members(bytes: &Bytes, is_unpacked: bool, budget: &mut Budget<'_>) -> Result<Members, IoError> {
    let mut members = Members::default();
    let mut store = Store::default();
    let mut archive = tar::Archive::new(Cursor::new(&**bytes));
    let entries = archive.entries_with_seek().map_err(|error| budget.damaged(Packing::Tar.name(), error))?;
    let len = bytes.len() as u64;
    let mut count = 0;
    // Where the next header is, behind which member.
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
                // There is no next header to look for: what was found before is kept.
                members.problems.push(broken_off(next, len, is_unpacked, &last, &error));
                is_cut = true;
                break;
            }
        };
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        let begin = entry.raw_file_position();
        let is_sparse = kind.is_gnu_sparse();
        let size = if is_sparse { entry.header().entry_size().unwrap_or(0) } else { entry.size() };
        let end = begin.saturating_add(size);
        next = begin.saturating_add(size.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX));
        let missing = end.saturating_sub(len);
        let cut = (missing > 0).then(|| cut_off(len, is_unpacked, &path, Some(missing)));
        if let Some(problem) = &cut {
            members.problems.push(format!("{problem}; what comes before is read"));
            is_cut = true;
        }
        let content = if is_sparse {
            budget.allows(entry.size())?;
            let begin = store.len();
            let error = store.read(&mut entry, budget)?;
            let content = Content::Unpacked(begin..store.len());
            match (cut, error) {
                (Some(problem), _) => Some(content.cut(problem)),
                (None, Some(error)) => Some(Content::Broken(error.to_string().into())),
                (None, None) => Some(content),
            }
        } else if kind.is_file() || kind.is_contiguous() {
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let content = Content::Bytes(bytes.slice(place(begin)..place(end)));
            Some(match cut {
                Some(problem) => content.cut(problem),
                None => content,
            })
        } else if (kind.is_hard_link() || kind.is_symlink())
            && let Some(target) = entry.link_name_bytes()
        {
            let target = String::from_utf8_lossy(&target).into_owned();
            Some(Content::Link(Box::new(Link { target, is_hard: kind.is_hard_link() })))
        } else {
            None
        };
        if let Some(content) = content {
            members.insert(&path, content, budget)?;
        }
        last = path;
    }
    if !is_cut && next >= len {
        let unpacked = if is_unpacked { " of what was unpacked" } else { "" };
        members.problems.push(format!(
            "the tar archive has no end mark behind the member {last:?}: it may be truncated there, at byte \
             {len}{unpacked}"
        ));
    }
    let unpacked = store.finish(budget)?;
    Ok(members.finish(&unpacked, len))
}

/// What is wrong where no header of a member can be read.
fn broken_off(at: u64, len: u64, is_unpacked: bool, last: &str, error: &std::io::Error) -> String {
    let unpacked = if is_unpacked { " of what was unpacked" } else { "" };
    // A header can be several blocks; the last of them is cut off.
    let error = if at.saturating_add(BLOCK) > len || error.kind() == std::io::ErrorKind::UnexpectedEof {
        format!("it is truncated: it ends at byte {len}{unpacked}, within the header of a member")
    } else {
        format!("{error}, at byte {at}{unpacked}")
    };
    format!("the tar archive breaks off behind the member {last:?}: {error}; what comes before is read")
}
