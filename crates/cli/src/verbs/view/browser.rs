//! Opens addresses in the user's browser.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ichnos_view::PrivateDirectory;

use crate::progress::Console;

/// Program that opens a file in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Name of the file that redirects to the address.
const FILE: &str = "open.html";

/// File that redirects a browser to a secret address. The file is removed when dropped.
#[derive(Debug)]
pub(crate) struct AddressFile(PrivateDirectory);

impl AddressFile {
    /// Creates the file in a directory that only this user can read. The address must not be a program argument,
    /// because all users can see program arguments.
    fn create(address: &str, temporary: &Path) -> io::Result<Self> {
        let directory = PrivateDirectory::create_in(temporary)?;
        let address = address.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        write!(
            directory.create(FILE)?,
            "<!DOCTYPE html>\n\
            <meta charset=\"utf-8\">\n\
            <meta name=\"referrer\" content=\"no-referrer\">\n\
            <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
            <title>ichnos</title>\n\
            <a href=\"{address}\">Open the page</a>\n"
        )?;
        Ok(Self(directory))
    }
}

/// Opens an address in a browser through a file in `temporary`. The file must be kept until the browser has read it.
pub(crate) fn open(address: &str, temporary: &Path, console: Console) -> Option<AddressFile> {
    let file = match AddressFile::create(address, temporary) {
        Ok(file) => file,
        Err(error) => {
            let place = temporary.display();
            console.notice(&format!(
                "open the address in a browser: no file can be written in {place}: {error}"
            ));
            return None;
        }
    };
    let mut command = Command::new(OPENER);
    command.arg(file.0.path().join(FILE)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // The program can run as long as the browser.
        Ok(mut child) => drop(std::thread::Builder::new().spawn(move || child.wait())),
        Err(error) => console.notice(&format!("open the address in a browser: `{OPENER}` failed: {error}")),
    }
    Some(file)
}
