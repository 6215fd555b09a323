//! Sends X-Trace reports to a collector as fast as possible, and prints the rate.
//!
//! `load tcp|udp ADDRESS REPORTS [CONNECTIONS [RATE]]`: RATE is the total number of reports per second over all
//! connections. By default it is unlimited. Over TCP, each connection finally asks how many of its reports are on the
//! disk, and fails if some are missing.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use ichnos_collect::SYNC;

const REPORT: &str = "X-Trace Report ver 1.0\nX-Trace: 19AAAAAAAAAAAAAAAABBBBBBBBBBBBBBBB\n\
    Edge: CCCCCCCCCCCCCCCC, next\nTimestamp: 1500000000.123\nHost: node17.example\nAgent: DataNode\n\
    Label: received block from upstream\nProcessID: 28108@node17\nThreadName: DataXceiver for client 4\n\
    Source: BlockReceiver.java:512\n";

/// Number of reports per task.
const REPORTS_OF_TASK: u64 = 100;

/// Overwrites a part of a text with the digits of a number.
fn put(text: &mut [u8], at: usize, number: u64) {
    for digit in 0..16 {
        text[at + digit] = b"0123456789ABCDEF"[(number >> (60 - 4 * digit) & 15) as usize];
    }
}

/// Reports with different tasks and operations.
struct Reports {
    text: Vec<u8>,
    task: usize,
    operation: usize,
    edge: usize,
    client: u64,
}

impl Reports {
    fn new(client: u64) -> Self {
        let at = |what: &str| REPORT.find(what).unwrap();
        let (task, operation, edge) = (at("AAAA"), at("BBBB"), at("CCCC"));
        Self { text: REPORT.as_bytes().to_vec(), task, operation, edge, client }
    }

    fn report(&mut self, number: u64) -> &[u8] {
        let mix = |number: u64| number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        put(&mut self.text, self.task, mix((self.client << 40) + number / REPORTS_OF_TASK));
        put(&mut self.text, self.operation, mix(number));
        put(&mut self.text, self.edge, mix(number.wrapping_sub(1)));
        &self.text
    }
}

/// Limits the rate of a client.
struct Pace {
    begun: Instant,
    /// Reports per second.
    rate: Option<f64>,
}

impl Pace {
    fn wait(&self, number: u64) {
        if let Some(rate) = self.rate {
            let due = Duration::from_secs_f64(number as f64 / rate);
            let early = due.saturating_sub(self.begun.elapsed());
            // The system cannot sleep for a shorter time.
            if early > Duration::from_millis(1) {
                std::thread::sleep(early);
            }
        }
    }
}

fn tcp(address: &str, client: u64, count: u64, pace: &Pace) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut reports = Reports::new(client);
    let mut buffer = Vec::new();
    for number in 0..count {
        let report = reports.report(number);
        buffer.extend_from_slice(&(report.len() as u32).to_be_bytes());
        buffer.extend_from_slice(report);
        if buffer.len() > 60_000 {
            pace.wait(number);
            stream.write_all(&buffer).unwrap();
            buffer.clear();
        }
    }
    buffer.extend_from_slice(&SYNC.to_be_bytes());
    stream.write_all(&buffer).unwrap();
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    let stored = u64::from_be_bytes(answer[..8].try_into().unwrap());
    assert_eq!(stored, count, "reports of connection {client} that are on the disk");
}

fn udp(address: &str, client: u64, count: u64, pace: &Pace) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(address).unwrap();
    let mut reports = Reports::new(client);
    for number in 0..count {
        pace.wait(number);
        socket.send(reports.report(number)).unwrap();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, address, reports, rest @ ..] = &arguments[..] else {
        panic!("expected: load tcp|udp ADDRESS REPORTS [CONNECTIONS [RATE]]");
    };
    let send = match protocol.as_str() {
        "tcp" => tcp,
        "udp" => udp,
        other => panic!("expected `tcp` or `udp`, found `{other}`"),
    };
    let connections: u64 = rest.first().map_or(4, |text| text.parse().unwrap());
    let each = reports.parse::<u64>().unwrap() / connections;
    let rate = rest.get(1).map(|text| text.parse::<f64>().unwrap() / connections as f64);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..connections {
            scope.spawn(move || send(address, client, each, &Pace { begun, rate }));
        }
    });
    let seconds = begun.elapsed().as_secs_f64();
    let sent = each * connections;
    println!(
        "{sent} reports of {} bytes over {connections} {protocol} in {seconds:.2} s: {:.0} per second",
        REPORT.len(),
        sent as f64 / seconds
    );
}
