//! The members of archives.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use crate::decompress::{Budget, Packing};
use crate::{Bytes, IoError};

/// A member: its content, or why there is none.
pub(crate) type Content = Result<Bytes, String>;

/// What an archive holds: paths without `.` and `..`, hidden names left out.
#[derive(Default)]
pub(crate) struct Members {
    pub(crate) files: BTreeMap<String, Content>,
    /// What is wrong with the archive as a whole.
    pub(crate) problems: Vec<String>,
}

impl Members {
    fn insert(&mut self, path: &str, content: Content, budget: &Budget<'_>) -> Result<(), IoError> {
        match sanitised(path) {
            Sanitised::Path(path) => {
                // As unpacking would: of two members of a name the later one stays.
                self.files.insert(path, content);
            }
            Sanitised::Hidden => {}
            Sanitised::Outside => {
                self.problems
                    .push(format!("left out the member {path:?}: its path leads out of the archive"));
            }
        }
        if self.files.len() + self.problems.len() > budget.limits.entries {
            return Err(too_many(budget));
        }
        Ok(())
    }
}

pub(crate) fn too_many(budget: &Budget<'_>) -> IoError {
    IoError::Limit {
        path: budget.path.to_owned(),
        what: "the number of files",
        limit: budget.limits.entries as u64,
    }
}

enum Sanitised {
    Path(String),
    Hidden,
    Outside,
}

/// Makes the path of a member relative to the archive's root.
fn sanitised(path: &str) -> Sanitised {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split(['/', '\\']) {
        match name {
            "" | "." => {}
            ".." => return Sanitised::Outside,
            name if name.starts_with('.') => return Sanitised::Hidden,
            name => names.push(name),
        }
    }
    if names.is_empty() { Sanitised::Hidden } else { Sanitised::Path(names.join("/")) }
}

/// The members of a tar archive. They are parts of `bytes`: nothing is copied.
pub(crate) fn tar(bytes: &Bytes, budget: &mut Budget<'_>) -> Result<Members, IoError> {
    let mut members = Members::default();
    let mut links: Vec<(String, String)> = Vec::new();
    let mut archive = tar::Archive::new(Cursor::new(&**bytes));
    let damaged = |error: std::io::Error| IoError::Damaged {
        path: budget.path.to_owned(),
        what: Packing::Tar.name(),
        problem: error.to_string(),
    };
    let entries = archive.entries_with_seek().map_err(damaged)?;
    let mut count = 0;
    for entry in entries {
        count += 1;
        if count > budget.limits.entries {
            return Err(too_many(budget));
        }
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // There is no next header to look for: what was found before is kept.
                members
                    .problems
                    .push(format!("the tar archive breaks off: {error}; what comes before is read"));
                break;
            }
        };
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if kind.is_gnu_sparse() {
            budget.allows(entry.size())?;
            let (content, error) = budget.read(&mut entry)?;
            let content = match error {
                Some(error) => Err(error.to_string()),
                None => Ok(content.into()),
            };
            members.insert(&path, content, budget)?;
        } else if kind.is_file() || kind.is_contiguous() {
            let begin = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
            let end = begin.saturating_add(usize::try_from(entry.size()).unwrap_or(usize::MAX));
            if end > bytes.len() {
                let missing = end - bytes.len();
                members
                    .problems
                    .push(format!("the tar archive is cut off: {missing} bytes of {path:?} are missing"));
            }
            bytes.slice(begin..begin + 1).release();
            members.insert(&path, Ok(bytes.slice(begin..end)), budget)?;
        } else if kind.is_hard_link()
            && let Some(target) = entry.link_name_bytes()
        {
            links.push((path, String::from_utf8_lossy(&target).into_owned()));
        }
    }
    for (path, target) in links {
        let Sanitised::Path(target) = sanitised(&target) else { continue };
        if let Some(Ok(content)) = members.files.get(&target) {
            let content = content.clone();
            members.insert(&path, Ok(content), budget)?;
        }
    }
    Ok(members)
}

/// The members of a zip archive, unpacked.
pub(crate) fn zip(bytes: &Bytes, budget: &mut Budget<'_>) -> Result<Members, IoError> {
    let mut members = Members::default();
    let mut archive = zip::ZipArchive::new(Cursor::new(&**bytes)).map_err(|error| IoError::Damaged {
        path: budget.path.to_owned(),
        what: Packing::Zip.name(),
        problem: error.to_string(),
    })?;
    if archive.len() > budget.limits.entries {
        return Err(too_many(budget));
    }
    for index in 0..archive.len() {
        let name = match archive.name_for_index(index) {
            Some(Ok(name)) => name.into_owned(),
            _ => format!("member {index}"),
        };
        match archive.by_index(index) {
            Ok(mut file) => {
                if !file.is_file() {
                    continue;
                }
                let (content, error) = budget.read(file.by_ref())?;
                let content = match error {
                    Some(error) => Err(format!("cannot be unpacked: {error}")),
                    None => Ok(content.into()),
                };
                members.insert(&name, content, budget)?;
            }
            Err(error) => members.insert(&name, Err(format!("cannot be unpacked: {error}")), budget)?,
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let path = |path| match sanitised(path) {
            Sanitised::Path(path) => path,
            Sanitised::Hidden => "(hidden)".to_owned(),
            Sanitised::Outside => "(outside)".to_owned(),
        };
        assert_eq!(path("./a//b/./c"), "a/b/c");
        assert_eq!(path("/etc/passwd"), "etc/passwd");
        assert_eq!(path("a/../../b"), "(outside)");
        assert_eq!(path("..\\b"), "(outside)");
        assert_eq!(path("a/.git/x"), "(hidden)");
        assert_eq!(path("./"), "(hidden)");
    }
}
