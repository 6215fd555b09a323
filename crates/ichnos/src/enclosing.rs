//! The trace that a path lies in: people name its metadata, its index or one of its files.

use std::collections::HashMap;
use std::ffi::OsString;
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

/// What is to be opened, without what was there before, or lies in a folder that is read as a whole: no
/// event should come twice.
pub(crate) fn without_repetition(all: Vec<Opening>) -> Vec<Opening> {
    let real: Vec<Option<PathBuf>> = all.iter().map(|opening| opening.path.canonicalize().ok()).collect();
    // By folder, the first that reads all of it, and the first that reads a trace in it alone.
    let mut known: HashMap<&Path, [Option<usize>; 2]> = HashMap::new();
    for (i, (opening, real)) in all.iter().zip(&real).enumerate() {
        if let Some(real) = real {
            known.entry(real).or_default()[usize::from(opening.is_alone)].get_or_insert(i);
        }
    }
    let is_read_whole = |folder: &Path| known.get(folder).is_some_and(|[whole, _]| whole.is_some());
    let is_covered = |i: usize, path: &Path| {
        let is_alone = all[i].is_alone;
        let first = known.get(path).and_then(|known| known[usize::from(is_alone)]);
        first.is_some_and(|first| first < i)
            || (is_alone && is_read_whole(path))
            || (path.is_dir() && path.ancestors().skip(1).any(is_read_whole))
    };
    let covered: Vec<bool> = real
        .iter()
        .enumerate()
        .map(|(i, real)| real.as_ref().is_some_and(|real| is_covered(i, real)))
        .collect();
    all.into_iter().zip(covered).filter(|(_, covered)| !covered).map(|(opening, _)| opening).collect()
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
    let is_index = |path: &Path| name_of(path).is_some_and(|name| name == "index");
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

/// What a file or folder is called, even if it is written as `.` or `..`.
fn name_of(path: &Path) -> Option<OsString> {
    match path.file_name() {
        Some(name) => Some(name.to_owned()),
        None => path.canonicalize().ok()?.file_name().map(ToOwned::to_owned),
    }
}

/// The folder that a path is in.
fn above(path: &Path) -> PathBuf {
    match path.parent() {
        _ if path == Path::new(".") => PathBuf::from(".."),
        _ if path.file_name().is_none() => path.join(".."),
        Some(above) if !above.as_os_str().is_empty() => above.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// What to say of a path that its trace is read for.
pub(crate) fn notice(path: &Path, folder: &Path) -> String {
    let what = name_of(path).map(|name| name.to_string_lossy().into_owned());
    let (path, folder) = (path.display(), folder.display());
    let alone = || format!("`{path} --metadata {folder}/metadata` reads this file alone");
    match what.as_deref() {
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
        // As they are written from within the index.
        assert_eq!(above(Path::new(".")), Path::new(".."));
        assert_eq!(above(Path::new("chan.idx")), Path::new("."));
        assert_eq!(found("t/sub/../index"), Some(root.join("t/sub/..")));
        assert_eq!(found("t/index/sub/.."), None);
        std::fs::create_dir(index.join("sub")).unwrap();
        assert_eq!(found("t/index/sub/.."), Some(root.join("t/index/sub/../..")));
        let kept = |paths: &[&str]| {
            let all = paths.iter().map(|path| Opening::new(&root.join(path), &OpenOptions::default()));
            let kept = without_repetition(all.collect()).into_iter();
            kept.map(|opening| (opening.path.clone(), opening.is_alone)).collect::<Vec<_>>()
        };
        assert_eq!(kept(&["t/chan", "t/metadata", "t/index"]), [(root.join("t"), true)]);
        assert_eq!(kept(&["t/metadata", "t"]), [(root.join("t"), false)]);
        assert_eq!(kept(&["t", "t/chan", "t/sub"]), [(root.join("t"), false)]);
        assert_eq!(kept(&["t/chan", "t/sub"]), [(root.join("t"), true), (root.join("t/sub"), false)]);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn says_how_to_read_the_file_alone() {
        let notice = |path: &str| notice(Path::new(path), Path::new("t"));
        assert!(notice("t/chan").ends_with("`t/chan --metadata t/metadata` reads this file alone"));
        assert!(!notice("t/metadata").contains("alone") && !notice("t/index").contains("alone"));
    }
}
