//! State of trace files, to detect changes.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::known_stream::FollowedFile;

/// Maximum number of files to check.
const MOST_FILES: usize = 100_000;

/// State of all files below some paths. Two states differ if a file has changed.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct InputState {
    hash: u64,
    files: usize,
}

impl InputState {
    /// Reads the state of all files below these paths. Unreadable files, such as files that were just removed, are
    /// skipped.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        Self::of(paths, add)
    }

    /// Reads which file has which name, whatever its content is.
    pub(super) fn of_names<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        Self::of(paths, |hash, path, metadata| {
            let file = FollowedFile::new(metadata);
            (path, file.identity()).hash(hash);
        })
    }

    fn of<'p>(
        paths: impl IntoIterator<Item = &'p PathBuf>,
        add: impl Fn(&mut DefaultHasher, &Path, &Metadata),
    ) -> Self {
        let (mut hash, mut files) = (DefaultHasher::new(), 0);
        for path in paths {
            let Ok(metadata) = fs::metadata(path) else { continue };
            let mut left = vec![(path.clone(), metadata)];
            while let Some((path, metadata)) = left.pop() {
                files += 1;
                if files > MOST_FILES {
                    break;
                }
                add(&mut hash, &path, &metadata);
                if metadata.is_dir() {
                    left.extend(entries(&path));
                }
            }
        }
        Self { hash: hash.finish(), files }
    }
}

fn add(hash: &mut DefaultHasher, path: &Path, metadata: &Metadata) {
    path.hash(hash);
    metadata.len().hash(hash);
    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH).hash(hash);
}

/// Lists a directory, sorted by name. Links are not followed.
fn entries(path: &Path) -> Vec<(PathBuf, Metadata)> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let described = |entry: fs::DirEntry| Some((entry.path(), entry.metadata().ok()?));
    let mut entries: Vec<_> = entries.take(MOST_FILES).flatten().filter_map(described).collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_state_changes_with_each_file() {
        let directory = tempfile::tempdir().unwrap();
        let paths = [directory.path().join("trace")];
        assert_eq!(InputState::new(&paths), InputState::new([]));
        fs::create_dir_all(paths[0].join("below")).unwrap();
        let mut states = vec![InputState::new(&paths)];
        let mut file = File::create(paths[0].join("below/stream_0")).unwrap();
        for _ in 0..2 {
            states.push(InputState::new(&paths));
            file.write_all(b"packet").unwrap();
        }
        states.push(InputState::new(&paths));
        assert!(states.windows(2).all(|two| two[0] != two[1]), "{states:?}");
        assert_eq!(InputState::new(&paths), InputState::new(&paths));
        let names = InputState::of_names(&paths);
        file.write_all(b"packet").unwrap();
        assert_eq!(InputState::of_names(&paths), names);
        fs::rename(paths[0].join("below/stream_0"), paths[0].join("below/stream_1")).unwrap();
        assert_ne!(InputState::of_names(&paths), names);
    }
}
