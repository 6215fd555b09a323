//! Finds the trace that contains a path, for a path to a single file of a trace.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ichnos_io::{Bytes, EnclosingTrace, Entry, Hint, ReadOptions, Tree};

use crate::OpenOptions;

/// Input path with the trace to open for it.
pub(crate) struct PathOpening {
    pub(crate) given: PathBuf,
    /// Trace that contains the path, if only that trace is opened, without traces below it.
    pub(crate) enclosing: Option<EnclosingTrace>,
}

impl PathOpening {
    pub(crate) fn new(given: &Path, options: &OpenOptions, read: &ReadOptions) -> Self {
        let mut enclosing = options.formats().find_map(|format| format.enclosing_trace(given, read));
        if enclosing.as_ref().is_some_and(|trace| !trace.is_part) && is_readable_alone(given, options, read) {
            enclosing = None;
        }
        Self { given: given.to_owned(), enclosing }
    }

    /// Returns the path, or the directory of the trace that contains it.
    pub(crate) fn path(&self) -> &Path {
        self.enclosing.as_ref().map_or(&self.given, |trace| &trace.directory)
    }

    /// Removes other traces' files from a tree.
    pub(crate) fn restrict(&self, tree: &mut Tree) {
        if let Some(trace) = &self.enclosing {
            tree.entries.retain(|entry| trace.directories.contains(&entry.directory()));
        }
    }

    /// Returns a notice about the opened trace.
    pub(crate) fn notice(&self) -> Option<Hint> {
        self.enclosing.as_ref().map(|trace| trace.notice.clone())
    }
}

/// Maximum number of notices about repeated paths. Further notices are counted.
const SHOWN: usize = 20;

/// Indexes of the paths to one file or directory.
#[derive(Default)]
struct InputPath {
    /// First path that is read as a whole.
    whole: Option<usize>,
    /// First path for which only the trace is read.
    alone: Option<usize>,
}

/// Removes paths that repeat earlier paths, or that are in a directory that is read as a whole. Otherwise events
/// would appear twice. Returns the remaining paths and notices.
pub(crate) fn without_repetition(all: Vec<PathOpening>) -> (Vec<PathOpening>, Vec<String>) {
    let real = |opening: &PathOpening| match opening.path().as_os_str() == "-" {
        true => None,
        false => opening.path().canonicalize().ok(),
    };
    let real: Vec<Option<PathBuf>> = all.iter().map(real).collect();
    let mut inputs: HashMap<&Path, InputPath> = HashMap::new();
    for (i, (opening, real)) in all.iter().zip(&real).enumerate() {
        let Some(real) = real else { continue };
        let place = inputs.entry(real).or_default();
        let first = if opening.enclosing.is_some() { &mut place.alone } else { &mut place.whole };
        first.get_or_insert(i);
    }
    // Returns another path that already covers this path.
    let cover = |i: usize, opening: &PathOpening, path: &Path| {
        let own = inputs.get(path)?;
        let same = match opening.enclosing.is_some() {
            true => own.whole.or(own.alone),
            false => own.whole,
        };
        same.filter(|same| *same != i).or_else(|| {
            let mut above = path.ancestors().skip(1).filter_map(|above| inputs.get(above)?.whole);
            above.next().filter(|_| path.is_dir())
        })
    };
    let covers = all.iter().zip(&real).enumerate();
    let covers: Vec<Option<usize>> =
        covers.map(|(i, (opening, real))| cover(i, opening, real.as_deref()?)).collect();
    let mut notices = Vec::new();
    // Parts of a trace already have a notice.
    let left_out = all.iter().zip(&covers).filter(|(opening, _)| opening.enclosing.is_none());
    let mut left_out = left_out.filter_map(|(opening, cover)| Some((opening, all.get((*cover)?)?)));
    for (opening, cover) in left_out.by_ref().take(SHOWN) {
        let (given, first) = (opening.given.display(), cover.given.display());
        notices.push(match opening.given == cover.given {
            true => format!("{given}: path given more than once; it is read once"),
            false => format!("{given}: already read with {first}"),
        });
    }
    let more = left_out.count();
    if more > 0 {
        notices.push(format!("{more} more paths already read with others"));
    }
    let kept = all.into_iter().zip(covers).filter(|(_, cover)| cover.is_none());
    (kept.map(|(opening, _)| opening).collect(), notices)
}

/// Returns `true` if a file is an archive, or if its format needs no other files.
fn is_readable_alone(path: &Path, options: &OpenOptions, read: &ReadOptions) -> bool {
    let Ok(bytes) = Bytes::from_file(path) else { return true };
    if Tree::is_packed(&bytes) {
        return true;
    }
    let entries = vec![Entry::from_bytes("file", bytes)];
    let tree = Tree { name: String::new(), entries, problems: Vec::new() };
    options.formats().any(|format| format.probe(&tree, read))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths to a trace and to files below it.
    #[cfg(feature = "ctf")]
    #[test]
    fn what_is_read_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("t/index")).unwrap();
        std::fs::create_dir_all(root.join("t/sub")).unwrap();
        for file in ["t/metadata", "t/chan", "t/index/chan.idx", "t/sub/other"] {
            std::fs::write(root.join(file), b"x").unwrap();
        }
        let openings = |paths: &[&str]| {
            let options = OpenOptions::default();
            let opening = |path: &&str| PathOpening::new(&root.join(path), &options, &options.reading());
            without_repetition(paths.iter().map(opening).collect())
        };
        let kept = |paths: &[&str]| {
            let kept = openings(paths).0.into_iter();
            kept.map(|opening| (opening.path().to_owned(), opening.enclosing.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(kept(&["t/chan", "t/metadata", "t/index"]), [(root.join("t"), true)]);
        assert_eq!(kept(&["t/metadata", "t"]), [(root.join("t"), false)]);
        assert_eq!(kept(&["t", "t/chan", "t/sub"]), [(root.join("t"), false)]);
        assert_eq!(kept(&["t/chan", "t/sub"]), [(root.join("t"), true), (root.join("t/sub"), false)]);
        let notices = |paths: &[&str]| openings(paths).1;
        assert!(notices(&["t/chan", "t/metadata", "t/index"]).is_empty());
        let notice = notices(&["t", "t"]).join("\n");
        assert!(notice.ends_with("/t: path given more than once; it is read once"), "{notice}");
        let notice = notices(&["t/sub", "t"]).join("\n");
        assert!(notice.contains("/t/sub: already read with ") && notice.ends_with("/t"), "{notice}");
        assert_eq!(notices(&["t"; 100]).len(), 21);
    }

    #[test]
    fn many_paths_take_little() {
        let root = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..6_000).map(|i| root.path().join(i.to_string())).collect();
        for path in &paths {
            std::fs::create_dir_all(path).unwrap();
        }
        let opening = |path: &PathBuf| PathOpening { given: path.clone(), enclosing: None };
        let all: Vec<PathOpening> = paths.iter().map(opening).collect();
        let most = std::time::Duration::from_secs(3);
        let different = ichnos_testing::in_cpu_time(most, "many paths", || without_repetition(all).0);
        assert_eq!(different.len(), 6_000);
    }
}
