//! Arguments of `view`.

use clap::Args;

use super::reading::Reading;
use super::selecting::Selecting;

#[derive(Args, Debug)]
#[command(
    after_long_help = "The page is served on 127.0.0.1 only, at an address with a random token, which is printed on \
standard output. On a remote machine, use `ssh -L PORT:127.0.0.1:PORT`, --port PORT and --no-open.\n\n\
Ends with Ctrl-C, which is exit code 0 here, or when the page is closed."
)]
pub(crate) struct ViewVerb {
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open the page in a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Continue when the page is closed
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
}
