//! Kills collectors.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ichnos_collect::Index;
use ichnos_testing::{Random, sample_size};

use crate::support::{COLLECT, Process, counted, frame, report, sync};

const CLIENTS: u64 = 4;

/// Client that sends increasing numbers, remembers the acknowledged numbers, and sends the others again.
struct Client {
    number: u64,
    acknowledged: AtomicU64,
    /// Number of repeated numbers.
    again: AtomicU64,
}

impl Client {
    fn run(&self, address: &Mutex<SocketAddr>, stop: &AtomicBool) {
        let mut random = Random::new(self.number);
        while !stop.load(Ordering::Relaxed) {
            let address = *address.lock().unwrap();
            if let Ok(stream) = TcpStream::connect(address) {
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let _ = self.send(stream, &mut random, stop);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&self, mut stream: TcpStream, random: &mut Random, stop: &AtomicBool) -> std::io::Result<()> {
        let begin = self.acknowledged.load(Ordering::Relaxed);
        let mut next = begin;
        self.again.fetch_add(1, Ordering::Relaxed);
        while !stop.load(Ordering::Relaxed) {
            let mut frames = Vec::new();
            for _ in 0..1 + random.below(200) {
                frames.extend_from_slice(&frame(&report(next % 100, self.number, next)));
                next += 1;
            }
            stream.write_all(&frames)?;
            if random.is_one_in(3) {
                let (reports, refused) = sync(&mut stream)?;
                assert_eq!((reports, refused), (next - begin, 0));
                self.acknowledged.store(next, Ordering::Relaxed);
            }
        }
        let (reports, _) = sync(&mut stream)?;
        self.acknowledged.store(begin + reports, Ordering::Relaxed);
        Ok(())
    }
}

/// Killed at random instants under load, the collector loses no acknowledged report, and stores only reports that were
/// sent.
#[test]
fn nothing_acknowledged_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut random = Random::new(17);
    let mut process = Process::start(path, 200_000);
    let address = Arc::new(Mutex::new(process.tcp));
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<Arc<Client>> = (0..CLIENTS)
        .map(|number| Arc::new(Client { number, acknowledged: AtomicU64::new(0), again: AtomicU64::new(0) }))
        .collect();
    let threads: Vec<_> = clients
        .iter()
        .map(|client| {
            let (client, address, stop) = (Arc::clone(client), Arc::clone(&address), Arc::clone(&stop));
            std::thread::spawn(move || client.run(&address, &stop))
        })
        .collect();
    let kills = sample_size(25, 50);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_micros(random.below(150_000)));
        process.kill();
        process = Process::start(path, 200_000);
        *address.lock().unwrap() = process.tcp;
    }
    std::thread::sleep(Duration::from_millis(200));
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    process.stop();

    let counted = counted(path);
    let mut acknowledged = 0;
    for client in &clients {
        let end = client.acknowledged.load(Ordering::Relaxed);
        acknowledged += end;
        for number in 0..end {
            let text = String::from_utf8(report(number % 100, client.number, number)).unwrap() + "\n";
            assert!(counted.contains_key(&text), "acknowledged and lost: {text}");
        }
        assert!(end > 100, "client {} has sent {end} reports only", client.number);
    }
    check(path, counted.values().sum());
    let again: u64 = clients.iter().map(|client| client.again.load(Ordering::Relaxed)).sum();
    eprintln!(
        "{kills} kills: {acknowledged} reports were acknowledged and are there, {} are there in all, {} of them \
         again; {again} connections",
        counted.values().sum::<u64>(),
        counted.values().map(|count| count - 1).sum::<u64>(),
    );
}

/// Checks that all data consists of reports, and that all reports are in the index.
fn check(directory: &Path, reports: u64) {
    let index = Index::open(directory, &COLLECT).unwrap();
    assert_eq!(index.reports_without_index(), 0);
    assert_eq!(index.tasks().unwrap().iter().map(|task| task.reports).sum::<u64>(), reports);
}
