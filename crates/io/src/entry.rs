//! Files in a tree.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos_model::message::DamageKind;

use crate::Bytes;
use crate::archive::MemberContent;
use crate::collect::is_being_collected;
use crate::decompress::{HEAD, Packing};

/// A file in a [`Tree`](crate::Tree).
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path from the root, with `/` between names. Invalid UTF-8 is replaced.
    pub path: String,
    /// Size in bytes, if known without asking the system: see [`Entry::status`].
    pub len: Option<u64>,
    pub(crate) packed: Option<u64>,
    pub(crate) source: EntrySource,
    /// `true` for a link in an archive.
    pub(crate) is_link: bool,
}

/// Location of an entry's content.
#[derive(Clone, Debug)]
pub(crate) enum EntrySource {
    /// A file in a directory. All files in it share the directory.
    File {
        directory: Arc<Path>,
        name: Box<OsStr>,
        /// `true` for a symbolic link.
        is_link: bool,
    },
    Memory(Bytes),
    /// Only the start, and the reason.
    Cut(Box<(Bytes, String)>),
    /// Only the start, as requested.
    Beginning(Bytes),
    /// The reason why it cannot be read.
    Broken(String),
    /// Not a file; for example "a pipe" or "a device".
    Special(&'static str),
    /// A directory listed at another path.
    Repeated(String),
}

impl Entry {
    /// Creates an entry with this content.
    #[must_use]
    pub fn from_bytes(path: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { len: Some(bytes.len() as u64), ..Self::from_source(path.into(), EntrySource::Memory(bytes)) }
    }

    /// Creates an entry for an archive member. `packed` is the archive size in bytes.
    pub(crate) fn from_member(path: String, content: MemberContent, packed: Option<u64>) -> Self {
        let (content, is_link) = match content {
            MemberContent::Linked(content) => (*content, true),
            content => (content, false),
        };
        let (len, source) = match content {
            MemberContent::Bytes(bytes) => (Some(bytes.len() as u64), EntrySource::Memory(bytes)),
            MemberContent::Cut(cut) => match *cut {
                (MemberContent::Bytes(bytes), problem) => {
                    (Some(bytes.len() as u64), EntrySource::Cut(Box::new((bytes, problem))))
                }
                (_, problem) => (None, EntrySource::Broken(problem)),
            },
            MemberContent::Beginning(beginning) => match *beginning {
                (MemberContent::Bytes(bytes), len) => (Some(len), EntrySource::Beginning(bytes)),
                _ => (None, EntrySource::Broken("missing".to_owned())),
            },
            MemberContent::Broken(problem) => (None, EntrySource::Broken(problem.into())),
            // These were replaced when all members were known.
            MemberContent::Unpacked(_) | MemberContent::Link(_) | MemberContent::Linked(_) => {
                (None, EntrySource::Broken("link without a target file".to_owned()))
            }
        };
        let packed = packed.filter(|_| len.is_some());
        Self { len, packed, is_link, ..Self::from_source(path, source) }
    }

    /// Returns the reason why only the start of the content is available, if the archive or the compressed file is
    /// truncated or damaged.
    #[must_use]
    pub fn cut_off(&self) -> Option<&str> {
        match &self.source {
            EntrySource::Cut(cut) => Some(&cut.1),
            _ => None,
        }
    }

    /// Returns `true` if the file may be longer than [`Entry::read`] returns, because of
    /// [`TreeOptions::beginning`](crate::TreeOptions::beginning).
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(self.source, EntrySource::Beginning(_))
    }

    pub(crate) fn from_source(path: String, source: EntrySource) -> Self {
        Self { path, len: None, packed: None, source, is_link: false }
    }

    /// Returns the content. Large plain files are mapped, which is fast for any length.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not a plain file.
    pub fn read(&self) -> io::Result<Bytes> {
        let no_file = |found: &str| {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("expected a plain file, found {found}")))
        };
        match &self.source {
            // This source always has a path.
            EntrySource::File { .. } => Bytes::from_file(&self.real_path().unwrap_or_default()),
            EntrySource::Memory(bytes) | EntrySource::Beginning(bytes) => Ok(bytes.clone()),
            EntrySource::Cut(cut) => Ok(cut.0.clone()),
            EntrySource::Broken(problem) => Err(io::Error::new(io::ErrorKind::InvalidData, problem.clone())),
            EntrySource::Special(found) => no_file(found),
            EntrySource::Repeated(first) => no_file(&format!("a link to the directory `{first}`")),
        }
    }

    /// Returns up to `most` bytes from the start of the content, to recognize the kind of file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not a plain file.
    pub fn beginning(&self, most: usize) -> io::Result<Bytes> {
        match self.real_path() {
            Some(path) => Bytes::beginning_of_file(&path, most),
            None => Ok(self.read()?.slice(0..most)),
        }
    }

    /// Returns `true` if its first bytes show single-file compression, and it is not an archive member.
    #[must_use]
    pub fn is_compressed_file(&self) -> bool {
        self.real_path().is_some_and(|path| {
            let beginning = Bytes::beginning_of_file(&path, HEAD);
            beginning.is_ok_and(|bytes| Packing::from_head(&bytes).is_some_and(Packing::is_of_one_file))
        })
    }

    /// Returns `true` for a growing file in a directory that a collector is writing to. Its last report or request may be
    /// incomplete.
    #[must_use]
    pub fn is_being_collected(&self) -> bool {
        match &self.source {
            EntrySource::File { directory, name, .. } => is_being_collected(directory, name),
            _ => false,
        }
    }

    /// File system path, if it is a separate file.
    fn real_path(&self) -> Option<PathBuf> {
        match &self.source {
            EntrySource::File { directory, name, .. } => Some(directory.join(&**name)),
            _ => None,
        }
    }

    /// Directory and path of the file, and `true` for a symbolic link; `None` if it is not a separate file.
    pub(crate) fn place(&self) -> Option<(&Path, PathBuf, bool)> {
        match &self.source {
            EntrySource::File { directory, name, is_link } => {
                Some((directory, directory.join(&**name), *is_link))
            }
            _ => None,
        }
    }

    /// Returns the current file status, or `None` if unknown or not a file.
    #[must_use]
    pub fn status(&self) -> Option<FileStatus> {
        let EntrySource::File { is_link, .. } = &self.source else {
            let identity = match &self.source {
                EntrySource::Memory(bytes) | EntrySource::Beginning(bytes) => FileId::from_bytes(bytes),
                EntrySource::Cut(cut) => FileId::from_bytes(&cut.0),
                _ => None,
            };
            return Some(FileStatus { size: self.len?, identity, has_other_names: self.is_link });
        };
        let metadata = fs::metadata(self.real_path()?).ok().filter(fs::Metadata::is_file)?;
        Some(FileStatus {
            size: metadata.len(),
            identity: FileId::from_metadata(&metadata),
            has_other_names: *is_link || number_of_names(&metadata) > 1,
        })
    }

    /// Returns a description such as "a pipe" or "a device", if it is neither a file nor a directory.
    #[must_use]
    pub fn special(&self) -> Option<&'static str> {
        match self.source {
            EntrySource::Special(found) => Some(found),
            _ => None,
        }
    }

    /// Returns the content, or the damage if it cannot be read.
    ///
    /// # Errors
    /// See [`Entry::read`].
    pub fn read_or_damage(&self) -> Result<Bytes, DamageKind> {
        self.read().map_err(|error| match self.special() {
            Some(found) => DamageKind::NotAFile(found),
            None => DamageKind::Unreadable(error.to_string()),
        })
    }

    /// Returns the path in the tree where this directory is already listed with its files. `None` for a file.
    #[must_use]
    pub fn repeats(&self) -> Option<&str> {
        match &self.source {
            EntrySource::Repeated(first) => Some(first),
            _ => None,
        }
    }

    /// Returns the size in bytes of the archive or compressed file that contained it, if any. Limits depend on it,
    /// because a small file must not cause much work.
    #[must_use]
    pub fn packed(&self) -> Option<u64> {
        self.packed
    }

    /// Returns the last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }

    /// Returns the path without its last part; empty for a file in the root.
    #[must_use]
    pub fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }
}

/// File status, known without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStatus {
    /// Size in bytes.
    pub size: u64,
    /// Identity, equal for all names of a file. For an archive member, it is valid while the archive is open. `None` if
    /// the file is empty, or the system does not provide an identity.
    pub identity: Option<FileId>,
    /// `true` if it is a link, or has several hard links. Only then can the same file appear at another path.
    pub has_other_names: bool,
}

/// Identity of a file or directory, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Returns the identity of the file or directory at a path, after following links. `None` if it does not exist or
    /// the system does not provide an identity.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::from_metadata(&fs::metadata(path).ok()?)
    }

    /// Identifies archive members by their bytes in memory, which links share with their targets.
    fn from_bytes(bytes: &Bytes) -> Option<Self> {
        // A number that is not in use for devices.
        let device = u64::MAX - bytes.len() as u64;
        (!bytes.is_empty()).then(|| Self { device, inode: bytes.as_ptr().addr() as u64 })
    }

    /// Returns the identity in file metadata, or `None` if the system does not provide it.
    #[cfg(unix)]
    #[must_use]
    pub fn from_metadata(metadata: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Returns the identity in file metadata, or `None` if the system does not provide it.
    #[cfg(not(unix))]
    #[must_use]
    pub fn from_metadata(_: &fs::Metadata) -> Option<Self> {
        None
    }
}

#[cfg(unix)]
pub(crate) fn number_of_names(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
pub(crate) fn number_of_names(_: &fs::Metadata) -> u64 {
    1
}
