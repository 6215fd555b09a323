//! Messages about debug information.

use ichnos::debug_info::DebugInfo;

use crate::progress::Console;

/// Reports binaries without debug information.
pub(crate) fn report_debug_info(debug_info: Option<&DebugInfo>, console: Console) {
    let Some(debug_info) = debug_info else { return };
    if debug_info.is_incomplete() {
        console.warning("--debug-info: too many binaries: those loaded last are unknown");
    }
    for problem in debug_info.problems() {
        console.note(&format!("--debug-info: {problem}"));
    }
}
