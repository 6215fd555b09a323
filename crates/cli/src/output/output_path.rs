//! Output paths. An output must be new and outside the input.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ichnos::io::{ExistingOutput, ListWritten, OutputFile, foreign_file, recover_replacement};
use ichnos::{OutputKind, Session};

use crate::args::{OutputArgs, Writing};
use crate::exit::Failure;
use crate::output::safe;

/// Path of an output.
#[derive(Clone, Copy)]
pub(crate) struct OutputPath<'a> {
    /// `None` for standard output, or if nothing is written.
    path: Option<&'a Path>,
    force: bool,
    /// `true` to add the output to an existing directory.
    appends: bool,
    kind: OutputKind,
    /// `true` to write next to the outputs of other processes.
    is_shard: bool,
}

impl<'a> OutputPath<'a> {
    /// Returns a path, or standard output for `-`.
    fn new(path: Option<&'a Path>, force: bool, kind: OutputKind) -> Self {
        let path = path.filter(|path| *path != Path::new("-"));
        Self { path, force, appends: false, kind, is_shard: false }
    }

    /// Returns the path for an output that is not a trace.
    pub(crate) fn for_file(output: &'a OutputArgs) -> Self {
        Self::new(output.path.as_deref(), output.force, OutputKind::Other)
    }

    /// Returns the path for an HTML page.
    #[cfg(feature = "view")]
    pub(crate) fn for_page(path: &'a Path, force: bool) -> Self {
        Self::new(Some(path), force, OutputKind::Other)
    }

    /// Returns the path for a text that can be read as a trace.
    pub(crate) fn for_trace_file(output: &'a OutputArgs) -> Self {
        Self::new(output.path.as_deref(), output.force, OutputKind::Trace)
    }

    /// Returns the path for a trace that is written while it is recorded.
    #[cfg(all(feature = "dotnet", target_os = "linux"))]
    pub(crate) fn for_recording(path: &'a Path, force: bool) -> Self {
        Self::new(Some(path), force, OutputKind::Trace)
    }

    /// Returns the path for one or several traces.
    pub(crate) fn for_trace(writing: &'a Writing) -> Self {
        // Nothing is written at the address of a receiver.
        let is_path = |path: &&Path| !writing.dry_run && !ichnos::convert::is_address(path);
        let path = writing.output.as_deref().filter(is_path);
        let (appends, is_shard) = (writing.writer_flags.append(), writing.shard.is_some());
        Self { appends, is_shard, ..Self::new(path, writing.force, OutputKind::Trace) }
    }

    /// Returns the action for an existing file.
    pub(crate) fn existing(self) -> ExistingOutput {
        if self.force { ExistingOutput::Replace } else { ExistingOutput::Refuse }
    }

    /// Checks that the output can be read again if `verify` is set.
    pub(crate) fn check_readable(self, verify: bool) -> Result<(), Failure> {
        let is_special = |path: &Path| {
            std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
        };
        if verify && self.path.is_none_or(is_special) {
            let message = "--verify must read the output back, but a pipe or a device cannot be read back";
            return Err(Failure::new(message).help("name a file or a directory, -o OUT"));
        }
        Ok(())
    }

    /// Completes or undoes the output that a killed run left.
    pub(crate) fn recover(self) -> Result<(), Failure> {
        let Some(path) = self.path else { return Ok(()) };
        let list: ListWritten = Arc::new(|directory| {
            let mut writers = ichnos::convert::targets().map(|target| target.writer);
            let unknown = || Err(foreign_file(directory, "no format writes it"));
            let first = writers.next().map_or_else(unknown, |writer| writer.written_files(directory));
            first
                .or_else(|error| writers.find_map(|writer| writer.written_files(directory).ok()).ok_or(error))
        });
        recover_replacement(path, &list)
            .map_err(|error| Failure::new(safe(&format!("{}: {error}", path.display()))))
    }

    /// Checks that the path is new and that its directory exists. Must be called before reading, which can take long.
    pub(crate) fn check_new(self) -> Result<(), Failure> {
        self.path.map_or(Ok(()), check_parent)?;
        let Some(path) = self.path.filter(|_| !self.force) else { return Ok(()) };
        let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
        if (self.appends || self.is_shard) && metadata.is_dir() {
            return Ok(());
        }
        let is_empty = match metadata.is_dir() {
            true => std::fs::read_dir(path).is_ok_and(|mut items| items.next().is_none()),
            false => !metadata.is_file() || metadata.len() == 0,
        };
        if is_empty {
            return Ok(());
        }
        let kind = if metadata.is_dir() { "directory" } else { "file" };
        let message = format!("{}: the {kind} exists and is not empty", safe(&path.display().to_string()));
        Err(Failure::new(message).help("choose a new name, or replace it with --force"))
    }

    /// Checks that the output would not change the input.
    pub(crate) fn check_apart(self, session: &Session) -> Result<(), Failure> {
        let Some(path) = self.path else { return Ok(()) };
        session.check_output(path, self.kind).map_err(|conflict| {
            Failure::new(safe(&conflict.to_string())).help("choose a name outside the input")
        })
    }

    /// Creates the file.
    pub(crate) fn create(self) -> Result<OutputFile, Failure> {
        ichnos::io::create(self.path, self.existing())
            .map_err(|error: io::Error| Failure::new(format!("the output cannot be opened: {error}")))
    }
}

/// Checks that the parent directory of the output exists.
fn check_parent(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let is_missing = |parent: &&Path| {
        std::fs::metadata(parent).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    parent.filter(is_missing).map_or(Ok(()), |parent| {
        let [path, parent] = [path, parent].map(|path| safe(&path.display().to_string()).into_owned());
        Err(Failure::new(format!("{path}: the directory `{parent}` does not exist"))
            .help("create it, or choose another place"))
    })
}
