//! Arguments of `record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::providers;
use super::until::UntilArgs;
use crate::args::{size, time};

#[derive(Args, Debug)]
#[command(
    override_usage = "ichnos record [OPTIONS] --output <FILE> dotnet:PID|NAME\n       \
        ichnos record [OPTIONS] --output <FILE> -- COMMAND...\n       \
        ichnos record [OPTIONS] --output <OUT> net://HOST/host/NAME/SESSION|--listen ADDRESS...",
    after_long_help = "With net:// and --listen, `record` is `ichnos convert`, and has its options.\n\n\
The events are written as they arrive, so that little is lost when ichnos is killed: \
        `ichnos repair` makes such a file whole. Ctrl-C ends the session, and the process then lists its \
        methods (the rundown). A second Ctrl-C ends ichnos at once.\n\n\
COMMAND waits until the session has started, and ends with the session. .NET Core 3 cannot wait, so its session starts \
about a second later. `dotnet run` starts several runtimes, and the first one is not the program: use \
`-- dotnet PROGRAM.dll`.\n\n\
Exit codes:\n  \
  0  success\n  \
  1  no event matched --until\n  \
  2  usage error, or nothing could be recorded\n  \
  3  the recording is incomplete"
)]
pub(crate) struct RecordArgs {
    /// Running process: dotnet:PID, or dotnet: and the name of its executable or assembly
    ///
    /// `ichnos info dotnet:` lists the processes.
    #[arg(value_name = "PROCESS", value_parser = process, required_unless_present = "command",
          conflicts_with = "command")]
    pub(crate) process: Option<String>,
    /// Start COMMAND, and record its first .NET runtime from the start
    #[arg(last = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Write to FILE while events arrive; `-` is standard output
    ///
    /// FILE must be new or empty, a pipe or a device.
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Replace FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Record these profiles, comma-separated
    ///
    /// Default: dotnet-common and dotnet-sampled-thread-time, without --providers.
    #[arg(long, value_name = "PROFILE", value_delimiter = ',', value_parser = providers::profiles())]
    pub(crate) profile: Vec<String>,
    /// Record these providers: NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]],...
    ///
    /// KEYWORDS are hexadecimal or, for the runtime, names: `gc+exception`. LEVEL is a number up to 5 or a name, by
    /// default informational. ARGUMENTS are `KEY=VALUE;...`. A provider replaces a profile's provider with its name. Can be
    /// repeated.
    #[arg(long, value_name = "PROVIDERS", value_parser = providers::check)]
    pub(crate) providers: Vec<String>,
    /// End the recording after DURATION: 30s, 5min
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) limit: Option<Duration>,
    #[command(flatten)]
    pub(crate) ending: UntilArgs,
    /// Buffer of the process; events that do not fit are lost
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "256M")]
    pub(crate) buffer: u64,
    /// Leave out the list of methods at the end: stacks are addresses then
    #[arg(long)]
    pub(crate) no_rundown: bool,
    /// Leave out call stacks; .NET 8 and later
    #[arg(long)]
    pub(crate) no_stacks: bool,
}

/// Returns the name or process id after `dotnet:`.
fn process(text: &str) -> Result<String, String> {
    let target = text.strip_prefix("dotnet:").filter(|target| !target.is_empty());
    let expected = || {
        let found = text.escape_debug();
        match text.contains("://") || text.starts_with("unixgram:") {
            true => format!("expected dotnet:PID, dotnet:NAME or `--listen {found}`, found `{found}`"),
            false => format!("expected dotnet:PID or dotnet:NAME, found `{found}`"),
        }
    };
    target.map(str::to_owned).ok_or_else(expected)
}

fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = time::length_from(text)?;
    let nanoseconds = u64::try_from(nanoseconds).ok().filter(|nanoseconds| *nanoseconds > 0);
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| format!("`{text}` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(process("dotnet:12").as_deref(), Ok("12"));
        assert!(process("12").is_err() && process("dotnet:").is_err());
        let other = |text: &str| process(text).unwrap_err();
        assert!(other("otlp://").contains("`--listen otlp://`"));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(duration("0").is_err() && duration("-1s").is_err() && duration("soon").is_err());
    }
}
