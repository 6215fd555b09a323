//! Zip archives.

use std::io::{self, Cursor, Read};

use zip::result::ZipError;

use crate::archive::{ArchiveMembers, MemberContent, MemberLink, cut_off, path_text, too_many};
use crate::decompress::Packing;
use crate::store::Store;
use crate::unpack_budget::UnpackBudget;
use crate::{Bytes, IoError};

/// Maximum path length of a link target.
const MOST_OF_PATH: u64 = 4096;

/// Reads the members of a zip archive. Stored members are used in place, and others are unpacked.
pub(crate) fn members(bytes: &Bytes, budget: &mut UnpackBudget<'_>) -> Result<ArchiveMembers, IoError> {
    let mut archive = match zip::ZipArchive::new(Cursor::new(&**bytes)) {
        Ok(archive) => archive,
        Err(error) => return without_list(bytes, &error, budget),
    };
    if archive.len() > budget.options.limits.entries {
        return Err(too_many(budget.path, &budget.options.limits));
    }
    let beginning = budget.options.beginning;
    let mut members = ArchiveMembers::default();
    let mut store = Store::default();
    // Members can overlap. They count as unpacked then.
    let mut stored = 0u64;
    for index in 0..archive.len() {
        let name = match archive.name_for_index(index) {
            Some(Ok(name)) => name.into_owned(),
            _ => format!("member {index}"),
        };
        let mut file = match archive.by_index(index) {
            Ok(file) if file.is_dir() => continue,
            Ok(file) => file,
            Err(error) => {
                members.insert(&name, broken(&error), budget)?;
                continue;
            }
        };
        if file.is_symlink() {
            members.insert(&name, link(&mut file), budget)?;
            continue;
        }
        let place = file.data_start().filter(|_| file.compression() == zip::CompressionMethod::Stored);
        let in_place = place.and_then(|begin| {
            let begin = usize::try_from(begin).ok()?;
            let len = usize::try_from(file.compressed_size()).ok()?;
            let end = begin.checked_add(len).filter(|end| *end <= bytes.len())?;
            Some(bytes.slice(begin..end))
        });
        if let Some(content) = in_place {
            let before = stored;
            stored = stored.saturating_add(content.len() as u64);
            budget.take(stored.saturating_sub((bytes.len() as u64).max(before)))?;
            if beginning.is_none() && crc32fast::hash(&content) != file.crc32() {
                members.add_problem(|| format!("the member {name:?} is damaged: wrong checksum"));
            }
            members.insert(&name, MemberContent::Bytes(content), budget)?;
            continue;
        }
        let begin = store.len();
        let content = match store.read_beginning(&mut file, beginning, budget)? {
            Some(error) => broken(&error),
            None => {
                let content = MemberContent::Unpacked(begin..store.len());
                let goes_on = beginning.is_some_and(|beginning| beginning < file.size());
                if goes_on { MemberContent::Beginning(Box::new((content, file.size()))) } else { content }
            }
        };
        members.insert(&name, content, budget)?;
    }
    // Free its member list, which is not small.
    drop(archive);
    let unpacked = store.finish(budget)?;
    Ok(members.finish(&unpacked, bytes.len() as u64))
}

fn broken(error: &dyn std::error::Error) -> MemberContent {
    MemberContent::Broken(format!("cannot be unpacked: {error}").into())
}

/// Reads the target of a symbolic link.
fn link(reader: &mut impl Read) -> MemberContent {
    let mut target = Vec::new();
    match reader.take(MOST_OF_PATH).read_to_end(&mut target) {
        Ok(_) => {
            let target = path_text(&target);
            MemberContent::Link(Box::new(MemberLink { target, is_hard: false }))
        }
        Err(error) => broken(&error),
    }
}

/// Reads the members of a zip archive with an unreadable list at its end. Each member also has its own header.
fn without_list(
    bytes: &Bytes,
    error: &ZipError,
    budget: &mut UnpackBudget<'_>,
) -> Result<ArchiveMembers, IoError> {
    let mut members = ArchiveMembers::default();
    let mut store = Store::default();
    let mut reader = Cursor::new(&**bytes);
    let len = bytes.len() as u64;
    let mut count = 0;
    // Reason why the search ended.
    let end = loop {
        count += 1;
        if count > budget.options.limits.entries {
            return Err(too_many(budget.path, &budget.options.limits));
        }
        let begin = reader.position();
        if begin == len {
            break format!("it ends at byte {len}, after a complete member");
        }
        let mut file = match zip::read::read_zipfile_from_stream(&mut reader) {
            Ok(Some(file)) => file,
            Ok(None) => break "all members that have a header are read".to_owned(),
            Err(ZipError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                break format!("it ends at byte {len}, within the header of a member");
            }
            Err(error) => break format!("no member can be read at byte {begin}: {error}"),
        };
        if file.is_dir() {
            continue;
        }
        let name = file.name().map_or_else(|_| format!("member {count}"), |name| name.into_owned());
        let begin = store.len();
        let size = file.size();
        let error = store.read(&mut file, budget)?;
        drop(file);
        let read = store.len() - begin;
        let content = MemberContent::Unpacked(begin..store.len());
        if reader.position() == len && (error.is_some() || read < size) {
            let problem = cut_off(len, false, &name, Some(size.saturating_sub(read)));
            members.insert(&name, content.cut(problem.clone()), budget)?;
            break problem;
        }
        members.insert(&name, error.map_or(content, |error| broken(&error)), budget)?;
    };
    if members.files.is_empty() {
        let problem = format!("it is truncated or damaged: {error}; {end}");
        return Err(budget.damaged(Packing::Zip.name(), problem));
    }
    members.problems.push(format!(
        "the zip archive is truncated, so the member list at its end cannot be read; {end}; everything before is read"
    ));
    let unpacked = store.finish(budget)?;
    Ok(members.finish(&unpacked, len))
}
