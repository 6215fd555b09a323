//! Output files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::replacement::{ExistingOutput, place_file};
use crate::standard_output;
use crate::temporary;

const BUFFER: usize = 256 << 10;

/// Size from which bytes are written without a copy in the buffer. A system call costs less than that copy.
const DIRECT: usize = 32 << 10;

/// Opens an output: the standard output for `None` and `-`, otherwise a file.
///
/// The file appears (or is replaced) only with [`OutputFile::finish`]. Until then, all data is in a temporary file next
/// to it, which is removed if the output is dropped. A device or a pipe is written directly.
///
/// # Errors
/// Fails if the file cannot be created, or is a directory. Also fails if it exists, is not empty, and must not be
/// replaced, and if the program was started without a standard output.
pub fn create(path: Option<&Path>, existing: ExistingOutput) -> io::Result<OutputFile> {
    match path {
        Some(path) if path != Path::new("-") => create_file(path, existing),
        _ => OutputFile::standard(),
    }
}

fn create_file(path: &Path, existing: ExistingOutput) -> io::Result<OutputFile> {
    let with_path = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let old = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let message = "expected the name of a file to write, found a directory";
            return Err(with_path(io::Error::new(io::ErrorKind::IsADirectory, message)));
        }
        Ok(metadata) if metadata.is_file() && metadata.len() > 0 && existing == ExistingOutput::Refuse => {
            return Err(with_path(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the file exists and is not empty",
            )));
        }
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(_) => {
            let file = OpenOptions::new().write(true).open(path).map_err(with_path)?;
            let is_terminal = file.is_terminal();
            return Ok(OutputFile {
                writer: Some(writer(file)),
                replace: None,
                is_terminal,
                is_standard: false,
            });
        }
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            let message = "expected the name of a new file, found a symbolic link to nothing";
            return Err(with_path(io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        Err(_) => None,
    };
    // Replace the target of a symbolic link, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (temporary, file) = temporary::create_file(&target).map_err(with_path)?;
    // Other systems have no locks, and may not rename an open file.
    let lock = if cfg!(unix) { file.try_clone().map(Some) } else { Ok(None) };
    let lock = lock.inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(with_path)?;
    let replace = Some(Replace { temporary, target, existing, _lock: lock });
    let output = OutputFile { writer: Some(writer(file)), replace, is_terminal: false, is_standard: false };
    if let (Some(old), Some(replace)) = (old, &output.replace) {
        fs::set_permissions(&replace.temporary, old.permissions()).map_err(with_path)?;
    }
    Ok(output)
}

fn writer(file: File) -> BufWriter<Box<dyn Write + Send>> {
    BufWriter::with_capacity(BUFFER, Box::new(file))
}

/// Standard output without the standard library's line buffering.
#[cfg(unix)]
fn stdout() -> io::Result<Box<dyn Write + Send>> {
    use std::os::fd::AsFd;
    io::stdout().flush()?;
    Ok(Box::new(File::from(io::stdout().as_fd().try_clone_to_owned()?)))
}

#[cfg(not(unix))]
fn stdout() -> io::Result<Box<dyn Write + Send>> {
    Ok(Box::new(io::stdout()))
}

/// Returns `true` if the standard output is a pipe whose reader has gone.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn has_no_reader() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let output = io::stdout();
    let mut waiting = [PollFd::new(&output, PollFlags::empty())];
    let polled = poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    let [output] = &waiting;
    polled.is_ok() && output.revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn has_no_reader() -> bool {
    false
}

/// Output for results; see [`create()`].
pub struct OutputFile {
    /// `None` after `finish`.
    writer: Option<BufWriter<Box<dyn Write + Send>>>,
    replace: Option<Replace>,
    is_terminal: bool,
    is_standard: bool,
}

struct Replace {
    temporary: PathBuf,
    target: PathBuf,
    existing: ExistingOutput,
    /// Keeps the file locked until it has its final name. Otherwise, another process would remove it as abandoned.
    _lock: Option<File>,
}

impl OutputFile {
    /// Opens the standard output.
    ///
    /// # Errors
    /// Fails if the program was started without a standard output.
    pub fn standard() -> io::Result<Self> {
        if standard_output::was_closed() {
            return Err(io::Error::other("the standard output is closed"));
        }
        let is_terminal = io::stdout().is_terminal();
        let writer = Some(BufWriter::with_capacity(BUFFER, stdout()?));
        Ok(Self { writer, replace: None, is_terminal, is_standard: true })
    }

    /// Returns `true` for a terminal. Some output should then be escaped.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns the path of the temporary file with everything written so far, or `None` for a device or a pipe.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn written_path(&mut self) -> io::Result<Option<&Path>> {
        self.writer()?.flush()?;
        Ok(self.replace.as_ref().map(|replace| replace.temporary.as_path()))
    }

    /// Creates an output that discards everything.
    #[must_use]
    pub fn nowhere() -> Self {
        let writer = Some(BufWriter::new(Box::new(io::sink()) as Box<dyn Write + Send>));
        Self { writer, replace: None, is_terminal: false, is_standard: false }
    }

    /// Leaves an existing file unchanged. A device or a pipe receives the remaining output.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn discard(self) -> io::Result<()> {
        if self.replace.is_none() { self.finish() } else { Ok(()) }
    }

    /// Writes the remaining output and moves the file to its path.
    ///
    /// # Errors
    /// Fails if it cannot be written. The old file is then kept.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.flush()?;
        drop(writer);
        if let Some(replace) = &self.replace {
            place_file(&replace.temporary, &replace.target, replace.existing)?;
        }
        self.replace = None;
        Ok(())
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<Box<dyn Write + Send>>> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("the output is finished"))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let writer = self.writer()?;
        if bytes.len() < DIRECT {
            return writer.write_all(bytes);
        }
        writer.flush()?;
        writer.get_mut().write_all(bytes)
    }

    /// Also fails if nobody reads the standard output any more, even if there is nothing to write.
    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()?;
        if self.is_standard && !self.is_terminal && has_no_reader() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(replace) = &self.replace {
            if let Some(writer) = self.writer.take() {
                // The buffered output is no longer needed.
                drop(writer.into_parts());
            }
            let _ = fs::remove_file(&replace.temporary);
        }
    }
}

impl std::fmt::Debug for OutputFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.replace {
            Some(replace) => write!(f, "OutputFile({})", replace.target.display()),
            None => f.write_str("OutputFile"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDirectory;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn appears_when_finished() {
        let directory = TestDirectory::new("output");
        let path = directory.join("out.txt");
        fs::write(&path, b"old").unwrap();
        let mut output = create(Some(&path), ExistingOutput::Replace).unwrap();
        output.write_all(b"new").unwrap();
        output.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&directory), ["out.txt"]);
    }

    #[test]
    fn what_is_there_stays() {
        let directory = TestDirectory::new("stays");
        let path = directory.join("out");
        fs::write(&path, b"old").unwrap();
        let error = create(Some(&path), ExistingOutput::Refuse).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(&directory), ["out"]);
        // An empty file may be replaced.
        fs::write(&path, b"").unwrap();
        let mut output = create(Some(&path), ExistingOutput::Refuse).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        // A file written there in the meantime also stays.
        let path = directory.join("other");
        let output = create(Some(&path), ExistingOutput::Refuse).unwrap();
        fs::write(&path, b"mine").unwrap();
        assert_eq!(output.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            (fs::read(&path).unwrap(), names(&directory)),
            (b"mine".to_vec(), vec!["other".into(), "out".into()])
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_to_nothing_stay() {
        let directory = TestDirectory::new("link-to-nothing");
        let path = directory.join("link");
        std::os::unix::fs::symlink("nothing", &path).unwrap();
        assert_eq!(
            create(Some(&path), ExistingOutput::Replace).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(names(&directory), ["link"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_output_keeps_a_file_that_is_being_placed() {
        let directory = TestDirectory::new("placed");
        let path = directory.join("out");
        let mut output = create(Some(&path), ExistingOutput::Replace).unwrap();
        output.write_all(b"new").unwrap();
        // As in `finish`, before the file gets its name.
        let mut writer = output.writer.take().unwrap();
        writer.flush().unwrap();
        drop(writer);
        let other = create(Some(&path), ExistingOutput::Replace).unwrap();
        assert_eq!(names(&directory).len(), 2);
        let replace = output.replace.take().unwrap();
        place_file(&replace.temporary, &replace.target, replace.existing).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(other);
        assert_eq!(names(&directory), ["out"]);
    }

    #[test]
    fn goes_away_when_dropped() {
        let directory = TestDirectory::new("dropped");
        let mut output = create(Some(&directory.join("out")), ExistingOutput::Refuse).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(names(&directory).len(), 1);
        drop(output);
        assert!(names(&directory).is_empty());
    }

    #[test]
    fn leaves_the_old_file_when_discarded() {
        let directory = TestDirectory::new("discarded");
        let path = directory.join("out");
        fs::write(&path, b"old").unwrap();
        let mut output = create(Some(&path), ExistingOutput::Replace).unwrap();
        output.write_all(b"new").unwrap();
        output.discard().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&directory), ["out"]);
        OutputFile::nowhere().discard().unwrap();
    }

    #[test]
    fn refuses_directories() {
        let directory = TestDirectory::new("refuses");
        let error = create(Some(directory.path()), ExistingOutput::Replace).unwrap_err();
        assert!(error.to_string().contains("found a directory"), "{error}");
        let error = create(Some(&directory.join("no/such/directory")), ExistingOutput::Refuse).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn writes_devices_directly() {
        let mut output = create(Some(Path::new("/dev/null")), ExistingOutput::Refuse).unwrap();
        output.write_all(b"x").unwrap();
        output.finish().unwrap();
    }
}
