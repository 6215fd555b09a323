//! Events that describe what other events refer to.

use super::{session, symbols};
use crate::EventMetadata;

/// Provider of the events that list everything at the start or the end of a session.
const PROVIDER: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Returns `true` for events that name processes, modules and functions.
pub(super) fn is_rundown(metadata: &EventMetadata) -> bool {
    metadata.provider == PROVIDER || symbols::has_names(metadata) || session::is_about_process(metadata)
}
