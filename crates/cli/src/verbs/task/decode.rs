//! `ichnos task decode`.

use std::fmt::Write as _;

use crate::args::TaskDecodeArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, safe};
use crate::progress::Console;

pub(super) fn run(args: &TaskDecodeArgs, console: Console) -> Result<Exit, Failure> {
    let mut failure = None;
    for explain in ichnos::formats().filter_map(|format| format.explain_context) {
        match explain(&args.text) {
            Ok(parts) => {
                let width = parts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                let mut text = String::new();
                for (name, value) in &parts {
                    // Writing into memory cannot fail.
                    let _ = writeln!(text, "{name:width$}  {}", safe(value));
                }
                output::print(&text, console.paint())?;
                return Ok(Exit::Success);
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let reason = failure.unwrap_or_else(|| "unknown notation".to_owned());
    Err(Failure::new(format!("`{}` cannot be explained: {reason}", safe(&args.text))))
}
