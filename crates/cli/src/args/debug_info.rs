//! Arguments for debug information.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ichnos::debug_info::{DebugInfo, DebugInfoOptions, debug_info};

/// Binary directories. Each option enables debug information.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DebugInfoPaths {
    /// Search separate debug files in DIR [default: /usr/lib/debug]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Debug information",
          hide_short_help = true)]
    pub(crate) debug_info_dir: Option<PathBuf>,
    /// Search binaries below DIR, the root directory of the traced system (`/` for this system)
    ///
    /// No binary outside of DIR is read, and none without this option, because a trace could name any file.
    #[arg(long, alias = "debug-info-target-prefix", value_name = "DIR", value_hint = clap::ValueHint::DirPath,
          help_heading = "Debug information", hide_short_help = true)]
    pub(crate) target_prefix: Option<PathBuf>,
}

impl DebugInfoPaths {
    pub(crate) fn is_any(&self) -> bool {
        self.debug_info_dir.is_some() || self.target_prefix.is_some()
    }

    /// Creates the debug information to add to events.
    pub(crate) fn create(&self, full_path: bool) -> Arc<DebugInfo> {
        let mut options = DebugInfoOptions::default();
        options.debug_info_dir.clone_from(&self.debug_info_dir);
        options.target_prefix.clone_from(&self.target_prefix);
        options.full_path = full_path;
        debug_info(options)
    }
}
