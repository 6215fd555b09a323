//! Files that are read while they grow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::live::follow::{FollowError, FollowFeed, FollowOptions};
use ichnos::model::OpenedTrace;
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::{OpenError, OpenOptions};

use crate::args::FollowArgs;
use crate::exit::Failure;
use crate::progress::Console;

/// Opens growing files. The inner error is about the traces, the outer error about the options. Returns no trace if the
/// program should end before there is one.
pub(super) fn open(
    paths: Vec<PathBuf>,
    args: &FollowArgs,
    options: &OpenOptions,
    mut live: LiveOptions,
    console: Console,
) -> Result<Result<Option<Box<dyn OpenedTrace>>, OpenError>, Failure> {
    if let Some(path) = paths.iter().find(|path| is_pipe(path)) {
        return Err(Failure::new(format!("--follow: {} is a pipe, not a file", path.display()))
            .help("without --follow, it is read to its end"));
    }
    live.observer = Arc::new(QuietFiles(live.observer));
    let mut follow = FollowOptions::default();
    follow.interval = args.interval;
    follow.waiting = Arc::new(move |error| console.notice(&format!("waiting: {error}")));
    Ok(match FollowFeed::open(paths, options, &follow, &live) {
        Ok(feed) => Ok(Some(Box::new(feed.into_trace(live)))),
        Err(FollowError::Stopped) => Ok(None),
        Err(FollowError::Open(error)) => Err(error),
        Err(error) => return Err(Failure::new(format!("--follow: {error}"))),
    })
}

/// Observer that reports errors only: quiet files are normal.
struct QuietFiles(Arc<dyn LiveObserver>);

impl LiveObserver for QuietFiles {
    fn failed(&self, name: &str, error: &str) {
        self.0.failed(name, error);
    }
}

/// Returns `true` if a path can be read only once.
fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            return true;
        }
    }
    path.as_os_str() == "-"
}
