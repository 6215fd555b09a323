//! Serves one file to a viewer on another site.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::acceptor::{Acceptor, OpenConnection, Serve};
use crate::request::{Method, Request, RequestRefusal};
use crate::response::PATIENCE;
use crate::token::AddressToken;

/// Viewer on the internet that can open a file served by this machine. The file itself is not uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewerPage {
    /// <https://ui.perfetto.dev>, for Perfetto traces and Chrome JSON.
    Perfetto,
    /// <https://profiler.firefox.com>, for Firefox profiles.
    Firefox,
    /// <https://www.speedscope.app>, for call stack profiles.
    Speedscope,
}

impl ViewerPage {
    /// Returns the origin of the site, for example `https://ui.perfetto.dev`.
    #[must_use]
    pub fn origin(self) -> &'static str {
        match self {
            Self::Perfetto => "https://ui.perfetto.dev",
            Self::Firefox => "https://profiler.firefox.com",
            Self::Speedscope => "https://www.speedscope.app",
        }
    }

    /// Returns the only port from which the page can load files, or `None` for any port.
    #[must_use]
    pub fn port(self) -> Option<u16> {
        // Perfetto's content security policy only allows this port.
        (self == Self::Perfetto).then_some(9001)
    }

    /// Returns the page address that opens the file at an address.
    fn link(self, file: &str) -> String {
        let origin = self.origin();
        match self {
            Self::Perfetto => format!("{origin}/#!/?url={file}"),
            Self::Firefox => format!("{origin}/from-url/{}/", percent_encoded(file)),
            Self::Speedscope => format!("{origin}/#profileURL={}", percent_encoded(file)),
        }
    }
}

/// Percent-encodes a text for an address.
fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Server on 127.0.0.1 that serves one file to one page.
#[derive(Debug)]
pub struct FileServer {
    acceptor: Acceptor<ServedFile>,
}

#[derive(Debug)]
struct ServedFile {
    page: ViewerPage,
    path: PathBuf,
    name: String,
    token: AddressToken,
    port: u16,
}

impl FileServer {
    /// Binds the server to a port. Port 0 selects a free port. `name` is the file name in the address: letters,
    /// digits and dots.
    ///
    /// # Errors
    /// If the port is in use, or the system provides no random numbers.
    pub fn bind(page: ViewerPage, path: &Path, name: &str, port: u16) -> io::Result<Self> {
        let token = AddressToken::random()?;
        let (path, name) = (path.to_owned(), name.to_owned());
        let acceptor = Acceptor::bind(port, |port| ServedFile { page, path, name, token, port })?;
        Ok(Self { acceptor })
    }

    /// Returns the address of the file.
    #[must_use]
    pub fn address(&self) -> String {
        let ServedFile { port, token, name, .. } = self.acceptor.service();
        format!("http://127.0.0.1:{port}/{}/{name}", token.text())
    }

    /// Returns the address of the page that shows the file.
    #[must_use]
    pub fn link(&self) -> String {
        self.acceptor.service().page.link(&self.address())
    }

    /// Serves until `stop` is set.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn run(self, stop: &AtomicBool) -> io::Result<()> {
        self.acceptor.run(|_| stop.load(std::sync::atomic::Ordering::Relaxed))
    }
}

impl Serve for ServedFile {
    fn serve(&self, mut stream: TcpStream, connection: &OpenConnection<'_>) {
        let answered = match Request::read(&mut stream) {
            Ok(request) => self.answer(&request, &mut stream, connection),
            Err(RequestRefusal::Gone) => return,
            Err(_) => self.head(&mut stream, "400 Bad Request", Some(0)),
        };
        // An error only affects this connection.
        let _ = answered;
    }
}

impl ServedFile {
    fn answer(
        &self,
        request: &Request,
        stream: &mut TcpStream,
        connection: &OpenConnection<'_>,
    ) -> io::Result<()> {
        if !self.is_permitted(request) {
            return self.head(stream, "403 Forbidden", Some(0));
        }
        connection.admit();
        match request.method {
            Method::Options => self.head(stream, "204 No Content", None),
            Method::Post => self.head(stream, "405 Method Not Allowed", Some(0)),
            Method::Get => {
                let mut file = File::open(&self.path)?;
                self.head(stream, "200 OK", Some(file.metadata()?.len()))?;
                io::copy(&mut file, stream)?;
                stream.flush()
            }
        }
    }

    /// Returns `true` for requests from the page, or from someone who knows the address.
    fn is_permitted(&self, request: &Request) -> bool {
        let path = || request.path.strip_prefix('/')?.split_once('/');
        let is_file = path().is_some_and(|(token, name)| self.token.is(token) && name == self.name);
        let is_origin = request.origin.as_deref().is_none_or(|origin| origin == self.page.origin());
        is_file && is_origin && request.is_for(self.port)
    }

    /// Writes status and headers. They allow the page, which belongs to another site, to read the answer. Browsers that
    /// first ask whether a page from the internet can access this machine also accept them.
    fn head(&self, stream: &mut TcpStream, status: &str, length: Option<u64>) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
        let origin = self.page.origin();
        let head = format!(
            "HTTP/1.1 {status}\r\n\
            Content-Type: application/octet-stream\r\n\
            {length}\
            Access-Control-Allow-Origin: {origin}\r\n\
            Access-Control-Allow-Methods: GET\r\n\
            Access-Control-Allow-Headers: *\r\n\
            Access-Control-Allow-Private-Network: true\r\n\
            Cross-Origin-Resource-Policy: cross-origin\r\n\
            Vary: Origin\r\n\
            Cache-Control: no-store\r\n\
            X-Content-Type-Options: nosniff\r\n\
            Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_the_file() {
        let file = "http://127.0.0.1:9001/00ff/trace.pftrace";
        assert_eq!(ViewerPage::Perfetto.link(file), format!("https://ui.perfetto.dev/#!/?url={file}"));
        assert_eq!(
            ViewerPage::Firefox.link("http://127.0.0.1:1/a.json"),
            "https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A1%2Fa.json/"
        );
        assert_eq!(
            ViewerPage::Speedscope.link("http://127.0.0.1:1/a.json"),
            "https://www.speedscope.app/#profileURL=http%3A%2F%2F127.0.0.1%3A1%2Fa.json"
        );
    }
}
