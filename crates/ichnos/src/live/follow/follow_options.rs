//! Options for following files.

use std::sync::Arc;
use std::time::Duration;

use crate::OpenError;

/// Options for following files.
#[derive(Clone)]
#[non_exhaustive]
pub struct FollowOptions {
    /// Time between two looks at the files. It is longer if opening them takes more than a tenth of it.
    pub interval: Duration,
    /// Returns `true` if the files do not grow any more. The default never does.
    pub has_ended: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Do not wait until there is a trace at each path, because other inputs are read meanwhile.
    pub opens_later: bool,
    /// Returns `true` if there need not be a trace, because other inputs of the paths are read.
    pub(super) goes_on: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Called with each new reason why a path cannot be read yet.
    pub waiting: Arc<dyn Fn(&OpenError) + Send + Sync>,
}

impl Default for FollowOptions {
    fn default() -> Self {
        let (has_ended, waiting) = (Arc::new(|| false), Arc::new(|_: &OpenError| {}));
        Self {
            interval: Duration::from_millis(500),
            has_ended,
            opens_later: false,
            goes_on: Arc::new(|| false),
            waiting,
        }
    }
}
