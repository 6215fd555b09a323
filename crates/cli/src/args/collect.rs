//! Arguments of `collect`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::json::JsonReport;
use super::listen::ListenAddress;
use crate::args::{number, size};

#[derive(Args, Debug)]
#[command(
    after_long_help = "Without --udp, --tcp and --listen, reports are received over UDP and TCP, at the usual port of \
        the format, from this machine only. A report is a datagram or, over TCP, follows its length. Ctrl-C \
        (SIGINT) or SIGTERM ends the collection after all received reports are written.\n\n\
Every verb reads DIR: `ichnos cat DIR`. docs/collect.md describes the protocol, the files and the guarantees.\n\n\
Exit codes:\n  \
  0  success\n  \
  2  usage error, or reports cannot be collected\n  \
  3  accepted reports could not be written"
)]
pub(crate) struct CollectArgs {
    /// Directory for the reports, created if missing
    #[arg(short, long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    /// Receive datagrams at ADDRESS: a port on this machine, or IP:PORT
    ///
    /// Can be repeated. Port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) udp: Vec<SocketAddr>,
    /// Accept connections at ADDRESS: a port on this machine, or IP:PORT
    ///
    /// Can be repeated. Port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) tcp: Vec<SocketAddr>,
    /// Receive OpenTelemetry requests over HTTP, as otlp://[HOST][:PORT]
    ///
    /// The default is otlp://127.0.0.1:4318. A request is acknowledged when it is on the disk. Reports are not received
    /// then. docs/otlp.md describes the receiver.
    #[arg(long, value_name = "ADDRESS", value_parser = ListenAddress::parse_for_requests,
          conflicts_with_all = ["udp", "tcp", "from", "report_size", "rebuild_index"])]
    pub(crate) listen: Option<String>,
    /// Report format [default: the only collectable format]
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) from: Option<String>,
    /// Print statistics every SECONDS, not only at the end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) stats: Option<Duration>,
    /// Check the contents of DIR and rebuild its index, without collecting
    #[arg(long, conflicts_with_all = ["udp", "tcp", "stats"])]
    pub(crate) rebuild_index: bool,
    #[command(flatten)]
    pub(crate) report: JsonReport,

    /// Longest accepted report, at most 8M [default: by the format]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, hide_short_help = true)]
    pub(crate) report_size: Option<u64>,
    /// Maximum number of connections at once [default: 2048, or 64 with --listen]
    #[arg(long, value_name = "N", value_parser = number::parse::<usize>, hide_short_help = true)]
    pub(crate) connections: Option<usize>,
    /// Close connections without data for SECONDS [default: 600, or 60 with --listen]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub(crate) idle: Option<Duration>,
    /// Start a new file at SIZE
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "64M", hide_short_help = true)]
    pub(crate) segment_size: u64,
    /// Start a new file after SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "3600", hide_short_help = true)]
    pub(crate) segment_age: Duration,
}

fn format_names() -> PossibleValuesParser {
    ichnos::collect::formats().map(|(name, _)| PossibleValue::new(name)).collect::<Vec<_>>().into()
}

/// Parses an address, or a port on this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let of_port = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let address = text.parse().ok().or_else(|| text.parse().ok().map(of_port));
    address.ok_or_else(|| format!("expected a port or an address such as 127.0.0.1:7000, found `{text}`"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| format!("expected a number of seconds, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_local_by_default() {
        assert_eq!(address("7000").unwrap().to_string(), "127.0.0.1:7000");
        assert_eq!(address("0.0.0.0:7000").unwrap().to_string(), "0.0.0.0:7000");
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        assert!(address("localhost").is_err() && address("70000").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(seconds("0").is_err() && seconds("-1").is_err() && seconds("1e300").is_err());
    }
}
