//! Directories that contain a file `metadata`.

use std::collections::BTreeMap;

use ichnos_io::{Bytes, Entry, FileId, Tree};

use crate::ctf_options::CtfOptions;
use crate::stack_file::is_stack_file;

/// Returns `true` if the name of a file, or of a directory that contains it, starts with a dot.
fn is_hidden(entry: &Entry) -> bool {
    entry.path.split('/').any(|name| name.starts_with('.'))
}

pub(crate) fn is_metadata(entry: &Entry) -> bool {
    entry.name() == "metadata" && entry.repeats().is_none()
}

/// A directory with metadata.
pub(crate) struct MetadataDirectory<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) path: String,
    /// Path from the tree's root.
    pub(crate) relative: String,
    pub(crate) metadata_name: String,
    /// Metadata file id, and `true` if the file has other names. `None` if the metadata is not a file.
    pub(crate) metadata_id: Option<(FileId, bool)>,
    pub(crate) metadata: std::io::Result<Bytes>,
    /// Reason why only the start of the metadata is available.
    pub(crate) cut_off: Option<String>,
    /// Size of all compressed metadata in the tree and size of the archive, if the metadata was compressed.
    pub(crate) packed: Option<(u64, u64)>,
    /// Size of all other compressed data in the tree and size of the archive, if it was compressed.
    pub(crate) packed_data: Option<(u64, u64)>,
    pub(crate) files: Vec<&'a Entry>,
    /// Total file size in bytes.
    pub(crate) bytes: u64,
    /// `true` if some files can have other names.
    pub(crate) has_other_names: bool,
    /// Files outside the trace: their names start with a dot.
    pub(crate) hidden: Vec<&'a Entry>,
    /// Call stack files.
    pub(crate) stacks: Vec<&'a Entry>,
    /// LTTng indexes, by the data stream file's name.
    pub(crate) indexes: BTreeMap<String, &'a Entry>,
    /// PROP-2.0 auxiliary streams: files whose names end in `.json`.
    pub(crate) auxiliary: Vec<&'a Entry>,
}

impl<'a> MetadataDirectory<'a> {
    /// Adds a directory entry to the list for its kind.
    fn add(&mut self, entry: &'a Entry) {
        if let Some(first) = entry.repeats() {
            if entry.name() == "index" {
                let files = linked_files(self.tree, first).filter(|file| file.directory() == first);
                let indexes = files.filter_map(|file| Some((file.name().strip_suffix(".idx")?, file)));
                self.indexes.extend(indexes.map(|(stream, file)| (stream.to_owned(), file)));
            }
        } else if is_stack_file(entry.name()) {
            self.stacks.push(entry);
        } else if entry.name().starts_with('.') {
            self.hidden.push(entry);
        } else if entry.name().ends_with(".json") {
            self.auxiliary.push(entry);
        } else if entry.name() != "metadata" {
            if let Some(status) = entry.status() {
                self.bytes = self.bytes.saturating_add(status.size);
                self.has_other_names |= status.has_other_names;
            }
            self.files.push(entry);
        }
    }
}

pub(crate) fn shown(tree: &Tree, path: &str) -> String {
    if path.is_empty() { tree.name.clone() } else { format!("{}/{path}", tree.name.trim_end_matches('/')) }
}

pub(crate) fn directories<'a>(tree: &'a Tree, options: &CtfOptions) -> Vec<MetadataDirectory<'a>> {
    let directory = |path: &str, metadata_name: String, metadata: std::io::Result<Bytes>| MetadataDirectory {
        tree,
        path: shown(tree, path),
        relative: path.to_owned(),
        metadata_name,
        metadata_id: None,
        metadata,
        cut_off: None,
        packed: None,
        packed_data: None,
        files: Vec::new(),
        bytes: 0,
        has_other_names: false,
        hidden: Vec::new(),
        stacks: Vec::new(),
        indexes: BTreeMap::new(),
        auxiliary: Vec::new(),
    };
    let mut directories: BTreeMap<&str, MetadataDirectory<'a>> = BTreeMap::new();
    let texts = || tree.entries.iter().filter(|entry| is_metadata(entry));
    let all = texts().filter_map(|entry| entry.len).fold(0, u64::saturating_add);
    for entry in texts() {
        let directory = directory(entry.directory(), shown(tree, &entry.path), entry.read());
        let status = entry.status();
        let metadata_id = status.and_then(|status| Some((status.identity?, status.has_other_names)));
        let cut_off = entry.cut_off().map(str::to_owned);
        let packed = entry.packed().map(|given| (all, given));
        directories
            .insert(entry.directory(), MetadataDirectory { cut_off, packed, metadata_id, ..directory });
    }
    if let (true, Some((name, bytes))) = (directories.is_empty(), &options.metadata) {
        // Metadata applies to all files in the same directory. Files in other directories are unrelated.
        for entry in tree.entries.iter().filter(|entry| index_of(entry).is_none() && !is_hidden(entry)) {
            directories
                .entry(entry.directory())
                .or_insert_with(|| directory(entry.directory(), name.clone(), Ok(bytes.clone())));
        }
    }
    for entry in &tree.entries {
        if let Some((parent, stream)) = index_of(entry)
            && let Some(directory) = directories.get_mut(parent)
        {
            directory.indexes.insert(stream.to_owned(), entry);
        } else if let Some(directory) = directories.get_mut(entry.directory()) {
            directory.add(entry);
        }
    }
    let data = || directories.values().flat_map(|directory| &directory.files);
    let all = directories.values().map(|directory| directory.bytes).fold(0, u64::saturating_add);
    let given = data().find_map(|entry| entry.packed());
    let mut directories: Vec<MetadataDirectory<'a>> = directories.into_values().collect();
    for directory in &mut directories {
        directory.packed_data = given.map(|given| (all, given));
    }
    directories
}

/// Returns the directory and the data stream file name for an index, by LTTng's naming scheme.
pub(crate) fn index_of(entry: &Entry) -> Option<(&str, &str)> {
    let stream = entry.name().strip_suffix(".idx")?;
    match entry.directory().rsplit_once('/') {
        Some((parent, "index")) => Some((parent, stream)),
        None if entry.directory() == "index" => Some(("", stream)),
        _ => None,
    }
}

/// Returns the files in an index directory that is a link to a directory listed elsewhere.
pub(crate) fn linked_files<'a>(tree: &'a Tree, first: &str) -> impl Iterator<Item = &'a Entry> {
    let below = format!("{first}/");
    let begin = tree.entries.partition_point(|entry| entry.path.as_str() < below.as_str());
    // The point is at most the number of entries.
    let entries = tree.entries.get(begin..).unwrap_or_default().iter();
    entries.take_while(move |entry| entry.path.starts_with(&below))
}
