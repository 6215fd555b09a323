//! Timelines that are kept in a directory, so that traces need not be read again.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ichnos::export::viewers::Timeline;
use serde::{Deserialize, Serialize};

/// First bytes of a file, with the version of the format.
const MAGIC: &[u8; 16] = b"ichnos timeline3";

/// Ending of the names of files.
const ENDING: &str = "ichnos-timeline";

/// Maximum size of a file that is read, and of all files of a directory, in bytes.
const MOST_FILE: u64 = 1 << 30;
const MOST_DIRECTORY: u64 = 4 << 30;

/// A directory for timelines, and the name of that of some traces.
///
/// Files have a checksum, and the version of this crate: stale and damaged ones are like missing ones. When all of them have
/// more than 4 GiB, those that were written first are removed.
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
        let path = self.path();
        let metadata = fs::metadata(&path).ok()?;
        // A pipe would be waited for.
        if !metadata.is_file() || metadata.len() > MOST_FILE {
            return None;
        }
        let bytes = fs::read(&path).ok()?;
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
        fs::create_dir_all(&self.directory)?;
        let temporary = self.directory.join(format!(".{:016x}.{}.tmp", self.key, std::process::id()));
        let written = write(&temporary, status, timeline).and_then(|()| fs::rename(&temporary, self.path()));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        self.remove_oldest();
        written
    }

    /// Removes other files until all have at most the maximum size together.
    fn remove_oldest(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let is_ours = |path: &Path| path.extension().is_some_and(|ending| ending == ENDING);
        let described = |entry: fs::DirEntry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
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

/// Writes a file.
fn write(path: &Path, status: &KeptStatus, timeline: &Timeline) -> io::Result<()> {
    let mut out = Checked { out: BufWriter::new(File::create(path)?), sum: crc32fast::Hasher::new() };
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
