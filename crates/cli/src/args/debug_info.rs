//! Arguments for debug information.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ichnos::debug_info::{DebugInfo, DebugInfoOptions, debug_info};

/// Options for debug information. Each of them enables it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DebugInfoArgs {
    /// Add binary, function and source line to events with an address (LTTng user space)
    ///
    /// Events with the contexts `vpid` and `ip` get `debug_info = { bin = ..., func = ..., src = ... }`. State dumps and
    /// library loads in the trace tell which binary was at the address.
    #[arg(long, help_heading = "Debug information")]
    pub(crate) debug_info: bool,
    /// Search separate debug files in DIR [default: /usr/lib/debug]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Debug information",
          hide_short_help = true)]
    pub(crate) debug_info_dir: Option<PathBuf>,
    /// Search binaries below DIR, the root directory of the traced system
    ///
    /// No binary outside of DIR is read. By default, paths in the trace are paths of this system.
    #[arg(long, alias = "debug-info-target-prefix", value_name = "DIR", value_hint = clap::ValueHint::DirPath,
          help_heading = "Debug information", hide_short_help = true)]
    pub(crate) target_prefix: Option<PathBuf>,
    /// Print whole paths of binaries and source files
    #[arg(long, alias = "debug-info-full-path", help_heading = "Debug information", hide_short_help = true)]
    pub(crate) full_path: bool,
}

impl DebugInfoArgs {
    pub(crate) fn is_enabled(&self) -> bool {
        self.debug_info || self.debug_info_dir.is_some() || self.target_prefix.is_some() || self.full_path
    }

    /// Returns the debug information to add to events, if any.
    pub(crate) fn create(&self) -> Option<Arc<DebugInfo>> {
        if !self.is_enabled() {
            return None;
        }
        let mut options = DebugInfoOptions::default();
        options.debug_info_dir.clone_from(&self.debug_info_dir);
        options.target_prefix.clone_from(&self.target_prefix);
        options.full_path = self.full_path;
        Some(debug_info(options))
    }
}
