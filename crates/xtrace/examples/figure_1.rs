//! Figure 1 of the document: a client, a proxy and a server that speak HTTP over the loopback device.
//!
//! ```text
//!     a  HTTP client ......................> b  HTTP proxy ..........> server
//!     |                                      ^     |
//!     c  TCP ...................> d  TCP ....|     e  TCP ...........>
//!     |                           ^                |
//!     f  IP --> g  IP --> h  IP --|                i  IP ------------>
//! ```
//!
//! HTTP has the header `X-Trace`. The document uses TCP and IP options, which a program cannot set. Here, the headers
//! `X-Trace-TCP` and `X-Trace-IP` replace them. The router in the figure, g, is a thread that forwards requests and
//! knows only IP.
//!
//! The example prints the reports of the task:
//! `cargo run -p ichnos-xtrace --example figure_1 --features propagation`.
#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use ichnos_xtrace::propagation::{Context, MemoryReporter, Tracer};
use ichnos_xtrace::{Metadata, ValidMetadata};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Header for each layer. The figure uses TCP and IP options instead.
const HTTP: &str = "X-Trace";
const TCP: &str = "X-Trace-TCP";
const IP: &str = "X-Trace-IP";

/// An HTTP request without a body.
struct Request {
    first_line: String,
    headers: Vec<(String, String)>,
}

impl Request {
    fn new(path: &str) -> Self {
        let headers =
            vec![("Host".to_owned(), "localhost".to_owned()), ("Connection".to_owned(), "close".to_owned())];
        Self { first_line: format!("GET {path} HTTP/1.1"), headers }
    }

    fn set(&mut self, name: &str, metadata: &ValidMetadata) {
        self.headers.retain(|header| !header.0.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), metadata.to_string()));
    }

    fn metadata(&self, name: &str) -> Result<ValidMetadata> {
        let header = self.headers.iter().find(|header| header.0.eq_ignore_ascii_case(name));
        Ok(Metadata::parse(&header.ok_or("no metadata")?.1)?.validate()?)
    }

    fn send(&self, to: SocketAddr) -> Result<TcpStream> {
        let mut text = format!("{}\r\n", self.first_line);
        for (name, value) in &self.headers {
            write!(text, "{name}: {value}\r\n")?;
        }
        let mut stream = TcpStream::connect(to)?;
        stream.write_all(format!("{text}\r\n").as_bytes())?;
        Ok(stream)
    }

    fn receive(stream: &TcpStream) -> Result<Self> {
        let mut lines = BufReader::new(stream.take(4096)).lines();
        let first_line = lines.next().ok_or("nothing arrived")??;
        let mut headers = Vec::new();
        for line in lines {
            let line = line?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Ok(Self { first_line, headers })
    }
}

fn tracer(collected: &MemoryReporter, agent: &str) -> Tracer {
    Tracer::new(collected.clone()).with_agent(agent).with_host("loopback")
}

/// Sends a request down from HTTP through TCP to IP.
fn send(http: &Context, names: [&str; 2], tracer: &Tracer, to: SocketAddr) -> Result<TcpStream> {
    let mut request = Request::new("/figure");
    request.set(HTTP, http.metadata());
    let mut tcp = http.down();
    tcp.event(tracer, names[0]).text("Layer", "TCP").send()?;
    request.set(TCP, tcp.metadata());
    let mut ip = tcp.down();
    ip.event(tracer, names[1]).text("Layer", "IP").send()?;
    request.set(IP, ip.metadata());
    request.send(to)
}

/// The client: a, c, f.
fn client(collected: &MemoryReporter, router: SocketAddr) -> Result<String> {
    let tracer = tracer(collected, "client");
    let mut http = Context::start();
    http.event(&tracer, "a").text("Layer", "HTTP").text("Title", "figure 1").send()?;
    let mut answer = String::new();
    send(&http, ["c", "f"], &tracer, router)?.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The router, g, which knows only IP.
fn router(listener: &TcpListener, collected: &MemoryReporter, proxy: SocketAddr) -> Result<()> {
    let tracer = tracer(collected, "router");
    let (mut from, _) = listener.accept()?;
    let mut request = Request::receive(&from)?;
    let mut ip = Context::from_metadata(request.metadata(IP)?);
    ip.event(&tracer, "g").text("Layer", "IP").send()?;
    request.set(IP, ip.metadata());
    io::copy(&mut request.send(proxy)?, &mut from)?;
    Ok(())
}

/// The proxy: h, d, b on the way up, then e, i on the way down.
fn proxy(listener: &TcpListener, collected: &MemoryReporter, server: SocketAddr) -> Result<()> {
    let tracer = tracer(collected, "proxy");
    let (mut from, _) = listener.accept()?;
    let request = Request::receive(&from)?;
    let mut ip = Context::from_metadata(request.metadata(IP)?);
    ip.event(&tracer, "h").text("Layer", "IP").send()?;
    let mut tcp = Context::from_metadata(request.metadata(TCP)?);
    tcp.up_from(ip)?;
    tcp.event(&tracer, "d").text("Layer", "TCP").send()?;
    let mut http = Context::from_metadata(request.metadata(HTTP)?);
    http.up_from(tcp)?;
    http.event(&tracer, "b").text("Layer", "HTTP").send()?;
    io::copy(&mut send(&http, ["e", "i"], &tracer, server)?, &mut from)?;
    Ok(())
}

/// The server at the end of the figure. It answers with the received request, and reports nothing.
fn server(listener: &TcpListener) -> Result<()> {
    let (mut from, _) = listener.accept()?;
    let request = Request::receive(&from)?;
    let [http, tcp, ip] =
        [HTTP, TCP, IP].map(|layer| request.metadata(layer).map(|metadata| metadata.op_id()));
    let body = format!("{} {} {}", http?, tcp?, ip?);
    write!(from, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
    Ok(())
}

/// Runs the figure. Returns the reports, and the answer that arrives at the client.
pub(crate) fn run() -> Result<(Vec<String>, String)> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (at_router, at_proxy, at_server) = (listen()?, listen()?, listen()?);
    let addresses = (at_router.local_addr()?, at_proxy.local_addr()?, at_server.local_addr()?);
    let collected = MemoryReporter::default();
    thread::scope(|scope| {
        let others = [
            scope.spawn(|| router(&at_router, &collected, addresses.1)),
            scope.spawn(|| proxy(&at_proxy, &collected, addresses.2)),
            scope.spawn(|| server(&at_server)),
        ];
        let answer = client(&collected, addresses.0)?;
        for other in others {
            other.join().map_err(|_| "a thread panicked")??;
        }
        Ok((collected.take(), answer))
    })
}

#[allow(dead_code, reason = "the tests have their own")]
fn main() -> Result<()> {
    let (reports, answer) = run()?;
    for report in reports {
        println!("{report}");
    }
    eprintln!("{answer}");
    Ok(())
}
