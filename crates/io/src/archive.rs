//! Archive members.

use std::ops::Range;

use crate::unpack_budget::UnpackBudget;
use crate::{Bytes, IoError, IoLimits};

/// Maximum number of listed member problems. Further problems are only counted.
const LISTED: usize = 100;

/// Member content.
#[derive(Clone, Debug)]
pub(crate) enum MemberContent {
    /// A part of the archive itself.
    Bytes(Bytes),
    /// A part of the unpacked data.
    Unpacked(Range<u64>),
    /// Only the start, and the reason.
    Cut(Box<(MemberContent, String)>),
    /// Only the start, as requested, and the total size.
    Beginning(Box<(MemberContent, u64)>),
    /// The reason why it cannot be read.
    Broken(Box<str>),
    Link(Box<MemberLink>),
    /// Content of the link target.
    Linked(Box<Self>),
}

impl MemberContent {
    pub(crate) fn cut(self, problem: String) -> Self {
        Self::Cut(Box::new((self, problem)))
    }

    /// Replaces ranges of the unpacked data by parts of `unpacked`.
    fn in_place(self, unpacked: &Bytes) -> Self {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        match self {
            Self::Unpacked(range) => Self::Bytes(unpacked.slice(place(range.start)..place(range.end))),
            Self::Cut(cut) => cut.0.in_place(unpacked).cut(cut.1),
            Self::Linked(content) => Self::Linked(Box::new(content.in_place(unpacked))),
            Self::Beginning(beginning) => {
                Self::Beginning(Box::new((beginning.0.in_place(unpacked), beginning.1)))
            }
            other => other,
        }
    }
}

/// Archive content.
#[derive(Default)]
pub(crate) struct ArchiveMembers {
    /// Files by path. Paths do not contain `.` and `..`.
    pub(crate) files: Vec<(String, MemberContent)>,
    /// Problems with the archive as a whole.
    pub(crate) problems: Vec<String>,
    /// Problems with single members, and the number of unlisted problems.
    listed: Vec<String>,
    more: usize,
}

impl ArchiveMembers {
    pub(crate) fn insert(
        &mut self,
        path: &str,
        content: MemberContent,
        budget: &UnpackBudget<'_>,
    ) -> Result<(), IoError> {
        match sanitized_path(path) {
            SanitizedPath::Path(path) => self.files.push((path, content)),
            SanitizedPath::Root => {}
            SanitizedPath::Outside => {
                self.add_problem(|| {
                    format!("skipped the member {path:?}: its path leads out of the archive")
                });
            }
        }
        if self.files.len() + self.listed.len() + self.more > budget.options.limits.entries {
            return Err(too_many(budget.path, &budget.options.limits));
        }
        Ok(())
    }

    /// Adds a problem with a member.
    pub(crate) fn add_problem(&mut self, problem: impl FnOnce() -> String) {
        if self.listed.len() < LISTED {
            self.listed.push(problem());
        } else {
            self.more += 1;
        }
    }

    /// Returns all members. Unpacked content consists of parts of `unpacked`, and links have the content of their
    /// targets. `bytes` is the archive size, which bounds the cost of following links.
    pub(crate) fn finish(mut self, unpacked: &Bytes, bytes: u64) -> Self {
        // As when unpacking, the later of two members with the same name wins.
        self.files.reverse();
        self.files.sort_by(|a, b| a.0.cmp(&b.0));
        self.files.dedup_by(|later, first| later.0 == first.0);
        self.follow_links(bytes);
        self.files.shrink_to_fit();
        for (_, content) in &mut self.files {
            let found = std::mem::replace(content, MemberContent::Broken(Box::default()));
            *content = found.in_place(unpacked);
        }
        self.problems.append(&mut self.listed);
        if self.more > 0 {
            let more = std::mem::take(&mut self.more);
            self.problems.push(format!("skipped {more} more members for similar reasons"));
        }
        self
    }
}

pub(crate) fn too_many(path: &str, limits: &IoLimits) -> IoError {
    IoError::Limit {
        path: path.to_owned(),
        what: "the number of files",
        name: "entries",
        limit: limits.entries as u64,
    }
}

/// Describes a member that is cut off by the end of the archive at `end`.
pub(crate) fn cut_off(end: u64, is_unpacked: bool, path: &str, missing: Option<u64>) -> String {
    let unpacked = if is_unpacked { " of the unpacked data" } else { "" };
    let missing = missing.map(|missing| format!(": {missing} bytes are missing"));
    format!(
        "the archive is truncated at byte {end}{unpacked}, within the member {path:?}{}",
        missing.unwrap_or_default()
    )
}

/// Converts a path to text. A byte that is not UTF-8 becomes U+FFFD and its value. Otherwise, two paths could become
/// equal and hide a member.
pub(crate) fn path_text(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push(char::REPLACEMENT_CHARACTER);
            text.push_str(&format!("{byte:02x}"));
        }
    }
    text
}

enum SanitizedPath {
    Path(String),
    /// The archive's root.
    Root,
    Outside,
}

/// Converts the path of a member to a path relative to the archive's root.
fn sanitized_path(path: &str) -> SanitizedPath {
    let mut names = String::with_capacity(path.len());
    for name in path.split(SEPARATORS) {
        match name {
            "" | "." => {}
            ".." => return SanitizedPath::Outside,
            name => {
                if !names.is_empty() {
                    names.push('/');
                }
                names.push_str(name);
            }
        }
    }
    if names.is_empty() { SanitizedPath::Root } else { SanitizedPath::Path(names) }
}

/// Path separators.
pub(crate) const SEPARATORS: [char; 2] = ['/', '\\'];

/// A member that refers to another member.
#[derive(Clone, Debug)]
pub(crate) struct MemberLink {
    pub(crate) target: String,
    /// `true` if the target is relative to the archive's root instead of the link's directory.
    pub(crate) is_hard: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let path = |path| match sanitized_path(path) {
            SanitizedPath::Path(path) => path,
            SanitizedPath::Root => "(root)".to_owned(),
            SanitizedPath::Outside => "(outside)".to_owned(),
        };
        assert_eq!(path("./a//b/./c"), "a/b/c");
        assert_eq!(path("/etc/passwd"), "etc/passwd");
        assert_eq!(path("a/../../b"), "(outside)");
        assert_eq!(path("..\\b"), "(outside)");
        assert_eq!(path("a/.git/x"), "a/.git/x");
        assert_eq!(path("./"), "(root)");
    }

    #[test]
    fn paths_that_are_not_utf_8_stay_different() {
        assert_eq!(path_text("a/é".as_bytes()), "a/é");
        assert_eq!(path_text(b"chan_\xe8/\xff\xe2\x80"), "chan_\u{fffd}e8/\u{fffd}ff\u{fffd}e2\u{fffd}80");
    }
}
