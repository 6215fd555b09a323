//! A report format, clients, and a collector in a separate process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ichnos_collect::{Collector, CollectorOptions, SYNC};
use ichnos_io::{CollectSettings, TaskKey};

/// Stores a report: a line `task TASK`, and a second line. Text after an empty line is ignored.
pub fn store(report: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str> {
    let end = report.windows(2).position(|pair| pair == b"\n\n").unwrap_or(report.len());
    let text = report[..end].trim_ascii_end();
    let rest = text.strip_prefix(b"task ").ok_or("not a report")?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or("only one line")?;
    let task = TaskKey::new(&rest[..end]).ok_or("a long task")?;
    buffer.extend_from_slice(text);
    buffer.extend_from_slice(b"\n\n");
    Ok(task)
}

pub const COLLECT: CollectSettings = CollectSettings::new(1, 4_096, store);

/// Creates a report from a client: `task TASK`, and its origin.
pub fn report(task: u64, client: u64, number: u64) -> Vec<u8> {
    format!("task {task}\nclient {client} number {number}\n").into_bytes()
}

pub fn frame(report: &[u8]) -> Vec<u8> {
    [&(report.len() as u32).to_be_bytes()[..], report].concat()
}

/// Returns options with free ports.
pub fn options() -> CollectorOptions {
    let mut options = CollectorOptions::new(&COLLECT);
    options.udp = vec!["127.0.0.1:0".parse().unwrap()];
    options.tcp = vec!["127.0.0.1:0".parse().unwrap()];
    options
}

/// Starts a collector in this process. Returns it and its notices.
pub fn start(directory: &Path, options: CollectorOptions) -> (Collector, Arc<Mutex<Vec<String>>>) {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let says = Arc::clone(&notices);
    let notify = move |notice: &ichnos_collect::Notice| says.lock().unwrap().push(notice.to_string());
    (Collector::start(directory, "test", COLLECT, options, notify).unwrap(), notices)
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Asks for the number of reports on the disk, and the number of refused reports.
pub fn sync(stream: &mut TcpStream) -> std::io::Result<(u64, u64)> {
    stream.write_all(&SYNC.to_be_bytes())?;
    answer(stream)
}

pub fn answer(stream: &mut TcpStream) -> std::io::Result<(u64, u64)> {
    let mut answer = [0; 16];
    stream.read_exact(&mut answer)?;
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    Ok((number(&answer[..8]), number(&answer[8..])))
}

/// Waits until `holds` returns `true`.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the reports in all segments, in order.
pub fn stored(directory: &Path) -> Vec<String> {
    let mut segments: Vec<PathBuf> = files(directory, ".reports");
    segments.sort();
    let texts = segments.iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts.flat_map(|text| text.split_inclusive("\n\n").map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns the count of each report.
pub fn counted(directory: &Path) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    stored(directory).into_iter().for_each(|report| *counts.entry(report).or_default() += 1);
    counts
}

pub fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let items = std::fs::read_dir(directory).unwrap().map(|item| item.unwrap().path());
    items.filter(|path| path.to_str().unwrap().ends_with(end)).collect()
}

/// Environment variable with the directory of a collector process.
const DIRECTORY: &str = "ICHNOS_TEST_COLLECT_IN";

/// Environment variable with its segment size.
const SEGMENT: &str = "ICHNOS_TEST_SEGMENT_BYTES";

/// Not a test: the program that [`Process::start`] starts.
#[test]
fn collects_in_a_process_of_its_own() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let mut options = options();
    if let Ok(bytes) = std::env::var(SEGMENT) {
        options.segment_bytes = bytes.parse().unwrap();
    }
    let notify = |notice: &ichnos_collect::Notice| eprintln!("notice: {notice}");
    let collector = Collector::start(Path::new(&directory), "test", COLLECT, options, notify).unwrap();
    println!("listens {} {}", collector.udp()[0], collector.tcp()[0]);
    // The program ends when its parent tells it to, or has died.
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    let statistics = collector.stop().unwrap();
    println!("reports {} {} {}", statistics.reports, statistics.duplicates, statistics.not_written);
}

/// Collector in a separate process.
pub struct Process {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    pub udp: SocketAddr,
    pub tcp: SocketAddr,
}

impl Process {
    pub fn start(directory: &Path, segment_bytes: u64) -> Self {
        Self::start_by(Command::new(std::env::current_exe().unwrap()), directory, segment_bytes)
    }

    /// Starts the collector with a command that runs the program in its arguments.
    pub fn start_by(mut command: Command, directory: &Path, segment_bytes: u64) -> Self {
        command.args(["--exact", "support::collects_in_a_process_of_its_own", "--nocapture"]);
        command.env(DIRECTORY, directory).env(SEGMENT, segment_bytes.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let line = line_with(&mut out, "listens ");
        let mut words = line.split(' ').map(|word| word.parse::<SocketAddr>().unwrap());
        let (udp, tcp) = (words.next().unwrap(), words.next().unwrap());
        Self { child, out, udp, tcp }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the process properly. Returns the numbers of reports, duplicates, and reports that were not written.
    pub fn stop(mut self) -> (u64, u64, u64) {
        drop(self.child.stdin.take());
        let line = line_with(&mut self.out, "reports ");
        let mut words = line.split(' ').map(|word| word.parse().unwrap());
        let mut next = || words.next().unwrap();
        let result = (next(), next(), next());
        assert!(self.child.wait().unwrap().success());
        result
    }
}

fn line_with(out: &mut impl BufRead, begin: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "the collector has ended");
        // The test harness writes to the same line.
        if let Some(at) = line.find(begin) {
            return line[at + begin.len()..].trim().to_owned();
        }
    }
}
