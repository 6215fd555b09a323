//! A file for the page of a viewer on another site.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::acceptor::{Acceptor, OpenConnection, Serve};
use crate::request::{Method, Refusal, Request};
use crate::response::PATIENCE;
use crate::token::AddressToken;

/// Pages that show a file of this machine: they come from the internet, the file stays on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewerPage {
    /// <https://ui.perfetto.dev>, for Perfetto's traces and Chrome's JSON.
    Perfetto,
    /// <https://profiler.firefox.com>, for profiles of Firefox.
    Firefox,
    /// <https://www.speedscope.app>, for profiles of call stacks.
    Speedscope,
}

impl ViewerPage {
    /// Returns the site of the page.
    #[must_use]
    pub fn origin(self) -> &'static str {
        match self {
            Self::Perfetto => "https://ui.perfetto.dev",
            Self::Firefox => "https://profiler.firefox.com",
            Self::Speedscope => "https://www.speedscope.app",
        }
    }

    /// Returns the port that the page may load files from; `None` for any.
    #[must_use]
    pub fn port(self) -> Option<u16> {
        // Its content security policy names this one alone.
        (self == Self::Perfetto).then_some(9001)
    }

    /// Returns the address of the page with the file at an address.
    fn link(self, file: &str) -> String {
        let origin = self.origin();
        match self {
            Self::Perfetto => format!("{origin}/#!/?url={file}"),
            Self::Firefox => format!("{origin}/from-url/{}/", percent_encoded(file)),
            Self::Speedscope => format!("{origin}/#profileURL={}", percent_encoded(file)),
        }
    }
}

/// Returns a text as a part of an address.
fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Server of one file on 127.0.0.1, for one page.
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
    /// Binds the server to a port; 0 for a free one. `name` is that of the file in its address: letters, digits and dots.
    ///
    /// # Errors
    /// If the port is in use, or the system has no random numbers.
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

    /// Serves until the flag is set.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub fn run(self, stop: &AtomicBool) -> io::Result<()> {
        self.acceptor.run(|_| stop.load(std::sync::atomic::Ordering::Relaxed))
    }
}

impl Serve for ServedFile {
    fn serve(&self, mut stream: TcpStream, connection: &OpenConnection<'_>) {
        let answered = match Request::read(&mut stream) {
            Ok(request) => self.answer(&request, &mut stream, connection),
            Err(Refusal::Gone) => return,
            Err(_) => self.head(&mut stream, "400 Bad Request", Some(0)),
        };
        // Errors of the connection affect no other one.
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

    /// Returns `true` for requests of the page, or of somebody who has the address.
    fn is_permitted(&self, request: &Request) -> bool {
        let path = || request.path.strip_prefix('/')?.split_once('/');
        let is_file = path().is_some_and(|(token, name)| self.token.is(token) && name == self.name);
        let is_origin = request.origin.as_deref().is_none_or(|origin| origin == self.page.origin());
        is_file && is_origin && request.is_for(self.port)
    }

    /// Writes status and headers. The page is of another site: these headers let it read the answer, also where the browser
    /// asks first if a page of the internet may use this machine.
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
