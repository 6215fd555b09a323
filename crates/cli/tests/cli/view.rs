//! `ichnos view` and `view --viewer`: addresses, viewer files, Ctrl-C.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use ichnos_testing::join_chunks;
use serde_json::Value;

use crate::intersection;
use crate::support::{Directory, METADATA, Run, command, ichnos, packet, root};

/// Running `ichnos view`.
pub struct Viewing {
    pub child: Child,
    output: BufReader<ChildStdout>,
}

impl Viewing {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = command();
        child.arg("view").arg("--no-open").args(arguments);
        Self::spawn(child)
    }

    pub fn spawn(mut child: Command) -> Self {
        let mut child =
            child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Returns the printed line.
    pub fn link(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Ends the command like Ctrl-C. Returns the exit code and the standard error output.
    pub fn interrupt(mut self) -> (Option<i32>, String) {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), errors)
    }
}

/// Sends a request with these headers. Returns the response's head and body.
fn request(method: &str, address: &str, headers: &str) -> (String, Vec<u8>) {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {host}\r\n") };
    write!(stream, "{method} /{path} HTTP/1.1\r\n{host}{headers}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let at = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let (head, body) = (String::from_utf8(answer[..at].to_vec()).unwrap(), &answer[at + 4..]);
    let is_chunked = head.contains("Transfer-Encoding: chunked");
    let body = if is_chunked { join_chunks(body).unwrap() } else { body.to_vec() };
    (head, body)
}

/// Sends a request to the API of a running `ichnos view`. The answer must not be an error.
fn ask(link: &str, what: &str) -> Vec<u8> {
    let (head, body) = request("GET", &format!("{link}api/{what}"), "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{what}: {head}: {}", String::from_utf8_lossy(&body));
    body
}

fn ask_json(link: &str, what: &str) -> Value {
    serde_json::from_slice(&ask(link, what)).unwrap()
}

/// Waits until all traces are read. Returns the first and the last time.
pub fn wait_until_read(link: &str) -> (String, String) {
    loop {
        let trace = ask_json(link, "trace");
        match trace["state"].as_str().unwrap() {
            "done" => {
                let time = |name: &str| trace[name].as_str().unwrap().to_owned();
                return (time("begin"), time("end"));
            }
            state => assert_eq!(state, "loading", "{trace}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the event lines in JSON Lines, without the lines before them.
fn event_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["type"] == "event").collect()
}

pub fn example() -> String {
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

/// Scripts with earlier names of options work.
#[test]
fn earlier_option_names() {
    let mut viewing = Viewing::start(&["--keep", &example()]);
    assert!(viewing.link().starts_with("http://127.0.0.1:"));
    assert_eq!(viewing.interrupt(), (Some(0), String::new()));
    ichnos(["view", "--in", "netscape", &example()]).expect(2, &["--viewer <VIEWER>", "perfetto, firefox"]);
}

/// Expressions on the page get the same suggestions as on the command line.
#[test]
fn expressions_have_suggestions() {
    let path = root().join("examples/hello-lttng");
    let mut viewing = Viewing::start(&[path.to_str().unwrap()]);
    let link = viewing.link();
    wait_until_read(&link);
    let check = |filter: &str| {
        let (_, body) = request("GET", &format!("{link}api/check?filter={filter}"), "");
        serde_json::from_slice::<Value>(&body).unwrap()
    };
    for (filter, words) in
        [("nubmer == 3", "nubmer%20%3D%3D%203"), ("event = \"x\"", "event%20%3D%20%22x%22")]
    {
        let run = ichnos(["cat", "--filter", filter, path.to_str().unwrap()]);
        let help = check(words)["help"].as_str().unwrap().to_owned();
        assert!(run.err.contains(&format!("help: {help}")), "{help}: {}", run.err);
    }
    let warning = &check("event%20%3D%3D%20%22hello:tik%22")["warnings"][0];
    assert!(warning["text"].as_str().unwrap().contains("`hello:tik`"), "{warning}");
    assert_eq!(warning["help"], "did you mean `hello:tick`?");
    viewing.interrupt();
}

/// Additions to a trace are shown, and track and name numbers stay valid for open pages.
#[test]
fn a_growing_trace() {
    let text = std::fs::read_to_string(root().join("examples/hello-jsonl/requests.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    let directory = Directory::new("view-follow");
    let path = directory.join("requests.jsonl");
    let write = |lines: &[&str]| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    };
    // `reply` is new, and `query` is in an earlier line than the other known class.
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
        // The data stream gets no second track.
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

/// Metadata with an open array also grows: events of a class declared later are shown.
#[test]
fn a_class_declared_later() {
    let class = |id: u8, name: &str| {
        format!(
            "{{\"type\":\"event-record-class\",\"id\":{id},\"name\":\"{name}\",\"payload-field-class\":\
             {{\"type\":\"structure\",\"members\":[{{\"name\":\"x\",\"field-class\":\
             {{\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\"byte-order\":\"little-endian\"}}}}]}}}}"
        )
    };
    let field = |name: &str, role: &str| {
        format!(
            "{{\"name\":\"{name}\",\"field-class\":{{\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\
             \"byte-order\":\"little-endian\",\"roles\":[\"{role}\"]}}}}"
        )
    };
    let header = [field("id", "event-record-class-id"), field("ts", "default-clock-timestamp")].join(",");
    let metadata = format!(
        "[{{\"type\":\"preamble\",\"version\":2}},{{\"type\":\"clock-class\",\"name\":\"c\",\"frequency\":1000}},\
         {{\"type\":\"data-stream-class\",\"default-clock-class-name\":\"c\",\"event-record-header-field-class\":\
         {{\"type\":\"structure\",\"members\":[{header}]}}}},{}",
        class(0, "early")
    );
    let directory = Directory::new("view-follow");
    let write = |name: &str, bytes: &[u8]| {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).open(directory.join(name)).unwrap();
        file.write_all(bytes).unwrap();
    };
    write("metadata", metadata.as_bytes());
    write("stream", &[0, 10, 7]);
    let mut viewing = Viewing::start(&["--follow", directory.to_str().unwrap()]);
    let link = viewing.link();
    let get = |what: &str| {
        let (head, body) = request("GET", &format!("{link}api/{what}"), "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{what}: {head}");
        String::from_utf8(body).unwrap()
    };
    let wait_for = |count: &str, name: &str| {
        for _ in 0..600 {
            if get("trace").contains(count) && get("names?from=0").contains(name) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{}{}", get("trace"), get("names?from=0"));
    };
    wait_for("\"events\":1,", "early");
    write("metadata", format!(",{}", class(1, "late")).as_bytes());
    write("stream", &[1, 20, 8]);
    wait_for("\"events\":2,", "late");
    viewing.interrupt();
}

/// The timeline shows each datagram at once, while it waits for the next one.
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
    // One record reports dropped records.
    assert_eq!((of_kind(false), of_kind(true)), (8, 1), "{tracks}");
    // The timeline keeps all datagrams.
    let (head, body) = get("events?begin=0&end=1");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    assert!(String::from_utf8(body).unwrap().contains("not stored"));
    assert_eq!(viewing.interrupt().0, Some(0));
    assert!(!socket.exists());
}

/// In the time range in which all data streams of a trace are active, the events are the same as in other commands.
#[test]
fn stream_intersections() {
    let directory = intersection::traces("view-intersection");
    let paths = ["common", "alone"].map(|name| directory.join(name).to_str().unwrap().to_owned());
    let paths = [paths[0].as_str(), paths[1].as_str()];
    for options in
        [&["--stream-intersection"][..], &["--stream-intersection", "--begin", "@1000000000000003000"]]
    {
        let mut viewing = Viewing::start(&[options, &paths].concat());
        let link = viewing.link();
        let (begin, end) = wait_until_read(&link);
        let run = |verb: &[&str]| ichnos([verb, options, &paths].concat()).expect(0, &[]);
        let lines = event_lines(&run(&["cat", "-f", "jsonl"]).out);
        assert!((3..7).contains(&lines.len()), "{lines:?}");
        let range = format!("begin={begin}&end={end}");
        let sent = ask(&link, &format!("export?kind=jsonl&{range}"));
        assert_eq!(event_lines(&String::from_utf8(sent).unwrap()), lines);
        let rows = ask_json(&link, &format!("events?{range}"));
        assert_eq!(texts(rows["rows"].as_array().unwrap(), "time"), texts(&lines, "ts"));
        let stats = ask_json(&link, &format!("stats?{range}"));
        assert_eq!(stats["events"], run(&["stats", "--json"]).json()["events"]);
        // A wider range shows the same events.
        let wide = ask_json(&link, "stats?begin=0&end=2000000000000000000");
        assert_eq!(wide["events"], stats["events"]);
        let written = directory.join(format!("range-{}.tar", options.len()));
        std::fs::write(&written, ask(&link, &format!("export?kind=trace&{range}"))).unwrap();
        let cut = ichnos(["cat", "-f", "jsonl", written.to_str().unwrap()]).expect(0, &[]);
        assert_eq!(texts(&event_lines(&cut.out), "ts"), texts(&lines, "ts"));
        assert_eq!(viewing.interrupt(), (Some(0), String::new()));
    }
    let apart = directory.join("apart");
    ichnos(["view", "--no-open", "--stream-intersection", apart.to_str().unwrap()])
        .expect(2, &["--stream-intersection"]);
}

/// Runs a command from a panel, with additional words, in a shell.
fn run_shown(command: &Value, words: &str) -> Run {
    let program = env!("CARGO_BIN_EXE_ichnos");
    let shown = command.as_str().unwrap().strip_prefix("ichnos ").unwrap();
    let output = Command::new("sh").args(["-c", &format!("'{program}' {shown} {words}")]).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn texts(list: &[Value], name: &str) -> Vec<String> {
    list.iter().map(|row| row[name].to_string().trim_matches('"').to_owned()).collect()
}

/// Clocks with an offset: events, statistics and files are as with `--offset`, and the panels' commands contain it.
#[cfg(unix)]
#[test]
fn moved_clocks() {
    const ORIGIN: u64 = 1_000_000_000_000_000_000;
    let directory = intersection::traces("view-offsets");
    for name in ["apart", "touching", "with-empty"] {
        std::fs::remove_dir_all(directory.join(name)).unwrap();
    }
    let [common, alone] = ["common", "alone"].map(|name| directory.join(name).to_str().unwrap().to_owned());
    let whole = directory.to_str().unwrap();
    let offset = format!("--offset={alone}=2500ns");
    // As two paths, and as one path with two traces.
    for paths in [&[common.as_str(), alone.as_str()][..], &[whole]] {
        let mut viewing = Viewing::start(&[&["--event", "*"], paths].concat());
        let link = viewing.link();
        wait_until_read(&link);
        let tracks = ask_json(&link, "tracks")["tracks"].as_array().unwrap().clone();
        let is_moved = |track: &&Value| track["name"].as_str().unwrap().contains("alone/stream_0");
        let track = tracks.iter().find(is_moved).unwrap();
        let (moved, stream) = (&track["parent"], &track["id"]);
        let (begin, end) = (ORIGIN + 3_200, ORIGIN + 5_600);
        let range = format!("begin={begin}&end={end}&offsets={moved}:2500");
        let select = [format!("--begin=@{begin}"), format!("--end=@{end}"), offset.clone()];
        let run = |verb: &[&str]| {
            let words = verb.iter().map(|word| (*word).to_owned()).chain(select.clone());
            ichnos(words.chain([common.clone(), alone.clone()])).expect(0, &[])
        };
        let lines = event_lines(&run(&["cat", "-f", "jsonl"]).out);
        let times = texts(&lines, "ts");
        assert_eq!(times, [3_500, 4_000, 5_000, 5_500].map(|time| (ORIGIN + time).to_string()));
        let rows = ask_json(&link, &format!("events?{range}"));
        assert_eq!(texts(rows["rows"].as_array().unwrap(), "time"), times);
        let shown = run_shown(&rows["command"], "-f jsonl").expect(0, &[]);
        assert_eq!(event_lines(&shown.out), lines, "{}", rows["command"]);
        let stats = ask_json(&link, &format!("stats?{range}"));
        let expected = run(&["stats", "--json"]).json();
        assert_eq!((&stats["events"], &expected["events"]), (&4.into(), &4.into()));
        assert_eq!(run_shown(&stats["command"], "--json").expect(0, &[]).json(), expected);
        let sent = ask(&link, &format!("export?kind=jsonl&{range}"));
        assert_eq!(event_lines(&String::from_utf8(sent).unwrap()), lines);
        let written = directory.join("moved.tar");
        std::fs::write(&written, ask(&link, &format!("export?kind=trace&{range}"))).unwrap();
        let cut = ichnos(["cat", "-f", "jsonl", written.to_str().unwrap()]).expect(0, &[]);
        assert_eq!(texts(&event_lines(&cut.out), "ts"), times);
        std::fs::remove_file(&written).unwrap();
        let near = |time: u64, more: &str| {
            ask_json(
                &link,
                &format!("near?track={stream}&time={}&offsets={moved}:2500&{more}", ORIGIN + time),
            )
        };
        let next = near(3_400, "direction=next");
        assert_eq!((&next["time"], &next["track"]), (&(ORIGIN + 3_500).to_string().into(), stream));
        let after = near(3_500, &format!("direction=next&event={}", next["id"].as_str().unwrap()));
        assert_eq!(after["time"], (ORIGIN + 5_500).to_string());
        let details =
            ask_json(&link, &format!("event?id={}&offsets={moved}:2500", next["id"].as_str().unwrap()));
        let same = |line: &Value| (line["ts"].clone(), line["name"].clone(), line["payload"].clone());
        assert_eq!((same(&details["line"]), &details["time"]), (same(&lines[0]), &next["time"]));
        let shown = event_lines(&run_shown(&details["command"], "").expect(0, &[]).out);
        assert_eq!(shown.iter().map(same).collect::<Vec<_>>(), [same(&lines[0])]);
        let cut = ask_json(&link, &format!("command?verb=cut&{range}"))["command"].clone();
        assert!(
            cut.as_str().unwrap().starts_with("ichnos cut -o OUT --begin @1000000000000003200 --end "),
            "{cut}"
        );
        // Other requests have other offsets, or none.
        let offset = |nanoseconds: u32| format!("{moved}:{nanoseconds}");
        for (offsets, count) in [(String::new(), 2), (offset(0), 2), (offset(600), 3), (offset(1_000_000), 2)]
        {
            let found = ask_json(&link, &format!("stats?begin={begin}&end={end}&offsets={offsets}"));
            assert_eq!(found["events"], count, "{offsets}");
        }
        for offsets in ["999:1", "x", &format!("{stream}:1")] {
            let asked = format!("{link}api/stats?begin={begin}&end={end}&offsets={offsets}");
            let (head, _) = request("GET", &asked, "");
            assert!(head.starts_with("HTTP/1.1 400 "), "{offsets}: {head}");
        }
        assert_eq!(viewing.interrupt(), (Some(0), String::new()));
    }
}

/// Returns the lines about events, losses and damage in JSON Lines, without file names.
fn message_lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let kinds = ["event", "damage", "discarded-events", "discarded-packets"];
    let lines = lines.filter(|line: &Value| kinds.contains(&line["type"].as_str().unwrap()));
    let without_files = |mut line: Value| {
        line.as_object_mut().unwrap().retain(|name, _| !["file", "stream_name"].contains(&name.as_str()));
        line
    };
    lines.map(without_files).collect()
}

/// Writes a damaged trace in each of two formats. Returns the paths.
fn damaged_traces(directory: &Directory) -> Vec<PathBuf> {
    let ctf = directory.join("ctf");
    std::fs::create_dir(&ctf).unwrap();
    std::fs::write(ctf.join("metadata"), METADATA).unwrap();
    let good = [packet(&[1_000, 3_000, 5_000], 0), packet(&[21_000, 23_000, 25_000, 27_000], 7)];
    let mut bad = packet(&[11_000, 13_000, 15_000, 17_000], 0);
    // An event id without a class.
    let at = bad.len() - 10;
    bad[at] = 9;
    std::fs::write(ctf.join("stream_a"), [&good[0], &bad, &good[1]].map(Vec::as_slice).concat()).unwrap();
    let other: Vec<u64> = (0..15).map(|i| 500 + i * 2_000).collect();
    std::fs::write(ctf.join("stream_b"), packet(&other, 0)).unwrap();
    let fxt = directory.join("frames.fxt");
    let mut bytes = std::fs::read(root().join("examples/hello-fxt/frames.fxt")).unwrap();
    let middle = (bytes.len() / 2) & !7;
    bytes[middle..middle + 64].fill(0xff);
    std::fs::write(&fxt, bytes).unwrap();
    vec![ctf, fxt]
}

/// Ranges in damaged traces: events, statistics and files are the same as from other commands, and damage is shown.
#[test]
fn ranges_of_damaged_traces() {
    let directory = Directory::new("view-damaged");
    for (number, path) in (0..).zip(damaged_traces(&directory)) {
        let path = path.to_str().unwrap();
        let mut viewing = Viewing::start(&[path]);
        let link = viewing.link();
        let (begin, end) = wait_until_read(&link);
        let [begin, end]: [u64; 2] = [begin, end].map(|time| time.parse().unwrap());
        let trace = ask_json(&link, "trace");
        let check = ichnos(["info", "--json", path]);
        assert!(trace["damages"].as_u64().unwrap() > 0, "{trace}: {}", check.out);
        let tracks = ask_json(&link, "tracks")["tracks"].as_array().unwrap().clone();
        let losses = tracks.iter().find(|track| track["kind"] == "losses").unwrap();
        let tiles = ask_json(&link, &format!("tiles?tracks={}&begin={begin}&end={end}", losses["id"]));
        let shown = items(&tiles["tracks"][0]);
        let all = message_lines(&ichnos(["cat", "-f", "jsonl", path]).expect(3, &[]).out);
        let is_event = |line: &&Value| line["type"] == "event";
        assert_eq!(shown, all.iter().filter(|line| !is_event(line)).count() as u64, "{tiles}");
        let length = end - begin;
        let parts = [(0, 8), (0, 3), (2, 5), (3, 4), (4, 8)];
        for (part, (from, to)) in parts.into_iter().enumerate() {
            let (from, to) = (begin + length * from / 8, begin + length * to / 8);
            let range = format!("begin={from}&end={to}");
            let times = [format!("--begin=@{from}"), format!("--end=@{to}")];
            let run = |words: &[&str]| {
                let words = words.iter().map(|word| (*word).to_owned());
                let run = ichnos(words.chain(times.clone()).chain([path.to_owned()]));
                assert!([0, 1, 3].contains(&run.code), "{}", run.err);
                run
            };
            let lines = message_lines(&run(&["cat", "-f", "jsonl"]).out);
            // Other commands print events without a time for any range. Here, they are at the first time.
            let (events, untimed): (Vec<Value>, Vec<Value>) =
                lines.iter().filter(is_event).cloned().partition(|event| event["ts"].is_number());
            let at_begin = if from == begin { untimed.len() } else { 0 };
            let rows = ask_json(&link, &format!("events?limit=10000&{range}"));
            let rows = rows["rows"].as_array().unwrap();
            let (first, rows) = rows.split_at(at_begin);
            assert!(texts(first, "time").iter().all(|time| time.parse() == Ok(begin)), "{path} {range}");
            assert_eq!(texts(rows, "time"), texts(&events, "ts"), "{path} {range}");
            let sent = ask(&link, &format!("export?kind=jsonl&{range}"));
            assert!(message_lines(&String::from_utf8(sent).unwrap()) == lines, "{path} {range}");
            let stats = ask_json(&link, &format!("stats?{range}"));
            let expected = run(&["stats", "--json"]).json();
            assert_eq!(expected["events"], events.len() + untimed.len(), "{path} {range}");
            assert_eq!(stats["events"], events.len() + at_begin, "{path} {range}");
            let file = |name: &str| {
                directory.join(format!("{name}-{number}-{part}{}", if number == 0 { "" } else { ".fxt" }))
            };
            let (cut, sent) = (file("cut"), file("sent"));
            run(&["cut", "-o", cut.to_str().unwrap()]);
            std::fs::write(&sent, ask(&link, &format!("export?kind=trace&{range}"))).unwrap();
            let [cut, sent] = [cut, sent]
                .map(|path| message_lines(&ichnos(["cat", "-f", "jsonl", path.to_str().unwrap()]).out));
            assert!(cut == sent, "{path} {range}: {} and {} lines", cut.len(), sent.len());
            let timed = |line: &&Value| is_event(line) && line["ts"].is_number();
            let cut: Vec<Value> = cut.iter().filter(timed).cloned().collect();
            assert_eq!(texts(&cut, "ts"), texts(&events, "ts"), "{path} {range}");
        }
        assert_eq!(viewing.interrupt().0, Some(0));
    }
}

/// Returns the answers in a saved page.
fn saved(page: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"saved\">";
    let (_, rest) = page.split_once(begin).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// A single-file page has the same results as other commands, and names in it stay text.
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
    ichnos(["view", "--export", page_path, "--keep-running", trace]).expect(2, &["cannot be used with"]);

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

/// A single-file page contains neither a trace's directory nor a directory from the command line.
#[test]
fn a_page_without_directories() {
    let directory = Directory::new("view-export");
    let trace = directory.join("it's/given/host/trace");
    std::fs::create_dir_all(&trace).unwrap();
    for entry in std::fs::read_dir(root().join("examples/hello-ctf2/trace")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), trace.join(entry.file_name())).unwrap();
    }
    let map = directory.join("it's/given/rules.toml");
    std::fs::write(&map, "[[event]]\nmatch = \"sample\"\nrole = \"instant\"\n").unwrap();
    for given in ["it's/given", "it's/given/", "it's/given/host"] {
        let given = directory.join(given);
        let words = ["view", "--export", "-", "--map", map.to_str().unwrap(), given.to_str().unwrap()];
        let page = ichnos(words).expect(0, &[]).out;
        assert!(!page.contains(directory.to_str().unwrap()), "{given:?}");
        let answers = saved(&page);
        for name in ["stats", "events"] {
            let command = answers[name]["command"].as_str().unwrap();
            assert!(command.contains("rules.toml") && !command.contains("it'"), "{command}");
        }
    }
}

/// Returns the number of spans, instants and values on a track.
fn items(track: &serde_json::Value) -> u64 {
    let count = |index: usize, name: &str| {
        let numbers = track[name].as_array().map(Vec::as_slice).unwrap_or_default();
        numbers.chunks(6).filter_map(|item| item[index].as_u64()).sum::<u64>()
    };
    count(3, "items") + count(5, "counter")
}

/// Only the viewer's page can load the file that `convert` writes.
#[test]
fn a_file_for_a_viewer_page() {
    const ORIGIN: &str = "Origin: https://profiler.firefox.com\r\n";
    let mut viewing = Viewing::start(&["--viewer", "firefox", &example()]);
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
fn traces_that_viewers_cannot_show() {
    let error = "https://ui.perfetto.dev reads files from port 9001 only";
    ichnos(["view", "--viewer", "perfetto", "--port", "9000", &example()]).expect(2, &[error]);
    let without_stacks = root().join("examples/hello-ctf2");
    ichnos(["view", "--no-open", "--viewer", "speedscope", without_stacks.to_str().unwrap()])
        .expect(2, &["no selected event has a call stack"]);
}

/// Creates a stand-in for the program that opens addresses, in a directory. It writes its arguments into a file, and
/// runs until the opened file is deleted. Returns the search path with the directory.
#[cfg(unix)]
pub fn with_opener(directory: &std::path::Path, arguments: &std::path::Path) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let bin = directory.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let opener = bin.join("xdg-open");
    // The file appears with its content.
    let script = format!(
        "#!/bin/sh\necho \"$@\" > {0}.new\nmv {0}.new {0}\nwhile test -e \"$1\"; do sleep 0.1; done\n",
        arguments.display()
    );
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// Other users can see the arguments of the program that opens the address. The address is secret.
#[cfg(unix)]
#[test]
fn the_address_is_not_an_argument() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = Directory::new("view-opener");
    let (temporary, arguments) = (directory.join("tmp"), directory.join("arguments"));
    std::fs::create_dir(&temporary).unwrap();
    let path = with_opener(&directory, &arguments);
    let example = example();
    for options in [&["--keep-running"][..], &["--viewer", "firefox"]] {
        let mut child = command();
        child.arg("view").args(options).arg(&example).env("PATH", &path).env("TMPDIR", &temporary);
        let mut viewing = Viewing::spawn(child);
        let link = viewing.link();
        while !arguments.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let text = std::fs::read_to_string(&arguments).unwrap();
        assert!(!text.contains("http"), "{text}");
        let file = PathBuf::from(text.trim_end());
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.contains(&format!("content=\"0; url={}\"", link.replace('&', "&amp;"))), "{page}");
        // Other users cannot read any file of the trace.
        for entry in std::fs::read_dir(&temporary).unwrap() {
            let entry = entry.unwrap().path();
            assert_eq!(mode(&entry), 0o700);
            for file in std::fs::read_dir(entry).unwrap() {
                assert_eq!(mode(&file.unwrap().path()), 0o600);
            }
        }
        assert_eq!(viewing.interrupt().0, Some(0));
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
        std::fs::remove_file(&arguments).unwrap();
    }
}

/// A page for a damaged trace is written, and the exit code reports the damage, as in other commands.
#[test]
fn an_exported_page_of_a_damaged_trace() {
    let directory = Directory::new("view-damaged");
    let trace = directory.join("trace");
    std::fs::create_dir(&trace).unwrap();
    for entry in std::fs::read_dir(root().join("examples/hello-ctf2/trace")).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let is_data = entry.file_name() == "thermometer";
        let kept = if is_data { &bytes[..300] } else { &bytes[..] };
        std::fs::write(trace.join(entry.file_name()), kept).unwrap();
    }
    let (page, trace) = (directory.join("page.html"), trace.to_str().unwrap().to_owned());
    ichnos(["cat", "-q", &trace]).expect(3, &[]);
    ichnos(["view", "-q", "--export", page.to_str().unwrap(), &trace]).expect(3, &[]);
    assert!(std::fs::read(&page).unwrap().starts_with(b"<!"));
}

/// Events before the clock origin are on the page. The command says that an event too far from it is missing.
#[test]
fn an_exported_page_names_missing_events() {
    let directory = Directory::new("view-not-shown");
    let (trace, page) = (directory.join("early.jsonl"), directory.join("page.html"));
    let event = |time: i128| format!("{{\"stream\":0,\"ts\":{time},\"name\":\"e\"}}\n");
    let [trace, page] = [&trace, &page].map(|path| path.to_str().unwrap());
    std::fs::write(trace, [event(-3_000), event(5)].concat()).unwrap();
    ichnos(["view", "--export", page, trace]).expect(0, &[]);
    assert!(std::fs::read_to_string(page).unwrap().contains(r#""begin":"-3000""#));
    std::fs::write(trace, [event(-3_000), event(99_999_999_999_999_999_999)].concat()).unwrap();
    ichnos(["view", "--force", "--export", page, trace]).expect(3, &["1 event not shown"]);
}
