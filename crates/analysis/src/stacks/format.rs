//! Output formats of profiles.

use std::io::{self, Write};

use super::profile::StackProfile;
use super::{StackRoots, folded, speedscope, svg};

/// Output format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackFormat {
    /// A line for each stack: its frames from the outermost on, joined by `;`, a space, and its weight. Many
    /// tools make flame graphs of it.
    Folded,
    /// JSON for <https://www.speedscope.app>, with a profile for each thread.
    Speedscope,
    /// Compressed protocol buffer for `pprof`.
    #[cfg(feature = "pprof")]
    Pprof,
    /// JSON for <https://profiler.firefox.com>.
    #[cfg(feature = "firefox")]
    Firefox,
    /// Flame graph: an image for browsers, with search; of this width in pixels, by default 1,200.
    Svg(Option<u16>),
}

impl StackFormat {
    /// `true` if the format has a time axis.
    #[must_use]
    pub fn has_times(self) -> bool {
        match self {
            Self::Folded | Self::Svg(_) => false,
            Self::Speedscope => true,
            #[cfg(feature = "pprof")]
            Self::Pprof => false,
            #[cfg(feature = "firefox")]
            Self::Firefox => true,
        }
    }
}

impl StackProfile {
    /// Writes the profile in a format; `roots` are used by formats without threads.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&self, format: StackFormat, roots: StackRoots, out: &mut dyn Write) -> io::Result<()> {
        match format {
            StackFormat::Folded => folded::write(self, roots, out),
            StackFormat::Speedscope => speedscope::write(self, out),
            #[cfg(feature = "pprof")]
            StackFormat::Pprof => super::pprof::write(self, out),
            #[cfg(feature = "firefox")]
            StackFormat::Firefox => super::firefox::write(self, out),
            StackFormat::Svg(width) => svg::write(self, roots, width, out),
        }
    }
}
