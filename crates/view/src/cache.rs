//! Timelines that are kept in a directory, so that traces need not be read again.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ichnos::viewers::Timeline;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// First bytes of a file, with the version of the format.
const MAGIC: &[u8; 16] = b"ichnos timeline7";

/// Ending of the names of files.
const ENDING: &str = "ichnos-timeline";

/// Maximum size of a file that is read, and of all files of a directory, in bytes.
const MOST_FILE: u64 = 1 << 30;
const MOST_DIRECTORY: u64 = 4 << 30;

/// A directory for timelines, and the name of that of some traces.
///
/// Files have a checksum, and the version of this crate: stale and damaged files are like missing files. So are links, and
/// files that another user owns or may write. When all files have more than 4 GiB, the oldest ones are removed.
#[derive(Clone, Debug)]
pub struct TimelineCache {
    directory: PathBuf,
    key: u64,
}

/// Numbers that are kept beside a timeline.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct KeptStatus {
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) events: u64,
    pub(crate) discarded_events: u64,
    pub(crate) discarded_packets: u64,
    pub(crate) damages: u64,
}

impl TimelineCache {
    /// Keeps timelines in a directory, which is created if it is missing. `key` differs for other traces, other states of
    /// their files, and other options of reading and selecting.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, key: u64) -> Self {
        Self { directory: directory.into(), key }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{:016x}.{ENDING}", self.key))
    }

    /// Returns the timeline, if it is there and intact.
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

    /// Keeps a timeline that is complete.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn store(&self, status: &KeptStatus, timeline: &Timeline) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.directory)?;
        // Its random name is new, and its mode 600.
        let temporary = tempfile::Builder::new().prefix(".").suffix(".tmp").tempfile_in(&self.directory)?;
        let written = write(temporary.as_file(), status, timeline)
            .and_then(|()| NamedTempFile::persist(temporary, self.path()).map_err(|error| error.error));
        self.remove_oldest();
        written.map(drop)
    }

    /// Removes other files until all have at most the maximum size together.
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

/// Opens a file for reading. Links are not followed, and a pipe is not waited for.
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

/// Writes a file.
fn write(file: &File, status: &KeptStatus, timeline: &Timeline) -> io::Result<()> {
    let mut out = Checked { out: BufWriter::new(file), sum: crc32fast::Hasher::new() };
    out.write_all(MAGIC)?;
    out.write_all(env!("CARGO_PKG_VERSION").as_bytes())?;
    let Checked { mut out, sum } = postcard::to_io(&(status, timeline), out).map_err(io::Error::other)?;
    out.write_all(&sum.finalize().to_le_bytes())?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Output with a checksum.
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
