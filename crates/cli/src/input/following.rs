//! Files that are read while they grow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::live::follow::{FollowError, FollowFeed, FollowOptions};
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::{OpenError, OpenOptions, Session};

use crate::args::FollowArgs;
use crate::exit::Failure;
use crate::progress::{Console, interrupt};

/// Opens growing files. The inner error is about the traces, the outer error about the options.
pub(super) fn open(
    paths: Vec<PathBuf>,
    args: &FollowArgs,
    options: &OpenOptions,
    console: Console,
) -> Result<Result<Session, OpenError>, Failure> {
    if let Some(path) = paths.iter().find(|path| is_pipe(path)) {
        return Err(Failure::new(format!("--follow: {} is a pipe, not a file", path.display()))
            .help("without --follow, it is read to its end"));
    }
    let live = live_options(console);
    let mut follow = FollowOptions::default();
    follow.interval = args.interval;
    follow.waiting = Arc::new(move |error| console.notice(&format!("waiting: {error}")));
    Ok(match FollowFeed::open(paths, options, &follow, &live) {
        Ok(feed) => Ok(Session::of_live(vec![Box::new(feed.into_trace(live))], options)),
        Err(FollowError::Open(error)) => Err(error),
        Err(FollowError::Stopped) => Ok(Session::of_live(Vec::new(), options)),
        Err(error) => return Err(Failure::new(format!("--follow: {error}"))),
    })
}

/// Returns the options of an input that ends at a signal.
fn live_options(console: Console) -> LiveOptions {
    interrupt::watch();
    let mut live = LiveOptions::default();
    live.stop = Some(interrupt::flag());
    live.observer = Arc::new(FollowReporter(console));
    live
}

/// Reports the end of an input because of an error. Quiet files are normal.
struct FollowReporter(Console);

impl LiveObserver for FollowReporter {
    fn failed(&self, name: &str, error: &str) {
        self.0.error(&format!("{name}: {error}"));
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
