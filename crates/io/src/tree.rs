//! All files below a root.

use std::fs::{self, FileType};
use std::io::{Cursor, Read};
use std::path::Path;

use crate::archive::{ArchiveMembers, MemberContent};
use crate::decompress::{HEAD, Packing, UnpackedData, unpack};
use crate::entry::EntrySource;
use crate::plain_file::special;
use crate::problem::TreeProblem;
use crate::store::Store;
use crate::tree_options::TreeOptions;
use crate::unpack_budget::UnpackBudget;
use crate::walk::Walk;
use crate::{Bytes, Entry, IoError, IoLimits, tar_archive, zip_archive};

/// All files below a root, sorted by path.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Root name, for example the path that was opened.
    pub name: String,
    /// Files, and links to directories that are listed elsewhere ([`Entry::repeats`]).
    pub entries: Vec<Entry>,
    /// Problems with the tree itself: directories that cannot be read, a truncated archive. The tree contains all
    /// entries that could be read.
    pub problems: Vec<TreeProblem>,
}

impl Tree {
    /// Opens a directory, an archive, a compressed file, any other file, or a pipe.
    ///
    /// Hidden files and directories (whose names start with a dot) are included, because formats know their meaning.
    /// Symbolic links are followed, and each directory is listed once. Archives (tar, also compressed, and zip) and
    /// compressed files (gzip, Zstandard, xz) are recognized by their content.
    ///
    /// # Errors
    /// Fails if nothing exists at `path`, it cannot be read at all, or it exceeds the limits. Unreadable items *within*
    /// a directory do not cause an error here: [`Entry::read`] fails for files, and [`Tree::problems`] lists
    /// directories.
    pub fn open(path: &Path, limits: &IoLimits) -> Result<Self, IoError> {
        Self::open_with(path, &TreeOptions::from(*limits))
    }

    /// Like [`Tree::open`], with all options.
    ///
    /// # Errors
    /// See [`Tree::open`].
    pub fn open_with(path: &Path, options: &TreeOptions) -> Result<Self, IoError> {
        let name = path.to_string_lossy().into_owned();
        let metadata = fs::metadata(path).map_err(|error| IoError::system(&name, "file", error))?;
        if metadata.is_dir() {
            let (entries, problems) = Walk::new(&name, options).directory(path)?;
            return Ok(Self { name, entries, problems });
        }
        if metadata.is_file() {
            let bytes = Bytes::from_file(path).map_err(|error| IoError::system(&name, "file", error))?;
            // A path to a plain file ends with its name.
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Self::from_bytes(&name, &file, FileSource::File(path, bytes), options);
        }
        if is_pipe(metadata.file_type()) {
            let reader = fs::File::open(path).map_err(|error| IoError::system(&name, "pipe", error))?;
            return Self::from_reader_with(name, reader, options);
        }
        Err(IoError::Special { path: name, found: special(metadata.file_type()) })
    }

    /// Returns the files, without links to directories that are listed elsewhere.
    pub fn files(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.repeats().is_none())
    }

    /// Returns the path of a file, starting with the tree's name.
    #[must_use]
    pub fn path_of(&self, entry: &Entry) -> String {
        let is_itself = self.name.rsplit('/').next() == Some(&*entry.path);
        if is_itself {
            self.name.clone()
        } else {
            format!("{}/{}", self.name.trim_end_matches('/'), entry.path)
        }
    }

    /// Returns `true` if a file that starts with these bytes is an archive or a compressed file.
    #[must_use]
    pub fn is_packed(beginning: &[u8]) -> bool {
        Packing::from_head(beginning.get(..HEAD.min(beginning.len())).unwrap_or_default()).is_some()
    }

    /// Reads a pipe to its end: an archive or a file, packed or not.
    ///
    /// # Errors
    /// Fails if it cannot be read or delivers more than the limits allow.
    pub fn from_reader(
        name: impl Into<String>,
        reader: impl Read,
        limits: &IoLimits,
    ) -> Result<Self, IoError> {
        Self::from_reader_with(name, reader, &TreeOptions::from(*limits))
    }

    /// Like [`Tree::from_reader`], with all options.
    ///
    /// # Errors
    /// See [`Tree::from_reader`].
    pub fn from_reader_with(
        name: impl Into<String>,
        mut reader: impl Read,
        options: &TreeOptions,
    ) -> Result<Self, IoError> {
        let name = name.into();
        let mut head = Vec::with_capacity(HEAD);
        reader
            .by_ref()
            .take(HEAD as u64)
            .read_to_end(&mut head)
            .map_err(|error| IoError::system(&name, "pipe", error))?;
        let packing = Packing::from_head(&head);
        // Counted while unpacking.
        let packed = matches!(packing, Some(Packing::Gzip | Packing::Zstd | Packing::Xz)).then_some(0);
        let mut budget = UnpackBudget::new(&name, options, packed);
        let reader = Cursor::new(head).chain(reader);
        let file = name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let file = if file.is_empty() { "stdin".to_owned() } else { file };
        match packing {
            Some(packing) if packing.is_of_one_file() => {
                let unpacked = unpack(packing, reader, None, &mut budget)?;
                Self::from_unpacked(&name, unpacked_name(&file), unpacked, &mut budget)
            }
            _ => {
                let mut store = Store::default();
                if let Some(error) = store.read(reader, &mut budget)? {
                    return Err(IoError::system(&name, "pipe", error));
                }
                let bytes = store.finish(&mut budget)?;
                Self::from_bytes(&name, &file, FileSource::Memory(bytes), options)
            }
        }
    }

    /// Unpacks selected files: by index, if they [are compressed](Entry::is_compressed_file), and if `is_wanted`
    /// accepts their start. Paths do not change. Archives, and files that cannot be unpacked at all, stay unchanged.
    /// Problems with selected files are added to [`Tree::problems`].
    pub fn unpack_files(
        &mut self,
        files: &[usize],
        options: &TreeOptions,
        is_wanted: &mut dyn FnMut(&Entry) -> bool,
    ) {
        /// Number of bytes that identify a file.
        const PROBED: u64 = 16 << 10;
        // Together they stay within the limits for a tree.
        let mut options = options.clone();
        let options_beginning = options.beginning;
        let mut unpack_part = |path: &str, bytes: &Bytes, most: Option<u64>| {
            let packing = Packing::from_head(head(bytes)).filter(|packing| packing.is_of_one_file())?;
            let mut budget = UnpackBudget::new(path, &options, Some(bytes.len() as u64));
            let unpacked = unpack(packing, &**bytes, most, &mut budget);
            if let Ok(unpacked) = &unpacked {
                let used = unpacked.bytes.len() as u64;
                let left = &mut options.limits.decompressed_bytes;
                *left = left.saturating_sub(used);
                options.memory_bytes = if most == Some(PROBED) {
                    options.memory_bytes
                } else {
                    options.memory_bytes.saturating_sub(used)
                };
            }
            Some(unpacked)
        };
        for index in files {
            let Some(entry) = self.entries.get_mut(*index) else { continue };
            if !entry.is_compressed_file() {
                continue;
            }
            let Ok(bytes) = entry.read() else { continue };
            let Some(Ok(beginning)) = unpack_part(&entry.path, &bytes, Some(PROBED)) else { continue };
            if Packing::from_head(head(&beginning.bytes)) == Some(Packing::Tar)
                || !is_wanted(&Entry::from_bytes(&*entry.path, beginning.bytes))
            {
                continue;
            }
            match unpack_part(&entry.path, &bytes, options_beginning) {
                Some(Ok(unpacked)) => {
                    let UnpackedData { bytes: unpacked, problem, goes_on } = unpacked;
                    let content = content(unpacked, problem.as_ref(), goes_on);
                    self.problems.extend(
                        problem.map(|problem| TreeProblem::new(format!("{}: {problem}", entry.path))),
                    );
                    *entry = Entry::from_member(entry.path.clone(), content, Some(bytes.len() as u64));
                }
                Some(Err(error)) => self.problems.push(TreeProblem::new(error.to_string())),
                None => {}
            }
        }
    }

    fn from_bytes(
        name: &str,
        file: &str,
        source: FileSource<'_>,
        options: &TreeOptions,
    ) -> Result<Self, IoError> {
        let bytes = source.bytes().clone();
        let mut tree = Self::from_packed_bytes(name, file, source, options)?;
        if !bytes.look_for_loss().is_empty() {
            tree.problems.push(TreeProblem::new("the file has become shorter while it was read"));
        }
        Ok(tree)
    }

    fn from_packed_bytes(
        name: &str,
        file: &str,
        source: FileSource<'_>,
        options: &TreeOptions,
    ) -> Result<Self, IoError> {
        let bytes = source.bytes();
        let mut budget = UnpackBudget::new(name, options, Some(bytes.len() as u64));
        match Packing::from_head(head(bytes)) {
            Some(packing) if packing.is_of_one_file() => {
                let mut unpacked = unpack(packing, &**bytes, options.beginning, &mut budget)?;
                if unpacked.goes_on && Packing::from_head(head(&unpacked.bytes)) == Some(Packing::Tar) {
                    drop(unpacked);
                    let new_budget = || UnpackBudget::new(name, options, Some(bytes.len() as u64));
                    budget = new_budget();
                    let beginning = options.beginning.unwrap_or(u64::MAX);
                    if let Some(members) = tar_archive::beginnings(bytes, packing, beginning, &mut budget)? {
                        return Ok(Self::from_members(name, members, &budget));
                    }
                    budget = new_budget();
                    unpacked = unpack(packing, &**bytes, None, &mut budget)?;
                }
                Self::from_unpacked(name, unpacked_name(file), unpacked, &mut budget)
            }
            Some(Packing::Tar) => {
                Ok(Self::from_members(name, tar_archive::members(bytes, false, &mut budget)?, &budget))
            }
            Some(Packing::Zip) => {
                Ok(Self::from_members(name, zip_archive::members(bytes, &mut budget)?, &budget))
            }
            _ => {
                let entry = match source {
                    // By its path, so that it is examined again when it is read.
                    FileSource::File(path, bytes) => {
                        let directory = path.parent().unwrap_or(Path::new("")).into();
                        let name = path.file_name().unwrap_or_default().into();
                        let entry = Entry::from_source(
                            file.to_owned(),
                            EntrySource::File { directory, name, is_link: false },
                        );
                        Entry { len: Some(bytes.len() as u64), ..entry }
                    }
                    FileSource::Memory(bytes) => Entry::from_bytes(file, bytes),
                };
                Ok(Self { name: name.to_owned(), entries: vec![entry], problems: Vec::new() })
            }
        }
    }

    /// Creates the tree for an unpacked compressed file: an archive, or a single file.
    fn from_unpacked(
        name: &str,
        file: &str,
        unpacked: UnpackedData,
        budget: &mut UnpackBudget<'_>,
    ) -> Result<Self, IoError> {
        let UnpackedData { bytes, problem, goes_on } = unpacked;
        let mut tree = match Packing::from_head(head(&bytes)) {
            Some(Packing::Tar) => {
                Self::from_members(name, tar_archive::members(&bytes, true, budget)?, budget)
            }
            _ => {
                let content = content(bytes, problem.as_ref(), goes_on);
                let entry = Entry::from_member(file.to_owned(), content, budget.packed());
                Self { name: name.to_owned(), entries: vec![entry], problems: Vec::new() }
            }
        };
        tree.problems.splice(0..0, problem.map(TreeProblem::from));
        Ok(tree)
    }

    fn from_members(name: &str, members: ArchiveMembers, budget: &UnpackBudget<'_>) -> Self {
        let packed = budget.packed();
        let entries =
            members.files.into_iter().map(|(path, content)| Entry::from_member(path, content, packed));
        let problems = members.problems.into_iter().map(TreeProblem::from);
        Self { name: name.to_owned(), entries: entries.collect(), problems: problems.collect() }
    }
}

enum FileSource<'a> {
    File(&'a Path, Bytes),
    Memory(Bytes),
}

impl FileSource<'_> {
    fn bytes(&self) -> &Bytes {
        match self {
            Self::File(_, bytes) | Self::Memory(bytes) => bytes,
        }
    }
}

/// Unpacked content of a file.
fn content(bytes: Bytes, problem: Option<&String>, goes_on: bool) -> MemberContent {
    match problem {
        Some(problem) => MemberContent::Bytes(bytes).cut(problem.clone()),
        None if goes_on => {
            let len = bytes.len() as u64;
            MemberContent::Beginning(Box::new((MemberContent::Bytes(bytes), len)))
        }
        None => MemberContent::Bytes(bytes),
    }
}

/// Start of the data, enough to show any packing.
fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..HEAD.min(bytes.len())]
}

/// File name without the compression suffix.
fn unpacked_name(file: &str) -> &str {
    for suffix in [".gz", ".zst", ".xz"] {
        if let Some(name) = file.strip_suffix(suffix)
            && !name.is_empty()
        {
            return name;
        }
    }
    file
}

#[cfg(unix)]
fn is_pipe(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo()
}

#[cfg(not(unix))]
fn is_pipe(_: FileType) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ichnos_testing::Random;

    use super::*;
    use crate::testing::TestDirectory;

    fn paths(tree: &Tree) -> Vec<&str> {
        tree.entries.iter().map(|entry| entry.path.as_str()).collect()
    }

    fn archive() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in
            [("t/metadata", &b"/* CTF 1.8 */"[..]), ("t/b/stream", b"stream"), ("t/.hidden", b"x")]
        {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, path, content).unwrap();
        }
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Link);
        header.set_size(0);
        builder.append_link(&mut header, "t/link", "t/b/stream").unwrap();
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn check_archive(tree: &Tree) {
        assert_eq!(paths(tree), ["t/.hidden", "t/b/stream", "t/link", "t/metadata"]);
        assert_eq!(&*tree.entries[1].read().unwrap(), b"stream");
        assert_eq!(&*tree.entries[2].read().unwrap(), b"stream");
        assert_eq!(tree.entries[3].name(), "metadata");
        assert_eq!(tree.entries[1].directory(), "t/b");
        assert!(tree.problems.is_empty(), "{:?}", tree.problems);
    }

    #[test]
    fn says_what_is_missing() {
        let error = Tree::open(Path::new("/does/not/exist"), &IoLimits::default()).unwrap_err();
        assert_eq!(error.to_string(), "/does/not/exist: no such file or directory");
    }

    #[test]
    fn opens_archives_by_content() {
        let directory = TestDirectory::new("archives");
        let tar = archive();
        let zstd = zstd::stream::encode_all(&tar[..], 1).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&tar).unwrap();
        let xz = xz.finish().unwrap();
        for (name, bytes) in [("1", &tar), ("2", &gzip(&tar)), ("3", &zstd), ("4", &xz)] {
            fs::write(directory.join(name), bytes).unwrap();
            check_archive(&Tree::open(&directory.join(name), &IoLimits::default()).unwrap());
            check_archive(&Tree::from_reader("-", &bytes[..], &IoLimits::default()).unwrap());
        }
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for (path, content) in [("t/metadata", "m"), ("t/b/stream", "stream"), ("../evil", "x")] {
            zip.start_file(path, options).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        let zip = zip.finish().unwrap().into_inner();
        let tree = Tree::from_reader("-", &zip[..], &IoLimits::default()).unwrap();
        assert_eq!(paths(&tree), ["t/b/stream", "t/metadata"]);
        assert_eq!(tree.problems.len(), 1);
        assert_eq!(&*tree.entries[0].read().unwrap(), b"stream");
    }

    #[test]
    fn opens_single_files() {
        let directory = TestDirectory::new("single");
        fs::write(directory.join("metadata.gz"), gzip(b"/* CTF 1.8 */")).unwrap();
        fs::write(directory.join("plain"), b"plain").unwrap();
        fs::write(directory.join("empty"), b"").unwrap();
        let tree = Tree::open(&directory.join("metadata.gz"), &IoLimits::default()).unwrap();
        assert_eq!(paths(&tree), ["metadata"]);
        assert_eq!(&*tree.entries[0].read().unwrap(), b"/* CTF 1.8 */");
        let tree = Tree::open(&directory.join("plain"), &IoLimits::default()).unwrap();
        assert_eq!((paths(&tree), tree.entries[0].len), (vec!["plain"], Some(5)));
        let tree = Tree::open(&directory.join("empty"), &IoLimits::default()).unwrap();
        assert!(tree.entries[0].read().unwrap().is_empty());
    }

    #[test]
    fn keeps_what_a_damaged_archive_has() {
        let tar = archive();
        // Cut within the content of the second member.
        let cut = &tar[..512 * 3 + 3];
        let tree = Tree::from_reader("-", cut, &IoLimits::default()).unwrap();
        assert_eq!(&*tree.entries[0].read().unwrap(), b"str");
        let problem =
            "the archive is truncated at byte 1539, within the member \"t/b/stream\": 3 bytes are missing";
        assert!(tree.problems[0].message.starts_with(problem), "{:?}", tree.problems);
        assert_eq!(tree.entries[0].cut_off(), Some(problem));
        let packed = gzip(&(0..100_000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        let tree = Tree::from_reader("-", &packed[..packed.len() / 2], &IoLimits::default()).unwrap();
        assert!(tree.entries[0].len > Some(1000));
        assert_eq!(tree.problems.len(), 1);
        let error = Tree::from_reader("-", &packed[..5], &IoLimits::default()).unwrap_err();
        assert!(matches!(error, IoError::Damaged { .. }), "{error}");
    }

    #[test]
    fn limits_hold() {
        let packed = gzip(&vec![0; 100 << 20]);
        let tight = IoLimits { decompressed_bytes: 1 << 20, ..IoLimits::default() };
        let error = Tree::from_reader("-", &packed[..], &tight).unwrap_err();
        assert_eq!(error.to_string(), "-: the number of unpacked bytes exceeds the limit of 1048576");
        let ratio = IoLimits { ratio: 100, ..IoLimits::default() };
        assert!(matches!(Tree::from_reader("-", &packed[..], &ratio), Err(IoError::Ratio { .. })));
        // For files and pipes.
        let directory = TestDirectory::new("ratio");
        fs::write(directory.join("zeros.gz"), &packed).unwrap();
        let error = Tree::open(&directory.join("zeros.gz"), &ratio).unwrap_err();
        let limit = ratio.unpacked(packed.len() as u64);
        let expected =
            format!("zeros.gz: {} packed bytes unpack to more than the limit of {limit}", packed.len());
        assert!(error.to_string().ends_with(&expected), "{error}");
        // Any file may unpack to 64 MiB.
        let small = gzip(&vec![0; 60 << 20]);
        assert_eq!(Tree::from_reader("-", &small[..], &ratio).unwrap().entries[0].len, Some(60 << 20));
        // Zeros at the start are harmless if enough other bytes follow.
        let mixed = [vec![0; 100 << 20], Random::new(1).bytes(1 << 20)].concat();
        assert!(Tree::from_reader("-", &gzip(&mixed)[..], &IoLimits::default()).is_ok());
        let error = Tree::from_reader("-", std::io::repeat(1), &tight).unwrap_err();
        assert!(matches!(error, IoError::Limit { .. }));
    }

    /// Any archive damage has a defined result: never a panic or a hang.
    #[test]
    fn survives_any_damage() {
        let tar = archive();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&tar).unwrap();
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("t/metadata", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&[b'm'; 300]).unwrap();
        let packed = [
            tar.clone(),
            gzip(&tar),
            zstd::stream::encode_all(&tar[..], 1).unwrap(),
            xz.finish().unwrap(),
            zip.finish().unwrap().into_inner(),
        ];
        let limits = IoLimits { decompressed_bytes: 1 << 20, entries: 100, ..IoLimits::default() };
        for bytes in packed {
            for at in 0..bytes.len().min(1024) {
                for with in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                    let mut damaged = bytes.clone();
                    damaged[at] = with;
                    if let Ok(tree) = Tree::from_reader("-", &damaged[..], &limits) {
                        tree.entries.iter().for_each(|entry| drop(entry.read()));
                    }
                }
                drop(Tree::from_reader("-", &bytes[..at], &limits));
            }
        }
    }
}
