//! Arguments of `stacks`.

use std::path::Path;

use clap::{Args, ValueEnum};

use super::output_file::OutputFile;
use super::reading::Reading;
use super::selecting::Selecting;

#[derive(Args, Debug)]
#[command(
    after_help = "Counts the events with a call stack: of a trace of a profiler, its samples; of other traces, all that \
have one. With --event, those of the given names.\n\n\
Without --format, the name of the output FILE decides: *.speedscope.json, *.pb.gz (pprof), *.svg, other *.json (firefox), \
else folded."
)]
pub(crate) struct Stacks {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Output format [default: by the name of FILE, or folded]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<StacksFormat>,
    #[command(flatten)]
    pub(crate) output: OutputFile,
    /// Print a table of the N functions that count most instead
    #[arg(long, value_name = "N", conflicts_with_all = ["format", "roots"])]
    pub(crate) top: Option<usize>,
    /// What a sample counts: `samples`, `time`, `time-before`, or a field
    ///
    /// samples: one, or the weight that the event itself has. time: the nanoseconds until the next sample of the same thread
    /// (nothing for the last one). time-before: those since the sample before (nothing for the first one). Anything else is the path of a field whose value counts, for instance `size` or `payload.size`.
    #[arg(long, value_name = "WHAT", default_value = "samples")]
    pub(crate) weight: String,
    /// Add an innermost frame that tells time on the processor from other time
    ///
    /// CPU_TIME: the thread ran. UNMANAGED_CODE_TIME: it waited, or ran code that the profiler does not look into. For traces
    /// whose samples say it, such as those of .NET's sample profiler; use it with --weight time.
    #[arg(long)]
    pub(crate) cpu: bool,
    /// Which frames to keep
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = FramesKept::All)]
    pub(crate) frames: FramesKept,
    /// What to put at the root of stacks (folded and svg; other formats have threads)
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Roots::None)]
    pub(crate) roots: Roots,

    #[command(flatten)]
    pub(crate) selecting: Selecting,
    /// Only processes whose number or name matches GLOB
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) process: Vec<String>,
    /// Only threads whose number or name matches GLOB
    ///
    /// Can be repeated.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) thread: Vec<String>,
    /// Only samples whose field has the value: a number, a string, or the name of a value
    ///
    /// Others still end the time of the sample before; the time from them on counts nothing. Can be repeated: for one
    /// field, one of its values is enough; of several fields, all must hold.
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
    /// A line for each stack, with `;` between frames, and its weight: for flamegraph.pl and others.
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

/// Frames of stacks to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FramesKept {
    /// All of them.
    All,
    /// Those whose function is known.
    Named,
    /// Those of code that a virtual machine manages.
    Managed,
}

/// Roots of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Roots {
    /// Nothing.
    None,
    /// The process.
    Process,
    /// The process, and within it the thread.
    Thread,
}
