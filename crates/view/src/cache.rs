//! Cached timelines in a directory, so that traces need not be read again.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ichnos::viewers::Timeline;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// First bytes of a cache file, including the format version.
const MAGIC: &[u8; 16] = b"ichnos timeline9";

/// Extension of cache files.
const ENDING: &str = "ichnos-timeline";

/// Maximum size of one cache file, and of all files in the directory, in bytes.
const MOST_FILE: u64 = 1 << 30;
const MOST_DIRECTORY: u64 = 4 << 30;

/// Cache directory, and the file name for certain traces in it.
///
/// Each file contains a checksum and the version of this crate. Outdated and damaged files are ignored, as are links
/// and files that another user owns or can write. When the directory exceeds 4 GiB, the oldest files are removed.
#[derive(Clone, Debug)]
pub struct TimelineCache {
    directory: PathBuf,
    key: u64,
}

/// Totals stored with a timeline.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct KeptStatus {
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) events: u64,
    pub(crate) discarded_events: u64,
    pub(crate) discarded_packets: u64,
    pub(crate) damages: u64,
}

impl TimelineCache {
    /// Creates a cache in a directory. A missing directory is created. `key` must differ for different traces, file
    /// contents, and reading or selection options.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, key: u64) -> Self {
        Self { directory: directory.into(), key }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{:016x}.{ENDING}", self.key))
    }

    /// Returns the cached timeline, if it exists and is intact.
    pub(crate) fn load(&self) -> Option<(KeptStatus, Timeline)> {
        let file = open(&self.path()).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MOST_FILE || !is_own(&metadata) {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_FILE).read_to_end(&mut bytes).ok()?;
        let (content, sum) = bytes.split_last_chunk()?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        let content = content.strip_prefix(MAGIC)?.strip_prefix(env!("CARGO_PKG_VERSION").as_bytes())?;
        postcard::from_bytes(content).ok()
    }

    /// Stores a complete timeline.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn store(&self, status: &KeptStatus, timeline: &Timeline) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.directory)?;
        // The file has a new random name and mode 600.
        let temporary = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(&self.directory)?;
        let written = write(temporary.as_file(), status, timeline)
            .and_then(|()| NamedTempFile::persist(temporary, self.path()).map_err(|error| error.error));
        self.remove_oldest();
        written.map(drop)
    }

    /// Removes other files until the directory has at most the maximum size.
    fn remove_oldest(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let is_ours = |path: &Path| path.extension().is_some_and(|ending| ending == ENDING);
        let described = |entry: fs::DirEntry| {
            let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file() && is_own(metadata))?;
            let time = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            is_ours(&entry.path()).then(|| (time, metadata.len(), entry.path()))
        };
        let mut files: Vec<_> = entries.flatten().filter_map(described).collect();
        files.sort();
        let mut size: u64 = files.iter().map(|(_, len, _)| len).sum();
        let own = self.path();
        for (_, len, path) in files.iter().filter(|(.., path)| *path != own) {
            if size <= MOST_DIRECTORY {
                break;
            }
            if fs::remove_file(path).is_ok() {
                size -= len;
            }
        }
    }
}

/// Opens a file for reading, without following links or waiting for a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.cast_signed());
    }
    options.open(path)
}

/// Returns `true` for a file or a directory that only this user can write.
pub(crate) fn is_own(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

/// Writes a cache file.
fn write(file: &File, status: &KeptStatus, timeline: &Timeline) -> io::Result<()> {
    let mut out = Checked { out: BufWriter::new(file), sum: crc32fast::Hasher::new() };
    out.write_all(MAGIC)?;
    out.write_all(env!("CARGO_PKG_VERSION").as_bytes())?;
    let Checked { mut out, sum } = postcard::to_io(&(status, timeline), out).map_err(io::Error::other)?;
    out.write_all(&sum.finalize().to_le_bytes())?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Writer that computes a checksum.
struct Checked<W> {
    out: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
