//! Pipes, which are copied into files that can be read again.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ichnos_model::live::{Arrivals, LiveOptions};
use ichnos_model::locks::IgnorePoison as _;
use tempfile::TempDir;

/// Number of bytes to copy at a time.
const STEP: usize = 64 << 10;

/// Time between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(10);

/// A pipe that is copied into a temporary file while it is read.
#[derive(Debug)]
pub(super) struct SpooledPipe {
    path: PathBuf,
    state: Arc<SpoolState>,
    _directory: TempDir,
}

#[derive(Debug, Default)]
struct SpoolState {
    has_ended: AtomicBool,
    /// Error that ended it early.
    error: Mutex<Option<io::Error>>,
}

impl SpooledPipe {
    /// Starts to copy the pipe at a path, or the standard input for `-`.
    pub(super) fn open(path: &Path, temp_dir: Option<&Path>, live: &LiveOptions) -> io::Result<Self> {
        let directory = match temp_dir {
            Some(parent) => TempDir::with_prefix_in("ichnos-", parent)?,
            None => TempDir::with_prefix("ichnos-")?,
        };
        let name = path.file_name().filter(|name| *name != "-").unwrap_or("stdin".as_ref());
        let spooled = directory.path().join(name);
        let file = File::create_new(&spooled)?;
        let state = Arc::new(SpoolState::default());
        let (own, from, arrivals) = (Arc::clone(&state), path.to_owned(), live.arrivals.clone());
        // It is not waited for: reading a pipe cannot be interrupted.
        std::thread::Builder::new().name("pipe".to_owned()).spawn(move || {
            if let Err(error) = copy(&from, file, &arrivals) {
                *own.error.lock().ignore_poison() = Some(error);
            }
            own.has_ended.store(true, Ordering::Release);
            arrivals.notify();
        })?;
        Ok(Self { path: spooled, state, _directory: directory })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a function that returns `true` after the end of the pipe.
    pub(super) fn end(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let state = Arc::clone(&self.state);
        move || state.has_ended.load(Ordering::Acquire)
    }

    /// Returns the error that ended it early, once.
    pub(super) fn take_error(&self) -> Option<io::Error> {
        self.state.error.lock().ignore_poison().take()
    }

    /// Waits for its first bytes. Returns `false` if it should end before.
    pub(super) fn wait_for(&self, bytes: u64, live: &LiveOptions) -> bool {
        let has_ended = self.end();
        loop {
            let arrived = live.arrivals.count();
            let has_bytes = self.path.metadata().is_ok_and(|found| found.len() >= bytes);
            if has_bytes || has_ended() {
                return true;
            }
            if live.is_stopped() {
                return false;
            }
            let _ = live.arrivals.wait(arrived, LOOK);
        }
    }
}

fn copy(from: &Path, mut to: File, arrivals: &Arrivals) -> io::Result<()> {
    let mut pipe: Box<dyn Read> = match from == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(from)?),
    };
    let mut buffer = vec![0; STEP];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                to.write_all(buffer.get(..length).unwrap_or_default())?;
                arrivals.notify();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
