//! Arguments of `stacks`.

use std::path::Path;

use clap::Args;
use ichnos::analysis::{StackFormat, StackFrames, StackRoots};

use super::choice::{self, Choice};
use super::debug_info::DebugInfoPaths;
use super::output_file::OutputArgs;
use super::reading::Reading;
use super::selecting::Selecting;
use crate::args::number;

#[derive(Args, Debug)]
#[command(
    after_long_help = "Counts events with a call stack: profiler samples if there are any, otherwise all \
        events with a stack. With --event, counts the named events.\n\n\
Without --format, the name of the output FILE selects the format: *.speedscope.json, *.pb.gz (pprof), \
*.svg, other *.json (firefox), else folded."
)]
pub(crate) struct StacksArgs {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Output format [default: by the name of FILE, or folded]
    #[arg(short, long, value_parser = choice::parser(FORMATS), value_name = "FORMAT")]
    pub(crate) format: Option<StackFormat>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print a table of the N heaviest functions instead
    #[arg(long, value_name = "N", value_parser = number::parse::<usize>,
          conflicts_with_all = ["format", "stack_roots"])]
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
    /// samples: each sample counts as 1, or as its own weight. time: nanoseconds until the thread's next sample, or 0
    /// for its last sample. time-before: nanoseconds since the thread's previous sample, or 0 for its first sample. Any
    /// other value names a field, for example `size` or `payload.size`.
    #[arg(long, value_name = "WHAT", default_value = "samples")]
    pub(crate) weight: String,
    /// Add an innermost frame for time on or off the processor
    ///
    /// CPU_TIME: the thread was running. UNMANAGED_CODE_TIME: the thread was waiting, or running code that the
    /// profiler cannot see. For traces with this state, such as .NET profiler samples. Use it with --weight time.
    #[arg(long, hide_short_help = true)]
    pub(crate) cpu: bool,
    /// Frames to keep
    #[arg(long, value_parser = choice::parser(FRAMES), value_name = "WHICH", default_value = "all",
          hide_short_help = true)]
    pub(crate) frames: StackFrames,
    /// Stack roots (only folded and svg)
    #[arg(long, value_parser = choice::parser(ROOTS), value_name = "WHAT", default_value = "none",
          hide_short_help = true)]
    pub(crate) stack_roots: StackRoots,
    /// Width of the flame graph in pixels, with --format svg [default: 1200]
    #[arg(long, value_name = "PIXELS", value_parser = number::within::<u16>(400..=u16::MAX), hide_short_help = true)]
    pub(crate) width: Option<u16>,

    /// Look up function names in symbol tables (perf)
    ///
    /// For traces that list mapped files: `perf data convert --to-ctf --all`. For a trace of this system, use
    /// `--target-prefix /`.
    #[arg(long, help_heading = "Debug information", hide_short_help = true)]
    pub(crate) debug_info: bool,
    #[command(flatten)]
    pub(crate) debug_info_paths: DebugInfoPaths,
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
    #[arg(long = "samples", alias = "where", value_name = "FIELD=VALUE", value_parser = field_value, help_heading = "Selection")]
    pub(crate) only: Vec<(String, String)>,
}

impl StacksArgs {
    /// Returns the output format.
    pub(crate) fn format(&self) -> StackFormat {
        let format = self.format.unwrap_or_else(|| {
            let name = self.output.path.as_deref().and_then(Path::file_name).unwrap_or_default();
            match name.to_string_lossy().to_lowercase() {
                name if name.ends_with(".speedscope.json") => StackFormat::Speedscope,
                name if name.ends_with(".pb.gz") || name.ends_with(".pprof") => StackFormat::Pprof,
                name if name.ends_with(".svg") => StackFormat::Svg(None),
                name if name.ends_with(".json") => StackFormat::Firefox,
                _ => StackFormat::Folded,
            }
        });
        match format {
            StackFormat::Svg(_) => StackFormat::Svg(self.width),
            format => format,
        }
    }
}

fn field_value(text: &str) -> Result<(String, String), String> {
    let (field, value) = text.split_once('=').ok_or("expected FIELD=VALUE")?;
    Ok((field.trim().to_owned(), value.to_owned()))
}

const FORMATS: &[Choice<StackFormat>] = &[
    (
        "folded",
        "A line per stack: frames separated by `;`, then the weight, for flamegraph.pl and other programs",
        StackFormat::Folded,
    ),
    (
        "speedscope",
        "JSON for <https://www.speedscope.app>, with a profile for each thread",
        StackFormat::Speedscope,
    ),
    ("pprof", "Compressed profile for `pprof`", StackFormat::Pprof),
    ("firefox", "JSON for <https://profiler.firefox.com>", StackFormat::Firefox),
    ("svg", "A flame graph for browsers", StackFormat::Svg(None)),
];

const FRAMES: &[Choice<StackFrames>] = &[
    ("all", "All of them", StackFrames::All),
    ("named", "Frames with a known function", StackFrames::Named),
    ("managed", "Frames in code managed by a virtual machine", StackFrames::Managed),
];

const ROOTS: &[Choice<StackRoots>] = &[
    ("none", "Nothing", StackRoots::None),
    ("process", "The process", StackRoots::Process),
    ("thread", "The process, and within it the thread", StackRoots::Thread),
];
