//! The metadata file of a recording.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::file_limit::check_file_size;
use super::recording_clock::RecordingClock;
use crate::description::{EventDescription, FieldDescription, MemberDescription};
use crate::metadata::{ClockDescription, EnvironmentValue, TraceDescription, write_event};

/// Unit in which the system writes: a killed process has written such a page or not.
const PAGE: usize = 4096;

/// Members of all events.
const CONTEXT: &[MemberDescription<'static>] =
    &[MemberDescription::new("vtid", FieldDescription::unsigned(32))];

/// The metadata of a recording, which grows when the program records events of a new class.
#[derive(Debug)]
pub(super) struct MetadataFile {
    directory: PathBuf,
    file: File,
    /// Number of bytes in the file.
    length: usize,
    /// Number of classes.
    count: u16,
}

impl MetadataFile {
    /// Creates the metadata of a new trace in a directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the directory has a trace.
    pub(super) fn create(directory: &Path, clock: &RecordingClock) -> io::Result<Self> {
        let head = head(clock);
        let hidden = directory.join(format!(".metadata-{}", std::process::id()));
        check_file_size(head.len() as u64)?;
        fs::write(&hidden, &head)?;
        // Unlike renaming, this never replaces a file.
        let linked = fs::hard_link(&hidden, directory.join("metadata"));
        fs::remove_file(&hidden)?;
        linked.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), "the directory has a trace already"),
            _ => error,
        })?;
        let file = File::options().append(true).open(directory.join("metadata"))?;
        let directory = directory.to_owned();
        Ok(Self { directory, file, length: head.len(), count: 0 })
    }

    /// Adds a class. Returns its id.
    pub(super) fn add(&mut self, class: &EventDescription<'_>) -> io::Result<u16> {
        let id = self.count;
        let next =
            id.checked_add(1).ok_or_else(|| io::Error::other("more than 65535 event record classes"))?;
        let mut text = String::new();
        write_event(&mut text, usize::from(id), class).map_err(io::Error::other)?;
        self.append(&text)?;
        self.count = next;
        Ok(id)
    }

    /// Appends a description so that the file never has a part of it.
    fn append(&mut self, text: &str) -> io::Result<()> {
        let left = PAGE - self.length % PAGE;
        if text.len() > PAGE {
            return self.replace(text);
        }
        if text.len() > left {
            // White space, of which a part is as good.
            self.write(&vec![b'\n'; left])?;
        }
        self.write(text.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        check_file_size((self.length + bytes.len()) as u64)?;
        match self.file.write(bytes) {
            Ok(written) if written == bytes.len() => {
                self.length += written;
                Ok(())
            }
            other => {
                // The disk is full: nothing stays, so that the file is valid.
                self.file.set_len(self.length as u64)?;
                Err(other.err().unwrap_or_else(|| io::ErrorKind::StorageFull.into()))
            }
        }
    }

    /// Appends a long description: a new file takes the place of this one.
    fn replace(&mut self, text: &str) -> io::Result<()> {
        let hidden = self.directory.join(format!(".metadata-{}", std::process::id()));
        let mut bytes = fs::read(self.directory.join("metadata"))?;
        bytes.extend_from_slice(text.as_bytes());
        check_file_size(bytes.len() as u64)?;
        let result = fs::write(&hidden, &bytes)
            .and_then(|()| File::options().append(true).open(&hidden))
            .and_then(|file| fs::rename(&hidden, self.directory.join("metadata")).map(|()| file));
        match result {
            Ok(file) => {
                self.file = file;
                self.length = bytes.len();
                Ok(())
            }
            Err(error) => {
                // The first error counts.
                let _ = fs::remove_file(&hidden);
                Err(error)
            }
        }
    }

    /// Copies the file.
    pub(super) fn copy(&self, directory: &Path) -> io::Result<()> {
        fs::copy(self.directory.join("metadata"), directory.join("metadata")).map(|_| ())
    }
}

/// Returns the metadata without classes.
fn head(clock: &RecordingClock) -> String {
    let frequency = clock.frequency();
    let (seconds, cycles) = clock.epoch();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let environment = [
        ("hostname", EnvironmentValue::Text(host.trim())),
        ("procname", EnvironmentValue::Text(&program)),
        ("vpid", EnvironmentValue::Integer(i64::from(std::process::id()))),
    ];
    let mut trace =
        TraceDescription::new(ClockDescription::new(clock.name(), frequency).since_epoch(seconds, cycles));
    trace.clock.precision = clock.precision();
    trace.environment = &environment;
    trace.common_context = CONTEXT;
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = trace.write_head(&mut text);
    text
}
