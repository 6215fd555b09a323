//! Profile output formats.

use std::io::{self, Write};

use super::profile::StackProfile;
use super::{StackRoots, folded, speedscope, svg};

/// Output format for a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackFormat {
    /// A line per stack: frames from the outermost, joined by `;`, then a space and the weight. Many tools draw flame
    /// graphs from it.
    Folded,
    /// JSON for <https://www.speedscope.app>, with a profile for each thread.
    Speedscope,
    /// Compressed protocol buffer for `pprof`.
    #[cfg(feature = "pprof")]
    Pprof,
    /// JSON for <https://profiler.firefox.com>.
    #[cfg(feature = "firefox")]
    Firefox,
    /// Flame graph image for browsers, with search. The width is in pixels, by default 1,200.
    Svg(Option<u16>),
}

impl StackFormat {
    /// Returns `true` if the format has a time axis.
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
    /// Writes the profile in a format. Formats without threads use `roots`.
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
