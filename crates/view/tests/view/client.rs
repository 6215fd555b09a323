//! In-process server for a trace, and its client.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ichnos::{OpenOptions, Session};
use ichnos_testing::join_chunks;
use ichnos_view::{ViewOptions, ViewServer};
use serde_json::Value;

/// Running server.
pub(crate) struct Server {
    pub(crate) session: Arc<Session>,
    pub(crate) port: u16,
    pub(crate) token: String,
    stop: &'static AtomicBool,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || joined.is_some_and(|joined| joined.is_ok()));
    }
}

/// Returns the path of an example.
pub(crate) fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the path of a recorded trace, if it exists.
pub(crate) fn recorded(name: &str) -> Option<String> {
    ichnos_testing::recorded(name).map(|path| path.into_os_string().into_string().unwrap())
}

impl Server {
    /// Starts a server, and waits until the timeline is complete.
    pub(crate) fn of(path: &str) -> Self {
        Self::with(path, |_| {})
    }

    /// Starts a server with read options, and waits until the timeline is complete.
    pub(crate) fn with_options(path: &str, options: &OpenOptions) -> Self {
        Self::start(path, options, |_| {})
    }

    /// Starts a server with changed options, and waits until the timeline is complete.
    pub(crate) fn with(path: &str, change: impl FnOnce(&mut ViewOptions)) -> Self {
        Self::start(path, &OpenOptions::default(), change)
    }

    fn start(path: &str, options: &OpenOptions, change: impl FnOnce(&mut ViewOptions)) -> Self {
        let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let session = Arc::new(ichnos::open([path], options).unwrap());
        let mut options = ViewOptions::new("test", stop);
        // The pages in tests come and go.
        options.keep = true;
        change(&mut options);
        let view = ViewServer::bind(Arc::clone(&session), options).unwrap();
        let address = view.address();
        let (port, token) = address.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
        let (port, token) = (port.parse().unwrap(), token.trim_end_matches('/').to_owned());
        let thread = Some(std::thread::spawn(|| view.run().unwrap()));
        let server = Self { session, port, token, stop, thread };
        loop {
            let trace = server.json("api/trace");
            assert_ne!(trace["state"], "failed", "{}", trace["warnings"]);
            if trace["state"] == "done" {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Sends a request unchanged. Returns the status, the headers and the body.
    pub(crate) fn send(&self, request: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let at = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..at].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = &answer[at + 4..];
        let is_chunked = head.contains("Transfer-Encoding: chunked");
        (status, head, if is_chunked { join_chunks(body).unwrap() } else { body.to_vec() })
    }

    /// Requests a path. Adds the token.
    pub(crate) fn get(&self, path: &str) -> (u16, String, Vec<u8>) {
        let Self { port, token, .. } = self;
        self.send(&format!("GET /{token}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"))
    }

    /// Returns the status and the JSON answer.
    pub(crate) fn ask(&self, path: &str) -> (u16, Value) {
        let (status, _, body) = self.get(path);
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Returns the JSON answer. Fails on an error.
    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, value) = self.ask(path);
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// Returns the tracks.
    pub(crate) fn tracks(&self) -> Vec<Value> {
        self.json("api/tracks")["tracks"].as_array().unwrap().clone()
    }

    /// Returns the first and the last time.
    pub(crate) fn range(&self) -> (u64, u64) {
        let trace = self.json("api/trace");
        let time = |name: &str| trace[name].as_str().unwrap().parse().unwrap();
        (time("begin"), time("end"))
    }

    /// Returns the number of spans, instants and values in a range, on tracks of these kinds. `more` are further
    /// parameters.
    pub(crate) fn count(&self, (begin, end): (u64, u64), kinds: &[&str], more: &str) -> u64 {
        let tracks = self.tracks();
        let wanted = tracks.iter().filter(|track| kinds.contains(&track["kind"].as_str().unwrap()));
        let ids: Vec<_> = wanted.map(|track| track["id"].to_string()).collect();
        let mut count = 0;
        for ids in ids.chunks(100) {
            let tiles =
                self.json(&format!("api/tiles?tracks={}&begin={begin}&end={end}{more}", ids.join(",")));
            for track in tiles["tracks"].as_array().unwrap() {
                let list = track.get("items").or_else(|| track.get("counter")).unwrap().as_array().unwrap();
                let place = if track.get("items").is_some() { 3 } else { 5 };
                count += list.chunks(6).map(|item| item[place].as_u64().unwrap()).sum::<u64>();
            }
        }
        count
    }
}
