//! Files that are read while they grow.

use std::path::PathBuf;
use std::sync::Arc;

use ichnos::live::follow::{self, FollowError, FollowOptions};
use ichnos::model::OpenedTrace;
use ichnos::model::live::{LiveObserver, LiveOptions};
use ichnos::{OpenError, OpenOptions};

use crate::args::FollowArgs;
use crate::exit::Failure;
use crate::progress::Console;

/// Opens growing files, `later` if other inputs are read meanwhile. The inner error is about the traces, the outer error
/// about the options. Returns no trace if the program should end before there is one.
pub(super) fn open(
    paths: Vec<PathBuf>,
    args: &FollowArgs,
    later: bool,
    options: &OpenOptions,
    mut live: LiveOptions,
    console: Console,
) -> Result<Result<Vec<Box<dyn OpenedTrace>>, OpenError>, Failure> {
    live.observer = Arc::new(QuietInputs(live.observer));
    let mut follow = FollowOptions::default();
    (follow.interval, follow.opens_later) = (args.interval, later);
    follow.waiting = Arc::new(move |error| console.notice(&format!("waiting: {}", reason(error))));
    Ok(match follow::open(paths, options, &follow, &live) {
        Ok(traces) => Ok(traces.into_iter().map(|trace| Box::new(trace) as Box<dyn OpenedTrace>).collect()),
        Err(FollowError::Stopped) => Ok(Vec::new()),
        Err(FollowError::Open(error)) => Err(error),
        Err(error) => return Err(Failure::new(format!("--follow: {error}"))),
    })
}

/// Returns why a path cannot be read yet.
fn reason(error: &OpenError) -> String {
    let first = match error {
        OpenError::Refused(refused) => refused.iter().flat_map(|trace| &trace.diagnostics).next(),
        _ => None,
    };
    first.map_or_else(|| error.to_string(), |first| format!("{error}: {}", first.diagnostic.message))
}

/// Observer of inputs that are often quiet. It reports errors only.
pub(super) struct QuietInputs(pub(super) Arc<dyn LiveObserver>);

impl LiveObserver for QuietInputs {
    fn unrelated(&self, name: &str, error: &str) {
        self.0.unrelated(name, error);
    }

    fn failed(&self, name: &str, error: &str) {
        self.0.failed(name, error);
    }
}
