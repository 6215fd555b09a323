//! Arguments of `stacks`.

use std::path::Path;

use clap::{Args, ValueEnum};

use super::output_file::OutputArgs;
use super::reading::Reading;
use super::selecting::Selecting;

#[derive(Args, Debug)]
#[command(
    after_long_help = "Counts events with a call stack: profiler samples if there are any, otherwise all \
        events with a stack. With --event, counts the named events.\n\n\
Without --format, the name of the output FILE selects the format: *.speedscope.json, *.pb.gz (pprof), \
*.svg, other *.json (firefox), else folded."
)]
pub(crate) struct Stacks {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Output format [default: by the name of FILE, or folded]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<StacksFormat>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print a table of the N heaviest functions instead
    #[arg(long, value_name = "N", conflicts_with_all = ["format", "roots"])]
    pub(crate) top: Option<usize>,
    /// Use spans (calls, requests) instead of call stacks
    ///
    /// A span counts the nanoseconds outside nested spans. Events begin and end spans, as in `stats --spans`, or have
    /// a duration. Unfinished spans do not count.
    #[arg(long, conflicts_with_all = ["weight", "cpu", "frames", "only"])]
    pub(crate) spans: bool,
    /// Count only the time when a processor ran the thread, with --spans
    ///
    /// For traces with scheduling events. Threads without them are left out.
    #[arg(long, requires = "spans", hide_short_help = true)]
    pub(crate) running: bool,
    /// Start with the innermost functions, and show their callers
    #[arg(long, conflicts_with = "top")]
    pub(crate) inverted: bool,
    /// Weight: samples, time, time-before, or a field
    ///
    /// samples: 1, or the event's own weight. time: nanoseconds until the next sample of the same thread (0 for the
    /// last sample). time-before: nanoseconds since the previous sample (0 for the first sample). Otherwise: the
    /// value of a field, for example `size` or `payload.size`.
    #[arg(long, value_name = "WHAT", default_value = "samples")]
    pub(crate) weight: String,
    /// Add an innermost frame for time on or off the processor
    ///
    /// CPU_TIME: the thread was running. UNMANAGED_CODE_TIME: the thread was waiting, or running code that the
    /// profiler cannot see. For traces with this state, such as .NET profiler samples. Use it with --weight time.
    #[arg(long, hide_short_help = true)]
    pub(crate) cpu: bool,
    /// Frames to keep
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = FramesKept::All, hide_short_help = true)]
    pub(crate) frames: FramesKept,
    /// Roots of stacks (folded and svg; other formats have threads)
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = RootsShown::None, hide_short_help = true)]
    pub(crate) roots: RootsShown,
    /// Width of the flame graph in pixels, with --format svg [default: 1200]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u16).range(400..), hide_short_help = true)]
    pub(crate) width: Option<u16>,

    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Only processes with a number or name matching GLOB
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) process: Vec<String>,
    /// Only threads with a number or name matching GLOB
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) thread: Vec<String>,
    /// Only samples with this value in the field
    ///
    /// VALUE is a number, a string, or a value name. Other samples still end the time of the previous sample, but the
    /// time after them is not counted. Can be repeated: for each field, one of its values must match.
    #[arg(long = "where", value_name = "FIELD=VALUE", value_parser = field_value, help_heading = "Selection")]
    pub(crate) only: Vec<(String, String)>,
}

impl Stacks {
    /// Returns the output format.
    pub(crate) fn format(&self) -> StacksFormat {
        self.format.unwrap_or_else(|| {
            let ends = |end: &str| {
                let name = self.output.path.as_deref().and_then(Path::file_name);
                name.is_some_and(|name| name.to_string_lossy().to_lowercase().ends_with(end))
            };
            match () {
                () if ends(".speedscope.json") => StacksFormat::Speedscope,
                () if ends(".pb.gz") || ends(".pprof") => StacksFormat::Pprof,
                () if ends(".svg") => StacksFormat::Svg,
                () if ends(".json") => StacksFormat::Firefox,
                () => StacksFormat::Folded,
            }
        })
    }
}

fn field_value(text: &str) -> Result<(String, String), String> {
    let (field, value) = text.split_once('=').ok_or("expected FIELD=VALUE")?;
    Ok((field.trim().to_owned(), value.to_owned()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StacksFormat {
    /// A line per stack: frames separated by `;`, then the weight, for flamegraph.pl and other programs.
    Folded,
    /// JSON for <https://www.speedscope.app>, with a profile for each thread.
    Speedscope,
    /// Compressed profile for `pprof`.
    Pprof,
    /// JSON for <https://profiler.firefox.com>.
    Firefox,
    /// A flame graph for browsers.
    Svg,
}

/// Stack frames to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FramesKept {
    /// All of them.
    All,
    /// Frames with a known function.
    Named,
    /// Frames in code managed by a virtual machine.
    Managed,
}

/// Stack roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RootsShown {
    /// Nothing.
    None,
    /// The process.
    Process,
    /// The process, and within it the thread.
    Thread,
}
