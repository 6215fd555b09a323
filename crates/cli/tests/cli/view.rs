//! `ichnos view` and `view --in`: addresses, the file of a viewer, Ctrl-C.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::support::{Directory, command, ichnos, root};

/// A running `ichnos view`.
struct Viewing {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Viewing {
    fn start(arguments: &[&str]) -> Self {
        let mut child = command();
        child.arg("view").arg("--no-open").args(arguments);
        let mut child =
            child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Returns the line that it prints.
    fn link(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Ends it as Ctrl-C does. Returns the exit code and what it has written to standard error.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), errors)
    }
}

/// Sends a request with these headers. Returns the head and the body of the answer.
fn request(method: &str, address: &str, headers: &str) -> (String, Vec<u8>) {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {host}\r\n") };
    write!(stream, "{method} /{path} HTTP/1.1\r\n{host}{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let at = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    (String::from_utf8(answer[..at].to_vec()).unwrap(), answer[at + 4..].to_vec())
}

fn example() -> String {
    root().join("examples/hello-fxt/frames.fxt").to_str().unwrap().to_owned()
}

#[test]
fn a_page_until_ctrl_c() {
    let mut viewing = Viewing::start(&[&example()]);
    let link = viewing.link();
    let (head, page) = request("GET", &link, "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(page.starts_with(b"<!"), "{}", String::from_utf8_lossy(&page));
    let root = link.get(..link.rfind(':').unwrap()).unwrap().to_owned();
    let port = link.rsplit(':').next().unwrap().split('/').next().unwrap();
    let (head, _) = request("GET", &format!("{root}:{port}/"), "");
    assert!(head.starts_with("HTTP/1.1 403 ") || head.starts_with("HTTP/1.1 400 "), "{head}");
    assert_eq!(viewing.interrupt(), (Some(0), String::new()));
}

/// What is added to a trace is shown, and numbers of tracks and names stay those that pages know.
#[test]
fn a_trace_that_grows() {
    let text = std::fs::read_to_string(root().join("examples/hello-jsonl/requests.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    let directory = Directory::new("view-follow");
    let path = directory.join("requests.jsonl");
    let write = |lines: &[&str]| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    };
    // `reply` is new, and `query` is in an earlier line than the other of the known ones.
    write(&[lines[2], lines[1]]);
    let mut viewing = Viewing::start(&["--follow", path.to_str().unwrap()]);
    let link = viewing.link();
    let get = |what: &str| -> serde_json::Value {
        let (head, body) = request("GET", &format!("{link}api/{what}"), "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{what}: {head}");
        serde_json::from_slice(&body).unwrap()
    };
    let wait_for = |events: usize| {
        for _ in 0..600 {
            if get("trace")["events"] == events {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{}", get("trace"));
    };
    wait_for(2);
    let known = (get("tracks")["tracks"].clone(), get("names?from=0")["names"].clone());
    write(&[lines[0], lines[3], lines[4]]);
    wait_for(5);
    let trace = get("trace");
    assert_eq!((&trace["state"], &trace["warnings"]), (&"live".into(), &serde_json::json!([])));
    assert_eq!(
        (&trace["begin"], &trace["end"]),
        (&"1795205987000000000".into(), &"1795205987001000000".into())
    );
    let (tracks, names) = (get("tracks")["tracks"].clone(), get("names?from=0")["names"].clone());
    for (now, before) in [(&tracks, &known.0), (&names, &known.1)] {
        let (now, before) = (now.as_array().unwrap(), before.as_array().unwrap());
        // No other track for the same data stream.
        assert!(now.len() == before.len() || now == names.as_array().unwrap(), "{tracks}");
        for (now, before) in now.iter().zip(before) {
            assert_eq!((now.get("name"), now.as_str()), (before.get("name"), before.as_str()));
        }
    }
    let found: Vec<&str> = names.as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert!(found.contains(&"reply") && !known.1.to_string().contains("reply"), "{found:?}");
    let rows = get("events?begin=1795205987000000000&end=1795205987001000000");
    assert_eq!(rows["rows"].as_array().unwrap().len(), 5);
    assert_eq!(viewing.interrupt(), (Some(0), String::new()));
}

/// The timeline has each datagram at once, while the next one is waited for.
#[cfg(unix)]
#[test]
fn datagrams_as_they_arrive() {
    let directory = Directory::new("view-listen");
    let socket = directory.join("log.sock");
    let mut viewing = Viewing::start(&["--listen", &format!("unixgram:{}", socket.display())]);
    let link = viewing.link();
    let get = |what: &str| request("GET", &format!("{link}api/{what}"), "");
    let json = |what: &str| -> serde_json::Value { serde_json::from_slice(&get(what).1).unwrap() };
    let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
    let log = std::fs::read(root().join("examples/hello-fuchsia/boot.log")).unwrap();
    let mut rest = &log[..];
    for sent in 1_usize.. {
        let Some(header) = rest.first_chunk().map(|bytes| u16::from_le_bytes(*bytes)) else { break };
        let (record, behind) = rest.split_at(usize::from(header >> 4) * 8);
        sender.send_to(record, &socket).unwrap();
        rest = behind;
        while json("trace")["events"] != sent {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let trace = json("trace");
    assert_eq!((&trace["state"], &trace["events"]), (&"live".into(), &8.into()));
    let tracks = json("tracks");
    let of_kind = |is_losses: bool| -> u64 {
        let tracks = tracks["tracks"].as_array().unwrap().iter();
        let tracks = tracks.filter(|track| (track["kind"] == "losses") == is_losses);
        tracks.filter_map(|track| track["items"].as_u64()).sum()
    };
    // One of them says that others were dropped.
    assert_eq!((of_kind(false), of_kind(true)), (8, 1), "{tracks}");
    // Nothing takes datagrams away from the timeline.
    let (head, body) = get("events?begin=0&end=1");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(String::from_utf8(body).unwrap().contains("not kept"));
    assert_eq!(viewing.interrupt().0, Some(0));
    assert!(!socket.exists());
}

/// Returns the answers that a page was saved with.
fn saved(page: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"saved\">";
    let (_, rest) = page.split_once(begin).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// A page as one file has what other commands find, and names in it stay text.
#[test]
fn a_page_as_one_file() {
    let directory = Directory::new("view-export");
    let page = directory.join("page.html");
    let page_path = page.to_str().unwrap();
    let trace = root().join("examples/hello-lttng/trace");
    let trace = trace.to_str().unwrap();
    ichnos(["view", "--export", page_path, trace]).expect(0, &[]);
    let answers = saved(&std::fs::read_to_string(&page).unwrap());
    let stats = ichnos(["stats", "--json", trace]).expect(0, &[]).json();
    assert_eq!(answers["trace"]["events"], stats["events"]);
    assert_eq!(answers["stats"]["events"], stats["events"]);
    assert_eq!(answers["events"]["rows"].as_array().unwrap().len(), 180);
    let items: u64 = answers["tiles"]["tracks"].as_array().unwrap().iter().map(items).sum();
    assert_eq!(items, 180);
    ichnos(["view", "--export", page_path, trace]).expect(2, &["exists and is not empty", "--force"]);
    ichnos(["view", "--export", page_path, "--force", trace]).expect(0, &[]);
    ichnos(["view", "--export", page_path, "--keep", trace]).expect(2, &["cannot be used with"]);

    let hostile = directory.join("hostile.jsonl");
    let name = "</script><script>alert(1)</script><!--";
    std::fs::write(
        &hostile,
        format!("{{\"ts\":1,\"name\":\"{name}\",\"payload\":{{\"text\":\"{name}\"}}}}\n"),
    )
    .unwrap();
    let run = ichnos(["view", "--export", "-", hostile.to_str().unwrap()]).expect(0, &[]);
    let text = run.out;
    assert!(!text.contains("<script>alert") && !text.contains("<!--"));
    assert_eq!(saved(&text)["events"]["rows"][0]["name"], name);
}

/// Returns the number of spans, instants and values of a track.
fn items(track: &serde_json::Value) -> u64 {
    let count = |index: usize, name: &str| {
        let numbers = track[name].as_array().map(Vec::as_slice).unwrap_or_default();
        numbers.chunks(6).filter_map(|item| item[index].as_u64()).sum::<u64>()
    };
    count(3, "items") + count(5, "counter")
}

/// Only the page of the viewer gets the file that `convert` writes.
#[test]
fn a_file_for_the_page_of_a_viewer() {
    const ORIGIN: &str = "Origin: https://profiler.firefox.com\r\n";
    let mut viewing = Viewing::start(&["--in", "firefox", &example()]);
    let link = viewing.link();
    let encoded = link.strip_prefix("https://profiler.firefox.com/from-url/").unwrap().trim_end_matches('/');
    let address = encoded.replace("%3A", ":").replace("%2F", "/");
    let (head, found) = request("GET", &address, ORIGIN);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("Access-Control-Allow-Origin: https://profiler.firefox.com\r\n"), "{head}");
    let directory = Directory::new("view-in");
    let written = directory.join("profile.json");
    let convert = command().args(["convert", "--to", "firefox", &example(), "-o"]).arg(&written).status();
    assert!(convert.unwrap().success());
    assert!(found == std::fs::read(written).unwrap());

    let asks = format!(
        "{ORIGIN}Access-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n"
    );
    let (head, body) = request("OPTIONS", &address, &asks);
    assert!(head.starts_with("HTTP/1.1 204 "), "{head}");
    assert!(head.contains("Access-Control-Allow-Private-Network: true"), "{head}");
    assert!(body.is_empty());
    let other_file = address.replace("profile", "trace");
    let other_token = address.replace(&address[25..50], &"0".repeat(25));
    for (method, address, headers) in [
        ("GET", &address, "Origin: https://example.com\r\n"),
        ("OPTIONS", &address, "Origin: https://ui.perfetto.dev\r\n"),
        ("GET", &address, "Host: example.com\r\n"),
        ("GET", &other_file, ORIGIN),
        ("GET", &other_token, ORIGIN),
    ] {
        let (head, body) = request(method, address, headers);
        assert!(head.starts_with("HTTP/1.1 403 "), "{address} {headers}: {head}");
        assert!(body.is_empty());
    }
    let (head, _) = request("POST", &address, ORIGIN);
    assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
    let (code, errors) = viewing.interrupt();
    assert_eq!(code, Some(0));
    assert!(
        errors.contains("https://profiler.firefox.com") && errors.contains("stays on this machine"),
        "{errors}"
    );
}

#[test]
fn what_viewers_cannot_show() {
    let error = "https://ui.perfetto.dev reads files from port 9001 only";
    ichnos(["view", "--in", "perfetto", "--port", "9000", &example()]).expect(2, &[error]);
    let without_stacks = root().join("examples/hello-ctf2");
    ichnos(["view", "--no-open", "--in", "speedscope", without_stacks.to_str().unwrap()])
        .expect(2, &["no selected event has a call stack"]);
}
