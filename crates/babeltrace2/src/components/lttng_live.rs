//! `source.ctf.lttng-live`: sessions of an LTTng relay daemon.

use crate::command::Failure;

/// Returns the failure that says what this source needs.
pub(crate) fn refusal() -> Failure {
    Failure::from_cause(
        "Component class `source.ctf.lttng-live` is not available: ichnos cannot connect to an LTTng relay daemon. \
        Read the trace that the daemon writes (the directory of `lttng-relayd --output`, by default \
        `~/lttng-traces`), or use Babeltrace for live sessions",
    )
}
