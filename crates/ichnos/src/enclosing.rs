//! The trace that a path lies in: people name its metadata, its index or one of its files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ichnos_io::{Bytes, Entry, Tree};

use crate::OpenOptions;
use crate::format::FORMATS;

/// A path that was given, and what is opened for it.
pub(crate) struct Opening {
    pub(crate) given: PathBuf,
    /// The path itself, or the folder of the trace that it lies in.
    pub(crate) path: PathBuf,
    /// Whether only the trace in that folder is meant, and none below it.
    pub(crate) is_alone: bool,
}

impl Opening {
    pub(crate) fn new(given: &Path, options: &OpenOptions) -> Self {
        let folder = folder_for(given, options);
        let is_alone = folder.is_some();
        Self { given: given.to_owned(), path: folder.unwrap_or_else(|| given.to_owned()), is_alone }
    }

    /// Leaves in a tree what belongs to the trace.
    pub(crate) fn restrict(&self, tree: &mut Tree) {
        if self.is_alone {
            tree.entries.retain(|entry| matches!(entry.folder(), "" | "index"));
        }
    }

    /// What to say of it.
    pub(crate) fn notice(&self) -> Option<String> {
        self.is_alone.then(|| notice(&self.given, &self.path))
    }
}

/// How many notices of paths that are left out are made; the others are counted.
const SHOWN: usize = 20;

/// Which paths were given that lead to one place.
#[derive(Default)]
struct Place {
    /// The first one of which everything is read.
    whole: Option<usize>,
    /// The first one of which the trace alone is read.
    alone: Option<usize>,
}

/// What is to be opened, without what was there before, or lies in a folder that is read as a whole: no
/// event should come twice. And what to say of that.
pub(crate) fn without_repetition(all: Vec<Opening>) -> (Vec<Opening>, Vec<String>) {
    let real = |opening: &Opening| match opening.path.as_os_str() == "-" {
        true => None,
        false => opening.path.canonicalize().ok(),
    };
    let real: Vec<Option<PathBuf>> = all.iter().map(real).collect();
    let mut places: HashMap<&Path, Place> = HashMap::new();
    for (i, (opening, real)) in all.iter().zip(&real).enumerate() {
        let Some(real) = real else { continue };
        let place = places.entry(real).or_default();
        let first = if opening.is_alone { &mut place.alone } else { &mut place.whole };
        first.get_or_insert(i);
    }
    // By which other one it is read anyway.
    let cover = |i: usize, opening: &Opening, path: &Path| {
        let own = places.get(path)?;
        let same = match opening.is_alone {
            true => own.whole.or(own.alone),
            false => own.whole,
        };
        same.filter(|same| *same != i).or_else(|| {
            let mut above = path.ancestors().skip(1).filter_map(|above| places.get(above)?.whole);
            above.next().filter(|_| path.is_dir())
        })
    };
    let covers = all.iter().zip(&real).enumerate();
    let covers: Vec<Option<usize>> =
        covers.map(|(i, (opening, real))| cover(i, opening, real.as_deref()?)).collect();
    let mut notices = Vec::new();
    // What is said of a part of a trace is said once.
    let left_out = all.iter().zip(&covers).filter(|(opening, _)| !opening.is_alone);
    let mut left_out = left_out.filter_map(|(opening, cover)| Some((opening, all.get((*cover)?)?)));
    for (opening, cover) in left_out.by_ref().take(SHOWN) {
        let (given, first) = (opening.given.display(), cover.given.display());
        notices.push(match opening.given == cover.given {
            true => format!("{given}: this path is given more than once: it is read once"),
            false => format!("{given}: this is read already with {first}: it is read once"),
        });
    }
    let more = left_out.count();
    if more > 0 {
        notices.push(format!("{more} more paths are read already with others"));
    }
    let kept = all.into_iter().zip(covers).filter(|(_, cover)| cover.is_none());
    (kept.map(|(opening, _)| opening).collect(), notices)
}

/// The folder of the trace that a path stands for, if it is not to be read for itself.
fn folder_for(path: &Path, options: &OpenOptions) -> Option<PathBuf> {
    // Who gives metadata means this file alone.
    if options.ctf.metadata.is_some() || options.format.as_ref().is_some_and(|format| format != "ctf") {
        return None;
    }
    let folder = trace_folder(path)?;
    let is_part = path.file_name().is_some_and(|name| name == "metadata") || path.is_dir();
    (is_part || !is_readable_alone(path, options)).then_some(folder)
}

/// Whether a file is an archive, or of a format that needs no other files.
fn is_readable_alone(path: &Path, options: &OpenOptions) -> bool {
    let Ok(bytes) = Bytes::of_file(path) else { return true };
    if Tree::is_packed(&bytes) {
        return true;
    }
    let entries = vec![Entry::of_bytes("file", bytes)];
    let tree = Tree { name: String::new(), entries, problems: Vec::new() };
    FORMATS.iter().any(|format| (format.probe)(&tree, options))
}

/// The folder of the CTF trace that a path is a part of: its metadata, its index, a file of either, or a file
/// beside the metadata.
fn trace_folder(path: &Path) -> Option<PathBuf> {
    let above = |path: &Path| match (path.file_name(), path.parent()) {
        (Some(_), Some(above)) if above.as_os_str().is_empty() => PathBuf::from("."),
        (Some(_), Some(above)) => above.to_owned(),
        _ if path == Path::new(".") => PathBuf::from(".."),
        // What is above `..` is not the path without it.
        _ => path.join(".."),
    };
    let is_index = |path: &Path| name_of(path).is_some_and(|name| *name == *"index");
    let mut folder = above(path);
    if path.is_dir() {
        if !is_index(path) || path.join("metadata").exists() {
            return None;
        }
    } else if !path.is_file() {
        return None;
    } else if is_index(&folder) && !folder.join("metadata").is_file() {
        folder = above(&folder);
    }
    folder.join("metadata").is_file().then_some(folder)
}

/// The name of a file or folder, for `.` and the like, too.
fn name_of(path: &Path) -> Option<Cow<'_, OsStr>> {
    match path.file_name() {
        Some(name) => Some(name.into()),
        None => Some(path.canonicalize().ok()?.file_name()?.to_owned().into()),
    }
}

/// What to say of a path that its trace is read for.
pub(crate) fn notice(given: &Path, folder: &Path) -> String {
    let (path, folder) = (given.display(), folder.display());
    let alone = || format!("`{path} --metadata {folder}/metadata` reads this file alone");
    match name_of(given).map(|name| name.to_string_lossy().into_owned()).as_deref() {
        Some("metadata") => format!("{path}: this describes the trace {folder}, which is read"),
        Some(name) if name == "index" || name.ends_with(".idx") => {
            format!("{path}: this is the packet index of the trace {folder}, which is read")
        }
        _ => format!("{path}: this is a file of the trace {folder}, all of which is read; {}", alone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_trace() {
        let root = std::env::temp_dir().join(format!("ichnos-enclosing-{}", std::process::id()));
        let index = root.join("t/index");
        std::fs::create_dir_all(&index).unwrap();
        std::fs::create_dir_all(root.join("t/sub")).unwrap();
        for file in ["t/metadata", "t/chan", "t/index/chan.idx", "t/sub/other"] {
            std::fs::write(root.join(file), b"x").unwrap();
        }
        let found = |path: &str| trace_folder(&root.join(path));
        let trace = Some(root.join("t"));
        for path in ["t/metadata", "t/chan", "t/index", "t/index/chan.idx"] {
            assert_eq!(found(path), trace, "{path}");
        }
        for path in ["t", "t/sub", "t/sub/other", "t/none/x"] {
            assert_eq!(found(path), None, "{path}");
        }
        let kept = |paths: &[&str]| {
            let all = paths.iter().map(|path| Opening::new(&root.join(path), &OpenOptions::default()));
            let kept = without_repetition(all.collect()).0.into_iter();
            kept.map(|opening| (opening.path.clone(), opening.is_alone)).collect::<Vec<_>>()
        };
        assert_eq!(kept(&["t/chan", "t/metadata", "t/index"]), [(root.join("t"), true)]);
        assert_eq!(kept(&["t/metadata", "t"]), [(root.join("t"), false)]);
        assert_eq!(kept(&["t", "t/chan", "t/sub"]), [(root.join("t"), false)]);
        assert_eq!(kept(&["t/chan", "t/sub"]), [(root.join("t"), true), (root.join("t/sub"), false)]);
        let notices = |paths: &[&str]| {
            let all = paths.iter().map(|path| Opening::new(&root.join(path), &OpenOptions::default()));
            without_repetition(all.collect()).1
        };
        assert!(notices(&["t/chan", "t/metadata", "t/index"]).is_empty());
        let notice = notices(&["t", "t"]).join("\n");
        assert!(notice.ends_with("/t: this path is given more than once: it is read once"), "{notice}");
        let notice = notices(&["t/sub", "t"]).join("\n");
        assert!(
            notice.contains("/t/sub: this is read already with ") && notice.contains("/t: it"),
            "{notice}"
        );
        assert_eq!(notices(&["t"; 100]).len(), 21);
        // The index from within.
        let inside =
            |path: &str| trace_folder(&index.join(path)).map(|folder| folder.canonicalize().unwrap());
        assert_eq!(inside("."), Some(root.join("t").canonicalize().unwrap()));
        assert_eq!(inside("../index/../index"), inside("."));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn many_paths_take_little() {
        let root = std::env::temp_dir().join(format!("ichnos-many-paths-{}", std::process::id()));
        let paths: Vec<PathBuf> = (0..6_000).map(|i| root.join(i.to_string())).collect();
        for path in &paths {
            std::fs::create_dir_all(path).unwrap();
        }
        let opening = |path: &PathBuf| Opening { given: path.clone(), path: path.clone(), is_alone: false };
        let all: Vec<Opening> = paths.iter().map(opening).collect();
        let started = std::time::Instant::now();
        assert_eq!(without_repetition(all).0.len(), 6_000);
        let took = started.elapsed();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(took.as_secs() < 3, "{took:?}");
    }

    #[test]
    fn says_how_to_read_the_file_alone() {
        let notice = |path: &str| notice(Path::new(path), Path::new("t"));
        assert!(notice("t/chan").ends_with("`t/chan --metadata t/metadata` reads this file alone"));
        assert!(!notice("t/metadata").contains("alone") && !notice("t/index").contains("alone"));
    }
}
