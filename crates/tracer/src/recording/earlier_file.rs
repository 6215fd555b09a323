//! Files that are full.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::SystemTime;

use super::file_name::FileName;

/// Identity of a file. A removed file's number is used again.
#[derive(Debug, PartialEq, Eq)]
struct FileOrigin {
    device: u64,
    inode: u64,
    created: Option<SystemTime>,
}

impl FileOrigin {
    fn new(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino(), created: found.created().ok() }
    }
}

/// A file that is full. It is neither mapped nor open, so that earlier files need no file descriptors.
#[derive(Debug)]
pub(super) struct EarlierFile {
    pub(super) name: FileName,
    pub(super) size: u64,
    /// `None` if it cannot be used again.
    origin: Option<FileOrigin>,
}

impl EarlierFile {
    pub(super) fn new(name: FileName, size: u64, found: Option<&Metadata>) -> Self {
        Self { name, size, origin: found.map(FileOrigin::new) }
    }

    /// Returns `true` if an open file is this one, and nobody has given it another name or size.
    pub(super) fn is(&self, found: &Metadata) -> bool {
        found.is_file()
            && self.origin == Some(FileOrigin::new(found))
            && found.nlink() == 1
            && found.len() == self.size
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn other_files_are_not_this_one() {
        let directory = tempfile::tempdir().unwrap();
        let [path, other, link] = ["file", "other", "link"].map(|name| directory.path().join(name));
        fs::write(&path, "abc").unwrap();
        fs::write(&other, "abc").unwrap();
        let found = |path| fs::metadata(path).unwrap();
        let name = FileName::new(0, 0);
        let file = EarlierFile::new(name, 3, Some(&found(&path)));
        assert!(file.is(&found(&path)));
        assert!(!file.is(&found(&other)));
        assert!(!EarlierFile::new(name, 3, None).is(&found(&path)));
        fs::hard_link(&path, &link).unwrap();
        assert!(!file.is(&found(&path)));
        fs::remove_file(&link).unwrap();
        assert!(file.is(&found(&path)));
        fs::write(&path, "ab").unwrap();
        assert!(!file.is(&found(&path)));
    }
}
