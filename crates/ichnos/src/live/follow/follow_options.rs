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
    /// Called with each new reason why a path cannot be read yet.
    pub waiting: Arc<dyn Fn(&OpenError) + Send + Sync>,
}

impl Default for FollowOptions {
    fn default() -> Self {
        let (has_ended, waiting) = (Arc::new(|| false), Arc::new(|_: &OpenError| {}));
        Self { interval: Duration::from_millis(500), has_ended, waiting }
    }
}
