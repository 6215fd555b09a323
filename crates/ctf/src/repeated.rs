//! Skipped directories and files without a fault. Items found twice through links are read once, and hidden files are
//! not read. A notice reports each skipped item.

use std::collections::HashMap;

use ichnos_io::{Entry, FileId, Tree};

use crate::metadata_directory::{MetadataDirectory, shown};
use crate::packet::PACKET_MAGIC;

/// Maximum number of notices of the same kind. Further notices are only counted.
const SHOWN: usize = 20;

/// Notices about skipped files and directories without a fault.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    list: Vec<String>,
    more: usize,
}

impl Notices {
    fn add(&mut self, notice: impl FnOnce() -> String) {
        if self.list.len() < SHOWN {
            self.list.push(notice());
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!(
                "{} more files or directories are links to files or directories that are read",
                self.more
            ));
        }
        self.list
    }
}

/// Returns the directories that do not fully repeat another directory. Repetitions share the metadata file, and have
/// only data stream files that the other directory also has.
pub(crate) fn without_repetition<'a>(
    all: Vec<MetadataDirectory<'a>>,
    notices: &mut Notices,
) -> Vec<MetadataDirectory<'a>> {
    let mut by_metadata: HashMap<FileId, Vec<usize>> = HashMap::new();
    if all.iter().any(|directory| directory.metadata_id.is_some_and(|(_, has_other_names)| has_other_names)) {
        for (i, directory) in all.iter().enumerate() {
            if let Some((id, _)) = directory.metadata_id {
                by_metadata.entry(id).or_default().push(i);
            }
        }
    }
    let mut is_repeated = vec![false; all.len()];
    for mut same in by_metadata.into_values().filter(|same| same.len() > 1) {
        // Directories with the most files come first, because they cannot be part of others.
        same.sort_by_key(|i| (std::cmp::Reverse(all[*i].files.len()), *i));
        let mut owners: HashMap<FileId, usize> = HashMap::new();
        for i in same.iter().copied() {
            let ids: Vec<Option<FileId>> = all[i].files.iter().map(|entry| identity(entry)).collect();
            let owner = |id: &Option<FileId>| id.and_then(|id| owners.get(&id).copied());
            let first = match ids.first() {
                Some(first) => owner(first),
                None => same.first().copied().filter(|first| *first != i),
            };
            match first.filter(|first| ids.iter().all(|id| owner(id) == Some(*first))) {
                Some(first) => {
                    is_repeated[i] = true;
                    notices.add(|| {
                        format!(
                            "{}: same trace as {} through links; it is read once",
                            all[i].path, all[first].path
                        )
                    });
                }
                None => ids.into_iter().flatten().for_each(|id| {
                    owners.entry(id).or_insert(i);
                }),
            }
        }
    }
    let mut is_repeated = is_repeated.into_iter();
    all.into_iter().filter(|_| !is_repeated.next().unwrap_or(false)).collect()
}

/// Keeps each file only in the first directory of a trace, and only under one name.
pub(crate) fn read_files_once(directories: &mut [MetadataDirectory<'_>], notices: &mut Notices) {
    if !directories.iter().any(|directory| directory.has_other_names) {
        return;
    }
    let mut names: HashMap<FileId, String> = HashMap::new();
    for directory in directories {
        let tree = directory.tree;
        directory.files.retain(|entry| {
            let Some(id) = identity(entry) else { return true };
            let name = shown(tree, &entry.path);
            match names.get(&id) {
                Some(first) => {
                    notices.add(|| format!("{name}: same file as {first}; it is read once"));
                    false
                }
                None => {
                    names.insert(id, name);
                    true
                }
            }
        });
    }
}

/// Returns a notice about hidden files in a directory, if one looks like a data stream file. They are not part of any
/// trace (CTF2-FS-1.0), but data should not vanish silently because of a file name.
pub(crate) fn hidden_data(directory: &MetadataDirectory<'_>) -> Option<String> {
    let magic = PACKET_MAGIC as u32;
    let begins = [magic.to_le_bytes(), magic.to_be_bytes()];
    let is_data = |entry: &&&Entry| {
        entry.read().is_ok_and(|bytes| bytes.first_chunk().is_some_and(|begin| begins.contains(begin)))
    };
    let first = directory.hidden.iter().find(is_data)?;
    Some(format!(
        "{}: skipped what looks like a data stream file, because its name begins with a dot; rename it to read it",
        shown(directory.tree, &first.path)
    ))
}

/// Adds notices about links to trace directories that are read under another path.
pub(crate) fn report_links(tree: &Tree, directories: &[MetadataDirectory<'_>], notices: &mut Notices) {
    let mut paths: Vec<&str> = Vec::new();
    for entry in &tree.entries {
        let Some(first) = entry.repeats() else { continue };
        if paths.is_empty() {
            paths = directories.iter().map(|directory| &*directory.relative).collect();
            paths.sort_unstable();
        }
        let below = format!("{first}/");
        let next = paths.get(paths.partition_point(|path| *path < below.as_str()));
        if paths.binary_search(&first).is_ok() || next.is_some_and(|path| path.starts_with(&below)) {
            notices.add(|| {
                format!(
                    "{}: leads to the same directory as {}; its files are read once",
                    shown(tree, &entry.path),
                    shown(tree, first)
                )
            });
        }
    }
}

fn identity(entry: &Entry) -> Option<FileId> {
    entry.status()?.identity
}
