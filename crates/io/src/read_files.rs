//! Reads the files in trees as traces in a format.

use std::collections::HashMap;

use ichnos_model::message::Damage;

use crate::{Bytes, Entry, FileId, OpenedTraces, RefusedTrace, Tree};

/// Opens each file that `is_trace` recognizes as a trace. A file is opened once, whatever its trees and names. Files
/// that cannot be read are refused.
pub fn open_files(
    trees: &[&Tree],
    is_trace: impl Fn(&Entry) -> bool,
    mut open: impl FnMut(&mut OpenedTraces, String, Bytes),
) -> OpenedTraces {
    let mut opened = OpenedTraces::default();
    let mut read = ReadFiles::default();
    for tree in trees {
        for entry in tree.files().filter(|entry| is_trace(entry)) {
            let name = tree.path_of(entry);
            if !read.is_first(&name, entry) {
                continue;
            }
            match entry.read() {
                Ok(bytes) => open(&mut opened, name, bytes),
                Err(error) => opened.refused.push(RefusedTrace::because(&name, error)),
            }
        }
    }
    opened.notices.append(&mut read.notices);
    opened
}

/// Files read so far. Each file is read once, whatever its trees and names.
#[derive(Debug, Default)]
pub struct ReadFiles {
    names: HashMap<FileId, String>,
    /// Files that cannot be read.
    pub damage: Vec<Damage>,
    /// Notices about skipped files, one sentence each: other names for a file.
    pub notices: Vec<String>,
}

/// A file in a tree.
#[derive(Debug)]
pub struct ReadFile<F> {
    /// Path, starting with the tree's name.
    pub name: String,
    /// Content.
    pub bytes: Bytes,
    /// Form of the content.
    pub form: F,
}

impl ReadFiles {
    /// Reads a file with a recognized form. Returns `None` for other files, for files that were read before, and for
    /// files that cannot be read, which become damage.
    pub fn read<F>(
        &mut self,
        tree: &Tree,
        entry: &Entry,
        recognize: impl FnOnce(&Bytes) -> Option<F>,
    ) -> Option<ReadFile<F>> {
        let name = tree.path_of(entry);
        match entry.read_or_damage() {
            Ok(bytes) => {
                let form = recognize(&bytes)?;
                self.is_first(&name, entry).then_some(ReadFile { name, bytes, form })
            }
            Err(kind) => {
                self.damage.push(Damage::new(name, 0, kind));
                None
            }
        }
    }

    /// Adds a file. Returns `false` with a notice for the user if it was added before.
    fn is_first(&mut self, name: &str, entry: &Entry) -> bool {
        let Some(identity) = entry.status().and_then(|status| status.identity) else { return true };
        let notice = match self.names.get(&identity) {
            Some(first) if first == name => {
                format!("{name}: file given more than once; it is read once")
            }
            Some(first) => format!("{name}: same file as {first}; it is read once"),
            None => {
                self.names.insert(identity, name.to_owned());
                return true;
            }
        };
        self.notices.push(notice);
        false
    }
}
