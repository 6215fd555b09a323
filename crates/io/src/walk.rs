//! All files below a directory.
//!
//! Each directory is listed once, however many paths lead to it. Symbolic links to directories are followed after all
//! real directories. A link to a directory that is already listed becomes an entry that refers to it
//! ([`Entry::repeats`]). So links to each other are examined once each, however many paths they form. A link to a file
//! is a file at the path of the link. Links to directories outside the root are followed on request.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::IntoIter;

use crate::entry::{EntrySource, FileId};
use crate::plain_file::special;
use crate::problem::TreeProblem;
use crate::tree_options::TreeOptions;
use crate::{Entry, IoError, IoLimits, ScanProgress, ScanStep};

/// Walks through the directories below a root.
pub(crate) struct Walk<'a> {
    name: &'a str,
    limits: &'a IoLimits,
    /// Maximum depth, without a message about deeper directories.
    depth: Option<u32>,
    /// Follow links to directories outside the root.
    follow_links: bool,
    /// Root path without links; only set if links out of it are not followed.
    root: Option<PathBuf>,
    /// Unfollowed links out of the root: their number, and the first link.
    left_out: Option<(u64, String)>,
    progress: &'a ScanProgress,
    entries: Vec<Entry>,
    problems: Vec<TreeProblem>,
    /// Listed path of each directory.
    directories: HashMap<FileId, String>,
    /// Symbolic links by depth and path, with the path to open. The shortest path to a directory is used.
    links: BTreeMap<(u32, String), PathBuf>,
}

/// A directory whose items are being read.
struct OpenDirectory {
    place: Arc<Path>,
    path: String,
    depth: u32,
    items: IntoIter<Item>,
}

struct Item {
    name: OsString,
    kind: Option<FileType>,
}

impl Item {
    /// Sorts items by the paths of all files below them. The content of a directory comes after items whose names
    /// continue its name with a character before `/`.
    fn order(&self, other: &Self) -> Ordering {
        let (a, b) = (self.name.as_encoded_bytes(), other.name.as_encoded_bytes());
        let common = a.len().min(b.len());
        let next = |item: &Self, name: &[u8]| {
            let is_directory = item.kind.is_some_and(|kind| kind.is_dir());
            name.get(common).copied().or(is_directory.then_some(b'/'))
        };
        a[..common].cmp(&b[..common]).then_with(|| next(self, a).cmp(&next(other, b)))
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(name: &'a str, options: &'a TreeOptions) -> Self {
        Self {
            name,
            limits: &options.limits,
            depth: options.depth,
            follow_links: options.follow_links,
            root: None,
            left_out: None,
            progress: &options.progress,
            entries: Vec::new(),
            problems: Vec::new(),
            directories: HashMap::new(),
            links: BTreeMap::new(),
        }
    }

    /// Lists all files below `root`, sorted by path, and the directories that cannot be read.
    ///
    /// # Errors
    /// Fails if the root cannot be read, or the limits are exceeded.
    pub(crate) fn directory(mut self, root: &Path) -> Result<(Vec<Entry>, Vec<TreeProblem>), IoError> {
        fs::read_dir(root).map_err(|error| IoError::system(self.name, "directory", error))?;
        // A link-free root path, so that targets can be compared with it.
        self.root = if self.follow_links { None } else { fs::canonicalize(root).ok() };
        self.descend(root.into(), String::new(), 0)?;
        while let Some(((depth, path), place)) = self.links.pop_first() {
            self.follow(path, place, depth)?;
        }
        if let Some((count, first)) = &self.left_out {
            let text = match count {
                1 => format!("{first}: a link to a directory elsewhere, not followed"),
                _ => format!("{count} links to directories elsewhere, not followed: {first} and others"),
            };
            self.problems.push(TreeProblem::new(text).leading_out());
        }
        // Sorted already, except for link targets.
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((self.entries, self.problems))
    }

    /// Adds the target of a symbolic link.
    fn follow(&mut self, path: String, place: PathBuf, depth: u32) -> Result<(), IoError> {
        let metadata = match fs::metadata(&place) {
            Ok(metadata) => metadata,
            Err(error) => {
                let problem = format!("broken symbolic link: {error}");
                return self.add(Entry::from_source(path, EntrySource::Broken(problem)));
            }
        };
        if metadata.is_dir() {
            // Otherwise, a chain of links would become a path with too many links.
            let place = fs::canonicalize(&place).unwrap_or(place);
            if self.root.as_ref().is_some_and(|root| !place.starts_with(root)) {
                let (count, _) = self.left_out.get_or_insert((0, path));
                *count += 1;
                return Ok(());
            }
            return self.descend(place.into(), path, depth);
        }
        if !metadata.is_file() {
            return self.add(Entry::from_source(path, EntrySource::Special(special(metadata.file_type()))));
        }
        let (Some(directory), Some(name)) = (place.parent(), place.file_name()) else { return Ok(()) };
        let file = EntrySource::File { directory: directory.into(), name: name.into(), is_link: true };
        self.add(Entry { len: Some(metadata.len()), ..Entry::from_source(path, file) })
    }

    /// Adds a directory and everything below it, except for link targets.
    fn descend(&mut self, place: Arc<Path>, path: String, depth: u32) -> Result<(), IoError> {
        let mut levels = Vec::new();
        levels.extend(self.list(place, path, depth)?);
        while let Some(level) = levels.last_mut() {
            let Some(Item { name, kind }) = level.items.next() else {
                levels.pop();
                continue;
            };
            let shown = name.to_string_lossy();
            let path =
                if level.path.is_empty() { shown.into_owned() } else { format!("{}/{shown}", level.path) };
            match kind {
                Some(kind) if kind.is_dir() => {
                    let (place, depth) = (level.place.join(name), level.depth + 1);
                    levels.extend(self.list(place.into(), path, depth)?);
                }
                Some(kind) if kind.is_symlink() => {
                    self.links.insert((level.depth + 1, path), level.place.join(name));
                    self.count(self.links.len())?;
                }
                Some(kind) if !kind.is_file() => {
                    self.add(Entry::from_source(path, EntrySource::Special(special(kind))))?;
                }
                // If the system does not provide the type, it is determined when reading.
                _ => {
                    let (directory, name) = (Arc::clone(&level.place), name.into());
                    let file = EntrySource::File { directory, name, is_link: false };
                    self.add(Entry::from_source(path, file))?;
                }
            }
        }
        Ok(())
    }

    /// Lists a directory. Returns `None` if it is skipped.
    fn list(&mut self, place: Arc<Path>, path: String, depth: u32) -> Result<Option<OpenDirectory>, IoError> {
        self.progress.report(ScanStep::Files(self.entries.len() as u64));
        if self.depth.is_some_and(|most| depth > most) {
            return Ok(None);
        }
        let shown = if path.is_empty() { "." } else { &path };
        if depth > self.limits.depth {
            let limit = self.limits.depth;
            let problem = TreeProblem::new(format!("{shown}: skipped: more than {limit} directories deep"));
            self.problems.push(problem.at_limit("depth"));
            return Ok(None);
        }
        if let Some(id) = FileId::from_path(&place) {
            if let Some(first) = self.directories.get(&id) {
                // The enclosing directory is read as a whole anyway.
                let is_loop = path
                    .strip_prefix(first.as_str())
                    .is_some_and(|rest| first.is_empty() || rest.starts_with('/'));
                let first = first.clone();
                if !is_loop {
                    self.add(Entry::from_source(path, EntrySource::Repeated(first)))?;
                }
                return Ok(None);
            }
            self.directories.insert(id, path.clone());
        }
        let mut items = Vec::new();
        match fs::read_dir(&place) {
            Ok(list) => {
                for item in list {
                    match item {
                        Ok(item) => {
                            items.push(Item { name: item.file_name(), kind: item.file_type().ok() });
                            self.count(items.len())?;
                        }
                        Err(error) => {
                            self.cannot_read(shown, &error);
                            break;
                        }
                    }
                }
            }
            Err(error) => self.cannot_read(shown, &error),
        }
        items.sort_by(Item::order);
        Ok(Some(OpenDirectory { place, path, depth, items: items.into_iter() }))
    }

    fn cannot_read(&mut self, shown: &str, error: &io::Error) {
        self.problems.push(TreeProblem::new(format!("{shown}: cannot read the directory: {error}")));
    }

    fn add(&mut self, entry: Entry) -> Result<(), IoError> {
        self.entries.push(entry);
        self.count(0)
    }

    fn count(&self, more: usize) -> Result<(), IoError> {
        if self.entries.len() + more > self.limits.entries {
            return Err(IoError::Limit {
                path: self.name.to_owned(),
                what: "the number of files",
                name: "entries",
                limit: self.limits.entries as u64,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::testing::TestDirectory;

    fn paths(tree: &Tree) -> Vec<&str> {
        tree.entries.iter().map(|entry| entry.path.as_str()).collect()
    }

    fn write(directory: &TestDirectory, paths: &[&str]) {
        for path in paths {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, path.to_string_lossy().as_bytes()).unwrap();
        }
    }

    /// Opens a directory, and follows all links.
    fn open(directory: &TestDirectory) -> Tree {
        let options = TreeOptions { follow_links: true, ..TreeOptions::default() };
        Tree::open_with(directory.path(), &options).unwrap()
    }

    #[test]
    fn walks_directories() {
        let directory = TestDirectory::new("walk");
        write(&directory, &["b/stream_1", "b/stream_0", "a/x/metadata", "a-b", "a.b/c", "metadata"]);
        let tree = open(&directory);
        assert_eq!(paths(&tree), ["a-b", "a.b/c", "a/x/metadata", "b/stream_0", "b/stream_1", "metadata"]);
        assert!(paths(&tree).is_sorted());
        assert_eq!((tree.entries[5].directory(), tree.entries[2].directory()), ("", "a/x"));
        assert!(tree.entries[2].read().unwrap().ends_with(b"a/x/metadata"));
        assert_eq!(tree.entries[2].len, None);
        assert_eq!(
            tree.entries[2].status().unwrap().size,
            directory.join("a/x/metadata").to_string_lossy().len() as u64
        );
        let limits = IoLimits { entries: 5, ..IoLimits::default() };
        assert!(matches!(Tree::open(directory.path(), &limits), Err(IoError::Limit { .. })));
        let limits = IoLimits { depth: 1, ..IoLimits::default() };
        let tree = Tree::open(directory.path(), &limits).unwrap();
        assert_eq!((tree.entries.len(), tree.problems.len()), (5, 1));
        let options = TreeOptions { depth: Some(0), ..TreeOptions::default() };
        let tree = Tree::open_with(directory.path(), &options).unwrap();
        assert_eq!((paths(&tree), tree.problems.len()), (vec!["a-b", "metadata"], 0));
    }

    #[test]
    fn hidden_names_are_taken_like_others() {
        let directory = TestDirectory::new("hidden");
        write(&directory, &[".git/config", ".hidden", "a/.b/metadata"]);
        assert_eq!(paths(&open(&directory)), [".git/config", ".hidden", "a/.b/metadata"]);
    }

    #[test]
    fn says_how_far_it_is() {
        use std::sync::Mutex;
        let directory = TestDirectory::new("progress");
        write(&directory, &["a/1", "b/2", "c/3"]);
        let steps = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&steps);
        let options = TreeOptions {
            progress: ScanProgress::new(move |step| taken.lock().unwrap().push(step)),
            ..TreeOptions::default()
        };
        Tree::open_with(directory.path(), &options).unwrap();
        let files = [0, 0, 1, 2].map(ScanStep::Files);
        assert_eq!(*steps.lock().unwrap(), files);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_files_where_they_stand() {
        use std::os::unix::fs::symlink;
        let directory = TestDirectory::new("links");
        write(&directory, &["real/file", "t/other"]);
        let outside = TestDirectory::new("links-outside");
        write(&outside, &["file"]);
        symlink(directory.join("real/file"), directory.join("t/copy")).unwrap();
        symlink("copy", directory.join("t/copy-of-copy")).unwrap();
        symlink(outside.path(), directory.join("out")).unwrap();
        symlink("nowhere", directory.join("broken")).unwrap();
        symlink("itself", directory.join("itself")).unwrap();
        let tree = open(&directory);
        assert_eq!(
            paths(&tree),
            ["broken", "itself", "out/file", "real/file", "t/copy", "t/copy-of-copy", "t/other"]
        );
        assert!(tree.entries[0].read().is_err() && tree.entries[1].read().is_err());
        let status = |i: usize| tree.entries[i].status().unwrap();
        assert!(status(3).identity.is_some());
        assert!([4, 5].into_iter().all(|i| status(i).identity == status(3).identity));
        assert_ne!(status(2).identity, status(3).identity);
        assert_eq!([3, 4, 5].map(|i| status(i).has_other_names), [false, true, true]);
        fs::hard_link(directory.join("real/file"), directory.join("hard")).unwrap();
        assert!(status(3).has_other_names);
        assert!(tree.entries[4].read().unwrap().ends_with(b"real/file"));
    }

    /// Links to directories elsewhere are followed on request only. A link to `/` would add all files on the machine.
    #[cfg(unix)]
    #[test]
    fn links_out_of_the_directory_are_problems() {
        use std::os::unix::fs::symlink;
        let directory = TestDirectory::new("links-out");
        write(&directory, &["real/file"]);
        symlink(directory.join("real/file"), directory.join("copy")).unwrap();
        symlink("real", directory.join("again")).unwrap();
        symlink("/", directory.join("machine")).unwrap();
        let options = TreeOptions::default();
        let tree = Tree::open_with(directory.path(), &options).unwrap();
        assert_eq!(paths(&tree), ["again", "copy", "real/file"]);
        let [problem] = &tree.problems[..] else { panic!("{:?}", tree.problems) };
        assert!(problem.leads_out);
        assert!(
            problem.message.ends_with("machine: a link to a directory elsewhere, not followed"),
            "{problem}"
        );
        // An opened path may itself be a link: it is not a link in the directory.
        let named = TestDirectory::new("links-named");
        symlink(directory.path(), named.join("name")).unwrap();
        let tree = Tree::open_with(&named.join("name"), &options).unwrap();
        assert_eq!((paths(&tree).len(), tree.problems.len()), (3, 1));
    }

    #[cfg(unix)]
    #[test]
    fn directories_are_listed_once() {
        use std::os::unix::fs::symlink;
        let directory = TestDirectory::new("loops");
        write(&directory, &["real/deep/file", "z/file"]);
        symlink(directory.path(), directory.join("real/deep/root")).unwrap();
        symlink("..", directory.join("real/deep/up")).unwrap();
        symlink("real", directory.join("again")).unwrap();
        symlink("../real/deep", directory.join("z/deep")).unwrap();
        let tree = open(&directory);
        // A link to an enclosing directory is a loop and is not reported.
        assert_eq!(paths(&tree), ["again", "real/deep/file", "z/deep", "z/file"]);
        let repeats: Vec<_> = tree.entries.iter().map(Entry::repeats).collect();
        assert_eq!(repeats, [Some("real"), None, Some("real/deep"), None]);
        assert!(tree.entries[0].read().unwrap_err().to_string().contains("a link to the directory `real`"));
        // Two names for an outside directory: it is listed at the first name.
        let outside = TestDirectory::new("loops-outside");
        write(&outside, &["file"]);
        let directory = TestDirectory::new("loops-two");
        symlink(outside.path(), directory.join("b")).unwrap();
        symlink(outside.path(), directory.join("a")).unwrap();
        let tree = open(&directory);
        assert_eq!(paths(&tree), ["a/file", "b"]);
        assert_eq!(tree.entries[1].repeats(), Some("a"));
    }

    /// 40 directories with a link to each of them, including itself: more paths than atoms.
    #[cfg(unix)]
    #[test]
    fn links_to_each_other_are_looked_at_once() {
        use std::os::unix::fs::symlink;
        const COUNT: usize = 40;
        let directory = TestDirectory::new("bomb");
        let outside = TestDirectory::new("bomb-outside");
        for root in [&directory, &outside] {
            for i in 0..COUNT {
                write(root, &[&format!("{i:02}/file")]);
                for j in 0..COUNT {
                    symlink(format!("../{j:02}"), root.join(format!("{i:02}/to-{j:02}"))).unwrap();
                }
            }
        }
        let files = |tree: &Tree| tree.files().count();
        let tree = open(&directory);
        assert_eq!((files(&tree), tree.entries.len()), (COUNT, COUNT * COUNT));
        // The same through a link.
        symlink(outside.join("00"), directory.join("00/out")).unwrap();
        let tree = open(&directory);
        assert_eq!(files(&tree), 2 * COUNT);
        assert_eq!(tree.problems, []);
        // A chain of 50 links, each in the target directory of the previous one.
        let directory = TestDirectory::new("chain");
        let outside = TestDirectory::new("chain-outside");
        for i in 0..50 {
            write(&outside, &[&format!("{i}/file")]);
            symlink(outside.join(format!("{}", i + 1)), outside.join(format!("{i}/next"))).unwrap();
        }
        symlink(outside.join("0"), directory.join("first")).unwrap();
        let tree = open(&directory);
        assert_eq!(
            (files(&tree), tree.entries.iter().filter(|entry| entry.read().is_ok()).count()),
            (51, 50)
        );
    }

    #[cfg(unix)]
    #[test]
    fn special_files_never_hang() {
        use std::os::unix::net::UnixListener;
        let directory = TestDirectory::new("special");
        let _socket = UnixListener::bind(directory.join("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/null", directory.join("device")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(directory.join("pipe")).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: mkfifo is missing");
            return;
        }
        let tree = open(&directory);
        let special: Vec<_> = tree.entries.iter().map(Entry::special).collect();
        assert_eq!(special, [Some("a device"), Some("a pipe"), Some("a socket")]);
        assert!(tree.entries[1].read().unwrap_err().to_string().contains("a pipe"));
        assert_eq!(tree.entries[1].status(), None);
        let device = Tree::open(Path::new("/dev/null"), &IoLimits::default()).unwrap_err();
        assert!(device.to_string().contains("found a device"), "{device}");
    }
}
