//! The browser of the user.

use std::process::{Command, Stdio};

use crate::report::Report;

/// Program that opens an address in the browser of the user.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address in a browser.
pub(crate) fn open(address: &str, report: Report) {
    let mut command = Command::new(OPENER);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It can run as long as the browser.
        Ok(mut child) => drop(std::thread::Builder::new().spawn(move || child.wait())),
        Err(error) => report.notice(&format!("open the address in a browser: `{OPENER}` failed: {error}")),
    }
}
