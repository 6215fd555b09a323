//! Links in archives.

use std::borrow::Cow;

use crate::archive::{ArchiveMembers, MemberContent, MemberLink, SEPARATORS};

/// Maximum number of links in a row. More links are treated as a cycle.
const MOST_LINKS: u32 = 40;
/// Path bytes that may be examined for each byte of the archive, with a fixed minimum. Without this limit, links to
/// links to links can take long.
const WORK_PER_BYTE: u64 = 16;
const WORK_ANYWAY: u64 = 1 << 20;

/// Link target.
#[derive(Debug, PartialEq, Eq)]
enum LinkTarget {
    /// The member with this index.
    File(usize),
    /// A directory. Its files are read at their own paths.
    Directory,
    Missing(String),
    Outside,
    Circle,
    /// Unknown, because too many links were followed.
    Unknown,
}

impl ArchiveMembers {
    /// Replaces links by the content of their targets. Links without a target become broken, and links out of the
    /// archive are dropped. `bytes` is the archive size.
    pub(crate) fn follow_links(&mut self, bytes: u64) {
        let mut work = bytes.saturating_mul(WORK_PER_BYTE).saturating_add(WORK_ANYWAY);
        let links = self.files.iter().enumerate().filter_map(|(i, (path, content))| match content {
            MemberContent::Link(link) => Some((i, follow(&self.files, path, link, &mut work))),
            _ => None,
        });
        let targets: Vec<(usize, LinkTarget)> = links.collect();
        for (i, target) in targets {
            let content = match target {
                LinkTarget::File(file) => {
                    self.files.get(file).map(|(_, content)| MemberContent::Linked(Box::new(content.clone())))
                }
                LinkTarget::Missing(target) => Some(MemberContent::Broken(
                    format!("the link leads to {target:?}, which is not in the archive").into(),
                )),
                LinkTarget::Directory => None,
                LinkTarget::Outside => self.leave_out(i, "it leads out of the archive"),
                LinkTarget::Circle => self.leave_out(i, "it is part of a cycle"),
                LinkTarget::Unknown => self.leave_out(i, "too many links to links"),
            };
            if let (Some(content), Some(file)) = (content, self.files.get_mut(i)) {
                file.1 = content;
            }
        }
        self.files.retain(|(_, content)| !matches!(content, MemberContent::Link(_)));
    }

    fn leave_out(&mut self, index: usize, reason: &str) -> Option<MemberContent> {
        let (path, target) = match self.files.get(index)? {
            (path, MemberContent::Link(link)) => (path.clone(), link.target.clone()),
            _ => return None,
        };
        self.add_problem(|| format!("skipped the link {path:?} to {:?}: {reason}", beginning(&target)));
        None
    }
}

/// Displayed part of a target, which can have any length.
fn beginning(target: &str) -> Cow<'_, str> {
    const SHOWN: usize = 200;
    match target.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &target[..end]).into(),
        None => target.into(),
    }
}

/// Follows a link. `files` must be sorted by path.
fn follow(files: &[(String, MemberContent)], path: &str, link: &MemberLink, work: &mut u64) -> LinkTarget {
    let find = |path: &str| files.binary_search_by(|(other, _)| other.as_str().cmp(path));
    let mut names: Vec<&str> = path.split('/').collect();
    let mut rest: Vec<&str> = Vec::new();
    let mut next = Some(link);
    let mut links = 0;
    loop {
        if let Some(link) = next.take() {
            links += 1;
            if links > MOST_LINKS {
                return LinkTarget::Circle;
            }
            // Remove the name of the link itself.
            names.pop();
            if link.is_hard {
                names.clear();
            } else if link.target.starts_with(SEPARATORS) {
                return LinkTarget::Outside;
            }
            match work.checked_sub(link.target.len() as u64) {
                Some(left) => *work = left,
                None => return LinkTarget::Unknown,
            }
            rest.extend(link.target.rsplit(SEPARATORS));
        }
        let Some(name) = rest.pop() else { break };
        match name {
            "" | "." => continue,
            ".." if names.pop().is_none() => return LinkTarget::Outside,
            ".." => continue,
            name => names.push(name),
        }
        let path = names.join("/");
        match work.checked_sub(path.len() as u64) {
            Some(left) => *work = left,
            None => return LinkTarget::Unknown,
        }
        if let Some((_, MemberContent::Link(link))) = find(&path).ok().and_then(|at| files.get(at)) {
            next = Some(link);
        }
    }
    let path = names.join("/");
    match find(&path) {
        Ok(file) => LinkTarget::File(file),
        Err(_) if path.is_empty() => LinkTarget::Directory,
        Err(_) => {
            let below = path.clone() + "/";
            let (Ok(after) | Err(after)) = find(&below);
            match files.get(after) {
                Some((file, _)) if file.starts_with(&below) => LinkTarget::Directory,
                _ => LinkTarget::Missing(path),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    /// Members by path: `=X` is a hard link to X, `>X` a symbolic link, anything else is content.
    fn members(files: &[(&str, &str)]) -> ArchiveMembers {
        let content = |text: &str| match text.split_at_checked(1) {
            Some((kind @ ("=" | ">"), target)) => {
                MemberContent::Link(Box::new(MemberLink { target: target.to_owned(), is_hard: kind == "=" }))
            }
            _ => MemberContent::Bytes(Bytes::from(text.as_bytes().to_vec())),
        };
        let mut members = ArchiveMembers::default();
        members.files = files.iter().map(|(path, text)| ((*path).to_owned(), content(text))).collect();
        members
    }

    /// Files and problems after links were followed.
    fn followed(files: &[(&str, &str)], bytes: u64) -> (Vec<String>, Vec<String>) {
        let members = members(files).finish(&Bytes::default(), bytes);
        let place = |content: &MemberContent| match content {
            MemberContent::Linked(content) => (**content).clone(),
            other => other.clone(),
        };
        let shown = members.files.iter().map(|(path, content)| match place(content) {
            MemberContent::Bytes(bytes) => format!("{path}: {}", String::from_utf8_lossy(&bytes)),
            MemberContent::Broken(problem) => format!("{path}: {problem}"),
            other => format!("{path}: {other:?}"),
        });
        (shown.collect(), members.problems)
    }

    #[test]
    fn links_lead_to_what_is_inside() {
        let (files, problems) = followed(
            &[
                ("real/chan_0", "zero"),
                ("real/.hidden", "below"),
                ("t/chan_0", ">../real/chan_0"),
                ("t/chan_1", "=real/chan_0"),
                ("t/chan_2", ">./chan_1"),
                ("t/chan_3", ">../dir/./chan_0"),
                ("t/chan_4", ">../real/.hidden"),
                ("dir", ">real"),
                ("root", ">."),
                ("t/gone", ">../real/chan_9"),
            ],
            0,
        );
        assert_eq!(
            files,
            [
                "real/.hidden: below",
                "real/chan_0: zero",
                "t/chan_0: zero",
                "t/chan_1: zero",
                "t/chan_2: zero",
                "t/chan_3: zero",
                "t/chan_4: below",
                "t/gone: the link leads to \"real/chan_9\", which is not in the archive",
            ]
        );
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn links_that_leave_are_named() {
        let (files, problems) = followed(
            &[
                ("a/x", ">../../x"),
                ("b", ">/etc/passwd"),
                ("c", ">d"),
                ("d", ">c"),
                ("e", ">e/f"),
                ("f", "=../f"),
            ],
            0,
        );
        assert!(files.is_empty(), "{files:?}");
        assert_eq!(problems.len(), 6, "{problems:?}");
        assert_eq!(problems[0], "skipped the link \"a/x\" to \"../../x\": it leads out of the archive");
        assert_eq!(problems[2], "skipped the link \"c\" to \"d\": it is part of a cycle");
    }

    #[test]
    fn many_links_take_little() {
        // Each link leads through all previous links, and each name in a long path is looked up.
        let target = format!(">{}x", "d/../".repeat(100_000));
        let mut files: Vec<(String, &str)> = (0..200).map(|i| (format!("l{i}"), target.as_str())).collect();
        files.push(("x".to_owned(), "content"));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let most = std::time::Duration::from_secs(10);
        let (files, problems) = ichnos_testing::in_cpu_time(most, "links", || followed(&files, 1000));
        assert_eq!((files.len(), problems.len()), (2, 101), "{files:?}");
        assert!(problems[0].ends_with("too many links to links"), "{}", problems[0]);
        assert!(problems[0].len() < 400, "{}", problems[0].len());
    }
}
