//! Messages about debug information.

use ichnos::debug_info::{DebugInfo, DebugInfoError};

use crate::progress::Console;

/// Reports binaries without debug information. `lacks_symbols` is `true` if symbols are missing because there are too
/// many.
pub(crate) fn report_debug_info(debug_info: Option<&DebugInfo>, lacks_symbols: bool, console: Console) {
    if lacks_symbols || debug_info.is_some_and(DebugInfo::is_incomplete) {
        console.warning(
            "too many binaries, functions or thread names in the trace: the last of them are unknown",
        );
    }
    for problem in debug_info.map(DebugInfo::problems).unwrap_or_default() {
        if problem == DebugInfoError::NoPrefix {
            console.warning_with_help(
                "--debug-info: the paths in the trace are not read",
                "for a trace of this system, use `--target-prefix /`; otherwise name a copy of the other system",
            );
            continue;
        }
        let message = format!("--debug-info: {problem}");
        match problem.is_limit() {
            true => console.warning(&message),
            false => console.note(&message),
        }
    }
}
